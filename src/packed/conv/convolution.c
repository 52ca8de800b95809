/*
 * The convolution of `packed`, without im2col.
 *
 * A dense convolution is the packed gemm with M filters, N places of the output and K taps. A tap
 * is one weight of a filter: (channel, ky, kx). Row p of B, which im2col would write, holds the
 * pixels under tap p. Strips of B are packed straight from the image:
 *
 *                      places j0 .. j0+nc of the output, across the ends of its rows
 *     tap (c, 0, 0)  | . . . . . . . . . . |     . = image[c][y * stride + ky - pad]
 *     tap (c, 0, 1)  | . . . . . . . . . . |                [x * stride + kx - pad]
 *     ...                                            or 0 outside of the image
 *
 * The ways from an image to B, the fastest first:
 *
 *   1x1, stride 1     B is the image: read where it lies
 *   taps are shifts   each row of B is the channel at an offset, masked at the edges (taps.h)
 *   stride S > 1      rows of the image are split into S parts. The pixels under a tap are then
 *                     neighbours. Large maps: some rows of all channels, for many strips. Else:
 *                     the rows of one channel under one strip
 *   any other         row by row of the output
 *
 * With few channels and filters nothing is packed: band.c.
 *
 * A depthwise convolution, where a filter sees one channel, is no product of matrices. Its rows are
 * copied with zeroes around them, some at a time, and the sums stay in registers.
 *
 * Other files have other ways: winograd.c for 3x3 filters, lanes.c for 1x1 filters over small maps,
 * dots.c for filters that are as large as the image.
 *
 * The micro-kernel applies scale, shift and activation to the tile in registers. Threads share one
 * large product as in gemm, or take whole products where a layer has many groups or images.
 */
#include "packed/packed.h"

#include "packed/conv/band.h"
#include "packed/conv/dots.h"
#include "packed/conv/lanes.h"
#include "packed/conv/taps.h"
#include "packed/conv/winograd.h"
#include "packed/gemm/loops.h"
#include "util/ints.h"
#include "util/threads.h"
#include "util/winograd.h"

#include <math.h>
#include <string.h>

/* ---- packing from the image ---- */

/* The channels of a group in an image: the source of a packed_b. */
typedef struct channels {
    const conv_call *c;
    const packed_shifts *shifts; /* NULL: taps are not shifts */
    const float *first;
    int place;                   /* the place of the output in column 0 of B */
} channels;

static void pack_shifts(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                        float *strip)
{
    (void)nc;
    const channels *s = b->source;
    j0 += s->place;
    gemm_taps taps = *packed_taps_of(s->shifts);
    const size_t area = (size_t)s->c->h * s->c->w;
    taps.valid += (size_t)(j0 / u->vl) * taps.count;
    u->pack_taps(&taps, s->first + p0 / taps.count * area + j0, area, p0 % taps.count, kc, strip);
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
        u->take_even(src, pixels, dst);
    } else {
        for (int i = 0; i < pixels; ++i) dst[i] = src[(size_t)i * c->stride];
    }
}

