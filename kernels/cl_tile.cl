/* SPDX-License-Identifier: MIT */
/*
 * cl_tile: for desktop GPUs. A group computes a BM x BN tile of C from local memory. A work-item
 * holds ROWS x COLS elements of it in registers.
 *
 *   As[k][m]: BK x BM of A      Bs[k][n]: BK x BN of B
 *
 * There are two of each. While one is multiplied, the next one is loaded into registers. So one
 * barrier a step is enough.
 *
 * With SLICES > 1 item (x, y, z) multiplies slice z of each step's K. So a small tile has many
 * items, and a step is long. At the end the slices are added in local memory, in their order.
 *
 * An item's rows are ROWS/4 runs of 4, WY*4 apart. Its columns are COLS/4 runs of 4, WX*4 apart.
 * So neighbouring items read neighbouring float4 from local memory.
 *
 * BM = WY*ROWS, BN = WX*COLS. ROWS and COLS are multiples of 4. The group's WX*WY*SLICES items
 * must divide BM*BK and BN*BK. M, N, K and strides may be any numbers. Rows and columns outside of
 * C are copies of the last ones, and are not stored. Steps past the end of K count as 0.
 *
 * An item loads single elements, or float4 where ALIGNED_A (ALIGNED_B) says that the matrix has
 * only aligned ones. A_TRANSPOSED and B_TRANSPOSED only change the order of the loads, so that
 * neighbouring items load neighbouring elements.
 *
 * Global {N/COLS, M/ROWS, parts * SLICES}, rounded up to groups {WX, WY, SLICES}. kpart:
 * cl_multiply_arguments.h. CONV, TAPS, POOL, DEPTHWISE, SHORTCUT: cl_conv.h. With TAPS, POOL and
 * DEPTHWISE all that an item looks up of B is of one column.
 *
 * An 8x4 tile has 32 accumulators; 32 FMAs for 3 loads of float4 from local memory.
 */
#include "cl_conv.h"

#ifndef ROWS
#define ROWS 8
#endif
#ifndef COLS
#define COLS 4
#endif
#ifndef WX
#define WX 8
#endif
#ifndef WY
#define WY 8
#endif
#ifndef BK
#define BK 16
#endif
#ifndef SLICES
#define SLICES 1
#endif
#define BM (WY * ROWS)
#define BN (WX * COLS)
#define PLACES (WX * WY)
#define ITEMS (PLACES * SLICES)
#define DEPTH (BK / SLICES)
#define PAD 4
#define FLOATS_A (BK * (BM + PAD))
#define FLOATS_B (BK * (BN + PAD))
#if ROWS % 4 || COLS % 4
#error "cl_tile: ROWS, COLS in fours"
#endif
#if BK % SLICES || (SLICES > 1 && SLICES * BM * BN > 2 * (FLOATS_A + FLOATS_B))
#error "cl_tile: slices have equal steps, and their sums lie where A and B lay"
#endif

/* Elements of a load: VA of A, VB of B. */
#if defined(ALIGNED_A) && BM * BK % (4 * ITEMS) == 0
#define VA 4
#else
#define VA 1
#endif
#if defined(ALIGNED_B) && BN * BK % (4 * ITEMS) == 0 && !defined(TAPS) && !defined(DEPTHWISE)
#define VB 4
#else
#define VB 1
#endif
#define LOADS_A (BM * BK / ITEMS / VA)
#define LOADS_B (BN * BK / ITEMS / VB)
#if LOADS_A * VA * ITEMS != BM * BK || LOADS_B * VB * ITEMS != BN * BK
#error "cl_tile: the items must divide the vectors of a tile"
#endif
#if (defined(TAPS) || defined(DEPTHWISE)) && (ITEMS % BN || defined(B_TRANSPOSED))
#error "cl_tile: where B is looked up, the columns of a tile divide the items"
#endif

/* Load v of the tile: its first row of A (column of B) and its first step. Its elements are the
   next steps, or the next rows (columns). */
#ifdef A_TRANSPOSED
#define A_ALONG_K 0
#define A_M(v) ((v) % (BM / VA) * VA)
#define A_K(v) ((v) / (BM / VA))
#else
#define A_ALONG_K 1
#define A_M(v) ((v) / (BK / VA))
#define A_K(v) ((v) % (BK / VA) * VA)
#endif
#ifdef B_TRANSPOSED
#define B_ALONG_K 1
#define B_N(v) ((v) / (BK / VB))
#define B_K(v) ((v) % (BK / VB) * VB)
#else
#define B_ALONG_K 0
#define B_N(v) ((v) % (BN / VB) * VB)
#define B_K(v) ((v) / (BN / VB))
#endif

