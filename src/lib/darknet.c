/* SPDX-License-Identifier: MIT */
/* gemm as Darknet calls it: see darknet.h. */
#include "lib/darknet.h"

#include "gemm_dispatch.h"

void gemm_run_darknet(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,
                      int ldb, float BETA, float *C, int ldc)
{
    const gemm_call c = {TA, TB, M, N, K, ALPHA, A, lda, B, ldb, C, ldc};
    gemm_beta(&c, BETA);
    gemm_dispatch(&c);
}