static void pack_any(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                     float *strip)
{
    const channels *s = b->source;
    const conv_call *c = s->c;
    const int taps = c->size * c->size;
    j0 += s->place;
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

/* ---- stride S: rows of the image in S parts ---- */

/* Whether a filter reads each part of a row. */
static bool reads_all_parts(const conv_call *c)
{
    return c->stride > 1 && c->size >= c->stride;
}

/* The geometry of a channel's band. */
static gemm_depthwise make_band(const conv_call *c, const gemm_ukernel *u)
{
    gemm_depthwise d = {.h = c->h, .w = c->w, .out_h = c->out_h, .out_w = c->out_w,
                        .size = c->size, .pad = c->pad, .stride = c->stride};
    d.pitch = gemm_depthwise_pitch(&d, u->vl);
    return d;
}

/* Packs nc places of kc rows of a strip, those from place j0 of the band's first row on. */
static void pack_places(const gemm_depthwise *d, const gemm_ukernel *u, const float *band,
                        size_t apart, int first, int kc, int j0, int nc, float *strip)
{
    int y = j0 / d->out_w, x = j0 % d->out_w;
    for (int at = 0, n; at < nc; at += n, x = 0, ++y) {
        n = min_int(d->out_w - x, nc - at);
        u->pack_band(d, band + (size_t)y * d->stride * d->pitch, apart, first, kc, x, n,
                     strip + at);
    }
    if (nc == u->nr) return;
    for (int p = 0; p < kc; ++p) {
        memset(strip + p * u->nr + nc, 0, (size_t)(u->nr - nc) * sizeof *strip);
    }
}

/* The most floats of a band under one strip, of one channel. */
enum { STRIP_BAND = 8192 };

static bool fits_strip_band(const conv_call *c, const gemm_ukernel *u)
{
    if (!reads_all_parts(c)) return false;
    const gemm_depthwise d = make_band(c, u);
    const int rows = min_int(c->out_h, 1 + ceil_div(u->nr - 1, c->out_w));
    return gemm_depthwise_floats(&d, rows) <= STRIP_BAND;
}

/* Channel by channel: fills a band with the rows under the strip, and packs the taps from it. */
static void pack_by_channels(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0,
                             int nc, float *strip)
{
    _Alignas(64) float band[STRIP_BAND];
    const channels *s = b->source;
    const conv_call *c = s->c;
    const int taps = c->size * c->size, end = p0 + kc;
    j0 += s->place;
    const int y0 = j0 / c->out_w, y1 = (j0 + nc - 1) / c->out_w + 1;
    gemm_depthwise d = make_band(c, u);
    memset(band, 0, gemm_depthwise_floats(&d, y1 - y0) * sizeof *band);
    for (int p = p0, count; p < end; p += count, strip += count * u->nr) {
        const int first = p % taps;
        count = min_int(taps - first, end - p);
        d.src = s->first + (size_t)(p / taps) * c->h * c->w;
        u->fill_band(&d, y0, y1, band);
        pack_places(&d, u, band, 0, first, count, j0 - y0 * c->out_w, nc, strip);
    }
}

/* A band of the image with split rows of all channels: the source of a packed_b. */
typedef struct split_rows {
    gemm_depthwise d;
    const float *band;          /* what fill_band wrote for each channel */
    size_t apart;               /* floats from channel to channel */
} split_rows;

/* Place 0 is the first one of the band's rows of the output. */
static void pack_split(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                       float *strip)
{
    const split_rows *s = b->source;
    pack_places(&s->d, u, s->band, s->apart, p0, kc, j0, nc, strip);
}

/* ---- dense and grouped convolutions ---- */

/* The activation that the tile function does not have. The tile is still in L1. `data` is the
   gemm_ukernel. */
static void finish_logistic(const packed_epilogue *e, int i0, int rows, int j0, int cols, float *c,
                            size_t ldc)
{
    (void)i0, (void)j0;
    const gemm_ukernel *u = e->data;
    for (int i = 0; i < rows; ++i, c += ldc) u->logistic(cols, c, c);
}

/* What the threads share. */
typedef struct layer_job {
    const conv_call *c;
    const gemm_ukernel *u;
    const packed_shifts *shifts; /* NULL: taps are not shifts */
    bool by_channels;            /* pack_by_channels, where taps are not shifts */
    int step;                    /* depthwise: channels in a chunk */
    int band;                    /* pooled or split: rows of the output in a chunk; even if
                                    pooled */
} layer_job;

static double products_of(const conv_call *c)
{
    return (double)c->batch * c->n * gemm_conv_places(c) * gemm_conv_taps(c);
}

/* The threads for a layer whose products are not shared but taken whole. A layer smaller than
   this is done before a worker could help. */
static int worthwhile_threads(const conv_call *c, int threads)
{
    return products_of(c) < 500e3 ? 1 : threads;
}

/* Product `index` of batch * groups. */
static packed_job make_job(const layer_job *l, channels *source, int index)
{
    const conv_call *c = l->c;
    const int group = index % c->groups, filters = c->n / c->groups, in = c->c / c->groups;
    const size_t area = (size_t)c->h * c->w, out_area = gemm_conv_places(c);
    *source = (channels){c, l->shifts, c->input + (size_t)index * in * area, 0};
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
                .slope = packed_slope(c->activation),
                .finish = c->activation == CONV_LOGISTIC ? finish_logistic : NULL,
                .data = l->u,
            },
    };
    job.a_row = job.K;
    job.a_step = 1;
    job.A = c->weights + (size_t)group * filters * job.K;
    if (gemm_conv_is_pointwise(c)) {
        job.B = (packed_b){.rows = source->first, .ld = area};
    }
    return job;
}

