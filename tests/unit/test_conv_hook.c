/* SPDX-License-Identifier: MIT */
/*
 * Darknet's convolutional and connected layers with the hook and without: what the hook has to
 * decline, or to do besides.
 */
#include "driver/driver.h"
#include "gemm_variant.h"
#include "packed/packed.h"
#include "support/heap.h"
#include "support/network.h"
#include "support/report.h"

#include "darknet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Of Darknet's layers, whose own headers do not compile without warnings. */
layer make_convolutional_layer(int batch, int h, int w, int c, int n, int groups, int size,
                               int stride, int padding, ACTIVATION activation, int batch_normalize,
                               int binary, int xnor, int adam);
layer make_connected_layer(int batch, int inputs, int outputs, ACTIVATION activation,
                           int batch_normalize, int adam);

static gemm_status decline(const gemm_op *op, const gemm_context *context, const void *params)
{
    (void)op, (void)context, (void)params;
    return GEMM_DECLINED;
}

/* Darknet's layer with the hook and without: what the hook has to decline, or to do besides. */
typedef struct hook_case {
    const char *name;
    ACTIVATION activation;
    int size, stride, pad, groups, xnor;
    bool delta, declines; /* a delta is wanted; the row declines */
} hook_case;

static const hook_case HOOK_CASES[] = {
    {"leaky", LEAKY, 3, 1, 1, 2, 0, false, false},
    {"relu", RELU, 3, 1, 1, 1, 0, false, false},
    {"ramp", RAMP, 3, 2, 1, 1, 0, false, false},
    {"elu", ELU, 1, 1, 0, 1, 0, false, false},
    {"1x1 stride 2", LEAKY, 1, 2, 0, 1, 0, false, false},
    {"1x1 pad 1", LEAKY, 1, 1, 1, 1, 0, false, false},
    {"xnor", LEAKY, 3, 1, 1, 1, 1, false, false},
    {"delta wanted", LEAKY, 3, 1, 1, 1, 0, true, false},
    {"declined", LEAKY, 3, 1, 1, 1, 0, false, true},
};

static void judge_hook_case(const hook_case *h)
{
    enum { BATCH = 2, SIDE = 13, C = 6, N = 8, PLACES = BATCH * C * (SIDE + 2) * (SIDE + 2) };
    float input[PLACES]; /* with what Darknet reads behind the image under a padded 1x1 */
    char name[48];
    rng r = rng_make(1, 0);
    for (int i = 0; i < PLACES; ++i) input[i] = rng_float(&r);
    layer l = make_convolutional_layer(BATCH, SIDE, SIDE, C, N, h->groups, h->size, h->stride,
                                       h->pad, h->activation, 1, 0, h->xnor, 0);
    for (int i = 0; i < l.nweights; ++i) l.weights[i] = rng_float(&r);
    for (int i = 0; i < N; ++i) {
        l.rolling_mean[i] = l.biases[i] = rng_float(&r);
        l.rolling_variance[i] = 1.5f + rng_float(&r);
    }
    gemm_variant row = *gemm_find("packed");
    if (h->declines) row.run = decline;
    /* a workspace that another layer got, too small for this one */
    network net = {.input = input,
                   .delta = h->delta ? input : NULL,
                   .workspace = malloc(sizeof(float)),
                   .workspace_size = sizeof(float)};
    const int n = l.outputs * BATCH;
    const size_t bytes = (size_t)n * sizeof(float);
    float *expected = malloc(2 * bytes);
    gemm_set_variant(gemm_find("stock"));
    network_run_layer(&l, &net);
    memcpy(expected, l.output, bytes);
    memcpy(expected + n, l.x, bytes); /* which backward reads */
    gemm_set_variant(&row);
    network_run_layer(&l, &net);
    memset(l.output, 0xff, bytes);
    memset(l.x, 0xff, bytes);
    const size_t given = heap_given();
    network_run_layer(&l, &net);
    const size_t kept = heap_given() - given;
    const double off = network_distance(expected, l.output, (size_t)n),
                 x_off = h->delta ? network_distance(expected + n, l.x, (size_t)n) : 0;
    free(expected);
    free_layer(l);
    gemm_host_free(net.workspace);
    snprintf(name, sizeof name, "hook-%s", h->name);
    report_that(name, off <= 1e-5 && x_off <= 1e-5 && !kept,
                "off by %g, its x by %g, %zu bytes kept", off, x_off, kept);
}

