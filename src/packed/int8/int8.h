/* SPDX-License-Identifier: MIT */
/*
 * The row `packed_int8`: convolutions in whole numbers of 8 bits, by the scales of a calibration
 * (int8/scales.h). docs/int8.md says which layers these are. All others, and every multiply, run as
 * under `packed`.
 */
#ifndef PACKED_INT8_H
#define PACKED_INT8_H

#include "gemm_variant.h"

/* One multiply, as under `packed`: there is no scale for it. params is not used. */
gemm_row_multiply gemm_int8;

/*
 * One convolution: conv.c. params: the micro-kernels (isa/quads.h), or NULL for the fastest ones.
 * Where it goes in 8 bits, the note says so, and its weights are kept, one byte each. Declines any
 * call when there is no memory.
 */
gemm_row_conv gemm_int8_conv;

/* A chain as under `packed`. Of three convolutions the first one goes in 8 bits, where
   gemm_int8_conv computes it so, and its output is not written. Declines a chain with another
   convolution in 8 bits. */
gemm_row_chain gemm_int8_chain;

/* These, and layers as under `packed`. */
gemm_row_run gemm_int8_run;

#endif