static void multiply_product(void *arg, int chunk, void *scratch)
{
    const layer_job *l = arg;
    channels source;
    const packed_job job = make_job(l, &source, chunk);
    packed_run_here(&job, l->u, scratch);
}

/* Many products: each thread takes whole ones. Few: the threads share one after the other. The
   result is the same, because a product does not depend on the number of its threads. -1: no
   memory. */
static int run_dense(layer_job *l, int threads)
{
    const int products = l->c->batch * l->c->groups;
    if (products >= 4 * threads) {
        return gemm_parallel(worthwhile_threads(l->c, threads), products, multiply_product, l);
    }
    for (int i = 0; i < products; ++i) {
        channels source;
        const packed_job job = make_job(l, &source, i);
        if (packed_run(&job, l->u, threads)) return -1;
    }
    return 0;
}

/* ---- pooled: the maxima of 2x2 blocks, a band of rows at a time ---- */

/*
 * So many rows of the output make a band: its sums stay in L2, and shifts can begin there. 0: there
 * is no such number, or there are too few bands for many threads. Each band reads all weights, and
 * a small output is pooled quickly by itself.
 */
static int rows_of_band(const conv_call *c, const gemm_ukernel *u)
{
    enum { FEW_BANDS = 32, IN_L2 = 96 * 1024 / sizeof(float),
           MOST = (GEMM_SCRATCH_BYTES - PACKED_SCRATCH_BYTES) / sizeof(float) };
    const int row = c->n / c->groups * c->out_w;
    int rows = 2;
    while (rows < 2 * u->vl && rows * c->out_w % u->vl) rows += 2;
    if (rows * c->out_w % u->vl || rows > MOST / row) return 0;
    rows *= max_int(1, IN_L2 / row / rows);
    return ceil_div(c->out_h, rows) < FEW_BANDS ? 0 : rows;
}

static void pool_band(const layer_job *l, int rows, const float *sums, float *output)
{
    const conv_call *c = l->c;
    const size_t width = c->out_w, pooled = (size_t)c->out_h / 2 * (width / 2);
    for (int i = 0; i < c->n / c->groups; ++i, output += pooled, sums += rows * width) {
        for (int y = 0; y < rows; y += 2) {
            const float *top = sums + y * width;
            l->u->max_pairs(c->out_w / 2, top, top + width, output + y / 2 * (width / 2));
        }
    }
}

static void convolve_band(void *arg, int chunk, void *scratch)
{
    const layer_job *l = arg;
    const conv_call *c = l->c;
    const int bands = ceil_div(c->out_h, l->band), index = chunk / bands;
    const int y = chunk % bands * l->band, rows = min_int(l->band, c->out_h - y);
    channels source;
    packed_job job = make_job(l, &source, index);
    source.place = y * c->out_w;
    if (job.B.rows) job.B.rows += source.place;
    job.N = rows * c->out_w;
    job.C = (float *)scratch + PACKED_SCRATCH_BYTES / sizeof(float);
    job.ldc = job.N;
    packed_run_here(&job, l->u, scratch);
    const size_t pooled = (size_t)c->out_h / 2 * (c->out_w / 2);
    pool_band(l, rows, job.C,
              c->output + (size_t)index * job.M * pooled + (size_t)y / 2 * (c->out_w / 2));
}

/* -1: no memory, or no band. */
static int run_pooled(layer_job *l, int threads)
{
    const conv_call *c = l->c;
    l->band = rows_of_band(c, l->u);
    if (l->band == 0) return -1;
    return gemm_parallel(worthwhile_threads(c, threads),
                         c->batch * c->groups * ceil_div(c->out_h, l->band), convolve_band, l);
}

/* ---- stride S: a band of all channels is a chunk ---- */

/*
 * Rows of the output in a chunk. Their band of the image is a quarter of a small L2, and they fill
 * a few strips. They depend on the shape of one image alone, because the number of columns of a
 * product decides its last bits. 0: there are too few chunks for several threads, or the band is
 * too large.
 */
