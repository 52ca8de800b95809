/* SPDX-License-Identifier: MIT */
/*
 * The reference of a whole convolution: a direct sum over the taps of a filter, without im2col.
 *
 * The bound is that of check.c for the sum, times |scale|, and a few roundings more for scale,
 * shift and activation (gemm_activation_bound).
 * A maximum does not either: it is off by no more than the worst element of its block. A row's
 * gemm_rounding adds the same as in check.c, where A are the weights and B is the input.
 *
 * A transform (gemm_transform) adds up other terms, so its bound has other sizes:
 *
 *   S = |AT| (sum over channels of (|G| |g| |GT|) * (|BT| |d| |B|)) |A|
 *
 * Each term is rounded once for each product or sum on its way. There are at most n in each of the
 * two passes of BT and of AT, and one for each channel. There are 3 + 3 in each pass of G, because
 * its entries are rounded too.
 * (Barabasz, Anderson, Soodhalter, Gregg, "Error analysis and improving the accuracy of Winograd
 * convolution for deep neural networks", 2018.)
 *
 * What is not finite must be so where it is in Darknet, and NaN stays NaN. A place is *loose* if it
 * may be not finite beside that:
 *
 * - A sum on its way may be more than FLT_MAX, or an operand may be that in a format of 16 bits.
 * - A transform adds up all inputs of its tile. So what is not finite spreads over the tile.
 * - A weight that is not finite is, or is not, multiplied by the zeros of the padding.
 *
 * A finite output of a loose place has to be right all the same. A pool takes no NaN, as in
 * Darknet. So where places of its block are loose, it is right without some of them too.
 */
#include "check/conv_check.h"

#include "util/ints.h"
#include "util/winograd.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_N = 8 };            /* the largest n of a transform */

/* Of one filter in one image, out_h x out_w each. */
typedef struct plane {
    double *sum;                /* then the exact outputs */
    double *size;               /* the sizes S of the terms, then the bounds */
    double *inputs, *weights;   /* the sums of |input| and |weight| of the taps, or NULL where no
                                   rounding needs them */
    bool *loose;
} plane;

/* The tiles of an image under |BT| |d| |B|, for all filters: [channel][tile][n * n]. */
typedef struct tiles {
    const gemm_transform *t;
    int n, across, count;       /* tiles in a row, and in all */
    double most;                /* the largest number that is surely finite in the row's format */
    double *V;
    bool *loose;                /* [channel][tile]: one of V may be not finite in the row */
} tiles;

/* Adds the terms of one tap to `n` places of a row. `in` is the first place's input. */
static inline void add_terms_by(size_t stride, double w, const float *in, int n,
                                double *restrict sum, double *restrict size)
{
    for (int x = 0; x < n; ++x) {
        sum[x] += w * in[(size_t)x * stride];
        size[x] += fabs(w * in[(size_t)x * stride]);
    }
}

/* The constant 1 apart, because compilers then make vectors of the loop. */
static void add_terms(size_t stride, double w, const float *in, int n, double *restrict sum,
                      double *restrict size)
{
    if (stride == 1) add_terms_by(1, w, in, n, sum, size);
    else add_terms_by(stride, w, in, n, sum, size);
}

static void add_operands(double w, const float *in, size_t stride, int n, double *restrict inputs,
                         double *restrict weights)
{
    for (int x = 0; x < n; ++x) {
        inputs[x] += fabs((double)in[(size_t)x * stride]);
        weights[x] += fabs(w);
    }
}

/* Adds w times the channel, shifted by (dy, dx). Outside of the channel is zero. */
static void add_tap(const conv_call *c, plane p, double w, const float *channel, int dy, int dx)
{
    const int first = dx < 0 ? ceil_div(-dx, c->stride) : 0;
    const int end = dx < c->w ? min_int(c->out_w, (c->w - 1 - dx) / c->stride + 1) : 0;
    for (int y = 0; y < c->out_h; ++y) {
        const int row = y * c->stride + dy;
        if (row < 0 || row >= c->h || first >= end) continue;
        const float *in = channel + (size_t)row * (size_t)c->w + (size_t)(first * c->stride + dx);
        const size_t at = (size_t)y * (size_t)c->out_w + (size_t)first, stride = (size_t)c->stride;
        add_terms(stride, w, in, end - first, p.sum + at, p.size + at);
        if (p.inputs) add_operands(w, in, stride, end - first, p.inputs + at, p.weights + at);
    }
}

/* A weight that is not finite: Darknet multiplies it by the zeros outside of the channel too, which
   gives NaN. A row may leave them out. */
