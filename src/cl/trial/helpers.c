/* SPDX-License-Identifier: MIT */
/*
 * Trials of programs that no op has alone: what prepares an operand, adds parts of K, or applies an
 * activation behind a kernel. Each one calls its kernel with the arguments that the header of the
 * kernel explains, and computes the same by plain loops.
 */
#include "cl/trial/kit.h"
#include "op/activation.h"
#include "util/ints.h"
#include "util/winograd.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Where an input and an output begin in their buffers. */
enum { FROM = 3, TO = GEMM_CL_KIT_TO };

static gemm_cl_operand input(gemm_cl_kit *k, int n)
{
    return gemm_cl_kit_operand(k, SLOT_TRIAL_A, FROM, n);
}

/* Launches, and compares the whole buffer. */
static void finish(gemm_cl_kit *k, const gemm_cl_arguments *args, const gemm_cl_output *o, int x,
                   int y, int z, int wide)
{
    gemm_cl_kit_run(k, args, x, y, z, wide);
    gemm_cl_kit_expect(k, o->mem, o->after, o->count, false);
}

/* What a convolution makes of a sum: y = scale * sum + shift + more, with a slope below 0. */
enum { FILTERS = 3 };
static const float norm_of_three[] = {1, 2, .5f, 1, -1, 0}, slope = .5f;

static float finish_sum(float x, float more, int filter)
{
    const float y = norm_of_three[filter] * x + norm_of_three[FILTERS + filter] + more;
    return y > 0 ? y : slope * y;
}

static cl_mem norm_buffer(gemm_cl_kit *k)
{
    return gemm_cl_kit_buffer(k, SLOT_TRIAL_NORM, norm_of_three, 2 * FILTERS, false);
}

static void try_activate(gemm_cl_kit *k)
{
    enum { N = 70 };
    for (int a = CONV_LOGISTIC; a < CONV_ACTIVATIONS; ++a) {
        gemm_cl_output o = gemm_cl_kit_output(k, N);
        for (int i = TO; i < TO + N; ++i) {
            o.before[i] *= 16;  /* beyond all limits of the table */
            o.after[i] = (float)gemm_activate(o.before[i], (conv_activation)a);
        }
        o.mem = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, o.before, o.count, false);
        const gemm_cl_arguments args = GEMM_CL_ARGS(
            activate, .n = N, .activation = a, .data = o.mem, .d0 = TO);
        const int rows = ceil_div(N, gemm_cl_kit_number(k, "-DRUN", N));
        finish(k, &args, &o, gemm_cl_kit_has(k, "-DBY_ROW") ? rows : N, 1, 1, 64);
    }
}

/* The image that a multiply takes. */
static void try_fill_matrix(gemm_cl_kit *k)
{
    enum { N = 270, K = 5, LD = N + 2, WIDTH = (N + 3) / 4 };
    const bool half = gemm_cl_kit_has(k, "-DHALF");
    const gemm_cl_operand b = input(k, (K + 1) * LD);
    float *image = gemm_cl_kit_room(k, 4 * WIDTH * K);
    for (int i = 0; i < K * N; ++i) image[i / N * 4 * WIDTH + i % N] = b.at[i / N * LD + i % N];
    cl_mem to = gemm_cl_kit_image(k, gemm_cl_kit_made_up(k, 4 * WIDTH * K), WIDTH, K, half);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        fill, .N = N, .B = b.mem, .b0 = FROM, .brs = LD, .bcs = 1, .image = to);
    gemm_cl_kit_run(k, &args, WIDTH, K, 1, 64);
    gemm_cl_kit_expect_image(k, to, image, WIDTH, K, half);
}

/* What im2col would write, for two products of two channels, in two strips. Pixels whose columns
   are all past N are not written, and keep what they had. */
