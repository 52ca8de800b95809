/* SPDX-License-Identifier: MIT */
/* Many images at once: see batch.h. */
#include "hook/batch.h"

#ifndef HOOK_PRELOAD

#include <stdlib.h>

typedef struct share {
    network net;                /* the first member: its address is that of the share */
    float cost;
    gemm_plan *slots[];         /* of the layers */
} share;

/* Whether all that its forward function writes at inference is its output, x and indexes. */
static int can_share(const layer *l)
{
    switch (l->type) {
    case CONVOLUTIONAL:
        return !l->xnor && !l->binary;
    case CONNECTED:
    case MAXPOOL:
    case AVGPOOL:
    case UPSAMPLE:
    case ROUTE:
    case SHORTCUT:
    case YOLO:
    case REGION:
    case DROPOUT:
    case SOFTMAX:
    case COST:
    case REORG:
    case ACTIVE:
    case BATCHNORM:
#ifdef OTHER_NETWORKS
    case SAM:
    case SCALE_CHANNELS:
    case LOCAL_AVGPOOL:
    case GAUSSIAN_YOLO:
#endif
        return l->batch == 1;
    default:
        return 0;
    }
}

/* The layer in whose output that of layer i lies: its own, a route's (place_outputs), or that of
   the layer before a dropout. */
static int holder_of(const network *net, int i)
{
    const float *at = net->layers[i].output;
    int holder = i, k;
    for (k = 0; k < net->n; ++k) {
        const layer *l = &net->layers[k], *best = &net->layers[holder];
        const int more = l->outputs > best->outputs || (l->outputs == best->outputs && k < holder);
        if (more && at >= l->output && at < l->output + l->outputs) holder = k;
    }
    return holder;
}

/* Returns 0 without memory. */
static int own_memory(layer *l, int holds)
{
    if (holds) l->output = gemm_host_alloc(l->outputs, sizeof(float));
    if (l->x) l->x = l->output;
    if (l->type == MAXPOOL) l->indexes = calloc(l->outputs, sizeof *l->indexes);
    return l->output && (l->type != MAXPOOL || l->indexes);
}

/* Outputs of their own first, then those that lie in them. */
static int own_outputs(network *to, const network *of)
{
    int i, done = 1;
    for (i = 0; i < of->n; ++i) {
        to->layers[i].output = 0;
        to->layers[i].indexes = 0;
    }
    for (i = 0; i < of->n; ++i)
        if (holder_of(of, i) == i) done = own_memory(&to->layers[i], 1) && done;
    for (i = 0; done && i < of->n; ++i) {
        const layer *l = &of->layers[i];
        const int holder = holder_of(of, i);
        if (l->output == of->output) to->output = to->layers[holder].output;
        if (holder == i) continue;
        to->layers[i].output =
            to->layers[holder].output + (l->output - of->layers[holder].output);
        done = own_memory(&to->layers[i], 0);
    }
    return done;
}

network *share_network(const network *of)
{
    share *s = calloc(1, sizeof *s + of->n * sizeof *s->slots);
    layer *layers = calloc(of->n, sizeof *layers);
    int i, can = s && layers;
    for (i = 0; can && i < of->n; ++i) can = can_share(&of->layers[i]);
    if (!can) {
        free(layers);
        free(s);
        return 0;
    }
    s->net = *of;
    s->net.layers = layers;
    s->net.cost = &s->cost;
    s->net.workspace = 0;
    s->net.workspace_size = 0;
    for (i = 0; i < of->n; ++i) {
        layers[i] = of->layers[i];
        if (layers[i].plan) layers[i].plan = &s->slots[i];
    }
    if (own_outputs(&s->net, of)) return &s->net;
    free_share(&s->net);
    return 0;
}

void free_share(network *net)
{
    int i, k;
    return_plans(net);
    for (i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        free(l->indexes);
        if (holder_of(net, i) == i) gemm_host_free(l->output);
    }
    gemm_host_free(net->workspace);
    free(net->layers);
    free(net);
}

int lend_plans(network *net, const network *of)
{
    int i;
    for (i = 0; i < of->n; ++i) {
        const layer *l = &of->layers[i];
        if (!l->plan || (l->type == CONVOLUTIONAL && !convolution_hooked(*l, *of))) continue;
        if (!gemm_plan_lend(net->layers[i].plan, l->plan)) return return_plans(net), 0;
    }
    return 1;
}

void return_plans(network *net)
{
    int i;
    for (i = 0; i < net->n; ++i)
        if (net->layers[i].plan) gemm_plan_drop(net->layers[i].plan);
}

#endif
