/* SPDX-License-Identifier: MIT */
/*
 * A convolution in blocks of channels: a tap of it is a distance in memory, so no column of B is
 * copied. The image is rounded to blocks of 32 channels (or 16, where there are no more), channels
 * last:
 *
 *     block 0    | zeroes                                        |      a pixel is 16 pairs, a line
 *                | row 0: pixel 0, 1, ... w-1 | zeroes           |
 *                | row 1: ...                 | zeroes           |
 *     block 1    | ...
 *
 * The zeroes behind a row are also those before the next one. With stride 1, places are the rows of
 * a product and go on across the ends of rows. The sums under the zeroes are left out. Two vectors
 * of filters are a strip, whose weights stay in L2 while the places pass.
 *
 * A chunk is a band of rows of the output, by some strips. Where it has all strips, it rounds its
 * part of the image itself, to its scratch. Else the threads round the image before.
 */
#include "packed/half/blocks.h"

#include "packed/gemm/memory.h"
#include "packed/gemm/plan.h"
#include "util/caches.h"
#include "util/ints.h"
#include "util/threads.h"
#include "util/workspace.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 1024, MOST_SIZE = 11, FILL_ROWS = 4 };

typedef struct blocks {
    const conv_call *c;
    const gemm_pairs *p;
    const gemm_pair *weights;
    gemm_pair *shared;       /* one image, or NULL: a chunk has its own */
    int image;               /* number of that */
    int pairs, count;        /* of a pixel in a block; and blocks */
    int pitch;               /* pixels from row to row */
    int wide;                /* sums from row to row */
    size_t plane;            /* pairs from block to block */
    int rows, bands;         /* of the output */
    int once;                /* so many rows at once */
    int strips, each, parts; /* of filters; in a chunk */
    int *at;                 /* of a step, see gemm_blocks */
} blocks;

/* ---- sizes ---- */

static int strip_width(const blocks *b)
{
    return 2 * b->p->base->vl;
}

/* Rows of the image under so many of the output. */
static int rows_under(const conv_call *c, int rows)
{
    return (rows - 1) * c->stride + c->size;
}

static size_t plane_of(const blocks *b, int rows)
{
    const size_t pixels = (size_t)b->c->pad + (size_t)rows_under(b->c, rows) * (size_t)b->pitch;
    return pixels * (size_t)b->pairs;
}

/* With what is read behind the last place. */
static size_t image_floats(const blocks *b, int rows)
{
    return (size_t)b->count * plane_of(b, rows) +
           (size_t)((GEMM_BLOCKS_MORE + b->c->size) * b->c->stride * b->pairs);
}

static size_t sums_floats(const blocks *b)
{
    return (size_t)(b->once * b->wide + GEMM_BLOCKS_MORE) * (size_t)strip_width(b);
}

static int steps_of(const blocks *b)
{
    return b->count * b->c->size * b->c->size;
}

/* Rows whose sums stay near. With stride 1 their places are one run. */
static int rows_at_once(const blocks *b)
{
    enum { PLACES = 448 };
    const int unit = b->c->pool ? 2 : 1;
    const int most = b->c->stride == 1 ? min_int(PLACES / b->pitch, b->c->out_h) : 1;
    return even_step(b->c->out_h, max_int(unit, most / unit * unit), unit);
}

static blocks sizes_of(const conv_call *c, const gemm_pairs *p)
{
    enum { FEW = 16 };
    blocks b = {.c = c, .p = p, .pairs = c->c > FEW ? 16 : 8};
    const int behind = (c->out_w - 1) * c->stride + c->size - c->pad - c->w;
    b.count = ceil_div(c->c, 2 * b.pairs);
    b.pitch = c->w + max_int(c->pad, behind);
    b.wide = c->stride == 1 ? b.pitch : (int)round_up((size_t)c->out_w, GEMM_BLOCKS_MORE);
    b.strips = ceil_div(c->n, strip_width(&b));
    b.once = b.rows = rows_at_once(&b);
    return b;
}

/* ---- filters ---- */

