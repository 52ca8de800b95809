/* SPDX-License-Identifier: MIT */
/* Whether the output of a layer without weights is right. GEMM_CHECK and the tests use it. */
#ifndef GEMM_LAYER_CHECK_H
#define GEMM_LAYER_CHECK_H

#include "check/reference.h"

/* Compares the output after the run with plain loops in double precision. */
gemm_error gemm_layer_compare(const layer_call *);

#endif
