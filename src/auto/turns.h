/* SPDX-License-Identifier: MIT */
/* How long each variant takes for an op, measured in turns. */
#ifndef GEMM_TURNS_H
#define GEMM_TURNS_H

#include "op/op.h"

/* A layer's output may lie on a device. This gives the inputs of the op to the CPU, and tells that
   the CPU writes the output. Returns NULL, or why an input is lost. */
const char *gemm_op_to_cpu(const gemm_op *);

/*
 * Measures `count` variants, at most GEMM_TURNS_ROWS. ms[i] becomes the shortest time of variant i,
 * until the result is in the CPU's memory. It is -1 when it declines or fails. Behind it a matrix C
 * is as before, and the output of a layer is undefined. Returns false without memory: nothing was
 * measured.
 *
 * A variant that declines a convolution with its pool is measured as Darknet then runs it: the
 * convolution, then the pool.
 */
enum { GEMM_TURNS_ROWS = 8 };
bool gemm_take_turns(const gemm_op *, const gemm_context *, const gemm_variant *const *rows,
                     int count, double *ms);

#endif
