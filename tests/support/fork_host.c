/* SPDX-License-Identifier: MIT */
/* See fork_host.h. */
#include "fork_host.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* hank-ai's functions that are no part of its interface for C have names of C++. */
#ifdef HOOK_HANKAI
#define SET_BATCH "_Z17set_batch_networkPN7Darknet7NetworkEi"
#define PREDICT_BATCH "_Z21network_predict_batchPN7Darknet7NetworkE12DarknetImageiiiffPiii"
#else
#define SET_BATCH "set_batch_network"
#define PREDICT_BATCH "network_predict_batch"
#endif
#ifdef HOOK_ALEXEYAB
#define LOAD "load_network_custom"
#define PREDICT "network_predict_ptr"
#define FREE "free_network_ptr"
#else
#define LOAD "load_network" /* without the last argument */
#define PREDICT "network_predict"
#define FREE "free_network"
#endif

void *fork_find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "fork_host: no %s in the library\n", name);
        exit(2);
    }
    return found;
}

fork_host fork_open(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "fork_host: %s\n", dlerror());
        exit(2);
    }
    fork_host h = {.library = handle};
    *(void **)&h.load = fork_find(handle, LOAD);
    *(void **)&h.predict = fork_find(handle, PREDICT);
    *(void **)&h.set_batch = fork_find(handle, SET_BATCH);
    *(void **)&h.free = fork_find(handle, FREE);
    *(void **)&h.predict_batch = dlsym(handle, PREDICT_BATCH);
    return h;
}

network *fork_load(const fork_host *h, char *cfg, char *weights, int batch, unsigned seed)
{
    char *file = strcmp(weights, "draw") ? weights : NULL;
    network *net = h->load(cfg, file, 0, batch);
    if (!file) fork_draw(net, seed);
#ifndef HOOK_ALEXEYAB
    h->set_batch(net, batch);
#endif
    return net;
}

void fork_fill(unsigned *seed, float *to, int n, float low, float high)
{
    for (int i = 0; to && i < n; ++i) {
        *seed = *seed * 1664525u + 1013904223u;
        to[i] = low + (high - low) * (float)(*seed >> 8) / (1 << 24);
    }
}

/* By He's rule. */
static void draw_layer(unsigned *seed, const layer *l)
{
    if (l->type == CONVOLUTIONAL) {
        const float most = sqrtf(6.f / (l->c / l->groups * l->size * l->size));
        fork_fill(seed, l->weights, l->nweights, -most, most);
        fork_fill(seed, l->biases, l->n, -.1f, .1f);
    }
    if (l->type == CONVOLUTIONAL && l->batch_normalize) {
        fork_fill(seed, l->scales, l->n, .8f, 1.2f);
        fork_fill(seed, l->rolling_mean, l->n, -.1f, .1f);
        fork_fill(seed, l->rolling_variance, l->n, .8f, 1.2f);
    }
    if (l->type == SHORTCUT && l->weights) fork_fill(seed, l->weights, l->nweights, 0, 1);
}

void fork_draw(const network *net, unsigned seed)
{
    for (int i = 0; i < net->n; ++i) draw_layer(&seed, &net->layers[i]);
}

int fork_is_end(const network *net, int i)
{
    return net->layers[i].type == YOLO || i + 1 == net->n;
}

int fork_copy_outputs(const network *net, int image, float *to)
{
    int n = 0;
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (!fork_is_end(net, i)) continue;
        if (to) memcpy(to + n, l->output + (size_t)image * l->outputs, l->outputs * sizeof *to);
        n += l->outputs;
    }
    return n;
}

double fork_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double fork_median(double *times, int n)
{
    qsort(times, (size_t)n, sizeof *times, compare);
    return times[n / 2];
}
