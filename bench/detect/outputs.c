/* SPDX-License-Identifier: MIT */
/* The raw outputs of a network: see outputs.h. */
#include "detect/outputs.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *outputs_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (p) return p;
    fputs("out of memory\n", stderr);
    exit(1);
}

static bool is_detector(const network *net, int i)
{
    const LAYER_TYPE type = net->layers[i].type;
    return type == YOLO || type == REGION || type == DETECTION;
}

static bool is_output(const network *net, int i)
{
    return is_detector(net, i) || i == net->n - 1;
}

/* Without a detector: the last layer before softmax and cost. */
static bool is_raw_output(const network *net, int i)
{
    if (i + 1 < net->n && is_detector(net, i + 1)) return true;
    int last = net->n - 1;
    for (; last > 0; --last) {
        const LAYER_TYPE type = net->layers[last].type;
        if (type != SOFTMAX && type != COST) break;
    }
    return i == last && !is_detector(net, i);
}

static float *copy_layers(const network *net, bool chosen(const network *, int), size_t *count)
{
    *count = 0;
    for (int i = 0; i < net->n; ++i)
        if (chosen(net, i)) *count += (size_t)net->layers[i].outputs;
    float *values = outputs_alloc(*count * sizeof *values), *to = values;
    for (int i = 0; i < net->n; ++i) {
        if (!chosen(net, i)) continue;
        const size_t n = (size_t)net->layers[i].outputs;
        output_to_cpu(net->layers[i]);
        memcpy(to, net->layers[i].output, n * sizeof *to);
        to += n;
    }
    return values;
}

float *outputs_copy(const network *net, size_t *count)
{
    return copy_layers(net, is_output, count);
}

float *outputs_raw_copy(const network *net, size_t *count)
{
    return copy_layers(net, is_raw_output, count);
}

double outputs_difference(const float *a, const float *b, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; ++i) {
        const double d = fabs((double)a[i] - (double)b[i]);
        if (!isfinite(d)) return INFINITY;
        largest = fmax(largest, d);
    }
    return largest;
}

double outputs_largest(const float *v, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; ++i) largest = fmax(largest, fabs((double)v[i]));
    return largest;
}
