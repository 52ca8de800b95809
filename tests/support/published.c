/* SPDX-License-Identifier: MIT */
/*
 * The outputs of a network, to compare those of two Darknets. It is compiled against this project's
 * libdarknet, and with -DALEXEYAB against AlexeyAB's.
 *
 *   published draw CFG WEIGHTS PICTURE        random weights, for numbers that do not grow
 *   published sure CFG WEIGHTS PICTURE...     prints the pictures of which no xnor layer takes the
 *                                             sign of a number that rounding may turn
 *   published write CFG WEIGHTS FILE PICTURE...
 *   published compare FILE FILE               prints the largest difference of each kind of output,
 *                                             as a part of the largest number of that output
 *
 * FILE: for each output of each picture its name, how many numbers, and these. Outputs are the
 * layers that find boxes, and the last layer.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darknet.h"
#ifndef ALEXEYAB
#include "hook/pjreddie.h"
#endif

enum { NAME = 16 };

static void *must(void *p, const char *what)
{
    if (p) return p;
    perror(what);
    exit(1);
}

static bool finds_boxes(const layer *l)
{
    return l->type == YOLO || l->type == GAUSSIAN_YOLO || l->type == REGION;
}

static bool is_output(const network *net, int i)
{
    const layer *l = &net->layers[i];
    const bool last = i == net->n - 1 || (i == net->n - 2 && l[1].type == COST);
    return finds_boxes(l) || (last && l->type != COST);
}

static const char *name_of(const layer *l)
{
    switch (l->type) {
    case YOLO: return "yolo";
    case GAUSSIAN_YOLO: return "Gaussian_yolo";
    case REGION: return "region";
    default: return "last layer";
    }
}

/* ---- what the Darknets do differently ---- */

#ifdef ALEXEYAB

network parse_network_cfg_custom(char *cfg, int batch, int time_steps);
void load_weights(network *net, char *weights);

static network *load(char *cfg, char *weights)
{
    extern int gpu_index;       /* as in darknet's main: without it xnor weights are a GPU's */
    network *net = must(malloc(sizeof *net), "malloc");
    gpu_index = -1;
    *net = parse_network_cfg_custom(cfg, 1, 1);
    load_weights(net, weights);
    fuse_conv_batchnorm(*net);
    calculate_binary_weights(*net);
    return net;
}

static void predict(network *net, float *input)
{
    network_predict(*net, input);
}

/* A region layer has all numbers of a place together, and x and y before the logistic. */
static void put_output(const layer *l, float *to)
{
    if (l->type != REGION) {
        memcpy(to, l->output, (size_t)l->outputs * sizeof *to);
        return;
    }
    const int area = l->w * l->h, entries = l->outputs / area;
    for (int i = 0; i < l->outputs; ++i) {
        const float x = l->output[i % area * entries + i / area];
        to[i] = i / area % (entries / l->n) < 2 ? 1 / (1 + expf(-x)) : x;
    }
}

#else

static network *load(char *cfg, char *weights)
{
    network *net = parse_network_cfg(cfg);
    load_weights(net, weights);
    set_batch_network(net, 1);
    return net;
}

static void predict(network *net, float *input)
{
    network_predict(net, input);
}

static void put_output(const layer *l, float *to)
{
    memcpy(to, l->output, (size_t)l->outputs * sizeof *to);
}

/* ---- weights ---- */

static uint32_t state = 64;

/* Uniform in [-1, 1). */
static float draw(void)
{
    state = 1664525u * state + 1013904223u;
    return (float)((int32_t)state >> 8) / (float)(1 << 23);
}

static int filters_of(const layer *l)
{
    return l->type == CONNECTED ? l->outputs : l->n;
}

static void scale_weights(layer *l, float scale)
{
    const int n = l->type == CONNECTED ? l->outputs * l->inputs : l->nweights;
    for (int i = 0; i < n; ++i) l->weights[i] *= scale;
}

