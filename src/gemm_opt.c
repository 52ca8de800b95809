/* SPDX-License-Identifier: MIT */
/*
 * The CPU variants of the articles: loop orders, unrolling, blocking, transposing.
 *
 * All compute C(MxN) += ALPHA * A(MxK) * B(KxN), row-major. The articles' listings are right only
 * for sizes that are multiples of their block. The loops here are right for every size.
 *
 * i runs over M, j over N, p over K. In memory, a step of p moves by 1 in A and by ldb in B. A step
 * of j moves by 1 in B and C. A step of i moves by lda in A and by ldc in C.
 *
 * Sources:
 * - "Accelerating MLPerf Tiny on CFU Playground, part 3: blocked matrix multiplication" (2024):
 *   loop orders, mkn_u*, tile_* and vtile_*.
 * - "Serial gemm optimisation, part 3" (2024): mnk_acc, unroll*, block*d and transpose.
 *
 * The loops of each variant are plain functions. The list at the end makes a row of the table from
 * each. A row is one function, gemm_<name>, that contains its loops and is never inlined. Therefore
 * a profile shows every variant by its name.
 */
#include "gemm_opt.h"
#include "opt/variant.h"

#include <stdlib.h>

/* ---- The six loop orders ---- */

/* C[i][j] += ALPHA * A[i][p] * B[p][j] */
INLINE void multiply_add(nn_call g, size_t i, size_t j, size_t p)
{
    g.C[i * g.ldc + j] += g.ALPHA * g.A[i * g.lda + p] * g.B[p * g.ldb + j];
}

#define LOOP(size) for (size_t in_##size = 0; in_##size < g.size; ++in_##size)
#define DEFINE_ORDER(name, outer, middle, inner) \
    VARIANT(name, LOOP(outer) LOOP(middle) LOOP(inner) multiply_add(g, in_M, in_N, in_K))
GEMM_ORDERS(DEFINE_ORDER)

/* ---- Order mkn with N unrolled by U ---- */

INLINE void mkn_u(nn_call g, size_t U)
{
    for (size_t i = 0; i < g.M; ++i) {
        for (size_t p = 0; p < g.K; ++p) {
            const float a = g.ALPHA * g.A[i * g.lda + p];
            const float *b = g.B + p * g.ldb;
            float *out = g.C + i * g.ldc;
            size_t j = 0;
            for (; j + U <= g.N; j += U)
                UNROLL for (size_t q = 0; q < U; ++q) out[j + q] += a * b[j + q];
            for (; j < g.N; ++j) out[j] += a * b[j];
        }
    }
}

/* ---- Order mnk with the sum in a register ---- */

INLINE void mnk_acc(nn_call g)
{
    for (size_t i = 0; i < g.M; ++i) {
        for (size_t j = 0; j < g.N; ++j) {
            float sum = 0;
            for (size_t p = 0; p < g.K; ++p) sum += g.A[i * g.lda + p] * g.B[p * g.ldb + j];
            g.C[i * g.ldc + j] += g.ALPHA * sum;
        }
    }
}

/* The same with K unrolled by U. */
INLINE void unroll(nn_call g, size_t U)
{
    for (size_t i = 0; i < g.M; ++i) {
        for (size_t j = 0; j < g.N; ++j) {
            const float *a = g.A + i * g.lda, *b = g.B + j;
            float sum = 0;
            size_t p = 0;
            for (; p + U <= g.K; p += U)
                UNROLL for (size_t q = 0; q < U; ++q) sum += a[p + q] * b[(p + q) * g.ldb];
            for (; p < g.K; ++p) sum += a[p] * b[p * g.ldb];
            g.C[i * g.ldc + j] += g.ALPHA * sum;
        }
    }
}

/* ---- Blocks of 4 ---- */

enum { BLOCK = 4 };

/* A block of C, mb x nb, gains all K products. As in the article, C is updated in memory at every
   p. The row `packed` keeps the sums in registers. */
INLINE void block1d_update(nn_call g, size_t i, size_t j, size_t mb, size_t nb)
{
    const float *a = g.A + i * g.lda, *b = g.B + j;
    float *out = g.C + i * g.ldc + j;
    for (size_t p = 0; p < g.K; ++p)
        for (size_t ii = 0; ii < mb; ++ii)
            for (size_t jj = 0; jj < nb; ++jj)
                out[ii * g.ldc + jj] += g.ALPHA * a[ii * g.lda + p] * b[p * g.ldb + jj];
}

