/* SPDX-License-Identifier: MIT */
/*
 * sgemm under the names of BLAS. Arguments are judged in the order of BLAS, so the first bad one is
 * named. A column-major matrix is the transpose of a row-major one:
 *
 *   C = op(A) op(B), column-major   is   CT = op(B)T op(A)T, row-major
 */
#include "darknet_gemm.h"
#include "driver/driver.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102, NO_TRANS = 111, TRANS = 112, CONJ_TRANS = 113 };

/* A bad argument: position, name, value, and what is allowed. Position 0: all are good. */
typedef struct fault {
    int position;
    const char *name;
    int64_t value;
    const char *allowed;
    int64_t least;              /* shown behind `allowed`, if above 0 */
} fault;

static int64_t at_least_1(int64_t n)
{
    return n > 1 ? n : 1;
}

/* Positions are those of cblas_sgemm. `w` is as the caller means it, before any swap. */
static fault find_fault(bool row_major, const gemm_wide_call *w)
{
    const char *size = "a size is at least 0", *ld = "it is at least";
    const int64_t width_a = at_least_1(w->TA == row_major ? w->M : w->K);
    const int64_t width_b = at_least_1(w->TB == row_major ? w->K : w->N);
    const int64_t width_c = at_least_1(row_major ? w->N : w->M);
    if (w->M < 0) return (fault){4, "m", w->M, size, 0};
    if (w->N < 0) return (fault){5, "n", w->N, size, 0};
    if (w->K < 0) return (fault){6, "k", w->K, size, 0};
    if (w->lda < width_a) return (fault){9, "lda", w->lda, ld, width_a};
    if (w->ldb < width_b) return (fault){11, "ldb", w->ldb, ld, width_b};
    if (w->ldc < width_c) return (fault){14, "ldc", w->ldc, ld, width_c};
    return (fault){.position = 0};
}

static void run(bool row_major, const gemm_wide_call *w)
{
    if (row_major) {
        gemm_dispatch_wide(w, GEMM_MOST_SIZE);
        return;
    }
    gemm_wide_call t = *w;
    t.TA = w->TB, t.M = w->N, t.A = w->B, t.lda = w->ldb;
    t.TB = w->TA, t.N = w->M, t.B = w->A, t.ldb = w->lda;
    gemm_dispatch_wide(&t, GEMM_MOST_SIZE);
}

/* One line. The caller's C stays as it is, because BLAS does so too. */
static void say(const char *function, const fault *f)
{
    const int before = errno;
    char least[32] = "";
    if (f->least > 0) snprintf(least, sizeof least, " %lld", (long long)f->least);
    fprintf(stderr, "gemm: %s: argument %d, %s=%lld: %s%s\n", function, f->position, f->name,
            (long long)f->value, f->allowed, least);
    errno = before;
}

/* ---- CBLAS ---- */

static bool is_trans(int t)
{
    return t == NO_TRANS || t == TRANS || t == CONJ_TRANS;
}

static void run_cblas(const char *function, int order, int ta, int tb, gemm_wide_call *w)
{
    const char *trans = "it is 111 (no), 112 or 113 (yes)";
    fault f = {.position = 0};
    if (order != ROW_MAJOR && order != COLUMN_MAJOR)
        f = (fault){1, "order", order, "it is 101 (row-major) or 102 (column-major)", 0};
    else if (!is_trans(ta))
        f = (fault){2, "transa", ta, trans, 0};
    else if (!is_trans(tb))
        f = (fault){3, "transb", tb, trans, 0};
    w->TA = ta != NO_TRANS;
    w->TB = tb != NO_TRANS;
    if (!f.position) f = find_fault(order == ROW_MAJOR, w);
    if (f.position)
        say(function, &f);
    else
        run(order == ROW_MAJOR, w);
}

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    gemm_wide_call w = {.M = m, .N = n, .K = k, .ALPHA = alpha, .A = a, .lda = lda, .B = b,
                        .ldb = ldb, .BETA = beta, .C = c, .ldc = ldc};
    run_cblas("cblas_sgemm", order, transa, transb, &w);
}

void cblas_sgemm64_(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                    float beta, float *c, int64_t ldc)
{
    gemm_wide_call w = {.M = m, .N = n, .K = k, .ALPHA = alpha, .A = a, .lda = lda, .B = b,
                        .ldb = ldb, .BETA = beta, .C = c, .ldc = ldc};
    run_cblas("cblas_sgemm64_", order, transa, transb, &w);
}

/* ---- Fortran ---- */

/* Of the program, or of its BLAS. `length` is that of the name. */
extern void xerbla_(const char *name, const int *position, size_t length) __attribute__((weak));

/* 0: no, 1: yes, -1: neither. */
static int read_trans(char t)
{
    switch (t) {
    case 'N': case 'n': return 0;
    case 'T': case 't': case 'C': case 'c': return 1;
    default: return -1;
    }
}

/* The transposes belong to `w` after this. Returns the first bad argument. */
static fault settle_fortran(char transa, char transb, gemm_wide_call *w)
{
    const char *trans = "it is the character N, T or C";
    const int ta = read_trans(transa), tb = read_trans(transb);
    w->TA = ta > 0;
    w->TB = tb > 0;
    fault f = ta < 0   ? (fault){2, "transa", transa, trans, 0}
              : tb < 0 ? (fault){3, "transb", transb, trans, 0}
                       : find_fault(false, w);
    if (f.position) --f.position;       /* there is no `order` */
    return f;
}

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc)
{
    gemm_wide_call w = {.M = *m, .N = *n, .K = *k, .ALPHA = *alpha, .A = a, .lda = *lda, .B = b,
                        .ldb = *ldb, .BETA = *beta, .C = c, .ldc = *ldc};
    const fault f = settle_fortran(*transa, *transb, &w);
    if (!f.position)
        run(false, &w);
    else if (xerbla_)
        xerbla_("SGEMM ", &f.position, 6);
    else
        say("sgemm_", &f);
}

void sgemm_64_(const char *transa, const char *transb, const int64_t *m, const int64_t *n,
               const int64_t *k, const float *alpha, const float *a, const int64_t *lda,
               const float *b, const int64_t *ldb, const float *beta, float *c,
               const int64_t *ldc)
{
    gemm_wide_call w = {.M = *m, .N = *n, .K = *k, .ALPHA = *alpha, .A = a, .lda = *lda, .B = b,
                        .ldb = *ldb, .BETA = *beta, .C = c, .ldc = *ldc};
    const fault f = settle_fortran(*transa, *transb, &w);
    if (f.position)
        say("sgemm_64_", &f);
    else
        run(false, &w);
}

/* ---- the names that OpenBLAS has in the wheels of numpy and SciPy ---- */

#define SCIPY_NAME(scipy, name) extern __typeof__(name) scipy __attribute__((alias(#name)));
SCIPY_NAME(scipy_cblas_sgemm, cblas_sgemm)
SCIPY_NAME(scipy_cblas_sgemm64_, cblas_sgemm64_)
SCIPY_NAME(scipy_sgemm_, sgemm_)
SCIPY_NAME(scipy_sgemm_64_, sgemm_64_)