/* The variances are small, so it shows where 1e-5 is added. */
static void draw_norm(layer *l, float variance)
{
    for (int f = 0; f < filters_of(l); ++f) {
        l->biases[f] = .1f * draw();
        if (!l->batch_normalize) continue;
        l->scales[f] = 1 + .2f * draw();
        l->rolling_mean[f] = .01f * draw();
        l->rolling_variance[f] = variance * (1 + .5f * draw());
    }
}

static void draw_layer(layer *l)
{
    const int n = l->type == CONNECTED ? l->outputs * l->inputs : l->nweights;
    for (int i = 0; i < n; ++i) l->weights[i] = draw();
    scale_weights(l, sqrtf(3 * .002f / (float)(n / filters_of(l))));
    draw_norm(l, .002f);
}

/* The sums of the layer get the variance of its batch norm, so that numbers do not grow from layer
   to layer. */
static void fit(layer *l, network *whole, network *net)
{
    const ACTIVATION activation = l->activation;
    const float variance = l->batch_normalize ? .002f : .5f;
    double squares = 0;
    l->activation = LINEAR;
    for (int f = 0; f < filters_of(l); ++f) {
        l->biases[f] = 0;
        if (l->batch_normalize) l->scales[f] = l->rolling_variance[f] = 1, l->rolling_mean[f] = 0;
    }
    weights_changed(net);
    hook_forward(whole, net);
    output_to_cpu(*l);
    for (int i = 0; i < l->outputs; ++i) squares += l->output[i] * l->output[i];
    scale_weights(l, (float)sqrt(variance / (squares / l->outputs + 1e-12)));
    draw_norm(l, variance);
    l->activation = activation;
    weights_changed(net);
}

static void draw_inside(layer *l)
{
    layer *inner[] = {l->input_layer, l->self_layer, l->output_layer, l->wz, l->uz, l->wr, l->ur,
                      l->wh,          l->uh,         l->wo,           l->uo, l->wf, l->uf, l->wi,
                      l->ui,          l->wg,         l->ug};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; ++i)
        if (inner[i]) draw_layer(inner[i]);
}

/* A layer with xnor takes signs, and a sign has no small difference. */
static bool has_signs(const layer *l, const float *input)
{
    float largest = 0, least = INFINITY;
    for (int i = 0; l->type == CONVOLUTIONAL && l->xnor && i < l->inputs; ++i) {
        largest = fmaxf(largest, fabsf(input[i]));
        least = fminf(least, fabsf(input[i]));
    }
    return least >= 2e-7f * largest;
}

static bool is_sure(network *whole, float *input)
{
    network net = *whole;
    net.input = input;
    for (int i = 0; i < whole->n; ++i) {
        layer *l = &net.layers[net.index = i];
        net.n = i + 1;
        if (!has_signs(l, net.input)) return false;
        hook_forward(whole, &net);
        output_to_cpu(*l);
        net.input = l->output;
    }
    return true;
}

static void draw_network(network *whole, float *input)
{
    network net = *whole;
    net.input = input;
    for (int i = 0; i < whole->n; ++i) {
        layer *l = &net.layers[net.index = i];
        net.n = i + 1;          /* no layer behind it goes in the same call */
        if (l->type == CONVOLUTIONAL || l->type == CONNECTED) {
            draw_layer(l);
            fit(l, whole, &net);
        } else {
            draw_inside(l);
        }
        hook_forward(whole, &net);
        output_to_cpu(*l);
        net.input = l->output;
    }
}

#endif

/* ---- files ---- */

static void write_outputs(const network *net, FILE *file)
{
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (!is_output(net, i)) continue;
        char name[NAME] = "";
        float *x = must(malloc((size_t)l->outputs * sizeof *x), "malloc");
        strcpy(name, name_of(l));
        put_output(l, x);
        fwrite(name, sizeof name, 1, file);
        fwrite(&l->outputs, sizeof l->outputs, 1, file);
        fwrite(x, sizeof *x, (size_t)l->outputs, file);
        free(x);
    }
}

