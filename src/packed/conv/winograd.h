/*
 * Winograd's algorithm for 3x3 filters of stride 1: fewer multiplications, a larger error.
 */
#ifndef GEMM_WINOGRAD_H
#define GEMM_WINOGRAD_H

#include "gemm_variant.h"

/* The m that computes this convolution fastest, 2 or 4; 0: none, the direct way is faster or the
   only one. Depends on the layer and the micro-kernels, not on the threads. */
int packed_winograd_m(const conv_call *, const struct gemm_ukernel *);

/* Runs a convolution of which gemm_conv_can_transform is true. 0, or -1: no memory, and the output
   is unchanged. */
int packed_winograd(const conv_call *, int m, const gemm_context *);

#endif
