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
 * are 0. B and C as CONV has them (cl_conv.h). Global {blocks of all tiles, 1, parts * products},
 * rounded up to the group; any group. Blocks are numbered by rows, also without POOL. kpart is a
 * multiple of SIZE^2.
 *
 * With TEXTURE, A is an image, which may hold floats of 16 bits. A row of it has a channel of a
 * tile. Tiles lie one below the other, `ars` of them in a column, and columns side by side.
 *
 * ROWS is 1 for depthwise layers, whose weights lie packed as they are.
 *
 * With WINOGRAD a block is computed by Winograd's F(2x2, 3x3): 16 products a filter and channel
 * in place of 36. A has U = G g GT in place of the taps, so a channel has 16 points. The window
 * becomes V = BT d B in registers. m[point] has M of four filters in a float4. At the end AT M A
 * are the sums of a block. Parts of K are added as without WINOGRAD, because the transforms are
 * linear. For 3x3 filters of stride 1 only. Source: Lavin, Gray, "Fast algorithms for
 * convolutional neural networks", 2015.
 *
 * A load of a row of the window is a vector. It may begin before the row of the image, or end
 * behind it, by at most WINDOW elements. What it gets there is replaced by 0. So it would read
 * beside B in the first and in the last channel of an item, and these load element by element. This
 * needs pad <= SIZE / 2 and h * w >= WINDOW.
 */
#ifndef CONV
#define CONV
#endif
#ifdef TEXTURE
#define A_TYPE __read_only image2d_t
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
#if ROWS == 1
#define FLOATS float
#define QUADS 1
#else
#define FLOATS float4
#define QUADS (ROWS / 4)
#endif
#ifdef WINOGRAD
#define POINTS 16
#else
#define POINTS (SIZE * SIZE)
#endif
#define CHANNEL (POINTS * QUADS)        /* FLOATS of weights */
#define PIXELS 1
#if SIZE == 1
#define STEPS 16                /* channels in a step of the loop */
#elif (STRIDE == 2 || SIZE == 5) && !defined(TEXTURE)
#define STEPS 2
#else
#define STEPS 1
#endif
#if ROWS != 4 && ROWS != 8 && (ROWS != 1 || defined(TEXTURE))
#error "cl_direct: ROWS is 4 or 8, because weights are loaded by fours; or 1, from a buffer"
#endif
#if defined(WINOGRAD) && (SIZE != 3 || STRIDE != 1 || ROWS != 8)
#error "cl_direct: WINOGRAD is for 3x3 filters of stride 1, and ROWS is 8"
#endif
#include "cl_each.h"

/* WEIGHTS: where a channel begins. DOWN: so many channels later. FETCH: the pointer f to the
   weights of a tap, which an image is read into. In macros, because a compiler crashes on an image
   as the argument of a call, and another one spills the arrays of a call that is always inlined. */
#ifdef TEXTURE
#if __OPENCL_VERSION__ >= 120
#define TEXEL(at) read_imagef(A, at)
#else
__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#define TEXEL(at) read_imagef(A, nearest, at)
#endif
#define WEIGHTS int2
#define FETCHED const float4 *
#define DOWN(at, channels) ((at) + (int2)(0, channels))
#define FETCH(f, at, tap) \
    float4 f[QUADS]; \
    _Pragma("unroll") \
    for (int q = 0; q < QUADS; ++q) { \
        f[q] = TEXEL((at) + (int2)((tap) * QUADS + q, 0)); \
    }
#else
#define WEIGHTS __global const FLOATS *
#define FETCHED WEIGHTS
#define DOWN(at, channels) ((at) + (channels) * CHANNEL)
#define FETCH(f, at, tap) WEIGHTS f = (at) + (tap) * QUADS;
#endif

/* Whether a row or a column of the window can lie outside of the image while an output needs it. */
#define CAN_MISS(t) ((t) < SIZE / 2 || ((t) > SIZE / 2 && (t) < SIZE) || (t) - STRIDE > SIZE / 2)

/* Adds one element of each filter, times a block. */
void add_tap(FETCHED weights, float4 block, float4 (*c)[PIXELS])
{
    float a[ROWS];
#if ROWS == 1
    a[0] = weights[0];
#else
    #pragma unroll
    for (int q = 0; q < QUADS; ++q) {
        const float4 four = weights[q];
        a[4 * q] = four.x;
        a[4 * q + 1] = four.y;
        a[4 * q + 2] = four.z;
        a[4 * q + 3] = four.w;
    }
#endif
    EACH(c[i][p] += a[i] * block)
}

#if SIZE > 1
/* -1 where i is not an index below n, or else 0. Without a bool, which some compilers convert again
   in each step of a loop. */
int is_outside(int i, int n)
{
    return (i | (n - 1 - i)) >> 31;
}

