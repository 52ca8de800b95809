/* SPDX-License-Identifier: MIT */
/*
 * Batches in a fork (fork_host.h): images one by one, then 2, 3 ... of them at a time in the same
 * network, and one again. Where the fork has network_predict_batch, it must find as many objects
 * in each image as its outputs hold.
 *
 *   fork_batch LIBDARKNET ROUNDS CFG WEIGHTS MOST BOUND
 *
 * MOST: the largest batch, which CFG must name too for pjreddie's Darknet. Prints the outputs of
 * the largest batch. Status 1 and one line if a batch differs from its images one by one by more
 * than BOUND of the largest output. To stderr go, for each batch, the least of ROUNDS times for one
 * image.
 */
#include "fork_host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const float THRESH = .5f;

/* The largest distance, as a part of the largest of `right`. INFINITY where one is no number. */
static double distance(const float *right, const float *got, int n)
{
    double worst = 0, most = 0;
    for (int i = 0; i < n; ++i) {
        const double d = fabs((double)got[i] - right[i]);
        if (!(d <= worst)) worst = isnan(d) ? INFINITY : d;
        most = fmax(most, fabs((double)right[i]));
    }
    return most > 0 ? worst / most : INFINITY;
}

/* How many anchors of an image are above the threshold. */
static int count_objects(const network *net, int image)
{
    int count = 0;
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (l->type != YOLO) continue;
        const int area = l->w * l->h, entries = l->outputs / area / l->n;
        for (int a = 0; a < l->n * area; ++a) {
            const int anchor = a / area, place = a % area;
            const int at = (anchor * entries + 4) * area + place;
            count += l->output[(size_t)image * l->outputs + at] > THRESH;
        }
    }
    return count;
}

/* Returns whether the fork's own detections of a batch are as many as the outputs say. */
static int finds_objects(const fork_host *h, network *net, float *input, int batch)
{
    const layer *first = net->layers;
    const fork_image images = {first->w, first->h, first->c * batch, input};
    fork_detections *found = h->predict_batch(net, images, batch, first->w, first->h, THRESH, .5f,
                                              NULL, 1, 0);
    int all = 0;
    for (int i = 0; i < batch; ++i) {
        all += found[i].count;
        if (found[i].count == count_objects(net, i)) continue;
        printf("network_predict_batch of %d: image %d has %d objects, the outputs %d\n", batch, i,
               found[i].count, count_objects(net, i));
        return 0;
    }
    fprintf(stderr, "batch %d: %d objects\n", batch, all);
    return 1;
}

int main(int argc, char **argv)
{
    const int most = argc == 7 ? atoi(argv[5]) : 0, rounds = argc == 7 ? atoi(argv[2]) : 0;
    if (most < 2 || rounds < 1) {
        fputs("usage: fork_batch LIBDARKNET ROUNDS CFG WEIGHTS MOST BOUND\n", stderr);
        return 2;
    }
    const fork_host host = fork_open(argv[1]);
    network *net = fork_load(&host, argv[3], argv[4], most, 2);
    const int n = fork_copy_outputs(net, 0, NULL);
    float *input = malloc((size_t)most * net->inputs * sizeof *input);
    float *right = malloc((size_t)most * n * sizeof *right), *got = malloc(n * sizeof *got);
    unsigned seed = 1;
    fork_fill(&seed, input, most * net->inputs, 0, 1);
    host.set_batch(net, 1);
    for (int i = 0; i < most; ++i) {
        host.predict(net, input + (size_t)i * net->inputs);
        fork_copy_outputs(net, 0, right + (size_t)i * n);
    }
    int status = 0;
    for (int b = 2; b <= most + 1; ++b) {
        const int batch = b > most ? 1 : b;
        double wall = INFINITY, cpu = INFINITY, worst = 0;
        host.set_batch(net, batch);
        for (int r = 0; r < rounds; ++r) {
            const double start = fork_ms(CLOCK_MONOTONIC);
            const double spent = fork_ms(CLOCK_PROCESS_CPUTIME_ID);
            host.predict(net, input);
            wall = fmin(wall, fork_ms(CLOCK_MONOTONIC) - start);
            cpu = fmin(cpu, fork_ms(CLOCK_PROCESS_CPUTIME_ID) - spent);
        }
        for (int i = 0; i < batch; ++i) {
            fork_copy_outputs(net, i, got);
            worst = fmax(worst, distance(right + (size_t)i * n, got, n));
            putchar('\n'); /* Darknet may have begun a line */
            for (int j = 0; batch == most && j < n; ++j) printf("batch.%d %.9g\n", i, got[j]);
        }
        if (!(worst <= atof(argv[6]))) {
            printf("batch of %d: %g of the largest from its images one by one\n", batch, worst);
            status = 1;
        }
        if (host.predict_batch && !finds_objects(&host, net, input, batch)) status = 1;
        fprintf(stderr, "batch %d: ms an image %.2f, of the processor %.2f, apart %.1e\n", batch,
                wall / batch, cpu / batch, worst);
    }
    return status;
}
