/* SPDX-License-Identifier: MIT */
/*
 * Trials of the kernels that do not multiply: see trial_layers.h. Each one calls its kernel with
 * the arguments that the header of the kernel explains, and computes the same by plain loops.
 */
#include "cl/device/trial_layers.h"

#include "op/activation.h"
#include "util/ints.h"
#include "util/winograd.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Where an input and an output begin in their buffers. */
enum { FROM = 3, TO = 5 };

static float logistic(float x)
{
    return 1 / (1 + expf(-x));
}

/* The conv_activation with this number. */
static float activate(float x, int activation)
{
    return (float)gemm_activate(x, (conv_activation)activation);
}

/* ---- layers ---- */

/* A layer's output: made-up values before, which the buffer has, and the same with n results
   after. */
typedef struct output {
    float *before, *after;
    size_t count;
    cl_mem mem;
} output;

static output make_output(gemm_cl_kit *k, int n)
{
    output o = {.count = TO + (size_t)n + 3};
    o.before = gemm_cl_kit_made_up(k, o.count);
    o.after = gemm_cl_kit_room(k, o.count);
    memcpy(o.after, o.before, o.count * sizeof(float));
    o.mem = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, o.before, o.count, false);
    return o;
}

/* The first input of a layer: n values from FROM on, or all n. */
static gemm_cl_operand input_from(gemm_cl_kit *k, int n)
{
    return gemm_cl_kit_operand(k, SLOT_TRIAL_A, FROM + n);
}

static gemm_cl_operand input_of(gemm_cl_kit *k, int n)
{
    return gemm_cl_kit_operand(k, SLOT_TRIAL_A, n);
}

/* The members of CL_IN_OUT (kernels/cl_layer_arguments.h). */
#define IN_OUT(input, output) .in = (input).mem, .i0 = FROM, .out = (output)->mem, .o0 = TO

/* Launches, and compares the whole buffer. */
static void finish(gemm_cl_kit *k, const gemm_cl_arguments *args, const output *o, int x, int y,
                   int z, int wide)
{
    gemm_cl_kit_run(k, args, x, y, z, wide);
    gemm_cl_kit_expect(k, o->mem, o->after, o->count, false);
}

/* Items as kernels/cl_layer.h says. */
static void finish_layer(gemm_cl_kit *k, const gemm_cl_arguments *args, const output *o, int x,
                         int y, int z)
{
    if (gemm_cl_kit_has(k, "-DBY_ROW")) finish(k, args, o, y, z, 1, 1);
    else finish(k, args, o, x, y, z, 64);
}

/* The rows of a layer whose n elements are alike. */
static int rows_of(const gemm_cl_kit *k, int n)
{
    return gemm_cl_kit_has(k, "-DBY_ROW") ? ceil_div(n, gemm_cl_kit_number(k, "-DRUN", n)) : 1;
}

static void try_maxpool(gemm_cl_kit *k)
{
    enum { PLANES = 3, H = 7, W = 9, SIZE = 3, OFFSET = 1 };
    const int stride = gemm_cl_kit_number(k, "-DSTRIDE", 3);
    const int out_h = (H - 1) / stride + 1, out_w = (W - 1) / stride + 1, outs = out_h * out_w;
    const gemm_cl_operand in = input_from(k, PLANES * H * W);
    const output o = make_output(k, PLANES * outs);
    for (int i = 0; i < PLANES * outs; ++i) {
        const int top = i % outs / out_w * stride - OFFSET, left = i % out_w * stride - OFFSET;
        float m = -FLT_MAX;
        for (int y = max_int(top, 0); y < min_int(top + SIZE, H); ++y)
            for (int x = max_int(left, 0); x < min_int(left + SIZE, W); ++x)
                m = fmaxf(m, in.at[FROM + (i / outs * H + y) * W + x]);
        o.after[TO + i] = m;
    }
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        maxpool, .h = H, .w = W, .out_h = out_h, .out_w = out_w, .size = SIZE, .stride = stride,
        .offset = OFFSET, IN_OUT(in, &o));
    finish_layer(k, &args, &o, out_w, out_h, PLANES);
}

static void try_avgpool(gemm_cl_kit *k)
{
    enum { PLANES = 70, AREA = 12 };
    const gemm_cl_operand in = input_from(k, PLANES * AREA);
    const output o = make_output(k, PLANES);
    for (int p = 0; p < PLANES; ++p) {
        float sum = 0;
        for (int i = 0; i < AREA; ++i) sum += in.at[FROM + p * AREA + i];
        o.after[TO + p] = sum / AREA;
    }
    const gemm_cl_arguments args = GEMM_CL_ARGS(avgpool, .planes = PLANES, .area = AREA,
                                                IN_OUT(in, &o));
    finish_layer(k, &args, &o, PLANES, rows_of(k, PLANES), 1);
}

