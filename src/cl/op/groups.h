/* SPDX-License-Identifier: MIT */
/*
 * The work-group of a launch: that of the row, or the one that suits device and shape. For the
 * OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_GROUPS_H
#define GEMM_CL_GROUPS_H

#include "cl/op/launch.h"

/*
 * Sets `local`, the group of the row's kernel. `global` counts items: x across the columns of C, y
 * down its rows, z over parts and products. It is rounded up to whole groups. Where the row has
 * `shares`, y and z become smaller, because an item then takes several of them.
 */
void gemm_cl_set_groups(gemm_cl_work *, size_t global[3], size_t local[3]);

#endif
