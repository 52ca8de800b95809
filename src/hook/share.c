/* SPDX-License-Identifier: MIT */
/* Networks that share weights: see share.h. */
#include "hook/share.h"

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
    case REORG3D:
    case GAUSSIAN_YOLO:
#endif
        return l->batch == 1;
    default:
        return 0;
    }
}

/* Returns 0 without memory. A dropout has the output of the layer before it. */
static int own_memory(network *net)
{
    int i, done = 1;
    for (i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        l->placed = 0;
        l->output = l->type == DROPOUT && i ? l[-1].output
                                            : gemm_host_alloc(l->outputs, sizeof(float));
        l->indexes = l->type == MAXPOOL ? calloc(l->outputs, sizeof *l->indexes) : 0;
        done = done && l->output && (l->indexes || l->type != MAXPOOL);
    }
    if (done) place_outputs(net);
    for (i = 0; done && i < net->n; ++i)
        if (net->layers[i].x) net->layers[i].x = net->layers[i].output;
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
    if (!own_memory(&s->net)) return free_share(&s->net), NULL;
    for (i = 0; i < of->n; ++i)
        if (of->layers[i].output == of->output) s->net.output = layers[i].output;
    return &s->net;
}

void free_share(network *net)
{
    int i;
    return_plans(net);
    for (i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        free(l->indexes);
        if (!l->placed && (l->type != DROPOUT || !i)) gemm_host_free(l->output);
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
