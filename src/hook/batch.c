/* SPDX-License-Identifier: MIT */
/* Images of a batch apart: see batch.h. */
#include "hook/batch.h"

#include <stdlib.h>

_Thread_local const hook_image *hook_present;

typedef struct batch {
    hook_take_layer *take;
    hook_net net;
    int images, first;          /* of the network; the first one of those that run now */
    int end;                    /* as far as is known, rows take the layers before this one */
    int reached;                /* the layer that the first image stopped at; 0: none yet */
    int failed;                 /* another one did not come so far */
    int unready;                /* a plan could not be lent yet */
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
        last = hook_has_door(l) ? b->take(net, l->output) : -1;
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
    const int copied = copy_layers(b, image, &one);
    const int ready = copied && (!lends || lend_all(&one, b->end));
    if (ready) end = run_layers(b, &one, image);
    free_copies(&one);
    if (end && __atomic_compare_exchange_n(&b->reached, &none, end, 0, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED))
        return;
    if (copied && !ready) __atomic_store_n(&b->unready, 1, __ATOMIC_RELAXED);
    else if (!end || none != end) __atomic_store_n(&b->failed, 1, __ATOMIC_RELAXED);
}

/* On the network's own plans. */
static void run_first(void *job, int i)
{
    batch *b = job;
    run_image(b, b->first + i, 0);
    b->end = b->reached;
}

static void run_other(void *job, int i)
{
    batch *b = job;
    if (!__atomic_load_n(&b->unready, __ATOMIC_RELAXED)) run_image(b, b->first + i, 1);
}

/* With slots. */
static int run_batch(batch *b, hook_keeps_plan *keeps, int threads)
{
    int i;
    for (i = 0; i < b->net.n; ++i) {
        const layer *l = &b->net.layers[i];
        if (l->type != CONNECTED && !keeps(l, b->net)) continue;
        if (!hook_kept(l, &b->slots[i], &b->norms[i])) return 0;
    }
    for (; !b->failed && b->first < b->images; ++b->first) {
        b->unready = 0;
        if (!gemm_images_apart(threads, b->images - b->first, run_other, b)) return 0;
        if (b->failed || !b->unready) break;
        if (!gemm_images_apart(1, 1, run_first, b)) return 0;
    }
    return !b->failed;
}

int hook_apart(hook_net net, hook_take_layer *take, hook_keeps_plan *keeps)
{
    const int images = net.layers[0].batch, threads = images > 1 ? gemm_threads_apart() : 1;
    batch b = {.take = take, .net = net, .images = images, .end = net.n};
    int i, apart = threads > 1 && images >= threads && !net.train && !net.delta;
    for (i = 0; apart && i < net.n; ++i) apart = net.layers[i].batch == images;
    if (!apart) return -1;
    b.slots = calloc((size_t)net.n, sizeof *b.slots);
    b.norms = calloc((size_t)net.n, sizeof *b.norms);
    const int done = b.slots && b.norms && run_batch(&b, keeps, threads);
    free(b.slots);
    free(b.norms);
    return done ? b.reached - 1 : -1;
}
