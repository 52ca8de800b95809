/* SPDX-License-Identifier: MIT */
/*
 * cl_wide: for devices that are CPUs. A group is one work-item, so the kernel is a plain loop nest
 * in the device's SIMD registers. It has no barriers and no images.
 *
 *   item (x, y) -> COLS columns of C, and its share of the rows
 *     for KC of K:  pack KC x COLS of B into a contiguous strip, zero past N   (32 KiB: L1)
 *       for ROWS rows: ROWS x COLS of C in registers; A is broadcast from where it lies
 *
 * VECTOR is the device's own width. 16: 8x32 is 16 accumulators of 32 registers. 8: 6x16 is 12 of
 * 16. 4: 4x8 is 8 of 16. Rows past M repeat row M-1 and are not stored. Global {N/COLS, shares}.
 */
#include "cl_multiply_arguments.h"
#include "cl_vector.h"

void pack_strip(int rows, int cols, __global const float *b, int brs, int bcs, __local float *Bp)
{
    for (int k = 0; k < rows; ++k) {
        __global const float *r = b + (ulong)k * brs;
        if (cols == COLS && bcs == 1) {
            #pragma unroll
            for (int v = 0; v < VECTORS; ++v) {
                VSTORE(VLOAD(r + v * VECTOR), Bp + k * COLS + v * VECTOR);
            }
        } else {
            for (int j = 0; j < COLS; ++j) {
                Bp[k * COLS + j] = j < cols ? r[(ulong)j * bcs] : 0.0f;
            }
        }
    }
}

void add_row(wide *sum, float alpha, int cols, __global float *c)
{
    if (cols == COLS) {
        #pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            VSTORE(VLOAD(c + v * VECTOR) + alpha * sum[v], c + v * VECTOR);
        }
    } else {
        float s[COLS];
        #pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            VSTORE(alpha * sum[v], s + v * VECTOR);
        }
        for (int j = 0; j < cols; ++j) {
            c[j] += s[j];
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void cl_wide(PARAMETERS(CL_WIDE_ARGUMENTS))
{
    __local float Bp[KC * COLS];
    const int j0 = get_global_id(0) * COLS, cols = min(COLS, N - j0);
    const int tiles = (M + ROWS - 1) / ROWS;
    const int each = (tiles + shares - 1) / shares * ROWS;
    const int first = get_global_id(1) * each, last = min(M, first + each);

    for (int k0 = 0; k0 < K && first < last; k0 += KC) {
        const int kc = min(KC, K - k0);
        pack_strip(kc, cols, B + b0 + (ulong)k0 * brs + (ulong)j0 * bcs, brs, bcs, Bp);
        for (int i0 = first; i0 < last; i0 += ROWS) {
            __global const float *a[ROWS];
            wide sum[ROWS][VECTORS];
            #pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                a[i] = A + a0 + (ulong)min(i0 + i, M - 1) * ars + (ulong)k0 * acs;
                #pragma unroll
                for (int v = 0; v < VECTORS; ++v) {
                    sum[i][v] = (wide)(0.0f);
                }
            }
            for (int k = 0; k < kc; ++k) {
                wide b[VECTORS];
                #pragma unroll
                for (int v = 0; v < VECTORS; ++v) {
                    b[v] = VLOAD(Bp + k * COLS + v * VECTOR);
                }
                #pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    const float t = a[i][(ulong)k * acs];
                    #pragma unroll
                    for (int v = 0; v < VECTORS; ++v) {
                        sum[i][v] += t * b[v];
                    }
                }
            }
            #pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                if (i0 + i < last) {
                    add_row(sum[i], alpha, cols, C + c0 + (ulong)(i0 + i) * ldc + j0);
                }
            }
        }
    }
}
