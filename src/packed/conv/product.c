/* SPDX-License-Identifier: MIT */
/*
 * A convolution as products of matrices: see product.h. A tap is one weight of a filter:
 * (channel, ky, kx). Row p of B, which im2col would write, holds the pixels under tap p. Strips of
 * B are packed straight from the image:
 *
 *                      places j0 .. j0+nc of the output, across the ends of its rows
 *     tap (c, 0, 0)  | . . . . . . . . . . |     . = image[c][y * stride + ky - pad]
 *     tap (c, 0, 1)  | . . . . . . . . . . |                [x * stride + kx - pad]
 *     ...                                            or 0 outside of the image
 *
 * The ways from an image to B, the fastest first:
 *
 *   1x1, stride 1     B is the image: read where it lies
 *   taps are shifts   each row of B is the channel at an offset, masked at the edges (product.h)
 *   stride S > 1      the rows of one channel under one strip, in S parts
 *   any other         row by row of the output
 *
 * The micro-kernel applies scale, shift and activation to the tile in registers. Threads share one
 * large product as in gemm, or take whole products where a layer has many groups or images.
 */
#include "packed/conv/product.h"

#include "packed/conv/way.h"
#include "packed/gemm/loops.h"
#include "packed/packed.h"
#include "util/ints.h"
#include "util/threads.h"

#include <string.h>

/* ---- packing from the image ---- */

static void pack_shifts(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                        float *strip)
{
    (void)nc;
    const packed_channels *s = b->source;
    gemm_taps taps = *packed_taps_of(s->shifts);
    const size_t area = (size_t)s->c->h * s->c->w;
    taps.valid += (size_t)(j0 / u->vl) * taps.count;
    u->conv.pack_taps(&taps, s->first + p0 / taps.count * area + j0, area, p0 % taps.count, kc,
                      strip);
}

/*
 * Packs n places of one tap, (y, x) and on, within one row of the output. Prefetches the pixels of
 * the next strip. A tap further right prefetches further right, so the taps of a row share the
 * lines.
 */
static void pack_stretch(const conv_call *c, const gemm_ukernel *u, const float *channel, int dy,
                         int dx, int y, int x, int n, float *dst)
{
    const int row = y * c->stride + dy;
    packed_range in = {n, n}; /* of dst: what lies inside of the image */
    if (row >= 0 && row < c->h) in = packed_inside(c->stride, x * c->stride + dx, c->w, n);
    memset(dst, 0, in.from * sizeof *dst);
    memset(dst + in.to, 0, (n - in.to) * sizeof *dst);
    const int pixels = in.to - in.from;
    if (pixels == 0) return;
    const float *src = channel + (size_t)row * c->w + ((x + in.from) * c->stride + dx);
    const float *ahead = src + n * c->stride + (dx + c->pad) * 32;
    __builtin_prefetch(ahead, 0, 3);
    __builtin_prefetch(ahead + 16, 0, 3);
    dst += in.from;
    if (c->stride == 1) {
        memcpy(dst, src, pixels * sizeof *dst);
    } else if (c->stride == 2) {
        u->reorder.take_even(src, pixels, dst);
    } else {
        for (int i = 0; i < pixels; ++i) dst[i] = src[(size_t)i * c->stride];
    }
}

static void pack_any(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                     float *strip)
{
    const packed_channels *s = b->source;
    const conv_call *c = s->c;
    const int taps = c->size * c->size;
    for (int p = p0; p < p0 + kc; ++p, strip += u->nr) {
        const float *channel = s->first + (size_t)(p / taps) * c->h * c->w;
        const int dy = p % taps / c->size - c->pad, dx = p % c->size - c->pad;
        int y = j0 / c->out_w, x = j0 % c->out_w;
        for (int at = 0; at < nc; x = 0, ++y) {
            const int n = min_int(c->out_w - x, nc - at);
            pack_stretch(c, u, channel, dy, dx, y, x, n, strip + at);
            at += n;
        }
        for (int j = nc; j < u->nr; ++j) strip[j] = 0;
    }
}

/* ---- stride S: the rows of one channel under a strip ---- */

gemm_depthwise packed_band_of(const conv_call *c, const gemm_ukernel *u)
{
    gemm_depthwise d = {.h = c->h, .w = c->w, .out_h = c->out_h, .out_w = c->out_w,
                        .size = c->size, .pad = c->pad, .stride = c->stride};
    d.pitch = gemm_depthwise_pitch(&d, u->vl);
    return d;
}

