/* SPDX-License-Identifier: MIT */
/* Numbers of 16 and 8 bits as tests round them, in double precision. */
#ifndef TEST_ROUNDED_H
#define TEST_ROUNDED_H

#include "common/random.h"
#include "packed/half/half.h"

/* To the 8 binary digits of GEMM_BF16, or to the 11 of GEMM_FP16. */
float rounded_half(gemm_format, float);

/* The byte of x * inverse, less `zero`. The product of floats is what is rounded. */
int rounded_byte(float x, float inverse, int zero);

/* A byte of 0: none, one of the limits, or any. */
int draw_zero(rng *);

/* f(sum * scale + shift) in single precision, where each operation rounds. */
float finished(float slope, long long sum, float scale, float shift);

#endif
