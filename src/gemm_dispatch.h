/*
 * What a patched Darknet calls: one multiply, one whole convolution, and memory that an OpenCL
 * device can share.
 *
 *   Darknet's layer -> gemm_nn, gemm_nt, gemm_tn, gemm_tt (patched) -> gemm_dispatch -> a row -> C
 *
 * All matrices are single precision and row-major. A leading dimension (lda, ldb, ldc) is the
 * distance between two rows in elements. It may be larger than the row is long. Pointers are
 * aligned to 4 bytes, no more. Nothing is read or written outside the matrices.
 *
 * Every function here may be called from several threads at once.
 */
#ifndef GEMM_DISPATCH_H
#define GEMM_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>

/* C(MxN) += ALPHA * op(A)(MxK) * op(B)(KxN); op transposes where TA or TB is not 0. */
typedef struct gemm_call {
    int TA, TB, M, N, K;
    float ALPHA;
    const float *A; int lda;    /* M x K, or K x M when TA */
    const float *B; int ldb;    /* K x N, or N x K when TB */
    float *C; int ldc;          /* M x N */
} gemm_call;

/* It is applied to scale * sum + shift. Darknet applies every other activation itself, after a call
   with CONV_LINEAR. */
typedef enum conv_activation {
    CONV_LINEAR,
    CONV_LEAKY,                 /* x > 0 ? x : .1 x */
    CONV_RELU,
    CONV_LOGISTIC,
} conv_activation;

/*
 * A whole convolution: output = activation(scale * (weights applied to input) + shift). Channels
 * and filters are cut into `groups` equal parts. A filter sees only the channels of its group. The
 * output is written without being read. Every dimension is at least 1. The output has the size that
 * Darknet gives it: (h + 2 pad - size) / stride + 1.
 */
typedef struct conv_call {
    int batch, groups;
    int c, h, w;                /* an image of the input */
    int n, size, stride, pad;   /* n filters of c / groups x size x size */
    int out_h, out_w;
    const float *input;         /* batch x c x h x w */
    const float *weights;       /* n x c / groups x size x size */
    const float *scale;         /* n, or NULL for 1 */
    const float *shift;         /* n */
    conv_activation activation;
    float *output;              /* batch x n x out_h x out_w */
} conv_call;

/* Batch norm at inference: y = (x - mean) / (sqrt(variance) + .000001) * scales + bias. Each has n
   elements. */
typedef struct conv_norm {
    const float *mean, *variance, *scales;
} conv_norm;

/* C *= BETA, as BLAS means it: 1 does nothing, 0 overwrites C without reading it. */
void gemm_beta(const gemm_call *, float BETA);

/* Runs the call on the row of GEMM_IMPL, or on stock when that row declines. A row that cannot run
   here, and a row that fails, ends the program with the reason. */
void gemm_dispatch(const gemm_call *);

/* Whether whole convolutions go to the chosen row: the row offers them, and GEMM_CONV allows it. */
bool gemm_conv_offered(void);

/*
 * Runs the whole convolution on the chosen row. With `norm`, scale is computed here, and shift
 * holds the biases. Returns false when the row does not offer it or declines; the output is then
 * untouched, and Darknet's own code has to run.
 */
bool gemm_conv(const conv_call *, const conv_norm *norm);

/* Darknet's own loops, unchanged. Defined in the patched src/gemm.c of Darknet. */
void gemm_stock_loops(const gemm_call *);

/*
 * Memory that an OpenCL device and the CPU can share without a copy.
 *
 * While an OpenCL row is chosen, these functions hand out memory of the driver, because only the
 * driver knows which alignment and caching the sharing needs. Under every other row they are
 * calloc, realloc and free. While a multiply uses any part of a block, the device owns the block.
 */

/* Zeroed memory, or NULL. Freed with gemm_host_free. */
void *gemm_host_alloc(size_t count, size_t size);

/* As realloc, for memory of both kinds. On NULL the old memory is unchanged. */
void *gemm_host_realloc(void *, size_t bytes);

/* Frees memory of gemm_host_alloc and of malloc. */
void gemm_host_free(void *);

#endif
