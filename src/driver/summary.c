/* SPDX-License-Identifier: MIT */
/*
 * GEMM_TRACE=summary: the variant, the instruction set, the threads, and each way of computing
 * with its share of the time. A way is the row or kernel that ran, and the algorithm or the kind of
 * layer. A child of fork counts its own calls.
 */
#include "driver/summary.h"

#include "util/die.h"
#include "util/forked.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct way {
    char name[96];
    long calls;
    double ms;
} way;

static const char *impl_name, *isa_name;
static const int *thread_count;
enum { MOST = 64 };             /* the last one has all that there is no room for */
static way ways[MOST];
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    count = 0;
}
GEMM_IN_CHILD(after_fork)

static way *find_way(const char *name)
{
    for (int i = 0; i < count; ++i)
        if (i == MOST - 1 || !strcmp(ways[i].name, name)) return &ways[i];
    way *w = &ways[count++];
    *w = (way){.calls = 0};
    snprintf(w->name, sizeof w->name, "%s", count == MOST ? "others" : name);
    return w;
}

void gemm_summary_op(const gemm_variant *ran, const gemm_op *op, double ms, const gemm_note *note)
{
    char layer[GEMM_OP_TEXT], name[96];
    const char *by = *note->ran ? note->ran : ran->name;
    gemm_op_name_layer(op, layer);
    const char *kind = *note->algorithm ? note->algorithm : *layer ? layer : "multiply";
    snprintf(name, sizeof name, "%.*s %.*s", (int)strcspn(by, " "), by, (int)strcspn(kind, " "),
             kind);
    pthread_mutex_lock(&lock);
    way *w = find_way(name);
    w->calls += 1;
    w->ms += ms;
    pthread_mutex_unlock(&lock);
}

static int by_time(const void *a, const void *b)
{
    const double x = ((const way *)a)->ms, y = ((const way *)b)->ms;
    return (x < y) - (x > y);
}

/* A program that is being ended says its own line. */
static void print_summary(void)
{
    gemm_text text = {0};
    long calls = 0;
    double ms = 0;
    if (gemm_is_dying()) return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; ++i) calls += ways[i].calls, ms += ways[i].ms;
    qsort(ways, (size_t)count, sizeof *ways, by_time);
    gemm_text_add(&text, "gemm: GEMM_IMPL=%s, %s, threads: %d, calls: %ld, %.2f ms\n",
                  impl_name, isa_name, *thread_count, calls, ms);
    for (int i = 0; i < count; ++i)
        gemm_text_add(&text, "gemm: %5.1f%% %10.2f ms, calls: %4ld, %s\n",
                      ms > 0 ? 100 * ways[i].ms / ms : 0, ways[i].ms, ways[i].calls, ways[i].name);
    pthread_mutex_unlock(&lock);
    fputs(gemm_text_part(&text), stderr);
    gemm_text_free(&text);
}

void gemm_summary_open(const char *impl, const char *isa, const int *threads)
{
    impl_name = impl;
    isa_name = isa;
    thread_count = threads;
    atexit(print_summary);
}