/* The window at the offsets row[], `ahead` elements later. */
void load(__global const float *b, int ahead, const int *row, float (*v)[WINDOW])
{
    #pragma unroll
    for (int r = 0; r < WINDOW; ++r) {
        const float4 x = vload4(0, b + (row[r] + ahead));
        v[r][0] = x.x;
        v[r][1] = x.y;
        v[r][2] = x.z;
        v[r][3] = x.w;
        #pragma unroll
        for (int t = 4; t < WINDOW; ++t) {
            v[r][t] = b[row[r] + ahead + t];
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

/* inside: all bits are 1 where the element is one of the image. */
void mask(float (*v)[WINDOW], int (*inside)[WINDOW])
{
    #pragma unroll
    for (int r = 0; r < WINDOW; ++r) {
        #pragma unroll
        for (int t = 0; t < WINDOW; ++t) {
            v[r][t] = as_float(as_int(v[r][t]) & inside[r][t]);
        }
    }
}

/* What the tap at (y, x) meets. */
float4 block_of(float (*v)[WINDOW], int y, int x)
{
    return (float4)(v[y][x], v[y][x + STRIDE], v[y + STRIDE][x], v[y + STRIDE][x + STRIDE]);
}

/* Where the rows of the window at (top, left) begin, and what of it is inside of the image. */
void find_window(int top, int left, int h, int w, int *row, int (*inside)[WINDOW])
{
    #pragma unroll
    for (int r = 0; r < WINDOW; ++r) {
        row[r] = clamp(top + r, 0, h - 1) * w + left;
        #pragma unroll
        for (int t = 0; t < WINDOW; ++t) {
            inside[r][t] = ~((CAN_MISS(r) ? is_outside(top + r, h) : 0) |
                             (CAN_MISS(t) ? is_outside(left + t, w) : 0));
        }
    }
}

/* Adds the channels between the first and the last ones, by steps. The three loops do the same. An
   Adreno's compiler makes the fewest slots of each where it stands (docs/log/adreno.md). With an
   image the coordinate of the weights counts, and the input is read by an index. */
#ifdef TEXTURE
#define ADD_BETWEEN(b, at, channels) \
    const int more = channels > 1 ? channels - 1 : 0; \
    channels -= more; \
    if (more > 0) { \
        const int end = at.y + more; \
        int ahead = 0; \
        do { \
            load(b, ahead, row, v); \
            ADD_CHANNEL(at) \
            ahead += h * w; \
            at = DOWN(at, 1); \
        } while (at.y < end); \
        b += ahead; \
    }
#else
#define ADD_STEP(b, at) \
    _Pragma("unroll") \
    for (int k = 0; k < STEPS; ++k) { \
        load(b + k * h * w, 0, row, v); \
        ADD_CHANNEL(DOWN(at, k)) \
    } \
    b += STEPS * h * w; \
    at = DOWN(at, STEPS);
#if STEPS > 1 && ROWS > 1
#define ADD_BETWEEN(b, at, channels) \
    int steps = channels > STEPS ? (channels - 1) / STEPS : 0; \
    channels -= steps * STEPS; \
    if (steps > 0) { \
        do { \
            ADD_STEP(b, at) \
        } while (--steps > 0); \
    }
#else
#define ADD_BETWEEN(b, at, channels) \
    for (; channels > STEPS; channels -= STEPS) { \
        ADD_STEP(b, at) \
    }
#endif
#endif

/* Adds all channels: the first, those between, and the last ones. amid: B has other channels before
   them and behind them. */
#define ADD_ALL(b, at, channels, amid) \
    do { \
        float v[WINDOW][WINDOW]; \
        if (ROWS == 1 && (amid)) { \
            load(b, 0, row, v); \
        } else { \
            load_inside(b, row, h * w - 1, v); \
        } \
        ADD_CHANNEL(at) \
        b += h * w; \
        at = DOWN(at, 1); \
        --channels; \
        ADD_BETWEEN(b, at, channels) \
    } while (channels > 0);
#ifdef WINOGRAD
/* BT d of a row or a column of the window, in place. */
void transform(float *a, float *b, float *c, float *d)
{
    const float second = *b;
    *a -= *c;
    *b += *c;
    *c -= second;
    *d = second - *d;
}

void transform_window(float (*v)[WINDOW])
{
    transform(&v[0][0], &v[0][1], &v[0][2], &v[0][3]);
    transform(&v[1][0], &v[1][1], &v[1][2], &v[1][3]);
    transform(&v[2][0], &v[2][1], &v[2][2], &v[2][3]);
    transform(&v[3][0], &v[3][1], &v[3][2], &v[3][3]);
    transform(&v[0][0], &v[1][0], &v[2][0], &v[3][0]);
    transform(&v[0][1], &v[1][1], &v[2][1], &v[3][1]);
    transform(&v[0][2], &v[1][2], &v[2][2], &v[3][2]);
    transform(&v[0][3], &v[1][3], &v[2][3], &v[3][3]);
}

/* Points are written out, because a compiler that keeps a loop over m[] rolled keeps m[] in private
   memory. */
#define ADD_POINT(at, point) \
    { \
        FETCH(u, at, point) \
        for (int q = 0; q < QUADS; ++q) { \
            m[point][q] += v[(point) / 4][(point) % 4] * u[q]; \
        } \
    }
#define ADD_CHANNEL(at) \
    { \
        mask(v, inside); \
        transform_window(v); \
        ADD_POINT(at, 0) ADD_POINT(at, 1) ADD_POINT(at, 2) ADD_POINT(at, 3) \
        ADD_POINT(at, 4) ADD_POINT(at, 5) ADD_POINT(at, 6) ADD_POINT(at, 7) \
        ADD_POINT(at, 8) ADD_POINT(at, 9) ADD_POINT(at, 10) ADD_POINT(at, 11) \
        ADD_POINT(at, 12) ADD_POINT(at, 13) ADD_POINT(at, 14) ADD_POINT(at, 15) \
    }

/* AT M A of the q-th four filters: their blocks. */
#define FINISH_BLOCKS(q) \
    { \
        float4 a[2][4]; \
        for (int t = 0; t < 4; ++t) { \
            a[0][t] = m[t][q] + (m[4 + t][q] + m[8 + t][q]); \
            a[1][t] = (m[4 + t][q] - m[8 + t][q]) - m[12 + t][q]; \
        } \
        const float4 y0 = a[0][0] + (a[0][1] + a[0][2]), y1 = (a[0][1] - a[0][2]) - a[0][3]; \
        const float4 y2 = a[1][0] + (a[1][1] + a[1][2]), y3 = (a[1][1] - a[1][2]) - a[1][3]; \
        c[4 * (q)][0] = (float4)(y0.x, y1.x, y2.x, y3.x); \
        c[4 * (q) + 1][0] = (float4)(y0.y, y1.y, y2.y, y3.y); \
        c[4 * (q) + 2][0] = (float4)(y0.z, y1.z, y2.z, y3.z); \
        c[4 * (q) + 3][0] = (float4)(y0.w, y1.w, y2.w, y3.w); \
    }
#else
#define ADD_CHANNEL(at) \
    { \
        mask(v, inside); \
        _Pragma("unroll") \
        for (int tap = 0; tap < SIZE * SIZE; ++tap) { \
            FETCH(f, at, tap) \
            add_tap(f, block_of(v, tap / SIZE, tap % SIZE), c); \
        } \
    }
#endif

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

/* Adds most channels of four places in a row, by steps. b: the first place of the first channel. */
#ifdef TEXTURE
#define ADD_STEPS(b, at, channels) \
    const int more = channels / STEPS * STEPS; \
    channels -= more; \
    if (more > 0) { \
        const int end = at.y + more; \
        int ahead = 0; \
        do { \
            _Pragma("unroll") \
            for (int k = 0; k < STEPS; ++k) { \
                ADD_PLACES(DOWN(at, k), b + (ahead + k * h * w)) \
            } \
            ahead += STEPS * h * w; \
            at = DOWN(at, STEPS); \
        } while (at.y < end); \
        b += ahead; \
    }
#else
#define ADD_STEPS(b, at, channels) \
    for (; channels >= STEPS; channels -= STEPS) { \
        _Pragma("unroll") \
        for (int k = 0; k < STEPS; ++k) { \
            ADD_PLACES(DOWN(at, k), b + k * h * w) \
        } \
        b += STEPS * h * w; \
        at = DOWN(at, STEPS); \
    }
#endif

#define ADD_ALL(b, at, channels) \
    ADD_STEPS(b, at, channels) \
    for (; channels > 0; --channels) { \
        ADD_PLACES(at, b) \
        b += h * w; \
        at = DOWN(at, 1); \
    }
#define ADD_PLACES(at, b) \
    { \
        FETCH(f, at, 0) \
        add_tap(f, vload4(0, b), c); \
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
    int channels = min(K - begin, kpart) / (SIZE * SIZE);
    __global const float *b = B + b0 + B_START(z) + (ulong)(begin / (SIZE * SIZE)) * h * w;
    const int number = PRODUCT(z) % groups * tiles + tile;
#ifdef TEXTURE
    WEIGHTS weights = (int2)(number / ars * CHANNEL, (number % ars * K + begin) / (SIZE * SIZE));
#else
    WEIGHTS weights = (WEIGHTS)A + ((ulong)number * K + begin) / (SIZE * SIZE) * CHANNEL;
#endif
    float4 c[ROWS][PIXELS];
    EACH(c[i][p] = (float4)(0.0f))
#ifdef WINOGRAD
    float4 m[POINTS][QUADS];
    for (int point = 0; point < POINTS; ++point) {
        for (int q = 0; q < QUADS; ++q) {
            m[point][q] = (float4)(0.0f);
        }
    }
#endif
#if SIZE > 1
    const int y = at / across * 2, x = at % across * 2;
    int row[WINDOW], inside[WINDOW][WINDOW];
    find_window(y * STRIDE - pad, x * STRIDE - pad, h, w, row, inside);
    ADD_ALL(b, weights, channels, PRODUCT(z) > 0 && PRODUCT(z) < products - 1)
#ifdef WINOGRAD
    FINISH_BLOCKS(0)
    FINISH_BLOCKS(1)
#endif
#else
    const int j0 = min(4 * at, N - 4);
    b += j0;
    ADD_ALL(b, weights, channels)
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
