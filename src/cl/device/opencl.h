/* SPDX-License-Identifier: MIT */
/* OpenCL's types. Its functions come from cl/device/loader.h. */
#ifndef GEMM_CL_OPENCL_H
#define GEMM_CL_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#endif
