/* SPDX-License-Identifier: MIT */
/* A clock that is never set back, for durations. */
#ifndef GEMM_CLOCK_H
#define GEMM_CLOCK_H

#include <time.h>

static inline double gemm_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static inline double gemm_now_s(void) { return 1e-3 * gemm_now_ms(); }

#endif
