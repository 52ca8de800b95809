/* SPDX-License-Identifier: MIT */
/* Small integers: what C has no operator for. */
#ifndef GEMM_INTS_H
#define GEMM_INTS_H

#include <stddef.h>

static inline int min_int(int a, int b) { return a < b ? a : b; }
static inline int max_int(int a, int b) { return a > b ? a : b; }

/* a / b rounded up; a >= 0, b > 0. Does not overflow. */
static inline int ceil_div(int a, int b) { return a / b + (a % b != 0); }

/* The least multiple of `to` that is not below n. */
static inline size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* The least odd multiple of `to` that is not below n. */
static inline size_t round_up_odd(size_t n, size_t to) { return ((n + to - 1) / to | 1) * to; }

/* Cuts n into as few steps of at most `most` as possible. The steps are equal, but for the last
   one, and rounded up to a multiple of `unit`. Returns the step. `most` has to be such a multiple,
   if the step must not exceed it. */
static inline int even_step(int n, int most, int unit)
{
    const int parts = ceil_div(n, most);
    return ceil_div(ceil_div(n, parts), unit) * unit;
}

#endif