void packed_pack_places(const gemm_depthwise *d, const gemm_ukernel *u, const float *band,
                        size_t apart, int first, int kc, int j0, int nc, float *strip)
{
    int y = j0 / d->out_w, x = j0 % d->out_w;
    for (int at = 0, n; at < nc; at += n, x = 0, ++y) {
        n = min_int(d->out_w - x, nc - at);
        u->conv.pack_band(d, band + (size_t)y * d->stride * d->pitch, apart, first, kc, x, n,
                          strip + at);
    }
    if (nc == u->nr) return;
    for (int p = 0; p < kc; ++p) {
        memset(strip + p * u->nr + nc, 0, (size_t)(u->nr - nc) * sizeof *strip);
    }
}

/* The most floats of a band under one strip, of one channel. At most a quarter of its columns may
   be of parts that no tap reads. */
enum { STRIP_BAND = 8192 };

static bool fits_strip_band(const conv_call *c, const gemm_ukernel *u)
{
    if (c->stride == 1 || c->size < c->stride - c->stride / 4) return false;
    const gemm_depthwise d = packed_band_of(c, u);
    const int rows = min_int(c->out_h, 1 + ceil_div(u->nr - 1, c->out_w));
    return gemm_depthwise_floats(&d, rows) <= STRIP_BAND;
}

/* Channel by channel: fills a band with the rows under the strip, and packs the taps from it. */
static void pack_by_channels(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0,
                             int nc, float *strip)
{
    _Alignas(64) float band[STRIP_BAND];
    const packed_channels *s = b->source;
    const conv_call *c = s->c;
    const int taps = c->size * c->size, end = p0 + kc;
    const int y0 = j0 / c->out_w, y1 = (j0 + nc - 1) / c->out_w + 1;
    gemm_depthwise d = packed_band_of(c, u);
    memset(band, 0, gemm_depthwise_floats(&d, y1 - y0) * sizeof *band);
    for (int p = p0, count; p < end; p += count, strip += count * u->nr) {
        const int first = p % taps;
        count = min_int(taps - first, end - p);
        d.src = s->first + (size_t)(p / taps) * c->h * c->w;
        u->conv.fill_band(&d, y0, y1, band);
        packed_pack_places(&d, u, band, 0, first, count, j0 - y0 * c->out_w, nc, strip);
    }
}

/* ---- dense and grouped convolutions ---- */

/* Whether the epilogue of the job adds the shortcut. */
static bool adds_at_once(const packed_layer *l)
{
    const layer_call *s = l->shortcut;
    return s && s->alpha == 1 && s->beta == 1 && l->c->activation == CONV_LINEAR;
}

/* A shortcut that the tile function does not have. The tiles are still near. `data` is the
   packed_layer. */
static void finish(const packed_epilogue *e, int i0, int rows, int j0, int cols, float *c,
                   size_t ldc)
{
    (void)i0, (void)j0;
    const packed_layer *l = e->data;
    const layer_call *s = l->shortcut;
    packed_add_shortcut(l->u, s, (size_t)(c - s->output), rows, cols, ldc);
}

double packed_multiply_adds(const conv_call *c)
{
    return (double)c->batch * c->n * gemm_conv_places(c) * gemm_conv_taps(c);
}

/* The threads for a layer whose products are not shared but taken whole. A layer smaller than
   this is done before a worker could help. */
int packed_product_threads(const conv_call *c, int threads)
{
    return packed_multiply_adds(c) < 500e3 ? 1 : threads;
}

/* Product `index` of batch * groups. */
packed_job packed_product(const packed_layer *l, packed_channels *source, int index)
{
    const conv_call *c = l->c;
    const int group = index % c->groups, filters = c->n / c->groups, in = c->c / c->groups;
    const size_t area = (size_t)c->h * c->w, out_area = gemm_conv_places(c);
    *source = (packed_channels){c, l->shifts, c->input + (size_t)index * in * area};
    const bool at_once = adds_at_once(l);
    packed_job job = {
        .M = filters,
        .N = gemm_conv_places(c),
        .K = gemm_conv_taps(c),
        .C = c->output + (size_t)index * filters * out_area,
        .ldc = out_area,
        .B = {.source = source,
              .pack = l->shifts ? pack_shifts : l->by_channels ? pack_by_channels : pack_any},
        .epilogue =
            {
                .alpha = 1,
                .overwrite = true,
                .scale = c->scale ? c->scale + group * filters : NULL,
                .shift = c->shift + group * filters,
                .slope = gemm_slope(c->activation),
                .finish = l->shortcut && !at_once ? finish : NULL,
                .data = l,
            },
    };
    if (at_once) {
        job.epilogue.shortcut = l->shortcut->input[1].data + (job.C - c->output);
        job.epilogue.shortcut_slope = gemm_slope(l->shortcut->activation);
    }
    job.a_row = job.K;
    job.a_step = 1;
    job.A = c->weights + (size_t)group * filters * job.K;
    if (!l->u->gemm.sweep) {    /* a group's filters are whole panels of K steps */
        const int mr = l->u->mr;
        job.a_panel = (size_t)mr * job.K;
        job.a_row = 1;
        job.a_step = mr;
        job.A = c->weights + group * ceil_div(filters, mr) * job.a_panel;
    }
    if (gemm_conv_is_pointwise(c)) {
        job.B = (packed_b){.rows = source->first, .ld = area};
    }
    return job;
}

