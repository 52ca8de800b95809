/* SPDX-License-Identifier: MIT */
/* Trials of the layers, of helpers, of kernels in 8 bits and of Winograd's algorithm. */
#ifndef GEMM_CL_TRIAL_LAYERS_H
#define GEMM_CL_TRIAL_LAYERS_H

#include "cl/device/trial_kit.h"

typedef void gemm_cl_layer_trial(gemm_cl_kit *);

/* That of the kernel, or NULL: all other kernels multiply. */
gemm_cl_layer_trial *gemm_cl_find_layer_trial(const char *kernel);

#endif
