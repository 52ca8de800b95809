/* SPDX-License-Identifier: MIT */
/* Many images at once: see batch.h. */
#include "hook/batch.h"

#include <stdlib.h>
#include <string.h>

_Thread_local const hook_image *hook_present;

typedef struct batch {
    hook_net net;
    int images, first;          /* of the network; the first one of those that run now */
    int end;                    /* as far as is known, rows take the layers before this one */
    int reached;                /* the layer that the first image stopped at; 0: none yet */
    int failed;                 /* another one did not come so far */
    gemm_plan ***slots;         /* of the network's layers, NULL where they have none */
    conv_norm *norms;
} batch;

/* Layers of one image. Returns 0 without memory. */
static int copy_layers(const batch *b, int image, hook_image *one)
{
    int i;
    one->n = b->net.n;
    one->norms = b->norms;
    one->layers = malloc((size_t)one->n * sizeof *one->layers);
    one->slots = malloc((size_t)one->n * sizeof *one->slots);
    one->lent = calloc((size_t)one->n, sizeof *one->lent);
    for (i = 0; one->layers && one->slots && i < one->n; ++i) {
        one->layers[i] = b->net.layers[i];
        one->layers[i].batch = 1;
        one->layers[i].output += (size_t)image * one->layers[i].outputs;
        one->slots[i] = b->slots[i];
    }
    return one->layers && one->slots && one->lent;
}

static void free_copies(hook_image *one)
{
    int i;
    for (i = 0; one->lent && i < one->n; ++i) gemm_plan_drop(&one->lent[i]);
    free(one->lent);
    free(one->slots);
    free(one->layers);
}

/* Returns 0 where a plan before `end` is not ready. Slots behind it stay empty: a row may be asked
   for a step that ends there, and declines. */
static int lend_all(hook_image *one, int end)
{
    int i;
    for (i = 0; i < one->n; ++i) {
        if (!one->slots[i]) continue;
        if (i < end && !gemm_plan_lend(&one->lent[i], one->slots[i])) return 0;
        one->slots[i] = &one->lent[i];
        HOOK_SET_SLOT(&one->layers[i], one->slots[i]);
    }
    return 1;
}

/* Returns the layer that the rows do not take, before `end`, or `end`. */
static int run_layers(const batch *b, const hook_image *one, int image)
{
    hook_net net = b->net;
    int last;
    net.layers = one->layers;
    net.input += (size_t)image * net.layers[0].inputs;
    hook_present = one;
    for (net.index = 0; net.index < b->end; net.index = last + 1) {
        const layer *l = &net.layers[net.index];
        last = hook_has_door(l) ? hook_take(net, l->output) : -1;
        if (last < 0) break;
        net.input = net.layers[last].output;
    }
    hook_present = NULL;
    return net.index;
}

static void run_image(batch *b, int image, int lends)
{
    hook_image one;
    int end = 0, none = 0;
    if (copy_layers(b, image, &one) && (!lends || lend_all(&one, b->end)))
        end = run_layers(b, &one, image);
    free_copies(&one);
    if (end && __atomic_compare_exchange_n(&b->reached, &none, end, 0, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED))
        return;
    if (!end || none != end) __atomic_store_n(&b->failed, 1, __ATOMIC_RELAXED);
}

/* The first images run on the network's own plans, until these can be lent. */
static void run_first(void *job, int i)
{
    batch *b = job;
    (void)i;
    run_image(b, b->first, 0);
    b->end = b->reached;
}

static void run_other(void *job, int i)
{
    batch *b = job;
    run_image(b, b->first + i, 1);
}

static int is_ready(const batch *b)
{
    hook_image one;
    const int ready = copy_layers(b, 0, &one) && lend_all(&one, b->end);
    free_copies(&one);
    return ready;
}

/* With slots. */
static int run_batch(batch *b, int threads)
{
    int i;
    for (i = 0; i < b->net.n; ++i) {
        const layer *l = &b->net.layers[i];
        if (l->type != CONNECTED && !convolution_hooked(*l, b->net)) continue;
        if (!hook_kept(l, &b->slots[i], &b->norms[i])) return 0;
    }
    for (; !b->failed && b->first < b->images && !is_ready(b); ++b->first)
        if (!gemm_images_apart(1, 1, run_first, b)) return 0;
    if (!b->failed && b->first < b->images &&
        !gemm_images_apart(threads, b->images - b->first, run_other, b))
        return 0;
    return !b->failed;
}

int hook_apart(hook_net net)
{
    const int images = net.layers[0].batch, threads = images > 1 ? gemm_threads_apart() : 1;
    batch b = {.net = net, .images = images, .end = net.n};
    int i, apart = net.index == 0 && threads > 1 && images >= threads && !net.train && !net.delta;
    for (i = 0; apart && i < net.n; ++i) apart = net.layers[i].batch == images;
    if (!apart) return -1;
    b.slots = calloc((size_t)net.n, sizeof *b.slots);
    b.norms = calloc((size_t)net.n, sizeof *b.norms);
    const int done = b.slots && b.norms && run_batch(&b, threads);
    free(b.slots);
    free(b.norms);
    return done ? b.reached - 1 : -1;
}

#ifndef HOOK_PRELOAD

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

#endif
