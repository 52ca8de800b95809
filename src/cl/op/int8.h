/* SPDX-License-Identifier: MIT */
/* A convolution in 8 bits. Called with gemm_cl_lock held, while the device is open. */
#ifndef GEMM_CL_INT8_H
#define GEMM_CL_INT8_H

#include "gemm_variant.h"

/* One convolution that gemm_int8_takes (int8/layer.h). *single: a weight is not finite, so it stays
   in single precision, and nothing ran. */
gemm_status gemm_cl_run_int8(const conv_call *, const gemm_context *, bool *single);

#endif
