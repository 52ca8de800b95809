/* SPDX-License-Identifier: MIT */
/*
 * A small Darknet for tests/system/test_layers.sh, in C with the structs of alexeyab/ and in C++
 * with those of hankai/. Its layers are plain loops. Each cfg is the same network, which has one of
 * all that the hook does for AlexeyAB's Darknet, and two layers that the hook leaves alone.
 */
#include "fake_fork.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Functions that the other folder declares, or nothing does. */
#ifndef __cplusplus
void forward_convolutional_layer(ARGUMENTS);
void forward_maxpool_layer(ARGUMENTS);
void forward_upsample_layer(ARGUMENTS);
void forward_route_layer(ARGUMENTS);
void forward_shortcut_layer(ARGUMENTS);
void forward_dropout_layer(ARGUMENTS);
void forward_yolo_layer(ARGUMENTS);
#endif

/* So that a test sees which layers run here. */
static void say_own(const state_of_pass *s)
{
    fprintf(stderr, "own %d\n", s->index);
}

static double activated(double x, ACTIVATION a)
{
    switch (a) {
    case LOGISTIC: return 1 / (1 + exp(-x));
    case RELU: return x > 0 ? x : 0;
    case RELU6: return x < 0 ? 0 : x > 6 ? 6 : x;
    case LEAKY: return x > 0 ? x : .1 * x;
    case ELU: return x > 0 ? x : exp(x) - 1;
    case SWISH: return x / (1 + exp(-x));
    case MISH: return x * tanh(log1p(exp(x)));
    case HARD_MISH: return x > 0 ? x : x > -2 ? x * x / 2 + x : 0;
    default: return x;
    }
}

/* The sum of filter k of image b at (y, x). */
static double filtered(const layer *l, const float *input, int b, int k, int y, int x)
{
    const int size = l->size, channels = l->c / l->groups;
    const int first = k / (l->n / l->groups) * channels;
    const float *weight = l->weights + (size_t)k * channels * size * size;
    double sum = 0;
    for (int c = 0; c < channels; ++c)
        for (int i = 0; i < size; ++i)
            for (int j = 0; j < size; ++j, ++weight) {
                const int row = y * l->stride - l->pad + i * l->dilation;
                const int column = x * l->stride - l->pad + j * l->dilation;
                if (row < 0 || row >= l->h || column < 0 || column >= l->w) continue;
                const int plane = b * l->c + first + c;
                sum += (double)*weight * input[(plane * l->h + row) * l->w + column];
            }
    return sum;
}

void forward_convolutional_layer(ARGUMENTS)
{
    float *out = l.output;
    say_own(&s);
    for (int b = 0; b < l.batch; ++b)
        for (int k = 0; k < l.n; ++k)
            for (int y = 0; y < l.out_h; ++y)
                for (int x = 0; x < l.out_w; ++x) {
                    double v = filtered(&l, s.input, b, k, y, x);
                    const double root = sqrt(l.rolling_variance[k] + .00001);
                    if (l.batch_normalize) v = (v - l.rolling_mean[k]) / root * l.scales[k];
                    *out++ = (float)activated(v + l.biases[k], l.activation);
                }
}

void forward_maxpool_layer(ARGUMENTS)
{
    float *out = l.output;
    say_own(&s);
    for (int k = 0; k < l.batch * l.c; ++k)
        for (int y = 0; y < l.out_h; ++y)
            for (int x = 0; x < l.out_w; ++x) {
                float most = -FLT_MAX;
                for (int i = 0; i < l.size * l.size; ++i) {
                    const int row = y * l.stride - l.pad / 2 + i / l.size;
                    const int column = x * l.stride - l.pad / 2 + i % l.size;
                    if (row < 0 || row >= l.h || column < 0 || column >= l.w) continue;
                    const float v = s.input[(k * l.h + row) * l.w + column];
                    if (v > most) most = v;
                }
                *out++ = most;
            }
}

