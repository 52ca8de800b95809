/* SPDX-License-Identifier: MIT */
/*
 * cl_naive: one work-item computes one element of C, and shares nothing with its neighbours.
 *
 *   item (x, y) -> C[y][x]: a row of A times a column of B, both from global memory
 *
 * Work-group {1,1}, global {N, M}. The paper has {M, N}, because it is column-major. M, N and K may
 * be any numbers.
 *
 * Source: Wang, Shi, Wen: CNN convolution on mobile GPUs (2018), step 1.
 */
#include "cl_multiply_arguments.h"

__kernel void cl_naive(PARAMETERS(CL_PRODUCT_ARGUMENTS))
{
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= M || j >= N) {
        return;
    }
    __global const float *a = A + a0 + (ulong)i * ars;
    __global const float *b = B + b0 + (ulong)j * bcs;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += a[(ulong)k * acs] * b[(ulong)k * brs];
    }
    C[c0 + (ulong)i * ldc + j] += alpha * sum;
}
