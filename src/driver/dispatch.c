/*
 * The driver of a multiply.
 *
 * gemm_dispatch -> gemm_run -> check, if GEMM_CHECK=1 -> trace, if GEMM_TRACE is set -> the row,
 * or stock when the row declines.
 */
#include "driver/check.h"
#include "driver/driver.h"
#include "driver/start.h"
#include "driver/trace.h"
#include "util/clock.h"
#include "util/die.h"

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

const gemm_variant *gemm_run(const gemm_variant *v, const gemm_call *c, gemm_note *note)
{
    gemm_note own;
    if (!note) note = &own;
    if (c->M <= 0 || c->N <= 0 || c->K <= 0) {
        gemm_clear_note(note);
        return v;
    }
    const gemm_state *s = gemm_get_state();
    operands_to_cpu(c);
    return s->check ? run_checked(s, v, c, note) : run_traced(s, v, c, note);
}

void gemm_dispatch(const gemm_call *c)
{
    const int before = errno;
    gemm_run(gemm_chosen(), c, NULL);
    errno = before;
}
