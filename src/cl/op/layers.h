/* SPDX-License-Identifier: MIT */
/*
 * Layers without weights on the OpenCL device. For the OpenCL files only; called with gemm_cl_lock
 * held, while the device is open.
 */
#ifndef GEMM_CL_LAYERS_H
#define GEMM_CL_LAYERS_H

#include "gemm_variant.h"

/* One layer. Declines sizes that the kernels' int arithmetic cannot hold. */
gemm_status gemm_cl_run_layer(const layer_call *, const gemm_context *);

/* Before the programs are released: releases the kernel objects of these layers. */
void gemm_cl_release_layers(void);

#endif
