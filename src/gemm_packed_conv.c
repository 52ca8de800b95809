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
#include "gemm_packed.h"
#include "gemm_threads.h"

#include <math.h>

static inline int min_int(int a, int b) { return a < b ? a : b; }
static inline int max_int(int a, int b) { return a > b ? a : b; }
static inline int ceil_div(int a, int b) { return a / b + (a % b != 0); }

static bool __attribute__((unused)) keeps_size(const conv_call *c)
{
    return c->stride == 1 && c->out_w == c->w && c->out_h == c->h;
}

static bool reads_in_place(const conv_call *c)
{
    return c->size == 1 && c->stride == 1 && c->pad == 0;
}

/* ---- packing from the image ---- */

/* The first channel of a group in an image; source of packed_b. */
typedef struct channels {
    const conv_call *c;
    const float *first;
} channels;

static void pack_in_place(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                          float *strip)
{
    u->copy(b->rows + p0 * b->ld + j0, b->ld, nc, kc, strip, u->nr);
}

/* A stretch of the strip within one row of the output: columns at .. at+n are (y, x) and on. */
static void pack_stretch(const conv_call *c, const float *channel, int ky, int kx, int y, int x, int n,
                         float *dst)
{
    const int row = y * c->stride + ky - c->pad, offset = kx - c->pad;
    int first = n, end = n;     /* dst[first .. end] is inside of the image */
    if (row >= 0 && row < c->h) {
        first = offset < 0 ? min_int(n, max_int(0, ceil_div(-offset, c->stride) - x)) : 0;
        end = max_int(first, min_int(n, ceil_div(max_int(0, c->w - offset), c->stride) - x));
    }
    const float *src = channel + ((ptrdiff_t)row * c->w + (ptrdiff_t)x * c->stride + offset);
    for (int i = 0; i < first; ++i) dst[i] = 0;
    for (int i = first; i < end; ++i) dst[i] = src[(ptrdiff_t)i * c->stride];
    for (int i = end; i < n; ++i) dst[i] = 0;
}

/* Any geometry. */
static void pack_any(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                     float *strip)
{
    const channels *s = b->source;
    const conv_call *c = s->c;
    const int taps = c->size * c->size;
    for (int p = p0; p < p0 + kc; ++p, strip += u->nr) {
        const float *channel = s->first + (size_t)(p / taps) * c->h * c->w;
        const int ky = p % taps / c->size, kx = p % c->size;
        int y = j0 / c->out_w, x = j0 % c->out_w;
        for (int at = 0; at < nc; x = 0, ++y) {
            const int n = min_int(c->out_w - x, nc - at);
            pack_stretch(c, channel, ky, kx, y, x, n, strip + at);
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

/* Product `index` of batch * groups. */
static packed_job make_job(const conv_call *c, channels *source, int index)
{
    const int group = index % c->groups, filters = c->n / c->groups, in = c->c / c->groups;
    const size_t area = (size_t)c->h * c->w, out_area = (size_t)c->out_h * c->out_w;
    *source = (channels){c, c->input + (size_t)index * in * area};
    packed_job job = {
        .M = filters, .N = c->out_h * c->out_w, .K = in * c->size * c->size,
        .C = c->output + (size_t)index * filters * out_area,
        .ldc = out_area,
        .B = {.source = source, .pack = pack_any},
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
        job.B = (packed_b){.rows = source->first, .ld = area, .pack = pack_in_place};
    }
    return job;
}

typedef struct layer_job {
    const conv_call *c;
    const gemm_ukernel *u;
} layer_job;

/* A thread's share of many products is whole products. */
static void multiply_product(void *arg, int chunk, void *scratch)
{
    const layer_job *l = arg;
    channels source;
    const packed_job job = make_job(l->c, &source, chunk);
    packed_run_here(&job, l->u, scratch);
}

static int run_dense(const layer_job *l, int threads)
{
    const conv_call *c = l->c;
    const int products = c->batch * c->groups;
    if (products >= 4 * threads) {
        return gemm_parallel(threads, products, multiply_product, (void *)l);
    }
    for (int i = 0; i < products; ++i) {
        channels source;
        const packed_job job = make_job(c, &source, i);
        if (packed_run(&job, l->u, threads)) return -1;
    }
    return 0;
}

int gemm_packed_conv(const conv_call *c, const void *params)
{
    const layer_job l = {c, params ? params : gemm_get_settings()->isa};
    return run_dense(&l, gemm_get_settings()->threads);
}
