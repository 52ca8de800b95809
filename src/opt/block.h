/* SPDX-License-Identifier: MIT */
/*
 * Tiles: a 1 x TK row of A times a TK x TN block of B. tile.c and vtile.c differ in the order in
 * which they visit the blocks. They are two files, because a compiler needs seconds for each.
 */
#ifndef GEMM_OPT_BLOCK_H
#define GEMM_OPT_BLOCK_H

#include "opt/variant.h"

typedef enum unrolling {
    LOOPS,                      /* no loop is unrolled */
    INNERMOST,                  /* _u: the loop over the block's columns */
    BOTH                        /* _uu: and the loop over its rows */
} unrolling;

/* The block of B is kb x nb. `restrict`, because only then may the compiler keep the row of C in
   registers over p. */
INLINE void row_loops(const float *restrict a, const float *restrict b, size_t ldb,
                      float *restrict out, float ALPHA, size_t kb, size_t nb)
{
    for (size_t p = 0; p < kb; ++p) {
        const float ap = ALPHA * a[p];
        for (size_t j = 0; j < nb; ++j) out[j] += ap * b[p * ldb + j];
    }
}

INLINE void row_u(const float *restrict a, const float *restrict b, size_t ldb,
                  float *restrict out, float ALPHA, size_t TK, size_t TN)
{
    for (size_t p = 0; p < TK; ++p) {
        const float ap = ALPHA * a[p];
        UNROLL for (size_t j = 0; j < TN; ++j) out[j] += ap * b[p * ldb + j];
    }
}

INLINE void row_uu(const float *restrict a, const float *restrict b, size_t ldb,
                   float *restrict out, float ALPHA, size_t TK, size_t TN)
{
    UNROLL for (size_t p = 0; p < TK; ++p) {
        const float ap = ALPHA * a[p];
        UNROLL for (size_t j = 0; j < TN; ++j) out[j] += ap * b[p * ldb + j];
    }
}

/* The block of B at (p, j) meets rows first ... last - 1 of A and C. At the edges of B the block is
   smaller than TK x TN. */
INLINE void rows_by_block(nn_call g, size_t first, size_t last, size_t p, size_t j, size_t TK,
                          size_t TN, unrolling how)
{
    const size_t kb = min(TK, g.K - p), nb = min(TN, g.N - j);
    for (size_t i = first; i < last; ++i) {
        const float *a = g.A + i * g.lda + p, *b = g.B + p * g.ldb + j;
        float *out = g.C + i * g.ldc + j;
        if (kb != TK || nb != TN)
            row_loops(a, b, g.ldb, out, g.ALPHA, kb, nb);
        else if (how == LOOPS)
            row_loops(a, b, g.ldb, out, g.ALPHA, TK, TN);
        else if (how == INNERMOST)
            row_u(a, b, g.ldb, out, g.ALPHA, TK, TN);
        else
            row_uu(a, b, g.ldb, out, g.ALPHA, TK, TN);
    }
}

/* rows_by_block with the loop over T rows unrolled too, as long as T rows are left and the block is
   whole. */
INLINE void rows_by_block_uuu(nn_call g, size_t first, size_t last, size_t p, size_t j, size_t T)
{
    size_t i = first;
    if (T <= g.K - p && T <= g.N - j)
        for (; i + T <= last; i += T)
            UNROLL for (size_t q = 0; q < T; ++q)
                row_uu(g.A + (i + q) * g.lda + p, g.B + p * g.ldb + j, g.ldb,
                       g.C + (i + q) * g.ldc + j, g.ALPHA, T, T);
    rows_by_block(g, i, last, p, j, T, T, BOTH);
}

#endif
