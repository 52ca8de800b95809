/* SPDX-License-Identifier: MIT */
/* A multiply with its operands beside guard pages. */
#ifndef TEST_PRODUCT_H
#define TEST_PRODUCT_H

#include "gemm_variant.h"
#include "support/judge.h"
#include "support/operands.h"

typedef struct product {
    gemm_call call;
    guarded A, B, C;
} product;

/* Random leading dimensions, where they are 0. */
void product_pad(gemm_call *, rng *);

/* The floats from the first element of C to the last one. */
size_t product_floats(const gemm_call *);

/* Random operands for the call; a leading dimension of 0 becomes the least. All lie at this side of
   a guard page, with offset[0..2] bytes between. product_free frees them. */
void product_place(product *, guarded_place, const int offset[3], rng *);

/* The same, with random leading dimensions, sides and offsets. */
void product_draw(product *, rng *);
void product_free(product *);

/* Such as "TA=0 TB=1 M=3 N=40 K=7 lda=7 ldb=9 ldc=40 ALPHA=1". */
const char *product_text(const gemm_call *, char text[JUDGE_TEXT]);

#endif
