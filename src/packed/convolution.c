/*
 * The convolution of `packed`, without im2col.
 *
 * A dense convolution is the packed gemm with M filters, N places of the output and K taps: a tap
 * is one weight of a filter, (channel, ky, kx). Row p of B, which im2col would write, is the
 * channel shifted by the tap. Strips of B are packed straight from the image:
 *
 *                      places j0 .. j0+nc of the output, over the ends of its rows
 *     tap (c, 0, 0)  | . . . . . . . . . . |     . = image[c][y * stride + ky - pad]
 *     tap (c, 0, 1)  | . . . . . . . . . . |                [x * stride + kx - pad]
 *     ...                                            or 0 outside of the image
 *
 * When the output is as wide and as high as the image (stride 1, size = 2 pad + 1), such a row is
 * the channel itself from a constant distance on, and what falls off its edges is masked: the
 * micro-kernel's vectors cross the ends of rows. A 1 x 1 convolution is read where it lies.
 *
 * scale, shift and activation are applied by the micro-kernel to the tile in registers. Threads cut
 * the layer: one large product as gemm does, many groups or images by whole products.
 */
#include "packed/packed.h"

#include "packed/loops.h"
#include "util/ints.h"
#include "util/threads.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static bool reads_in_place(const conv_call *c)
{
    return c->size == 1 && c->stride == 1 && c->pad == 0;
}

/* ---- taps as shifts ---- */

/*
 * When the output has a place for every (stride-th) place of the image, tap (ky, kx) is the image
 * from a constant distance on, but for what falls off the edges. With stride 2 that holds for the
 * four images of even and odd rows and columns, laid one behind the other: places (y, x) of the
 * image go to place (y / 2, x / 2) of image y % 2 * 2 + x % 2.
 */
typedef struct shifts {
    gemm_taps taps;             /* taps.valid covers all of the output */
    ptrdiff_t *offset;
    uint16_t *valid;
    size_t offset_bytes, valid_bytes;
    conv_call geometry;         /* of taps; only the sizes count */
    const gemm_ukernel *u;      /* NULL: taps are not set */
} shifts;

static bool has_shifts(const conv_call *c)
{
    return c->stride <= 2 && c->out_w == ceil_div(c->w, c->stride) &&
           c->out_h == ceil_div(c->h, c->stride);
}

static ptrdiff_t offset_of(const conv_call *c, int dy, int dx)
{
    if (c->stride == 1) return (ptrdiff_t)dy * c->w + dx;
    const ptrdiff_t area = (ptrdiff_t)c->out_h * c->out_w;
    const int odd_y = dy & 1, odd_x = dx & 1;
    return (odd_y * 2 + odd_x) * area + (ptrdiff_t)((dy - odd_y) / 2) * c->out_w + (dx - odd_x) / 2;
}

/* The places x of an output row, from .. to-1, at which x * stride + d lies in 0 .. n-1. */
static void inside(int stride, int d, int n, int out, int *from, int *to)
{
    *from = min_int(out, d < 0 ? ceil_div(-d, stride) : 0);
    *to = max_int(*from, d < n ? min_int(out, ceil_div(n - d, stride)) : 0);
}

/* Clears bits from .. to-1 of a tap. */
static void clear_valid(uint16_t *valid, int count, int vl, size_t from, size_t to)
{
    while (from < to) {
        const unsigned first = (unsigned)(from % vl);
        const unsigned end = to - from < vl - first ? first + (unsigned)(to - from) : (unsigned)vl;
        valid[from / vl * count] &= (uint16_t)~((1u << end) - (1u << first));
        from += end - first;
    }
}

/* All places are valid but the few at the edges. */
static void find_valid(const conv_call *c, int vl, size_t vectors, uint16_t *valid)
{
    const int count = c->size * c->size;
    const size_t width = c->out_w;
    for (size_t i = 0; i < vectors * count; ++i) valid[i] = (uint16_t)((1u << vl) - 1);
    for (int q = 0; q < count; ++q) {
        int y, y_end, x, x_end;
        inside(c->stride, q / c->size - c->pad, c->h, c->out_h, &y, &y_end);
        inside(c->stride, q % c->size - c->pad, c->w, c->out_w, &x, &x_end);
        clear_valid(valid + q, count, vl, 0, y * width);
        clear_valid(valid + q, count, vl, y_end * width, vectors * vl);
        for (size_t row = y * width; row < y_end * width; row += width) {
            clear_valid(valid + q, count, vl, row, row + x);
            clear_valid(valid + q, count, vl, row + x_end, row + width);
        }
    }
}

/* Each thread keeps the last one, which is often the next one too, and its memory always. */
static pthread_key_t kept_shifts;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_shifts(void *kept)
{
    shifts *s = kept;
    free(s->offset);
    free(s->valid);
    free(s);
}

static void make_key(void)
{
    pthread_key_create(&kept_shifts, free_shifts);
}

