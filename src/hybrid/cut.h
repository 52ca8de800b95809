/* SPDX-License-Identifier: MIT */
/*
 * How a multiply is cut in two parts, for two sides that compute them at once: columns of B and C
 * where N >= M, else rows of A and C. This copies less. Both sides need all of the other operand.
 */
#ifndef GEMM_CUT_H
#define GEMM_CUT_H

#include "gemm_variant.h"

/* A multiply that can be cut. */
typedef struct gemm_shared {
    const gemm_call *call;
    int count;                  /* of what is cut: columns or rows */
} gemm_shared;

gemm_shared gemm_share_call(const gemm_call *);

/* A cut falls on a multiple of this, so that whole tiles of both sides cover the parts. It is the
   largest power of 2 up to 64 of which `count` has 8. */
int gemm_cut_unit(int count);

/* Where a share of 0 to 1 cuts. A share between them leaves each part a unit. */
int gemm_cut_at(int count, double share);

/* Elements from `from` to `to` - 1 of what is cut. */
typedef struct gemm_part {
    int from, to;
} gemm_part;

/* The part as a call of its own, on the same arrays. */
gemm_call gemm_part_of(const gemm_shared *, gemm_part);

#endif
