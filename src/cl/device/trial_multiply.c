/* SPDX-License-Identifier: MIT */
/*
 * Trials of the kernels that multiply, and of whole convolutions: see trial_multiply.h.
 *
 * The options of the program say what it computes, as its header in kernels/ explains. The problem
 * is one tile and a part of the next one a side, so full tiles and edges are met. A convolution has
 * two products. Where a kernel can cut K, it runs with K whole and in two parts.
 */
#include "cl/device/trial_multiply.h"

#include "../../../kernels/cl_strip.h"
#include "util/ints.h"
#include "util/winograd.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct problem {
    bool conv, taps, pool, depthwise, image, in_place, half, padded;
    bool direct;                /* reads the input itself; A is packed by tiles of `rows` */
    bool column;                /* C is one column without gaps, and so is B */
    int rows, cols;             /* of C, for a group */
    int M, N, K, batch, groups, products;
    int h, w, out_w, size, stride, pad;
    int lda, ldb;               /* of a multiply */
    int side;                   /* of a padded operand, which is a square */
    int strips, width;          /* of the image */
    float slope, depth_slope;
    const float *a, *input, *taps_of, *norm, *depth_norm;
    size_t a_count, input_count;
    const float *more;          /* of a shortcut, an element for each one of C; or NULL */
    float *B;                   /* products x K x N, as the kernel sees it */
    float *sums[2];             /* of two parts of K, products x M x N each */
    int kpart;                  /* the length of the first */
} problem;

/* Of cl_conv_wide, whose strips lie in rows of the output. */
static bool is_conv_alone(const gemm_cl_kit *k)
{
    return k->family->conv == GEMM_CL_ONLY_CONV;
}

/* ---- the shape ---- */

/* K of a multiply, or the least one of a convolution. */
static int wanted_k(const gemm_cl_kit *k, const problem *q)
{
    const int depth = gemm_cl_kit_number(k, "-DBK", 0);
    const bool aligned = gemm_cl_kit_has(k, "-DALIGNED_A") || gemm_cl_kit_has(k, "-DALIGNED_B");
    const int more = aligned ? 4 : 3;
    if (depth) return 2 * depth + more;
    if (q->image) return 40 + more;                 /* a run of HALF_SUMS has 32 steps */
    if (q->column) return 4 * gemm_cl_kit_number(k, "-DWX", 1) + 8 + more;
    if (q->direct) return q->size > 1 ? 5 * q->size * q->size : 37;     /* steps, and a tail */
    if (q->pool) return 24 + more;
    return k->family->shares ? CL_KC + more : 40;
}

static void shape_multiply(const gemm_cl_kit *k, problem *q)
{
    q->M = q->rows + (gemm_cl_kit_has(k, "-DALIGNED_A") ? 4 : 3);
    q->N = q->cols + (gemm_cl_kit_has(k, "-DALIGNED_B") ? 4 : 5);
    q->K = wanted_k(k, q);
    q->batch = q->groups = q->products = 1;
    q->lda = (gemm_cl_kit_has(k, "-DA_TRANSPOSED") ? q->M : q->K) + 4;
    q->ldb = (gemm_cl_kit_has(k, "-DB_TRANSPOSED") ? q->K : q->N) + 4;
    if (q->padded) q->lda = q->ldb = q->side = max_int(64, 2 * q->cols);
    if (q->column) q->N = q->ldb = 1;
}

/* A map of so many places that the next group has some. That of cl_direct has blocks inside, and
   odd sides where it can. */
static void shape_map(const gemm_cl_kit *k, problem *q)
{
    q->out_w = is_conv_alone(k) && q->pool ? q->cols / 2 + 2 : 12;
    int out_h = ceil_div(q->cols + 6, q->out_w);
    if (q->direct) {
        q->out_w = q->pool ? 8 : 7;
        out_h = 5;
    }
    if (q->pool) out_h += out_h % 2;
    if (q->column) out_h = q->out_w = 1;
    q->N = out_h * q->out_w;
    q->h = (out_h - 1) * q->stride + q->size - 2 * q->pad;
    q->w = (q->out_w - 1) * q->stride + q->size - 2 * q->pad;
}