static void try_fill(gemm_cl_kit *k)
{
    enum { PRODUCTS = 2, CHANNELS = 2, STRIPS = 2, SLICES = PRODUCTS * CHANNELS, OUT = 10 };
    if (!gemm_cl_kit_has(k, "-DCONV")) {
        try_fill_matrix(k);
        return;
    }
    const bool half = gemm_cl_kit_has(k, "-DHALF"), pool = gemm_cl_kit_has(k, "-DPOOL");
    const int size = gemm_cl_kit_number(k, "-DSIZE", 2), stride = pool ? 1 : 2, pad = size / 2;
    const int side = (OUT - 1) * stride + size - 2 * pad, area = size * size, N = OUT * OUT;
    const int width = (int)round_up((size_t)ceil_div(N, 4 * STRIPS), 2);
    const int rows = PRODUCTS * STRIPS * CHANNELS * area, pixels = 4 * width * rows;
    const gemm_cl_operand in = input(k, SLICES * side * side);
    float *image = gemm_cl_kit_made_up(k, (size_t)pixels);
    cl_mem to = gemm_cl_kit_image(k, image, width, rows, half);
    for (int i = 0; i < pixels; ++i) {
        const int row = i / (4 * width), strip = row / (CHANNELS * area), tap = row % area;
        const int n = strip % STRIPS * 4 * width + i % (4 * width);
        const int slice = strip / STRIPS * CHANNELS + row / area % CHANNELS;
        const int y = pool ? n / 4 / (OUT / 2) * 2 + n % 4 / 2 : n / OUT;
        const int x = pool ? n / 4 % (OUT / 2) * 2 + n % 2 : n % OUT;
        if (n - n % 4 >= N) continue;
        image[i] = n < N ? gemm_cl_kit_pixel(in.at + slice * side * side, side, side,
                                             y * stride - pad + tap / size,
                                             x * stride - pad + tap % size) : 0;
    }
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        fill_conv, .N = N, .B = in.mem, .b0 = FROM, .image = to, .width = width,
        .strips = STRIPS, .channels = CHANNELS, .h = side, .w = side, .out_w = OUT, .size = size,
        .stride = stride, .pad = pad);
    gemm_cl_kit_run(k, &args, width, CHANNELS, PRODUCTS * STRIPS, 64);
    gemm_cl_kit_expect_image(k, to, image, width, rows, half);
}

/* A matrix is padded, and transposed. */
static void try_pack(gemm_cl_kit *k)
{
    enum { ROWS = 5, COLS = 66, LD = ROWS + 2, ROWS_OUT = 8, COLS_OUT = 70 };
    const bool half = gemm_cl_kit_has(k, "-DHALF");
    const gemm_cl_operand in = input(k, COLS_OUT * LD);
    float *before = gemm_cl_kit_made_up(k, ROWS_OUT * COLS_OUT);
    float *out = gemm_cl_kit_room(k, ROWS_OUT * COLS_OUT);
    for (int i = 0; i < ROWS_OUT * COLS_OUT; ++i) before[i] += 4;       /* no value of the matrix */
    for (int i = 0; i < ROWS * COLS; ++i)
        out[i / COLS * COLS_OUT + i % COLS] = in.at[i % COLS * LD + i / COLS];
    cl_mem to = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, before, ROWS_OUT * COLS_OUT, half);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        pack, .rows = ROWS, .cols = COLS, .in = in.mem, .i0 = FROM, .rs = 1, .cs = LD,
        .cols_out = COLS_OUT, .out = to);
    gemm_cl_kit_run(k, &args, COLS_OUT, ROWS_OUT, 1, 64);
    gemm_cl_kit_expect(k, to, out, ROWS_OUT * COLS_OUT, half);
}

static void try_zero(gemm_cl_kit *k)
{
    enum { N = 70 };
    gemm_cl_output o = gemm_cl_kit_output(k, N);
    memset(o.after, 0, (TO + N) * sizeof(float));
    const gemm_cl_arguments args = GEMM_CL_ARGS(zero, .count = TO + N, .out = o.mem);
    finish(k, &args, &o, TO + N, 1, 1, 64);
}

static void try_sum(gemm_cl_kit *k)
{
    enum { M = 6, N = 66, PARTS = 3, LD = N + 1, MORE = 2 };
    const bool conv = gemm_cl_kit_has(k, "-DCONV"), adds = !conv && !gemm_cl_kit_has(k, "-DSTORE");
    const int each = gemm_cl_kit_has(k, "-DPOOL") ? 4 : 1, size = M * N * each;
    const gemm_cl_operand parts = gemm_cl_kit_operand(k, SLOT_TRIAL_A, 0, PARTS * size);
    const gemm_cl_operand more = gemm_cl_kit_operand(k, SLOT_TRIAL_MORE, MORE, M * LD);
    const bool shortcut = gemm_cl_kit_has(k, "-DSHORTCUT");
    const gemm_cl_output o = gemm_cl_kit_output(k, M * LD);
    for (int i = 0; i < M * N; ++i) {
        const int at = i / N * LD + i % N;
        float *c = &o.after[TO + at], most = -FLT_MAX;
        for (int e = i * each; e < (i + 1) * each; ++e) {
            const float sum = parts.at[e] + parts.at[size + e] + parts.at[2 * size + e];
            const float x = shortcut ? more.at[at] : 0;
            most = fmaxf(most, conv ? finish_sum(sum, x, i / N % FILTERS) : sum);
        }
        *c = adds ? *c + most : most;
    }
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        sum, .M = M, .N = N, .count = PARTS, .parts = parts.mem, .C = o.mem, .c0 = TO, .ldc = LD,
        .filters = FILTERS, .norm = norm_buffer(k), .slope = slope,
        .more = more.mem, .more0 = MORE);
    finish(k, &args, &o, N, M, 1, 64);
}

