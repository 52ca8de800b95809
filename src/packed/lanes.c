/*
 * Layers in lanes: see lanes.h.
 *
 * A layer alone is a product of places and channels. Its result is moved from lanes to rows. It has
 * no tail columns, because places are the rows of the tiles, which need not fill a vector.
 *
 * With stride 2 a tap is a constant distance in memory, and neighbouring places are two floats
 * apart. Scalars of the image are read where they lie, so nothing is packed but rows with zeroes
 * around them.
 */
#include "packed/lanes.h"

#include "packed/job.h"
#include "packed/packed.h"
#include "packed/plan.h"
#include "util/ints.h"
#include "util/threads.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

struct packed_lanes {
    const gemm_ukernel *u;      /* whose vectors and strips these are */
    float *weights;
};

void packed_free_lanes(packed_lanes *l)
{
    if (l) free(l->weights);
    free(l);
}

static void free_kept(void *data)
{
    packed_free_lanes(data);
}

static int taps_of(const conv_call *c)
{
    return c->c / c->groups * c->size * c->size;
}

/* Channels in a strip. */
static int width_of(const conv_call *c, const gemm_ukernel *u)
{
    return c->groups > 1 ? u->vl : u->nr;
}

static size_t bytes_of(const conv_call *c, const gemm_ukernel *u)
{
    const size_t channels = (size_t)ceil_div(c->n, u->vl) * (size_t)u->vl;
    const size_t bytes = (size_t)taps_of(c) * channels * sizeof(float);
    return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* To strips of `width` channels. */
static void arrange(const conv_call *c, const gemm_ukernel *u, float *to)
{
    const int taps = taps_of(c), width = width_of(c, u);
    for (int n = 0; n < c->n; n += width) {
        const int left = c->n - n, columns = min_int(width, ceil_div(left, u->vl) * u->vl);
        const float *from = c->weights + (size_t)n * taps;
        for (int k = 0; k < taps; ++k, to += columns) {
            for (int j = 0; j < columns; ++j) to[j] = j < left ? from[(size_t)j * taps + k] : 0;
        }
    }
}

static packed_lanes *make(const conv_call *c, const gemm_ukernel *u)
{
    packed_lanes *l = malloc(sizeof *l);
    if (!l) return NULL;
    *l = (packed_lanes){u, aligned_alloc(CACHE_LINE, bytes_of(c, u))};
    if (l->weights) {
        arrange(c, u, l->weights);
        return l;
    }
    packed_free_lanes(l);
    return NULL;
}

const float *packed_arrange(const conv_call *c, const gemm_ukernel *u, gemm_kept *kept,
                            packed_lanes **own)
{
    packed_lanes *l = kept ? kept->data : NULL;
    if (l && l->u == u) return l->weights;
    if (kept) gemm_drop_kept(kept);
    l = make(c, u);
    if (!l) return NULL;
    if (kept && bytes_of(c, u) <= kept->room) {
        kept->data = l, kept->bytes = bytes_of(c, u), kept->free = free_kept;
    } else {
        *own = l;
    }
    return l->weights;
}

/* ---- a layer alone ---- */

/* The plan that the layer has as one product of matrices. */
static packed_plan plan_alone(const conv_call *c, const gemm_ukernel *u)
{
    const packed_job job = {
        .M = c->n, .N = c->h * c->w, .K = c->c,
        .A = c->weights, .a_row = c->c, .a_step = 1,
        .B = {.rows = c->weights, .ld = c->h * c->w},
        .epilogue = {.alpha = 1, .overwrite = true, .shift = c->shift},
    };
    return packed_make_plan(&job, u, 1);
}

bool packed_adds_in_order(const conv_call *c, const gemm_ukernel *u)
{
    const packed_plan plan = plan_alone(c, u);
    return plan.kc >= c->c && plan.rest == 0;
}

/* What the threads share. A chunk is some rows of an image's output, for some strips of nr
   channels. */
typedef struct layer {
    const conv_call *c;
    const gemm_ukernel *u;
    const float *weights;
    int rows, bands;            /* in a band; in an image */
    int strips, parts;          /* in a part; in an image */
    int pitch;                  /* stride 2: floats in a row of pixels */
    size_t apart;               /* stride 2: floats of a channel */
} layer;

static bool is_pointwise(const conv_call *c)
{
    return c->size == 1 && c->stride == 1 && c->pad == 0;
}

/* Larger maps have few tail columns for their size. */
static bool prefers_product(const conv_call *c, const gemm_ukernel *u)
{
    enum { MOST_PLACES = 256 };
    if (c->h * c->w > MOST_PLACES || c->c > 2 * u->kc) return false;
    return !packed_adds_in_order(c, u);
}

static bool has_few_channels(const conv_call *c)
{
    enum { FEW = 4 };
    return c->stride == 2 && c->size > 1 && c->c <= FEW;
}

static void set_rows(layer *l, int rows)
{
    const conv_call *c = l->c;
    l->rows = rows;
    l->bands = ceil_div(c->out_h, rows);
    l->pitch = max_int(c->pad + c->w, (c->out_w - 1) * c->stride + c->size);
    l->apart = (size_t)((rows - 1) * c->stride + c->size) * l->pitch;
}

static size_t result_floats(const layer *l)
{
    return (size_t)l->rows * l->c->out_w * ceil_div(l->c->n, l->u->vl) * l->u->vl;
}

static size_t scratch_bytes(const layer *l)
{
    const size_t pixels = is_pointwise(l->c) ? 0 : l->apart * l->c->c;
    return (result_floats(l) + pixels) * sizeof(float) +
           ((size_t)l->rows * l->c->out_w + (size_t)taps_of(l->c)) * sizeof(int);
}

/* Rows of the output in a band: all, or with stride 2 as many as make a result of 64 KB. */
static layer make_layer(const conv_call *c, const gemm_ukernel *u)
{
    enum { NEAR = 64 * 1024 / sizeof(float) };
    layer l = {.c = c, .u = u};
    set_rows(&l, 1);
    const int rows = max_int(1, min_int(c->out_h, (int)(NEAR / result_floats(&l))));
    set_rows(&l, is_pointwise(c) ? c->out_h : rows);
    return l;
}

bool packed_prefers_lanes(const conv_call *c, const gemm_ukernel *u)
{
    if (c->groups > 1 || c->pool || c->activation == CONV_LOGISTIC) return false;
    if (is_pointwise(c) ? !prefers_product(c, u) : !has_few_channels(c)) return false;
    const layer l = make_layer(c, u);
    return scratch_bytes(&l) <= GEMM_SCRATCH_BYTES;
}

/* Copies the pixels under `rows` rows of the output, from row y on, with zeroes around them. */
static void copy_pixels(const layer *l, int image, int y, int rows, float *to)
{
    const conv_call *c = l->c;
    const int first = y * c->stride - c->pad, lines = (rows - 1) * c->stride + c->size;
    for (int i = 0; i < c->c; ++i) {
        const float *channel = c->input + ((size_t)image * c->c + i) * c->h * c->w;
        float *row = to + i * l->apart;
        for (int line = first; line < first + lines; ++line, row += l->pitch) {
            memset(row, 0, l->pitch * sizeof *row);
            if (line >= 0 && line < c->h)
                memcpy(row + c->pad, channel + (size_t)line * c->w, c->w * sizeof *row);
        }
    }
}

/* One row of the output after the other, because the pixels of two rows have no constant distance.
   `taps` is room for the offsets of the filter's taps. */
static void multiply_pixels(const layer *l, int rows, const float *pixels, int *taps,
                            gemm_lanes *product)
{
    const conv_call *c = l->c;
    const int square = c->size * c->size;
    float *const result = product->c;
    for (int k = 0; k < taps_of(c); ++k) {
        const int ky = k % square / c->size, kx = k % c->size;
        taps[k] = (int)(k / square * l->apart) + ky * l->pitch + kx;
    }
    product->source = GEMM_TAPS;
    product->taps = taps;
    product->places = c->out_w;
    for (int i = 0; i < rows; ++i) {
        product->a = pixels + (size_t)i * c->stride * l->pitch;
        product->c = result + (size_t)i * c->out_w * l->u->vl;
        l->u->lanes(product);
    }
}

static void run_chunk(void *arg, int chunk, void *scratch)
{
    const layer *l = arg;
    const conv_call *c = l->c;
    const int vl = l->u->vl, part = chunk % l->parts, band = chunk / l->parts % l->bands;
    const int image = chunk / l->parts / l->bands, first = part * l->strips * l->u->nr;
    const int y = band * l->rows, rows = min_int(l->rows, c->out_h - y), places = rows * c->out_w;
    const size_t area = (size_t)c->out_h * c->out_w;
    float *const result = scratch, *const pixels = result + result_floats(l);
    int *const at = (int *)(pixels + (is_pointwise(c) ? 0 : l->apart * c->c));
    for (int i = 0; i < places; ++i) at[i] = i * vl;
    gemm_lanes product = {
        .places = places, .channels = min_int(l->strips * l->u->nr, c->n - first),
        .K = taps_of(c),
        .a = c->input + (size_t)image * c->c * area, .a_ld = area,
        .b = l->weights + (size_t)first * taps_of(c),
        .scale = c->scale ? c->scale + first : NULL, .shift = c->shift + first,
        .slope = packed_slope(c->activation),
        .c = result, .c_ld = (size_t)l->rows * c->out_w * vl, .at = at,
    };
    if (is_pointwise(c)) {
        l->u->lanes(&product);
    } else {
        copy_pixels(l, image, y, rows, pixels);
        multiply_pixels(l, rows, pixels, at + l->rows * c->out_w, &product);
    }
    l->u->from_lanes(places, product.channels, result, product.c_ld,
                     c->output + ((size_t)image * c->n + first) * area + (size_t)y * c->out_w,
                     area);
}

int packed_lanes_conv(const conv_call *c, const gemm_context *context)
{
    enum { CHUNKS_OF_A_THREAD = 4 };
    packed_lanes *own = NULL;
    layer l = make_layer(c, context->isa);
    l.weights = packed_arrange(c, l.u, context->kept, &own);
    if (!l.weights) return -1;
    const int threads = packed_threads(c->n, c->out_h * c->out_w, taps_of(c), context->threads);
    const int strips = ceil_div(c->n, l.u->nr);
    const bool cuts_channels = threads > 1 && l.bands == 1;
    l.strips = cuts_channels ? ceil_div(strips, CHUNKS_OF_A_THREAD * threads) : strips;
    l.parts = ceil_div(strips, l.strips);
    const int no_memory = gemm_parallel(threads, c->batch * l.bands * l.parts, run_chunk, &l);
    packed_free_lanes(own);
    return no_memory;
}
