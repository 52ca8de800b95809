/* SPDX-License-Identifier: MIT */
/* GEMM_CHECK of a convolution in whole numbers of 8 bits. */
#ifndef GEMM_INT8_CHECK_H
#define GEMM_INT8_CHECK_H

#include "check/reference.h"

/*
 * Rounds weights and input itself, adds the products as whole numbers, and rescales in the order
 * that packed/int8 documents. A float that is not the same one has a ratio above 1. `scale`: what
 * one step of the input stands for; `zero`: its byte of 0. No pool, no logistic. Returns 0, or -1
 * without memory.
 */
int gemm_int8_compare(const conv_call *, float scale, int zero, gemm_error *worst);

#endif
