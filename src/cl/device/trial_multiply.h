/* SPDX-License-Identifier: MIT */
/* Trials of the kernels that multiply: those of kernels/cl_multiply_arguments.h. */
#ifndef GEMM_CL_TRIAL_MULTIPLY_H
#define GEMM_CL_TRIAL_MULTIPLY_H

#include "cl/device/trial_kit.h"

void gemm_cl_try_multiply(gemm_cl_kit *);

#endif
