/*
 * The reference: a triple loop in double precision, and the error a single-precision result may
 * have. GEMM_CHECK, the tests and gemm-bench all judge by it.
 */
#ifndef GEMM_CHECK_H
#define GEMM_CHECK_H

#include "gemm_dispatch.h"

/* What C must become, and how far each element may be off; both M x N, rows of N. */
typedef struct gemm_oracle {
    double *expected;
    double *bound;
} gemm_oracle;

/* The element that is worst in units of its bound: over 1 is wrong. */
typedef struct gemm_error {
    double ratio;               /* |C - expected| / bound; infinite for a NaN that must not be */
    double difference;          /* |C - expected| */
    int row, column;
} gemm_error;

/* Computes the oracle from the operands and C as it is before the run. 0, or -1 without memory. */
int gemm_oracle_make(gemm_oracle *, const gemm_call *);
void gemm_oracle_free(gemm_oracle *);

/* Compares C after the run. */
gemm_error gemm_oracle_compare(const gemm_oracle *, const gemm_call *);

/* Counts a right result for the line that GEMM_CHECK prints at the end; `ratio` is its worst. */
void gemm_record_check(const gemm_call *, double ratio);

#endif
