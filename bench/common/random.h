/* SPDX-License-Identifier: MIT */
/*
 * Random numbers for tests and benchmarks: xorshift64*. It is small and fast, and it gives the same
 * numbers on every machine.
 */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stdint.h>

/* The state is never 0. */
typedef struct rng {
    uint64_t state;
} rng;

/* A generator of its own for each pair of seed and stream. */
rng rng_make(uint64_t seed, uint64_t stream);

uint32_t rng_next(rng *);
int rng_below(rng *, int n);            /* 0 <= x < n */
float rng_float(rng *);                 /* uniform in [-1, 1) */

#endif
