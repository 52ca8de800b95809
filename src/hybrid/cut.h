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

#include "gemm_variant.h"

/* A call of either kind. One of the two pointers is NULL. */
typedef struct gemm_shared_call {
    const gemm_call *g;
    const conv_call *c;
    int count;                  /* of what is cut: columns, rows, filters, groups or images */
    double work;                /* multiplications */
} gemm_shared_call;

gemm_shared_call gemm_shared_multiply(const gemm_call *);
gemm_shared_call gemm_shared_conv(const conv_call *);

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
gemm_call gemm_part_of_multiply(const gemm_call *, gemm_part);
conv_call gemm_part_of_conv(const conv_call *, gemm_part);

#endif
