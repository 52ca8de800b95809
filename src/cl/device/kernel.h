/* SPDX-License-Identifier: MIT */
/*
 * A kernel object of one layer. It keeps its arguments from launch to launch. Only those that
 * changed are set again, because each one is a call of OpenCL's driver, and a kernel has some 30.
 *
 * For the OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_KERNEL_H
#define GEMM_CL_KERNEL_H

#include "cl/device/arguments.h"
#include "cl/device/built.h"

typedef struct gemm_cl_kernel gemm_cl_kernel;

/* Sets all arguments of the kernel that the program's launches share: the first ones of the list.
   0 or -1. */
int gemm_cl_set_shared(const gemm_cl_program *, const gemm_cl_arguments *);

/* Sets them and enqueues a launch of three dimensions, without an event. 0 or -1. */
int gemm_cl_run_shared(const gemm_cl_program *, const gemm_cl_arguments *, const size_t *global,
                       const size_t *local);

/* The kernel object in this slot with these arguments. Makes a new one where the slot has none or
   another program's. NULL: refused. */
cl_kernel gemm_cl_set_own(gemm_cl_kernel **slot, const gemm_cl_program *,
                          const gemm_cl_arguments *);

/* Releases it and empties the slot. */
void gemm_cl_release_own(gemm_cl_kernel **slot);

#endif