void forward_upsample_layer(ARGUMENTS)
{
    say_own(&s);
    for (int i = 0; i < l.batch * l.outputs; ++i) {
        const int x = i % l.out_w, y = i / l.out_w % l.out_h, k = i / (l.out_w * l.out_h);
        l.output[i] = l.scale * s.input[(k * l.h + y / l.stride) * l.w + x / l.stride];
    }
}

void forward_route_layer(ARGUMENTS)
{
    int at = 0;
    say_own(&s);
    for (int i = 0; i < l.n; ++i) {
        const int size = l.input_sizes[i], part = size / l.groups;
        const float *input = s.net.layers[l.input_layers[i]].output;
        for (int b = 0; b < l.batch; ++b)
            memcpy(l.output + b * l.outputs + at, input + b * size + part * l.group_id,
                   part * sizeof(float));
        at += part;
    }
}

/* The weight of input k at channel c. */
static double weight_of(const layer *l, int k, int c)
{
    const int inputs = l->n + 1, step = l->nweights / inputs;
    double sum = .0001, own = 1;
    if (!step) return 1;
    for (int i = 0; i < inputs; ++i) {
        double w = l->weights[step == 1 ? i : i * step + c];
        if (l->weights_normalization == SOFTMAX_NORMALIZATION) w = exp(w);
        if (l->weights_normalization == RELU_NORMALIZATION && w < 0) w = 0;
        sum += w;
        if (i == k) own = w;
    }
    return l->weights_normalization == NO_NORMALIZATION ? own : own / sum;
}

void forward_shortcut_layer(ARGUMENTS)
{
    say_own(&s);
    for (int i = 0; i < l.batch * l.outputs; ++i) {
        const int c = i % l.outputs / (l.h * l.w), b = i / l.outputs;
        double v = weight_of(&l, 0, c) * s.input[i];
        for (int k = 0; k < l.n; ++k)
            if (i % l.outputs < l.input_sizes[k])
                v += weight_of(&l, k + 1, c) *
                     s.net.layers[l.input_layers[k]].output[b * l.input_sizes[k] + i % l.outputs];
        l.output[i] = (float)activated(v, l.activation);
    }
}

void forward_dropout_layer(ARGUMENTS)
{
    (void)l;
    say_own(&s);
}

void forward_yolo_layer(ARGUMENTS)
{
    const int area = l.w * l.h, entries = l.classes + 5;
    say_own(&s);
    for (int i = 0; i < l.batch * l.outputs; ++i) {
        const int entry = i / area % entries;
        double v = s.input[i];
        if (!l.new_coords && entry != 2 && entry != 3) v = activated(v, LOGISTIC);
        if (entry < 2) v = l.scale_x_y * v - .5 * (l.scale_x_y - 1);
        l.output[i] = (float)v;
    }
}

/* ---- The network ---- */

enum { NETWORKS = 4, ARENA = 1 << 22 };
enum { MOST = 40, SIDE = 24, CHANNELS = 6, CLASSES = 3, ANCHORS = 2 };

/* The arrays of a network. The next network gets those of one that was freed, at the same
   addresses, because then a plan that was not dropped shows. */
static struct arena {
    float *memory;
    int used, is_taken;
} arenas[NETWORKS], *arena;

static void take_arena(void)
{
    for (arena = arenas; arena->is_taken; ++arena)
        if (arena == &arenas[NETWORKS - 1]) abort();
    if (!arena->memory) arena->memory = (float *)malloc(ARENA * sizeof(float));
    arena->used = 0;
    arena->is_taken = 1;
}

static float *floats(int n)
{
    float *begin = arena->memory + arena->used;
    if (n > ARENA - arena->used) abort();
    arena->used += (n + 15) / 16 * 16;
    memset(begin, 0, n * sizeof(float));
    return begin;
}

/* A layer behind the last one: sizes of its input, and what all layers have. */
static layer *begin(network *net)
{
    layer *l = &net->layers[net->n];
    const layer *last = net->n ? l - 1 : NULL;
    l->batch = net->batch;
    l->groups = l->stride = l->dilation = 1;
    l->scale = l->scale_x_y = 1;
    l->activation = LINEAR;
    l->c = last ? last->out_c : CHANNELS;
    l->h = last ? last->out_h : SIDE;
    l->w = last ? last->out_w : SIDE;
    l->index = -1;
    ++net->n;
    return l;
}

