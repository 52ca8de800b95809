/* SPDX-License-Identifier: MIT */
/*
 * The driver of a multiply.
 *
 * gemm_dispatch -> gemm_run, which cuts calls of sizes near 2^31 into pieces -> gemm_run_op.
 */
#include "driver/driver.h"
#include "driver/run.h"
#include "driver/valid.h"
#include "util/ints.h"

#include <errno.h>
#include <limits.h>

void gemm_beta(const gemm_call *c, float BETA)
{
    if (BETA == 1) return;
    for (int i = 0; i < c->M; ++i) {
        float *row = c->C + (size_t)i * (size_t)c->ldc;
        for (int j = 0; j < c->N; ++j) row[j] = BETA == 0 ? 0 : BETA * row[j];
    }
}

/* ---- sizes near 2^31 ---- */

/* So many rows of a matrix, of at most GEMM_MOST_SIZE elements each, can be indexed with int. */
static int most_rows(int ld)
{
    return ld > 0 ? (INT_MAX - GEMM_MOST_SIZE) / ld + 1 : GEMM_MOST_SIZE;
}

/* How far a piece of a call may reach along M, N and K. */
typedef struct steps {
    int M, N, K;
} steps;

static steps steps_of(const gemm_call *c)
{
    steps s = {GEMM_MOST_SIZE, GEMM_MOST_SIZE, GEMM_MOST_SIZE};
    int *const a_rows = c->TA ? &s.K : &s.M, *const b_rows = c->TB ? &s.N : &s.K;
    *a_rows = min_int(*a_rows, most_rows(c->lda));
    *b_rows = min_int(*b_rows, most_rows(c->ldb));
    s.M = min_int(s.M, most_rows(c->ldc));
    return s;
}

/* The piece that begins at (i, j, p). */
static gemm_call piece_at(const gemm_call *c, const steps *s, size_t i, size_t j, size_t p)
{
    const size_t lda = (size_t)c->lda, ldb = (size_t)c->ldb;
    gemm_call piece = *c;
    piece.M = min_int(s->M, c->M - (int)i);
    piece.N = min_int(s->N, c->N - (int)j);
    piece.K = min_int(s->K, c->K - (int)p);
    piece.A = c->TA ? c->A + p * lda + i : c->A + i * lda + p;
    piece.B = c->TB ? c->B + j * ldb + p : c->B + p * ldb + j;
    piece.C = c->C + i * (size_t)c->ldc + j;
    return piece;
}

static const gemm_variant *run_pieces(const gemm_variant *v, const gemm_call *c, const steps *s,
                                      gemm_note *note)
{
    const gemm_variant *ran = v;
    for (size_t i = 0; i < (size_t)c->M; i += (size_t)s->M) {
        for (size_t j = 0; j < (size_t)c->N; j += (size_t)s->N) {
            for (size_t p = 0; p < (size_t)c->K; p += (size_t)s->K) {
                const gemm_call piece = piece_at(c, s, i, j, p);
                const gemm_op op = gemm_op_of_multiply(&piece);
                ran = gemm_run_op(v, &op, NULL, note);
            }
        }
    }
    return ran;
}

const gemm_variant *gemm_run(const gemm_variant *v, const gemm_call *c, gemm_note *note)
{
    gemm_note own;
    if (!note) note = &own;
    const gemm_op op = gemm_op_of_multiply(c);
    if (!gemm_op_is_valid(&op)) {
        gemm_clear_note(note);
        return v;
    }
    const steps s = steps_of(c);
    const bool whole = c->M <= s.M && c->N <= s.N && c->K <= s.K;
    return whole ? gemm_run_op(v, &op, NULL, note) : run_pieces(v, c, &s, note);
}

void gemm_dispatch(const gemm_call *c)
{
    const int before = errno;
    gemm_run(gemm_chosen(), c, NULL);
    errno = before;
}
