/* SPDX-License-Identifier: MIT */
/* Ends the program after an error: see die.h. */
#include "util/die.h"

#include "util/forked.h"
#include "util/text.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_bool dying;
static pthread_t dies;          /* the thread that ends the program, once it is named */
static atomic_bool named;

/* The thread that ends the parent does not live on in a child. */
static void after_fork(void)
{
    if (atomic_load(&named) && pthread_equal(dies, pthread_self())) return;
    atomic_store(&dying, false);
    atomic_store(&named, false);
}
GEMM_IN_CHILD(after_fork)

/* Whether this thread is the first one. */
static bool claim(void)
{
    if (atomic_exchange(&dying, true)) return false;
    dies = pthread_self();
    atomic_store(&named, true);
    return true;
}

/* stderr is locked for the line, so that no other thread's text stands in it. */
static _Noreturn void end(const char *format, va_list args)
{
    fflush(stdout);
    flockfile(stderr);
    fputs("gemm: ", stderr);
    const locale_t host = gemm_begin_point();
    vfprintf(stderr, format, args);
    gemm_end_point(host);
    fputc('\n', stderr);
    funlockfile(stderr);
    exit(1);
}

void gemm_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (claim()) end(format, args);
    va_end(args);
    /* exit() in two threads at once is undefined. */
    while (!atomic_load(&named) || !pthread_equal(dies, pthread_self())) pause();
    exit(1);
}

void gemm_die_first(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (claim()) end(format, args);
    va_end(args);
}

bool gemm_is_dying(void)
{
    return atomic_load_explicit(&dying, memory_order_relaxed);
}