static void try_upsample(gemm_cl_kit *k)
{
    enum { PLANES = 2, H = 3, W = 5, STRIDE = 2, OUT = PLANES * H * W * STRIDE * STRIDE };
    const gemm_cl_operand in = input_from(k, PLANES * H * W);
    const output o = make_output(k, OUT);
    for (int i = 0; i < OUT; ++i) {
        const int x = i % (W * STRIDE) / STRIDE, y = i / (W * STRIDE) / STRIDE;
        o.after[TO + i] = 3 * in.at[FROM + y * W + x];
    }
    const gemm_cl_arguments args = GEMM_CL_ARGS(upsample, .h = H, .w = W, .stride = STRIDE,
                                                .alpha = 3, IN_OUT(in, &o));
    finish_layer(k, &args, &o, W, H, PLANES);
}

static gemm_cl_shortcut_args shortcut_of(const gemm_cl_operand *a, const gemm_cl_operand *b, int n,
                                         int activation, const output *o)
{
    return (gemm_cl_shortcut_args){
        .n = n, .alpha = 2, .beta = .5f, .activation = activation, .a = a->mem, .a0 = FROM,
        .b = b->mem, .b0 = FROM, .out = o->mem, .o0 = TO};
}

/* b is smaller than `out`, or larger: its elements meet those `sample` or `stride` apart. */
static void try_sizes(gemm_cl_kit *k, int sample, int stride)
{
    enum { BATCH = 2, C = 2, OUT_C = 3, SIDE = 4, N = BATCH * OUT_C * SIDE * SIDE };
    const int h = SIDE / sample * stride, nb = BATCH * C * h * h;
    const gemm_cl_operand a = input_from(k, N);
    const gemm_cl_operand b = gemm_cl_kit_operand(k, SLOT_TRIAL_B, FROM + nb);
    const output o = make_output(k, N);
    for (int i = 0; i < N; ++i) {
        const int x = i % SIDE, y = i / SIDE % SIDE, c = i / (SIDE * SIDE) % OUT_C;
        const int image = i / (SIDE * SIDE * OUT_C);
        const bool met = c < C && x % sample == 0 && y % sample == 0;
        const int at = ((image * C + c) * h + y / sample * stride) * h + x / sample * stride;
        const float sum = met ? 2 * a.at[FROM + i] + .5f * b.at[FROM + at] : a.at[FROM + i];
        o.after[TO + i] = activate(sum, 1);
    }
    gemm_cl_shortcut_args values = shortcut_of(&a, &b, N, 1, &o);
    values.channels = C;
    values.h = values.w = h;
    values.out_c = OUT_C;
    values.out_h = values.out_w = SIDE;
    const gemm_cl_arguments args = gemm_cl_shortcut_arguments(&values);
    finish_layer(k, &args, &o, SIDE, SIDE, BATCH * OUT_C);
}

static void try_shortcut(gemm_cl_kit *k)
{
    enum { N = 70 };
    if (gemm_cl_kit_has(k, "-DSIZES")) {
        try_sizes(k, 2, 1);
        try_sizes(k, 1, 2);
        return;
    }
    const gemm_cl_operand a = input_from(k, N);
    const gemm_cl_operand b = gemm_cl_kit_operand(k, SLOT_TRIAL_B, FROM + N);
    for (int activation = 0; activation < CONV_ACTIVATIONS; ++activation) {
        const output o = make_output(k, N);
        for (int i = 0; i < N; ++i)
            o.after[TO + i] = activate(2 * a.at[FROM + i] + .5f * b.at[FROM + i], activation);
        const gemm_cl_shortcut_args values = shortcut_of(&a, &b, N, activation, &o);
        const gemm_cl_arguments args = gemm_cl_shortcut_arguments(&values);
        finish_layer(k, &args, &o, N, rows_of(k, N), 1);
    }
}

static void try_activate(gemm_cl_kit *k)
{
    enum { N = 70 };
    for (int activation = CONV_LOGISTIC; activation < CONV_ACTIVATIONS; ++activation) {
        output o = make_output(k, N);
        for (int i = TO; i < TO + N; ++i) {
            o.before[i] *= 16;  /* beyond all limits of the table */
            o.after[i] = activate(o.before[i], activation);
        }
        o.mem = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, o.before, o.count, false);
        const gemm_cl_arguments args = GEMM_CL_ARGS(
            activate, .n = N, .activation = activation, .data = o.mem, .d0 = TO);
        finish_layer(k, &args, &o, N, rows_of(k, N), 1);
    }
}

