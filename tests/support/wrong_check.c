/* SPDX-License-Identifier: MIT */
/* Runs row stock through the driver eight times. wrong.c can make its result wrong. */
#include "driver/driver.h"

#include <stdlib.h>

int main(void)
{
    enum { M = 9, N = 11, K = 27 };
    float A[M * K], B[K * N], C[M * N] = {0};
    for (int i = 0; i < M * K; ++i) A[i] = (float)(i % 7) - 3;
    for (int i = 0; i < K * N; ++i) B[i] = (float)(i % 5) - 1.5f;     /* none is 0 */
    const gemm_call c = {
        .M = M, .N = N, .K = K, .ALPHA = 1, .A = A, .lda = K, .B = B, .ldb = N, .C = C, .ldc = N};
    for (int i = 0; i < 8; ++i) gemm_run(gemm_find("stock"), &c, NULL);
    return 0;
}
