/* SPDX-License-Identifier: MIT */
/*
 * Convolutions of `packed` on each instruction set of this processor: activations and maxima are
 * Darknet's for infinities, NaN, zeroes and denormals, on every way through the code.
 *
 *   test_conv_ends [--isa NAME]
 */
#include "driver/driver.h"
#include "packed/packed.h"
#include "support/activated.h"
#include "support/conv_shape.h"
#include "support/float_modes.h"
#include "support/isas.h"

#include "darknet.h"

/* Darknet's activation functions. Here they are compiled without -Ofast, so NaN and infinity
   count. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "activations.h"
#pragma GCC diagnostic pop

#include <float.h>
#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const float ENDS[] = {
    INFINITY,     -INFINITY,     NAN, 0,   FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN, 1e-40f, -1e-40f,
    FLT_TRUE_MIN, -FLT_TRUE_MIN, 88,  -88, 90,      -90,      104,     -104,     1,      -1,
};

/* Every way through the code; the last needs more than one block of K. */
static const conv_shape END_SHAPES[] = {
    {"shifts", 1, 1, 5, 13, 51, 65, 3, 1, 1},
    {"any", 1, 1, 5, 13, 51, 65, 3, 1, 0},
    {"stride 2", 1, 1, 33, 131, 51, 5, 3, 2, 1},
    {"few channels", 1, 1, 2, 13, 48, 8, 3, 1, 1},
    {"few channels, stride 2", 1, 1, 2, 131, 51, 5, 3, 2, 1},
    {"1x1", 1, 1, 3, 13, 47, 9, 1, 1, 0},
    {"tail columns", 1, 1, 200, 11, 27, 80, 1, 1, 0},
    {"depthwise", 1, 4, 4, 13, 51, 4, 3, 1, 1},
    {"depthwise stride 2", 1, 4, 4, 13, 51, 4, 3, 2, 1},
    {"blocks of K", 1, 1, 1300, 11, 43, 17, 1, 1, 0},
};

/* The same with maxima of 2x2 blocks. */
static const conv_shape POOLED_END_SHAPES[] = {
    {"few channels", 1, 1, 2, 14, 96, 8, 3, 1, 1},
    {"few channels, stride 2", 1, 1, 2, 27, 95, 8, 3, 2, 1},
};

/* Puts ENDS into one channel from (y, x) = (2, 2) on, 4 apart, because 0 times a neighbour may
   be NaN. */
static void place_ends(float *channel, int h, int w)
{
    enum { FIRST = 2, APART = 4 };
    int n = 0;
    for (int y = FIRST; y < h; y += APART) {
        for (int x = FIRST; x < w; x += APART) channel[y * w + x] = ENDS[n++ % (int)COUNT(ENDS)];
    }
}

/* Only the first channel of a group is not 0, and only the middle tap of a filter is 1. Scales
   are 1 and -1, shifts are +0 and -0, so the activation meets each of ENDS and its negative. A
   shift of -100 makes most maxima negative. */
static void fill_ends(conv_call *c)
{
    float *input = (float *)c->input, *weights = (float *)c->weights;
    float *scale = (float *)c->scale, *shift = (float *)c->shift;
    const int taps = c->size * c->size, channels = c->c / c->groups;
    for (int g = 0; g < c->groups; ++g) place_ends(input + g * channels * c->h * c->w, c->h, c->w);
    for (int i = 0; i < c->n * channels; ++i) weights[i * taps + taps / 2] = 1;
    for (int i = 0; i < c->n; ++i) {
        scale[i] = i & 1 ? -1 : 1;
        shift[i] = i & 4 ? -100 : i & 2 ? -0.0f : 0;
    }
}

static float sum_at(const conv_call *c, int filter, int y, int x)
{
    const int channels = c->c / c->groups, first = filter / (c->n / c->groups) * channels;
    const float *w = c->weights + filter * channels * c->size * c->size;
    float sum = 0;
    for (int k = 0; k < channels; ++k) {
        for (int t = 0; t < c->size * c->size; ++t, ++w) {
            const int row = y * c->stride + t / c->size - c->pad;
            const int column = x * c->stride + t % c->size - c->pad;
            if (row < 0 || row >= c->h || column < 0 || column >= c->w) continue;
            sum += *w * c->input[((first + k) * c->h + row) * c->w + column];
        }
    }
    return sum;
}