static void end(layer *l, int out_c, int out_h, int out_w)
{
    l->stride_x = l->stride_y = l->stride;
    l->out_c = out_c;
    l->out_h = out_h;
    l->out_w = out_w;
    l->inputs = l->c * l->h * l->w;
    l->outputs = out_c * out_h * out_w;
    if (!l->output) l->output = floats(l->batch * l->outputs);
}

static layer *convolution(network *net, int n, int size, int stride, int groups, int norm,
                          ACTIVATION a)
{
    layer *l = begin(net);
    l->type = TYPE(CONVOLUTIONAL);
    l->forward = forward_convolutional_layer;
    l->n = n;
    l->size = size;
    l->stride = stride;
    l->pad = size / 2;
    l->groups = groups;
    l->batch_normalize = norm;
    l->activation = a;
    l->nweights = l->c / groups * n * size * size;
    l->weights = floats(l->nweights);
    l->biases = floats(n);
    l->scales = floats(n);
    l->rolling_mean = floats(n);
    l->rolling_variance = floats(n);
    end(l, n, (l->h - 1) / stride + 1, (l->w - 1) / stride + 1);
    return l;
}

static void maxpool(network *net, int size, int stride)
{
    layer *l = begin(net);
    l->type = TYPE(MAXPOOL);
    l->forward = forward_maxpool_layer;
    l->size = size;
    l->stride = stride;
    l->pad = size - 1;
    end(l, l->c, (l->h - 1) / stride + 1, (l->w - 1) / stride + 1);
}

static void upsample(network *net)
{
    layer *l = begin(net);
    l->type = TYPE(UPSAMPLE);
    l->forward = forward_upsample_layer;
    l->stride = 2;
    end(l, l->c, 2 * l->h, 2 * l->w);
}

static void dropout(network *net)
{
    layer *l = begin(net);
    l->type = TYPE(DROPOUT);
    l->forward = forward_dropout_layer;
    l->output = l[-1].output;
    end(l, l->c, l->h, l->w);
}

/* Inputs of a layer by number: one, or two where second is not -1. */
static void from(network *net, layer *l, int first, int second)
{
    l->n = second < 0 ? 1 : 2;
    l->index = first;
    l->input_layers = (int *)calloc(2, sizeof(int));
    l->input_sizes = (int *)calloc(2, sizeof(int));
    l->input_layers[0] = first;
    l->input_sizes[0] = net->layers[first].outputs;
    if (second < 0) return;
    l->input_layers[1] = second;
    l->input_sizes[1] = net->layers[second].outputs;
}

static void route(network *net, int first, int second, int groups)
{
    layer *l = begin(net);
    const layer *one = &net->layers[first];
    const int more = second < 0 ? 0 : net->layers[second].out_c;
    l->type = TYPE(ROUTE);
    l->forward = forward_route_layer;
    l->groups = groups;
    l->group_id = groups - 1;
    from(net, l, first, second);
    end(l, (one->out_c + more) / groups, one->out_h, one->out_w);
}

/* weights: for each channel 2, for each input 1, none 0 */
static void shortcut(network *net, int first, int second, int weights, WEIGHTS_NORMALIZATION_T norm,
                     ACTIVATION a)
{
    layer *l = begin(net);
    l->type = TYPE(SHORTCUT);
    l->forward = forward_shortcut_layer;
    l->activation = a;
    l->weights_normalization = norm;
    from(net, l, first, second);
    l->nweights = weights ? (l->n + 1) * (weights == 2 ? l->c : 1) : 0;
    l->weights = weights ? floats(l->nweights) : NULL;
    end(l, l->c, l->h, l->w);
}

static void yolo(network *net, float scale, int new_coords)
{
    layer *l = begin(net);
    l->type = TYPE(YOLO);
    l->forward = forward_yolo_layer;
    l->n = ANCHORS;
    l->classes = CLASSES;
    l->scale_x_y = scale;
    l->new_coords = new_coords;
    end(l, l->c, l->h, l->w);
}