static void loosen_edge(const conv_call *c, plane p, int dy, int dx)
{
    for (int y = 0; y < c->out_h; ++y) {
        for (int x = 0; x < c->out_w; ++x) {
            const int row = y * c->stride + dy, column = x * c->stride + dx;
            const bool inside = row >= 0 && row < c->h && column >= 0 && column < c->w;
            p.loose[(size_t)y * (size_t)c->out_w + (size_t)x] |= !inside;
        }
    }
}

static const float *channel_of(const conv_call *c, int image, int channel)
{
    const size_t area = (size_t)c->h * (size_t)c->w;
    return c->input + ((size_t)image * (size_t)c->c + (size_t)channel) * area;
}

static int first_channel(const conv_call *c, int filter)
{
    return filter / (c->n / c->groups) * (c->c / c->groups);
}

static const float *weights_of(const conv_call *c, int filter)
{
    return c->weights + (size_t)filter * (size_t)gemm_conv_taps(c);
}

static void sum_filter(const conv_call *c, plane p, int image, int filter)
{
    const size_t outputs = (size_t)gemm_conv_places(c);
    const float *w = weights_of(c, filter);
    for (size_t j = 0; j < outputs; ++j) p.sum[j] = p.size[j] = p.loose[j] = 0;
    for (size_t j = 0; p.inputs && j < outputs; ++j) p.inputs[j] = p.weights[j] = 0;
    for (int k = 0; k < c->c / c->groups; ++k) {
        const float *channel = channel_of(c, image, first_channel(c, filter) + k);
        for (int dy = 0; dy < c->size; ++dy)
            for (int dx = 0; dx < c->size; ++dx, ++w) {
                add_tap(c, p, *w, channel, dy - c->pad, dx - c->pad);
                if (!isfinite(*w)) loosen_edge(c, p, dy - c->pad, dx - c->pad);
            }
    }
}

/* ---- sizes of the terms of a transform ---- */

/* |M| x |MT|: M is rows x n, x and the result `to` are square. */
static void transform_sizes(const float *M, int rows, int n, const double *x, double *to)
{
    double half[MOST_N * MOST_N];
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < n; ++j) {
            half[i * n + j] = 0;
            for (int k = 0; k < n; ++k)
                half[i * n + j] += fabs((double)M[i * n + k]) * x[k * n + j];
        }
    }
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < rows; ++j) {
            to[i * rows + j] = 0;
            for (int k = 0; k < n; ++k)
                to[i * rows + j] += half[i * n + k] * fabs((double)M[j * n + k]);
        }
    }
}

/* A factor that is flushed to zero counts as this much: FLT_EPSILON times it is FLT_MIN. */
static const double flushed = FLT_MIN / FLT_EPSILON;

/* |x|, and 0 for what is not finite: `finite` is false then. */
static double finite_size(double x, bool *finite)
{
    if (isfinite(x)) return fabs(x);
    *finite = false;
    return 0;
}

/* Returns whether all of V is finite in the row. */
static bool transform_tile(const conv_call *c, const tiles *s, const float *channel, int tile,
                           double *V)
{
    bool finite = true;
    const int n = s->n, m = s->t->m;
    const int y0 = tile / s->across * m - c->pad, x0 = tile % s->across * m - c->pad;
    double d[MOST_N * MOST_N] = {0};
    for (int i = 0; i < n * n; ++i) {
        const int y = y0 + i / n, x = x0 + i % n;
        const bool inside = y >= 0 && y < c->h && x >= 0 && x < c->w;
        const size_t at = inside ? (size_t)y * (size_t)c->w + (size_t)x : 0;
        d[i] = inside ? finite_size((double)channel[at], &finite) : 0;
    }
    transform_sizes(s->t->BT, n, n, d, V);
    for (int i = 0; i < n * n; ++i) {
        V[i] += flushed;
        finite &= V[i] <= s->most;
    }
    return finite;
}

/* All tiles of an image. Returns 0, or -1 without memory. The caller frees V and loose. */
static int make_tiles(const conv_call *c, const gemm_transform *t, tiles *s)
{
    s->t = t;
    s->n = t->m + 2;
    s->across = (c->out_w + t->m - 1) / t->m;
    s->count = s->across * ((c->out_h + t->m - 1) / t->m);
    const size_t all = (size_t)c->c * (size_t)s->count;
    s->V = malloc(all * (size_t)(s->n * s->n) * sizeof *s->V);
    s->loose = malloc(all * sizeof *s->loose);
    return s->V && s->loose ? 0 : -1;
}

