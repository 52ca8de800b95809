/* SPDX-License-Identifier: MIT */
/* Networks with random weights: see network.h. */
#include "support/network.h"

#include "hook/pjreddie.h"

#include <math.h>
#include <stdlib.h>

void network_fill(float *v, size_t n, rng *r)
{
    for (size_t i = 0; i < n; ++i) v[i] = .5f + .5f * rng_float(r);
}

void network_visit(network *net, void (*visit)(layer *, void *), void *data)
{
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        if (l->type == CONVOLUTIONAL || l->type == CONNECTED) visit(l, data);
        if (l->type != CRNN) continue;
        visit(l->input_layer, data);
        visit(l->self_layer, data);
        visit(l->output_layer, data);
    }
}

void network_run_layer(layer *l, network *net)
{
    net->n = 1;
    net->layers = l;
    hook_forward(net, net);
}

bool network_is_output(const network *net, int i)
{
    const LAYER_TYPE type = net->layers[i].type;
    const bool last = i == net->n - 1 || (i == net->n - 2 && net->layers[i + 1].type == COST);
    return type == YOLO || type == REGION || type == DETECTION || (last && type != COST);
}

static void fill_norm(layer *l, void *data)
{
    rng *r = data;
    if (!l->batch_normalize) return;
    const int filters = l->out_c;
    network_fill(l->rolling_variance, (size_t)filters, r);
    network_fill(l->scales, (size_t)filters, r);
    for (int f = 0; f < filters; ++f) {
        l->rolling_variance[f] += .5f;
        l->rolling_mean[f] = .1f * rng_float(r);
        l->biases[f] = .1f * rng_float(r);
    }
}

static _Thread_local rng weights;       /* of network_make */

/* Replaces the function of libdarknet.so, which takes most of the time that a large network needs.
   The mean is 0 and the variance 1, as there, but the numbers are uniform. */
float rand_normal(void);
float rand_normal(void)
{
    return sqrtf(3) * rng_float(&weights);
}

/* Darknet draws the weights of connected layers from rand(). */
void network_seed(int seed)
{
    srand((unsigned)seed);
    weights = rng_make((uint64_t)seed, 2);
}

/* Darknet's batchnorm layer copies its input to x, and never allocates it. */
static void give_x(layer *l)
{
    if (l->type == BATCHNORM && !l->x)
        l->x = calloc((size_t)l->outputs * (size_t)l->batch, sizeof *l->x);
}

network *network_make(const char *cfg, int seed)
{
    network_seed(seed);
    network *net = parse_network_cfg((char *)cfg);
    rng r = rng_make((uint64_t)seed, 1);
    network_visit(net, fill_norm, &r);
    for (int i = 0; i < net->n; ++i) give_x(&net->layers[i]);
    return net;
}

double network_distance(const float *a, const float *b, size_t n)
{
    double size = 0, worst = 0;
    for (size_t i = 0; i < n; ++i) {
        const double d = fabs((double)a[i] - (double)b[i]);
        size = fmax(size, fabs((double)a[i]));
        worst = isfinite(d) ? fmax(worst, d) : INFINITY;
    }
    return worst / size;
}
