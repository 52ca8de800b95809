/* Convolutions that are dot products: filters as large as the image. */
#ifndef PACKED_DOTS_H
#define PACKED_DOTS_H

#include "gemm_dispatch.h"
#include "packed/ukernel.h"

/* Whether each output of the convolution is the dot product of a filter and of all channels that
   the filter sees. A connected layer is such a convolution. */
bool packed_is_dots(const conv_call *);

/* Runs such a convolution on up to `threads` threads. Returns 0, or -1 when there is no memory; the
   output is then untouched. */
int packed_dots(const conv_call *, const gemm_ukernel *, int threads);

#endif
