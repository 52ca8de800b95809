/* SPDX-License-Identifier: MIT */
/* Row `stock` of the library: the loops of the Darknet that calls it. */
#ifndef GEMM_STOCK_H
#define GEMM_STOCK_H

/* gemm and gemm_cpu of every C Darknet. */
typedef void gemm_darknet_function(int TA, int TB, int M, int N, int K, float ALPHA, float *A,
                                   int lda, float *B, int ldb, float BETA, float *C, int ldc);

/*
 * Looks for gemm_cpu of the Darknet that holds the address `caller`. `real` is what the linker's
 * --wrap left of it, or NULL. The first call decides.
 */
void gemm_find_host(gemm_darknet_function *real, const void *caller);

#endif
