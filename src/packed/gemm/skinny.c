/* SPDX-License-Identifier: MIT */
/*
 * One row, one or two columns, or an outer product.
 *
 *   SKINNY_ROWS    M = 1 with B by rows, or N = 1 with A by columns:  y += x[p] * row p, for each p
 *   SKINNY_DOTS    M = 1 with B by columns, or N <= 2 with A by rows: y[j] += x . row j
 *   SKINNY_OUTER   K = 1 with B by rows:                              row i of C += A[i] * B
 *
 * Two columns are two vectors x. A group of rows is read for both while it is in L1.
 * Threads get consecutive parts of y, or rows of C. No sum is cut between two threads.
 */
#include "packed/gemm/loops.h"

#include "util/ints.h"
#include "util/threads.h"

#include <string.h>

enum { MOST_COLUMNS = 2 };

/* Columns of B that are not dense are copied to the scratch of each thread. */
static bool fits_scratch(const gemm_call *c)
{
    return c->K <= GEMM_SCRATCH_BYTES / (MOST_COLUMNS * (int)sizeof(float));
}

skinny_way packed_skinny_way(const gemm_call *c)
{
    const bool a_is_dense = !c->TA || c->lda == 1, b_is_dense = c->TB || c->ldb == 1;
    if (c->K == 1 && !c->TB && c->M > 1) return SKINNY_OUTER;
    if (c->M == 1) return !c->TB ? SKINNY_ROWS : a_is_dense ? SKINNY_DOTS : NOT_SKINNY;
    if (c->N == 1 && c->TA) return c->ldc == 1 ? SKINNY_ROWS : NOT_SKINNY;
    if (c->N > MOST_COLUMNS || c->TA) return NOT_SKINNY;
    return b_is_dense || fits_scratch(c) ? SKINNY_DOTS : NOT_SKINNY;
}

/* ---- a vector times a matrix ---- */

/* y[j] += alpha * sum over p of x[p] * m(p, j). Row p of m, or for dots row j, begins at a multiple
   of ld. For dots there may be more than one vector x, each with a y of its own. */
typedef struct vector_job {
    const gemm_ukernel *u;
    int n, K;
    float alpha;
    const float *x, *m;
    size_t x_step, ld;
    float *y;
    size_t y_step;
    int vectors;                /* at most MOST_COLUMNS */
    size_t x_apart;             /* the next x begins so many floats behind; its y 1 float behind */
    int n_step;                 /* chunk c begins at y[c * n_step] */
} vector_job;

/* C as a row, or as columns. */
static vector_job make_vector_job(const gemm_call *c, const gemm_ukernel *u)
{
    vector_job v = {.u = u, .K = c->K, .alpha = c->ALPHA, .vectors = 1};
    if (c->M == 1) {
        v.n = c->N, v.x = c->A, v.x_step = c->TA ? c->lda : 1;
        v.m = c->B, v.ld = c->ldb, v.y = c->C, v.y_step = 1;
    } else {
        v.n = c->M, v.x = c->B, v.x_step = c->TB ? 1 : c->ldb;
        v.m = c->A, v.ld = c->lda, v.y = c->C, v.y_step = c->ldc;
        v.vectors = c->N, v.x_apart = c->TB ? c->ldb : 1;
    }
    return v;
}

/* add_rows takes GEMM_ADD_ROWS rows at most. With more of them the products are summed up apart
   from y, so that y is rounded once. */
static bool needs_sum(const vector_job *v)
{
    return v->K > GEMM_ADD_ROWS;
}