/* Byte i of the quad that lies in a float, which has 0 there. */
static void put_byte(float *quad, int i, int byte)
{
    unsigned bits;
    memcpy(&bits, quad, sizeof bits);
    bits |= ((unsigned)byte & 255) << 8 * i;
    memcpy(quad, &bits, sizeof bits);
}

/* No quad is the code of a NaN: a quarter is 25, so no byte is 127 or -1. The last channel is in
   byte 2, and byte 3 is 0 inside the image. */
static void try_int8_input(gemm_cl_kit *k)
{
    enum { PLANES = 2, PRODUCTS = 2, H = 5, W = 6, PAD = 1, ROWS = 8, ROW = 19, ZERO = 5 };
    const int wide = gemm_cl_kit_number(k, "-DQUADS", 1), ALL = 8 * wide, CHANNELS = ALL - 1;
    const size_t count = (size_t)(PRODUCTS * PLANES * ROWS * ROW * wide);
    const bool by_row = gemm_cl_kit_has(k, "-DBY_ROW");
    const gemm_cl_operand in = input(k, PRODUCTS * CHANNELS * H * W);
    float *quads = gemm_cl_kit_room(k, count);
    for (int i = 0; i < PRODUCTS * ALL * ROWS * ROW; ++i) {
        const int x = i % ROW, y = i / ROW % ROWS, c = i / (ROW * ROWS) % ALL;
        const int product = i / (ROW * ROWS * ALL), plane = c / (4 * wide), quad = c / 4 % wide;
        const bool inside = y >= PAD && y < PAD + H && x >= PAD && x < PAD + W;
        const float *plane_of = in.at + (product * CHANNELS + c) * H * W;
        const float v = c < CHANNELS ? gemm_cl_kit_pixel(plane_of, H, W, y - PAD, x - PAD) : 0;
        put_byte(&quads[(((product * PLANES + plane) * ROWS + y) * ROW + x) * wide + quad], c % 4,
                 c < CHANNELS || !inside ? (int)(v * 100) + ZERO : 0);
    }
    cl_mem to = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, gemm_cl_kit_made_up(k, count), count, false);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        int8_input, .channels = CHANNELS, .planes = PLANES, .h = H, .w = W, .pad = PAD,
        .rows = ROWS, .row = ROW, .inverse = 100, .zero = ZERO, .in = in.mem, .i0 = FROM,
        .out = to);
    if (by_row) gemm_cl_kit_run(k, &args, ROWS, PRODUCTS * PLANES, 1, 1);
    else gemm_cl_kit_run(k, &args, ROW, ROWS, PRODUCTS * PLANES, 64);
    gemm_cl_kit_expect(k, to, quads, count, false);
}

/* ---- Winograd's algorithm ---- */

/* The transform of the program: n x n points of m x m outputs, for strips of `cols`. Items of a
   group along x: a strip of one is for a GPU. */
typedef struct transform {
    const gemm_transform *t;
    int m, n, points, cols, group;
} transform;

static transform transform_of(const gemm_cl_kit *k)
{
    const int m = k->row.winograd, cols = k->row.cols;
    return (transform){gemm_winograd_transform(m), m, m + 2, (m + 2) * (m + 2), cols,
                       cols == 1 ? 64 : 1};
}

/* out = T in T', where T is `rows` x `cols` and `in` is cols x cols. */
static void both_sides(const float *T, int rows, int cols, const float *in, float *out)
{
    for (int i = 0; i < rows * rows; ++i) {
        double sum = 0;
        for (int a = 0; a < cols; ++a)
            for (int b = 0; b < cols; ++b)
                sum += (double)T[i / rows * cols + a] * in[a * cols + b] *
                       T[i % rows * cols + b];
        out[i] = (float)sum;
    }
}

static void try_winograd_filter(gemm_cl_kit *k)
{
    enum { CHANNELS = 3, STRIPS = 2 };
    const transform t = transform_of(k);
    const int M = t.cols + min_int(t.cols, 3);
    const size_t count = (size_t)(t.points * STRIPS * CHANNELS * t.cols);
    const gemm_cl_operand g = input(k, M * CHANNELS * 9);
    const float *before = gemm_cl_kit_made_up(k, count);
    float *U = gemm_cl_kit_room(k, count), u[36];
    for (int i = 0; i < M * CHANNELS; ++i) {
        const int filter = i / CHANNELS, channel = i % CHANNELS;
        both_sides(t.t->G, t.n, 3, g.at + i * 9, u);
        for (int p = 0; p < t.points; ++p)
            U[((p * STRIPS + filter / t.cols) * CHANNELS + channel) * t.cols + filter % t.cols] =
                u[p];
    }
    cl_mem to = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, before, count, false);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_filter, .M = M, .channels = CHANNELS, .strips = STRIPS, .weights = g.mem,
        .a0 = FROM, .U = to);
    gemm_cl_kit_run(k, &args, CHANNELS, STRIPS, 1, t.group);
    gemm_cl_kit_expect(k, to, U, count, false);
}