static void try_copy(gemm_cl_kit *k)
{
    enum { N = 70, IMAGES = 2, SECOND = 7, SIZE = 82 };
    const int m = gemm_cl_kit_has(k, "-DTWO") ? SECOND : 0, all = N + m;
    const gemm_cl_operand in = input_from(k, N * IMAGES);
    const gemm_cl_operand second = gemm_cl_kit_operand(k, SLOT_TRIAL_B, FROM + SECOND * IMAGES);
    const output o = make_output(k, SIZE * IMAGES);
    for (int i = 0; i < N * IMAGES; ++i) o.after[TO + i / N * SIZE + i % N] = in.at[FROM + i];
    for (int i = 0; i < m * IMAGES; ++i)
        o.after[TO + i / m * SIZE + N + i % m] = second.at[FROM + i];
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        copy, .n = N, .size = SIZE, IN_OUT(in, &o), .all = all, .second = second.mem, .s0 = FROM);
    finish_layer(k, &args, &o, all, rows_of(k, all), IMAGES);
}

static void try_yolo(gemm_cl_kit *k)
{
    enum { AREA = 19, ENTRIES = 6, PLANES = 2 * ENTRIES };
    const gemm_cl_operand in = input_from(k, PLANES * AREA);
    const output o = make_output(k, PLANES * AREA);
    for (int i = 0; i < PLANES * AREA; ++i) {
        const int entry = i / AREA % ENTRIES;
        const float x = in.at[FROM + i];
        o.after[TO + i] = entry == 2 || entry == 3 ? x : logistic(x);
    }
    const gemm_cl_arguments args = GEMM_CL_ARGS(yolo, .area = AREA, .entries = ENTRIES,
                                                IN_OUT(in, &o));
    finish_layer(k, &args, &o, AREA, 1, PLANES);
}

/* ---- helpers of a multiply ---- */

/* The image that a multiply takes. */
static void try_fill_matrix(gemm_cl_kit *k)
{
    enum { N = 270, K = 5, LD = N + 2, WIDTH = (N + 3) / 4 };
    const bool half = gemm_cl_kit_has(k, "-DHALF");
    const gemm_cl_operand b = input_from(k, K * LD);
    float *image = gemm_cl_kit_room(k, 4 * WIDTH * K);
    for (int i = 0; i < K * N; ++i)
        image[i / N * 4 * WIDTH + i % N] = b.at[FROM + i / N * LD + i % N];
    cl_mem to = gemm_cl_kit_image(k, gemm_cl_kit_made_up(k, 4 * WIDTH * K), WIDTH, K, half);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        fill, .N = N, .B = b.mem, .b0 = FROM, .brs = LD, .bcs = 1, .image = to);
    gemm_cl_kit_run(k, &args, WIDTH, K, 1, 64);
    gemm_cl_kit_expect_image(k, to, image, WIDTH, K, half);
}

/* What im2col would write, for two products of two channels, in two strips. Pixels whose columns
   are all past N are not written, and keep what they had. */
static void try_fill_conv(gemm_cl_kit *k)
{
    enum { PRODUCTS = 2, CHANNELS = 2, STRIPS = 2, SLICES = PRODUCTS * CHANNELS, OUT = 10 };
    const bool half = gemm_cl_kit_has(k, "-DHALF"), pool = gemm_cl_kit_has(k, "-DPOOL");
    const int size = gemm_cl_kit_number(k, "-DSIZE", 2), stride = pool ? 1 : 2, pad = size / 2;
    const int side = (OUT - 1) * stride + size - 2 * pad, area = size * size, N = OUT * OUT;
    const int width = (int)round_up((size_t)ceil_div(N, 4 * STRIPS), 2);
    const int rows = PRODUCTS * STRIPS * CHANNELS * area;
    const gemm_cl_operand in = input_from(k, SLICES * side * side);
    float *before = gemm_cl_kit_made_up(k, (size_t)(4 * width * rows));
    float *image = gemm_cl_kit_room(k, (size_t)(4 * width * rows));
    memcpy(image, before, (size_t)(4 * width * rows) * sizeof(float));
    for (int i = 0; i < 4 * width * rows; ++i) {
        const int row = i / (4 * width), strip = row / (CHANNELS * area), tap = row % area;
        const int n = strip % STRIPS * 4 * width + i % (4 * width);
        const int slice = strip / STRIPS * CHANNELS + row / area % CHANNELS;
        const int y = pool ? n / 4 / (OUT / 2) * 2 + n % 4 / 2 : n / OUT;
        const int x = pool ? n / 4 % (OUT / 2) * 2 + n % 2 : n % OUT;
        if (n - n % 4 >= N) continue;
        image[i] = n < N ? gemm_cl_kit_pixel(in.at + FROM + slice * side * side, side, side,
                                             y * stride - pad + tap / size,
                                             x * stride - pad + tap % size) : 0;
    }
    cl_mem to = gemm_cl_kit_image(k, before, width, rows, half);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        fill_conv, .N = N, .B = in.mem, .b0 = FROM, .image = to, .width = width,
        .strips = STRIPS, .channels = CHANNELS, .h = side, .w = side, .out_w = OUT, .size = size,
        .stride = stride, .pad = pad);
    gemm_cl_kit_run(k, &args, width, CHANNELS, PRODUCTS * STRIPS, 64);
    gemm_cl_kit_expect_image(k, to, image, width, rows, half);
}

