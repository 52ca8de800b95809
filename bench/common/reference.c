/* SPDX-License-Identifier: MIT */
/*
 * The product itself is src/check/reference.c's, on several threads. GEMM_CHECK allows the worst
 * case, which is no bound for long sums: this one is for random operands.
 *
 * The bound. The worst case is K * eps * sum|a||b| (eps: FLT_EPSILON). For K = 4608 this is larger
 * than a whole missing product. The operands here are random, so the errors add up like a random
 * walk: a loop over K rounds a sum of size sqrt(k)/3 K times, about 0.12 * eps * K in all, while
 * |a_i| |b_j| is K/3. So 8 * eps * |a_i| |b_j| is some twenty standard deviations for every K, and
 * a hundredth of one product of average size for K = 4608.
 *
 * A row may round each product once more, by up to u of it. This adds K errors of u / 3 / sqrt(3)
 * at most, about 0.2 u sqrt(K) in all. sqrt(|a_i| |b_j|) is 0.6 sqrt(K), so four times that are
 * twelve standard deviations.
 */
#include "common/reference.h"

#include "check/reference.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct slice {
    pthread_t thread;
    const gemm_call *call;
    reference *r;
    int first, last;            /* rows of C */
    int failed;
} slice;

static double a_at(const gemm_call *c, int i, int p)
{
    return c->TA ? c->A[(size_t)p * (size_t)c->lda + (size_t)i]
                 : c->A[(size_t)i * (size_t)c->lda + (size_t)p];
}

static double b_at(const gemm_call *c, int p, int j)
{
    return c->TB ? c->B[(size_t)j * (size_t)c->ldb + (size_t)p]
                 : c->B[(size_t)p * (size_t)c->ldb + (size_t)j];
}

static void *run_slice(void *argument)
{
    slice *s = argument;
    s->failed = gemm_reference_add(s->call, s->first, s->last, s->r->product, NULL);
    return NULL;
}

static void norms(reference *r, const gemm_call *c)
{
    for (int p = 0; p < c->K; ++p)
        for (int j = 0; j < c->N; ++j) r->column_norm[j] += b_at(c, p, j) * b_at(c, p, j);
    for (int j = 0; j < c->N; ++j) r->column_norm[j] = sqrt(r->column_norm[j]);
    for (int i = 0; i < c->M; ++i) {
        for (int p = 0; p < c->K; ++p) r->row_norm[i] += a_at(c, i, p) * a_at(c, i, p);
        r->row_norm[i] = fabs(c->ALPHA) * sqrt(r->row_norm[i]);
    }
}

static int run_slices(reference *r, const gemm_call *c, slice *slices, int count)
{
    int started = 0, failed = 0;
    for (; started < count; ++started) {
        slice *s = &slices[started];
        *s = (slice){.call = c, .r = r, .first = (int)((long)c->M * started / count),
                     .last = (int)((long)c->M * (started + 1) / count)};
        if (pthread_create(&s->thread, NULL, run_slice, s)) break;
    }
    if (started < count) failed = -1;
    for (int t = 0; t < started; ++t) {
        pthread_join(slices[t].thread, NULL);
        if (slices[t].failed) failed = -1;
    }
    return failed;
}

int reference_make(reference *r, const gemm_call *c, int threads)
{
    const size_t M = (size_t)c->M, N = (size_t)c->N;
    const int count = threads < c->M ? threads : c->M;
    *r = (reference){.M = c->M, .N = c->N, .product = calloc(M * N, sizeof(double)),
                     .row_norm = calloc(M, sizeof(double)),
                     .column_norm = calloc(N, sizeof(double)), .C0 = c->C, .ldc0 = c->ldc};
    slice *slices = calloc((size_t)count, sizeof(slice));
    int failed = -1;
    if (r->product && r->row_norm && r->column_norm && slices) {
        norms(r, c);
        failed = run_slices(r, c, slices, count);
    }
    free(slices);
    if (failed) reference_free(r);
    return failed;
}

void reference_free(reference *r)
{
    free(r->product);
    free(r->row_norm);
    free(r->column_norm);
    *r = (reference){0};
}

bool reference_holds(const reference *r, const gemm_call *c, long calls, const gemm_rounding *row,
                     char *text, size_t size)
{
    const double product_rounding = row ? row->product : 0;
    const double n = (double)calls;
    double worst = 0;
    for (int i = 0; i < r->M; ++i) {
        for (int j = 0; j < r->N; ++j) {
            const double c0 = r->C0[(size_t)i * (size_t)r->ldc0 + (size_t)j];
            const double product = r->product[(size_t)i * (size_t)r->N + (size_t)j];
            const double got = c->C[(size_t)i * (size_t)c->ldc + (size_t)j];
            /* C grows with every call, and so does what one rounding of it may cost */
            const double norms = r->row_norm[i] * r->column_norm[j];
            const double bound = n * FLT_EPSILON * (8 * norms + fabs(c0) + n * fabs(product))
                                 + 4 * n * product_rounding * sqrt(norms)
                                 + FLT_MIN;
            const double ratio = fabs(got - (c0 + n * product)) / bound;
            if (ratio <= worst) continue;
            worst = isnan(ratio) ? INFINITY : ratio;    /* a NaN is neither above nor below */
            snprintf(text, size, "C[%d][%d] is %.9g and should be %.9g after %ld call%s", i, j, got,
                     c0 + n * product, calls, calls == 1 ? "" : "s");
            if (isinf(worst)) return false;
        }
    }
    return worst <= 1;
}
