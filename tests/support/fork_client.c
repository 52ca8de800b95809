/* SPDX-License-Identifier: MIT */
/*
 * A program that loads the libdarknet.so of a fork, as Python does, and runs a network. It is
 * compiled against the headers of that fork.
 *
 *   fork_client LIBDARKNET ROUNDS CFG WEIGHTS [BATCH]
 *
 * WEIGHTS is a file, or "draw" for random weights that are always the same. Prints the outputs of
 * every layer that ends a branch, of an input that is always the same. Then the weights are halved
 * in place, and loaded or drawn again: this pass must be the first one. At last, after a pause, one
 * weight of each layer is changed. To stderr go the median of the passes in milliseconds, and the
 * least time of the processor for one: on a busy machine, with one thread, only this says much.
 */
#include "hook/fork.h"
#include "hook/preload/doors.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "fork_client: no %s in the library\n", name);
        exit(2);
    }
    return found;
}

#ifdef HOOK_ALEXEYAB
#define LOAD "load_network_custom"
#define PREDICT "network_predict_ptr"
#else
#define LOAD "load_network"      /* without the last argument */
#define PREDICT "network_predict"
#endif
typedef float *predict_function(network *, float *);
typedef network *load_function(char *, char *, int clear, int batch);
typedef void weights_function(network *, char *);
typedef void batch_function(network *, int);

static double ms_of(clockid_t clock)
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

static unsigned state;

/* From low to high, uniform. */
static float draw(float low, float high)
{
    state = state * 1664525u + 1013904223u;
    return low + (high - low) * (float)(state >> 8) / (1 << 24);
}

static void fill(float *to, int n, float low, float high)
{
    for (int i = 0; to && i < n; ++i) to[i] = draw(low, high);
}

/* So that outputs are about as large as inputs (He). */
static void draw_weights(const layer *l)
{
    if (l->type == CONVOLUTIONAL) {
        const float most = sqrtf(6.f / (l->c / l->groups * l->size * l->size));
        fill(l->weights, l->nweights, -most, most);
        fill(l->biases, l->n, -.1f, .1f);
    }
    if (l->type == CONVOLUTIONAL && l->batch_normalize) {
        fill(l->scales, l->n, .8f, 1.2f);
        fill(l->rolling_mean, l->n, -.1f, .1f);
        fill(l->rolling_variance, l->n, .8f, 1.2f);
    }
    if (l->type == SHORTCUT && l->weights) fill(l->weights, l->nweights, 0, 1);
}

static void draw_network(const network *net)
{
    state = 2;
    for (int i = 0; i < net->n; ++i) draw_weights(&net->layers[i]);
}

static void print_outputs(const char *name, const network *net)
{
    putchar('\n'); /* Darknet may have begun a line */
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (l->type != YOLO && i + 1 < net->n) continue;
        for (int j = 0; j < l->outputs * l->batch; ++j)
            printf("%s.%d %.9g\n", name, i, l->output[j]);
    }
}

int main(int argc, char **argv)
{
    enum { MOST = 1000 };
    static double ms[MOST];
    double least = INFINITY;
    const int is_call = argc == 5 || argc == 6, batch = argc == 6 ? atoi(argv[5]) : 1;
    void *library = is_call ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    const int rounds = is_call ? atoi(argv[2]) : 0;
    if (!library || rounds < 1 || rounds > MOST || batch < 1) {
        fprintf(stderr, "usage: fork_client LIBDARKNET ROUNDS CFG WEIGHTS [BATCH] (%s)\n",
                is_call && !library ? dlerror() : "4 or 5 arguments");
        return 2;
    }
    load_function *load = (load_function *)find(library, LOAD);
    predict_function *predict = (predict_function *)find(library, PREDICT);
    char *file = strcmp(argv[4], "draw") ? argv[4] : NULL;
    network *net = load(argv[3], file, 0, batch);
    if (!file) draw_network(net);
#ifndef HOOK_ALEXEYAB
    ((batch_function *)find(library, "set_batch_network"))(net, batch);
#endif
    const int inputs = net->inputs * batch;
    float *input = malloc((size_t)inputs * sizeof *input);
    state = 1;
    fill(input, inputs, 0, 1);
    for (int i = 0; i < rounds; ++i) {
        const double start = ms_of(CLOCK_MONOTONIC), cpu = ms_of(CLOCK_PROCESS_CPUTIME_ID);
        predict(net, input);
        ms[i] = ms_of(CLOCK_MONOTONIC) - start;
        least = fmin(least, ms_of(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    }
    print_outputs("first", net);
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        const int n = l->type == CONVOLUTIONAL ? l->nweights : 0;
        for (int j = 0; j < n; ++j) l->weights[j] *= .5f;
    }
    predict(net, input);
    print_outputs("halved", net);
    if (file) ((weights_function *)find(library, SYMBOL_TEXT(SYMBOL(load_weights))))(net, file);
    else draw_network(net);
    predict(net, input);
    print_outputs("again", net);
    nanosleep(&(struct timespec){0, 300000000}, NULL);
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        if (l->type == CONVOLUTIONAL) l->weights[l->nweights / 8] += 1;
    }
    predict(net, input);
    print_outputs("single", net);
    qsort(ms, (size_t)rounds, sizeof *ms, compare);
    fprintf(stderr, "\nmedian ms %.2f, of the processor %.2f\n", ms[rounds / 2], least);
    return 0;
}
