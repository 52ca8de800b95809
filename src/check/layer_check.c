/* SPDX-License-Identifier: MIT */
/*
 * The reference of layers without weights: one output at a time, in double precision.
 *
 * Maxpool, route and upsample round at most once, whatever the order. So they have to be exact, and
 * their bound is the smallest float. A mean of n values is rounded n times, the sum of a shortcut
 * three times. The logistic of a yolo layer lies between 0 and 1. It may have four roundings, of
 * the exponential and of the division.
 */
#include "check/layer_check.h"

#include "util/ints.h"

#include <float.h>
#include <math.h>

typedef struct exact {
    double value, bound;
} exact;

/* Element `at` of an image of the first input. */
static double input_at(const layer_call *c, int image, int at)
{
    return c->input[0].data[(size_t)image * (size_t)c->input[0].size + (size_t)at];
}

static exact max_at(const layer_call *c, int image, int channel, int y, int x)
{
    double max = -FLT_MAX;
    for (int i = 0; i < c->size * c->size; ++i) {
        const int row = y * c->stride - c->pad / 2 + i / c->size;
        const int column = x * c->stride - c->pad / 2 + i % c->size;
        if (row < 0 || row >= c->h || column < 0 || column >= c->w) continue;
        const double value = input_at(c, image, (channel * c->h + row) * c->w + column);
        max = value > max ? value : max;
    }
    return (exact){max, FLT_MIN};       /* NEON of armv7 takes denormals for zero */
}

static exact mean_at(const layer_call *c, int image, int channel)
{
    const int area = c->h * c->w;
    double sum = 0, size = 0;
    for (int i = 0; i < area; ++i) {
        const double value = input_at(c, image, channel * area + i);
        sum += value;
        size += fabs(value);
    }
    return (exact){sum / area, (area + 2.0) * (FLT_EPSILON * size / area + FLT_MIN)};
}

static exact upsampled_at(const layer_call *c, int image, int channel, int y, int x)
{
    const int at = (channel * c->h + y / c->stride) * c->w + x / c->stride;
    return (exact){(float)(c->alpha * input_at(c, image, at)), FLT_MIN};
}

static exact routed_at(const layer_call *c, int image, int at)
{
    const layer_input *input = c->input;
    for (; at >= input->size; ++input) at -= input->size;
    return (exact){input->data[(size_t)image * (size_t)input->size + (size_t)at], FLT_TRUE_MIN};
}

/* Where input 1 has what is added to element `at` of input 0, or -1. */
static int shortcut_from(const layer_call *c, int at)
{
    const int area = c->out_h * c->out_w, k = at / area, y = at % area / c->out_w;
    const int x = at % c->out_w, sample = max_int(c->out_w / c->w, 1);
    const int stride = max_int(c->w / c->out_w, 1);
    const bool met = k < c->c && y % sample == 0 && x % sample == 0 && y / sample < c->h &&
                     x / sample < c->w;
    return met ? (k * c->h + y / sample * stride) * c->w + x / sample * stride : -1;
}

static exact shortcut_at(const layer_call *c, int image, int at)
{
    const layer_input *second = &c->input[1];
    const int from = shortcut_from(c, at);
    const double a = (from < 0 ? 1 : c->alpha) * input_at(c, image, at);
    const double b = from < 0 ? 0 : c->beta * second->data[(size_t)image * (size_t)second->size +
                                                          (size_t)from];
    const double y = gemm_activate(a + b, c->activation);
    const double bound = 4 * (FLT_EPSILON * (fabs(a) + fabs(b)) + FLT_MIN);
    return (exact){y, gemm_activation_bound(bound, y, c->activation)};
}

static exact yolo_at(const layer_call *c, int image, int channel, int at)
{
    const int entry = channel % (c->c / c->anchors);
    const double x = input_at(c, image, at);
    if (entry == 2 || entry == 3) return (exact){x, FLT_TRUE_MIN};
    const double y = gemm_activate(x, CONV_LOGISTIC);
    return (exact){y, gemm_activation_bound(0, y, CONV_LOGISTIC)};
}

static exact output_at(const layer_call *c, int image, int at)
{
    const int area = c->out_h * c->out_w, channel = at / area, y = at % area / c->out_w;
    switch (c->kind) {
    case LAYER_MAXPOOL: return max_at(c, image, channel, y, at % c->out_w);
    case LAYER_AVGPOOL: return mean_at(c, image, channel);
    case LAYER_UPSAMPLE: return upsampled_at(c, image, channel, y, at % c->out_w);
    case LAYER_ROUTE: return routed_at(c, image, at);
    case LAYER_SHORTCUT: return shortcut_at(c, image, at);
    case LAYER_YOLO: return yolo_at(c, image, channel, at);
    }
    return (exact){NAN, 0};
}

gemm_error gemm_layer_compare(const layer_call *c)
{
    gemm_error worst = {.ratio = -1};
    const int size = c->out_c * c->out_h * c->out_w;
    for (int image = 0; image < c->batch; ++image) {
        for (int at = 0; at < size; ++at) {
            const exact e = output_at(c, image, at);
            const float actual = c->output[(size_t)image * (size_t)size + (size_t)at];
            gemm_error_add(&worst, e.value, e.bound, actual, image, 0, at);
        }
    }
    return worst;
}
