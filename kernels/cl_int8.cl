/* SPDX-License-Identifier: MIT */
/*
 * cl_int8: a convolution in whole numbers of 8 bits. An item computes 8 filters at 4 places of the
 * output. Sums of 32 bits are exact, so their order does not matter, and
 *
 *     output = activation((sum + start) * norm[filter] + norm[filters + filter])
 *
 * with `start` the whole number in norm[2 * filters + filter]. Each operation on floats rounds, and
 * none is fused: results are those of packed_int8.
 *
 * A step is one tap of 16 channels: an uint4 of each place, and two of each quad of the filters.
 *
 * A: [group][tile][plane][tap][quad][8] quads of weights. Filters past M are 0.
 * B: [product][plane][rows][row][4] quads, as cl_int8_input writes it with QUADS 4.
 * Global {places / 4, tiles, products * SLICES}, rounded up to the group {WX, WY, SLICES}.
 *
 * Places are numbered row by row. Those of an item are WX apart, so neighbours read and write side
 * by side. With POOL they are a block of 2x2, whose maximum is stored.
 *
 * A slice of the group takes a share of the steps, and the shares are added in local memory.
 *
 * With DOT four products are one built-in of cl_khr_integer_dot_product, or one instruction of
 * NVIDIA's. DOT_BY(a, b, c) names another one that computes the same, for tests.
 */
#include "cl_int8_arguments.h"

#pragma OPENCL FP_CONTRACT OFF

#define ROWS 8
#ifndef WX
#define WX 32
#endif
#ifndef WY
#define WY 4
#endif
#ifndef SLICES
#define SLICES 1
#endif

/* Byte i of a quad, with its sign. */
#define BYTE(q, i) (((q) << (24 - 8 * (i))) >> 24)

#if defined(DOT) && !defined(DOT_BY)
#if defined(cl_khr_integer_dot_product) || !defined(__NV_CL_C_VERSION)
#if __OPENCL_VERSION__ < 300
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#endif
#define DOT_BY(a, b, c) ((c) + dot_4x8packed_ss_int(a, b))
#else
#define DOT_BY dot_by_ptx
int dot_by_ptx(uint a, uint b, int c)
{
    int sum;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}
#endif
#endif
int dot_of_bytes(uint a, uint b, int c)
{
    const int s = as_int(a), t = as_int(b);
    return c + BYTE(s, 0) * BYTE(t, 0) + BYTE(s, 1) * BYTE(t, 1) + BYTE(s, 2) * BYTE(t, 2) +
           BYTE(s, 3) * BYTE(t, 3);
}

/* F(i) for each filter, and F(i, its quad) where low and high have the quads of a tile. */
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define EACH_QUAD(F) \
    F(0, low.x) F(1, low.y) F(2, low.z) F(3, low.w) \
    F(4, high.x) F(5, high.y) F(6, high.z) F(7, high.w)

/* Adds the products of quad number `n`, member `q` of the places, to the sums s0 to s7. */
#ifdef DOT
#define ADD_QUAD(n, q) \
    { \
        const uint4 low = a[2 * n], high = a[2 * n + 1]; \
        const uint p0 = b0.q, p1 = b1.q, p2 = b2.q, p3 = b3.q; \
        EACH_QUAD(ADD) \
    }
#define ADD(i, f) \
    s##i.x = DOT_BY(f, p0, s##i.x); \
    s##i.y = DOT_BY(f, p1, s##i.y); \
    s##i.z = DOT_BY(f, p2, s##i.z); \
    s##i.w = DOT_BY(f, p3, s##i.w);
#else
#define ADD_QUAD(n, q) \
    { \
        const int4 low = as_int4(a[2 * n]), high = as_int4(a[2 * n + 1]); \
        const int4 p = as_int4((uint4)(b0.q, b1.q, b2.q, b3.q)); \
        const int4 p0 = BYTE(p, 0), p1 = BYTE(p, 1), p2 = BYTE(p, 2), p3 = BYTE(p, 3); \
        EACH_QUAD(ADD) \
    }
#define ADD(i, f) \
    s##i = mad24((int4)BYTE(f, 0), p0, s##i); \
    s##i = mad24((int4)BYTE(f, 1), p1, s##i); \
    s##i = mad24((int4)BYTE(f, 2), p2, s##i); \
    s##i = mad24((int4)BYTE(f, 3), p3, s##i);
#endif

#define CLEAR(i) int4 s##i = 0;

