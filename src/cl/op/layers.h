/* SPDX-License-Identifier: MIT */
/*
 * Layers without weights on the OpenCL device. For the OpenCL files only; called with gemm_cl_lock
 * held, while the device is open.
 */
#ifndef GEMM_CL_LAYERS_H
#define GEMM_CL_LAYERS_H

#include "cl/op/launch.h"

/* One layer. Declines sizes that the kernels' int arithmetic cannot hold. */
gemm_status gemm_cl_run_layer(const layer_call *, const gemm_context *);

/* Its launch, and that of a route for input i, with `two` also for the next one. They go from w->B,
   the second input is w->A, to w->C, by the row of the work. 0 or -1. */
int gemm_cl_launch_layer(gemm_cl_work *, const layer_call *);
int gemm_cl_launch_route(gemm_cl_work *, const layer_call *, int i, bool two);

/* Applies an activation behind the kernel to the n floats of w->C. 0 or -1. Its program. */
const gemm_cl_program *gemm_cl_need_activation(void);
int gemm_cl_activate(gemm_cl_work *, conv_activation, int n);

/* Before the programs are released: releases the kernel objects of these layers. */
void gemm_cl_release_layers(void);

#endif
