/* SPDX-License-Identifier: MIT */
/*
 * The bound of the error, and the report of GEMM_CHECK.
 *
 * A sum of K products in single precision is off by at most about K * u * S, in any order of the
 * terms. u is half of FLT_EPSILON. S is the sum of |ALPHA * a * b|, plus |C|, because loops that
 * add to C in every step round C K times too. The bound is (K + 2) * FLT_EPSILON * S. The factor of
 * two against u covers ALPHA and the last addition. (K + 1) * FLT_MIN covers denormals that the
 * processor flushes to zero. (Higham, Accuracy and Stability of Numerical Algorithms, chapter 3.)
 *
 * A row that rounds more says so in its gemm_rounding. Each product then may be off by product *
 * |a b| + a * |b| + b * |a| + sum, and the bound grows by the sum of this. An element that is
 * nearly FLT_MAX may be infinite in its format.
 */
#include "check/check.h"

#include "check/conv_check.h"
#include "check/int8_check.h"
#include "check/layer_check.h"
#include "int8/scales.h"
#include "util/die.h"
#include "util/forked.h"
#include "util/text.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* (K + 2) * FLT_EPSILON, and (K + 1) * FLT_MIN. */
static double slack(const gemm_call *c)
{
    return ((double)c->K + 2) * FLT_EPSILON;
}

static double denormals(const gemm_call *c)
{
    return ((double)c->K + 1) * FLT_MIN;
}

/* Adds the absolute values of `K` elements of each row of op(m) to sizes. */
static void add_sizes(const float *m, size_t row_stride, size_t stride, int rows, int K,
                      double ALPHA, double *sizes)
{
    for (int i = 0; i < rows; ++i)
        for (int p = 0; p < K; ++p)
            sizes[i] += fabs(ALPHA * m[(size_t)i * row_stride + (size_t)p * stride]);
}

