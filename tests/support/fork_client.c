/* SPDX-License-Identifier: MIT */
/*
 * A program that loads the libdarknet.so of a fork, as Python does, and runs a network. It is
 * compiled against the headers of that fork.
 *
 *   fork_client LIBDARKNET ROUNDS CFG WEIGHTS [BATCH]
 *
 * WEIGHTS is a file, or "draw" for random weights that are always the same. Prints the outputs of
 * every layer that ends a branch, of an input that is always the same. Then the weights are halved
 * in place, and loaded or drawn again: this pass must be the first one. Then, after a pause, one
 * weight of each layer is changed, and another one without a pause: 17 passes behind that, it must
 * have been seen. Then the network is cut behind each layer. At last it is freed, and another one
 * takes its memory at once, with other weights. To stderr go the median of the passes in
 * milliseconds, and the least time of the processor for one: on a busy machine, with one thread,
 * only this says much.
 */
#include "fork_host.h"
#include "hook/preload/doors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_outputs(const char *name, const network *net)
{
    putchar('\n'); /* Darknet may have begun a line */
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (!fork_is_end(net, i)) continue;
        for (int j = 0; j < l->outputs * l->batch; ++j)
            printf("%s.%d %.9g\n", name, i, l->output[j]);
    }
}

/* Runs the network cut behind each layer, from the end, and whole. Prints the sum of the last
   output as a part of the sum of its sizes. Each input is another one, so that an old output
   shows. */
static void cut(const fork_host *host, network *net, float *input, int inputs)
{
    const int count = net->n;
    unsigned seed = 7;
    for (int i = 1; i <= count; ++i) {
        net->n = i < count ? count - i : count;
        const layer *l = &net->layers[net->n - 1];
        double sum = 0, size = 0;
        fork_fill(&seed, input, inputs, 0, 1);
        host->predict(net, input);
        for (int j = 0; j < l->outputs * l->batch; ++j) {
            sum += l->output[j];
            size += fabs(l->output[j]);
        }
        printf("\ncut.%d %.9g\n", net->n, sum / size);
    }
}

int main(int argc, char **argv)
{
    enum { MOST = 1000 };
    static double ms[MOST];
    double least = INFINITY;
    const int is_call = argc == 5 || argc == 6, batch = argc == 6 ? atoi(argv[5]) : 1;
    const int rounds = is_call ? atoi(argv[2]) : 0;
    if (rounds < 1 || rounds > MOST || batch < 1) {
        fputs("usage: fork_client LIBDARKNET ROUNDS CFG WEIGHTS [BATCH]\n", stderr);
        return 2;
    }
    char *cfg = argv[3], *weights = argv[4];
    const fork_host host = fork_open(argv[1]);
    network *net = fork_load(&host, cfg, weights, batch, 2);
    const int inputs = net->inputs * batch;
    float *input = malloc((size_t)inputs * sizeof *input);
    unsigned seed = 1;
    fork_fill(&seed, input, inputs, 0, 1);
    for (int i = 0; i < rounds; ++i) {
        const double start = fork_ms(CLOCK_MONOTONIC), cpu = fork_ms(CLOCK_PROCESS_CPUTIME_ID);
        host.predict(net, input);
        ms[i] = fork_ms(CLOCK_MONOTONIC) - start;
        least = fmin(least, fork_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    }
    print_outputs("first", net);
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        const int n = l->type == CONVOLUTIONAL ? l->nweights : 0;
        for (int j = 0; j < n; ++j) l->weights[j] *= .5f;
    }
    host.predict(net, input);
    print_outputs("halved", net);
    if (strcmp(weights, "draw")) {
        void (*load_weights)(network *, char *);
        *(void **)&load_weights = fork_find(host.library, SYMBOL_TEXT(SYMBOL(load_weights)));
        load_weights(net, weights);
    } else {
        fork_draw(net, 2);
    }
    host.predict(net, input);
    print_outputs("again", net);
    nanosleep(&(struct timespec){0, 300000000}, NULL);
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        if (l->type == CONVOLUTIONAL) l->weights[l->nweights / 8] += 1;
    }
    host.predict(net, input);
    print_outputs("single", net);
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        if (l->type == CONVOLUTIONAL) l->weights[l->nweights / 7] += 1;
    }
    for (int i = 0; i < 17; ++i) host.predict(net, input);
    print_outputs("later", net);
    cut(&host, net, input, inputs);
    host.free(net);
    net = fork_load(&host, cfg, weights, batch, 2);
    fork_draw(net, 3);
    host.predict(net, input);
    print_outputs("reborn", net);
    fprintf(stderr, "\nmedian ms %.2f, of the processor %.2f\n", fork_median(ms, rounds), least);
    return 0;
}