static void try_fill(gemm_cl_kit *k)
{
    if (gemm_cl_kit_has(k, "-DCONV")) try_fill_conv(k);
    else try_fill_matrix(k);
}

/* A matrix is padded, and transposed. */
static void try_pack(gemm_cl_kit *k)
{
    enum { ROWS = 5, COLS = 66, LD = ROWS + 2, ROWS_OUT = 8, COLS_OUT = 70 };
    const bool half = gemm_cl_kit_has(k, "-DHALF");
    const gemm_cl_operand in = input_from(k, COLS * LD);
    const float *before = gemm_cl_kit_made_up(k, ROWS_OUT * COLS_OUT);
    float *out = gemm_cl_kit_room(k, ROWS_OUT * COLS_OUT);
    for (int i = 0; i < ROWS * COLS; ++i)
        out[i / COLS * COLS_OUT + i % COLS] = in.at[FROM + i % COLS * LD + i / COLS];
    cl_mem to = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, before, ROWS_OUT * COLS_OUT, half);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        pack, .rows = ROWS, .cols = COLS, .in = in.mem, .i0 = FROM, .rs = 1, .cs = LD,
        .cols_out = COLS_OUT, .out = to);
    gemm_cl_kit_run(k, &args, COLS_OUT, ROWS_OUT, 1, 64);
    gemm_cl_kit_expect(k, to, out, ROWS_OUT * COLS_OUT, half);
}

static void try_zero(gemm_cl_kit *k)
{
    enum { N = 70, ALL = 75 };
    float *before = gemm_cl_kit_made_up(k, ALL), *after = gemm_cl_kit_room(k, ALL);
    for (int i = N; i < ALL; ++i) after[i] = before[i];
    cl_mem to = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, before, ALL, false);
    const gemm_cl_arguments args = GEMM_CL_ARGS(zero, .count = N, .out = to);
    gemm_cl_kit_run(k, &args, N, 1, 1, 64);
    gemm_cl_kit_expect(k, to, after, ALL, false);
}

/* The sum of three parts of element `at`, finished where the kernel does that. */
static float sum_of(const float *parts, int size, int at, float more, const gemm_cl_kit_end *end,
                    int filter)
{
    const float sum = parts[at] + parts[size + at] + parts[2 * size + at];
    return end->norm ? gemm_cl_kit_finish(end, sum, more, filter) : sum;
}

static void try_sum(gemm_cl_kit *k)
{
    enum { M = 6, N = 66, PARTS = 3, LD = N + 1, FILTERS = 3, MORE = 2 };
    static const float of_conv[] = {1, 2, .5f, 1, -1, 0};
    const float *norm = gemm_cl_kit_has(k, "-DCONV") ? of_conv : NULL;
    const int each = gemm_cl_kit_has(k, "-DPOOL") ? 4 : 1, size = M * N * each;
    const bool adds = !norm && !gemm_cl_kit_has(k, "-DSTORE");
    const gemm_cl_kit_end end = {norm, FILTERS, .5f};
    const gemm_cl_operand parts = input_of(k, PARTS * size);
    const gemm_cl_operand more = gemm_cl_kit_has(k, "-DSHORTCUT")
                                     ? gemm_cl_kit_operand(k, SLOT_TRIAL_MORE, MORE + M * LD)
                                     : (gemm_cl_operand){0};
    const output o = make_output(k, M * LD);
    for (int i = 0; i < M * N; ++i) {
        const int at = i / N * LD + i % N;
        float *c = &o.after[TO + at], most = -FLT_MAX;
        for (int e = 0; e < each; ++e)
            most = fmaxf(most, sum_of(parts.at, size, i * each + e,
                                      more.at ? more.at[MORE + at] : 0, &end, i / N % FILTERS));
        *c = adds ? *c + most : most;
    }
    cl_mem scales = norm ? gemm_cl_kit_buffer(k, SLOT_TRIAL_NORM, norm, 2 * FILTERS, false) : NULL;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        sum, .M = M, .N = N, .count = PARTS, .parts = parts.mem, .C = o.mem, .c0 = TO, .ldc = LD,
        .filters = FILTERS, .norm = scales, .slope = end.slope,
        .more = more.mem, .more0 = MORE);
    finish(k, &args, &o, N, M, 1, 64);
}

