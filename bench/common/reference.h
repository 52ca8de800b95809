/* SPDX-License-Identifier: MIT */
/*
 * The product in double precision that every timed result is compared with.
 */
#ifndef BENCH_REFERENCE_H
#define BENCH_REFERENCE_H

#include "gemm_variant.h"

typedef struct reference {
    int M, N;
    double *product;            /* M x N: ALPHA op(A) op(B) */
    double *row_norm;           /* M: the length of a row of op(A), times |ALPHA| */
    double *column_norm;        /* N: the length of a column of op(B) */
    const float *C0;            /* M x N, rows of ldc0: C before any call */
    int ldc0;
} reference;

/* Computes it on `threads` threads; C of the call is C0 and must outlive it. 0, or -1 (memory). */
int reference_make(reference *, const gemm_call *, int threads);
void reference_free(reference *);

/*
 * Whether C is what `calls` calls in a row make of C0; if not, `text` gets the worst element. It is
 * for random operands of [-1, 1], where the bound is far smaller than that of the worst case. The
 * rounding of the row, or NULL: single precision.
 */
bool reference_holds(const reference *, const gemm_call *, long calls, const gemm_rounding *,
                     char *text, size_t size);

#endif
