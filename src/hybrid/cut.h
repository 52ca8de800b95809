/* SPDX-License-Identifier: MIT */
/*
 * How a call is cut in two parts, for two sides that compute them at once.
 *
 *   multiply         columns of B and C where N >= M, else rows of A and C: this copies less. Both
 *                    sides need all of the other operand
 *   one image        filters: the weights and the output are cut, and the input is small
 *   groups           whole groups: the input is cut too
 *   several images   whole images
 *
 * With the pool behind a convolution each part has its own pool.
 */
#ifndef GEMM_CUT_H
#define GEMM_CUT_H

#include "op/op.h"

/* An op that can be cut: a multiply or a convolution. */
typedef struct gemm_shared {
    gemm_op op;
    int count;                  /* of what is cut: columns, rows, filters, groups or images */
} gemm_shared;

gemm_shared gemm_share_op(const gemm_op *);

/* A cut falls on a multiple of this, so that whole tiles of both sides cover the parts. It is the
   largest power of 2 up to 64 of which `count` has 8. */
int gemm_cut_unit(int count);

/* Where a share of 0 to 1 cuts. A share between them leaves each part a unit. */
int gemm_cut_at(int count, double share);

/* Elements from `from` to `to` - 1 of what is cut. */
typedef struct gemm_part {
    int from, to;
} gemm_part;

/* The call of a part, which its op refers to. */
typedef union gemm_part_call {
    gemm_call multiply;
    conv_call conv;
} gemm_part_call;

/* The part as an op of its own, on the same arrays. */
gemm_op gemm_part_of(const gemm_shared *, gemm_part, gemm_part_call *);

#endif
