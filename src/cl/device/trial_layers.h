/* SPDX-License-Identifier: MIT */
/* Trials of the kernels that do not multiply: one for each kind. */
#ifndef GEMM_CL_TRIAL_LAYERS_H
#define GEMM_CL_TRIAL_LAYERS_H

#include "cl/device/trial_kit.h"

/* Layers without weights. */
void gemm_cl_try_maxpool(gemm_cl_kit *);
void gemm_cl_try_avgpool(gemm_cl_kit *);
void gemm_cl_try_upsample(gemm_cl_kit *);
void gemm_cl_try_shortcut(gemm_cl_kit *);
void gemm_cl_try_copy(gemm_cl_kit *);
void gemm_cl_try_yolo(gemm_cl_kit *);

/* What prepares operands and adds parts. */
void gemm_cl_try_fill(gemm_cl_kit *);
void gemm_cl_try_pack(gemm_cl_kit *);
void gemm_cl_try_sum(gemm_cl_kit *);
void gemm_cl_try_zero(gemm_cl_kit *);

/* Layers in 8 bits. */
void gemm_cl_try_int8_input(gemm_cl_kit *);
void gemm_cl_try_int8(gemm_cl_kit *);
void gemm_cl_try_int8_wide(gemm_cl_kit *);

/* Winograd's algorithm. */
void gemm_cl_try_winograd_filter(gemm_cl_kit *);
void gemm_cl_try_winograd_input(gemm_cl_kit *);
void gemm_cl_try_winograd(gemm_cl_kit *);
void gemm_cl_try_winograd_output(gemm_cl_kit *);

#endif
