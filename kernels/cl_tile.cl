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
 * cl_multiply_arguments.h. CONV, TAPS, POOL, DEPTHWISE: cl_conv.h. With the last three all that an
 * item looks up of B is of one column.
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

/* Functions that take private arrays are inlined, so that the arrays stay in registers. */
#define INLINE __attribute__((always_inline))

/* ---- loads: what an item brings of a step ---- */

/* Where the loads of A begin, for the first step. */
INLINE
void find_a(__global const float **at, __global const float *A, int ars, int acs, int m0, int M,
            int begin, uint t)
{
    #pragma unroll
    for (int l = 0; l < LOADS_A; ++l) {
        const uint v = t + l * ITEMS;
        const int m = min(m0 + (int)A_M(v), M - (A_ALONG_K ? 1 : VA)), k = begin + A_K(v);
        at[l] = A + (ulong)m * ars + (ulong)k * acs;
    }
}

/* Loads a whole step of A, and moves on to the next one. */
INLINE
void load_a(float *r, __global const float **at, int acs)
{
    #pragma unroll
    for (int l = 0; l < LOADS_A; ++l) {
        LOAD_A(r + l * VA, at[l]);
        at[l] += (ulong)BK * acs;
    }
}

/* Loads the last step, which begins at k0 and may be shorter. */
INLINE
void load_last_a(float *r, __global const float **at, int k0, int end, uint t)
{
    #pragma unroll
    for (int l = 0; l < LOADS_A * VA; ++l) {
        const int k = k0 + A_K(t + l / VA * ITEMS) + l % VA * A_ALONG_K;
        r[l] = k < end ? at[l / VA][l % VA] : 0.0f;
    }
}

/* Of B the kernel has `b`: where the loads begin. Where B is looked up, b is the product's first
   channel, and (y, x) is the item's column: the place of its first tap. B_PARAMETERS is what a
   function takes of it, and B_VALUES what the kernel gives. */
#ifdef DEPTHWISE
#define B_PARAMETERS \
    __global const float *b, int y, int x, int h, int w, int size, __global const float *taps, \
    __global const float *norm, int K, float slope
#define B_VALUES b, y, x, h, w, size, taps, depth_norm, K, depth_slope
#define LOOK_UP(k) conv_depthwise(b, k, y, x, h, w, size, taps, norm, K, slope)
#elif defined(TAPS)
#define B_PARAMETERS __global const float *b, int y, int x, int h, int w, int size
#define B_VALUES b, y, x, h, w, size
#define LOOK_UP(k) conv_tap(b, k, y, x, h, w, size)
#else
#define B_PARAMETERS __global const float **b, int brs
#define B_VALUES b, brs

INLINE
void find_b(__global const float **at, __global const float *B, int brs, int bcs, int n0, int N,
            int begin, uint t)
{
    #pragma unroll
    for (int l = 0; l < LOADS_B; ++l) {
        const uint v = t + l * ITEMS;
        const int n = min(n0 + (int)B_N(v), N - (B_ALONG_K ? 1 : VB)), k = begin + B_K(v);
        at[l] = B + (ulong)k * brs + (ulong)n * bcs;
    }
}
#endif

/* As load_a, of the step at k0. */
INLINE
void load_b(float *r, int k0, uint t, B_PARAMETERS)
{
    #pragma unroll
    for (int l = 0; l < LOADS_B; ++l) {
#ifdef LOOK_UP
        r[l] = LOOK_UP(k0 + (int)B_K(t + l * ITEMS));
#else
        LOAD_B(r + l * VB, b[l]);
        b[l] += (ulong)BK * brs;
#endif
    }
}

/* As load_last_a. */
INLINE
void load_last_b(float *r, int k0, int end, uint t, B_PARAMETERS)
{
    #pragma unroll
    for (int l = 0; l < LOADS_B * VB; ++l) {
        const int k = k0 + B_K(t + l / VB * ITEMS) + l % VB * B_ALONG_K;
#ifdef LOOK_UP
        r[l] = k < end ? LOOK_UP(k) : 0.0f;
#else
        r[l] = k < end ? b[l / VB][l % VB] : 0.0f;
#endif
    }
}

/* ---- a step in local memory ---- */

/* Puts what was loaded into As and Bs. */
INLINE
void put_step(__local float *As, __local float *Bs, const float *ra, const float *rb, uint t)
{
    #pragma unroll
    for (int l = 0; l < LOADS_A * VA; ++l) {
        const uint v = t + l / VA * ITEMS;
        const uint k = A_K(v) + l % VA * A_ALONG_K, m = A_M(v) + l % VA * !A_ALONG_K;
        As[k * (BM + PAD) + m] = ra[l];
    }
    #pragma unroll
    for (int l = 0; l < LOADS_B * VB; ++l) {
        const uint v = t + l / VB * ITEMS;
        const uint k = B_K(v) + l % VB * B_ALONG_K, n = B_N(v) + l % VB * !B_ALONG_K;
        Bs[k * (BN + PAD) + n] = rb[l];
    }
}

