/* SPDX-License-Identifier: MIT */
/*
 * Layers with few channels.
 *
 * Rows of the image are copied to a band, as in ukernel_conv.h, some rows at a time. The pixels
 * under a tap are neighbours there. For that, a stride of S splits each row into S parts.
 *
 *     stride 1   channel 0:  | 0 | pixels of a row   | 0 |                the rows that the taps of
 *                            | 0 | pixels of a row   | 0 |                some rows of the output
 *                channel 1:  ...                                          need
 *
 *     stride 2   channel 0:  | 0 | even columns | 0 | odd columns | 0 |
 *                            ...
 *
 * The micro-kernel reads vectors of the band and scalars of the weights, and writes whole rows of
 * the output. Strips of B, as in product.c, would be read by few filters only.
 *
 * With a maxpool of 2x2 behind it, stride 1 splits the columns too. Even and odd places are then
 * vectors of their own, and each maximum is that of four accumulators. With other strides they
 * would need another split. So two rows of the output of all filters go to scratch, stay in L2, and
 * are pooled there.
 *
 * Each element is one sum over its taps, from the first to the last. So the bits do not depend on
 * the threads.
 */
#include "packed/conv/way.h"
#include "packed/gemm/plan.h"
#include "packed/packed.h"
#include "util/ints.h"
#include "util/threads.h"

#include <string.h>

/* What the threads share. A chunk is some bands of an image. */
typedef struct band_job {
    const conv_call *c;
    const gemm_ukernel *u;
    gemm_depthwise d;           /* the geometry of a channel's band */
    int rows;                   /* of the output in a band */
    int chunk_rows;             /* of the output in a chunk */
    size_t apart;               /* floats from channel to channel */
    size_t filter;              /* pooled, not stride 1: floats from filter to filter of the two
                                   rows; else 0 */
    int threads;
} band_job;

/* A thread's scratch: the bands of all channels, then the two rows, then the taps. */
static size_t scratch_floats(const band_job *b)
{
    return b->c->c * b->apart + b->c->n * b->filter;
}

static size_t scratch_bytes(const band_job *b)
{
    return scratch_floats(b) * sizeof(float) + 2 * gemm_conv_taps(b->c) * sizeof(int);
}

/* A chunk has several bands, because it clears their memory once. A band is about as large as
   L1. Channels, and filters, are an odd number of cache lines apart, so that they do not share the
   sets of L1. */
static band_job make_job(const conv_call *c, const gemm_ukernel *u, int threads)
{
    enum { BAND = 48 * 1024 / sizeof(float), CHUNKS_OF_A_THREAD = 4 };
    band_job b = {.c = c, .u = u, .threads = threads,
                  .d = {.h = c->h, .w = c->w, .out_h = c->out_h, .out_w = c->out_w,
                        .size = c->size, .pad = c->pad, .stride = c->stride,
                        .pairs = c->pool && c->stride == 1}};
    b.d.pitch = gemm_depthwise_pitch(&b.d, u->vl);
    const int unit = c->pool ? 2 : 1, units = c->out_h / unit;
    const int fits = ((BAND / c->c / b.d.pitch - c->size) / c->stride + 1) / unit;
    const int chunk = threads > 1 ? ceil_div(units, CHUNKS_OF_A_THREAD * threads) : units;
    b.chunk_rows = unit * chunk;
    b.rows = unit * max_int(1, min_int(fits, chunk));
    b.apart = round_up_odd(gemm_depthwise_floats(&b.d, b.rows), LINE_FLOATS);
    if (c->pool && c->stride > 1) b.filter = round_up_odd(2 * c->out_w, LINE_FLOATS);
    return b;
}

/* NULL, or why the way cannot compute the convolution. */
static const char *cannot_band(const conv_call *c, const gemm_ukernel *u)
{
    if (c->size == 1) return "1x1";
    if (c->groups > 1) return "groups";
    const band_job b = make_job(c, u, 1);
    return scratch_bytes(&b) <= GEMM_SCRATCH_BYTES ? NULL : "no room in scratch";
}

/* Whether a row has a whole tile, and at least 3/4 of the places that its tiles compute. Strips of
   B go on across the ends of rows, so they suit narrow rows better. */
static bool fills_tiles(const conv_call *c, const gemm_ukernel *u)
{
    const int places = c->pool ? c->out_w / 2 : c->out_w, tile = c->pool ? u->vl : u->nr;
    return places >= tile && 4 * places >= 3 * ceil_div(places, tile) * tile;
}

/* With stride 1 strips need no split rows, so bands must fill their tiles. Else one whole vector is
   enough. A small map has no pooled strips, so it goes by bands. */
static bool fits_rows(const conv_call *c, const gemm_ukernel *u)
{
    if (c->stride == 1) return fills_tiles(c, u);
    return c->size >= c->stride && (c->pool || c->out_w >= u->vl);
}