/* A connected layer. `calls`: of the row in a pass. */
typedef struct connected_case {
    const char *name;
    ACTIVATION activation;
    int batch, normalized;
    LAYER_TYPE of;              /* the layer of the network that it is, or that it is inside of */
    gemm_conv_mode mode;
    bool delta, declines;
    int calls;
} connected_case;

static const connected_case CONNECTED_CASES[] = {
    {"leaky", LEAKY, 1, 1, CONNECTED, GEMM_HOOK, false, false, 1},
    {"relu", RELU, 1, 0, CONNECTED, GEMM_DIRECT, false, false, 1},
    {"logistic", LOGISTIC, 1, 1, CONNECTED, GEMM_HOOK, false, false, 1},
    {"linear", LINEAR, 1, 0, CONNECTED, GEMM_HOOK, false, false, 1},
    {"tanh", TANH, 1, 1, CONNECTED, GEMM_HOOK, false, false, 1},
    {"batch 2", LEAKY, 2, 1, CONNECTED, GEMM_HOOK, false, false, 0},
    {"inside of rnn", LEAKY, 1, 1, RNN, GEMM_HOOK, false, false, 0},
    {"im2col", LEAKY, 1, 1, CONNECTED, GEMM_IM2COL, false, false, 0},
    {"delta wanted", LEAKY, 1, 1, CONNECTED, GEMM_HOOK, true, false, 0},
    {"declined", LEAKY, 1, 1, CONNECTED, GEMM_HOOK, false, true, 1},
};

static int connected_calls;
static bool connected_declines;

static gemm_status run_connected(const gemm_op *op, const gemm_context *context,
                                 const void *params)
{
    ++connected_calls;
    return connected_declines ? GEMM_DECLINED : gemm_packed_conv(op->conv, context, params);
}

static void judge_connected_case(const connected_case *h)
{
    enum { INPUTS = 131, OUTPUTS = 37, MOST = 2 };
    float input[MOST * INPUTS], expected[MOST * OUTPUTS];
    char name[48];
    rng r = rng_make(1, 0);
    for (int i = 0; i < MOST * INPUTS; ++i) input[i] = rng_float(&r);
    layer l = make_connected_layer(h->batch, INPUTS, OUTPUTS, h->activation, h->normalized, 0);
    for (int i = 0; i < OUTPUTS; ++i) {
        l.biases[i] = rng_float(&r);
        if (!h->normalized) continue;
        l.rolling_mean[i] = rng_float(&r);
        l.rolling_variance[i] = 1.5f + rng_float(&r);
    }
    gemm_variant row = *gemm_find("packed");
    layer whole = l;
    whole.type = h->of;
    network net = {.input = input, .delta = h->delta ? input : NULL};
    const int n = OUTPUTS * h->batch;
    gemm_set_variant(gemm_find("stock"));
    network_run_layer(&whole, &net);
    memcpy(expected, l.output, (size_t)n * sizeof(float));
    memset(l.output, 0xff, (size_t)n * sizeof(float));
    row.run = run_connected;
    connected_declines = h->declines;
    connected_calls = 0;
    gemm_set_variant(&row);
    gemm_set_conv(h->mode);
    network_run_layer(&whole, &net);
    gemm_set_conv(GEMM_HOOK);
    const double off = network_distance(expected, l.output, (size_t)n);
    free_layer(l);
    snprintf(name, sizeof name, "connected-%s", h->name);
    report_that(name, off <= 1e-5 && connected_calls == h->calls,
                "off by %g, the row was asked %d times, not %d", off, connected_calls, h->calls);
}

int main(void)
{
    if (!freopen("/dev/null", "w", stderr)) return 2; /* Darknet prints every layer it makes */
    gemm_set_threads(3);        /* more than images: a batch stays whole */
    for (size_t i = 0; i < COUNT(HOOK_CASES); ++i) judge_hook_case(&HOOK_CASES[i]);
    for (size_t i = 0; i < COUNT(CONNECTED_CASES); ++i) judge_connected_case(&CONNECTED_CASES[i]);
    return report_status();
}
