/*
 * The CPU variants of the articles: loop orders, unrolling, blocking, transposing.
 *
 * All compute C(MxN) += ALPHA * A(MxK) * B(KxN), row-major, for any size; the articles' listings
 * are right for multiples of their block only, and some clear or overwrite C (README.md tells).
 * Letters: i runs over M, j over N, p over K. In memory, p walks A by 1 and B by ldb, j walks B
 * and C by 1, i walks A by lda and C by ldc.
 *
 * Sources: "Accelerating MLPerf Tiny on CFU Playground, part 3: blocked matrix multiplication"
 * (2024) for loop orders, mkn_u*, tile_* and vtile_*; "Serial gemm optimisation, part 3" (2024) for
 * mnk_acc, unroll*, block*d and transpose.
 *
 * Every variant is one function that is never inlined, so a profile shows it by name.
 */
#include "gemm_opt.h"

#include <stdlib.h>

#define VARIANT(name) __attribute__((noinline)) gemm_status \
    gemm_##name(const gemm_call *c, const gemm_context *context, const void *params)
#define INLINE static inline __attribute__((always_inline))

#define PRAGMA(text) _Pragma(#text)
/* Under the sanitizers the accesses are the same, and gcc takes minutes to check 64 x 64 of them. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define UNROLL(times)
#elif defined __clang__
#define UNROLL(times) PRAGMA(unroll times)
#else
#define UNROLL(times) PRAGMA(GCC unroll times)
#endif
#define KEEP_LOOP

/* The call's members as the locals that the loops speak of; leaves the function unless NN. */
#define NN_ONLY(c, params) \
    (void)context, (void)(params); \
    if ((c)->TA || (c)->TB) return GEMM_DECLINED; \
    const size_t M = (size_t)(c)->M, N = (size_t)(c)->N, K = (size_t)(c)->K; \
    const size_t lda = (size_t)(c)->lda, ldb = (size_t)(c)->ldb, ldc = (size_t)(c)->ldc; \
    const float ALPHA = (c)->ALPHA; \
    const float *A = (c)->A, *B = (c)->B; \
    float *C = (c)->C

INLINE size_t min(size_t a, size_t b) { return a < b ? a : b; }

/* ---- The six loop orders ---- */

#define LOOP_M for (size_t i = 0; i < M; ++i)
#define LOOP_N for (size_t j = 0; j < N; ++j)
#define LOOP_K for (size_t p = 0; p < K; ++p)

#define DEFINE_ORDER(name, outer, middle, inner) \
    VARIANT(name) \
    { \
        NN_ONLY(c, params); \
        LOOP_##outer LOOP_##middle LOOP_##inner \
            C[i * ldc + j] += ALPHA * A[i * lda + p] * B[p * ldb + j]; \
        return GEMM_DONE; \
    }
GEMM_ORDERS(DEFINE_ORDER)

/* ---- The sum in a register, and K unrolled ---- */

VARIANT(mnk_acc)
{
    NN_ONLY(c, params);
    LOOP_M LOOP_N {
        float sum = 0;
        LOOP_K sum += A[i * lda + p] * B[p * ldb + j];
        C[i * ldc + j] += ALPHA * sum;
    }
    return GEMM_DONE;
}

