/*
 * The reference in double precision and the bound of the error.
 *
 * A sum of K products in single precision, in any order, is off by at most about K * u * S, where
 * u is half FLT_EPSILON and S the sum of |ALPHA * a * b|. Loops that add to C in every step round C
 * K times too, so |C| belongs to S. FLT_EPSILON instead of u leaves a factor of two for ALPHA and
 * the last addition; (K + 1) * FLT_MIN allows for flushed denormals. (Higham, Accuracy and Stability of
 * Numerical Algorithms, chapter 3.)
 */
#include "driver/check.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int gemm_oracle_make(gemm_oracle *o, const gemm_call *c)
{
    const size_t M = (size_t)c->M, N = (size_t)c->N, K = (size_t)c->K;
    const size_t lda = (size_t)c->lda, ldb = (size_t)c->ldb, ldc = (size_t)c->ldc;
    o->expected = malloc(M * N * sizeof(double));
    o->bound = malloc(M * N * sizeof(double));
    if (!o->expected || !o->bound) {
        gemm_oracle_free(o);
        return -1;
    }
    const double slack = ((double)K + 2) * FLT_EPSILON;
    for (size_t i = 0; i < M; ++i) {
        double *sum = o->expected + i * N, *size = o->bound + i * N;
        for (size_t j = 0; j < N; ++j) {
            sum[j] = c->C[i * ldc + j];
            size[j] = fabs(sum[j]);
        }
        for (size_t p = 0; p < K; ++p) {
            const double a = (double)c->ALPHA * (c->TA ? c->A[p * lda + i] : c->A[i * lda + p]);
            const float *b = c->TB ? c->B + p : c->B + p * ldb;
            const size_t step = c->TB ? ldb : 1;
            for (size_t j = 0; j < N; ++j) {
                const double product = a * b[j * step];
                sum[j] += product;
                size[j] += fabs(product);
            }
        }
        for (size_t j = 0; j < N; ++j) size[j] = slack * size[j] + (double)(K + 1) * FLT_MIN;
    }
    return 0;
}

void gemm_oracle_free(gemm_oracle *o)
{
    free(o->expected);
    free(o->bound);
    o->expected = o->bound = NULL;
}

/* Where the exact result is no finite number, the result must be none either. */
static double element_ratio(double expected, double bound, float actual)
{
    if (!isfinite(expected) || fabs(expected) > FLT_MAX) return isfinite(actual) ? INFINITY : 0;
    const double ratio = fabs(actual - expected) / bound;
    return isnan(ratio) ? INFINITY : ratio;
}

gemm_error gemm_oracle_compare(const gemm_oracle *o, const gemm_call *c)
{
    gemm_error worst = {-1, 0, 0, 0};
    for (int i = 0; i < c->M; ++i) {
        for (int j = 0; j < c->N; ++j) {
            const size_t at = (size_t)i * (size_t)c->N + (size_t)j;
            const float actual = c->C[(size_t)i * (size_t)c->ldc + (size_t)j];
            const double ratio = element_ratio(o->expected[at], o->bound[at], actual);
            if (ratio > worst.ratio)
                worst = (gemm_error){ratio, fabs(actual - o->expected[at]), i, j};
        }
    }
    return worst;
}

/* ---- the line at the end ---- */

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
