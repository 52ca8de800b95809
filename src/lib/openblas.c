/* SPDX-License-Identifier: MIT */
/*
 * OpenBLAS's switches, for hosts that set the threads of their BLAS by them.
 *
 * In front of a real OpenBLAS, as a preloaded library is, only sgemm is ours. So a number that the
 * host sets goes to both. OpenBLAS answers what the host asks, because a host counts OpenBLAS's
 * threads and judges its version by the answers.
 *
 * They are weak: a program that links OpenBLAS's archive too gets one of both.
 */
#include "darknet_gemm.h"
#include "driver/settings.h"

#include <dlfcn.h>
#include <errno.h>

typedef union next {
    void *data;
    void (*set)(int);
    int (*get)(void);
    char *(*config)(void);
} next;

static next behind(const char *name)
{
    return (next){dlsym(RTLD_NEXT, name)};
}

#define SWITCH __attribute__((weak))
void openblas_set_num_threads(int threads) SWITCH;
int openblas_get_num_threads(void) SWITCH;
char *openblas_get_config(void) SWITCH;

/* As OpenBLAS: the most for a number above it, and the most until now for one below 1. */
void openblas_set_num_threads(int threads)
{
    static int most;
    const int before = errno, now = darknet_gemm_get_threads();
    const next real = behind("openblas_set_num_threads");
    if (now > most) most = now;
    if (real.data) real.set(threads);
    if (threads > GEMM_MAX_THREADS) threads = GEMM_MAX_THREADS;
    darknet_gemm_set_threads(threads < 1 ? most : threads);
    errno = before;
}

int openblas_get_num_threads(void)
{
    const int before = errno;
    const next real = behind("openblas_get_num_threads");
    errno = before;
    return real.data ? real.get() : darknet_gemm_get_threads();
}

char *openblas_get_config(void)
{
    static char own[] = "darknet-gemm " DARKNET_GEMM_VERSION;
    const int before = errno;
    const next real = behind("openblas_get_config");
    errno = before;
    return real.data ? real.config() : own;
}