packed_layer packed_plan_layer(const conv_call *c, const gemm_ukernel *u)
{
    return (packed_layer){.c = c, .u = u, .by_channels = fits_strip_band(c, u)};
}

packed_chunked packed_cut_products(const packed_layer *l, int rows)
{
    const conv_call *c = l->c;
    packed_channels source;
    packed_job job = packed_product(l, &source, 0);
    packed_chunked p = {.l = *l, .rows = rows, .count = ceil_div(c->out_h, rows)};
    job.N = rows * c->out_w;
    p.whole = packed_make_plan(&job, l->u, 1);
    job.N = c->out_h % rows * c->out_w;
    p.last = job.N ? packed_make_plan(&job, l->u, 1) : p.whole;
    return p;
}

packed_chunk packed_get_chunk(const packed_chunked *p, int index)
{
    const int i = index % p->count, y = i * p->rows;
    return (packed_chunk){index / p->count, y, min_int(p->rows, p->l.c->out_h - y),
                          i + 1 < p->count ? &p->whole : &p->last};
}

static void multiply_product(void *arg, int index, void *scratch)
{
    const packed_chunked *p = arg;
    const packed_chunk chunk = packed_get_chunk(p, index);
    packed_channels source;
    const packed_job job = packed_product(&p->l, &source, chunk.product);
    packed_run_here(&job, chunk.plan, scratch);
}

/* What the way plans: how its products are cut, and for whom. */
typedef struct implicit {
    packed_chunked p;
    int threads;
    bool shifted;               /* taps are shifts, if there is memory for them */
    bool shared;                /* the threads share one product after the other, and p.whole is
                                   the plan of a product */
} implicit;

/* Many products: each thread takes whole ones. Few: the threads share one after the other. The
   result is the same, because a product does not depend on the number of its threads. */
static void plan_dense(implicit *way, const packed_layer *l, int threads)
{
    way->shared = l->c->batch * l->c->groups < 4 * threads;
    way->threads = way->shared ? threads : packed_product_threads(l->c, threads);
    if (way->shared) {
        packed_channels source;
        const packed_job job = packed_product(l, &source, 0);
        way->p.whole = packed_make_plan(&job, l->u, threads);
    } else {
        way->p = packed_cut_products(l, l->c->out_h);
    }
}

/* -1: no memory. */
static int run_dense(implicit *way)
{
    const packed_layer *l = &way->p.l;
    const int products = l->c->batch * l->c->groups;
    if (!way->shared) return gemm_parallel(way->threads, products, multiply_product, &way->p);
    for (int i = 0; i < products; ++i) {
        packed_channels source;
        const packed_job job = packed_product(l, &source, i);
        if (packed_run_as(&job, &way->p.whole, way->threads)) return -1;
    }
    return 0;
}

/* ---- the way ---- */

static const char *plan_implicit(const conv_call *c, const gemm_context *context,
                                 packed_choice *choice)
{
    if (c->pool) return "pool";
    const packed_layer l = packed_plan_layer(c, context->isa);
    implicit way = {.shifted = packed_has_shifts(c) && !gemm_conv_is_pointwise(c)};
    plan_dense(&way, &l, context->threads);
    way.p.l = l;
    packed_put(choice, &way, sizeof way);
    return NULL;
}

/* Without memory for shifts the layer runs as any other geometry does. */
static int run_implicit(const conv_call *c, const layer_call *shortcut,
                        const packed_choice *choice, const gemm_context *context)
{
    (void)context;
    implicit way;
    packed_get(choice, &way, sizeof way);
    packed_layer *const l = &way.p.l;
    packed_shifts *const shifts = way.shifted ? packed_take_shifts(c, l->u) : NULL;
    l->c = c;
    l->shifts = shifts;
    l->shortcut = shortcut;
    const int no_memory = run_dense(&way);
    packed_give_shifts(shifts);
    return no_memory;
}

const packed_way packed_way_implicit = {"implicit", false, true, plan_implicit, run_implicit};
