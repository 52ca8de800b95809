/* SPDX-License-Identifier: MIT */
/*
 * B as images of four columns a pixel. A B that is larger than the device's images is cut into
 * panels. For the OpenCL files only; called with gemm_cl_lock held.
 */
#ifndef GEMM_CL_PANELS_H
#define GEMM_CL_PANELS_H

#include "cl/op/launch.h"

/* A part of B that fits into an image: k rows from k0 on, n columns from n0 on. */
typedef struct gemm_cl_panel {
    cl_mem image;
    int k0, k, n0, n;
    bool borrowed;              /* the image was made from B's own buffer, for this call */
} gemm_cl_panel;

typedef struct gemm_cl_panels {
    gemm_cl_panel *list;        /* all panels of the first columns come first */
    int count, down;            /* down: panels for the same columns */
} gemm_cl_panels;

/* How far apart rows of so many columns must be, so that B's own buffer can be an image. `columns`
   where the device makes no image from a buffer. */
int gemm_cl_image_ld(const gemm_cl_device *, int columns);

/* Cuts B into the fewest even panels. -1: no memory. */
int gemm_cl_cut_panels(const gemm_cl_device *, const gemm_call *, gemm_cl_panels *);

/* Fills the images from `b`, or by the CPU from the caller's B when b->mem is NULL. */
int gemm_cl_fill_panels(gemm_cl_work *, const gemm_call *, const gemm_cl_matrix *b,
                        gemm_cl_panels *);

/* Releases the borrowed images, so that the panels can be filled again. */
void gemm_cl_empty_panels(gemm_cl_panels *);

#endif