/* Multiplies a step, or this item's slice of it. */
INLINE
void multiply_step(__local const float *as, __local const float *bs, float4 (*acc)[COLS / 4])
{
    #pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
        float av[ROWS];
        float4 bv[COLS / 4];
        #pragma unroll
        for (int i = 0; i < ROWS / 4; ++i) {
            const float4 v = *(__local const float4 *)(as + k * (BM + PAD) + i * WY * 4);
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
}

/* ---- the end: four neighbours of C ---- */

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

/* The sums of all slices lie where A and B lay. SUM adds those of an element. */
INLINE
void put_slice(__local float *sums, float4 (*acc)[COLS / 4], uint slice, uint place)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        #pragma unroll
        for (int j = 0; j < COLS / 4; ++j) {
            vstore4(acc[i][j], ((slice * ROWS + i) * (COLS / 4) + j) * PLACES + place, sums);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
#else
#define UNROLL_STORES _Pragma("unroll")
#define SUM(i, j) acc[i][j]
#endif

/* Stores four sums, or as many as there are places: a part of K as it is, or the result. */
INLINE
void store(float4 s, __global float *o, int places, bool is_part, int filter RESULT_PARAMETERS)
{
    if (places >= 4) {
        vstore4(is_part ? s : RESULT4(s, o, filter), 0, o);
    } else if (places > 0) {
        o[0] = is_part ? s.x : RESULT(s.x, o, filter);
        if (places > 1) {
            o[1] = is_part ? s.y : RESULT(s.y, o + 1, filter);
        }
        if (places > 2) {
            o[2] = is_part ? s.z : RESULT(s.z, o + 2, filter);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(WX, WY, SLICES)))
void cl_tile(PARAMETERS(MULTIPLY_ARGUMENTS))
{
    __local float local_memory[2 * (FLOATS_A + FLOATS_B)] __attribute__((aligned(16)));
    __local float *const As = local_memory, *const Bs = local_memory + 2 * FLOATS_A;
    const uint tx = get_local_id(0), ty = get_local_id(1);
    const uint slice = SLICES > 1 ? get_local_id(2) : 0, t = (slice * WY + ty) * WX + tx;
    const int m0 = get_group_id(1) * BM, n0 = get_group_id(0) * BN;
    const int z = get_group_id(2), begin = PART(z) * kpart, end = min(K, begin + kpart);
    __global const float *a[LOADS_A];
    find_a(a, A + a0 + A_START(z), ars, acs, m0, M, begin, t);
#ifdef LOOK_UP
    __global const float *b = B + b0 + B_START(z);
    const int place = min(n0 + (int)(t % BN), N - 1);
    const int y = PLACE_ROW(place) * stride - pad, x = PLACE_COLUMN(place) * stride - pad;
#else
    __global const float *b[LOADS_B];
    find_b(b, B + b0 + B_START(z), brs, bcs, n0, N, begin, t);
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
        if (next + BK <= end) {
            load_a(ra, a, acs);
            load_b(rb, next, t, B_VALUES);
        } else if (next < end) {
            load_last_a(ra, a, next, end, t);
            load_last_b(rb, next, end, t, B_VALUES);
        }
        if (k0 >= begin) {
            multiply_step(As + now * FLOATS_A + slice * DEPTH * (BM + PAD) + ty * 4,
                          Bs + now * FLOATS_B + slice * DEPTH * (BN + PAD) + tx * 4, acc);
            now ^= 1;
        }
        if (next < end) {
            put_step(As + now * FLOATS_A, Bs + now * FLOATS_B, ra, rb, t);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
#if SLICES > 1
    put_slice(local_memory, acc, slice, ty * WX + tx);
#endif

    /* Each slice stores some of the rows. */
    __global float *c = C + c0 + C_START(z) + (ulong)PART(z) * cpart;
    UNROLL_STORES
    for (int i = slice; i < ROWS; i += SLICES) {
        const int m = m0 + (i / 4) * WY * 4 + ty * 4 + i % 4;
        #pragma unroll
        for (int j = 0; j < COLS / 4; ++j) {
            const int n = n0 + j * WX * 4 + tx * 4, places = m < M ? N - n : 0;
            const float4 s = alpha * SUM(i, j);
#ifdef POOL
            if (!cpart) {
                if (places > 0) {
                    __global float *most = c + (ulong)m * ldc + n / 4;
                    *most = conv_most(RESULT4(s, most, FILTER(z) + m));
                }
                continue;
            }
#endif
            store(s, c + (ulong)m * ldc + n, places, cpart, FILTER(z) + m RESULT_VALUES);
        }
    }
}