/* The thread that ends the program runs no destructors of its own. */
__attribute__((destructor)) static void end(void)
{
    pthread_once(&once, make_key);
    shifts *s = pthread_getspecific(kept_shifts);
    if (s) free_shifts(s);
    pthread_setspecific(kept_shifts, NULL);
}

static shifts *own_shifts(void)
{
    pthread_once(&once, make_key);
    shifts *s = pthread_getspecific(kept_shifts);
    if (s) return s;
    s = calloc(1, sizeof *s);
    if (s && pthread_setspecific(kept_shifts, s)) {
        free(s);
        s = NULL;
    }
    return s;
}

static bool grow(void **memory, size_t *has, size_t bytes)
{
    if (*has >= bytes) return true;
    free(*memory);
    *memory = malloc(bytes);
    *has = *memory ? bytes : 0;
    return *memory;
}

static bool same_geometry(const conv_call *a, const conv_call *b)
{
    return a->h == b->h && a->w == b->w && a->size == b->size && a->stride == b->stride &&
           a->pad == b->pad;
}

/* NULL when there is no memory. Strips of B begin at any whole vector; a strip has up to nr / vl. */
static const shifts *get_shifts(const conv_call *c, const gemm_ukernel *u)
{
    const int count = c->size * c->size;
    const size_t vectors = (size_t)ceil_div(c->out_h * c->out_w, u->vl) + u->nr / u->vl;
    shifts *s = own_shifts();
    if (!s || (s->u == u && same_geometry(&s->geometry, c))) return s;
    s->u = NULL;
    if (!grow((void **)&s->offset, &s->offset_bytes, count * sizeof *s->offset) ||
        !grow((void **)&s->valid, &s->valid_bytes, vectors * count * sizeof *s->valid)) return NULL;
    for (int q = 0; q < count; ++q) {
        s->offset[q] = offset_of(c, q / c->size - c->pad, q % c->size - c->pad);
    }
    find_valid(c, u->vl, vectors, s->valid);
    s->taps = (gemm_taps){count, s->offset, s->valid};
    s->geometry = *c;
    s->u = u;
    return s;
}

/* ---- packing from the image ---- */

/* The first channel of a group in an image; source of packed_b. */
typedef struct channels {
    const conv_call *c;
    const shifts *shifts;       /* NULL: any geometry */
    const float *first;
} channels;

static void pack_shifts(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                        float *strip)
{
    (void)nc;
    const channels *s = b->source;
    gemm_taps taps = s->shifts->taps;
    const size_t area = (size_t)s->c->h * s->c->w;
    taps.valid += (size_t)(j0 / u->vl) * taps.count;
    u->pack_taps(&taps, s->first + p0 / taps.count * area + j0, area, p0 % taps.count, kc, strip);
}

/* A stretch of the strip within one row of the output: places (y, x) and on. */
static void pack_stretch(const conv_call *c, const gemm_ukernel *u, const float *channel, int dy,
                         int dx, int y, int x, int n, float *dst)
{
    const int row = y * c->stride + dy;
    int from = n, to = n;       /* of dst, inside of the image */
    if (row >= 0 && row < c->h) {
        inside(c->stride, x * c->stride + dx, c->w, n, &from, &to);
    }
    memset(dst, 0, from * sizeof *dst);
    memset(dst + to, 0, (n - to) * sizeof *dst);
    if (from == to) return;
    const float *src = channel + (size_t)row * c->w + ((x + from) * c->stride + dx);
    dst += from;
    /* The next strip's: taps side by side fetch lines side by side. */
    const float *ahead = src + n * c->stride + (dx + c->pad) * 32;
    __builtin_prefetch(ahead, 0, 3);
    __builtin_prefetch(ahead + 16, 0, 3);
    if (c->stride == 1) {
        memcpy(dst, src, (to - from) * sizeof *dst);
    } else if (c->stride == 2) {
        u->take_even(src, to - from, dst);
    } else {
        for (int i = 0; i < to - from; ++i) dst[i] = src[(size_t)i * c->stride];
    }
}

