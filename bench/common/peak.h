/* SPDX-License-Identifier: MIT */
/*
 * The best speed of this machine: multiply-adds a second for each instruction set, and bytes a
 * second from and to memory. It is measured, so that "% of peak" means this machine at this moment.
 */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include <stdbool.h>
#include <stddef.h>

/* The instruction sets by their GEMM_ISA names, widest first. */
typedef struct peak_isa {
    const char *name;
    bool (*usable)(void);       /* whether this processor has it */
    double (*run)(long steps);  /* returns a value so that nothing is optimised away */
    double flops_a_step;
} peak_isa;

extern const peak_isa peak_isas[];
extern const size_t peak_isa_count;

/* The ISA of that name, or NULL; the widest that can be used here. */
const peak_isa *peak_find(const char *name);
const peak_isa *peak_best(void);

/* GFLOP/s of `threads` threads together: `count` values, each over so many seconds. One more run
   before them does not count. 0, or -1: no thread or memory. */
int peak_samples(const peak_isa *, int threads, double seconds, int count, double *gflops);

/* The best of a few. Below 0: no thread or memory. */
double peak_gflops(const peak_isa *, int threads);

typedef struct peak_bandwidth {
    double read_gbs;            /* summing one array */
    double triad_gbs;           /* a = b + s * c: two read, one written, as STREAM counts */
} peak_bandwidth;

/* GB/s of `threads` threads together over arrays of `bytes` in all. Below 0: no thread or
   memory. */
peak_bandwidth peak_bandwidth_measure(int threads, size_t bytes);

#endif
