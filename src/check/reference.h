/* SPDX-License-Identifier: MIT */
/*
 * The product in double precision, and how far a result in single precision is off. GEMM_CHECK, the
 * tests, gemm-bench and the trials of OpenCL programs use these functions. No variant computes with
 * them.
 */
#ifndef GEMM_REFERENCE_H
#define GEMM_REFERENCE_H

#include "op/activation.h"

#include <float.h>
#include <math.h>

/*
 * Adds rows first ... last - 1 of ALPHA * op(A) * op(B) to `product`, and the sums of the absolute
 * values of the same terms to `sizes`. Both are M x N with rows of N; `sizes` may be NULL. Threads
 * may compute different rows at the same time. Returns 0, or -1 without memory.
 */
int gemm_reference_add(const gemm_call *, int first, int last, double *product, double *sizes);

/* The bound of a sum is FLT_EPSILON times the sum of the absolute values of its terms, or more. So
   with this bound or a larger one, the sum may overflow. */
#define GEMM_OVERFLOW_BOUND ((double)FLT_EPSILON * FLT_MAX)

/*
 * |actual - expected| / bound: more than 1 is wrong.
 *
 * - A NaN that is expected has to be NaN. Any other NaN or infinity is infinitely wrong.
 * - But where the result is no finite float, or where the sum may overflow on its way, every value
 *   that is not finite is right.
 * - A bound that is not finite comes from an operand that is not. A finite result is then one of an
 *   activation, which may be rounded.
 */
double gemm_error_ratio(double expected, double bound, float actual);

/* The bound of what an activation returns, y, where `bound` is that of its operand. None is steeper
   than 1.1. */
double gemm_activation_bound(double bound, double y, conv_activation);

/* The element of an output with the largest ratio. Images, rows and columns are those of gemm's C:
   a convolution has a row for each filter and a column for each place, a layer without weights has
   one row. */
typedef struct gemm_error {
    double ratio;               /* of gemm_error_ratio; below 0: nothing was compared */
    double difference;          /* |actual - expected| */
    int image, row, column;
} gemm_error;

/* Replaces `worst` where this element has a larger ratio. */
void gemm_error_take(gemm_error *worst, const gemm_error *);
void gemm_error_add(gemm_error *worst, double expected, double bound, float actual, int image,
                    int row, int column);

#endif