static void transform_image(const conv_call *c, const tiles *s, int image)
{
    double *V = s->V;
    bool *loose = s->loose;
    for (int k = 0; k < c->c; ++k)
        for (int tile = 0; tile < s->count; ++tile, V += s->n * s->n)
            *loose++ = !transform_tile(c, s, channel_of(c, image, k), tile, V);
}

/* sums[tile] += U * V for one channel. */
static void add_channel(const tiles *s, const double *U, const double *V, double *sums)
{
    const int points = s->n * s->n;
    for (int tile = 0; tile < s->count; ++tile)
        for (int i = 0; i < points; ++i) sums[tile * points + i] += U[i] * V[tile * points + i];
}

/* Sizes and looseness of the places of a tile, from its `sums` and that of all its channels. */
static void size_tile(const conv_call *c, const tiles *s, plane p, int tile, const double *sums,
                      bool loose)
{
    const int m = s->t->m;
    double Y[MOST_N * MOST_N];
    transform_sizes(s->t->AT, m, s->n, sums, Y);
    for (int i = 0; i < m * m; ++i) {
        const int y = tile / s->across * m + i / m, x = tile % s->across * m + i % m;
        if (y >= c->out_h || x >= c->out_w) continue;
        p.size[(size_t)y * (size_t)c->out_w + (size_t)x] = Y[i];
        p.loose[(size_t)y * (size_t)c->out_w + (size_t)x] |= loose;
    }
}

/* Replaces p.size by the sizes of the transform. Returns 0, or -1 without memory. */
static int size_filter(const conv_call *c, const tiles *s, plane p, int filter)
{
    const int points = s->n * s->n, channels = c->c / c->groups;
    const size_t first = (size_t)first_channel(c, filter) * (size_t)s->count;
    double *sums = calloc((size_t)s->count * (size_t)points, sizeof *sums);
    if (!sums) return -1;
    const float *g = weights_of(c, filter);
    const double *V = s->V + first * (size_t)points;
    bool finite = true;
    for (int k = 0; k < channels; ++k, g += 9, V += s->count * points) {
        double square[9], U[MOST_N * MOST_N];
        for (int i = 0; i < 9; ++i) square[i] = finite_size((double)g[i], &finite);
        transform_sizes(s->t->G, s->n, 3, square, U);
        for (int i = 0; i < points; ++i) U[i] += flushed;
        add_channel(s, U, V, sums);
    }
    for (int tile = 0; tile < s->count; ++tile) {
        bool loose = !finite;
        for (int k = 0; k < channels; ++k) loose |= s->loose[first + (size_t)(k * s->count + tile)];
        size_tile(c, s, p, tile, sums + tile * points, loose);
    }
    free(sums);
    return 0;
}

/* ---- comparing ---- */

/* The roundings of a term, with a factor of two against the unit roundoff. */
static double roundings(const conv_call *c, const gemm_transform *t)
{
    const double channels = (double)c->c / c->groups;
    return t ? channels + 4 * (t->m + 2) + 12 + 8 : gemm_conv_taps(c) + 8;
}

/* The largest number that is surely finite in the format of a row. */
static double most_finite(const gemm_rounding *r)
{
    return r ? FLT_MAX * (1 - r->product) : FLT_MAX;
}

/* From sums and sizes to exact outputs and their bounds. */
static void finish_filter(const conv_call *c, const gemm_transform *t, const gemm_rounding *r,
                          plane p, int filter)
{
    const double scale = c->scale ? c->scale[filter] : 1, shift = c->shift[filter];
    const double count = roundings(c, t), most = most_finite(r);
    for (int j = 0; j < gemm_conv_places(c); ++j) {
        p.sum[j] = gemm_activate(scale * p.sum[j] + shift, c->activation);
        const double size = p.size[j], scaled = fabs(scale) * size + fabs(shift);
        const double more = !r ? 0 : r->product * size + r->a * p.inputs[j] +
                                     r->b * p.weights[j] + r->sum * gemm_conv_taps(c);
        const bool large = r && (p.inputs[j] > most || p.weights[j] > most);
        const double bound = gemm_activation_bound(
            fabs(scale) * more + count * (FLT_EPSILON * scaled + FLT_MIN), p.sum[j],
            c->activation);
        p.loose[j] |= isfinite(size) && (fmax(size, scaled) > most || large);
        p.size[j] = isfinite(size) ? bound : 8 * FLT_EPSILON;   /* an activation of infinity */
    }
}

