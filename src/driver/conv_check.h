/*
 * Is the output of a convolution right? Darknet's sum in double precision, and the largest error
 * that single precision may have. GEMM_CHECK and the tests use it.
 */
#ifndef GEMM_CONV_CHECK_H
#define GEMM_CONV_CHECK_H

#include "gemm_dispatch.h"

/* The output with the largest ratio. A ratio over 1 is wrong. */
typedef struct conv_error {
    double ratio;               /* |output - expected| / bound: see gemm_error_ratio */
    double difference;          /* |output - expected| */
    int image, filter, at;      /* at: the place in the filter's output */
} conv_error;

/* Compares the output after the run with the reference. Returns 0, or -1 without memory. */
int gemm_conv_compare(const conv_call *, conv_error *worst);

#endif
