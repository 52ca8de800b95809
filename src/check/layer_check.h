/* Whether the output of a layer without weights is right. GEMM_CHECK and the tests use it. */
#ifndef GEMM_LAYER_CHECK_H
#define GEMM_LAYER_CHECK_H

#include "gemm_dispatch.h"

/* The output with the largest ratio. A ratio over 1 is wrong. */
typedef struct layer_error {
    double ratio;               /* |output - expected| / bound: see gemm_error_ratio */
    double difference;          /* |output - expected| */
    int image, at;              /* at: the place in the image's output */
} layer_error;

/* Compares the output after the run with plain loops in double precision. */
layer_error gemm_layer_compare(const layer_call *);

#endif
