/* SPDX-License-Identifier: MIT */
/*
 * cl_gemv: a matrix times a vector, as connected layers are (cl_conv.h). C is one column. Each
 * element of A is used once, so memory is the limit.
 *
 *   group y, item x -> the share of x in ROWS sums, of rows ROWS * y ... of A
 *
 *        K:  | 0 0 0 0 | 1 1 1 1 | ... | WX-1 | 0 0 0 0 | 1 1 1 1 | ...      the item that reads it
 *
 * Neighbours read neighbouring floats, four at a time. The shares are added in local memory, and C
 * is stored as cl_conv.h says. The last K % 4 elements are one item's. Rows past M repeat row M-1
 * and are not stored. B is the image as it lies: its channels are as large as a filter.
 *
 * Global {WX, M/ROWS, products}, work-group {WX}. ROWS rows of A have fewer than 2^31 elements.
 * ALIGNED_A, HALF_A: cl_load.h.
 */
#include "cl_load.h"
#include "cl_conv.h"

#ifndef ROWS
#define ROWS 4
#endif
#ifndef WX
#define WX 128
#endif
#if WX & (WX - 1)
#error "cl_gemv: WX is a power of 2, because the shares are added by halves"
#endif

__kernel __attribute__((reqd_work_group_size(WX, 1, 1)))
void cl_gemv(PARAMETERS(MULTIPLY_ARGUMENTS))
{
    __local float shares[ROWS * WX];
    const int x = get_local_id(0), i0 = get_group_id(1) * ROWS, z = get_global_id(2);
    __global const ELEMENT *a = A + a0 + A_START(z) + (ulong)i0 * ars;
    __global const float *b = B + b0 + B_START(z);
    int row[ROWS];
    float4 sum[ROWS];
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        row[i] = min(i, M - 1 - i0) * ars;
        sum[i] = (float4)(0.0f);
    }
    int k = 4 * x;
    for (; k + 4 <= K; k += 4 * WX) {
        const float4 t = vload4(0, b + k);
        #pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            sum[i] += LOAD_A4(a + row[i] + k) * t;
        }
    }
    for (; k < K; ++k) {
        #pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            sum[i].x += LOAD_A(a + row[i] + k) * b[k];
        }
    }
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        shares[i * WX + x] = sum[i].x + sum[i].y + (sum[i].z + sum[i].w);
    }
    for (int n = WX / 2; n > 0; n /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x < n) {
            #pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                shares[i * WX + x] += shares[i * WX + x + n];
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    __global float *c = C + c0 + C_START(z) + i0;
    for (int i = x; i < ROWS && i0 + i < M; i += WX) {
        c[i] = RESULT(alpha * shares[i * WX], c + i, FILTER(z) + i0 + i);
    }
}
