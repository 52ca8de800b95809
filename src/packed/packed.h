/* The row `packed` of the table of variants. The context names its micro-kernels. */
#ifndef GEMM_PACKED_H
#define GEMM_PACKED_H

#include "gemm_variant.h"
#include "packed/ukernel.h"

/* One multiply; params is not used. Declines calls that are so small that Darknet's own loops end
   before the work here is set up, and any call when there is no memory. */
gemm_row_run gemm_packed;

/* One convolution, without im2col: convolution.c. */
gemm_row_conv gemm_packed_conv;

#endif
