/* SPDX-License-Identifier: MIT */
/*
 * libdarknet-gemm: the multiplies of this project for programs that nobody patches.
 *
 *   gemm, gemm_cpu                    as every C Darknet has them: row-major
 *   cblas_sgemm, cblas_sgemm64_       as BLAS has them, of CBLAS
 *   sgemm_, sgemm_64_                 as BLAS has them, of Fortran: column-major
 *   scipy_cblas_sgemm and so on       the last four, under the names that OpenBLAS has in the
 *                                     wheels of numpy and SciPy; they are not declared here
 *   openblas_set_num_threads          and two more, as OpenBLAS's cblas.h declares them
 *
 * gemm_dispatch.h, which is installed beside this file, has the calls of a patched Darknet: whole
 * convolutions, other layers, and memory that a device shares.
 *
 * Every function may be called from several threads at once, but for darknet_gemm_set_threads. The
 * environment chooses the rest: GEMM_IMPL, GEMM_THREADS, GEMM_TRACE and others (man darknet-gemm).
 * It is read at the first multiply. With GEMM_REPRODUCIBLE=1 the functions above have the same bits
 * on every processor and with any number of threads, but not by OpenCL (docs/reproducible.md).
 */
#ifndef DARKNET_GEMM_H
#define DARKNET_GEMM_H

#include <stdint.h>

#define DARKNET_GEMM_VERSION "1.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * C(MxN) = ALPHA * op(A)(MxK) * op(B)(KxN) + BETA * C; op transposes where TA or TB is not 0. With
 * BETA = 0, C is written without being read. Without M, N or K nothing is multiplied. The arguments
 * are not judged, as in Darknet.
 */
void gemm(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B, int ldb,
          float BETA, float *C, int ldc);
void gemm_cpu(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,
              int ldb, float BETA, float *C, int ldc);

/*
 * `order` is 101 (row-major) or 102, a `trans` 111 (no), 112 or 113 (yes). A bad argument: one line
 * on stderr names it, and C is unchanged. With alpha = 0, A and B are not read.
 */
void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_sgemm64_(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                    float beta, float *c, int64_t ldc);

/* A bad argument goes to the xerbla_ of the program, if it has one, as BLAS does it. Otherwise it
   is named on stderr, and C is unchanged. */
void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc);

/* The same with sizes of 64 bits. A bad argument is always named on stderr. */
void sgemm_64_(const char *transa, const char *transb, const int64_t *m, const int64_t *n,
               const int64_t *k, const float *alpha, const float *a, const int64_t *lda,
               const float *b, const int64_t *ldb, const float *beta, float *c,
               const int64_t *ldc);

/*
 * At most so many threads for each later multiply, 1 to 1024. Call it only while no other thread
 * multiplies. Returns 0, or -1 for a number out of range, which changes nothing.
 */
int darknet_gemm_set_threads(int threads);

int darknet_gemm_get_threads(void);

/* DARKNET_GEMM_VERSION of the library that is loaded. */
const char *darknet_gemm_version(void);

#ifdef __cplusplus
}
#endif

#endif
