/* SPDX-License-Identifier: MIT */
/*
 * The layers between convolutions: pooling, upsample, route, shortcut and yolo.
 *
 * Each layer is cut into units, such as a row of the output. Units do not depend on each other. A
 * chunk for a thread is some consecutive units. How many units make a chunk never changes a result,
 * so the number of threads does not either.
 *
 *   maxpool 2x2 / 2    a unit is a row of the output: pairs of columns of two rows of the input
 *   any other maxpool  a unit is a band of a channel: see below
 *   avgpool, yolo      a unit is a channel
 *   upsample           a unit is a row of the input
 *   route, shortcut    a unit is a block of the output; or a channel, if the sizes of inputs differ
 *
 * A band is some rows of the output. Its part of the input is copied to scratch, with -FLT_MAX
 * outside of the image:
 *
 *        pitch = (out_w - 1) * stride + size
 *     | M M . . . . . . . . M M |     M = -FLT_MAX, pad / 2 of them on the left
 *     | M M . . . . . . . . M M |     . = input
 *     ...
 *
 * First come maxima along the rows, then maxima of these along the columns. Each step doubles the
 * floats that a maximum covers: 1, 2, 4, 8. For 13 the last step takes two that overlap. In each
 * step the first of several zeroes is taken, as in a loop over the window row by row.
 */
#include "packed/packed.h"

#include "util/ints.h"
#include "util/threads.h"

#include <float.h>
#include <string.h>

/* Floats in a block: two of them stay in L1. */
enum { BLOCK = 2048 };

typedef struct layer_job layer_job;
typedef void run_unit(const layer_job *, int unit, float *scratch);

struct layer_job {
    const layer_call *c;
    const gemm_ukernel *u;
    run_unit *run;
    const char *why;            /* for the trace: the unit, and what decided */
    int units;
    int step;                   /* units in a chunk */
    int pitch;                  /* bands: floats in a row */
    int rows, bands;            /* rows of the output in a band, bands in a channel */
};

static size_t output_size(const layer_call *c)
{
    return (size_t)c->out_c * (size_t)c->out_h * (size_t)c->out_w;
}

/* Channel `index` of all images of the first input. */
static const float *channel_at(const layer_call *c, int index)
{
    return c->input[0].data + (size_t)index * (size_t)c->h * (size_t)c->w;
}

/* ---- maxpool 2x2, stride 2 ---- */

/* Each window begins inside of the image. It may hang over on the right and below. */
static bool has_pairs(const layer_call *c)
{
    return c->size == 2 && c->stride == 2 && c->pad < 2 && c->out_w <= ceil_div(c->w, 2) &&
           c->out_h <= ceil_div(c->h, 2);
}

/* A row outside of the image is replaced by the other one, because it changes no maximum. */
static void max_row(const layer_job *j, int unit, float *scratch)
{
    (void)scratch;
    const layer_call *c = j->c;
    const int y = unit % c->out_h * 2, pairs = min_int(c->out_w, c->w / 2), last = c->w - 1;
    const float *top = channel_at(c, unit / c->out_h) + (size_t)y * (size_t)c->w;
    const float *bottom = y + 1 < c->h ? top + c->w : top;
    float *out = c->output + (size_t)unit * (size_t)c->out_w;
    j->u->layers.max_pairs(pairs, top, bottom, out);
    if (pairs < c->out_w) j->u->layers.max_rows(1, top + last, bottom + last, out + pairs);
}

/* ---- any other maxpool ---- */

/* Floats in the widest vector. */
enum { MOST_VL = 16 };

/* Returns false when the rows of one window do not fit the scratch. */
static bool plan_bands(layer_job *j)
{
    enum { NEAR = 6 * 1024,             /* 24 KiB, which fit L1 */
           MOST = GEMM_SCRATCH_BYTES / sizeof(float) - MOST_VL };
    const layer_call *c = j->c;
    const double pitch = (c->out_w - 1.0) * c->stride + c->size;
    if (pitch * c->size > MOST) return false;
    j->pitch = (int)pitch;
    const int lines = min_int(MOST / j->pitch, max_int(NEAR / j->pitch, 4 * c->size));
    j->bands = ceil_div(c->out_h, (lines - c->size) / c->stride + 1);
    j->rows = ceil_div(c->out_h, j->bands);
    j->bands = ceil_div(c->out_h, j->rows);
    return true;
}