static void add_rows(void *arg, int chunk, void *sum)
{
    enum { PIECE = 16 * 1024 };     /* floats of y, which stay in L2 while all rows are added */
    const vector_job *v = arg;
    const int end = min_int((chunk + 1) * v->n_step, v->n);
    const float one = 1;
    for (int j = chunk * v->n_step; j < end; j += PIECE) {
        const int n = min_int(PIECE, end - j);
        float *to = needs_sum(v) ? memset(sum, 0, n * sizeof *to) : v->y + j;
        for (int p = 0; p < v->K; p += GEMM_ADD_ROWS) {
            const int rows = min_int(GEMM_ADD_ROWS, v->K - p);
            float x[GEMM_ADD_ROWS];
            for (int q = 0; q < rows; ++q) x[q] = v->alpha * v->x[(p + q) * v->x_step];
            v->u->skinny.add_rows(rows, n, x, v->m + p * v->ld + j, v->ld, to);
        }
        if (to == sum) v->u->skinny.add_rows(1, n, &one, sum, 0, v->y + j);
    }
}

/* Dot products need dense vectors. */
static bool needs_copy(const vector_job *v)
{
    return v->x_step != 1;
}

static void copy_vectors(const vector_job *v, float *to)
{
    for (int p = 0; p < v->K; ++p) {
        for (int i = 0; i < v->vectors; ++i) {
            to[(size_t)i * v->K + p] = v->x[p * v->x_step + i * v->x_apart];
        }
    }
}

static void add_dots(void *arg, int chunk, void *scratch)
{
    const vector_job *v = arg;
    const bool copied = needs_copy(v);
    if (copied) copy_vectors(v, scratch);
    const float *const x = copied ? scratch : v->x;
    const size_t apart = copied ? (size_t)v->K : v->x_apart;
    const int end = min_int((chunk + 1) * v->n_step, v->n);
    for (int j = chunk * v->n_step, rows; j < end; j += rows) {
        float sums[GEMM_DOT_ROWS];
        rows = min_int(GEMM_DOT_ROWS, end - j);
        for (int i = 0; i < v->vectors; ++i) {
            v->u->skinny.dots(rows, v->K, x + i * apart, v->m + j * v->ld, v->ld, sums);
            for (int r = 0; r < rows; ++r) {
                const float product = v->alpha * sums[r];   /* rounded: a statement is not fused */
                v->y[(j + r) * v->y_step + i] += product;
            }
        }
    }
}

static int multiply_vector(const gemm_call *c, skinny_way way, const gemm_ukernel *u, int threads)
{
    vector_job v = make_vector_job(c, u);
    gemm_work *const work = way == SKINNY_ROWS ? add_rows : add_dots;
    v.n_step = threads == 1 ? v.n : even_step(v.n, ceil_div(v.n, threads), u->vl);
    if (v.n_step < v.n || (way == SKINNY_ROWS ? needs_sum(&v) : needs_copy(&v))) {
        return gemm_parallel(threads, ceil_div(v.n, v.n_step), work, &v);
    }
    work(&v, 0, NULL);
    return 0;
}

/* ---- an outer product ---- */

typedef struct outer_job {
    const gemm_call *call;
    const gemm_ukernel *u;
} outer_job;

enum { OUTER_ROWS = 16 };       /* rows of C a chunk */

static void add_outer(void *arg, int chunk, void *scratch)
{
    (void)scratch;
    const outer_job *o = arg;
    const gemm_call *c = o->call;
    const size_t a_row = c->TA ? 1 : c->lda;
    const int end = min_int((chunk + 1) * OUTER_ROWS, c->M);
    for (int i = chunk * OUTER_ROWS; i < end; ++i) {
        const float x = c->ALPHA * c->A[i * a_row];
        o->u->skinny.add_rows(1, c->N, &x, c->B, 0, c->C + (size_t)i * c->ldc);
    }
}

int packed_skinny(const gemm_call *c, skinny_way way, const gemm_ukernel *u, int threads)
{
    threads = packed_threads(c->M, c->N, c->K, threads);
    if (way != SKINNY_OUTER) return multiply_vector(c, way, u, threads);
    outer_job o = {c, u};
    return gemm_parallel(threads, ceil_div(c->M, OUTER_ROWS), add_outer, &o);
}
