/* SPDX-License-Identifier: MIT */
/* Clocks that are never set back, for durations. */
#ifndef GEMM_CLOCK_H
#define GEMM_CLOCK_H

#include <time.h>

static inline double gemm_clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static inline double gemm_now_ms(void) { return gemm_clock_ms(CLOCK_MONOTONIC); }

/* Of all threads of this process. */
static inline double gemm_cpu_ms(void) { return gemm_clock_ms(CLOCK_PROCESS_CPUTIME_ID); }

static inline double gemm_now_s(void) { return 1e-3 * gemm_now_ms(); }

#endif