/* The same with the loop over K innermost. */
INLINE void block1d_k_update(nn_call g, size_t i, size_t j, size_t mb, size_t nb)
{
    const float *a = g.A + i * g.lda, *b = g.B + j;
    float *out = g.C + i * g.ldc + j;
    for (size_t ii = 0; ii < mb; ++ii)
        for (size_t jj = 0; jj < nb; ++jj)
            for (size_t p = 0; p < g.K; ++p)
                out[ii * g.ldc + jj] += g.ALPHA * a[ii * g.lda + p] * b[p * g.ldb + jj];
}

typedef void block_update(nn_call g, size_t i, size_t j, size_t mb, size_t nb);

INLINE void block1d(nn_call g, block_update *update)
{
    for (size_t i = 0; i < g.M; i += BLOCK) {
        for (size_t j = 0; j < g.N; j += BLOCK) {
            const size_t mb = min(BLOCK, g.M - i), nb = min(BLOCK, g.N - j);
            if (mb == BLOCK && nb == BLOCK)
                update(g, i, j, BLOCK, BLOCK);  /* constants: inner loops are unrolled */
            else
                update(g, i, j, mb, nb);
        }
    }
}

/* A block of C, mb x nb, gains the product of mb x kb of A and kb x nb of B. */
INLINE void block2d_update(nn_call g, size_t i, size_t j, size_t p, size_t mb, size_t nb, size_t kb)
{
    const float *a = g.A + i * g.lda + p, *b = g.B + p * g.ldb + j;
    float *out = g.C + i * g.ldc + j;
    for (size_t ii = 0; ii < mb; ++ii) {
        for (size_t jj = 0; jj < nb; ++jj) {
            float sum = 0;
            for (size_t pp = 0; pp < kb; ++pp) sum += a[ii * g.lda + pp] * b[pp * g.ldb + jj];
            out[ii * g.ldc + jj] += g.ALPHA * sum;
        }
    }
}

INLINE void block2d(nn_call g)
{
    for (size_t i = 0; i < g.M; i += BLOCK) {
        for (size_t j = 0; j < g.N; j += BLOCK) {
            for (size_t p = 0; p < g.K; p += BLOCK) {
                const size_t mb = min(BLOCK, g.M - i), nb = min(BLOCK, g.N - j);
                const size_t kb = min(BLOCK, g.K - p);
                if (mb == BLOCK && nb == BLOCK && kb == BLOCK)
                    block2d_update(g, i, j, p, BLOCK, BLOCK, BLOCK);
                else
                    block2d_update(g, i, j, p, mb, nb, kb);
            }
        }
    }
}

/* ---- B transposed once, then rows of A by rows of Bt ---- */

/* Bt is N x K. */
INLINE void transpose(nn_call g, float *Bt)
{
    for (size_t p = 0; p < g.K; ++p)
        for (size_t j = 0; j < g.N; ++j) Bt[j * g.K + p] = g.B[p * g.ldb + j];
    for (size_t i = 0; i < g.M; ++i) {
        for (size_t j = 0; j < g.N; ++j) {
            float sum = 0;
            for (size_t p = 0; p < g.K; ++p) sum += g.A[i * g.lda + p] * Bt[j * g.K + p];
            g.C[i * g.ldc + j] += g.ALPHA * sum;
        }
    }
}

/* ---- The rows of the table ---- */

VARIANT(mnk_acc, mnk_acc(g))
VARIANT(unroll2, unroll(g, 2))
VARIANT(unroll4, unroll(g, 4))

#define DEFINE_MKN_UNROLL(U) VARIANT(mkn_u##U, mkn_u(g, U))
GEMM_MKN_UNROLLS(DEFINE_MKN_UNROLL)

VARIANT(block1d, block1d(g, block1d_update))
VARIANT(block1d_k, block1d(g, block1d_k_update))
VARIANT(block2d, block2d(g))

__attribute__((noinline))
gemm_status gemm_transpose(const gemm_call *c, const gemm_context *context, const void *params)
{
    (void)context, (void)params;
    if (c->TA || c->TB) return GEMM_DECLINED;
    const nn_call g = nn_of(c);
    float *Bt = malloc(g.N * g.K * sizeof(float));
    if (!Bt) return GEMM_DECLINED;
    transpose(g, Bt);
    free(Bt);
    return GEMM_DONE;
}