/* The map is one strip of tiles and some more. What lies past the last tile is not compared. */
static void try_winograd_input(gemm_cl_kit *k)
{
    enum { IMAGES = 2, CHANNELS = 2, PAD = 1, PLANES = IMAGES * CHANNELS };
    const transform t = transform_of(k);
    const int w = 4 * t.m + 1, across = ceil_div(w, t.m);
    const int down = max_int(ceil_div(t.cols + 2, across), 2);
    const int h = down * t.m - 1, tiles = ceil_div(h, t.m) * across;
    const int ldv = (int)round_up((size_t)tiles, (size_t)t.cols);
    const size_t count = (size_t)(PLANES * t.points * ldv);
    const gemm_cl_operand in = input(k, PLANES * h * w);
    float *V = gemm_cl_kit_room(k, count), d[36], v[36];
    for (int i = 0; i < PLANES * ldv; ++i) {
        const int tile = i % ldv, plane = i / ldv;
        const int top = tile / across * t.m - PAD, left = tile % across * t.m - PAD;
        for (int p = 0; p < t.points; ++p)
            d[p] = tile < tiles ? gemm_cl_kit_pixel(in.at + plane * h * w, h, w, top + p / t.n,
                                                    left + p % t.n) : 0;
        both_sides(t.t->BT, t.n, t.n, d, v);
        for (int p = 0; p < t.points; ++p)
            V[((plane / CHANNELS * t.points + p) * CHANNELS + plane % CHANNELS) * ldv + tile] =
                v[p];
    }
    cl_mem to = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, gemm_cl_kit_room(k, count), count, false);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_input, .channels = CHANNELS, .h = h, .w = w, .pad = PAD, .across = across,
        .tiles = tiles, .ldv = ldv, .image = in.mem, .i0 = FROM, .V = to);
    gemm_cl_kit_run(k, &args, ldv / t.cols, CHANNELS, IMAGES, t.group);
    gemm_cl_kit_expect(k, to, V, count, false);
}

/* Maps of 3 x 3 tiles. Stores an output, or the maxima of 2 x 2 of them. */
static void run_winograd_output(gemm_cl_kit *k, bool pool)
{
    enum { IMAGES = 2, PLANES = FILTERS * IMAGES, ACROSS = 3, TILES = 9, LD = TILES + 3 };
    const transform t = transform_of(k);
    const int side = pool ? 2 : 1, w = (ACROSS * t.m - side) / side;
    const gemm_cl_operand M = gemm_cl_kit_operand(k, SLOT_TRIAL_A, 0, t.points * PLANES * LD);
    const gemm_cl_output o = gemm_cl_kit_output(k, PLANES * w * w);
    float sums[36], out[16];
    for (int i = 0; i < PLANES * w * w; ++i) o.after[TO + i] = -FLT_MAX;
    for (int i = 0; i < PLANES * TILES; ++i) {
        const int plane = i / TILES, tile = i % TILES, image = plane / FILTERS;
        const int filter = plane % FILTERS;
        for (int p = 0; p < t.points; ++p)
            sums[p] = M.at[((image * t.points + p) * FILTERS + filter) * LD + tile];
        both_sides(t.t->AT, t.m, t.n, sums, out);
        for (int p = 0; p < t.m * t.m; ++p) {
            const int y = (tile / ACROSS * t.m + p / t.m) / side;
            const int x = (tile % ACROSS * t.m + p % t.m) / side;
            float *to = &o.after[TO + (plane * w + y) * w + x];
            if (y < w && x < w) *to = fmaxf(*to, finish_sum(out[p], 0, filter));
        }
    }
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_output, .M = FILTERS, .ldv = LD, .across = ACROSS, .tiles = TILES,
        .sums = M.mem, .C = o.mem, .c0 = TO, .h = w, .w = w, .norm = norm_buffer(k),
        .slope = slope, .pool = pool);
    finish(k, &args, &o, TILES, FILTERS, IMAGES, 64);
}

static void try_winograd_output(gemm_cl_kit *k)
{
    run_winograd_output(k, false);
    run_winograd_output(k, true);
}

const gemm_cl_kit_trial gemm_cl_helper_trials[] = {
    {"cl_winograd_filter", try_winograd_filter},
    {"cl_winograd_input", try_winograd_input},
    {"cl_winograd_output", try_winograd_output},
    {"cl_int8_input", try_int8_input},
    {"cl_fill", try_fill},
    {"cl_pack", try_pack},
    {"cl_sum", try_sum},
    {"cl_zero", try_zero},
    {"cl_activate", try_activate},
    {NULL, NULL},
};