static void shape_conv(const gemm_cl_kit *k, problem *q)
{
    const bool aligned = gemm_cl_kit_has(k, "-DALIGNED_A");
    const bool looks = q->taps || q->depthwise || (q->image && !q->in_place);
    q->size = gemm_cl_kit_number(k, "-DSIZE", q->column ? 4 : q->direct ? 3 : looks ? 2 : 1);
    q->stride = looks && !q->pool && !gemm_cl_kit_has(k, "-DSHIFTED") ? 2 : 1;
    if (q->direct) q->stride = gemm_cl_kit_number(k, "-DSTRIDE", 1);
    q->pad = looks ? q->size / 2 : 0;
    shape_map(k, q);
    int channels = wanted_k(k, q);
    if (!q->depthwise) channels = ceil_div(channels, q->size * q->size);
    if (aligned) channels = (int)round_up((size_t)channels, 4);
    q->K = q->depthwise ? channels : channels * q->size * q->size;
    q->M = gemm_cl_kit_has(k, "-DDIRECT") ? q->rows : q->depthwise ? q->rows - 1 : q->rows + 3;
    q->groups = q->depthwise ? 1 : 2;
    q->batch = q->depthwise ? 2 : 1;
    q->products = 2;
}

static void shape(const gemm_cl_kit *k, problem *q)
{
    const int wx = gemm_cl_kit_number(k, "-DWX", 1), wy = gemm_cl_kit_number(k, "-DWY", 1);
    const int rows = gemm_cl_kit_number(k, "-DROWS", 1), cols = gemm_cl_kit_number(k, "-DCOLS", 1);
    *q = (problem){
        .conv = gemm_cl_kit_has(k, "-DCONV") || is_conv_alone(k) || k->family->direct,
        .taps = gemm_cl_kit_has(k, "-DTAPS") || k->family->direct,
        .pool = gemm_cl_kit_has(k, "-DPOOL"),
        .depthwise = gemm_cl_kit_has(k, "-DDEPTHWISE"),
        .image = k->family->kind == GEMM_CL_IMAGE,
        .in_place = gemm_cl_kit_has(k, "-DIN_PLACE"),
        .half = gemm_cl_kit_has(k, "-DHALF_SUMS") || gemm_cl_kit_has(k, "-DHALF_A"),
        .padded = k->family->kind == GEMM_CL_PADDED,
        .column = k->family->one_column,
        .direct = k->family->direct,
        .rows = rows * wy, .cols = cols * wx, .slope = .125f, .depth_slope = .5f,
    };
    if (q->conv) shape_conv(k, q);
    else shape_multiply(k, q);
    /* As gemm_cl_part_length has it. */
    const int channel = q->taps && k->family->by_channel ? q->size * q->size : 0;
    const int step = channel ? channel : q->image ? 4 : 16;
    q->kpart = min_int(q->K, (int)round_up((size_t)ceil_div(q->K, 2), (size_t)step));
    q->strips = q->conv ? 2 : 1;
    q->width = q->conv ? (int)round_up((size_t)ceil_div(q->N, 4 * q->strips), 2)
                       : ceil_div(q->N, 4);
}

/* ---- operands ---- */

/* Element (i, k) of A, where filters of all groups lie one after the other. */
static float a_at(const gemm_cl_kit *k, const problem *q, int i, int p)
{
    const size_t row = (size_t)i, column = (size_t)p, ld = q->conv ? (size_t)q->K : (size_t)q->lda;
    return gemm_cl_kit_has(k, "-DA_TRANSPOSED") ? q->a[column * ld + row] : q->a[row * ld + column];
}

/* An element of a channel of the input. */
static float pixel(const problem *q, int channel, int y, int x)
{
    return gemm_cl_kit_pixel(q->input + channel * q->h * q->w, q->h, q->w, y, x);
}

/* Row and column of a place. With `pool` four places in a row are a block of 2x2. */
static void find_place(const problem *q, int n, int *y, int *x)
{
    const int blocks = q->out_w / 2;
    *y = q->pool ? n / 4 / blocks * 2 + n % 4 / 2 : n / q->out_w;
    *x = q->pool ? n / 4 % blocks * 2 + n % 2 : n % q->out_w;
}

