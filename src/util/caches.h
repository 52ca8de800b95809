/* SPDX-License-Identifier: MIT */
/* A cache line; the sizes of this processor's caches, and how its L3 takes non-temporal lines. */
#ifndef GEMM_CACHES_H
#define GEMM_CACHES_H

#include <stdbool.h>
#include <stddef.h>

/* Of every processor here. */
enum { CACHE_LINE = 64, LINE_FLOATS = CACHE_LINE / sizeof(float) };

/* Sizes are bytes of the core that asks first. One that the system does not tell is a usual one. */
typedef struct gemm_caches {
    size_t l1, l2;              /* l1: of data */
    /*
     * Whether a line that is fetched as non-temporal stays in L2 until it is used, and does not go
     * to L3 after that.
     */
    bool passes_l3;
} gemm_caches;

/* Asked once, because cpuid is slow in a virtual machine. */
const gemm_caches *gemm_find_caches(void);

#endif
