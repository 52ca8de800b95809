/*
 * The work-group of a launch: that of the row, or the one that suits device and shape. For the
 * OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_GROUPS_H
#define GEMM_CL_GROUPS_H

#include "cl/launch.h"

/*
 * Sets `local`, the group of the row's kernel, for so many items: x counts columns of C by the
 * tile, y rows of C by the tile, z parts and products. Rounds `global` up to whole groups. Of a row
 * with `shares` y and z become smaller, because an item then takes several of them.
 */
void gemm_cl_set_groups(gemm_cl_work *, size_t global[3], size_t local[3]);

#endif
