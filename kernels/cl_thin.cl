/* SPDX-License-Identifier: MIT */
/*
 * cl_thin: for a C of few rows, as grouped and depthwise convolutions have. A work-item computes a
 * whole column of C, so that B is read once. Nearly all of the memory traffic is B.
 *
 *   item x -> C[0 ... M-1][x], in ROWS accumulators; all items read the same A
 *
 * Rows past M repeat row M-1 and are not stored. Global {N rounded up, M/ROWS, parts}, work-group
 * {WX}. ROWS rows of A have fewer than 2^31 elements. kpart: cl_multiply_arguments.h. CONV, TAPS,
 * SHORTCUT: cl_conv.h. With TAPS the outer loop counts channels, so that taps are found without a
 * division.
 * Then kpart is a multiple of size^2.
 */
#include "cl_conv.h"

#ifndef ROWS
#define ROWS 8
#endif

__kernel void cl_thin(PARAMETERS(MULTIPLY_ARGUMENTS))
{
    UNPACK(MULTIPLY_ARGUMENTS)
    const int j = get_global_id(0), i0 = get_global_id(1) * ROWS;
    if (j >= N) {
        return;
    }
    const int z = get_global_id(2), begin = PART(z) * kpart;
    int left = min(K - begin, kpart);
    __global const float *a = A + a0 + A_START(z) + (ulong)i0 * ars + (ulong)begin * acs;
    __global const float *b = B + b0 + B_START(z);
    int row[ROWS];
    float sum[ROWS];
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        row[i] = min(i, M - 1 - i0) * ars;
        sum[i] = 0.0f;
    }
#ifdef TAPS
    const int y = j / out_w, top = y * stride - pad, side = (j - y * out_w) * stride - pad;
    b += (ulong)(begin / (SIZE * SIZE)) * h * w;
    for (; left > 0; left -= SIZE * SIZE, b += h * w) {
        UNROLL_TAPS
        for (int ty = 0; ty < SIZE; ++ty) {
            UNROLL_TAPS
            for (int tx = 0; tx < SIZE; ++tx, ++a) {
                const float t = conv_element(b, top + ty, side + tx, h, w);
                #pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    sum[i] += a[row[i]] * t;
                }
            }
        }
    }
#else
    b += (ulong)begin * brs + (ulong)j * bcs;
    for (; left > 0; --left, a += acs, b += brs) {
        #pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            sum[i] += a[row[i]] * *b;
        }
    }
#endif
    __global float *c = C + c0 + C_START(z) + (ulong)PART(z) * cpart + j;
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        if (i0 + i < M) {
            __global float *o = c + (ulong)(i0 + i) * ldc;
            *o = cpart ? alpha * sum[i] : RESULT(alpha * sum[i], o, FILTER(z) + i0 + i);
        }
    }
}