/* Element (k, n) of B of a product of a convolution. */
static float b_of_conv(const problem *q, int product, int k, int n)
{
    const int area = q->size * q->size, channels = q->depthwise ? q->K : q->K / area;
    int y, x;
    find_place(q, n, &y, &x);
    y = y * q->stride - q->pad;
    x = x * q->stride - q->pad;
    if (!q->depthwise)
        return pixel(q, product * channels + k / area, y + k % area / q->size, x + k % q->size);
    float sum = 0;
    for (int t = 0; t < area; ++t)
        sum += q->taps_of[k * area + t] *
               pixel(q, product * channels + k, y + t / q->size, x + t % q->size);
    const gemm_cl_kit_end end = {q->depth_norm, q->K, q->depth_slope};
    return gemm_cl_kit_finish(&end, sum, 0, k);
}

static void make_b(const gemm_cl_kit *k, problem *q)
{
    float *to = q->B;
    for (int product = 0; product < q->products; ++product) {
        for (int i = 0; i < q->K; ++i) {
            for (int n = 0; n < q->N; ++n) {
                const bool across = q->padded || gemm_cl_kit_has(k, "-DB_TRANSPOSED");
                *to++ = q->conv  ? b_of_conv(q, product, i, n)
                        : across ? q->input[n * q->ldb + i] : q->input[i * q->ldb + n];
            }
        }
    }
}

static void make_sums(const gemm_cl_kit *k, problem *q)
{
    const size_t M = (size_t)q->M, N = (size_t)q->N, K = (size_t)q->K;
    for (size_t row = 0; row < (size_t)q->products * M; ++row) {
        const size_t product = row / M, filter = product % (size_t)q->groups * M + row % M;
        for (size_t p = 0; p < K; ++p) {
            const float a = a_at(k, q, (int)filter, (int)p), *b = q->B + (product * K + p) * N;
            float *sum = q->sums[(int)p >= q->kpart] + row * N;
            for (size_t n = 0; n < N; ++n) sum[n] += a * b[n];
        }
    }
}

/* Scales between 1 and 3, and then shifts. */
static const float *make_norm(gemm_cl_kit *k, int n)
{
    float *norm = gemm_cl_kit_made_up(k, 2 * (size_t)n);
    for (int i = 0; i < n; ++i) norm[i] += 2;
    return norm;
}

/* A padded matrix: what lies behind M or N, and K, is 0. */
static const float *pad(gemm_cl_kit *k, const problem *q, int rows, int cols)
{
    float *m = gemm_cl_kit_made_up(k, q->a_count);
    for (int i = 0; i < q->side * q->side; ++i)
        if (i / q->side >= rows || i % q->side >= cols) m[i] = 0;
    return m;
}

enum { MORE = 2 };              /* where a shortcut's other input begins in its buffer */

/* The elements of A and of the input. */
static void count_operands(const gemm_cl_kit *k, problem *q)
{
    const bool ta = gemm_cl_kit_has(k, "-DA_TRANSPOSED"), tb = gemm_cl_kit_has(k, "-DB_TRANSPOSED");
    const int area = q->conv ? q->size * q->size : 1, channels = q->depthwise ? q->K : q->K / area;
    const int a = q->conv ? q->groups * q->M * q->K : (ta ? q->K : q->M) * q->lda;
    const int input = q->conv ? q->products * channels * q->h * q->w : (tb ? q->N : q->K) * q->ldb;
    q->a_count = (size_t)(q->padded ? q->side * q->side : a);
    q->input_count = (size_t)(q->padded ? q->side * q->side : input);
}

