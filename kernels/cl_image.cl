/* SPDX-License-Identifier: MIT */
/*
 * cl_image: a micro-tile of ROWS x COLS a work-item, 8x4 by default. B comes through the texture
 * pipe, A through L2.
 *
 *           B: image, one RGBA pixel = 4 columns     item (x, y) reads pixels (x, k ... k+3)
 *           +--------+                               and A[8y ... 8y+7][k ... k+3] by vload4.
 *    A      | 4x4    |                               All items of a group take steps of 4 along K
 *  +-----+  +--------+                               together, so that neighbours find their data
 *  | 8x4 |  | C 8x4  |                               in the texture unit's L1 and in L2.
 *  +-----+  +--------+
 *
 * ROWS * COLS / 4 accumulators of float4. COLS is 4 or 8: one pixel, or two neighbours. Global
 * {N/COLS, M/ROWS}, rounded up to the group; any group. The image is zero past N. Rows past M
 * repeat row M-1 and are not stored. The last K % 4 steps are taken one by one, so nothing past A
 * is ever read. acs is 1. ROWS rows of A, of C and of an IN_PLACE B have fewer than 2^31
 * elements, because offsets inside a tile have 32 bits.
 *
 * ALIGNED_A: cl_load.h. UNROLL and AHEAD are for devices with registers to spare. AHEAD issues the
 * loads of the next step before the sums of this step.
 *
 * The image may hold floats of 16 bits, which read_imagef widens. With HALF_SUMS, A has 16 bits
 * too. Runs of 32 products are added in 16 bits, and the runs in 32. This needs cl_khr_fp16.
 *
 * kpart (cl_multiply_arguments.h) is a multiple of 4.
 *
 * CONV, POOL: cl_conv.h. One image holds B of all products. Its rows have `brs` pixels, a multiple
 * of COLS / 4. A row of B takes `bcs` of them, K rows of the image apart. With IN_PLACE, B is a
 * buffer that is read as it lies, and N is at least COLS. The last item then moves its columns to
 * the left, so that they end at N. It stores what its neighbour stores there.
 *
 * Source: Shimanskiy: Matrix Multiply on Adreno GPUs, parts 1 and 2 (2016).
 */
#ifdef HALF_SUMS
#define HALF_A
#endif
#define B_TYPE SOURCE
#include "cl_load.h"
#include "cl_conv.h"

#ifndef ROWS
#define ROWS 8
#endif
#ifndef COLS
#define COLS 4
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#define PIXELS (COLS / 4)
#if (COLS != 4 && COLS != 8) || ROWS > 8
#error "cl_image: COLS is 4 or 8, because a pixel is 4 columns, and ROWS is at most 8"
#endif

#include "cl_each.h"

/* NUMBER: of the arithmetic; a test defines it for devices without cl_khr_fp16. */
#ifdef HALF_SUMS
#ifndef NUMBER
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define NUMBER half
#define NUMBER4 half4
#define READ read_imageh
#define NARROW(x) convert_half4(x)
#endif
#else
#define NUMBER float
#define NUMBER4 float4
#define READ read_imagef
#define NARROW(x) (x)
#endif
#define RUN 8                   /* of HALF_SUMS, in steps of 4 */

#ifdef IN_PLACE
#define SOURCE __global const float *
#define PLACE __global const float *
#define DOWN(at, k) ((at) + (k) * brs)
#define PIXEL(read, k, p) vload4(p, DOWN(at, k))
#else
#define SOURCE __read_only image2d_t
#define PLACE int2
#define DOWN(at, k) ((at) + (int2)(0, k))
#if __OPENCL_VERSION__ >= 120
#define PIXEL(read, k, p) read(B, at + (int2)((p) ? next : 0, k))
#else
__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#define PIXEL(read, k, p) read(B, nearest, at + (int2)((p) ? next : 0, k))
#endif
#endif

/* Four steps of K: b[k][p] is pixel p of row k, t[k][i] is A's element of row i. `next`: how far
   the second pixel is. Always inlined, because llvmpipe's compiler crashes on an image as the
   argument of a call. Not with LOAD_BY_CALL: Oclgrind cannot follow arrays that are inlined. */
#ifndef LOAD_BY_CALL
__attribute__((always_inline))
#endif
void load_four(PLACE at, int brs, int next, SOURCE B, __global const ELEMENT *a, const int *row,
               NUMBER4 (*b)[PIXELS], NUMBER (*t)[ROWS])
{
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        #pragma unroll
        for (int p = 0; p < PIXELS; ++p) {
            b[k][p] = PIXEL(READ, k, p);
        }
    }
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        const NUMBER4 v = NARROW(LOAD_A4(a + row[i]));
        t[0][i] = v.x;
        t[1][i] = v.y;
        t[2][i] = v.z;
        t[3][i] = v.w;
    }
}