/* Rows y .. y + lines of a channel, from column -pad / 2 on. NaN becomes -FLT_MAX. */
static void fill_band(const layer_job *j, const float *channel, int y, int lines, float *band)
{
    const layer_call *c = j->c;
    const int from = min_int(c->pad / 2, j->pitch), to = min_int(from + c->w, j->pitch);
    j->u->layers.fill(lines * j->pitch, -FLT_MAX, band);
    for (int end = min_int(y + lines, c->h); y < end; ++y, band += j->pitch) {
        if (y < 0) continue;
        const float *row = channel + (size_t)y * (size_t)c->w;
        j->u->layers.max_rows(to - from, row, row, band + from);
    }
}

/* x[i] becomes the maximum of x[i], x[i + apart] ... x[i + (size - 1) * apart], for each i that has
   all of these among the n floats. The other floats become anything, up to
   the end of the last vector. */
static void max_along(const gemm_ukernel *u, int size, int apart, int n, float *x)
{
    for (int done = 1, more; done < size; done += more) { /* x[i] is the maximum of `done` */
        more = min_int(done, size - done);
        const int vectors = ceil_div(n - more * apart, u->vl);
        u->layers.max_rows(vectors * u->vl, x, x + more * apart, x);
    }
}

/* Keeps the columns at which a window begins: rows of out_w floats without a gap. */
static void keep_columns(const layer_job *j, int lines, float *band)
{
    const layer_call *c = j->c;
    const float *from = band;
    for (; lines > 0; --lines, from += j->pitch, band += c->out_w) {
        if (c->stride == 2) {
            j->u->reorder.take_even(from, c->out_w, band);
        } else {
            for (int x = 0; x < c->out_w; ++x) band[x] = from[x * c->stride];
        }
    }
}

static void max_band(const layer_job *j, int unit, float *band)
{
    const layer_call *c = j->c;
    const int channel = unit / j->bands, first = unit % j->bands * j->rows;
    const int rows = min_int(j->rows, c->out_h - first), lines = (rows - 1) * c->stride + c->size;
    fill_band(j, channel_at(c, channel), first * c->stride - c->pad / 2, lines, band);
    max_along(j->u, c->size, 1, lines * j->pitch, band);
    if (c->stride > 1) keep_columns(j, lines, band);
    const int pitch = c->stride > 1 ? c->out_w : j->pitch;
    max_along(j->u, c->size, pitch, lines * pitch, band);
    const size_t row = (size_t)channel * (size_t)c->out_h + (size_t)first;
    float *out = c->output + row * (size_t)c->out_w;
    for (int y = 0; y < rows; ++y, out += c->out_w, band += c->stride * pitch)
        memcpy(out, band, (size_t)c->out_w * sizeof *out);
}

/* ---- by channels and rows ---- */

static void mean_of_channel(const layer_job *j, int unit, float *scratch)
{
    (void)scratch;
    const int area = j->c->h * j->c->w;
    j->c->output[unit] = j->u->layers.sum(area, channel_at(j->c, unit)) / (float)area;
}

static void upsample_row(const layer_job *j, int unit, float *scratch)
{
    (void)scratch;
    const layer_call *c = j->c;
    const size_t width = (size_t)c->out_w;
    float *out = c->output + (size_t)unit * (size_t)c->stride * width;
    j->u->layers.repeat(c->w, c->input[0].data + (size_t)unit * (size_t)c->w, c->alpha, c->stride,
                        out);
    for (int i = 1; i < c->stride; ++i) memcpy(out + (size_t)i * width, out, width * sizeof *out);
}

static void yolo_channel(const layer_job *j, int unit, float *scratch)
{
    (void)scratch;
    const layer_call *c = j->c;
    const int area = c->h * c->w, entry = unit % c->c % (c->c / c->anchors);
    const float *x = channel_at(c, unit);
    float *y = c->output + (size_t)unit * (size_t)area;
    if (entry == 2 || entry == 3) {
        memcpy(y, x, (size_t)area * sizeof *y);
    } else {
        j->u->layers.activate(CONV_LOGISTIC, area, x, y);
    }
}

/* ---- by blocks of the output ---- */