static void make_operands(gemm_cl_kit *k, problem *q)
{
    const size_t filters = (size_t)q->groups * (size_t)q->M, K = (size_t)q->K;
    const size_t outputs = (size_t)q->products * (size_t)q->M * (size_t)q->N;
    count_operands(k, q);
    q->a = q->padded ? pad(k, q, q->M, q->K) : gemm_cl_kit_made_up(k, q->a_count);
    q->input = q->padded ? pad(k, q, q->N, q->K) : gemm_cl_kit_made_up(k, q->input_count);
    if (q->conv) q->norm = make_norm(k, (int)filters);
    if (q->depthwise) {
        q->taps_of = gemm_cl_kit_made_up(k, K * (size_t)(q->size * q->size));
        q->depth_norm = make_norm(k, q->K);
    }
    if (gemm_cl_kit_has(k, "-DSHORTCUT")) q->more = gemm_cl_kit_made_up(k, MORE + outputs);
    q->B = gemm_cl_kit_room(k, (size_t)q->products * K * (size_t)q->N);
    q->sums[0] = gemm_cl_kit_room(k, outputs);
    q->sums[1] = gemm_cl_kit_room(k, outputs);
}

/* ---- launches ---- */

/* B as cl_fill writes it: of each product `strips` times K rows. */
static cl_mem make_image(gemm_cl_kit *k, const problem *q)
{
    const int rows = q->products * q->strips * q->K, columns = 4 * q->width;
    float *image = gemm_cl_kit_room(k, (size_t)rows * (size_t)columns);
    for (int y = 0; y < rows; ++y) {
        const int strip = y / q->K, product = strip / q->strips;
        const int first = strip % q->strips * columns;
        const float *b = q->B + (product * q->K + y % q->K) * q->N;
        for (int x = 0; x < columns && first + x < q->N; ++x)
            image[y * columns + x] = b[first + x];
    }
    return gemm_cl_kit_image(k, image, q->width, rows, gemm_cl_kit_has(k, "-DHALF_SUMS"));
}

/* The tiles in a column of the image of cl_direct; the last column has fewer. */
enum { TILES_DOWN = 3 };

/* U of a filter's channel, whose taps begin at step p: point i. */
static float u_at(const gemm_cl_kit *k, const problem *q, int filter, int p, int i)
{
    const float *G = gemm_winograd_transform(2)->G;
    float sum = 0;
    for (int tap = 0; tap < 9; ++tap)
        sum += G[i / 4 * 3 + tap / 3] * a_at(k, q, filter, p + tap) * G[i % 4 * 3 + tap % 3];
    return sum;
}

/* The same with U in place of the taps. */
static cl_mem make_transformed(gemm_cl_kit *k, const problem *q)
{
    enum { POINTS = 16, TAPS = 9 };
    const int tiles = ceil_div(q->M, q->rows), channels = q->K / TAPS;
    const int size = q->groups * tiles * q->rows * channels * POINTS;
    float *packed = gemm_cl_kit_room(k, (size_t)size);
    for (int filter = 0; filter < q->groups * q->M; ++filter) {
        const int i = filter % q->M, number = filter / q->M * tiles + i / q->rows;
        float *tile = packed + number * channels * POINTS * q->rows + i % q->rows;
        for (int point = 0; point < channels * POINTS; ++point)
            tile[point * q->rows] = u_at(k, q, filter, point / POINTS * TAPS, point % POINTS);
    }
    return gemm_cl_kit_buffer(k, SLOT_TRIAL_A, packed, (size_t)size, false);
}

/* A as cl_direct has it: [group][tile][k][rows], or columns of these in an image. */
static cl_mem make_packed(gemm_cl_kit *k, const problem *q)
{
    if (gemm_cl_kit_has(k, "-DWINOGRAD")) return make_transformed(k, q);
    const int tiles = ceil_div(q->M, q->rows), size = q->groups * tiles * q->rows * q->K;
    const int line = q->size * q->size * q->rows, columns = ceil_div(q->groups * tiles, TILES_DOWN);
    const int high = TILES_DOWN * q->K / (q->size * q->size);
    float *packed = gemm_cl_kit_room(k, (size_t)size);
    float *image = gemm_cl_kit_room(k, (size_t)(columns * line * high));
    for (int filter = 0; filter < q->groups * q->M; ++filter) {
        const int group = filter / q->M, i = filter % q->M;
        float *tile = packed + (group * tiles + i / q->rows) * q->K * q->rows;
        for (int p = 0; p < q->K; ++p) tile[p * q->rows + i % q->rows] = a_at(k, q, filter, p);
    }
    if (!gemm_cl_kit_has(k, "-DTEXTURE"))
        return gemm_cl_kit_buffer(k, SLOT_TRIAL_A, packed, (size_t)size, false);
    for (int y = 0; y < size / line; ++y)
        memcpy(image + (y % high * columns + y / high) * line, packed + y * line,
               (size_t)line * sizeof *image);
    return gemm_cl_kit_image(k, image, columns * line / 4, high, false);
}