static size_t weights_bytes(const blocks *b)
{
    const size_t filters = round_up((size_t)b->c->n, (size_t)b->p->base->vl);
    return filters * (size_t)(steps_of(b) * b->pairs) * sizeof(gemm_pair);
}

/* Vectors of filters in a strip. */
static int vectors_of(const blocks *b, int strip)
{
    const int left = b->c->n - strip * strip_width(b);
    return left > b->p->base->vl ? 2 : 1;
}

/* Pair i of the channels, of `filters` filters from `from` on: taps go to rows of `width`. */
static void make_pair(const blocks *b, int i, const float *from, int filters, int width,
                      gemm_pair *to)
{
    gemm_pair pairs[MOST_SIZE * MOST_SIZE];
    const conv_call *c = b->c;
    const int taps = c->size * c->size;
    for (int f = 0; f < filters; ++f) {
        const float *low = from + (size_t)(f * c->c + 2 * i) * (size_t)taps;
        b->p->rows(taps, low, 2 * i + 1 < c->c ? low + taps : NULL, pairs);
        for (int t = 0; t < taps; ++t) to[t * b->pairs * width + f] = pairs[t];
    }
}

static bool make_weights(void *weights, const void *job)
{
    const blocks *b = job;
    const conv_call *c = b->c;
    const int taps = c->size * c->size, steps = steps_of(b);
    gemm_pair *to = weights;
    memset(weights, 0, weights_bytes(b));
    for (int strip = 0; strip < b->strips; ++strip) {
        const int first = strip * strip_width(b), width = vectors_of(b, strip) * b->p->base->vl;
        const float *from = c->weights + (size_t)first * (size_t)(c->c * taps);
        for (int i = 0; i < ceil_div(c->c, 2); ++i) {
            const int row = i / b->pairs * taps * b->pairs + i % b->pairs;
            make_pair(b, i, from, min_int(width, c->n - first), width, to + (size_t)row * width);
        }
        to += (size_t)(steps * b->pairs) * width;
    }
    return true;
}

/* ---- how it is cut ---- */

/* Cycles of AMX, about: to round a pair; a step of 16 places by a vector of filters, and to end
   their sums; a line of weights from L3; and until all threads have the image. */
static double cycles_of(const blocks *b, int threads)
{
    static const double ROUND = .4, STEP = 20, END = 100, LINE = 2, WAIT = 6000;
    const conv_call *c = b->c;
    const int vl = b->p->base->vl;
    const double line = (double)steps_of(b) * b->pairs * b->each * 2 * vl / LINE_FLOATS;
    const double tiles = (double)b->rows * b->wide / GEMM_BLOCKS_MORE * b->each * 2;
    const double product = tiles * (steps_of(b) * STEP + END) + line * LINE;
    const int rows = b->parts == 1 ? b->rows : c->out_h;
    const double image = (double)plane_of(b, rows) * b->count * ROUND;
    if (b->parts == 1) return ceil_div(c->batch * b->bands, threads) * (product + image);
    return c->batch * (ceil_div(b->bands * b->parts, threads) * product + image / threads + WAIT);
}

/* Beside the image and the sums a thread has a row of outputs. */
static bool has_room(const blocks *b)
{
    const size_t row = (size_t)b->c->out_w * (size_t)b->p->base->vl;
    const size_t image = image_floats(b, b->rows), limit = gemm_find_caches()->l2 / 2;
    const bool near = image * sizeof(float) <= limit || b->rows == b->once;
    return near && (image + sums_floats(b) + row) * sizeof(float) <= GEMM_SCRATCH_BYTES &&
           image_floats(b, b->c->out_h) <= INT_MAX;
}

bool packed_half_has_blocks(const conv_call *c, const gemm_pairs *p)
{
    if (!p->blocks || c->groups > 1 || c->size == 1 || c->size > MOST_SIZE || c->pad >= c->size)
        return false;
    const blocks b = sizes_of(c, p);
    const bool wastes = 3 * b.count * b.pairs > 4 * ceil_div(c->c, 2);
    return !wastes && steps_of(&b) <= MOST_STEPS && has_room(&b);
}