#if VA == 4
#define LOAD_A(r, p) vstore4(*(__global const float4 *)(p), 0, r)
#else
#define LOAD_A(r, p) *(r) = *(p)
#endif
#if VB == 4
#define LOAD_B(r, p) vstore4(*(__global const float4 *)(p), 0, r)
#else
#define LOAD_B(r, p) *(r) = *(p)
#endif

/* Element k of a column of B that is not B as it lies. */
#ifdef DEPTHWISE
#define LOOK_UP(k) conv_depthwise(b, k, y, x, h, w, size, taps, depth_norm, K, depth_slope)
#elif defined(TAPS)
#define LOOK_UP(k) conv_tap(b, k, y, x, h, w, size)
#endif

/* The sum of an element of C, or of four. */
#if SLICES > 1
#define UNROLL_STORES
#define SUM(i, j) add_slices(local_memory, ((i) * (COLS / 4) + (j)) * PLACES + ty * WX + tx)

float4 add_slices(__local const float *sums, int at)
{
    float4 sum = vload4(at, sums);
    #pragma unroll
    for (int s = 1; s < SLICES; ++s) {
        sum += vload4(at + s * (ROWS * COLS / 4 * PLACES), sums);
    }
    return sum;
}
#else
#define UNROLL_STORES _Pragma("unroll")
#define SUM(i, j) acc[i][j]
#endif

