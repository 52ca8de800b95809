/* SPDX-License-Identifier: MIT */
/* Which candidate `auto` takes: only this file decides, for shapes and for whole networks. */
#ifndef GEMM_DECIDE_H
#define GEMM_DECIDE_H

/*
 * Returns the index of the candidate that shall run. ms holds the time of each; below 0: it did not
 * run. The first one is the usual choice. It keeps its place unless another one is faster by more
 * than the margin, because a smaller difference may be chance.
 *
 *   a shape      packed, then the other rows
 *   a network    the mix of the fastest row of each shape, then each row alone
 *
 * Both are needed. A row that leaves results on the device is cheap only if the same row runs the
 * next layer. So the fastest rows of all shapes may add up to a slower network.
 */
int gemm_decide(const double *ms, int count);

#endif
