/* SPDX-License-Identifier: MIT */
/*
 * The driver of a multiply.
 *
 * gemm_dispatch -> gemm_run, which cuts calls of sizes near 2^31 into pieces -> gemm_run_op.
 * gemm_dispatch_wide does so with sizes of 64 bits.
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

/* ---- sizes near 2^31, and of 64 bits ---- */

static int least(int64_t a, int64_t b)
{
    return (int)(a < b ? a : b);
}

/* So many rows of a matrix, of at most GEMM_MOST_SIZE elements each, can be indexed with int. One,
   where the distance has no place in a gemm_call: a matrix of one row needs none. */
static int most_rows(int64_t ld)
{
    return ld > 0 ? least((INT_MAX - GEMM_MOST_SIZE) / ld + 1, GEMM_MOST_SIZE) : GEMM_MOST_SIZE;
}

/* How far a piece of a call may reach along M, N and K. */
typedef struct steps {
    int M, N, K;
} steps;

static steps steps_of(const gemm_wide_call *w, int most)
{
    steps s = {most, most, most};
    int *const a_rows = w->TA ? &s.K : &s.M, *const b_rows = w->TB ? &s.N : &s.K;
    *a_rows = min_int(*a_rows, most_rows(w->lda));
    *b_rows = min_int(*b_rows, most_rows(w->ldb));
    s.M = min_int(s.M, most_rows(w->ldc));
    return s;
}

/* The piece that begins at (i, j, p). */
static gemm_call piece_at(const gemm_wide_call *w, const steps *s, int64_t i, int64_t j, int64_t p)
{
    return (gemm_call){
        .TA = w->TA, .TB = w->TB, .ALPHA = w->ALPHA,
        .M = least(w->M - i, s->M), .N = least(w->N - j, s->N), .K = least(w->K - p, s->K),
        .A = w->A + (w->TA ? p * w->lda + i : i * w->lda + p), .lda = least(w->lda, INT_MAX),
        .B = w->B + (w->TB ? j * w->ldb + p : p * w->ldb + j), .ldb = least(w->ldb, INT_MAX),
        .C = w->C + i * w->ldc + j, .ldc = least(w->ldc, INT_MAX)};
}

static const gemm_variant *run_pieces(const gemm_variant *v, const gemm_wide_call *w, int most,
                                      gemm_note *note)
{
    const gemm_variant *ran = v;
    const steps s = steps_of(w, most);
    for (int64_t i = 0; i < w->M; i += s.M) {
        for (int64_t j = 0; j < w->N; j += s.N) {
            gemm_call piece = piece_at(w, &s, i, j, 0);
            gemm_beta(&piece, w->BETA);
            for (int64_t p = 0; p < w->K && w->ALPHA != 0; p += s.K) {
                piece = piece_at(w, &s, i, j, p);
                const gemm_op op = gemm_op_of_multiply(&piece);
                ran = gemm_run_op(v, &op, NULL, note);
            }
        }
    }
    return ran;
}

/* Whether an int holds the index of each element, also where a row rounds sizes up. */
static bool fits(int64_t rows, int64_t ld)
{
    return rows * ld <= INT_MAX - GEMM_MOST_SIZE;
}

static bool is_whole(const gemm_call *c)
{
    return c->M <= GEMM_MOST_SIZE && c->N <= GEMM_MOST_SIZE && c->K <= GEMM_MOST_SIZE &&
           fits(c->TA ? c->K : c->M, c->lda) && fits(c->TB ? c->N : c->K, c->ldb) &&
           fits(c->M, c->ldc);
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
    if (is_whole(c)) return gemm_run_op(v, &op, NULL, note);
    const gemm_wide_call wide = {c->TA, c->TB, c->M, c->N, c->K, c->ALPHA, c->A, c->lda, c->B,
                                 c->ldb, 1, c->C, c->ldc};
    return run_pieces(v, &wide, GEMM_MOST_SIZE, note);
}

void gemm_dispatch_wide(const gemm_wide_call *w, int most)
{
    const int before = errno;
    gemm_note note;
    run_pieces(gemm_chosen(), w, most, &note);
    errno = before;
}

void gemm_dispatch(const gemm_call *c)
{
    const int before = errno;
    gemm_run(gemm_chosen(), c, NULL);
    errno = before;
}