/* Whether a loose place may be this: not finite, or what an activation makes of infinity. */
static bool may_be(const conv_call *c, float actual)
{
    if (c->activation == CONV_RELU) return !isfinite(actual) || actual == 0;
    return !isfinite(actual) || actual == (float)gemm_activate(INFINITY, c->activation) ||
           actual == (float)gemm_activate(-INFINITY, c->activation);
}

static double place_ratio(const conv_call *c, plane p, size_t at, float actual)
{
    if (p.loose[at] && may_be(c, actual)) return 0;
    return gemm_error_ratio(p.sum[at], p.size[at], actual);
}

/* Of the maximum of a 2x2 block, whose first place is `at`. It is that of the firm places, or a
   loose one above. Neither NaN nor -INFINITY is ever the maximum. */
static double block_ratio(const conv_call *c, plane p, size_t at, float actual)
{
    const size_t places[4] = {at, at + 1, at + (size_t)c->out_w, at + (size_t)c->out_w + 1};
    double max = -FLT_MAX, bound = 0;
    if (!(actual > -INFINITY)) return INFINITY;
    for (int i = 0; i < 4; ++i) {
        if (p.loose[places[i]]) continue;
        max = p.sum[places[i]] > max ? p.sum[places[i]] : max;
        bound = fmax(bound, p.size[places[i]]);
    }
    double ratio = gemm_error_ratio(max, bound, actual);
    for (int i = 0; i < 4; ++i) {
        const bool above = actual >= max || p.sum[places[i]] > max;
        if (p.loose[places[i]] && above)
            ratio = fmin(ratio, place_ratio(c, p, places[i], actual));
    }
    return ratio;
}

static void compare_filter(const conv_call *c, plane p, int image, int filter, gemm_error *worst)
{
    const int outputs = gemm_conv_outputs(c), across = c->out_w / 2, step = 2 * c->out_w;
    const float *actual =
        c->output + ((size_t)image * (size_t)c->n + (size_t)filter) * (size_t)outputs;
    for (int j = 0; j < outputs; ++j) {
        const size_t at = (size_t)(c->pool ? j / across * step + j % across * 2 : j);
        const double ratio = c->pool ? block_ratio(c, p, at, actual[j])
                                     : place_ratio(c, p, at, actual[j]);
        gemm_error_take(worst, &(gemm_error){ratio, fabs(actual[j] - p.sum[at]), image, filter, j});
    }
}

/* All filters of all images. Returns 0, or -1 without memory. */
static int compare(const conv_call *c, const tiles *s, const gemm_rounding *r, plane p,
                   gemm_error *worst)
{
    for (int image = 0; image < c->batch; ++image) {
        if (s->t) transform_image(c, s, image);
        for (int filter = 0; filter < c->n; ++filter) {
            sum_filter(c, p, image, filter);
            if (s->t && size_filter(c, s, p, filter)) return -1;
            finish_filter(c, s->t, r, p, filter);
            compare_filter(c, p, image, filter, worst);
        }
    }
    return 0;
}

int gemm_conv_expect(const conv_call *c, float *outputs)
{
    const size_t places = (size_t)gemm_conv_places(c);
    plane p = {.sum = malloc(places * (2 * sizeof(double) + sizeof(bool)))};
    if (!p.sum) return -1;
    p.size = p.sum + places;
    p.loose = (bool *)(p.size + places);
    for (int i = 0; i < c->batch * c->n; ++i) {
        sum_filter(c, p, i / c->n, i % c->n);
        finish_filter(c, NULL, NULL, p, i % c->n);
        for (size_t j = 0; j < places; ++j) *outputs++ = (float)p.sum[j];
    }
    free(p.sum);
    return 0;
}

int gemm_conv_compare(const conv_call *c, const gemm_transform *t, gemm_error *worst)
{
    return gemm_conv_compare_rounded(c, t, NULL, worst);
}

int gemm_conv_compare_rounded(const conv_call *c, const gemm_transform *t, const gemm_rounding *r,
                              gemm_error *worst)
{
    const size_t outputs = (size_t)gemm_conv_places(c);
    plane p = {.sum = malloc(outputs * (4 * sizeof(double) + sizeof(bool)))};
    tiles s = {.most = most_finite(r)};
    *worst = (gemm_error){.ratio = -1};
    int status = p.sum && !(t && make_tiles(c, t, &s)) ? 0 : -1;
    if (!status) {
        p.size = p.sum + outputs;
        p.inputs = r ? p.size + outputs : NULL;
        p.weights = r ? p.inputs + outputs : NULL;
        p.loose = (bool *)(p.sum + 4 * outputs);
        status = compare(c, &s, r, p, worst);
    }
    free(s.V);
    free(s.loose);
    free(p.sum);
    return status;
}
