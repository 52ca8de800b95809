/*
 * The product in double precision, and how far a result in single precision is off. GEMM_CHECK, the
 * tests and gemm-bench use these two functions. No row of the table uses them.
 */
#ifndef GEMM_REFERENCE_H
#define GEMM_REFERENCE_H

#include "gemm_dispatch.h"

/*
 * Adds rows first ... last - 1 of ALPHA * op(A) * op(B) to `product`, and the sums of the absolute
 * values of the same terms to `sizes`. Both are M x N with rows of N; `sizes` may be NULL. Threads
 * may compute different rows at the same time. Returns 0, or -1 without memory.
 */
int gemm_reference_add(const gemm_call *, int first, int last, double *product, double *sizes);

/*
 * |actual - expected| / bound: more than 1 is wrong, and a NaN is infinitely wrong. When `expected`
 * is not a finite float, any `actual` that is not finite is right. When `bound` is not finite,
 * because an operand is not, any `actual` is right.
 */
double gemm_error_ratio(double expected, double bound, float actual);

#endif