__kernel __attribute__((reqd_work_group_size(WX, WY, SLICES)))
void cl_tile(PARAMETERS(MULTIPLY_ARGUMENTS))
{
    UNPACK(MULTIPLY_ARGUMENTS)
    __local float local_memory[2 * (FLOATS_A + FLOATS_B)] __attribute__((aligned(16)));
    __local float *const As = local_memory, *const Bs = local_memory + 2 * FLOATS_A;
    const uint tx = get_local_id(0), ty = get_local_id(1);
    const uint slice = SLICES > 1 ? get_local_id(2) : 0, t = (slice * WY + ty) * WX + tx;
    const int m0 = get_group_id(1) * BM, n0 = get_group_id(0) * BN;
    const int z = get_group_id(2), begin = PART(z) * kpart, end = min(K, begin + kpart);

    /* Where this item's loads begin: pa of A, and pb of B unless B is looked up. */
    __global const float *pa[LOADS_A], *b = B + b0 + B_START(z);
    #pragma unroll
    for (int l = 0; l < LOADS_A; ++l) {
        const uint v = t + l * ITEMS;
        const int m = min(m0 + (int)A_M(v), M - (A_ALONG_K ? 1 : VA)), k = begin + A_K(v);
        pa[l] = A + a0 + A_START(z) + (ulong)m * ars + (ulong)k * acs;
    }
#ifdef LOOK_UP
    const int place = min(n0 + (int)(t % BN), N - 1);
    const int y = PLACE_ROW(place) * stride - pad, x = PLACE_COLUMN(place) * stride - pad;
#else
    __global const float *pb[LOADS_B];
    #pragma unroll
    for (int l = 0; l < LOADS_B; ++l) {
        const uint v = t + l * ITEMS;
        const int n = min(n0 + (int)B_N(v), N - (B_ALONG_K ? 1 : VB)), k = begin + B_K(v);
        pb[l] = b + (ulong)k * brs + (ulong)n * bcs;
    }
#endif

    float ra[LOADS_A * VA], rb[LOADS_B * VB];   /* the next step, until it goes to local memory */
    float4 acc[ROWS][COLS / 4];
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        #pragma unroll
        for (int j = 0; j < COLS / 4; ++j) {
            acc[i][j] = (float4)(0.0f);
        }
    }

    /* The first turn only loads. `now` is the copy of As and Bs that holds the step at k0. */
    int now = 0;
    for (int k0 = begin - BK; k0 < end; k0 += BK) {
        const int next = k0 + BK;

        /* Load the next step: a whole one, or the last one, which may be shorter. */
        if (next + BK <= end) {
            #pragma unroll
            for (int l = 0; l < LOADS_A; ++l) {
                LOAD_A(ra + l * VA, pa[l]);
                pa[l] += (ulong)BK * acs;
            }
            #pragma unroll
            for (int l = 0; l < LOADS_B; ++l) {
#ifdef LOOK_UP
                rb[l] = LOOK_UP(next + (int)B_K(t + l * ITEMS));
#else
                LOAD_B(rb + l * VB, pb[l]);
                pb[l] += (ulong)BK * brs;
#endif
            }
        } else if (next < end) {
            #pragma unroll
            for (int l = 0; l < LOADS_A * VA; ++l) {
                const int k = next + A_K(t + l / VA * ITEMS) + l % VA * A_ALONG_K;
                ra[l] = k < end ? pa[l / VA][l % VA] : 0.0f;
            }
            #pragma unroll
            for (int l = 0; l < LOADS_B * VB; ++l) {
                const int k = next + B_K(t + l / VB * ITEMS) + l % VB * B_ALONG_K;
#ifdef LOOK_UP
                rb[l] = k < end ? LOOK_UP(k) : 0.0f;
#else
                rb[l] = k < end ? pb[l / VB][l % VB] : 0.0f;
#endif
            }
        }

        /* Multiply this step, or this item's slice of it. */
        if (k0 >= begin) {
            __local const float *as = As + now * FLOATS_A + slice * DEPTH * (BM + PAD) + ty * 4;
            __local const float *bs = Bs + now * FLOATS_B + slice * DEPTH * (BN + PAD) + tx * 4;
            #pragma unroll
            for (int k = 0; k < DEPTH; ++k) {
                float av[ROWS];
                float4 bv[COLS / 4];
                #pragma unroll
                for (int i = 0; i < ROWS / 4; ++i) {
                    const float4 v =
                        *(__local const float4 *)(as + k * (BM + PAD) + i * WY * 4);
                    av[4 * i] = v.x;
                    av[4 * i + 1] = v.y;
                    av[4 * i + 2] = v.z;
                    av[4 * i + 3] = v.w;
                }
                #pragma unroll
                for (int j = 0; j < COLS / 4; ++j) {
                    bv[j] = *(__local const float4 *)(bs + k * (BN + PAD) + j * WX * 4);
                }
                #pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    #pragma unroll
                    for (int j = 0; j < COLS / 4; ++j) {
                        acc[i][j] += av[i] * bv[j];
                    }
                }
            }
            now ^= 1;
        }

        /* Put the next step into the other copy. */
        if (next < end) {
            #pragma unroll
            for (int l = 0; l < LOADS_A * VA; ++l) {
                const uint v = t + l / VA * ITEMS;
                const uint k = A_K(v) + l % VA * A_ALONG_K, m = A_M(v) + l % VA * !A_ALONG_K;
                As[now * FLOATS_A + k * (BM + PAD) + m] = ra[l];
            }
            #pragma unroll
            for (int l = 0; l < LOADS_B * VB; ++l) {
                const uint v = t + l / VB * ITEMS;
                const uint k = B_K(v) + l % VB * B_ALONG_K, n = B_N(v) + l % VB * !B_ALONG_K;
                Bs[now * FLOATS_B + k * (BN + PAD) + n] = rb[l];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }

#if SLICES > 1
    /* The sums of all slices lie where A and B lay. SUM adds those of an element. */
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int i = 0; i < ROWS * (COLS / 4); ++i) {
        vstore4(acc[i / (COLS / 4)][i % (COLS / 4)],
                (slice * ROWS * (COLS / 4) + i) * PLACES + ty * WX + tx, local_memory);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    __global float *c = C + c0 + C_START(z) + (ulong)PART(z) * cpart;

    /* Store C: the part of K as it is, or the result. Each slice stores some of the rows. */
    UNROLL_STORES
    for (int i = slice; i < ROWS; i += SLICES) {
        const int m = m0 + (i / 4) * WY * 4 + ty * 4 + i % 4;
        #pragma unroll
        for (int j = 0; j < COLS / 4; ++j) {
            const int n = n0 + j * WX * 4 + tx * 4;
#ifdef POOL
            if (!cpart) {
                if (m < M && n < N) {
                    __global float *most = c + (ulong)m * ldc + n / 4;
                    *most = conv_most(RESULT4(alpha * SUM(i, j), most, FILTER(z) + m));
                }
                continue;
            }
#endif
            __global float *o = c + (ulong)m * ldc + n;
            const float4 s = alpha * SUM(i, j);
            if (m < M && n + 4 <= N) {
                vstore4(cpart ? s : RESULT4(s, o, FILTER(z) + m), 0, o);
            } else if (m < M && n < N) {
                o[0] = cpart ? s.x : RESULT(s.x, o, FILTER(z) + m);
                if (n + 1 < N) {
                    o[1] = cpart ? s.y : RESULT(s.y, o + 1, FILTER(z) + m);
                }
                if (n + 2 < N) {
                    o[2] = cpart ? s.z : RESULT(s.z, o + 2, FILTER(z) + m);
                }
            }
        }
    }
}
