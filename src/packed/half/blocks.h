/* SPDX-License-Identifier: MIT */
/* Convolutions in blocks of channels: blocks.c. */
#ifndef PACKED_BLOCKS_H
#define PACKED_BLOCKS_H

#include "gemm_variant.h"
#include "packed/isa/pairs.h"

/* Whether a convolution can go so: one group, not 1x1, at most a quarter of the pairs of channels
   would be zeroes, and a few rows of the image fit a thread's scratch. */
bool packed_half_has_blocks(const conv_call *, const gemm_pairs *);

/* One of these, pooled or not. Keeps its filters. False: there is no memory, and the output is
   unchanged. */
bool packed_half_blocks(const conv_call *, const gemm_context *, const gemm_pairs *);

#endif
