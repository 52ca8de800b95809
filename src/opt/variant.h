/* SPDX-License-Identifier: MIT */
/* What the loops of the articles share: the call in their types, and how loops become a row. */
#ifndef GEMM_OPT_VARIANT_H
#define GEMM_OPT_VARIANT_H

#include "gemm_variant.h"

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

/* Defines gemm_<name>. It declines all calls but NN. `loops` is a call of a function in
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

#endif
