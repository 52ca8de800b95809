/* SPDX-License-Identifier: MIT */
/*
 * The row `packed_bf16`: products of bfloat16 with sums in single precision (pairs.h). What would
 * gain nothing runs as under `packed`, in single precision.
 */
#ifndef PACKED_BF16_H
#define PACKED_BF16_H

#include "gemm_variant.h"

/* One multiply. params: the micro-kernels (isa/pairs.h), or NULL for the fastest ones. With at most
   16 rows of A or steps of K, and for one column of C, it runs as under `packed`, which declines
   what is tiny. Declines any call when there is no memory. */
gemm_row_run gemm_bf16;

/* One convolution: conv.c. params as above. Keeps the weights in 16 bits. */
gemm_row_conv gemm_bf16_conv;

/* A chain as under `packed`, in 16 bits where gemm_bf16_conv computes all of its products so, in
   single precision where it computes none so. Declines all others. */
gemm_row_chain gemm_bf16_chain;

/* How both round. */
extern const gemm_rounding gemm_bf16_rounding;

#endif
