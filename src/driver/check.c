/*
 * The bound of the error, and the report of GEMM_CHECK.
 *
 * A sum of K products in single precision is off by at most about K * u * S, in any order of the
 * terms. u is half of FLT_EPSILON. S is the sum of |ALPHA * a * b|, plus |C|, because loops that
 * add to C in every step round C K times too. The bound is (K + 2) * FLT_EPSILON * S. The factor of
 * two against u covers ALPHA and the last addition. (K + 1) * FLT_MIN covers denormals that the
 * processor flushes to zero. (Higham, Accuracy and Stability of Numerical Algorithms, chapter 3.)
 */
#include "driver/check.h"

#include "driver/reference.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int gemm_oracle_make(gemm_oracle *o, const gemm_call *c)
{
    const size_t M = (size_t)c->M, N = (size_t)c->N, ldc = (size_t)c->ldc;
    o->expected = malloc(M * N * sizeof(double));
    o->bound = malloc(M * N * sizeof(double));
    if (!o->expected || !o->bound) {
        gemm_oracle_free(o);
        return -1;
    }
    for (size_t i = 0; i < M; ++i) {
        for (size_t j = 0; j < N; ++j) {
            o->expected[i * N + j] = c->C[i * ldc + j];
            o->bound[i * N + j] = fabs(c->C[i * ldc + j]);
        }
    }
    if (gemm_reference_add(c, 0, c->M, o->expected, o->bound)) {
        gemm_oracle_free(o);
        return -1;
    }
    const double slack = ((double)c->K + 2) * FLT_EPSILON, denormals = ((double)c->K + 1) * FLT_MIN;
    for (size_t i = 0; i < M * N; ++i) o->bound[i] = slack * o->bound[i] + denormals;
    return 0;
}

void gemm_oracle_free(gemm_oracle *o)
{
    free(o->expected);
    free(o->bound);
    o->expected = o->bound = NULL;
}

gemm_error gemm_oracle_compare(const gemm_oracle *o, const gemm_call *c)
{
    gemm_error worst = {-1, 0, 0, 0};
    for (int i = 0; i < c->M; ++i) {
        for (int j = 0; j < c->N; ++j) {
            const size_t at = (size_t)i * (size_t)c->N + (size_t)j;
            const float actual = c->C[(size_t)i * (size_t)c->ldc + (size_t)j];
            const double ratio = gemm_error_ratio(o->expected[at], o->bound[at], actual);
            if (ratio > worst.ratio)
                worst = (gemm_error){ratio, fabs(actual - o->expected[at]), i, j};
        }
    }
    return worst;
}

/* ---- The line that GEMM_CHECK prints at the end ---- */

static struct {
    pthread_mutex_t lock;
    size_t calls;
    double worst;
    gemm_call worst_call;
} checked = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void report_check(void)
{
    const gemm_call *c = &checked.worst_call;
    fprintf(stderr,
            "gemm: GEMM_CHECK: %zu calls right, worst error %.3g of the bound (M=%d N=%d K=%d)\n",
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