static float darknet_activate(float x, conv_activation a)
{
    switch (a) {
    case CONV_LINEAR:
        return linear_activate(x);
    case CONV_LEAKY:
        return leaky_activate(x);
    case CONV_RELU:
        return relu_activate(x);
    case CONV_LOGISTIC:
        return logistic_activate(x);
    default:
        return activated(x, a);
    }
}

/* Equal but for the last digits: Darknet multiplies by .1 and takes exp in double precision. Where
   denormals are zero, its sign may be another. */
static bool same_float(float x, float expected, float least)
{
    if (isnan(expected)) return isnan(x);
    if (expected == 0 && least > FLT_TRUE_MIN) return x == 0;
    if (isinf(expected) || expected == 0) return x == expected && !signbit(x) == !signbit(expected);
    return fabsf(x - expected) <= 4 * FLT_EPSILON * fabsf(expected) + least;
}

/* What Darknet's layer gives there before a maxpool. */
static float end_at(const conv_call *c, int filter, int y, int x)
{
    const float before = c->scale[filter] * sum_at(c, filter, y, x) + c->shift[filter];
    return darknet_activate(before, c->activation);
}

/* Darknet's maxpool of the block (y, x). */
static float pooled_end_at(const conv_call *c, int filter, int y, int x)
{
    float max = -FLT_MAX;
    for (int i = 0; i < 4; ++i) {
        const float end = end_at(c, filter, 2 * y + i / 2, 2 * x + i % 2);
        max = end > max ? end : max;
    }
    return max;
}

/* Whether each output is Darknet's; else says which is not. */
static bool ends_right(const conv_call *c, const gemm_ukernel *u, char *why, size_t size)
{
    /* The others are expected in double precision, which keeps what floats round to zero: x up to
       128, times a factor that is a denormal. */
    const float least =
        c->activation > CONV_LOGISTIC ? 128 * FLT_MIN : float_mode_least(u->name);
    const int unit = c->pool ? 2 : 1, width = c->out_w / unit, area = c->out_h / unit * width;
    for (int i = 0; i < c->n * area; ++i) {
        const int filter = i / area, y = i % area / width, x = i % width;
        const float expected = c->pool ? pooled_end_at(c, filter, y, x) : end_at(c, filter, y, x);
        if (same_float(c->output[i], expected, least)) continue;
        snprintf(why, size, "%g, Darknet's is %g (filter %d at %d, %d)", (double)c->output[i],
                 (double)expected, filter, y, x);
        return false;
    }
    return true;
}

static void judge_ends(const conv_shape *s, bool pool, conv_activation a, const gemm_ukernel *u)
{
    char name[64], why[160] = "it did not run";
    conv_call c = conv_shape_make(s, a);
    if (pool) conv_shape_pool(&c);
    fill_ends(&c);
    gemm_note note;
    gemm_context context = gemm_make_context(&note);
    context.threads = 1;
    context.isa = u;
    const bool right = gemm_packed_conv(&c, &context, NULL) == GEMM_DONE &&
                       ends_right(&c, u, why, sizeof why);
    conv_shape_free(&c);
    snprintf(name, sizeof name, "ends%s of activation %s, %s, %s", pool ? " pooled" : "",
             activation_name(a), s->name, u->name);
    report_judged(name, right ? NULL : why);
}

static void test_ends(const gemm_ukernel *u, const test_options *o)
{
    (void)o;
    for (size_t s = 0; s < COUNT(END_SHAPES); ++s) {
        for (int a = CONV_LINEAR; a < CONV_ACTIVATIONS; ++a)
            judge_ends(&END_SHAPES[s], false, (conv_activation)a, u);
    }
    for (size_t s = 0; s < COUNT(POOLED_END_SHAPES); ++s) {
        for (int a = CONV_LINEAR; a <= CONV_RELU; ++a)
            judge_ends(&POOLED_END_SHAPES[s], true, (conv_activation)a, u);
    }
}

int main(int argc, char **argv)
{
    const test_options o = options_read(argc, argv, (test_options){0}, "--isa", NULL);
    test_isas(&o, test_ends);
    return report_status();
}