typedef struct range {
    size_t from, to;
} range;

static range block_at(const layer_call *c, int unit)
{
    const size_t all = (size_t)c->batch * output_size(c), from = (size_t)unit * BLOCK;
    return (range){from, from + BLOCK < all ? from + BLOCK : all};
}

/* A block may hold the end of one input and the beginning of the next. */
static void route_block(const layer_job *j, int unit, float *scratch)
{
    (void)scratch;
    const layer_call *c = j->c;
    const size_t size = output_size(c);
    range left = block_at(c, unit);
    while (left.from < left.to) {
        const size_t image = left.from / size;
        size_t at = left.from % size;
        const layer_input *in = c->input;
        for (; at >= (size_t)in->size; ++in) at -= (size_t)in->size;
        size_t n = (size_t)in->size - at;
        if (n > left.to - left.from) n = left.to - left.from;
        memcpy(c->output + left.from, in->data + image * (size_t)in->size + at, n * sizeof(float));
        left.from += n;
    }
}

static void shortcut_block(const layer_job *j, int unit, float *scratch)
{
    (void)scratch;
    const layer_call *c = j->c;
    const range r = block_at(c, unit);
    const int n = (int)(r.to - r.from);
    float *y = c->output + r.from;
    j->u->layers.add_scaled(n, c->alpha, c->input[0].data + r.from, c->beta,
                            c->input[1].data + r.from, gemm_slope(c->activation), y);
    if (gemm_activation_is_behind(c->activation)) j->u->layers.activate(c->activation, n, y, y);
}

void packed_add_shortcut(const gemm_ukernel *u, const layer_call *s, size_t at, int rows, int cols,
                         size_t ld)
{
    const float slope = gemm_slope(s->activation);
    for (int i = 0; i < rows; ++i, at += ld) {
        float *const y = s->output + at;
        u->layers.add_scaled(cols, s->alpha, y, s->beta, s->input[1].data + at, slope, y);
    }
}

/* y = f(x). With -0 added every x keeps its bits. */
static void activate(const gemm_ukernel *u, size_t n, const float *x, float slope, float *y)
{
    enum { ZEROES = 512 };
    static const float zeroes[ZEROES];
    for (size_t i = 0; i < n; i += ZEROES) {
        const int part = n - i < ZEROES ? (int)(n - i) : ZEROES;
        u->layers.add_scaled(part, 1, x + i, -0.0f, zeroes, slope, y + i);
    }
}

/* A row of the output: every `sample`-th of its floats gets every `stride`-th of b, of n in all. */
static void add_row(const layer_job *j, const float *a, const float *b, int n, int sample,
                    int stride, float *scratch, float *out)
{
    const layer_call *c = j->c;
    const float slope = gemm_slope(c->activation);
    if (sample > 1) {
        memcpy(out, a, (size_t)c->out_w * sizeof *out);
        for (int i = 0; i < n; ++i) {
            const float p = c->alpha * a[i * sample], q = c->beta * b[i * stride];
            out[i * sample] = p + q;
        }
        activate(j->u, (size_t)c->out_w, out, slope, out);
        return;
    }
    for (int i = 0; i < n; i += BLOCK) {
        const int part = min_int(BLOCK, n - i);
        const float *z = b + (size_t)i * stride;
        for (int x = 0; x < part && stride > 2; ++x) scratch[x] = z[x * stride];
        if (stride == 2) j->u->reorder.take_even(z, part, scratch);
        j->u->layers.add_scaled(part, c->alpha, a + i, c->beta, stride > 1 ? scratch : z, slope,
                                out + i);
    }
    activate(j->u, (size_t)(c->out_w - n), a + n, slope, out + n);
}

