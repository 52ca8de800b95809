/* SPDX-License-Identifier: MIT */
/*
 * The weights of a row with `direct` (kernels/cl_direct.cl): packed by tiles of as many filters as
 * an item computes, so that an item reads them in a row. For the OpenCL files only.
 *
 *   [group][tile][channel][tap][row->rows]      filters past the last one of a group are 0
 */
#ifndef GEMM_CL_DIRECT_H
#define GEMM_CL_DIRECT_H

#include "cl/rows.h"

/* The floats of the packed weights. */
size_t gemm_cl_packed_count(const gemm_cl_row *, const conv_call *);

/* The packed weights, which the caller frees. NULL: no memory. */
float *gemm_cl_pack_weights(const gemm_cl_row *, const conv_call *);

#endif
