/* SPDX-License-Identifier: MIT */
/*
 * Two networks of a fork (fork_host.h) in one process, each predicting in a thread of its own. The
 * weights differ. Each pass must give the bits of the passes before the threads began.
 *
 *   fork_threads LIBDARKNET ROUNDS CFG WEIGHTS CFG WEIGHTS
 *
 * Prints the outputs of both networks. Status 1 and one line if a pass differs. To stderr go the
 * median times of ROUNDS passes of both, one network behind the other and together.
 */
#include "fork_host.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 5 };

typedef struct side {
    const fork_host *host;
    network *net;
    float *input, *right, *got;
    int rounds, n;
    int wrong;                  /* passes that differ */
    pthread_barrier_t *start;   /* NULL: at once */
} side;

static void *run(void *argument)
{
    side *s = argument;
    if (s->start) pthread_barrier_wait(s->start);
    for (int i = 0; i < s->rounds; ++i) {
        s->host->predict(s->net, s->input);
        fork_copy_outputs(s->net, 0, s->got);
        s->wrong += memcmp(s->right, s->got, s->n * sizeof *s->got) != 0;
    }
    return NULL;
}

/* The first passes differ from later ones in how they compute, so the third is the right one. */
static void begin(side *s, const fork_host *host, char *cfg, char *weights, int rounds,
                  unsigned seed)
{
    *s = (side){.host = host, .net = fork_load(host, cfg, weights, 1, seed), .rounds = rounds};
    s->input = malloc((size_t)s->net->inputs * sizeof *s->input);
    fork_fill(&seed, s->input, s->net->inputs, 0, 1);
    for (int i = 0; i < 3; ++i) host->predict(s->net, s->input);
    s->n = fork_copy_outputs(s->net, 0, NULL);
    s->right = malloc((size_t)s->n * sizeof *s->right);
    s->got = malloc((size_t)s->n * sizeof *s->got);
    fork_copy_outputs(s->net, 0, s->right);
}

static double time_in_turn(side sides[2])
{
    const double start = fork_ms(CLOCK_MONOTONIC);
    for (int i = 0; i < 2; ++i) {
        sides[i].start = NULL;
        run(&sides[i]);
    }
    return fork_ms(CLOCK_MONOTONIC) - start;
}

/* Returns -1 without a thread. */
static double time_together(side sides[2])
{
    pthread_barrier_t start;
    pthread_t other;
    pthread_barrier_init(&start, NULL, 2);
    sides[0].start = sides[1].start = &start;
    if (pthread_create(&other, NULL, run, &sides[1])) return -1;
    const double begin = fork_ms(CLOCK_MONOTONIC);
    run(&sides[0]);
    pthread_join(other, NULL);
    const double ms = fork_ms(CLOCK_MONOTONIC) - begin;
    pthread_barrier_destroy(&start);
    return ms;
}

int main(int argc, char **argv)
{
    const int rounds = argc == 7 ? atoi(argv[2]) : 0;
    if (rounds < 1) {
        fputs("usage: fork_threads LIBDARKNET ROUNDS CFG WEIGHTS CFG WEIGHTS\n", stderr);
        return 2;
    }
    const fork_host host = fork_open(argv[1]);
    side sides[2];
    double in_turn[TURNS], together[TURNS];
    begin(&sides[0], &host, argv[3], argv[4], rounds, 2);
    begin(&sides[1], &host, argv[5], argv[6], rounds, 3);
    for (int i = 0; i < TURNS; ++i) {
        in_turn[i] = time_in_turn(sides);
        together[i] = time_together(sides);
        if (together[i] < 0) {
            fputs("fork_threads: no thread can be started\n", stderr);
            return 2;
        }
    }
    putchar('\n'); /* Darknet may have begun a line */
    for (int s = 0; s < 2; ++s)
        for (int i = 0; i < sides[s].n; ++i) printf("network%d %.9g\n", s, sides[s].right[i]);
    fprintf(stderr, "ms of %d passes each: in turn %.2f, together %.2f\n", rounds,
            fork_median(in_turn, TURNS), fork_median(together, TURNS));
    if (!sides[0].wrong && !sides[1].wrong) return 0;
    printf("%d and %d of %d passes differ from those before\n", sides[0].wrong, sides[1].wrong,
           2 * TURNS * rounds);
    return 1;
}