/* So few that strips of B would take longer. */
static bool is_few(const conv_call *c)
{
    enum { FEW = 4, SOME = 32, SOME_FILTERS = 32 };
    return c->c <= FEW || (c->c <= SOME && c->n <= SOME_FILTERS);
}

/* The distance from a place to its pixel under each tap. In pairs: from two neighbouring places to
   the pixels of both. */
static void find_taps(const band_job *b, int *taps)
{
    const int size = b->c->size, square = size * size;
    for (int k = 0; k < gemm_conv_taps(b->c); ++k) {
        const int ky = k % square / size, kx = k % size;
        const int row = (int)(k / square * b->apart) + ky * b->d.pitch;
        *taps++ = row + gemm_depthwise_column(&b->d, kx);
        if (b->d.pairs) *taps++ = row + gemm_depthwise_column(&b->d, kx + 1);
    }
}

/* A row of maxima as band_pooled() gives it, from two rows that `sums` has room for. */
static void pool_rows(const band_job *b, const gemm_band_row *maxima, float *sums)
{
    const size_t width = b->c->out_w;
    gemm_band_row row = *maxima;
    row.places = b->c->out_w;
    row.y = sums;
    row.y_row = b->filter;
    b->u->conv.band_row(&row);
    row.pixels = row.below;
    row.y += width;
    b->u->conv.band_row(&row);
    for (int f = 0; f < row.filters; ++f, sums += b->filter)
        b->u->layers.max_pairs(maxima->places, sums, sums + width, maxima->y + f * maxima->y_row);
}

/* Rows y .. y + rows - 1 of an image's output. Pooled: both numbers are even, and each two rows
   become one. */
static void run_band(const band_job *b, int image, int y, int rows, float *band, const int *taps)
{
    const conv_call *c = b->c;
    const int unit = c->pool ? 2 : 1, places = c->out_w / unit;
    const size_t area = gemm_conv_outputs(c), step = (size_t)c->stride * b->d.pitch;
    gemm_depthwise d = b->d;
    for (int i = 0; i < c->c; ++i) {
        d.src = c->input + ((size_t)image * c->c + i) * c->h * c->w;
        b->u->conv.fill_band(&d, y, y + rows, band + i * b->apart);
    }
    gemm_band_row row = {
        .filters = c->n, .places = places, .K = gemm_conv_taps(c),
        .weights = c->weights, .pixels = band, .below = band + step, .taps = taps,
        .scale = c->scale, .shift = c->shift, .slope = gemm_slope(c->activation),
        .y = c->output + image * c->n * area + (size_t)(y / unit) * places, .y_row = area,
    };
    for (int i = 0; i < rows; i += unit, row.y += places) {
        if (b->filter) {
            pool_rows(b, &row, band + c->c * b->apart);
        } else if (c->pool) {
            b->u->conv.band_pooled(&row);
        } else {
            b->u->conv.band_row(&row);
        }
        row.pixels += unit * step;
        row.below += unit * step;
    }
}

static void run_chunk(void *arg, int chunk, void *scratch)
{
    const band_job *b = arg;
    const conv_call *c = b->c;
    const int chunks = ceil_div(c->out_h, b->chunk_rows), image = chunk / chunks;
    const int begin = chunk % chunks * b->chunk_rows;
    const int end = min_int(begin + b->chunk_rows, c->out_h);
    float *const band = memset(scratch, 0, c->c * b->apart * sizeof *band);
    int *const taps = (int *)(band + scratch_floats(b));
    find_taps(b, taps);
    for (int y = begin; y < end; y += b->rows)
        run_band(b, image, y, min_int(b->rows, end - y), band, taps);
}

static const char *plan_banded(const conv_call *c, const gemm_context *context,
                               packed_choice *choice)
{
    if (!choice->asked && !is_few(c)) return "many channels";
    if (!choice->asked && !fits_rows(c, context->isa)) return "narrow rows";
    const char *cannot = cannot_band(c, context->isa);
    if (cannot) return cannot;
    const int threads =
        packed_threads(c->n, gemm_conv_places(c), gemm_conv_taps(c), context->threads);
    const band_job b = make_job(c, context->isa, threads);
    packed_put(choice, &b, sizeof b);
    return NULL;
}

static int run_banded(const conv_call *c, const layer_call *shortcut,
                      const packed_choice *choice, const gemm_context *context)
{
    (void)shortcut, (void)context;
    band_job b;
    packed_get(choice, &b, sizeof b);
    b.c = c;
    return gemm_parallel(b.threads, c->batch * ceil_div(c->out_h, b.chunk_rows), run_chunk, &b);
}

const packed_way packed_way_banded = {"banded", true, false, plan_banded, run_banded};
