/*
 * The driver: hands a call to a row of the table, to stock when the row declines, and traces and
 * checks where the environment asks for it.
 */
#include "gemm_dispatch.h"
#include "gemm_check.h"
#include "gemm_driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static _Thread_local gemm_note this_note;

gemm_note *gemm_this_note(void)
{
    return &this_note;
}

void gemm_beta(const gemm_call *c, float BETA)
{
    if (BETA == 1) return;
    for (int i = 0; i < c->M; ++i) {
        float *row = c->C + (size_t)i * (size_t)c->ldc;
        for (int j = 0; j < c->N; ++j) row[j] = BETA == 0 ? 0 : BETA * row[j];
    }
}

double gemm_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* The row itself, or stock for what it declines. */
static const gemm_variant *run_row(const gemm_variant *v, const gemm_call *c)
{
    this_note = (gemm_note){.kernel_ms = -1};
    if (!v->run(c, v->params)) return v;
    this_note = (gemm_note){.kernel_ms = -1};
    gemm_stock(c, NULL);
    return gemm_find("stock");
}

static const gemm_variant *run_traced(const gemm_variant *v, const gemm_call *c)
{
    const double start = gemm_now_ms();
    const gemm_variant *ran = run_row(v, c);
    if (gemm_get_settings()->trace) gemm_trace_call(ran, c, gemm_now_ms() - start, &this_note);
    return ran;
}

/* ---- GEMM_CHECK ---- */

static struct {
    pthread_mutex_t lock;
    size_t calls;
    double worst;
    gemm_call worst_call;
} checked = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void report_check(void)
{
    const gemm_call *c = &checked.worst_call;
    fprintf(stderr, "gemm: GEMM_CHECK: %zu calls right, worst error %.3g of the bound (M=%d N=%d K=%d)\n",
            checked.calls, checked.worst, c->M, c->N, c->K);
}

void gemm_record_check(const gemm_call *c, double ratio)
{
    pthread_mutex_lock(&checked.lock);
    if (!checked.calls++) atexit(report_check);
    if (ratio >= checked.worst) {
        checked.worst = ratio;
        checked.worst_call = *c;
    }
    pthread_mutex_unlock(&checked.lock);
}

static const gemm_variant *run_checked(const gemm_variant *v, const gemm_call *c)
{
    gemm_oracle oracle;
    if (gemm_oracle_make(&oracle, c))
        gemm_die("GEMM_CHECK: no memory for the reference of M=%d N=%d K=%d", c->M, c->N, c->K);
    const gemm_variant *ran = run_traced(v, c);
    const gemm_error worst = gemm_oracle_compare(&oracle, c);
    gemm_oracle_free(&oracle);
    if (!(worst.ratio <= 1))
        gemm_die("GEMM_CHECK: %s is wrong for TA=%d TB=%d M=%d N=%d K=%d: C[%d][%d] is off by %g, "
                 "%.3g times the bound", ran->name, c->TA, c->TB, c->M, c->N, c->K, worst.row,
                 worst.column, worst.difference, worst.ratio);
    gemm_record_check(c, worst.ratio);
    return ran;
}

const gemm_variant *gemm_run(const gemm_variant *v, const gemm_call *c)
{
    if (c->M <= 0 || c->N <= 0 || c->K <= 0) return v;
    return gemm_get_settings()->check ? run_checked(v, c) : run_traced(v, c);
}

/* A row that the user named and that cannot run must not be replaced in silence. */
static void require_usable(void)
{
    const gemm_variant *v = gemm_get_settings()->impl;
    const char *reason = gemm_unusable(v);
    if (reason)
        gemm_die("GEMM_IMPL=%s cannot run here: %s (gemm-bench --list shows what can)", v->name, reason);
}

const gemm_variant *gemm_chosen(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, require_usable);
    return gemm_get_settings()->impl;
}

void gemm_dispatch(const gemm_call *c)
{
    gemm_run(gemm_chosen(), c);
}
