/* SPDX-License-Identifier: MIT */
/*
 * The arguments of the kernels of layers without weights. Each kernel explains its own. An input
 * `in` begins at element i0, a at a0, b at b0, and the output at o0.
 */
#ifndef CL_LAYER_ARGUMENTS_H
#define CL_LAYER_ARGUMENTS_H

#include "cl_arguments.h"

#define CL_IN_OUT(NEXT, MEMORY) \
    MEMORY(__global const float *restrict, in) NEXT(ulong, i0) \
    MEMORY(__global float *restrict, out) NEXT(ulong, o0)

#define CL_MAXPOOL_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, h) NEXT(int, w) NEXT(int, out_h) NEXT(int, out_w) NEXT(int, size) \
    NEXT(int, stride) NEXT(int, offset) CL_IN_OUT(NEXT, MEMORY)

#define CL_AVGPOOL_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, planes) NEXT(int, area) CL_IN_OUT(NEXT, MEMORY)

#define CL_UPSAMPLE_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, h) NEXT(int, w) NEXT(int, stride) NEXT(float, alpha) CL_IN_OUT(NEXT, MEMORY)

#define CL_SHORTCUT_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, n) NEXT(float, alpha) NEXT(float, beta) NEXT(int, activation) \
    MEMORY(__global const float *restrict, a) NEXT(ulong, a0) \
    MEMORY(__global const float *restrict, b) NEXT(ulong, b0) \
    MEMORY(__global float *restrict, out) NEXT(ulong, o0)

/* With SIZES. */
#define CL_SHORTCUT_SIZES_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_SHORTCUT_ARGUMENTS(FIRST, NEXT, MEMORY) \
    NEXT(int, channels) NEXT(int, h) NEXT(int, w) NEXT(int, out_c) NEXT(int, out_h) \
    NEXT(int, out_w)

#define CL_ACTIVATE_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, n) NEXT(int, activation) MEMORY(__global float *, data) NEXT(ulong, d0)

#define CL_COPY_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, n) CL_IN_OUT(NEXT, MEMORY) NEXT(int, size)

/* Of cl_copy_two. */
#define CL_COPY_TWO_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_COPY_ARGUMENTS(FIRST, NEXT, MEMORY) NEXT(int, all) \
    MEMORY(__global const float *restrict, second) NEXT(ulong, s0)

#define CL_YOLO_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, area) NEXT(int, entries) CL_IN_OUT(NEXT, MEMORY)

#endif
