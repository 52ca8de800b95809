/*
 * cl_image: a 4x8 micro-tile a work-item. B comes through the texture pipe, A through L2.
 *
 *           B: image, one RGBA pixel = 4 columns     item (x, y) reads pixels (x, k ... k+3)
 *           +--------+                               and A[8y ... 8y+7][k ... k+3] by vload4.
 *    A      | 4x4    |                               All items of a group take steps of 4 along K
 *  +-----+  +--------+                               together, so that neighbours find their data
 *  | 8x4 |  | C 4x8  |                               in the texture unit's L1 and in L2.
 *  +-----+  +--------+
 *
 * Eight float4 accumulators. Global {N/4, M/8}, rounded up to the group; any group. The image is
 * zero past N. Rows past M repeat row M-1 and are not stored. The last K % 4 steps are taken one by
 * one, so nothing past A is ever read. acs is 1.
 *
 * ALIGNED_A says that A's rows start at multiples of 16 bytes: then a float4 of A is one load.
 * UNROLL and AHEAD are for devices with registers to spare. AHEAD issues the loads of the next step
 * before the sums of this step.
 *
 * With more than one group along z, K is cut into parts of `kpart`, a multiple of 4. Part z stores
 * its product at C + z*cpart for cl_sum, instead of adding it to C.
 *
 * CONV: cl_conv.h. One image holds B of all products. Its rows have `brs` pixels. A row of B takes
 * `bcs` of them, K rows of the image apart. With IN_PLACE, B is a buffer that is read as it lies.
 *
 * Source: Shimanskiy: Matrix Multiply on Adreno GPUs, parts 1 and 2 (2016).
 */
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
#ifdef ALIGNED_A
#define LOAD_A(p) (*(__global const float4 *)(p))
#else
#define LOAD_A(p) vload4(0, p)
#endif
#if COLS != 4
#error "cl_image: a pixel is 4 columns"
#endif

__constant sampler_t pixel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

#ifdef IN_PLACE
#define SOURCE __global const float *
/* Four columns of row k: the first lies at `x`, and `left` are there up to the row's end. */
float4 load_pixel(SOURCE B, ulong x, int brs, int left, int k)
{
    SOURCE b = B + x + (ulong)k * brs;
    if (left >= 4) {
        return vload4(0, b);
    }
    return (float4)(b[0], left > 1 ? b[1] : 0.0f, left > 2 ? b[2] : 0.0f, 0.0f);
}
#define PIXEL(k) load_pixel(B, at, brs, left, k)
#define AT ulong at, int brs, int left
#define AT_VALUES at, brs, left
#else
#define SOURCE __read_only image2d_t
#define PIXEL(k) read_imagef(B, pixel, at + (int2)(0, k))
#define AT int2 at
#define AT_VALUES at
#endif

/* Four steps of K: b[p] is a pixel of row k + p, a[p][i] is A's element of row i. */
void load_four(int k, AT, SOURCE B, __global const float *A, const ulong *row, float4 *b,
               float (*a)[ROWS])
{
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        b[p] = PIXEL(k + p);
    }
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        const float4 t = LOAD_A(A + row[i] + k);
        a[0][i] = t.x;
        a[1][i] = t.y;
        a[2][i] = t.z;
        a[3][i] = t.w;
    }
}

void add_four(const float4 *b, const float (*a)[ROWS], float4 *c)
{
    #pragma unroll
    for (int p = 0; p < 4; ++p) {
        #pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            c[i] += a[p][i] * b[p];
        }
    }
}

__kernel void cl_image(int M, int N, int K, float alpha,
                       __global const float *A, ulong a0, int ars, int acs,
                       SOURCE B, ulong b0, int brs, int bcs,
                       __global float *C, ulong c0, int ldc, int kpart, ulong cpart CONV_PARAMETERS)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x * COLS >= N || y * ROWS >= M) {
        return;
    }
    const int z = get_global_id(2), begin = PART(z) * kpart, end = min(K, begin + kpart);
    __global const float *a = A + a0 + A_START(z);
#if defined(IN_PLACE)
    const ulong at = b0 + B_START(z) + x * COLS;
    const int left = N - x * COLS;
#elif defined(CONV)
    const int2 at = (int2)(x % brs, (PRODUCT(z) * bcs + x / brs) * K);
#else
    const int2 at = (int2)(x, 0);
#endif
    ulong row[ROWS];
    float4 c[ROWS];
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        row[i] = (ulong)min(y * ROWS + i, M - 1) * ars;
        c[i] = (float4)(0.0f);
    }
    int k = begin;
#ifdef AHEAD
    if (k + 4 <= end) {
        float4 b[4], b_next[4];
        float t[4][ROWS], t_next[4][ROWS];
        load_four(k, AT_VALUES, B, a, row, b, t);
        #pragma unroll UNROLL
        for (; k + 8 <= end; k += 4) {
            load_four(k + 4, AT_VALUES, B, a, row, b_next, t_next);
            add_four(b, t, c);
            #pragma unroll
            for (int p = 0; p < 4; ++p) {
                b[p] = b_next[p];
                #pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    t[p][i] = t_next[p][i];
                }
            }
        }
        add_four(b, t, c);
        k += 4;
    }
#else
    #pragma unroll UNROLL
    for (; k + 4 <= end; k += 4) {
        float4 b[4];
        float t[4][ROWS];
        load_four(k, AT_VALUES, B, a, row, b, t);
        add_four(b, t, c);
    }
#endif
    for (; k < end; ++k) {
        const float4 b = PIXEL(k);
        #pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            c[i] += a[row[i] + k] * b;
        }
    }
    __global float *out = C + c0 + C_START(z) + (ulong)PART(z) * cpart + x * COLS;
    const bool whole = x * COLS + 4 <= N;
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        if (y * ROWS + i < M) {
            __global float *o = out + (ulong)(y * ROWS + i) * ldc;
            const float4 s = alpha * c[i];
            if (whole) {
                vstore4(cpart ? s : RESULT4(s, o, FILTER(z) + y * ROWS + i), 0, o);
            } else {
                o[0] = cpart ? s.x : RESULT(s.x, o, FILTER(z) + y * ROWS + i);
                if (x * COLS + 1 < N) {
                    o[1] = cpart ? s.y : RESULT(s.y, o + 1, FILTER(z) + y * ROWS + i);
                }
                if (x * COLS + 2 < N) {
                    o[2] = cpart ? s.z : RESULT(s.z, o + 2, FILTER(z) + y * ROWS + i);
                }
            }
        }
    }
}
