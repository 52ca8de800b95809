/* SPDX-License-Identifier: MIT */
/*
 * cl_direct: a convolution that reads the input itself. An item computes ROWS filters at a block of
 * 2x2 places, so its sums are ROWS float4: a block is what a float4 holds, row by row.
 *
 *   input, one channel            filters of the item          sums
 *   +---------------+
 *   | WINDOW x      |   for each tap    +------+
 *   |    WINDOW     |   a 2x2 block  x  | ROWS |       ->      c[ROWS], 2x2 each
 *   +---------------+                   +------+
 *
 * WINDOW = STRIDE + SIZE elements a side hold all taps of the block. They are loaded once a
 * channel, and stay in registers. Neighbours along x share most of them, and all of them read the
 * same weights.
 *
 * A: weights, packed by tiles of ROWS filters: [group][tile][channel][tap][ROWS]. Filters past M
 * are 0. B and C as CONV has them (cl_conv.h). Global {blocks, tiles of filters, parts * products},
 * rounded up to the group; any group. Blocks are numbered by rows, also without POOL. kpart is a
 * multiple of SIZE^2.
 *
 * A load of a row of the window is a vector. It may begin before the row of the image, or end
 * behind it, by at most WINDOW elements. What it gets there is replaced by 0. So it would read
 * beside B in the first and in the last channel of an item, and these load element by element. This
 * needs pad <= SIZE / 2 and h * w >= WINDOW.
 */
#ifndef CONV
#define CONV
#endif
#ifndef SIZE
#define SIZE 3
#endif
#include "cl_conv.h"

#ifndef ROWS
#define ROWS 8
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#define WINDOW (STRIDE + SIZE)
#define QUADS (ROWS / 4)
#define PIXELS 1
#if SIZE == 1
#define STEPS 16                /* channels in a step of the loop */
#elif STRIDE == 2 || SIZE == 5
#define STEPS 2
#else
#define STEPS 1
#endif
#if ROWS != 4 && ROWS != 8
#error "cl_direct: ROWS is 4 or 8, because weights are loaded by fours"
#endif
#include "cl_each.h"

/* Whether a row or a column of the window can lie outside of the image while an output needs it. */
#define CAN_MISS(t) ((t) < SIZE / 2 || ((t) > SIZE / 2 && (t) < SIZE) || (t) - STRIDE > SIZE / 2)

/* Adds one element of each filter, times a block. */
void add_tap(__global const float4 *weights, float4 block, float4 (*c)[PIXELS])
{
    float a[ROWS];
    #pragma unroll
    for (int q = 0; q < QUADS; ++q) {
        const float4 four = weights[q];
        a[4 * q] = four.x;
        a[4 * q + 1] = four.y;
        a[4 * q + 2] = four.z;
        a[4 * q + 3] = four.w;
    }
    EACH(c[i][p] += a[i] * block)
}

#if SIZE > 1
/* -1 where i is not an index below n, or else 0. Without a bool, which some compilers convert again
   in each step of a loop. */
int is_outside(int i, int n)
{
    return (i | (n - 1 - i)) >> 31;
}

/* The window at the offsets row[]. */
void load(__global const float *b, const int *row, float (*v)[WINDOW])
{
    #pragma unroll
    for (int r = 0; r < WINDOW; ++r) {
        const float4 x = vload4(0, b + row[r]);
        v[r][0] = x.x;
        v[r][1] = x.y;
        v[r][2] = x.z;
        v[r][3] = x.w;
        #pragma unroll
        for (int t = 4; t < WINDOW; ++t) {
            v[r][t] = b[row[r] + t];
        }
    }
}

/* The same, but never beside the channel, whose last element is b[last]. */
void load_inside(__global const float *b, const int *row, int last, float (*v)[WINDOW])
{
    #pragma unroll
    for (int r = 0; r < WINDOW; ++r) {
        #pragma unroll
        for (int t = 0; t < WINDOW; ++t) {
            v[r][t] = b[clamp(row[r] + t, 0, last)];
        }
    }
}

/* Adds a channel. inside: all bits are 1 where the element is one of the image. */
void add_channel(float (*v)[WINDOW], int (*inside)[WINDOW], __global const float4 *weights,
                 float4 (*c)[PIXELS])
{
    #pragma unroll
    for (int r = 0; r < WINDOW; ++r) {
        #pragma unroll
        for (int t = 0; t < WINDOW; ++t) {
            v[r][t] = as_float(as_int(v[r][t]) & inside[r][t]);
        }
    }
    #pragma unroll
    for (int y = 0; y < SIZE; ++y) {
        #pragma unroll
        for (int x = 0; x < SIZE; ++x) {
            add_tap(weights + (y * SIZE + x) * QUADS,
                    (float4)(v[y][x], v[y][x + STRIDE], v[y + STRIDE][x],
                             v[y + STRIDE][x + STRIDE]), c);
        }
    }
}

