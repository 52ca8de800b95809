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

#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))

/*
 * Before a loop of at most 64 steps, whose number is a constant after inlining: unroll it wholly.
 * Under the sanitizers loops stay, because gcc takes minutes to check 64 x 64 unrolled accesses.
 */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define UNROLL
#elif defined __clang__
#define UNROLL _Pragma("unroll 64")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

/* An NN call, in the types that the loops count with. */
typedef struct nn_call {
    size_t M, N, K;
    float ALPHA;
    const float *A; size_t lda;
    const float *B; size_t ldb;
    float *C; size_t ldc;
} nn_call;

INLINE nn_call nn_of(const gemm_call *c)
{
    return (nn_call){(size_t)c->M, (size_t)c->N, (size_t)c->K, c->ALPHA, c->A, (size_t)c->lda,
                     c->B, (size_t)c->ldb, c->C, (size_t)c->ldc};
}

INLINE size_t min(size_t a, size_t b) { return a < b ? a : b; }

/* ---- The six loop orders ---- */

/* C[i][j] += ALPHA * A[i][p] * B[p][j] */
INLINE void multiply_add(nn_call g, size_t i, size_t j, size_t p)
{
    g.C[i * g.ldc + j] += g.ALPHA * g.A[i * g.lda + p] * g.B[p * g.ldb + j];
}

INLINE void mnk(nn_call g)
{
    for (size_t i = 0; i < g.M; ++i)
        for (size_t j = 0; j < g.N; ++j)
            for (size_t p = 0; p < g.K; ++p) multiply_add(g, i, j, p);
}

INLINE void mkn(nn_call g)
{
    for (size_t i = 0; i < g.M; ++i)
        for (size_t p = 0; p < g.K; ++p)
            for (size_t j = 0; j < g.N; ++j) multiply_add(g, i, j, p);
}

INLINE void nmk(nn_call g)
{
    for (size_t j = 0; j < g.N; ++j)
        for (size_t i = 0; i < g.M; ++i)
            for (size_t p = 0; p < g.K; ++p) multiply_add(g, i, j, p);
}

INLINE void nkm(nn_call g)
{
    for (size_t j = 0; j < g.N; ++j)
        for (size_t p = 0; p < g.K; ++p)
            for (size_t i = 0; i < g.M; ++i) multiply_add(g, i, j, p);
}

INLINE void kmn(nn_call g)
{
    for (size_t p = 0; p < g.K; ++p)
        for (size_t i = 0; i < g.M; ++i)
            for (size_t j = 0; j < g.N; ++j) multiply_add(g, i, j, p);
}

INLINE void knm(nn_call g)
{
    for (size_t p = 0; p < g.K; ++p)
        for (size_t j = 0; j < g.N; ++j)
            for (size_t i = 0; i < g.M; ++i) multiply_add(g, i, j, p);
}

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

/* ---- Tiles: a 1 x TK row of A times a TK x TN block of B ---- */

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

/* MKN over tiles, MKN inside a tile. */
INLINE void tile(nn_call g, size_t TM, size_t TK, size_t TN, unrolling how)
{
    for (size_t i = 0; i < g.M; i += TM)
        for (size_t p = 0; p < g.K; p += TK)
            for (size_t j = 0; j < g.N; j += TN)
                rows_by_block(g, i, min(i + TM, g.M), p, j, TK, TN, how);
}

/* KN over blocks of B, then all of M, then KN inside the block. */
INLINE void vtile(nn_call g, size_t TK, size_t TN, unrolling how)
{
    for (size_t p = 0; p < g.K; p += TK)
        for (size_t j = 0; j < g.N; j += TN) rows_by_block(g, 0, g.M, p, j, TK, TN, how);
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

INLINE void tile_uuu(nn_call g, size_t T)
{
    for (size_t i = 0; i < g.M; i += T)
        for (size_t p = 0; p < g.K; p += T)
            for (size_t j = 0; j < g.N; j += T)
                rows_by_block_uuu(g, i, min(i + T, g.M), p, j, T);
}

INLINE void vtile_uuu(nn_call g, size_t T)
{
    for (size_t p = 0; p < g.K; p += T)
        for (size_t j = 0; j < g.N; j += T) rows_by_block_uuu(g, 0, g.M, p, j, T);
}

/* ---- The rows of the table ---- */

/* Defines gemm_<name>. It declines all calls but NN. `loops` is a call of a function above, in
   which g is the nn_call. */
#define VARIANT(name, loops) \
    __attribute__((noinline)) \
    gemm_status gemm_##name(const gemm_call *c, const gemm_context *context, const void *params) \
    { \
        (void)context, (void)params; \
        if (c->TA || c->TB) return GEMM_DECLINED; \
        const nn_call g = nn_of(c); \
        loops; \
        return GEMM_DONE; \
    }

#define DEFINE_ORDER(name, outer, middle, inner) VARIANT(name, name(g))
GEMM_ORDERS(DEFINE_ORDER)

VARIANT(mnk_acc, mnk_acc(g))
VARIANT(unroll2, unroll(g, 2))
VARIANT(unroll4, unroll(g, 4))

#define DEFINE_MKN_UNROLL(U) VARIANT(mkn_u##U, mkn_u(g, U))
GEMM_MKN_UNROLLS(DEFINE_MKN_UNROLL)

VARIANT(block1d, block1d(g, block1d_update))
VARIANT(block1d_k, block1d(g, block1d_k_update))
VARIANT(block2d, block2d(g))

#define DEFINE_TILES(T) \
    VARIANT(tile_##T, tile(g, T, T, T, LOOPS)) \
    VARIANT(tile_##T##_u, tile(g, T, T, T, INNERMOST)) \
    VARIANT(tile_##T##_uu, tile(g, T, T, T, BOTH)) \
    VARIANT(vtile_##T, vtile(g, T, T, LOOPS)) \
    VARIANT(vtile_##T##_u, vtile(g, T, T, INNERMOST)) \
    VARIANT(vtile_##T##_uu, vtile(g, T, T, BOTH))
GEMM_TILE_SIDES(DEFINE_TILES)

#define DEFINE_UNROLLED_TILES(T) \
    VARIANT(tile_##T##_uuu, tile_uuu(g, T)) \
    VARIANT(vtile_##T##_uuu, vtile_uuu(g, T))
GEMM_UNROLLED_SIDES(DEFINE_UNROLLED_TILES)

#define DEFINE_TILE_SHAPE(TM, TK, TN) \
    VARIANT(tile_##TM##x##TK##x##TN, tile(g, TM, TK, TN, LOOPS))
GEMM_TILE_SHAPES(DEFINE_TILE_SHAPE)

#define DEFINE_BLOCK_SHAPE(TK, TN) \
    VARIANT(vtile_##TK##x##TN, vtile(g, TK, TN, LOOPS))
GEMM_BLOCK_SHAPES(DEFINE_BLOCK_SHAPE)

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
