/* SPDX-License-Identifier: MIT */
/*
 * cl_block: square blocks of C, of side b = COLS = WY: 8, 16, 32 or 64. The paper chose 32. Each of
 * the b work-items of a group computes b neighbours in a row of C.
 *
 *   group (X, Y), item y  ->  C[b*Y + y][b*X ... b*X + b - 1]
 *
 * A is M x K. B is transposed to N x K. Both are padded with zeros to multiples of b, so that rows
 * of A and columns of B are contiguous and no loop has a branch. C is the caller's, and the store
 * checks its edge. K is a multiple of b; acs and brs are 1.
 *
 * Work-group {1,b}, global {N/b, M}. The paper has {M/32, N}, because it is column-major.
 *
 * Source: Wang, Shi, Wen: CNN convolution on mobile GPUs (2018), steps 2 and 3.
 */
#include "cl_multiply_arguments.h"

#ifndef COLS
#define COLS 32
#endif
#ifndef WY
#define WY 32
#endif
#if COLS != WY
#error "cl_block: blocks are squares"
#endif

__kernel __attribute__((reqd_work_group_size(1, WY, 1)))
void cl_block(PARAMETERS(CL_PRODUCT_ARGUMENTS))
{
    const int j0 = get_global_id(0) * COLS, i = get_global_id(1);
    __global const float *a = A + a0 + (ulong)i * ars;
    __global const float *b = B + b0 + (ulong)j0 * bcs;
    float sum[COLS];
    for (int j = 0; j < COLS; ++j) {
        sum[j] = 0.0f;
    }
    for (int k0 = 0; k0 < K; k0 += COLS) {
        for (int j = 0; j < COLS; ++j) {
            for (int k = 0; k < COLS; ++k) {
                sum[j] += a[k0 + k] * b[(ulong)j * bcs + k0 + k];
            }
        }
    }
    if (i < M) {
        __global float *c = C + c0 + (ulong)i * ldc + j0;
        for (int j = 0; j < COLS && j0 + j < N; ++j) {
            c[j] += alpha * sum[j];
        }
    }
}