#define DEFINE_UNROLL(U) \
    VARIANT(unroll##U) \
    { \
        NN_ONLY(c, params); \
        LOOP_M LOOP_N { \
            float sum = 0; \
            size_t p = 0; \
            for (; p + U <= K; p += U) \
                UNROLL(U) for (size_t q = 0; q < U; ++q) \
                    sum += A[i * lda + p + q] * B[(p + q) * ldb + j]; \
            for (; p < K; ++p) sum += A[i * lda + p] * B[p * ldb + j]; \
            C[i * ldc + j] += ALPHA * sum; \
        } \
        return GEMM_DONE; \
    }
DEFINE_UNROLL(2)
DEFINE_UNROLL(4)

/* ---- Order mkn with N unrolled ---- */

#define DEFINE_MKN_UNROLL(U) \
    VARIANT(mkn_u##U) \
    { \
        NN_ONLY(c, params); \
        LOOP_M LOOP_K { \
            const float a = ALPHA * A[i * lda + p]; \
            size_t j = 0; \
            for (; j + U <= N; j += U) \
                UNROLL(U) for (size_t q = 0; q < U; ++q) C[i * ldc + j + q] += a * B[p * ldb + j + q]; \
            for (; j < N; ++j) C[i * ldc + j] += a * B[p * ldb + j]; \
        } \
        return GEMM_DONE; \
    }
GEMM_MKN_UNROLLS(DEFINE_MKN_UNROLL)

/* ---- Blocks of 4 ---- */

enum { BLOCK = 4 };

/* mb x nb of C, all of K, C updated in memory at every p as in the article: keeping the sums in
   registers is a step of its own (packed.c). */
INLINE void block1d_update(const gemm_call *c, size_t i, size_t j, size_t mb, size_t nb)
{
    const size_t lda = (size_t)c->lda, ldb = (size_t)c->ldb, ldc = (size_t)c->ldc;
    const float *a = c->A + i * lda, *b = c->B + j;
    float *out = c->C + i * ldc + j;
    for (size_t p = 0; p < (size_t)c->K; ++p)
        for (size_t ii = 0; ii < mb; ++ii)
            for (size_t jj = 0; jj < nb; ++jj)
                out[ii * ldc + jj] += c->ALPHA * a[ii * lda + p] * b[p * ldb + jj];
}

VARIANT(block1d)
{
    (void)context, (void)params;
    if (c->TA || c->TB) return GEMM_DECLINED;
    const size_t M = (size_t)c->M, N = (size_t)c->N;
    for (size_t i = 0; i < M; i += BLOCK) {
        for (size_t j = 0; j < N; j += BLOCK) {
            const size_t mb = min(BLOCK, M - i), nb = min(BLOCK, N - j);
            if (mb == BLOCK && nb == BLOCK)
                block1d_update(c, i, j, BLOCK, BLOCK);
            else
                block1d_update(c, i, j, mb, nb);
        }
    }
    return GEMM_DONE;
}

/* mb x nb of C gains the product of mb x kb of A and kb x nb of B. */
INLINE void block2d_update(const float *a, size_t lda, const float *b, size_t ldb, float *out,
                           size_t ldc, float ALPHA, size_t mb, size_t nb, size_t kb)
{
    for (size_t ii = 0; ii < mb; ++ii) {
        for (size_t jj = 0; jj < nb; ++jj) {
            float sum = 0;
            for (size_t pp = 0; pp < kb; ++pp) sum += a[ii * lda + pp] * b[pp * ldb + jj];
            out[ii * ldc + jj] += ALPHA * sum;
        }
    }
}

VARIANT(block2d)
{
    NN_ONLY(c, params);
    for (size_t i = 0; i < M; i += BLOCK) {
        for (size_t j = 0; j < N; j += BLOCK) {
            for (size_t p = 0; p < K; p += BLOCK) {
                const float *a = A + i * lda + p, *b = B + p * ldb + j;
                float *out = C + i * ldc + j;
                const size_t mb = min(BLOCK, M - i), nb = min(BLOCK, N - j), kb = min(BLOCK, K - p);
                if (mb == BLOCK && nb == BLOCK && kb == BLOCK)
                    block2d_update(a, lda, b, ldb, out, ldc, ALPHA, BLOCK, BLOCK, BLOCK);
                else
                    block2d_update(a, lda, b, ldb, out, ldc, ALPHA, mb, nb, kb);
            }
        }
    }
    return GEMM_DONE;
}

/* ---- B transposed once, then rows of A by rows of Bt ---- */

VARIANT(transpose)
{
    NN_ONLY(c, params);
    float *Bt = malloc(N * K * sizeof(float));  /* N x K */
    if (!Bt) return GEMM_DECLINED;
    LOOP_K LOOP_N Bt[j * K + p] = B[p * ldb + j];
    LOOP_M LOOP_N {
        float sum = 0;
        LOOP_K sum += A[i * lda + p] * Bt[j * K + p];
        C[i * ldc + j] += ALPHA * sum;
    }
    free(Bt);
    return GEMM_DONE;
}

/* ---- Tiles: a 1 x T row of A meets a T x T block of B ---- */

/* restrict: only then may the unrolled row of C stay in registers over p. */
#define DEFINE_TILE_ROW(name, T, UNROLL_K, UNROLL_N) \
    INLINE void row_##name(const float *restrict a, const float *restrict b, size_t ldb, \
                           float *restrict out, float ALPHA) \
    { \
        UNROLL_K for (size_t p = 0; p < T; ++p) { \
            const float ap = ALPHA * a[p]; \
            UNROLL_N for (size_t j = 0; j < T; ++j) out[j] += ap * b[p * ldb + j]; \
        } \
    }

/* The same for what T leaves over at the right and the lower edge of B. */
INLINE void row_edge(const float *restrict a, const float *restrict b, size_t ldb,
                     float *restrict out, float ALPHA, size_t kb, size_t nb)
{
    for (size_t p = 0; p < kb; ++p) {
        const float ap = ALPHA * a[p];
        for (size_t j = 0; j < nb; ++j) out[j] += ap * b[p * ldb + j];
    }
}

/* The T x T block of B at (p, j), rows i0 <= i < i1 of A and C. */
#define TILE_ROWS(name, T, i0, i1) \
    do { \
        const size_t kb = min(T, K - p), nb = min(T, N - j); \
        for (size_t i = i0; i < (i1); ++i) { \
            const float *a = A + i * lda + p, *b = B + p * ldb + j; \
            float *out = C + i * ldc + j; \
            if (kb == T && nb == T) \
                row_##name(a, b, ldb, out, ALPHA); \
            else \
                row_edge(a, b, ldb, out, ALPHA, kb, nb); \
        } \
    } while (0)

/* tile: MKN over tiles, MKN inside. vtile: KN over tiles, all of M, then KN inside. */
#define DEFINE_TILE_PAIR(suffix, T, UNROLL_K, UNROLL_N) \
    DEFINE_TILE_ROW(T##suffix, T, UNROLL_K, UNROLL_N) \
    VARIANT(tile_##T##suffix) \
    { \
        NN_ONLY(c, params); \
        for (size_t it = 0; it < M; it += T) \
            for (size_t p = 0; p < K; p += T) \
                for (size_t j = 0; j < N; j += T) TILE_ROWS(T##suffix, T, it, min(it + T, M)); \
        return GEMM_DONE; \
    } \
    VARIANT(vtile_##T##suffix) \
    { \
        NN_ONLY(c, params); \
        for (size_t p = 0; p < K; p += T) \
            for (size_t j = 0; j < N; j += T) TILE_ROWS(T##suffix, T, 0, M); \
        return GEMM_DONE; \
    }

#define DEFINE_TILES(T) \
    DEFINE_TILE_PAIR(, T, KEEP_LOOP, KEEP_LOOP) \
    DEFINE_TILE_PAIR(_u, T, KEEP_LOOP, UNROLL(T)) \
    DEFINE_TILE_PAIR(_uu, T, UNROLL(T), UNROLL(T))
GEMM_TILE_SIDES(DEFINE_TILES)