static void make_layers(network *net)
{
    const int predictions = ANCHORS * (CLASSES + 5);
    convolution(net, 16, 3, 1, 1, 1, LEAKY);
    maxpool(net, 2, 2);                                         /* one step with layer 0 */
    convolution(net, 24, 1, 1, 1, 0, MISH);
    route(net, 2, 1, 4);                                        /* 3: 10 channels */
    convolution(net, 24, 3, 1, 1, 1, HARD_MISH);
    convolution(net, 24, 1, 1, 1, 1, RELU6);
    shortcut(net, 4, -1, 0, NO_NORMALIZATION, MISH);
    shortcut(net, 4, 5, 2, SOFTMAX_NORMALIZATION, LEAKY);       /* 7 */
    shortcut(net, 1, 6, 1, RELU_NORMALIZATION, RELU);           /* 8: layer 1 is smaller */
    shortcut(net, 7, -1, 2, NO_NORMALIZATION, LINEAR);
    convolution(net, 24, 3, 1, 1, 1, ELU);
    convolution(net, 48, 1, 1, 1, 1, LEAKY);                    /* 11, 12, 13, 15: a chain */
    convolution(net, 48, 3, 1, 48, 1, LEAKY);
    convolution(net, 24, 1, 1, 1, 1, LINEAR);
    dropout(net);
    shortcut(net, 10, -1, 0, NO_NORMALIZATION, LINEAR);
    convolution(net, 24, 3, 2, 1, 1, SWISH);
    convolution(net, 24, 1, 1, 1, 0, RELU);
    upsample(net);
    route(net, 18, 15, 1);                                      /* 19 */
    convolution(net, 32, 3, 1, 1, 1, LEAKY);
    maxpool(net, 2, 2);
    maxpool(net, 5, 1);
    convolution(net, 32, 3, 1, 2, 1, LEAKY)->dilation = 2;      /* 23: left to the host */
    net->layers[23].pad = 2;
    convolution(net, predictions, 1, 1, 1, 0, LOGISTIC);
    yolo(net, 2, 1);
    route(net, 19, -1, 2);
    convolution(net, predictions, 1, 1, 1, 0, LINEAR);
    yolo(net, 1.05f, 0);
}

static void fill(float *to, int n, float low, float high)
{
    static unsigned state = 5;
    if (!n) state = 5;
    for (int i = 0; to && i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        to[i] = low + (high - low) * (float)(state >> 8) / (1 << 24);
    }
}

void load_weights(network *net, PATH file)
{
    (void)file;
    hook_network_changes(net);
    fill(NULL, 0, 0, 0);
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        const int is_convolution = l->type == TYPE(CONVOLUTIONAL), n = is_convolution ? l->n : 0;
        const float most = is_convolution ? sqrtf(6.f * l->n / l->nweights) : 1;
        fill(l->weights, l->nweights, -most, most);
        fill(l->biases, n, -.5f, .5f);
        fill(l->scales, n, .8f, 1.2f);
        fill(l->rolling_mean, n, -.1f, .1f);
        fill(l->rolling_variance, n, .00001f, 1.2f);    /* so that the epsilon counts */
    }
}

void set_batch_network(network *net, int batch)
{
    net->batch = batch;
    for (int i = 0; i < net->n; ++i) net->layers[i].batch = batch;
}

void free_layer(FREED l)
{
    hook_layer_changes(&l);
    for (int i = 0; i < NETWORKS; ++i)
        if (l.output >= arenas[i].memory && l.output < arenas[i].memory + ARENA)
            arenas[i].is_taken = 0;
    free(l.input_layers);
    free(l.input_sizes);
}

network parse_network_cfg_custom(PATH cfg, int batch, int time_steps)
{
    network net;
    (void)cfg, (void)time_steps;
    memset(&net, 0, sizeof net);
    take_arena();
    net.batch = batch;
    net.inputs = CHANNELS * SIDE * SIDE;
    net.layers = (layer *)calloc(MOST, sizeof *net.layers);
    make_layers(&net);
    return net;
}
