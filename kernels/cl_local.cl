/* SPDX-License-Identifier: MIT */
/*
 * cl_local: cl_block with both sub-blocks in local memory. The sides of the paper's search are
 * defines:
 *   COLS = WY = 8, 16, 32, 64      the side of a block
 *   VECTOR = 1, 4, 8, 16           floats that a load or store moves at once; the sums stay scalar
 *   UNROLL = 1, 2, 4, 8, 16        steps of the innermost loop that are written out
 *
 *   As[y][k]: row y of A's block     Bs[j][k]: column j of B's block     COLS * COLS floats each
 *
 * Two blocks of 32x32 take the 8 KiB of local memory that an Adreno 330 has.
 *
 * Global memory is read COLS times less often. The kernel needs what cl_block needs: A is M x K and
 * B is transposed to N x K, both padded with zeros to multiples of COLS; acs and brs are 1.
 * Work-group {1,COLS}, global {N/COLS, M}.
 *
 * Source: Wang, Shi, Wen: CNN convolution on mobile GPUs (2018), steps 4 to 6.
 */
#include "cl_multiply_arguments.h"

#ifndef VECTOR
#define VECTOR 1
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#ifndef COLS
#define COLS 32
#endif
#ifndef WY
#define WY 32
#endif
#if COLS != WY || COLS % VECTOR
#error "cl_local: blocks are squares of whole vectors"
#endif

#if VECTOR == 1
typedef float wide;
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#define SUM(p) (p)
#elif VECTOR == 4
typedef float4 wide;
#define LOAD(p) vload4(0, p)
#define STORE(v, p) vstore4(v, 0, p)
#define SUM(p) ((p).s0 + (p).s1 + (p).s2 + (p).s3)
#elif VECTOR == 8
typedef float8 wide;
#define LOAD(p) vload8(0, p)
#define STORE(v, p) vstore8(v, 0, p)
#define SUM4(q) ((q).s0 + (q).s1 + (q).s2 + (q).s3)
#define SUM(p) SUM4((p).lo + (p).hi)
#elif VECTOR == 16
typedef float16 wide;
#define LOAD(p) vload16(0, p)
#define STORE(v, p) vstore16(v, 0, p)
#define SUM(p) ((p).s0 + (p).s1 + (p).s2 + (p).s3 + (p).s4 + (p).s5 + (p).s6 + (p).s7 + \
                (p).s8 + (p).s9 + (p).sa + (p).sb + (p).sc + (p).sd + (p).se + (p).sf)
#else
#error "cl_local: VECTOR is 1, 4, 8 or 16"
#endif

__kernel __attribute__((reqd_work_group_size(1, WY, 1)))
void cl_local(PARAMETERS(CL_PRODUCT_ARGUMENTS))
{
    __local float As[COLS * COLS], Bs[COLS * COLS];
    const int y = get_local_id(1);
    const int j0 = get_global_id(0) * COLS, i = get_global_id(1);
    __global const float *a = A + a0 + (ulong)i * ars;
    __global const float *b = B + b0 + (ulong)(j0 + y) * bcs;
    float sum[COLS];
    for (int j = 0; j < COLS; ++j) {
        sum[j] = 0.0f;
    }
    for (int k0 = 0; k0 < K; k0 += COLS) {
        for (int k = 0; k < COLS; k += VECTOR) {
            STORE(LOAD(a + k0 + k), As + y * COLS + k);
            STORE(LOAD(b + k0 + k), Bs + y * COLS + k);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < COLS; ++j) {
            #pragma unroll UNROLL
            for (int k = 0; k < COLS; k += VECTOR) {
                wide p = LOAD(As + y * COLS + k) * LOAD(Bs + j * COLS + k);
                sum[j] += SUM(p);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < M) {
        __global float *c = C + c0 + (ulong)i * ldc + j0;
        int j = 0;
        for (; j + VECTOR <= COLS && j0 + j + VECTOR <= N; j += VECTOR) {
            wide s;
            for (int v = 0; v < VECTOR; ++v) {
                ((float *)&s)[v] = sum[j + v];
            }
            STORE(LOAD(c + j) + alpha * s, c + j);
        }
        for (; j < COLS && j0 + j < N; ++j) {
            c[j] += alpha * sum[j];
        }
    }
}
