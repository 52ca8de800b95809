/* SPDX-License-Identifier: MIT */
/* gemm as Darknet calls it, on the row that is chosen. */
#ifndef GEMM_DARKNET_H
#define GEMM_DARKNET_H

#include "lib/stock.h"

gemm_darknet_function gemm_run_darknet;

/* A function that a host calls in place of its own gemm. `real`: see gemm_find_host. */
#define GEMM_DARKNET_FUNCTION(name, real)                                                         \
    void name(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,      \
              int ldb, float BETA, float *C, int ldc)                                             \
    {                                                                                             \
        gemm_find_host(real, __builtin_return_address(0));                                        \
        gemm_run_darknet(TA, TB, M, N, K, ALPHA, A, lda, B, ldb, BETA, C, ldc);                   \
    }

#endif
