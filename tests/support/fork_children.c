/* SPDX-License-Identifier: MIT */
/*
 * Forks while other threads predict (fork_host.h). Each child predicts in a network of its own, and
 * must get the bits of its parent.
 *
 *   fork_children LIBDARKNET CHILDREN CFG WEIGHTS
 *
 * Prints how many children hung for 10 s, died and were wrong. Status 1 unless all are 0. It gives
 * up after 3 that hung.
 */
#include "fork_host.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, HANG_S = 10, MOST_HUNG = 3 };

static fork_host host;
static float *input;
static atomic_bool stop;

static void *predict(void *net)
{
    while (!atomic_load(&stop)) host.predict(net, input);
    return NULL;
}

static _Noreturn void be_child(network *net, const float *right, int n)
{
    float *got = malloc((size_t)n * sizeof *got);
    alarm(HANG_S);
    host.predict(net, input);
    fork_copy_outputs(net, 0, got);
    _exit(memcmp(got, right, (size_t)n * sizeof *got) != 0);
}

/* The status of a child, as waitpid has it. */
static int run_child(network *net, const float *right, int n)
{
    int status;
    const pid_t child = fork();
    if (child == 0) be_child(net, right, n);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        fputs("fork_children: no child\n", stderr);
        exit(2);
    }
    return status;
}

/* A network that has predicted. The first passes differ from later ones in how they compute. */
static network *begin(char *cfg, char *weights)
{
    network *net = fork_load(&host, cfg, weights, 1, 2);
    unsigned seed = 1;
    if (!input) {
        input = malloc((size_t)net->inputs * sizeof *input);
        fork_fill(&seed, input, net->inputs, 0, 1);
    }
    for (int i = 0; i < 3; ++i) host.predict(net, input);
    return net;
}

int main(int argc, char **argv)
{
    const int children = argc == 5 ? atoi(argv[2]) : 0;
    if (children < 1) {
        fputs("usage: fork_children LIBDARKNET CHILDREN CFG WEIGHTS\n", stderr);
        return 2;
    }
    host = fork_open(argv[1]);
    network *net = begin(argv[3], argv[4]);
    const int n = fork_copy_outputs(net, 0, NULL);
    float *right = malloc((size_t)n * sizeof *right);
    fork_copy_outputs(net, 0, right);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        if (pthread_create(&threads[i], NULL, predict, begin(argv[3], argv[4]))) return 2;
    int done = 0, hung = 0, died = 0, wrong = 0;
    for (; done < children && hung < MOST_HUNG; ++done) {
        const int status = run_child(net, right, n);
        const int is_hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
        hung += is_hung;
        died += WIFSIGNALED(status) && !is_hung;
        wrong += WIFEXITED(status) && WEXITSTATUS(status);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    printf("\n%d children: %d hung, %d died, %d wrong\n", done, hung, died, wrong);
    return hung || died || wrong;
}
