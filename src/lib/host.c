/*
 * gemm and gemm_cpu under Darknet's names. They take the place of Darknet's own where the library
 * is preloaded, or is loaded before Darknet.
 */
#include "darknet_gemm.h"
#include "lib/darknet.h"

#include <stddef.h>

void gemm(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B, int ldb,
          float BETA, float *C, int ldc)
{
    gemm_find_host(NULL, __builtin_return_address(0));
    gemm_run_darknet(TA, TB, M, N, K, ALPHA, A, lda, B, ldb, BETA, C, ldc);
}

void gemm_cpu(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,
              int ldb, float BETA, float *C, int ldc)
{
    gemm_find_host(NULL, __builtin_return_address(0));
    gemm_run_darknet(TA, TB, M, N, K, ALPHA, A, lda, B, ldb, BETA, C, ldc);
}
