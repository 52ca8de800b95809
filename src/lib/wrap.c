/*
 * What the linker calls in place of gemm and gemm_cpu under -Wl,--wrap=gemm,--wrap=gemm_cpu.
 *
 * __real_gemm_cpu is Darknet's own. The linker sets it when this file comes from the archive. From
 * the shared library it stays NULL, and stock.c finds gemm_cpu in the program.
 */
#include "lib/darknet.h"

extern gemm_darknet_function __wrap_gemm, __wrap_gemm_cpu;
extern gemm_darknet_function __real_gemm_cpu __attribute__((weak));

void __wrap_gemm(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,
                 int ldb, float BETA, float *C, int ldc)
{
    gemm_find_host(__real_gemm_cpu, __builtin_return_address(0));
    gemm_run_darknet(TA, TB, M, N, K, ALPHA, A, lda, B, ldb, BETA, C, ldc);
}

void __wrap_gemm_cpu(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,
                     int ldb, float BETA, float *C, int ldc)
{
    gemm_find_host(__real_gemm_cpu, __builtin_return_address(0));
    gemm_run_darknet(TA, TB, M, N, K, ALPHA, A, lda, B, ldb, BETA, C, ldc);
}
