/* SPDX-License-Identifier: MIT */
/* gemm and gemm_cpu of a false Darknet. They say that they were called; C stays as it is. */
#include "lib/stock.h"

#include <stdio.h>

gemm_darknet_function gemm, gemm_cpu;

void gemm_cpu(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,
              int ldb, float BETA, float *C, int ldc)
{
    (void)TA, (void)TB, (void)ALPHA, (void)A, (void)lda, (void)B, (void)ldb, (void)C, (void)ldc;
    printf("own loops %d %d %d beta %g\n", M, N, K, BETA);
}

void gemm(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B, int ldb,
          float BETA, float *C, int ldc)
{
    gemm_cpu(TA, TB, M, N, K, ALPHA, A, lda, B, ldb, BETA, C, ldc);
}
