/* SPDX-License-Identifier: MIT */
/*
 * Three ways to the same product: as Darknet calls it, as BLAS does, and by the call of
 * gemm_dispatch.h. GEMM_IMPL chooses what multiplies, and GEMM_TRACE=- shows it.
 */
#include <darknet_gemm.h>
#include <gemm_dispatch.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, c[4];
    gemm(0, 0, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);                    /* C = A * B */
    cblas_sgemm(101, 111, 111, 2, 2, 2, 1, a, 2, b, 2, 1, c, 2);    /* C += A * B */
    gemm_dispatch(&(gemm_call){0, 0, 2, 2, 2, 1, a, 2, b, 2, c, 2});    /* C += A * B */
    printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
    return strcmp(darknet_gemm_version(), DARKNET_GEMM_VERSION) != 0;
}
