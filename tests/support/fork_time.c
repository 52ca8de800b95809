/* SPDX-License-Identifier: MIT */
/*
 * The time of a pass of a fork, for bench/forks/reach.sh: a network with drawn weights, one image.
 *
 *   fork_time LIBDARKNET PASSES CFG
 *
 * Two passes come first that do not count. Prints the median of the time of a pass, and of the
 * processor's time for it, in milliseconds.
 */
#include "fork_host.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    enum { MOST = 1000, FIRST = 2 };
    static double wall[MOST], cpu[MOST];
    const int passes = argc == 4 ? atoi(argv[2]) : 0;
    if (passes < 1 || passes > MOST) {
        fputs("usage: fork_time LIBDARKNET PASSES CFG\n", stderr);
        return 2;
    }
    const fork_host host = fork_open(argv[1]);
    char draw[] = "draw";
    network *net = fork_load(&host, argv[3], draw, 1, 2);
    float *input = malloc((size_t)net->inputs * sizeof *input);
    unsigned seed = 1;
    fork_fill(&seed, input, net->inputs, 0, 1);
    for (int i = -FIRST; i < passes; ++i) {
        const double start = fork_ms(CLOCK_MONOTONIC), spent = fork_ms(CLOCK_PROCESS_CPUTIME_ID);
        host.predict(net, input);
        if (i < 0) continue;
        wall[i] = fork_ms(CLOCK_MONOTONIC) - start;
        cpu[i] = fork_ms(CLOCK_PROCESS_CPUTIME_ID) - spent;
    }
    printf("\npass ms %.3f %.3f\n", fork_median(wall, passes), fork_median(cpu, passes));
    return 0;
}
