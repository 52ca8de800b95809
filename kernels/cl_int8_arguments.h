/* SPDX-License-Identifier: MIT */
/* The arguments of the kernels in 8 bits. Each kernel explains its own. */
#ifndef CL_INT8_ARGUMENTS_H
#define CL_INT8_ARGUMENTS_H

#include "cl_arguments.h"

#define CL_INT8_INPUT_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, channels) NEXT(int, planes) NEXT(int, h) NEXT(int, w) NEXT(int, pad) \
    NEXT(int, rows) NEXT(int, row) NEXT(float, inverse) NEXT(int, zero) \
    MEMORY(__global const float *, in) NEXT(ulong, i0) MEMORY(__global uint *, out)

#define CL_INT8_WIDE_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, M) NEXT(int, planes) NEXT(int, groups) NEXT(int, size) NEXT(int, rows) \
    NEXT(int, row) MEMORY(__global const uint *, A) MEMORY(__global const uint *, B) \
    MEMORY(__global float *, C) NEXT(ulong, c0) NEXT(int, out_h) NEXT(int, out_w) \
    MEMORY(__global const float *, norm) NEXT(float, slope)

#define CL_INT8_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_INT8_WIDE_ARGUMENTS(FIRST, NEXT, MEMORY) NEXT(int, stride)

#endif
