/* SPDX-License-Identifier: MIT */
/* A multiply with 64-bit sizes, as calls of 32-bit sizes. */
#ifndef GEMM_PIECES_H
#define GEMM_PIECES_H

#include <stdbool.h>
#include <stdint.h>

/* C(MxN) = ALPHA * op(A)(MxK) * op(B)(KxN) + BETA * C, row-major, as in gemm_call. */
typedef struct gemm_wide_call {
    bool TA, TB;
    int64_t M, N, K;
    float ALPHA;
    const float *A; int64_t lda;
    const float *B; int64_t ldb;
    float BETA;
    float *C; int64_t ldc;
} gemm_wide_call;

/* The usual `most` of gemm_run_pieces. */
enum { GEMM_PIECE = 1 << 30 };

/*
 * Runs the multiply, in pieces whose M, N and K are at most `most`. With ALPHA = 0 or K = 0, A and
 * B are not read. With M = 0 or N = 0 nothing happens.
 */
void gemm_run_pieces(const gemm_wide_call *, int64_t most);

#endif