/* The sums of the upper half of the slices go to the lower half, until one is left. */
#define LANES (WX * WY)
#define GIVE(i) share[i * (SLICES / 2 * LANES) - half_ * LANES + lane] = s##i;
#define TAKE(i) s##i += share[i * (SLICES / 2 * LANES) + lane];

/* The number of place p of the item, and where the place is. */
#ifdef POOL
#define COUNT (out_h / 2 * (out_w / 2))
#define PLACE(p) int at##p = block;
#define Y(p) (at##p / (out_w / 2) * 2 + p / 2)
#define X(p) (at##p % (out_w / 2) * 2 + p % 2)
#else
#define COUNT (out_h * out_w)
#define PLACE(p) int at##p = min(first + p * WX, COUNT - 1);
#define Y(p) (at##p / out_w)
#define X(p) (at##p % out_w)
#endif
#define OFFSET(p) const int o##p = (Y(p) * row + X(p)) * stride;

#ifdef POOL
#define STORE_PLACES(v, to) \
    { \
        float most = -FLT_MAX; \
        most = v.x > most ? v.x : most; \
        most = v.y > most ? v.y : most; \
        most = v.z > most ? v.z : most; \
        most = v.w > most ? v.w : most; \
        (to)[at0] = most; \
    }
#else
#define STORE_PLACES(v, to) \
    (to)[at0] = v.x; \
    if (first + WX < COUNT) { (to)[at1] = v.y; } \
    if (first + 2 * WX < COUNT) { (to)[at2] = v.z; } \
    if (first + 3 * WX < COUNT) { (to)[at3] = v.w; }
#endif
#define START(i) ((__global const int *)norm)[2 * groups * M + i]
#define FINISH(i) \
    if (m + i < M) { \
        float4 f = convert_float4(s##i + START(i)) * norm[i]; \
        f = f + norm[groups * M + i]; \
        f = f > 0.0f ? f : slope * f; \
        STORE_PLACES(f, C + (ulong)i * COUNT) \
    }

__kernel __attribute__((reqd_work_group_size(WX, WY, SLICES)))
void cl_int8(PARAMETERS(CL_INT8_ARGUMENTS))
{
    const int tile = get_global_id(1), m = tile * ROWS, tiles = (M + ROWS - 1) / ROWS;
    const int product = get_group_id(2), group = product % groups, slice = get_local_id(2);
#ifdef POOL
    const int first = get_global_id(0), block = min(first, COUNT - 1);
#else
    const int first = get_group_id(0) * (4 * WX) + get_local_id(0);
#endif
    const bool exists = tile < tiles && first < COUNT;
    const int taps = size * size, steps = planes * taps;
    const int begin = slice * steps / SLICES, end = exists ? (slice + 1) * steps / SLICES : begin;
    PLACE(0) PLACE(1) PLACE(2) PLACE(3)
    OFFSET(0) OFFSET(1) OFFSET(2) OFFSET(3)
    int dx = begin % size, dy = begin / size % size;
    __global const uint4 *a = (__global const uint4 *)A +
                              ((ulong)(group * tiles + tile) * steps + begin) * ROWS;
    __global const uint4 *b = (__global const uint4 *)B +
        ((ulong)product * planes + begin / taps) * rows * row + dy * row + dx;
    EACH(CLEAR)
    for (int step = begin; step < end; ++step, a += ROWS) {
        const uint4 b0 = b[o0], b1 = b[o1], b2 = b[o2], b3 = b[o3];
        ADD_QUAD(0, x) ADD_QUAD(1, y) ADD_QUAD(2, z) ADD_QUAD(3, w)
        ++b;
        if (++dx == size) {
            dx = 0;
            b += row - size;
            if (++dy == size) {
                dy = 0;
                b += (rows - size) * row;
            }
        }
    }
#if SLICES > 1
    __local int4 share[ROWS * (SLICES / 2) * LANES];
    const int lane = (slice * WY + get_local_id(1)) * WX + get_local_id(0);
    for (int half_ = SLICES / 2; half_ > 0; half_ /= 2) {
        if (slice >= half_ && slice < 2 * half_) {
            EACH(GIVE)
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (slice < half_) {
            EACH(TAKE)
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
    if (slice > 0 || !exists) {
        return;
    }
    norm += group * M + m;
    C += c0 + ((ulong)product * M + m) * COUNT;
    EACH(FINISH)
}
