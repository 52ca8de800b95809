/* SPDX-License-Identifier: MIT */
/* A convolution in 8 bits. Called with gemm_cl_lock held, while the device is open. */
#ifndef GEMM_CL_INT8_H
#define GEMM_CL_INT8_H

#include "cl/op/launch.h"
#include "int8/scales.h"

/* One convolution that gemm_int8_takes (int8/layer.h). *single: a weight is not finite, so it stays
   in single precision, and nothing ran. */
gemm_status gemm_cl_run_int8(const conv_call *, const gemm_context *, bool *single);

/* Enqueues the sums of one from w->B to w->C, by the row and the program of the work. 0 or -1. */
int gemm_cl_try_int8(gemm_cl_work *, const conv_call *, const gemm_scale *);

#endif