/* At least so many bands, and as many as have room. */
static void cut_rows(blocks *b, int bands)
{
    const int most = b->c->out_h;
    do {
        b->rows = min_int(most, even_step(most, max_int(1, most / bands), b->once));
        b->bands = ceil_div(most, b->rows);
        bands *= 2;
    } while (b->rows > b->once && !has_room(b));
}

/* Each thread gets one chunk, or a few. More bands or parts than one are for more threads. */
static void cut(blocks *b, int threads)
{
    enum { TURNS = 4 };
    blocks best = *b;
    double least = 0;
    for (int each = b->strips; each; each = each > 1 && threads > 1 ? ceil_div(each, 2) : 0) {
        b->each = each;
        b->parts = ceil_div(b->strips, each);
        for (int turns = 1; turns <= TURNS; ++turns) {
            cut_rows(b, max_int(1, turns * threads / (b->parts * b->c->batch)));
            const double cycles = cycles_of(b, threads);
            if (least == 0 || cycles < least) best = *b, least = cycles;
        }
    }
    *b = best;
}

/* ---- one chunk ---- */

/* Rows of an image, counted from the padding on. */
static void fill_rows(const blocks *b, int image, int first, int rows, gemm_pair *to)
{
    const conv_call *c = b->c;
    const size_t area = (size_t)c->h * (size_t)c->w, pixel = (size_t)b->pairs * sizeof *to;
    const float *input = c->input + (size_t)image * (size_t)c->c * area;
    for (int i = 0; i < b->count; ++i, to += b->plane) {
        const int channel = 2 * i * b->pairs, channels = min_int(2 * b->pairs, c->c - channel);
        const float *const src = input + (size_t)channel * area;
        gemm_pair *row = to + c->pad * b->pairs;
        if (!b->shared || !first) memset(to, 0, (size_t)c->pad * pixel);
        for (int y = first - c->pad; y < first - c->pad + rows; ++y, row += b->pitch * b->pairs) {
            const int w = y >= 0 && y < c->h ? c->w : 0;
            if (w) b->p->blocks->fill(w, channels, b->pairs, src + (size_t)y * w, area, row);
            memset(row + w * b->pairs, 0, (size_t)(b->pitch - w) * pixel);
        }
    }
}

/* The outputs of rows y .. y+rows of a strip, by its sums. */
static void finish_rows(const blocks *b, int image, int y, int rows, int filter, const float *sums,
                        float *row)
{
    const conv_call *c = b->c;
    const int vl = b->p->base->vl, side = c->pool ? 2 : 1, width = c->out_w / side;
    for (int n = filter; n < min_int(c->n, filter + 2 * vl); n += vl, sums += vl) {
        gemm_blocks_row r = {.places = width,
                             .channels = min_int(vl, c->n - n),
                             .scale = c->scale ? c->scale + n : NULL,
                             .shift = c->shift + n,
                             .slope = gemm_slope(c->activation),
                             .y = row};
        float *to = c->output + ((size_t)image * c->n + n) * gemm_conv_outputs(c) +
                    (size_t)(y / side) * width;
        for (int i = 0; i < rows; i += side, to += width) {
            r.sums = sums + (size_t)i * b->wide * 2 * vl;
            r.below = c->pool ? r.sums + (size_t)b->wide * 2 * vl : NULL;
            b->p->blocks->finish(&r);
            b->p->base->reorder.from_nchwc(width, r.channels, row, 0, to,
                                           (size_t)gemm_conv_outputs(c));
        }
    }
}

/* Some rows by a strip. `image` begins with the first of the rows under them. */
static void multiply_rows(const blocks *b, const gemm_pair *image, int rows, gemm_blocks *g)
{
    const conv_call *c = b->c;
    const int runs = c->stride == 1 ? 1 : rows;
    float *const sums = g->sums;
    g->image = image;
    g->places = runs > 1 || c->stride > 1 ? c->out_w : (rows - 1) * b->pitch + c->out_w;
    for (int i = 0; i < runs; ++i) {
        b->p->blocks->sums(g);
        g->image += (size_t)c->stride * b->pitch * b->pairs;
        g->sums += (size_t)b->wide * strip_width(b);
        g->far = false;
    }
    g->sums = sums;
}

