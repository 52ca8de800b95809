/* SPDX-License-Identifier: MIT */
/*
 * Whether the output of a convolution is right: Darknet's sum in double precision, and the largest
 * error that single precision may have. GEMM_CHECK and the tests use it.
 */
#ifndef GEMM_CONV_CHECK_H
#define GEMM_CONV_CHECK_H

#include "check/reference.h"
#include "gemm_variant.h"

/* Compares the output after the run with the reference. The bound is that of the algorithm that
   ran: a transform, or NULL for a sum over the taps. Returns 0, or -1 without memory. */
int gemm_conv_compare(const conv_call *, const struct gemm_transform *, gemm_error *worst);

/* The same for a row that rounds beyond single precision. NULL: it does not. */
int gemm_conv_compare_rounded(const conv_call *, const struct gemm_transform *,
                              const gemm_rounding *, gemm_error *worst);

/* The exact outputs, rounded once, without the pool. 0, or -1 without memory. */
int gemm_conv_expect(const conv_call *, float *outputs);

#endif
