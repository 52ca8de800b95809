/* SPDX-License-Identifier: MIT */
/*
 * The reference of a convolution in 8 bits: a direct sum over the taps of a filter. Whole numbers
 * are exact, and each float behind them is rounded once in a known order, so the bound is less than
 * the distance of two floats.
 */
#include "check/int8_check.h"

#include "op/activation.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* The byte of x less that of 0. Ties go to even bytes, so `zero` is added first, without error. */
static int16_t round_to_byte(float x, float inverse, int zero)
{
    const double y = (double)(x * inverse) + zero;
    return (int16_t)((y < 127 ? y > -128 ? lrint(y) : -128 : 127) - zero);
}

static void round_all(const float *x, size_t n, float inverse, int zero, int16_t *to)
{
    for (size_t i = 0; i < n; ++i) to[i] = round_to_byte(x[i], inverse, zero);
}

/* Rounds a filter, and returns what its step stands for. */
static float round_filter(const float *w, size_t n, int16_t *to)
{
    float most = 0;
    for (size_t i = 0; i < n; ++i) most = fmaxf(most, fabsf(w[i]));
    const bool usable = most > 0 && isfinite(127 / most);
    round_all(w, n, usable ? 127 / most : 0, 0, to);
    return usable ? most / 127 : 0;
}

/* The sum at a place. `image` is channel 0 of the filter's group. */
static int32_t sum_at(const conv_call *c, const int16_t *image, const int16_t *w, int y, int x)
{
    const int y0 = y * c->stride - c->pad, x0 = x * c->stride - c->pad;
    int32_t sum = 0;
    for (int k = 0; k < c->c / c->groups; ++k, image += (size_t)c->h * (size_t)c->w)
        for (int i = y0; i < y0 + c->size; ++i)
            for (int j = x0; j < x0 + c->size; ++j, ++w)
                if (i >= 0 && i < c->h && j >= 0 && j < c->w)
                    sum += image[(size_t)i * (size_t)c->w + (size_t)j] * *w;
    return sum;
}

static float finish(const conv_call *c, int filter, int32_t sum, float step)
{
    const float scale = c->scale ? step * c->scale[filter] : step;
    const float product = (float)sum * scale;
    const float y = product + c->shift[filter];
    if (gemm_activation_is_behind(c->activation)) return (float)gemm_activate(y, c->activation);
    return y > 0 ? y : gemm_slope(c->activation) * y;
}

/* One filter of an image. */
typedef struct part {
    const conv_call *c;
    const int16_t *image, *w;   /* channel 0 of the filter's group; the filter */
    float step;
    int filter;
} part;

static float output_at(const part *p, int y, int x)
{
    return finish(p->c, p->filter, sum_at(p->c, p->image, p->w, y, x), p->step);
}

/* Output j: with a pool the maximum of a block. */
static float expected(const part *p, int j)
{
    const conv_call *c = p->c;
    if (!c->pool) return output_at(p, j / c->out_w, j % c->out_w);
    const int y = j / (c->out_w / 2) * 2, x = j % (c->out_w / 2) * 2;
    float most = -FLT_MAX;
    for (int i = 0; i < 4; ++i) {
        const float one = output_at(p, y + i / 2, x + i % 2);
        most = one > most ? one : most;
    }
    return most;
}

static void compare_filter(const part *p, int n, gemm_error *worst)
{
    const conv_call *c = p->c;
    const int outputs = gemm_conv_outputs(c);
    const float *actual = c->output + ((size_t)n * (size_t)c->n + (size_t)p->filter) *
                                          (size_t)outputs;
    for (int j = 0; j < outputs; ++j) {
        const float y = expected(p, j);
        const double bound = gemm_activation_bound(fabsf(y) * (FLT_EPSILON / 4) + FLT_MIN, y,
                                                   c->activation);
        gemm_error_add(worst, y, bound, actual[j], n, p->filter, j);
    }
}

int gemm_int8_compare(const conv_call *c, float scale, int zero, gemm_error *worst)
{
    const size_t taps = (size_t)gemm_conv_taps(c), area = (size_t)c->h * (size_t)c->w;
    const size_t inputs = (size_t)c->batch * (size_t)c->c * area;
    int16_t *image = malloc((inputs + taps) * sizeof *image), *w = image + inputs;
    *worst = (gemm_error){.ratio = -1};
    if (!image) return -1;
    round_all(c->input, inputs, 1 / scale, zero, image);
    for (int filter = 0; filter < c->n; ++filter) {
        const float step = round_filter(c->weights + (size_t)filter * taps, taps, w) * scale;
        const size_t first = (size_t)(filter / (c->n / c->groups) * (c->c / c->groups));
        for (int n = 0; n < c->batch; ++n) {
            const int16_t *group = image + ((size_t)n * (size_t)c->c + first) * area;
            const part p = {c, group, w, step, filter};
            compare_filter(&p, n, worst);
        }
    }
    free(image);
    return 0;
}
