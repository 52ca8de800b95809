/* SPDX-License-Identifier: MIT */
/*
 * The trial of a program. Compilers of real devices made kernels that gave wrong results
 * (docs/opencl.md). So each program runs once on small made-up operands, beside the CPU. For the
 * OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_TRIAL_H
#define GEMM_CL_TRIAL_H

#include "cl/device/built.h"

typedef enum gemm_cl_trial {
    GEMM_CL_TRIAL_RIGHT,
    GEMM_CL_TRIAL_WRONG,        /* with a reason */
    GEMM_CL_TRIAL_UNFINISHED    /* a call of OpenCL's failed, and that was said */
} gemm_cl_trial;

/* Runs a built program whose kernel and its limits are known. Its own memory is scratch, so it may
   run in the middle of a call. Waits for the device. */
gemm_cl_trial gemm_cl_try(const gemm_cl_program *, char *reason, size_t bytes);

#endif
