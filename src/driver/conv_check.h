/*
 * The reference of a whole convolution: Darknet's sum in double precision, and the error a
 * single-precision result may have. GEMM_CHECK and the tests judge by it.
 */
#ifndef GEMM_CONV_CHECK_H
#define GEMM_CONV_CHECK_H

#include "gemm_dispatch.h"

/* The output that is worst in units of its bound: over 1 is wrong. */
typedef struct conv_error {
    double ratio;               /* |output - expected| / bound; infinite for a NaN that must not be */
    double difference;          /* |output - expected| */
    int image, filter, at;      /* at: the place in the filter's output */
} conv_error;

/* Compares the output after the run. 0, or -1 without memory. */
int gemm_conv_compare(const conv_call *, conv_error *worst);

#endif
