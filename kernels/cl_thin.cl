/*
 * cl_thin: for a C of few rows, as grouped and depthwise convolutions have. A work-item computes a
 * whole column of C, so that B is read once. Nearly all of the memory traffic is B.
 *
 *   item x -> C[0 ... M-1][x], in ROWS accumulators; all items read the same A
 *
 * Rows past M repeat row M-1 and are not stored. Global {N rounded up, M/ROWS, parts}, work-group
 * {WX}. Parts of K as in cl_image. CONV, TAPS: cl_conv.h.
 */
#include "cl_conv.h"

#ifndef ROWS
#define ROWS 8
#endif

__kernel void cl_thin(int M, int N, int K, float alpha,
                      __global const float *A, ulong a0, int ars, int acs,
                      __global const float *B, ulong b0, int brs, int bcs,
                      __global float *C, ulong c0, int ldc, int kpart, ulong cpart CONV_PARAMETERS)
{
    const int j = get_global_id(0), i0 = get_global_id(1) * ROWS;
    if (j >= N) {
        return;
    }
    const int z = get_global_id(2), begin = PART(z) * kpart, end = min(K, begin + kpart);
    __global const float *a = A + a0 + A_START(z), *b = B + b0 + B_START(z);
#ifdef TAPS
    const int y = j / out_w * stride - pad, x = j % out_w * stride - pad;
#endif
    ulong row[ROWS];
    float sum[ROWS];
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        row[i] = (ulong)min(i0 + i, M - 1) * ars;
        sum[i] = 0.0f;
    }
    for (int k = begin; k < end; ++k) {
#ifdef TAPS
        const float t = conv_tap(b, k, y, x, h, w, size);
#else
        const float t = b[(ulong)k * brs + (ulong)j * bcs];
#endif
        #pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            sum[i] += a[row[i] + (ulong)k * acs] * t;
        }
    }
    __global float *c = C + c0 + C_START(z) + (ulong)PART(z) * cpart + j;
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        if (i0 + i < M) {
            __global float *o = c + (ulong)(i0 + i) * ldc;
            *o = cpart ? alpha * sum[i] : RESULT(alpha * sum[i], o, FILTER(z) + i0 + i);
        }
    }
}
