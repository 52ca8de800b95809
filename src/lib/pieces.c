/* SPDX-License-Identifier: MIT */
/*
 * A multiply with 64-bit sizes, as calls of 32-bit sizes.
 *
 * A leading dimension above INT_MAX has no place in a gemm_call. The pieces are then one row of
 * this matrix high, because a matrix of one row needs no leading dimension.
 */
#include "lib/pieces.h"

#include "gemm_dispatch.h"

#include <limits.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int narrow(int64_t ld)
{
    return (int)least(ld, INT_MAX);
}

/* One block of C, with all of K. */
static void run_block(const gemm_wide_call *w, int64_t i, int64_t j, gemm_call c, int64_t k_step)
{
    c.C = w->C + i * w->ldc + j;
    gemm_beta(&c, w->BETA);
    if (w->ALPHA == 0) return;
    for (int64_t p = 0; p < w->K; p += k_step) {
        c.K = (int)least(w->K - p, k_step);
        c.A = w->TA ? w->A + p * w->lda + i : w->A + i * w->lda + p;
        c.B = w->TB ? w->B + j * w->ldb + p : w->B + p * w->ldb + j;
        gemm_dispatch(&c);
    }
}

void gemm_run_pieces(const gemm_wide_call *w, int64_t most)
{
    int64_t m_step = most, n_step = most, k_step = most;
    if (w->ldc > INT_MAX) m_step = 1;
    if (w->lda > INT_MAX) *(w->TA ? &k_step : &m_step) = 1;
    if (w->ldb > INT_MAX) *(w->TB ? &n_step : &k_step) = 1;
    for (int64_t i = 0; i < w->M; i += m_step) {
        for (int64_t j = 0; j < w->N; j += n_step) {
            const gemm_call c = {
                .TA = w->TA, .TB = w->TB, .ALPHA = w->ALPHA,
                .M = (int)least(w->M - i, m_step), .N = (int)least(w->N - j, n_step),
                .lda = narrow(w->lda), .ldb = narrow(w->ldb), .ldc = narrow(w->ldc),
            };
            run_block(w, i, j, c, k_step);
        }
    }
}