int gemm_oracle_make(gemm_oracle *o, const gemm_call *c)
{
    const size_t M = (size_t)c->M, N = (size_t)c->N, ldc = (size_t)c->ldc;
    o->expected = malloc(M * N * sizeof(double));
    o->bound = malloc(M * N * sizeof(double));
    o->a_sizes = calloc(M, sizeof(double));
    o->b_sizes = calloc(N, sizeof(double));
    if (!o->expected || !o->bound || !o->a_sizes || !o->b_sizes) {
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
    for (size_t i = 0; i < M * N; ++i) o->bound[i] = slack(c) * o->bound[i] + denormals(c);
    const size_t lda = (size_t)c->lda, ldb = (size_t)c->ldb;
    add_sizes(c->A, c->TA ? 1 : lda, c->TA ? lda : 1, c->M, c->K, c->ALPHA, o->a_sizes);
    add_sizes(c->B, c->TB ? ldb : 1, c->TB ? 1 : ldb, c->N, c->K, c->ALPHA, o->b_sizes);
    return 0;
}

void gemm_oracle_free(gemm_oracle *o)
{
    free(o->expected);
    free(o->bound);
    free(o->a_sizes);
    free(o->b_sizes);
    *o = (gemm_oracle){0};
}

/* What the row's rounding adds to the bound of C[i][j]. */
static double rounding_bound(const gemm_oracle *o, const gemm_call *c, const gemm_rounding *r,
                             int i, int j)
{
    const double bound = o->bound[(size_t)i * (size_t)c->N + (size_t)j];
    const double products = (bound - denormals(c)) / slack(c);
    return r->product * products + r->a * o->b_sizes[j] + r->b * o->a_sizes[i] +
           r->sum * c->K * fabs((double)c->ALPHA);
}

gemm_error gemm_oracle_compare_rounded(const gemm_oracle *o, const gemm_call *c,
                                       const gemm_rounding *r)
{
    gemm_error worst = {.ratio = -1};
    for (int i = 0; i < c->M; ++i) {
        for (int j = 0; j < c->N; ++j) {
            const size_t at = (size_t)i * (size_t)c->N + (size_t)j;
            const float actual = c->C[(size_t)i * (size_t)c->ldc + (size_t)j];
            if (r && !isfinite(actual) && isfinite(o->bound[at]) &&
                fmax(o->a_sizes[i], o->b_sizes[j]) > FLT_MAX * (1 - r->product))
                continue;
            const double more = r ? rounding_bound(o, c, r, i, j) : 0;
            gemm_error_add(&worst, o->expected[at], o->bound[at] + more, actual, 0, i, j);
        }
    }
    return worst;
}

gemm_error gemm_oracle_compare(const gemm_oracle *o, const gemm_call *c)
{
    return gemm_oracle_compare_rounded(o, c, NULL);
}

/* ---- An op, whatever its kind ---- */

bool gemm_check_before(const gemm_op *op, gemm_oracle *o)
{
    *o = (gemm_oracle){.expected = NULL};
    return op->kind != GEMM_MULTIPLY || !gemm_oracle_make(o, op->multiply);
}

bool gemm_check_after(const gemm_op *op, const gemm_oracle *o, const gemm_note *note,
                      const gemm_rounding *r, gemm_error *worst)
{
    switch (op->kind) {
    case GEMM_MULTIPLY:
        *worst = gemm_oracle_compare_rounded(o, op->multiply, r);
        return true;
    case GEMM_CONVOLUTION:
        if (note->scale)
            return !gemm_int8_compare(op->conv, note->scale->scale, note->scale->zero, worst);
        return !gemm_conv_compare_rounded(op->conv, note->transform, r, worst);
    case GEMM_LAYER:
        *worst = gemm_layer_compare(op->layer);
        return true;
    case GEMM_CHAIN: break;
    }
    return false;
}

void gemm_check_place(const gemm_op *op, const gemm_error *e, char text[GEMM_PLACE_TEXT])
{
    switch (op->kind) {
    case GEMM_MULTIPLY:
        snprintf(text, GEMM_PLACE_TEXT, "C[%d][%d]", e->row, e->column);
        break;
    case GEMM_CONVOLUTION: case GEMM_CHAIN:
        snprintf(text, GEMM_PLACE_TEXT, "image %d filter %d at %d", e->image, e->row, e->column);
        break;
    case GEMM_LAYER:
        snprintf(text, GEMM_PLACE_TEXT, "image %d output %d", e->image, e->column);
        break;
    }
}

/* ---- The line that GEMM_CHECK prints at the end ---- */

static struct {
    pthread_mutex_t lock;
    size_t calls, unchecked;
    double worst;
    char worst_op[GEMM_OP_TEXT];
} checked = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void after_fork(void)
{
    pthread_mutex_init(&checked.lock, NULL);
}
GEMM_IN_CHILD(after_fork)

/* A program that is being ended has said its line. */
static void report_check(void)
{
    char line[320] = "", more[64] = "", op[GEMM_OP_TEXT + 8] = "";
    if (gemm_is_dying()) return;
    if (checked.unchecked)
        snprintf(more, sizeof more, ", %zu not checked", checked.unchecked);
    if (*checked.worst_op) snprintf(op, sizeof op, " (%s)", checked.worst_op);
    gemm_append(line, sizeof line, "gemm: GEMM_CHECK: %zu calls right%s, worst error %.3g of the "
                "bound%s\n", checked.calls, more, checked.worst, op);
    fputs(line, stderr);
}

void gemm_record_check(const gemm_op *op, double ratio)
{
    pthread_mutex_lock(&checked.lock);
    if (!checked.calls++ && !checked.unchecked) atexit(report_check);
    if (ratio >= checked.worst) {
        checked.worst = ratio;
        gemm_op_describe(op, checked.worst_op);
    }
    pthread_mutex_unlock(&checked.lock);
}

void gemm_record_unchecked(void)
{
    pthread_mutex_lock(&checked.lock);
    const bool first = !checked.unchecked++;
    if (first && !checked.calls) atexit(report_check);
    pthread_mutex_unlock(&checked.lock);
    if (first)
        fputs("gemm: GEMM_CHECK: there is no memory for the reference of a call: it is not "
              "checked\n", stderr);
}