/* A band by some strips. */
static void run_chunk(void *job, int chunk, void *scratch)
{
    const blocks *b = job;
    const conv_call *c = b->c;
    const int part = chunk % b->parts, band = chunk / b->parts % b->bands;
    const int image = b->image + chunk / b->parts / b->bands, y = band * b->rows;
    const int rows = min_int(b->rows, c->out_h - y);
    const int last = min_int(b->strips, (part + 1) * b->each);
    float *const sums = scratch, *const row = sums + sums_floats(b);
    gemm_pair *own = (gemm_pair *)row + (size_t)c->out_w * b->p->base->vl;
    const size_t line = (size_t)(b->pitch * b->pairs);
    const size_t whole = (size_t)(steps_of(b) * b->pairs) * (size_t)strip_width(b);
    const gemm_pair *from = own;
    if (b->shared)
        from = b->shared + (size_t)y * c->stride * line;
    else
        fill_rows(b, image, y * c->stride, rows_under(c, rows), own);
    gemm_blocks g = {.pairs = b->pairs,
                     .steps = steps_of(b),
                     .at = b->at,
                     .sums = sums,
                     .apart = (size_t)c->stride * b->pairs,
                     .far = true};
    for (int strip = part * b->each; strip < last; ++strip, g.far = false) {
        g.vectors = vectors_of(b, strip);
        g.weights = b->weights + strip * whole;
        for (int i = 0, n; i < rows; i += n) {
            n = min_int(b->once, rows - i);
            g.next = i + n == rows && strip + 1 < last ? g.weights + whole : NULL;
            multiply_rows(b, from + (size_t)i * c->stride * line, n, &g);
            finish_rows(b, image, y + i, n, strip * strip_width(b), sums, row);
        }
    }
}

/* ---- the way ---- */

/* A chunk has some rows of an image. */
static void fill_chunk(void *job, int chunk, void *scratch)
{
    (void)scratch;
    const blocks *b = job;
    const int rows = rows_under(b->c, b->c->out_h), first = chunk * FILL_ROWS;
    fill_rows(b, b->image, first, min_int(FILL_ROWS, rows - first),
              b->shared + (size_t)(first * b->pitch * b->pairs));
}

static void set_steps(blocks *b)
{
    const int size = b->c->size;
    b->plane = plane_of(b, b->parts > 1 ? b->c->out_h : b->rows);
    for (int i = 0, s = 0; i < b->count; ++i) {
        for (int t = 0; t < size * size; ++t)
            b->at[s++] = i * (int)b->plane + (t / size * b->pitch + t % size) * b->pairs;
    }
}

/* -1: no memory. */
static int run_images(blocks *b, int threads)
{
    const conv_call *c = b->c;
    if (b->parts == 1) return gemm_parallel(threads, c->batch * b->bands, run_chunk, b);
    gemm_workspace *w = gemm_take_workspace(image_floats(b, c->out_h));
    if (!w) return -1;
    b->shared = (gemm_pair *)w->data;
    int failed = 0;
    const int fills = ceil_div(rows_under(c, c->out_h), FILL_ROWS);
    for (b->image = 0; b->image < c->batch && !failed; ++b->image) {
        failed = gemm_parallel(threads, fills, fill_chunk, b);
        if (!failed) failed = gemm_parallel(threads, b->bands * b->parts, run_chunk, b);
    }
    gemm_give_workspace(w);
    return failed;
}

bool packed_half_blocks(const conv_call *c, const gemm_context *context, const gemm_pairs *p)
{
    enum { FORM = 1 };
    int at[MOST_STEPS];
    void *own;
    blocks b = sizes_of(c, p);
    const int places = gemm_conv_places(c), taps = gemm_conv_taps(c);
    const int threads = packed_threads(c->n, places, taps, context->threads);
    cut(&b, threads);
    const packed_form form = {p, FORM, weights_bytes(&b), make_weights};
    b.weights = packed_keep(context->kept, &form, &b, &own);
    if (!b.weights) return false;
    b.at = at;
    set_steps(&b);
    const bool done = !run_images(&b, threads);
    free(own);
    return done;
}
