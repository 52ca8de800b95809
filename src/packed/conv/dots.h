/* Convolutions that are dot products: filters as large as the image. */
#ifndef PACKED_DOTS_H
#define PACKED_DOTS_H

#include "gemm_dispatch.h"
#include "packed/isa/ukernel.h"

/* Runs a convolution of which gemm_conv_is_dots is true, on up to `threads` threads. Returns 0, or
   -1 when there is no memory; the output is then untouched. */
int packed_dots(const conv_call *, const gemm_ukernel *, int threads);

#endif
