/* SPDX-License-Identifier: MIT */
/*
 * Writes untrained weights for a network: a stand-in for speed and for comparing variants.
 *
 *   untrained_weights CFG FILE
 *
 * The file is the same on every machine. Uniform numbers come from a 32-bit linear congruential
 * generator (Numerical Recipes: x = 1664525 x + 1013904223) that starts at SEED. They are drawn
 * layer by layer in file order. This generator stays, because another one would make another file.
 * Weights have variance 2 / fan-in (He et al., 2015), which keeps the size of the activations
 * through ReLU-like layers. Batch norm passes its input on; biases are 0. Where a convolution feeds
 * a [yolo] layer, the biases of objectness are far below zero, because an untrained network would
 * draw thousands of boxes.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darknet.h"

enum { SEED = 20180408 };
static const float NO_OBJECT = -20;

static uint32_t state = SEED;

/* Uniform in [-1, 1). */
static float draw(void)
{
    state = 1664525u * state + 1013904223u;
    return (float)((int32_t)state >> 8) / (float)(1 << 23);
}

static void fill(float *v, int n, float value)
{
    for (int i = 0; i < n; ++i) v[i] = value;
}

static void fill_convolution(layer *l)
{
    const int fan_in = l->c / l->groups * l->size * l->size;
    const float size = sqrtf(6.0f / (float)fan_in);
    for (int i = 0; i < l->n * fan_in; ++i) l->weights[i] = size * draw();
    fill(l->biases, l->n, 0);
    if (!l->batch_normalize) return;
    fill(l->scales, l->n, 1);
    fill(l->rolling_mean, l->n, 0);
    fill(l->rolling_variance, l->n, 1);
}

/* A [yolo] layer reads, for each of its anchors, x y w h objectness classes. */
static void silence_objectness(layer *convolution, const layer *yolo)
{
    const int values = 4 + 1 + yolo->classes;
    for (int anchor = 0; anchor < yolo->n; ++anchor)
        convolution->biases[anchor * values + 4] = NO_OBJECT;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: untrained_weights CFG FILE\n");
        return 2;
    }
    network *net = parse_network_cfg(argv[1]);
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        if (l->type == CONVOLUTIONAL) fill_convolution(l);
        if (l->type == YOLO && i > 0 && l[-1].type == CONVOLUTIONAL) silence_objectness(l - 1, l);
    }
    char *part;
    if (asprintf(&part, "%s.part-%ld", argv[2], (long)getpid()) < 0) return 1;
    save_weights(net, part);
    load_weights(net, part);    /* Darknet does not check its writing, but ends on a short file */
    if (net->partial || rename(part, argv[2])) {
        fprintf(stderr, "untrained_weights: cannot write %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    free(part);
    return 0;
}