/* ---- layers in 8 bits ---- */

/* Byte i of the quad that lies in a float. */
static int byte_of(const float *quad, int i)
{
    unsigned char bytes[4];
    unsigned bits;
    memcpy(&bits, quad, sizeof bits);
    for (int k = 0; k < 4; ++k) bytes[k] = (unsigned char)(bits >> 8 * k);
    return bytes[i] < 128 ? bytes[i] : bytes[i] - 256;
}

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
    const int COUNT = PRODUCTS * PLANES * ROWS * ROW * wide, INPUTS = PRODUCTS * CHANNELS * H * W;
    const gemm_cl_operand in = input_from(k, INPUTS);
    float *quads = gemm_cl_kit_room(k, (size_t)COUNT);
    for (int i = 0; i < PRODUCTS * ALL * ROWS * ROW; ++i) {
        const int x = i % ROW, y = i / ROW % ROWS, c = i / (ROW * ROWS) % ALL;
        const int product = i / (ROW * ROWS * ALL);
        const bool inside = y >= PAD && y < PAD + H && x >= PAD && x < PAD + W;
        const float *plane_of = in.at + FROM + (product * CHANNELS + c) * H * W;
        const float v = c < CHANNELS ? gemm_cl_kit_pixel(plane_of, H, W, y - PAD, x - PAD) : 0;
        const int plane = c / (4 * wide), quad = c / 4 % wide;
        put_byte(&quads[(((product * PLANES + plane) * ROWS + y) * ROW + x) * wide + quad], c % 4,
                 c < CHANNELS || !inside ? (int)(v * 100) + ZERO : 0);
    }
    cl_mem to = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, gemm_cl_kit_made_up(k, (size_t)COUNT),
                                   (size_t)COUNT, false);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        int8_input, .channels = CHANNELS, .planes = PLANES, .h = H, .w = W, .pad = PAD,
        .rows = ROWS, .row = ROW, .inverse = 100, .zero = ZERO, .in = in.mem, .i0 = FROM,
        .out = to);
    if (gemm_cl_kit_has(k, "-DBY_ROW"))
        gemm_cl_kit_run(k, &args, ROWS, PRODUCTS * PLANES, 1, 1);
    else
        gemm_cl_kit_run(k, &args, ROW, ROWS, PRODUCTS * PLANES, 64);
    gemm_cl_kit_expect(k, to, quads, (size_t)COUNT, false);
}

/* n quads of made-up bytes. */
static gemm_cl_operand made_up_quads(gemm_cl_kit *k, gemm_cl_slot slot, int n)
{
    const float *from = gemm_cl_kit_made_up(k, 4 * (size_t)n);
    float *quads = gemm_cl_kit_room(k, (size_t)n);
    for (int i = 0; i < 4 * n; ++i) put_byte(&quads[i / 4], i % 4, (int)(from[i] * 100));
    return (gemm_cl_operand){quads, gemm_cl_kit_buffer(k, slot, quads, (size_t)n, false)};
}

/* A layer of two groups, each a tile and a filter. A step is a tap of `wide` quads. */
typedef struct int8_layer {
    int M, rows, stride, out_h, out_w, b_rows, b_row, wide;
    bool pool;
    const float *A, *B, *norm;
} int8_layer;

enum { INT8_GROUPS = 2, INT8_PLANES = 3, INT8_SIZE = 3, INT8_AREA = 9 };
enum { INT8_STEPS = INT8_PLANES * INT8_AREA };

/* What is added to the sums of a filter. */
static int int8_start(int filter)
{
    return 500 - 70 * filter;
}

/* Scales, shifts, and the starts as whole numbers. */
static float *int8_norm(gemm_cl_kit *k, int filters)
{
    float *norm = gemm_cl_kit_room(k, 3 * (size_t)filters);
    memcpy(norm, gemm_cl_kit_made_up(k, 2 * (size_t)filters), 2 * (size_t)filters * sizeof *norm);
    for (int i = 0; i < filters; ++i) {
        const int start = int8_start(i);
        memcpy(&norm[2 * filters + i], &start, sizeof start);
    }
    return norm;
}

