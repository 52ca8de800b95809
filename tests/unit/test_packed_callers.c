/* SPDX-License-Identifier: MIT */
/*
 * Who calls row `packed`: a forked child and its child, threads that come and go; and the memory
 * that many calls leave. Several threads at once: test_threads, and test_packed_conv.
 *
 *   test_packed_callers [--seed S]
 */
#include "driver/driver.h"
#include "packed/packed.h"
#include "support/heap.h"
#include "support/options.h"
#include "support/report.h"

#include "common/random.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BIG = 200, ROUNDS = 40 };

typedef struct caller {
    pthread_t thread;
    float A[BIG * BIG], B[BIG * BIG], C[BIG * BIG], expected[BIG * BIG];
    bool wrong;
} caller;

static bool multiplies(const gemm_call *c)
{
    gemm_note note;
    const gemm_context context = gemm_make_context(&note);
    return gemm_packed(c, &context, NULL) == GEMM_DONE;
}

static void multiply(caller *c, float *to)
{
    const gemm_call call = {0, 0, BIG, BIG, BIG, 1, c->A, BIG, c->B, BIG, to, BIG};
    memset(to, 0, sizeof c->C);
    if (!multiplies(&call)) c->wrong = true;
}

/* Expects what one thread computes: a different number of threads must not change a bit. */
static caller *make_caller(uint64_t seed, uint64_t stream)
{
    caller *c = calloc(1, sizeof *c);
    if (!c) exit(2);
    rng r = rng_make(seed, 2000000 + stream);
    for (int i = 0; i < BIG * BIG; ++i) {
        c->A[i] = rng_float(&r);
        c->B[i] = rng_float(&r);
    }
    gemm_set_threads(1);
    multiply(c, c->expected);
    return c;
}

static void *call_often(void *arg)
{
    caller *c = arg;
    for (int i = 0; i < ROUNDS && !c->wrong; ++i) {
        multiply(c, c->C);
        if (memcmp(c->C, c->expected, sizeof c->C)) c->wrong = true;
    }
    return NULL;
}

/* Waits for a child: true when it multiplied as its parent did. */
static bool child_was_right(pid_t child)
{
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* The child must start workers of its own, and so must a child of the child; the parent goes on. */
static void test_fork(const test_options *o)
{
    caller *c = make_caller(o->seed, 100);
    gemm_set_threads(3);
    call_often(c);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);              /* ends a hang */
        call_often(c);
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            alarm(60);
            call_often(c);
            _exit(c->wrong);
        }
        _exit(c->wrong || !child_was_right(grandchild));
    }
    const bool right = child_was_right(child);
    call_often(c);
    report_judged("packed fork", !right ? "wrong in the child" : c->wrong ? "wrong in the parent"
                                                                          : NULL);
    free(c);
}

static long peak_kib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static void call_changing_shapes(float *A, float *B, float *C, rng *r, int calls)
{
    for (int i = 0; i < calls; ++i) {
        const int M = 1 + rng_below(r, 40), N = 1 + rng_below(r, BIG), K = 1 + rng_below(r, BIG);
        const gemm_call call = {i & 1, i >> 1 & 1, M, N, K, 1, A, BIG, B, BIG, C, BIG};
        gemm_set_threads(1 + i % 4);
        multiplies(&call);
    }
}

/* Peak memory and what malloc has given out, before and after. */
static void test_memory(const test_options *o)
{
    enum { MOST_KIB = 1024 };
    float *A = calloc(3 * BIG * BIG, sizeof *A), *B = A + BIG * BIG, *C = B + BIG * BIG;
    if (!A) exit(2);
    rng r = rng_make(o->seed, 3000000);
    call_changing_shapes(A, B, C, &r, 1000);
    const long peak = peak_kib();
    const size_t given = heap_given();
    call_changing_shapes(A, B, C, &r, 10000);
    const long grown = peak_kib() - peak;
    const size_t leaked = heap_given() - given;
    free(A);
    report_that("packed memory", grown <= MOST_KIB && !leaked,
                "10,000 calls: %ld KiB more, %zu bytes kept", grown, leaked);
}

static void *call_once(void *arg)
{
    caller *c = arg;
    multiply(c, c->C);
    return NULL;
}

/* Callers that come and go leave nothing behind. */
static void test_short_lived_callers(const test_options *o)
{
    caller *c = make_caller(o->seed, 200);
    gemm_set_threads(2);
    size_t given = 0;
    for (int i = 0; i < 200; ++i) {
        if (pthread_create(&c->thread, NULL, call_once, c)) exit(2);
        pthread_join(c->thread, NULL);
        if (i == 20) given = heap_given();
    }
    const size_t now = heap_given();
    free(c);
    report_that("packed short-lived callers", now <= given, "180 threads left %zu bytes",
                now - given);
}

int main(int argc, char **argv)
{
    test_options o = {.seed = (uint64_t)time(NULL) & INT_MAX};
    o = options_read(argc, argv, o, "--seed", NULL);
    printf("# seed %llu\n", (unsigned long long)o.seed);
    test_fork(&o);
    test_memory(&o);
    test_short_lived_callers(&o);
    return report_status();
}