static void set_a(gemm_cl_kit *k, const problem *q, gemm_cl_multiply_args *to)
{
    if (q->direct) {
        to->A = make_packed(k, q);
        to->ars = TILES_DOWN;
        return;
    }
    const bool transposed = gemm_cl_kit_has(k, "-DA_TRANSPOSED");
    const int ld = q->conv ? q->K : q->lda;
    to->A = gemm_cl_kit_buffer(k, SLOT_TRIAL_A, q->a, q->a_count, q->half);
    to->ars = transposed ? 1 : ld;
    to->acs = transposed ? ld : 1;
}

static void set_b(gemm_cl_kit *k, const problem *q, gemm_cl_multiply_args *to)
{
    const bool transposed = q->padded || gemm_cl_kit_has(k, "-DB_TRANSPOSED");
    const int ld = q->conv ? q->h * q->w : q->ldb;
    to->brs = transposed ? 1 : ld;
    to->bcs = transposed ? ld : 1;
    if (q->image && !q->in_place) {
        to->B = make_image(k, q);
        to->brs = q->width;
        to->bcs = q->strips;
    } else {
        to->B = gemm_cl_kit_buffer(k, SLOT_TRIAL_B, q->input, q->input_count, false);
    }
}

static void set_convolution(gemm_cl_kit *k, const problem *q, gemm_cl_multiply_args *to)
{
    const size_t filters = (size_t)(q->groups * q->M);
    to->products = q->products;
    to->groups = q->groups;
    to->h = q->h;
    to->w = q->w;
    to->out_w = q->out_w;
    to->size = q->size;
    to->stride = q->stride;
    to->pad = q->pad;
    to->norm = gemm_cl_kit_buffer(k, SLOT_TRIAL_NORM, q->norm, 2 * filters, false);
    to->slope = q->slope;
    to->elements = q->input_count;
    if (q->more) {
        const size_t outputs = (size_t)q->products * (size_t)q->M * (size_t)q->N;
        to->more = gemm_cl_kit_buffer(k, SLOT_TRIAL_MORE, q->more, MORE + outputs, false);
        to->more0 = MORE;
    }
    if (!q->depthwise) return;
    const size_t taps = (size_t)(q->K * q->size * q->size);
    to->taps = gemm_cl_kit_buffer(k, SLOT_TRIAL_TAPS, q->taps_of, taps, false);
    to->depth_norm = gemm_cl_kit_buffer(k, SLOT_TRIAL_DEPTH_NORM, q->depth_norm,
                                        2 * (size_t)q->K, false);
    to->depth_slope = q->depth_slope;
}

/* The outputs of row `row` of all sums of a convolution: all, or the maxima of four. */
static void finish_row(const problem *q, const float *s, size_t row, float *to)
{
    const int filters = q->groups * q->M;
    const gemm_cl_kit_end end = {q->norm, filters, q->slope};
    for (int n = 0; n < q->N; ++n) {
        const float more = q->more ? q->more[MORE + row * (size_t)q->N + (size_t)n] : 0;
        const float x = gemm_cl_kit_finish(&end, s[n], more, (int)row % filters);
        if (!q->pool) to[n] = x;
        else to[n / 4] = n % 4 && to[n / 4] > x ? to[n / 4] : x;
    }
}

enum { FIRST_OF_C = 4 };        /* where C begins in its buffer */

typedef struct expected {
    float *before, *after;      /* C, with what lies around it */
    size_t count;
    int ld;
    size_t part;                /* from part to part of C; 0: K is not cut */
} expected;