/* The sums of the block at (y, x) of the output, over `channels` of them. b: the first one. */
void add_window(__global const float *b, __global const float4 *weights, int channels, int y,
                int x, int h, int w, int pad, float4 (*c)[PIXELS])
{
    const int top = y * STRIDE - pad, left = x * STRIDE - pad;
    int row[WINDOW], inside[WINDOW][WINDOW];
    #pragma unroll
    for (int r = 0; r < WINDOW; ++r) {
        row[r] = clamp(top + r, 0, h - 1) * w + left;
        #pragma unroll
        for (int t = 0; t < WINDOW; ++t) {
            inside[r][t] = ~((CAN_MISS(r) ? is_outside(top + r, h) : 0) |
                             (CAN_MISS(t) ? is_outside(left + t, w) : 0));
        }
    }
    /* The first channel, those between by steps, and the last ones. */
    do {
        float v[WINDOW][WINDOW];
        load_inside(b, row, h * w - 1, v);
        add_channel(v, inside, weights, c);
        b += h * w;
        weights += SIZE * SIZE * QUADS;
        for (--channels; channels > STEPS; channels -= STEPS) {
            #pragma unroll
            for (int k = 0; k < STEPS; ++k) {
                load(b + k * h * w, row, v);
                add_channel(v, inside, weights + k * SIZE * SIZE * QUADS, c);
            }
            b += STEPS * h * w;
            weights += STEPS * SIZE * SIZE * QUADS;
        }
    } while (channels > 0);
}

/* Stores a block at o, whose rows are `width` apart; only the rows and columns that exist. */
void store_block(float4 s, __global float *o, int width, bool right, bool below)
{
    o[0] = s.x;
    if (right) {
        o[1] = s.y;
    }
    if (below) {
        o[width] = s.z;
    }
    if (right && below) {
        o[width + 1] = s.w;
    }
}

#else

/* The sums of four places in a row, over `channels` of them. b: the first place of the first one.
   They are `size` apart. */
void add_places(__global const float *b, __global const float4 *weights, int channels, int size,
                float4 (*c)[PIXELS])
{
    for (; channels >= STEPS; channels -= STEPS) {
        #pragma unroll
        for (int k = 0; k < STEPS; ++k) {
            add_tap(weights + k * QUADS, vload4(0, b + k * size), c);
        }
        b += STEPS * size;
        weights += STEPS * QUADS;
    }
    for (; channels > 0; --channels) {
        add_tap(weights, vload4(0, b), c);
        b += size;
        weights += QUADS;
    }
}
#endif

__kernel void cl_direct(PARAMETERS(MULTIPLY_ARGUMENTS))
{
#if SIZE > 1
    const int across = (out_w + 1) / 2, blocks = across * ((N / out_w + 1) / 2);
#else
    const int blocks = (N + 3) / 4;
#endif
    const int item = get_global_id(0), tile = item / blocks, at = item - tile * blocks;
    const int i0 = tile * ROWS, tiles = (M + ROWS - 1) / ROWS;
    if (i0 >= M) {
        return;
    }
    const int z = get_global_id(2), begin = PART(z) * kpart;
    const int channels = min(K - begin, kpart) / (SIZE * SIZE);
    __global const float *b = B + b0 + B_START(z) + (ulong)(begin / (SIZE * SIZE)) * h * w;
    __global const float4 *weights = (__global const float4 *)A +
        ((ulong)(PRODUCT(z) % groups * tiles + tile) * K + begin) * QUADS;
    float4 c[ROWS][PIXELS];
    EACH(c[i][p] = (float4)(0.0f))
#if SIZE > 1
    const int y = at / across * 2, x = at % across * 2;
    add_window(b, weights, channels, y, x, h, w, pad, c);
#else
    const int j0 = min(4 * at, N - 4);
    add_places(b + j0, weights, channels, h * w, c);
#endif

    if (!cpart) {
        const int filter = FILTER(z) + i0, filters = groups * M, last = M - 1 - i0;
        FINISH_EACH(filter, filters, last)
    }
    __global float *o = C + c0 + C_START(z) + (ulong)PART(z) * cpart + (ulong)i0 * ldc;
#if SIZE == 1
    EACH(if (i0 + i < M) { vstore4(c[i][p], 0, o + i * ldc + j0); })
#elif defined(POOL)
    if (cpart) {
        EACH(if (i0 + i < M) { vstore4(c[i][p], at, o + i * ldc); })
    } else {
        EACH(if (i0 + i < M) { o[i * ldc + at] = conv_most(c[i][p]); })
    }
#else
    o += y * out_w + x;
    const bool right = x + 1 < out_w, below = (y + 1) * out_w < N;
    EACH(if (i0 + i < M) { store_block(c[i][p], o + i * ldc, out_w, right, below); })
#endif
}
