/* SPDX-License-Identifier: MIT */
/*
 * GEMM_TRACE=summary: each way of computing with its share of the time. A way is the row or kernel
 * that ran, and the algorithm or the kind of layer. A child of fork counts its own calls.
 */
#include "driver/summary.h"

#include "util/die.h"
#include "util/forked.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };             /* more are counted as the last one */
static struct way {
    char name[96];
    long calls;
    double ms;
} ways[MOST];
static int count;
static char settings[128];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    memset(ways, 0, sizeof ways);
    count = 0;
}
GEMM_IN_CHILD(after_fork)

void gemm_summary_op(const gemm_variant *ran, const gemm_op *op, double ms, const gemm_note *note)
{
    char layer[GEMM_OP_TEXT], name[96];
    const char *by = *note->ran ? note->ran : ran->name;
    int i = 0;
    gemm_op_name_layer(op, layer);
    const char *kind = *note->algorithm ? note->algorithm : *layer ? layer : "multiply";
    snprintf(name, sizeof name, "%.*s %.*s", (int)strcspn(by, " "), by, (int)strcspn(kind, " "),
             kind);
    pthread_mutex_lock(&lock);
    while (i < count && i < MOST - 1 && strcmp(ways[i].name, name)) ++i;
    if (i == count) strcpy(ways[count++].name, name);
    ways[i].calls += 1;
    ways[i].ms += ms;
    pthread_mutex_unlock(&lock);
}

static int by_time(const void *a, const void *b)
{
    const double x = ((const struct way *)a)->ms, y = ((const struct way *)b)->ms;
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
    gemm_text_add(&text, "gemm: %s, calls: %ld, %.2f ms\n", settings, calls, ms);
    for (int i = 0; i < count; ++i)
        gemm_text_add(&text, "gemm: %5.1f%% %10.2f ms, calls: %4ld, %s\n",
                      ms > 0 ? 100 * ways[i].ms / ms : 0, ways[i].ms, ways[i].calls, ways[i].name);
    pthread_mutex_unlock(&lock);
    fputs(gemm_text_part(&text), stderr);
    gemm_text_free(&text);
}

void gemm_summary_open(const char *text)
{
    snprintf(settings, sizeof settings, "%s", text);
    atexit(print_summary);
}
