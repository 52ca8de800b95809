/*
 * One whole convolution on the OpenCL device. For the OpenCL files only; called with gemm_cl_lock
 * held, while the device is open.
 */
#ifndef GEMM_CL_CONVOLUTION_H
#define GEMM_CL_CONVOLUTION_H

#include "cl/rows.h"
#include "gemm_variant.h"

gemm_status gemm_cl_convolve(const conv_call *, const gemm_cl_row *, gemm_note *);

#endif