void add_four(NUMBER4 (*b)[PIXELS], NUMBER (*t)[ROWS], NUMBER4 (*c)[PIXELS])
{
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        EACH(c[i][p] += t[k][i] * b[k][p])
    }
}

/* Stores four sums, or as many as there are places; none where that is 0 or less. */
void store(float4 s, __global float *o, int places, bool add)
{
    if (places >= 4) {
        vstore4(add ? vload4(0, o) + s : s, 0, o);
        return;
    }
    if (places > 0) {
        o[0] = add ? o[0] + s.x : s.x;
    }
    if (places > 1) {
        o[1] = add ? o[1] + s.y : s.y;
    }
    if (places > 2) {
        o[2] = add ? o[2] + s.z : s.z;
    }
}

__kernel void cl_image(PARAMETERS(MULTIPLY_ARGUMENTS))
{
    const int x = get_global_id(0), i0 = get_global_id(1) * ROWS;
    if (x * COLS >= N || i0 >= M) {
        return;
    }
    const int z = get_global_id(2), begin = PART(z) * kpart;
    int left = min(K - begin, kpart);
    __global const ELEMENT *a = A + a0 + A_START(z) + (ulong)i0 * ars + begin;
#if defined(IN_PLACE)
    const int j0 = min(x * COLS, N - COLS), next = 1;
    PLACE at = B + b0 + B_START(z) + (ulong)begin * brs + j0;
#else
    const int j0 = x * COLS, next = j0 + 4 < N;
#ifdef CONV
    PLACE at = (int2)(x * PIXELS % brs, (PRODUCT(z) * bcs + x * PIXELS / brs) * K + begin);
#else
    PLACE at = (int2)(x * PIXELS, begin);
#endif
#endif
    int row[ROWS];
    float4 c[ROWS][PIXELS];
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        row[i] = min(i, M - 1 - i0) * ars;
    }
    EACH(c[i][p] = (float4)(0.0f))

    /* Steps of four. */
#if defined(HALF_SUMS)
    while (left >= 4) {
        NUMBER4 run[ROWS][PIXELS];
        EACH(run[i][p] = (NUMBER4)(0.0f))
        for (int steps = min(left / 4, RUN); steps > 0; --steps, left -= 4) {
            NUMBER4 b[4][PIXELS];
            NUMBER t[4][ROWS];
            load_four(at, brs, next, B, a, row, b, t);
            add_four(b, t, run);
            at = DOWN(at, 4);
            a += 4;
        }
        EACH(c[i][p] += convert_float4(run[i][p]))
    }
#elif defined(AHEAD)
    if (left >= 4) {
        float4 b[4][PIXELS], b_next[4][PIXELS];
        float t[4][ROWS], t_next[4][ROWS];
        load_four(at, brs, next, B, a, row, b, t);
        #pragma unroll UNROLL
        for (; left >= 8; left -= 4) {
            at = DOWN(at, 4);
            a += 4;
            load_four(at, brs, next, B, a, row, b_next, t_next);
            add_four(b, t, c);
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                #pragma unroll
                for (int p = 0; p < PIXELS; ++p) {
                    b[k][p] = b_next[k][p];
                }
                #pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    t[k][i] = t_next[k][i];
                }
            }
        }
        add_four(b, t, c);
        at = DOWN(at, 4);
        a += 4;
        left -= 4;
    }
#else
    #pragma unroll UNROLL
    for (; left >= 4; left -= 4) {
        float4 b[4][PIXELS];
        float t[4][ROWS];
        load_four(at, brs, next, B, a, row, b, t);
        add_four(b, t, c);
        at = DOWN(at, 4);
        a += 4;
    }
#endif
    /* The last K % 4 steps. */
    for (; left > 0; --left) {
        EACH(c[i][p] += LOAD_A(a + row[i]) * PIXEL(read_imagef, 0, p))
        at = DOWN(at, 1);
        ++a;
    }

    EACH(c[i][p] *= alpha)
#ifdef CONV
    if (!cpart) {
        const int filter = FILTER(z) + i0, filters = groups * M, last = M - 1 - i0;
        FINISH_EACH(filter, filters, last)
    }
#ifdef POOL
    if (!cpart) {
        __global float *most = C + c0 + C_START(z) + (ulong)i0 * ldc + j0 / 4;
        EACH(if (i0 + i < M && j0 + 4 * p < N) { most[i * ldc + p] = conv_most(c[i][p]); })
        return;
    }
#endif
    const bool add = false;
#else
    const bool add = !cpart;
#endif
    __global float *out = C + c0 + C_START(z) + (ulong)PART(z) * cpart + (ulong)i0 * ldc + j0;
    EACH(store(c[i][p], out + i * ldc + 4 * p, i0 + i < M ? N - j0 - 4 * p : 0, add))
}
