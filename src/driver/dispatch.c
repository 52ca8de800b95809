/*
 * The driver of a multiply.
 *
 * gemm_dispatch -> gemm_run, which cuts calls of sizes near 2^31 into pieces -> check, if
 * GEMM_CHECK=1 -> trace, if GEMM_TRACE is set -> the row, or stock when the row declines.
 */
#include "check/check.h"
#include "driver/driver.h"
#include "driver/start.h"
#include "driver/trace.h"
#include "util/clock.h"
#include "util/die.h"
#include "util/ints.h"

#include <limits.h>

#include <errno.h>

void gemm_beta(const gemm_call *c, float BETA)
{
    if (BETA == 1) return;
    for (int i = 0; i < c->M; ++i) {
        float *row = c->C + (size_t)i * (size_t)c->ldc;
        for (int j = 0; j < c->N; ++j) row[j] = BETA == 0 ? 0 : BETA * row[j];
    }
}

/* Runs the row, and stock when the row declines. Returns the row that computed C. */
static const gemm_variant *run_row(const gemm_state *s, const gemm_variant *v, const gemm_call *c,
                                   gemm_note *note)
{
    gemm_context context = gemm_state_context(s, note);
    switch (v->run(c, &context, v->params)) {
    case GEMM_DONE: return v;
    case GEMM_DECLINED: break;
    case GEMM_FAILED:
        gemm_die("%s failed for TA=%d TB=%d M=%d N=%d K=%d, and C is undefined: %s", v->name, c->TA,
                 c->TB, c->M, c->N, c->K, note->reason);
    }
    v = gemm_stock_row();
    context = gemm_state_context(s, note);
    v->run(c, &context, v->params);
    return v;
}

/* Without a trace nothing is timed. */
static const gemm_variant *run_traced(const gemm_state *s, const gemm_variant *v,
                                      const gemm_call *c, gemm_note *note)
{
    if (!s->trace) return run_row(s, v, c, note);
    const double start = gemm_now_ms();
    const gemm_variant *ran = run_row(s, v, c, note);
    gemm_trace_call(ran, c, gemm_now_ms() - start, note);
    return ran;
}

static const gemm_variant *run_checked(const gemm_state *s, const gemm_variant *v,
                                       const gemm_call *c, gemm_note *note)
{
    gemm_oracle oracle;
    if (gemm_oracle_make(&oracle, c)) {
        gemm_record_unchecked();
        return run_traced(s, v, c, note);
    }
    const gemm_variant *ran = run_traced(s, v, c, note);
    const gemm_error worst = gemm_oracle_compare_rounded(&oracle, c, ran->rounding);
    gemm_oracle_free(&oracle);
    if (!(worst.ratio <= 1))
        gemm_die_first("GEMM_CHECK: %s is wrong for TA=%d TB=%d M=%d N=%d K=%d: C[%d][%d] is off "
                       "by %g, %.3g times the bound", ran->name, c->TA, c->TB, c->M, c->N, c->K,
                       worst.row, worst.column, worst.difference, worst.ratio);
    gemm_record_check(c, worst.ratio);
    return ran;
}

static size_t bytes_of(int rows, int cols, int ld)
{
    return ((size_t)(rows - 1) * (size_t)ld + (size_t)cols) * sizeof(float);
}

/* A multiply works on the CPU's memory: a layer may have left an operand on a device. */
static void operands_to_cpu(const gemm_call *c)
{
    const size_t bytes = bytes_of(c->M, c->N, c->ldc);
    gemm_host_read(c->A, c->TA ? bytes_of(c->K, c->M, c->lda) : bytes_of(c->M, c->K, c->lda));
    gemm_host_read(c->B, c->TB ? bytes_of(c->N, c->K, c->ldb) : bytes_of(c->K, c->N, c->ldb));
    gemm_host_read(c->C, bytes);
    gemm_host_write(c->C, bytes);
}

static const gemm_variant *run_one(const gemm_variant *v, const gemm_call *c, gemm_note *note)
{
    const gemm_state *s = gemm_get_state();
    operands_to_cpu(c);
    return s->check ? run_checked(s, v, c, note) : run_traced(s, v, c, note);
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
                ran = run_one(v, &piece, note);
            }
        }
    }
    return ran;
}

const gemm_variant *gemm_run(const gemm_variant *v, const gemm_call *c, gemm_note *note)
{
    gemm_note own;
    if (!note) note = &own;
    if (c->M <= 0 || c->N <= 0 || c->K <= 0) {
        gemm_clear_note(note);
        return v;
    }
    const steps s = steps_of(c);
    const bool whole = c->M <= s.M && c->N <= s.N && c->K <= s.K;
    return whole ? run_one(v, c, note) : run_pieces(v, c, &s, note);
}

void gemm_dispatch(const gemm_call *c)
{
    const int before = errno;
    gemm_run(gemm_chosen(), c, NULL);
    errno = before;
}