/* The picture fills the input. Without a picture as input it is filled with numbers below 1. */
static float *input_of(const network *net, char *picture)
{
    if (net->w && net->h && net->c == 3) {
        const image im = load_image_color(picture, 0, 0);
        return resize_image(im, net->w, net->h).data;
    }
    float *input = must(malloc((size_t)net->inputs * sizeof *input), "malloc");
    for (int i = 0; i < net->inputs; ++i) input[i] = (float)(i * 37 % 101) / 101;
    return input;
}

#ifndef ALEXEYAB

static int draw_weights(char *cfg, char *file, char *picture)
{
    network *net = parse_network_cfg(cfg);
    set_batch_network(net, 1);
    draw_network(net, input_of(net, picture));
    save_weights(net, file);
    return 0;
}

static int print_sure(char *cfg, char *weights, char **pictures)
{
    network *net = load(cfg, weights);
    for (; *pictures; ++pictures)
        if (is_sure(net, input_of(net, *pictures))) printf("%s\n", *pictures);
    return 0;
}

#endif

static int write_file(char *cfg, char *weights, const char *name, char **pictures)
{
    network *net = load(cfg, weights);
    FILE *file = must(fopen(name, "wb"), name);
    for (; *pictures; ++pictures) {
        predict(net, input_of(net, *pictures));
        write_outputs(net, file);
    }
    return fclose(file) != 0;
}

typedef struct output {
    char name[NAME];
    int count;
    float *x;
} output;

/* Returns false at the end of the file. */
static bool read_output(FILE *file, output *o)
{
    if (!fread(o->name, sizeof o->name, 1, file)) return false;
    if (!fread(&o->count, sizeof o->count, 1, file)) return false;
    o->x = must(malloc((size_t)o->count * sizeof *o->x), "malloc");
    return fread(o->x, sizeof *o->x, (size_t)o->count, file) == (size_t)o->count;
}

/* A number that is not finite makes the difference infinite. */
static double difference(const output *a, const output *b)
{
    double largest = 0, worst = 0;
    for (int i = 0; i < a->count; ++i) {
        const double d = fabs((double)a->x[i] - (double)b->x[i]);
        largest = fmax(largest, fabs((double)a->x[i]));
        worst = isfinite(d) ? fmax(worst, d) : INFINITY;
    }
    return largest ? worst / largest : INFINITY;
}

static int compare(const char *first, const char *second)
{
    FILE *a = must(fopen(first, "rb"), first), *b = must(fopen(second, "rb"), second);
    double worst = 0;
    int outputs = 0;
    for (output x, y; read_output(a, &x); ++outputs) {
        if (!read_output(b, &y) || x.count != y.count || strcmp(x.name, y.name)) {
            printf("output %d: %s of %d numbers is missing\n", outputs, x.name, x.count);
            return 1;
        }
        worst = fmax(worst, difference(&x, &y));
    }
    printf("%d outputs, difference %.2g\n", outputs, worst);
    return !(outputs && worst <= 1e-4);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "compare")) return compare(argv[2], argv[3]);
    if (argc > 5 && !strcmp(argv[1], "write"))
        return write_file(argv[2], argv[3], argv[4], argv + 5);
#ifndef ALEXEYAB
    if (argc > 4 && !strcmp(argv[1], "sure")) return print_sure(argv[2], argv[3], argv + 4);
    if (argc == 5 && !strcmp(argv[1], "draw")) return draw_weights(argv[2], argv[3], argv[4]);
#endif
    fprintf(stderr, "usage: published draw CFG WEIGHTS PICTURE | sure CFG WEIGHTS PICTURE... | "
                    "write CFG WEIGHTS FILE PICTURE... | compare FILE FILE\n");
    return 2;
}