static float int8_output(const int8_layer *l, int filter, int y, int x)
{
    const int group = filter / l->M, m = filter % l->M;
    const int number = group * 2 + m / l->rows;
    const float *a = l->A + number * INT8_STEPS * l->wide * l->rows + m % l->rows;
    int sum = 0;
    for (int t = 0; t < 4 * l->wide * INT8_STEPS; ++t) {
        const int quad = t / 4 % l->wide, step = t / 4 / l->wide;
        const int tap = step % INT8_AREA, plane = group * INT8_PLANES + step / INT8_AREA;
        const int down = plane * l->b_rows + y * l->stride + tap / INT8_SIZE;
        const float *b = l->B + (down * l->b_row + x * l->stride + tap % INT8_SIZE) * l->wide;
        sum += byte_of(a + t / 4 * l->rows, t % 4) * byte_of(b + quad, t % 4);
    }
    const int filters = INT8_GROUPS * l->M;
    const float f = (float)(sum + int8_start(filter)) * l->norm[filter] + l->norm[filters + filter];
    return f > 0 ? f : .5f * f;
}

static void fill_int8(const int8_layer *l, float *to)
{
    const int high = l->pool ? l->out_h / 2 : l->out_h, across = l->pool ? l->out_w / 2 : l->out_w;
    for (int i = 0; i < INT8_GROUPS * l->M * high * across; ++i) {
        const int filter = i / (high * across), y = i / across % high, x = i % across;
        to[i] = int8_output(l, filter, l->pool ? 2 * y : y, l->pool ? 2 * x : x);
        for (int p = 1; p < 4 && l->pool; ++p)
            to[i] = fmaxf(to[i], int8_output(l, filter, 2 * y + p / 2, 2 * x + p % 2));
    }
}

/* x items for places, z for products. */
static void try_int8_layer(gemm_cl_kit *k, int8_layer *l, int x, int z)
{
    const int a_count = INT8_GROUPS * 2 * INT8_STEPS * l->wide * l->rows;
    const int b_count = INT8_GROUPS * INT8_PLANES * l->b_rows * l->b_row * l->wide;
    const size_t norms = 3 * (size_t)(INT8_GROUPS * l->M);
    const int outs = INT8_GROUPS * l->M * l->out_h * l->out_w / (l->pool ? 4 : 1);
    const float *norm = l->norm = int8_norm(k, INT8_GROUPS * l->M);
    const output o = make_output(k, outs);
    const gemm_cl_operand A = made_up_quads(k, SLOT_TRIAL_A, a_count);
    const gemm_cl_operand B = made_up_quads(k, SLOT_TRIAL_B, b_count);
    l->A = A.at;
    l->B = B.at;
    if (!k->unfinished) fill_int8(l, o.after + TO);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        int8, .M = l->M, .planes = INT8_PLANES, .groups = INT8_GROUPS, .size = INT8_SIZE,
        .rows = l->b_rows, .row = l->b_row, .A = A.mem, .B = B.mem, .C = o.mem, .c0 = TO,
        .out_h = l->out_h, .out_w = l->out_w, .stride = l->stride, .slope = .5f,
        .norm = gemm_cl_kit_buffer(k, SLOT_TRIAL_NORM, norm, norms, false));
    finish(k, &args, &o, x, 2, z, 1);
}

/* Places fill more than one group along x. */
static void try_int8(gemm_cl_kit *k)
{
    enum { ROWS = 8, PLACES = 4, STRIDE = 2, OUT_H = 8 };
    const int wx = gemm_cl_kit_number(k, "-DWX", 32);
    int8_layer l = {.M = ROWS + 1, .rows = ROWS, .stride = STRIDE, .out_h = OUT_H,
                    .out_w = (wx / 2 + 2) & ~1, .wide = 4, .pool = gemm_cl_kit_has(k, "-DPOOL")};
    l.b_rows = (l.out_h - 1) * STRIDE + INT8_SIZE;
    l.b_row = (l.out_w - 1) * STRIDE + INT8_SIZE;
    try_int8_layer(k, &l, l.out_h * l.out_w / PLACES, INT8_GROUPS);
}

/* Rows of two strips, of which the second is one place. */
static void try_int8_wide(gemm_cl_kit *k)
{
    enum { OUT_H = 2 };
    const int rows = gemm_cl_kit_number(k, "-DROWS", 4), cols = gemm_cl_kit_number(k, "-DCOLS", 8);
    const int stride = gemm_cl_kit_number(k, "-DSTRIDE", 1);
    int8_layer l = {.M = rows + 1, .rows = rows, .stride = stride, .out_h = OUT_H,
                    .out_w = cols + 1, .wide = 1};
    l.b_rows = (OUT_H - 1) * stride + INT8_SIZE;
    l.b_row = (2 * cols - 1) * stride + INT8_SIZE;
    try_int8_layer(k, &l, 2, INT8_GROUPS * OUT_H);
}

