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

#endif