static void pack_any(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                     float *strip)
{
    const channels *s = b->source;
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

/* ---- dense and grouped convolutions ---- */

/* What the micro-kernel's lines cannot do: the tile is in L1. */
static void finish_logistic(const packed_epilogue *e, int i0, int rows, int j0, int cols, float *c,
                            size_t ldc)
{
    (void)e, (void)i0, (void)j0;
    for (int i = 0; i < rows; ++i, c += ldc) {
        for (int j = 0; j < cols; ++j) c[j] = 1 / (1 + expf(-c[j]));
    }
}

static float slope_of(conv_activation a)
{
    return a == CONV_LEAKY ? .1f : a == CONV_RELU ? 0 : 1;
}

/* What the threads share. */
typedef struct layer_job {
    const conv_call *c;
    const gemm_ukernel *u;
    const shifts *shifts;       /* NULL when there are none */
    int step;                   /* depthwise: channels a chunk */
} layer_job;

/* Product `index` of batch * groups. */
static packed_job make_job(const layer_job *l, channels *source, int index)
{
    const conv_call *c = l->c;
    const int group = index % c->groups, filters = c->n / c->groups, in = c->c / c->groups;
    const size_t area = (size_t)c->h * c->w, out_area = (size_t)c->out_h * c->out_w;
    const bool shifted = l->shifts && c->stride == 1;
    *source = (channels){c, l->shifts, c->input + (size_t)index * in * area};
    packed_job job = {
        .M = filters, .N = c->out_h * c->out_w, .K = in * c->size * c->size,
        .C = c->output + (size_t)index * filters * out_area,
        .ldc = out_area,
        .B = {.source = source, .pack = shifted ? pack_shifts : pack_any},
        .epilogue = {
            .alpha = 1, .overwrite = true,
            .scale = c->scale ? c->scale + group * filters : NULL,
            .shift = c->shift + group * filters,
            .slope = slope_of(c->activation),
            .finish = c->activation == CONV_LOGISTIC ? finish_logistic : NULL,
        },
    };
    job.a_row = job.K;
    job.a_step = 1;
    job.A = c->weights + (size_t)group * filters * job.K;
    if (reads_in_place(c)) {
        job.B = (packed_b){.rows = source->first, .ld = area};
    }
    return job;
}

/* A thread's share of many products is whole products. */
static void multiply_product(void *arg, int chunk, void *scratch)
{
    const layer_job *l = arg;
    channels source;
    const packed_job job = make_job(l, &source, chunk);
    packed_run_here(&job, l->u, scratch);
}

static int run_dense(layer_job *l, int threads)
{
    const int products = l->c->batch * l->c->groups;
    if (products >= 4 * threads) return gemm_parallel(threads, products, multiply_product, l);
    for (int i = 0; i < products; ++i) {
        channels source;
        const packed_job job = make_job(l, &source, i);
        if (packed_run(&job, l->u, threads)) return -1;
    }
    return 0;
}

/* ---- depthwise: a filter sees one channel ---- */

/* The four images of even and odd rows and columns, see above. */
static void split_channel(const conv_call *c, const gemm_ukernel *u, const float *channel, float *dst)
{
    const size_t area = (size_t)c->out_h * c->out_w;
    for (int y = 0; y < c->h; ++y) {
        float *even = dst + y % 2 * 2 * area + (size_t)(y / 2) * c->out_w;
        u->split_pairs(channel + (size_t)y * c->w, c->w, even, even + area);
    }
}

static void convolve_channels(void *arg, int chunk, void *scratch)
{
    const layer_job *l = arg;
    const conv_call *c = l->c;
    const int filters = c->n / c->groups, out_area = c->out_h * c->out_w;
    const int end = min_int(c->batch * c->groups, (chunk + 1) * l->step);
    for (int index = chunk * l->step; index < end; ++index) {
        const float *src = c->input + (size_t)index * c->h * c->w;
        if (c->stride == 2) {
            split_channel(c, l->u, src, scratch);
            src = scratch;
        }
        for (int i = 0; i < filters; ++i) {
            const int filter = index % c->groups * filters + i;
            float *y = c->output + ((size_t)index * filters + i) * out_area;
            l->u->depthwise(&l->shifts->taps, src, c->weights + (size_t)filter * l->shifts->taps.count,
                            c->scale ? c->scale[filter] : 1, c->shift[filter],
                            slope_of(c->activation), out_area, y);
            if (c->activation == CONV_LOGISTIC) finish_logistic(NULL, 0, 1, 0, out_area, y, 0);
        }
    }
}

static bool fits_depthwise(const conv_call *c)
{
    const size_t split = (size_t)4 * c->out_h * c->out_w * sizeof(float);
    return c->c == c->groups && has_shifts(c) && (c->stride == 1 || split <= GEMM_SCRATCH_BYTES);
}

static int run_depthwise(layer_job *l, int threads)
{
    const int channels = l->c->batch * l->c->groups;
    l->step = ceil_div(channels, 4 * threads);
    return gemm_parallel(threads, ceil_div(channels, l->step), convolve_channels, l);
}

/* ---- the row of the table ---- */

/* A layer smaller than this is done before a worker could help. */
static int worthwhile_threads(const conv_call *c, int threads)
{
    const double products = (double)c->batch * c->n * c->out_h * c->out_w * (c->c / c->groups) *
                            c->size * c->size;
    return products < 500e3 ? 1 : threads;
}

gemm_status gemm_packed_conv(const conv_call *c, const gemm_context *context, const void *params)
{
    (void)params;
    const int threads = worthwhile_threads(c, context->threads);
    layer_job l = {.c = c, .u = context->isa};
    if (!has_shifts(c) || reads_in_place(c)) return run_dense(&l, threads) ? GEMM_DECLINED : GEMM_DONE;
    l.shifts = get_shifts(c, l.u);
    if (!l.shifts) return GEMM_DECLINED;
    const int no_memory = fits_depthwise(c) ? run_depthwise(&l, threads) : run_dense(&l, threads);
    return no_memory ? GEMM_DECLINED : GEMM_DONE;
}
