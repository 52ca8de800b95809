/*
 * Matrices that catch stray accesses: each lies directly before (or behind) a page that cannot be
 * touched, and the padding between its rows holds NaN of a known pattern.
 */
#ifndef OPERANDS_H
#define OPERANDS_H

#include "gemm_dispatch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* xorshift64*: small, fast, the same everywhere. The state is never 0. */
typedef struct rng { uint64_t state; } rng;

rng rng_make(uint64_t seed, uint64_t stream);
uint32_t rng_next(rng *);
int rng_below(rng *, int n);            /* 0 <= x < n */
float rng_float(rng *);                 /* uniform in [-1, 1) */

/* A matrix between two guard pages; flush with the page behind it, or with the one before. With
   GUARD_PAGES=readable in the environment only writes into them fail. */
typedef struct guarded {
    void *map;
    size_t map_bytes;
    float *data;
    int rows, columns, ld;
} guarded;

enum { AT_END, AT_START };

/* `offset` bytes (a multiple of 4) are left between the matrix and the guard page. */
guarded guarded_make(int rows, int columns, int ld, int side, int offset);
void guarded_free(guarded *);
void guarded_fill(guarded *, rng *);    /* random elements, NaN in the padding */
void guarded_fill_nan(guarded *);       /* all of it */
bool guarded_padding_intact(const guarded *);

#endif
