/*
 * Whether the output of a convolution is right: Darknet's sum in double precision, and the largest
 * error that single precision may have. GEMM_CHECK and the tests use it.
 */
#ifndef GEMM_CONV_CHECK_H
#define GEMM_CONV_CHECK_H

#include "gemm_variant.h"

/* The output with the largest ratio. A ratio over 1 is wrong. */
typedef struct conv_error {
    double ratio;               /* |output - expected| / bound: see gemm_error_ratio */
    double difference;          /* |output - expected| */
    int image, filter, at;      /* at: the place in the filter's output */
} conv_error;

/* Compares the output after the run with the reference. The bound is that of the algorithm that
   ran: a transform, or NULL for a sum over the taps. Returns 0, or -1 without memory. */
int gemm_conv_compare(const conv_call *, const struct gemm_transform *, conv_error *worst);

/* The same for a row that rounds beyond single precision. NULL: it does not. */
int gemm_conv_compare_rounded(const conv_call *, const struct gemm_transform *,
                              const gemm_rounding *, conv_error *worst);

#endif