static int rows_of_split(const conv_call *c, const gemm_ukernel *u)
{
    enum { FEW_CHUNKS = 8, MANY_CHUNKS = 16, FEW_STRIPS = 4, BAND = 64 * 1024 / sizeof(float),
           MOST = (GEMM_SCRATCH_BYTES - PACKED_SCRATCH_BYTES) / sizeof(float) };
    if (!reads_all_parts(c) || c->pool) return 0;
    const int channels = c->c / c->groups;
    const gemm_depthwise d = make_band(c, u);
    const int fits = (BAND / channels / d.pitch - c->size) / c->stride + 1;
    const int least = ceil_div(FEW_STRIPS * u->nr, c->out_w);
    const int rows = max_int(least, min_int(fits, ceil_div(c->out_h, MANY_CHUNKS)));
    if (channels * gemm_depthwise_floats(&d, rows) > MOST) return 0;
    return c->groups * ceil_div(c->out_h, rows) < FEW_CHUNKS ? 0 : rows;
}

static void convolve_split(void *arg, int chunk, void *scratch)
{
    const layer_job *l = arg;
    const conv_call *c = l->c;
    const int bands = ceil_div(c->out_h, l->band), index = chunk / bands, in = c->c / c->groups;
    const int y = chunk % bands * l->band, rows = min_int(l->band, c->out_h - y);
    split_rows s = {.d = make_band(c, l->u)};
    channels source;
    packed_job job = make_job(l, &source, index);
    float *const band = (float *)scratch + PACKED_SCRATCH_BYTES / sizeof(float);
    s.band = band;
    s.apart = gemm_depthwise_floats(&s.d, rows);
    memset(band, 0, in * s.apart * sizeof *band);
    for (int i = 0; i < in; ++i) {
        s.d.src = source.first + (size_t)i * c->h * c->w;
        l->u->fill_band(&s.d, y, y + rows, band + i * s.apart);
    }
    job.B = (packed_b){.source = &s, .pack = pack_split};
    job.N = rows * c->out_w;
    job.C += (size_t)y * c->out_w;
    packed_run_here(&job, l->u, scratch);
}

/* -1: no memory. */
static int run_split(layer_job *l, int threads)
{
    const conv_call *c = l->c;
    return gemm_parallel(worthwhile_threads(c, threads),
                         c->batch * c->groups * ceil_div(c->out_h, l->band), convolve_split, l);
}

/* ---- depthwise: a filter sees one channel ---- */

/* What all channels share. */
static gemm_depthwise make_depthwise(const conv_call *c, const gemm_ukernel *u)
{
    gemm_depthwise d = make_band(c, u);
    d.filters = c->n / c->groups;
    d.slope = packed_slope(c->activation);
    return d;
}

/* Channel `index` of batch * groups. */
static void set_channel(gemm_depthwise *d, const conv_call *c, int index)
{
    const int first = index % c->groups * d->filters;
    d->src = c->input + (size_t)index * c->h * c->w;
    d->weights = c->weights + (size_t)first * c->size * c->size;
    d->scale = c->scale ? c->scale + first : NULL;
    d->shift = c->shift + first;
    d->y = c->output + (size_t)index * d->filters * gemm_conv_places(c);
}

/* Rows of the output whose pixels are half of a small L1. They are whole groups of rows. */
static int rows_in_band(const gemm_depthwise *d)
{
    enum { BAND = 16 * 1024 / sizeof(float), GROUP = GEMM_DEPTHWISE_ROWS };
    const int rows = (BAND / d->pitch - d->size) / d->stride + 1;
    return min_int(d->out_h, max_int(rows / GROUP * GROUP, GROUP));
}

/* Rows y0 .. y1 of a channel's output, which need one band. */
typedef struct piece {
    int index, y0, y1;
} piece;

/* All pieces have as many rows. So the last one of a channel may overlap the one before it. */
static piece next_piece(piece p, int out_h)
{
    const int rows = p.y1 - p.y0;
    if (p.y1 == out_h) return (piece){p.index + 1, 0, rows};
    const int y1 = min_int(p.y1 + rows, out_h);
    return (piece){p.index, y1 - rows, y1};
}

/* The next band is filled before the present one is used. A pixel is then read long after it was
   written: the processor could not forward a store to a load that begins elsewhere. */
