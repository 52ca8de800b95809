/* SPDX-License-Identifier: MIT */
/*
 * The product in double precision: see reference.h.
 *
 * A block of op(B), KC x NC doubles (256 KiB, for L2), is gathered once. Four rows of op(A) pass
 * over it together. Their sums (4 x NC doubles, 16 KiB) stay in L1. This makes 4096 x 4096 x 4096 a
 * matter of seconds.
 */
#include "check/reference.h"

#include "util/ints.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { KC = 64, NC = 512, ROWS = 4 };

static double a_at(const gemm_call *c, int i, int p)
{
    const size_t row = (size_t)(c->TA ? p : i), column = (size_t)(c->TA ? i : p);
    return c->A[row * (size_t)c->lda + column];
}

static void gather_b(const gemm_call *c, int p0, int kc, int j0, int nc, double *block)
{
    const size_t ldb = (size_t)c->ldb;
    for (int p = 0; p < kc; ++p) {
        const float *b = c->TB ? c->B + (size_t)j0 * ldb + (size_t)(p0 + p)
                               : c->B + (size_t)(p0 + p) * ldb + (size_t)j0;
        const size_t step = c->TB ? ldb : 1;
        for (int j = 0; j < nc; ++j) block[p * NC + j] = b[(size_t)j * step];
    }
}

/* One row of the product: out[j] += sum over p of a[p] * block[p][j]. */
static void add_row(const double *a, int kc, int nc, const double *restrict block,
                    double *restrict out)
{
    for (int p = 0; p < kc; ++p)
        for (int j = 0; j < nc; ++j) out[j] += a[p] * block[p * NC + j];
}

/* The same with absolute values. */
static void add_sizes(const double *a, int kc, int nc, const double *restrict block,
                      double *restrict out)
{
    for (int p = 0; p < kc; ++p)
        for (int j = 0; j < nc; ++j) out[j] += fabs(a[p] * block[p * NC + j]);
}

/* Four rows of the product, N apart: each element of the block is loaded once for all of them. */
static void add_four_rows(double a[ROWS][KC], int kc, int nc, const double *restrict block,
                          double *restrict out, size_t N)
{
    double *restrict c0 = out, *restrict c1 = out + N;
    double *restrict c2 = out + 2 * N, *restrict c3 = out + 3 * N;
    for (int p = 0; p < kc; ++p) {
        const double *restrict b = block + p * NC;
        const double a0 = a[0][p], a1 = a[1][p], a2 = a[2][p], a3 = a[3][p];
        for (int j = 0; j < nc; ++j) {
            c0[j] += a0 * b[j];
            c1[j] += a1 * b[j];
            c2[j] += a2 * b[j];
            c3[j] += a3 * b[j];
        }
    }
}

/* Rows i ... i + rows - 1 gain the terms p0 ... p0 + kc - 1. `product` and `sizes` point to the
   block's first column in row 0. */
static void add_block(const gemm_call *c, int i, int rows, int p0, int kc, int nc,
                      const double *block, double *product, double *sizes)
{
    const size_t N = (size_t)c->N, at = (size_t)i * N;
    double a[ROWS][KC];
    for (int r = 0; r < rows; ++r)
        for (int p = 0; p < kc; ++p) a[r][p] = (double)c->ALPHA * a_at(c, i + r, p0 + p);
    if (rows == ROWS)
        add_four_rows(a, kc, nc, block, product + at, N);
    else
        for (int r = 0; r < rows; ++r) add_row(a[r], kc, nc, block, product + at + (size_t)r * N);
    for (int r = 0; sizes && r < rows; ++r)
        add_sizes(a[r], kc, nc, block, sizes + at + (size_t)r * N);
}

int gemm_reference_add(const gemm_call *c, int first, int last, double *product, double *sizes)
{
    double *block = malloc(sizeof(double) * KC * NC);
    if (!block) return -1;
    for (int j0 = 0; j0 < c->N; j0 += NC) {
        const int nc = min_int(NC, c->N - j0);
        for (int p0 = 0; p0 < c->K; p0 += KC) {
            const int kc = min_int(KC, c->K - p0);
            gather_b(c, p0, kc, j0, nc, block);
            for (int i = first; i < last; i += ROWS)
                add_block(c, i, min_int(ROWS, last - i), p0, kc, nc, block, product + j0,
                          sizes ? sizes + j0 : NULL);
        }
    }
    free(block);
    return 0;
}

/* With such a bound the absolute values of the terms may add up to more than FLT_MAX. A sum then
   becomes infinite, or NaN, in one order of the terms and not in another. */
static bool may_overflow(double bound)
{
    return bound >= GEMM_OVERFLOW_BOUND;
}

double gemm_error_ratio(double expected, double bound, float actual)
{
    if (actual == expected || (isnan(actual) && isnan(expected))) return 0;
    if (isnan(expected)) return INFINITY;
    if (!isfinite(bound)) bound = 8 * FLT_EPSILON;
    if (!isfinite(actual))
        return fabs(expected) > FLT_MAX || may_overflow(bound) ? 0 : INFINITY;
    const double ratio = fabs(actual - expected) / bound;
    return isnan(ratio) ? INFINITY : ratio;
}

void gemm_error_take(gemm_error *worst, const gemm_error *e)
{
    if (e->ratio > worst->ratio) *worst = *e;
}

void gemm_error_add(gemm_error *worst, double expected, double bound, float actual, int image,
                    int row, int column)
{
    gemm_error_take(worst, &(gemm_error){gemm_error_ratio(expected, bound, actual),
                                         fabs(actual - expected), image, row, column});
}

double gemm_activation_bound(double bound, double y, conv_activation a)
{
    enum { ROUNDINGS = 8 };
    if (!gemm_activation_is_behind(a)) return bound;
    return 1.1 * bound + ROUNDINGS * FLT_EPSILON * fmax(1, fabs(y));
}
