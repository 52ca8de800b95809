/* SPDX-License-Identifier: MIT */
/*
 * The rows `packed_bf16` and `packed_fp16`: products of operands of 16 bits (packed/isa/pairs.h).
 * What would gain nothing runs as under `packed`, in single precision. So does what fp16 has no
 * numbers for: range.c.
 */
#ifndef PACKED_HALF_H
#define PACKED_HALF_H

#include "gemm_variant.h"
#include "packed/isa/pairs.h"

/* The params of the rows. */
typedef struct gemm_half_params {
    gemm_format format;
    const gemm_pairs *pairs;    /* of this format; NULL: the fastest ones */
} gemm_half_params;

extern const gemm_half_params gemm_half_bf16, gemm_half_fp16;

/* One multiply. With at most 16 rows of A or steps of K, and for one column of C, it runs as under
   `packed`, which declines what is tiny. Declines any call when there is no memory. */
gemm_row_multiply gemm_half;

/* One convolution: conv.c. Keeps the weights in 16 bits. */
gemm_row_conv gemm_half_conv;

/* A chain as under `packed`, in 16 bits where gemm_half_conv computes all of its products so, in
   single precision where it computes none so. Declines all others. */
gemm_row_chain gemm_half_chain;

/* These, and layers as under `packed`. */
gemm_row_run gemm_half_run;

/* NULL, or why `packed_fp16` cannot run here: only Armv8.2 has micro-kernels for it. The portable
   form is slower than `packed`, and is for tests. params is not used. */
const char *gemm_half_fp16_unusable(const void *params);

/* How they round. That of fp16 depends on the processor, and does not change. */
extern const gemm_rounding gemm_half_bf16_rounding;
extern gemm_rounding gemm_half_fp16_rounding;

/* The largest finite magnitude of rows x columns floats, rows ld apart. INFINITY: there was no
   memory to look. */
float packed_half_largest(const float *x, int rows, int columns, size_t ld, int threads);

/* Whether fp16 has numbers for operands of such magnitudes, and for their sums. A call with others
   is computed in single precision, because an infinite product would spoil all that follows.
   Infinite ones and NaN stay what they are, and so do products with them. */
bool packed_half_fits(const gemm_pairs *, float a, float b);

/* The micro-kernels that a row takes. */
const gemm_pairs *packed_half_pairs(const gemm_half_params *, const gemm_ukernel *);

#endif
