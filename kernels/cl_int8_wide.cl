/* SPDX-License-Identifier: MIT */
/*
 * cl_int8_wide: cl_int8 for devices that are CPUs. An item computes ROWS filters at COLS places of
 * a row, which are a vector. Sums of 32 bits are exact, and
 *
 *     output = activation((sum + start) * norm[filter] + norm[filters + filter])
 *
 * with `start` the whole number in norm[2 * filters + filter]. Each operation on floats rounds, and
 * none is fused: results are those of packed_int8.
 *
 * A: [group][tile][plane][tap][ROWS] quads of weights. Filters past M are 0.
 * B: as cl_int8_input writes it, `row` quads a row: wide enough for whole strips of COLS places.
 * Global {strips, tiles, products * out_h}, any group.
 */
#include "cl_int8_arguments.h"

#pragma OPENCL FP_CONTRACT OFF

#ifndef ROWS
#define ROWS 4
#endif
#ifndef COLS
#define COLS 8
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define VLOAD(p) PASTE(vload, COLS)(0, p)
#define VSTORE(v, p) PASTE(vstore, COLS)(v, 0, p)
typedef PASTE(int, COLS) ints;
typedef PASTE(uint, COLS) quads;
typedef PASTE(float, COLS) floats;

/* Byte i of a quad, with its sign. */
#define BYTE(q, i) (((q) << (24 - 8 * (i))) >> 24)

/* Adds the products of one quad of each filter and one of each place. */
#define ADD_QUADS(c, a, b) \
    const ints all = PASTE(as_int, COLS)(b); \
    const ints b0 = BYTE(all, 0), b1 = BYTE(all, 1), b2 = BYTE(all, 2), b3 = BYTE(all, 3); \
    _Pragma("unroll") \
    for (int i = 0; i < ROWS; ++i) { \
        const int q = as_int((a)[i]); \
        c[i] += BYTE(q, 0) * b0 + BYTE(q, 1) * b1 + BYTE(q, 2) * b2 + BYTE(q, 3) * b3; \
    }

/* The quads of COLS places, which are STRIDE apart. */
quads load(__global const uint *b)
{
#if STRIDE == 1
    return VLOAD(b);
#else
    uint q[COLS];
    #pragma unroll
    for (int i = 0; i < COLS; ++i) {
        q[i] = b[i * STRIDE];
    }
    return VLOAD(q);
#endif
}

/* Writes the first n places of a filter. */
void store(floats y, int n, __global float *to)
{
    if (n >= COLS) {
        VSTORE(y, to);
        return;
    }
    float each[COLS];
    VSTORE(y, each);
    for (int i = 0; i < n; ++i) {
        to[i] = each[i];
    }
}

__kernel void cl_int8_wide(PARAMETERS(CL_INT8_WIDE_ARGUMENTS))
{
    const int x = get_global_id(0) * COLS, tile = get_global_id(1), m = tile * ROWS;
    const int y = get_global_id(2) % out_h, product = get_global_id(2) / out_h;
    const int tiles = (M + ROWS - 1) / ROWS, group = product % groups;
    if (x >= out_w || m >= M) {
        return;
    }
    ints c[ROWS];
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        c[i] = 0;
    }
    A += ((ulong)group * tiles + tile) * planes * size * size * ROWS;
    B += (ulong)product * planes * rows * row + (ulong)y * STRIDE * row + x * STRIDE;
    for (int k = 0; k < planes; ++k, B += (ulong)rows * row) {
        for (int dy = 0; dy < size; ++dy) {
            for (int dx = 0; dx < size; ++dx, A += ROWS) {
                const quads b = load(B + dy * row + dx);
                ADD_QUADS(c, A, b)
            }
        }
    }
    const int filter = group * M + m, n = out_w - x;
    norm += filter;
    C += c0 + (((ulong)product * M + m) * out_h + y) * out_w + x;
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        if (m + i < M) {
            const int start = ((__global const int *)norm)[2 * groups * M + i];
            floats f = PASTE(convert_float, COLS)(c[i] + start) * norm[i];
            f = f + norm[groups * M + i];
            store(f > 0.0f ? f : slope * f, n, C + (ulong)i * out_h * out_w);
        }
    }
}
