/*
 * The reference of a whole convolution: a direct sum over the taps of a filter, without im2col.
 *
 * The bound is that of check.c for the sum, times |scale|, and a few roundings more for scale,
 * shift and activation. No activation has a slope above 1, so none of them makes the error larger.
 */
#include "driver/conv_check.h"

#include "driver/reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The outputs of one filter in one image: the sums, and the sums of absolute products. */
typedef struct plane {
    double *sum, *size;         /* out_h x out_w */
} plane;

/* Adds w times the channel, shifted by (dy, dx). Outside of the channel is zero. */
static void add_tap(const conv_call *c, plane p, double w, const float *channel, int dy, int dx)
{
    for (int y = 0; y < c->out_h; ++y) {
        const int row = y * c->stride + dy;
        if (row < 0 || row >= c->h) continue;
        for (int x = 0; x < c->out_w; ++x) {
            const int column = x * c->stride + dx;
            if (column < 0 || column >= c->w) continue;
            const double product = w * channel[(size_t)row * (size_t)c->w + (size_t)column];
            p.sum[(size_t)y * (size_t)c->out_w + (size_t)x] += product;
            p.size[(size_t)y * (size_t)c->out_w + (size_t)x] += fabs(product);
        }
    }
}

static void sum_filter(const conv_call *c, plane p, int image, int filter)
{
    const size_t outputs = (size_t)c->out_h * (size_t)c->out_w,
                 inputs = (size_t)c->h * (size_t)c->w;
    const int channels = c->c / c->groups, first = filter / (c->n / c->groups) * channels;
    const float *w = c->weights + (size_t)filter * (size_t)(channels * c->size * c->size);
    for (size_t j = 0; j < outputs; ++j) p.sum[j] = p.size[j] = 0;
    for (int k = 0; k < channels; ++k) {
        const float *channel =
            c->input + ((size_t)image * (size_t)c->c + (size_t)(first + k)) * inputs;
        for (int dy = 0; dy < c->size; ++dy)
            for (int dx = 0; dx < c->size; ++dx)
                add_tap(c, p, *w++, channel, dy - c->pad, dx - c->pad);
    }
}

static double activate(double x, conv_activation a)
{
    switch (a) {
    case CONV_LINEAR: return x;
    case CONV_LEAKY: return x > 0 ? x : .1 * x;
    case CONV_RELU: return x > 0 ? x : 0;
    case CONV_LOGISTIC: return 1 / (1 + exp(-x));
    }
    return NAN;
}

static void compare_filter(const conv_call *c, plane p, int image, int filter, conv_error *worst)
{
    const int outputs = c->out_h * c->out_w;
    const double K = (double)(c->c / c->groups) * c->size * c->size;
    const double scale = c->scale ? c->scale[filter] : 1, shift = c->shift[filter];
    const float *actual =
        c->output + ((size_t)image * (size_t)c->n + (size_t)filter) * (size_t)outputs;
    for (int j = 0; j < outputs; ++j) {
        const double expected = activate(scale * p.sum[j] + shift, c->activation);
        const double bound =
            (K + 8) * (FLT_EPSILON * (fabs(scale) * p.size[j] + fabs(shift)) + FLT_MIN) +
            (c->activation == CONV_LOGISTIC ? 8 * FLT_EPSILON : 0);
        const double ratio = gemm_error_ratio(expected, bound, actual[j]);
        if (ratio > worst->ratio)
            *worst = (conv_error){ratio, fabs(actual[j] - expected), image, filter, j};
    }
}

int gemm_conv_compare(const conv_call *c, conv_error *worst)
{
    const size_t outputs = (size_t)c->out_h * (size_t)c->out_w;
    plane p = {malloc(2 * outputs * sizeof(double)), NULL};
    *worst = (conv_error){-1, 0, 0, 0, 0};
    if (!p.sum) return -1;
    p.size = p.sum + outputs;
    for (int image = 0; image < c->batch; ++image) {
        for (int filter = 0; filter < c->n; ++filter) {
            sum_filter(c, p, image, filter);
            compare_filter(c, p, image, filter, worst);
        }
    }
    free(p.sum);
    return 0;
}