static expected expect(gemm_cl_kit *k, const problem *q, bool cut)
{
    const bool stores = q->conv || gemm_cl_kit_has(k, "-DSTORE");
    const size_t rows = (size_t)q->products * (size_t)q->M, N = (size_t)q->N;
    expected e = {.ld = cut ? q->N : q->pool ? q->N / 4 : q->N + (q->conv || q->column ? 0 : 3),
                  .part = cut ? rows * N : 0};
    e.count = FIRST_OF_C + (cut ? 2 * e.part : rows * (size_t)e.ld) + 3;
    e.before = gemm_cl_kit_made_up(k, e.count);
    e.after = gemm_cl_kit_room(k, e.count);
    memcpy(e.after, e.before, e.count * sizeof(float));
    const float alpha = q->conv ? 1 : 2;
    float *all = gemm_cl_kit_room(k, N);
    for (size_t row = 0; row < rows; ++row) {
        float *c = e.after + FIRST_OF_C + row * (size_t)e.ld, *sum = q->sums[0] + row * N;
        const float *more = q->sums[1] + row * N;
        for (size_t n = 0; n < N; ++n) all[n] = sum[n] + more[n];
        for (size_t n = 0; n < N && cut; ++n) {
            c[n] = alpha * sum[n];
            c[e.part + n] = alpha * more[n];
        }
        for (size_t n = 0; n < N && !cut && !q->conv; ++n)
            c[n] = alpha * all[n] + (stores ? 0 : c[n]);
        if (!cut && q->conv) finish_row(q, all, row, c);
    }
    return e;
}

/* How many items the problem takes along x. */
static int items_across(const gemm_cl_kit *k, const problem *q)
{
    const int cols = gemm_cl_kit_number(k, "-DCOLS", 1);
    if (q->direct) {
        const int blocks = q->size > 1 ? ceil_div(q->out_w, 2) * ceil_div(q->N / q->out_w, 2)
                                       : ceil_div(q->N, 4);
        return blocks * ceil_div(q->M, q->rows);
    }
    if (q->pool && is_conv_alone(k))
        return ceil_div(q->out_w, cols / 2) * (q->N / q->out_w / 2);
    return ceil_div(q->N, cols);
}

static void launch(gemm_cl_kit *k, const problem *q, bool cut)
{
    const size_t used = k->used;
    const expected e = expect(k, q, cut);
    const int down = q->direct ? 1 : ceil_div(q->M, gemm_cl_kit_number(k, "-DROWS", 1));
    const int deep = (cut ? 2 : 1) * q->products;
    gemm_cl_multiply_args values = {
        .M = q->M, .N = q->N, .K = q->padded ? q->side : q->K, .alpha = q->conv ? 1 : 2,
        .C = gemm_cl_kit_buffer(k, SLOT_TRIAL_C, e.before, e.count, false), .c0 = FIRST_OF_C,
        .ldc = e.ld, .kpart = cut ? q->kpart : q->K, .cpart = e.part,
        .shares = down, .z_shares = deep};
    set_a(k, q, &values);
    set_b(k, q, &values);
    if (q->conv) set_convolution(k, q, &values);
    const gemm_cl_arguments args =
        gemm_cl_kit_has(k, "-DPACKED") ? gemm_cl_packed_list(&values, q->depthwise, q->more)
        : q->conv                      ? gemm_cl_conv_list(&values, q->depthwise, q->more)
                                       : gemm_cl_wide_arguments(&values);
    gemm_cl_kit_run(k, &args, items_across(k, q), down, deep, 64);
    gemm_cl_kit_expect(k, values.C, e.after, e.count, false);
    k->used = used;
}

void gemm_cl_try_multiply(gemm_cl_kit *k)
{
    problem q;
    shape(k, &q);
    make_operands(k, &q);
    if (k->unfinished) return;
    make_b(k, &q);
    make_sums(k, &q);
    launch(k, &q, false);
    const bool cuts = k->family->splits && !gemm_cl_kit_has(k, "-DSLICES");
    if (cuts && !q.depthwise) launch(k, &q, true);
}