/* ---- Winograd's algorithm ---- */

/* The transform of the program: n x n points of m x m outputs, for strips of `cols`. */
typedef struct transform {
    const gemm_transform *t;
    int m, n, points, cols;
} transform;

static transform transform_of(const gemm_cl_kit *k)
{
    const int m = gemm_cl_kit_number(k, "-DTILE", 4);
    return (transform){gemm_winograd_transform(m), m, m + 2, (m + 2) * (m + 2),
                       gemm_cl_kit_number(k, "-DCOLS", 1)};
}

/* Items of a group along x: a strip of one is for a GPU. */
static int group_of(const transform *t)
{
    return t->cols == 1 ? 64 : 1;
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
    const int M = t.cols + min_int(t.cols, 3), count = t.points * STRIPS * CHANNELS * t.cols;
    const gemm_cl_operand g = input_from(k, M * CHANNELS * 9);
    const float *before = gemm_cl_kit_made_up(k, (size_t)count);
    float *U = gemm_cl_kit_room(k, (size_t)count), u[36];
    for (int i = 0; i < M * CHANNELS; ++i) {
        const int filter = i / CHANNELS, channel = i % CHANNELS;
        both_sides(t.t->G, t.n, 3, g.at + FROM + i * 9, u);
        for (int p = 0; p < t.points; ++p)
            U[((p * STRIPS + filter / t.cols) * CHANNELS + channel) * t.cols + filter % t.cols] =
                u[p];
    }
    cl_mem to = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, before, (size_t)count, false);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_filter, .M = M, .channels = CHANNELS, .strips = STRIPS, .weights = g.mem,
        .a0 = FROM, .U = to);
    gemm_cl_kit_run(k, &args, CHANNELS, STRIPS, 1, group_of(&t));
    gemm_cl_kit_expect(k, to, U, (size_t)count, false);
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
    const gemm_cl_operand in = input_from(k, PLANES * h * w);
    float *V = gemm_cl_kit_room(k, count), d[36], v[36];
    for (int i = 0; i < PLANES * ldv; ++i) {
        const int tile = i % ldv, plane = i / ldv;
        const int top = tile / across * t.m - PAD, left = tile % across * t.m - PAD;
        for (int p = 0; p < t.points; ++p)
            d[p] = tile < tiles ? gemm_cl_kit_pixel(in.at + FROM + plane * h * w, h, w,
                                                    top + p / t.n, left + p % t.n) : 0;
        both_sides(t.t->BT, t.n, t.n, d, v);
        for (int p = 0; p < t.points; ++p)
            V[((plane / CHANNELS * t.points + p) * CHANNELS + plane % CHANNELS) * ldv + tile] =
                v[p];
    }
    cl_mem to = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, gemm_cl_kit_room(k, count), count, false);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_input, .channels = CHANNELS, .h = h, .w = w, .pad = PAD, .across = across,
        .tiles = tiles, .ldv = ldv, .image = in.mem, .i0 = FROM, .V = to);
    gemm_cl_kit_run(k, &args, ldv / t.cols, CHANNELS, IMAGES, group_of(&t));
    gemm_cl_kit_expect(k, to, V, count, false);
}

/* Output (y, x) of a filter, whose tiles have all points in `sums`; with `side` 2 the maximum of
   four. */
static float winograd_output(const transform *t, const float *sums, int across, int y, int x,
                             int side, const gemm_cl_kit_end *end, int filter)
{
    float out[16], most = -FLT_MAX;
    for (int e = 0; e < side * side; ++e) {
        const int down = y * side + e / side, right = x * side + e % side;
        const int tile = down / t->m * across + right / t->m;
        both_sides(t->t->AT, t->m, t->n, sums + tile * t->points, out);
        most = fmaxf(most, gemm_cl_kit_finish(end, out[down % t->m * t->m + right % t->m], 0,
                                              filter));
    }
    return most;
}

/* M of all tiles of a filter: tiles x points. */
static void winograd_sums(const transform *t, const float *U, const float *V, int strips,
                          int channels, int ldv, int tiles, int filter, float *sums)
{
    for (int i = 0; i < tiles * t->points; ++i) {
        const int tile = i / t->points, p = i % t->points;
        sums[i] = 0;
        for (int c = 0; c < channels; ++c)
            sums[i] += V[(p * channels + c) * ldv + tile] *
                       U[((p * strips + filter / t->cols) * channels + c) * t->cols +
                         filter % t->cols];
    }
}

