/* SPDX-License-Identifier: MIT */
/*
 * The weights of a row with `direct` (kernels/cl_direct.cl): packed by tiles of as many filters as
 * an item computes, so that an item reads them in a row. For the OpenCL files only.
 *
 *   [group][tile][channel][tap][row->rows]      filters past the last one of a group are 0
 *
 * With `winograd` a channel has the 16 points of U = G g GT in place of taps.
 *
 * An image has this too, but an image has few rows. A row of it has a channel of a tile:
 *
 *   +--------+--------+--------+
 *   | tile 0 | tile 2 | tile 4 |     tiles lie one below the other, `down` of them in a column
 *   | tile 1 | tile 3 | (0)    |
 *   +--------+--------+--------+
 */
#ifndef GEMM_CL_DIRECT_H
#define GEMM_CL_DIRECT_H

#include "cl/rows.h"

typedef struct gemm_cl_packed {
    int down;                   /* tiles in a column; 0: a tile is higher than the image can be */
    size_t width, height;       /* floats and rows; of a buffer there is one column */
} gemm_cl_packed;

/* Where the weights lie. `highest`: the most rows of an image; a buffer has no limit. */
gemm_cl_packed gemm_cl_pack_layout(const gemm_cl_row *, const conv_call *, size_t highest);

/* The packed weights, which the caller frees. NULL: no memory. */
float *gemm_cl_pack_weights(const gemm_cl_row *, const conv_call *, const gemm_cl_packed *);

#endif
