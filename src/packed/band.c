/*
 * Layers of stride 2 with few channels.
 *
 * Rows of the image are split into even and odd columns, some rows at a time: a band, as in
 * ukernel_conv.h. The pixels under a tap are then neighbours.
 *
 *     channel 0:  | 0 | even columns | 0 | odd columns | 0 |   the rows that the taps of some rows
 *                 | 0 | even columns | 0 | odd columns | 0 |   of the output need
 *     channel 1:  ...
 *
 * The micro-kernel reads vectors of the band and scalars of the weights, and writes whole rows of
 * the output. Strips of B, as in convolution.c, would be read by few filters only.
 *
 * Each element is one sum over its taps, from the first to the last. So the bits do not depend on
 * the threads.
 */
#include "packed/band.h"

#include "packed/packed.h"
#include "packed/plan.h"
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
} band_job;

static size_t scratch_bytes(const band_job *b)
{
    return b->c->c * b->apart * sizeof(float) + gemm_conv_taps(b->c) * sizeof(int);
}

/* A chunk has several bands, because it clears their memory once. A band is about as large as
   L1. */
static band_job make_job(const conv_call *c, const gemm_ukernel *u, int threads)
{
    enum { BAND = 48 * 1024 / sizeof(float), CHUNKS_OF_A_THREAD = 4 };
    band_job b = {.c = c, .u = u,
                  .d = {.h = c->h, .w = c->w, .out_h = c->out_h, .out_w = c->out_w,
                        .size = c->size, .pad = c->pad, .stride = c->stride}};
    b.d.pitch = gemm_depthwise_pitch(&b.d, u->vl);
    b.chunk_rows = threads > 1 ? ceil_div(c->out_h, CHUNKS_OF_A_THREAD * threads) : c->out_h;
    const int fits = (BAND / c->c / b.d.pitch - c->size) / c->stride + 1;
    b.rows = max_int(1, min_int(fits, b.chunk_rows));
    b.apart = gemm_depthwise_floats(&b.d, b.rows);
    return b;
}

bool packed_prefers_band(const conv_call *c, const gemm_ukernel *u)
{
    enum { FEW = 4 };
    if (c->stride != 2 || c->size == 1 || c->c > FEW || c->groups > 1) return false;
    if (c->pool || c->activation == CONV_LOGISTIC) return false;
    const band_job b = make_job(c, u, 1);
    return scratch_bytes(&b) <= GEMM_SCRATCH_BYTES;
}

/* The distance from a place to its pixel under each tap. */
static void find_taps(const band_job *b, int *taps)
{
    const int size = b->c->size, square = size * size, half = b->d.pitch / 2;
    for (int k = 0; k < gemm_conv_taps(b->c); ++k) {
        const int ky = k % square / size, kx = k % size;
        taps[k] = (int)(k / square * b->apart) + ky * b->d.pitch + kx % 2 * half + kx / 2;
    }
}

/* Rows y .. y + rows - 1 of an image's output. */
static void run_band(const band_job *b, int image, int y, int rows, float *band, const int *taps)
{
    const conv_call *c = b->c;
    const size_t area = gemm_conv_places(c);
    gemm_depthwise d = b->d;
    for (int i = 0; i < c->c; ++i) {
        d.src = c->input + ((size_t)image * c->c + i) * c->h * c->w;
        b->u->fill_band(&d, y, y + rows, band + i * b->apart);
    }
    gemm_band_row row = {
        .filters = c->n, .places = c->out_w, .K = gemm_conv_taps(c),
        .weights = c->weights, .pixels = band, .taps = taps,
        .scale = c->scale, .shift = c->shift, .slope = packed_slope(c->activation),
        .y = c->output + image * c->n * area + (size_t)y * c->out_w, .y_row = area,
    };
    for (int i = 0; i < rows; ++i, row.pixels += c->stride * d.pitch, row.y += c->out_w)
        b->u->band_row(&row);
}

static void run_chunk(void *arg, int chunk, void *scratch)
{
    const band_job *b = arg;
    const conv_call *c = b->c;
    const int chunks = ceil_div(c->out_h, b->chunk_rows), image = chunk / chunks;
    const int begin = chunk % chunks * b->chunk_rows;
    const int end = min_int(begin + b->chunk_rows, c->out_h);
    const size_t floats = c->c * b->apart;
    float *const band = memset(scratch, 0, floats * sizeof *band);
    int *const taps = (int *)(band + floats);
    find_taps(b, taps);
    for (int y = begin; y < end; y += b->rows)
        run_band(b, image, y, min_int(b->rows, end - y), band, taps);
}

int packed_band_conv(const conv_call *c, const gemm_context *context)
{
    const int threads =
        packed_threads(c->n, gemm_conv_places(c), gemm_conv_taps(c), context->threads);
    band_job b = make_job(c, context->isa, threads);
    return gemm_parallel(threads, c->batch * ceil_div(c->out_h, b.chunk_rows), run_chunk, &b);
}
