/* SPDX-License-Identifier: MIT */
/* The time for tuning: see budget.h. */
#include "util/budget.h"

#include "util/die.h"
#include "util/forked.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    double seconds;             /* that may be spent */
    double (*clock)(void);      /* ms */
    double spent;               /* ms, before `begin` */
    double begin;               /* where depth > 0: since when something is measured */
    int depth;                  /* measurements that run now */
    int done, left;             /* shapes */
    bool registered;
} own = {.seconds = INFINITY};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    own.spent = own.depth = own.done = own.left = 0;
}
GEMM_IN_CHILD(after_fork)

void gemm_budget_set(double seconds, double (*clock)(void))
{
    pthread_mutex_lock(&lock);
    own.seconds = seconds;
    own.clock = clock;
    own.spent = own.depth = own.done = own.left = 0;
    pthread_mutex_unlock(&lock);
}

void gemm_budget_begin(void)
{
    pthread_mutex_lock(&lock);
    if (!own.depth++ && own.clock) own.begin = own.clock();
    pthread_mutex_unlock(&lock);
}

void gemm_budget_end(bool done)
{
    pthread_mutex_lock(&lock);
    /* A child may end what its parent began. */
    if (own.depth && !--own.depth && own.clock) own.spent += own.clock() - own.begin;
    own.done += done;
    pthread_mutex_unlock(&lock);
}

/* With the lock held. */
static bool is_over(void)
{
    if (own.seconds <= 0) return true;
    if (!own.clock || !own.done) return false;
    const double now = own.depth ? own.clock() - own.begin : 0;
    return own.spent + now >= 1e3 * own.seconds;
}

bool gemm_budget_is_over(void)
{
    pthread_mutex_lock(&lock);
    const bool over = is_over();
    pthread_mutex_unlock(&lock);
    return over;
}

int gemm_budget_left(void)
{
    pthread_mutex_lock(&lock);
    const int left = own.left;
    pthread_mutex_unlock(&lock);
    return left;
}

/* A program that is being ended says its own line. */
static void report_left(void)
{
    const int left = gemm_budget_left();
    const bool several = left > 1;
    if (!left || gemm_is_dying()) return;
    fprintf(stderr, "gemm: the time for tuning is over (GEMM_TUNE_SECONDS=%.0f): %d shape%s not "
                    "measured and keep%s the default; the next run with GEMM_TUNE=1 goes on with "
                    "%s\n", own.seconds, left, several ? "s are" : " is", several ? "" : "s",
            several ? "them" : "it");
}

void gemm_budget_leave(void)
{
    pthread_mutex_lock(&lock);
    if (!own.left++ && !own.registered) own.registered = !atexit(report_left);
    pthread_mutex_unlock(&lock);
}