static void convolve_channels(void *arg, int chunk, void *scratch)
{
    const layer_job *l = arg;
    const conv_call *c = l->c;
    const int end = min_int(c->batch * c->groups, (chunk + 1) * l->step);
    gemm_depthwise d = make_depthwise(c, l->u);
    piece p = {chunk * l->step, 0, rows_in_band(&d)};
    const size_t floats = gemm_depthwise_floats(&d, p.y1);
    float *band = memset(scratch, 0, 2 * floats * sizeof *band), *other = band + floats;
    set_channel(&d, c, p.index);
    l->u->fill_band(&d, p.y0, p.y1, band);
    while (p.index < end) {
        const piece next = next_piece(p, d.out_h);
        if (next.index < end) {
            set_channel(&d, c, next.index);
            l->u->fill_band(&d, next.y0, next.y1, other);
        }
        set_channel(&d, c, p.index);
        l->u->depthwise(&d, band, p.y0, p.y1);
        if (c->activation == CONV_LOGISTIC && next.index != p.index) {
            l->u->logistic(d.filters * d.out_h * d.out_w, d.y, d.y);
        }
        float *const used = band;
        band = other, other = used;
        p = next;
    }
}

/* Two bands must fit the scratch. */
static bool fits_depthwise(const conv_call *c, const gemm_ukernel *u)
{
    if (c->c != c->groups || c->stride > 2 || gemm_conv_is_pointwise(c)) return false;
    const gemm_depthwise d = make_depthwise(c, u);
    const size_t floats = gemm_depthwise_floats(&d, rows_in_band(&d));
    return 2 * floats * sizeof(float) <= GEMM_SCRATCH_BYTES;
}

/* -1: no memory. */
static int run_depthwise(layer_job *l, int threads)
{
    enum { TOO_SMALL = 125000 };    /* a depthwise layer has a quarter of a gemm's speed */
    const int channels = l->c->batch * l->c->groups;
    if (products_of(l->c) < TOO_SMALL) threads = 1;
    l->step = ceil_div(channels, 4 * threads);
    return gemm_parallel(threads, ceil_div(channels, l->step), convolve_channels, l);
}

/* ---- the row of the table ---- */

/* Winograd's algorithm, if it is faster. Returns false when the direct way has to run. */
static bool run_winograd(const conv_call *c, const gemm_context *context)
{
    const int m = context->direct ? 0 : packed_winograd_m(c, context->isa);
    if (m == 0 || packed_winograd(c, m, context)) return false;
    context->note->transform = gemm_winograd_transform(m);
    strcpy(context->note->algorithm, m == 2 ? "winograd2" : "winograd4");
    return true;
}

/* Without memory for shifts the layer runs as any other geometry does. */
gemm_status gemm_packed_conv(const conv_call *c, const gemm_context *context, const void *params)
{
    (void)params;
    const int threads = context->threads;
    if (gemm_conv_is_dots(c)) {
        strcpy(context->note->algorithm, "dots");
        return packed_dots(c, context->isa, threads) ? GEMM_DECLINED : GEMM_DONE;
    }
    if (run_winograd(c, context)) return GEMM_DONE;
    if (packed_prefers_band(c, context->isa) && !packed_band_conv(c, context)) {
        strcpy(context->note->algorithm, "band");
        return GEMM_DONE;
    }
    if (packed_prefers_lanes(c, context->isa) && !packed_lanes_conv(c, context)) {
        strcpy(context->note->algorithm, "lanes");
        return GEMM_DONE;
    }
    layer_job l = {.c = c, .u = context->isa};
    if (!c->pool && fits_depthwise(c, l.u)) {
        strcpy(context->note->algorithm, "depthwise");
        return run_depthwise(&l, threads) ? GEMM_DECLINED : GEMM_DONE;
    }
    l.band = rows_of_split(c, l.u);
    if (l.band) {
        strcpy(context->note->algorithm, "split");
        return run_split(&l, threads) ? GEMM_DECLINED : GEMM_DONE;
    }
    const bool shifted = packed_has_shifts(c) && !gemm_conv_is_pointwise(c);
    packed_shifts *const shifts = shifted ? packed_take_shifts(c, l.u) : NULL;
    l.shifts = shifts;
    l.by_channels = fits_strip_band(c, l.u);
    const int no_memory = c->pool ? run_pooled(&l, threads) : run_dense(&l, threads);
    strcpy(context->note->algorithm, "direct");
    packed_give_shifts(shifts);
    return no_memory ? GEMM_DECLINED : GEMM_DONE;
}