/* Inputs of different sizes: a unit is a channel of the output. */
static void shortcut_channel(const layer_job *j, int unit, float *scratch)
{
    const layer_call *c = j->c;
    const int image = unit / c->out_c, k = unit % c->out_c;
    const int sample = max_int(c->out_w / c->w, 1), stride = max_int(c->w / c->out_w, 1);
    const size_t width = (size_t)c->out_w, size = (size_t)c->out_h * width;
    const float *a = c->input[0].data + (size_t)unit * size;
    float *out = c->output + (size_t)unit * size;
    const float *b = c->input[1].data;
    const int rows = k < c->c ? min_int(c->out_h, c->h * sample) : 0;
    for (int y = 0; y < rows; ++y) {
        const size_t row = ((size_t)image * (size_t)c->c + (size_t)k) * (size_t)c->h;
        const int n = y % sample ? 0 : min_int(c->w, c->out_w);
        add_row(j, a + y * width, b + (row + (size_t)(y / sample * stride)) * (size_t)c->w, n,
                sample, stride, scratch, out + y * width);
    }
    const size_t done = rows * width;
    activate(j->u, size - done, a + done, gemm_slope(c->activation), out + done);
    if (gemm_activation_is_behind(c->activation))
        j->u->layers.activate(c->activation, (int)size, out, out);
}

/* ---- the row of the table ---- */

static bool cut(layer_job *j, run_unit *run, int units, const char *why)
{
    j->run = run;
    j->units = units;
    j->why = why;
    return true;
}

/* Sets `run`, `units` and `why`. Returns false for what is left to Darknet's own code. */
static bool choose_units(layer_job *j)
{
    const layer_call *c = j->c;
    const int channels = c->batch * c->c;
    const int blocks = (int)(((size_t)c->batch * output_size(c) + BLOCK - 1) / BLOCK);
    switch (c->kind) {
    case LAYER_MAXPOOL:
        if (has_pairs(c)) return cut(j, max_row, channels * c->out_h, "by rows: 2x2/2");
        return plan_bands(j) && cut(j, max_band, channels * j->bands, "by bands: not 2x2/2");
    case LAYER_AVGPOOL: return cut(j, mean_of_channel, channels, "by channels");
    case LAYER_UPSAMPLE: return cut(j, upsample_row, channels * c->h, "by rows");
    case LAYER_ROUTE: return cut(j, route_block, blocks, "by blocks");
    case LAYER_SHORTCUT:
        if (gemm_shortcut_is_equal(c)) return cut(j, shortcut_block, blocks, "by blocks: one size");
        return gemm_shortcut_has_one_stride(c) &&
               cut(j, shortcut_channel, c->batch * c->out_c, "by channels: two sizes");
    case LAYER_YOLO: return cut(j, yolo_channel, channels, "by channels");
    }
    return false;
}

/* The floats read and written. An activation behind the kernel, and a step of a maximum in scratch,
   count as more. */
static double work_of(const layer_call *c)
{
    const double in = (double)c->batch * c->c * c->h * c->w;
    const double out = (double)c->batch * output_size(c);
    if (c->kind == LAYER_MAXPOOL && !has_pairs(c)) {
        int steps = 1;
        for (int n = 1; n < c->size; n *= 2) ++steps;
        return 2 * steps * in + out;
    }
    const bool powers =
        c->kind == LAYER_YOLO ||
        (c->kind == LAYER_SHORTCUT && gemm_activation_is_behind(c->activation));
    return in + (powers ? 4 : 1) * out;
}

static void run_units(void *arg, int chunk, void *scratch)
{
    const layer_job *j = arg;
    const int end = min_int(j->units, (chunk + 1) * j->step);
    for (int unit = chunk * j->step; unit < end; ++unit) j->run(j, unit, scratch);
}

/* More chunks than threads, because a thread may be late. A chunk smaller than CHUNK takes less
   time than to wake a worker for it. */
gemm_status gemm_packed_layer(const layer_call *c, const gemm_context *context, const void *params)
{
    enum { CHUNK = 16 * 1024, CHUNKS_OF_A_THREAD = 4 };
    (void)params;
    layer_job j = {.c = c, .u = context->isa};
    if (!choose_units(&j)) return GEMM_DECLINED;
    const double worthwhile = work_of(c) / CHUNK, most = CHUNKS_OF_A_THREAD * context->threads;
    const int chunks = worthwhile < 2 ? 1 : (int)(worthwhile < most ? worthwhile : most);
    j.step = ceil_div(j.units, chunks);
    const int taken = ceil_div(j.units, j.step);
    if (context->timed)
        snprintf(context->note->weighed, sizeof context->note->weighed, "%s; %s", j.why,
                 taken > 1 ? "for all threads" : "too small for two threads");
    return gemm_parallel(context->threads, taken, run_units, &j) ? GEMM_DECLINED : GEMM_DONE;
}
