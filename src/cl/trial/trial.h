/* SPDX-License-Identifier: MIT */
/*
 * The trial of a program. Compilers of real devices made kernels that gave wrong results
 * (docs/opencl.md). So each program runs once on small made-up operands: one that has an op by the
 * op's own launches, judged by src/check (ops.c), and any other one by itself (helpers.c).
 */
#ifndef GEMM_CL_TRIAL_H
#define GEMM_CL_TRIAL_H

#include "cl/device/program.h"

/* For gemm_cl_set_trial. May run in the middle of a call that uses no scratch memory. Waits for the
   device. */
gemm_cl_trial gemm_cl_try;

#endif
