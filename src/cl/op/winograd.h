/* SPDX-License-Identifier: MIT */
/*
 * Winograd's algorithm in launches of its own (kernels/cl_winograd.h), for CPUs, and by a row with
 * `depth` for GPUs. For the OpenCL files only; called with gemm_cl_lock held, while the device is
 * open.
 */
#ifndef GEMM_CL_WINOGRAD_H
#define GEMM_CL_WINOGRAD_H

#include "cl/op/launch.h"

/* Sizes of a layer under a row with `winograd`. */
typedef struct gemm_cl_winograd {
    const conv_call *c;
    int m, points;
    int across, tiles, ldv;     /* tiles in a row, in an image, and with those that fill a vector */
    bool by_points;             /* for a GPU: cl_tile multiplies, an item has a tile of a plane */
    int cols, strips;           /* of filters; cols: of filters in a strip, or of tiles */
    int most_tiles, item_tiles; /* of a work-item: room for them, and their number */
} gemm_cl_winograd;

/* False: the algorithm or the device cannot compute this layer so. */
bool gemm_cl_winograd_fits(gemm_cl_winograd *, const gemm_cl_row *, const gemm_cl_traits *,
                           const conv_call *);

/* The bytes of U, the transformed filters. */
size_t gemm_cl_winograd_bytes(const gemm_cl_winograd *);

/* Builds all kernels. NULL, or why there is none. */
const char *gemm_cl_winograd_build(const gemm_cl_winograd *, gemm_cl_work *);

/* Enqueues U = G g GT for weights of the layer that begin at weights[first]. 0 or -1. */
int gemm_cl_winograd_filters(const gemm_cl_winograd *, gemm_cl_work *, cl_mem weights,
                             size_t first, cl_mem U);

/* Enqueues the layer, from w->B to w->C. 0 or -1. */
int gemm_cl_winograd_run(const gemm_cl_winograd *, gemm_cl_work *w, cl_mem U, cl_mem norm,
                         float slope);

#endif