static void try_winograd(gemm_cl_kit *k)
{
    enum { CHANNELS = 5, STRIPS = 2 };
    const transform t = transform_of(k);
    const bool pool = gemm_cl_kit_has(k, "-DPOOL");
    const int each = gemm_cl_kit_number(k, "-DROWS", 1), M = t.cols + 3, across = 3;
    const int side = pool ? 2 : 1, w = across * t.m - side, h = w, tiles = across * across;
    const int out_w = w / side, outs = out_w * (h / side);
    const int ldv = (int)round_up((size_t)tiles, (size_t)t.cols);
    const gemm_cl_operand U = input_of(k, t.points * STRIPS * CHANNELS * t.cols);
    const gemm_cl_operand V = gemm_cl_kit_operand(k, SLOT_TRIAL_B, t.points * CHANNELS * ldv);
    const gemm_cl_operand norm = gemm_cl_kit_operand(k, SLOT_TRIAL_NORM, 2 * M);
    const gemm_cl_kit_end end = {norm.at, M, .5f};
    float *sums = gemm_cl_kit_room(k, (size_t)(tiles * t.points));
    const output o = make_output(k, M * outs);
    for (int i = 0; i < M * outs; ++i) {
        const int filter = i / outs;
        if (i % outs == 0)
            winograd_sums(&t, U.at, V.at, STRIPS, CHANNELS, ldv, tiles, filter, sums);
        o.after[TO + i] = winograd_output(&t, sums, across, i % outs / out_w, i % out_w, side, &end,
                                          filter);
    }
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd, .M = M, .channels = CHANNELS, .U = U.mem, .V = V.mem, .ldv = ldv,
        .across = across, .tiles = tiles, .each = each, .strips = STRIPS, .C = o.mem, .c0 = TO,
        .h = h / side, .w = out_w, .norm = norm.mem, .slope = end.slope);
    finish(k, &args, &o, ceil_div(tiles, each), STRIPS, 1, 1);
}

static void try_winograd_output(gemm_cl_kit *k)
{
    enum { FILTERS = 3, IMAGES = 2, PLANES = FILTERS * IMAGES };
    const transform t = transform_of(k);
    const int side = gemm_cl_kit_has(k, "-DPOOL") ? 2 : 1, across = 3, tiles = across * across;
    const int out_w = (across * t.m - side) / side, outs = out_w * out_w, ldv = tiles + 3;
    const gemm_cl_operand M = input_of(k, t.points * PLANES * ldv);
    const gemm_cl_operand norm = gemm_cl_kit_operand(k, SLOT_TRIAL_NORM, 2 * FILTERS);
    const gemm_cl_kit_end end = {norm.at, FILTERS, .5f};
    float *sums = gemm_cl_kit_room(k, (size_t)(tiles * t.points));
    const output o = make_output(k, PLANES * outs);
    for (int i = 0; i < PLANES * outs; ++i) {
        const int plane = i / outs, filter = plane % FILTERS, image = plane / FILTERS;
        for (int s = 0; i % outs == 0 && s < tiles * t.points; ++s)
            sums[s] = M.at[((image * t.points + s % t.points) * FILTERS + filter) * ldv +
                           s / t.points];
        o.after[TO + i] = winograd_output(&t, sums, across, i % outs / out_w, i % out_w, side, &end,
                                          filter);
    }
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_output, .M = FILTERS, .ldv = ldv, .across = across, .tiles = tiles,
        .sums = M.mem, .C = o.mem, .c0 = TO, .h = out_w, .w = out_w, .norm = norm.mem,
        .slope = end.slope);
    finish(k, &args, &o, tiles, FILTERS, IMAGES, 64);
}

/* ---- all of them ---- */

static const struct {
    const char *kernel;
    gemm_cl_layer_trial *run;
} trials[] = {
    {"cl_winograd_filter", try_winograd_filter},
    {"cl_winograd_input", try_winograd_input},
    {"cl_winograd", try_winograd},
    {"cl_winograd_output", try_winograd_output},
    {"cl_int8_input", try_int8_input},
    {"cl_int8", try_int8},
    {"cl_int8_wide", try_int8_wide},
    {"cl_fill", try_fill},
    {"cl_pack", try_pack},
    {"cl_sum", try_sum},
    {"cl_zero", try_zero},
    {"cl_maxpool", try_maxpool},
    {"cl_avgpool", try_avgpool},
    {"cl_upsample", try_upsample},
    {"cl_shortcut", try_shortcut},
    {"cl_copy", try_copy},
    {"cl_activate", try_activate},
    {"cl_yolo", try_yolo},
};

gemm_cl_layer_trial *gemm_cl_find_layer_trial(const char *kernel)
{
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; ++i)
        if (!strcmp(trials[i].kernel, kernel)) return trials[i].run;
    return NULL;
}
