/* SPDX-License-Identifier: MIT */
/*
 * The arguments of the kernels beside a multiply. Each kernel explains its own. A matrix is as in
 * cl_multiply_arguments.h.
 */
#ifndef CL_HELPER_ARGUMENTS_H
#define CL_HELPER_ARGUMENTS_H

#include "cl_arguments.h"

#define CL_FILL_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, N) MEMORY(__global const float *, B) NEXT(ulong, b0) NEXT(int, brs) NEXT(int, bcs) \
    MEMORY(__write_only image2d_t, image)

/* With CONV. */
#define CL_FILL_CONV_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, N) MEMORY(__global const float *, B) NEXT(ulong, b0) \
    MEMORY(__write_only image2d_t, image) NEXT(int, width) NEXT(int, strips) NEXT(int, channels) \
    NEXT(int, h) NEXT(int, w) NEXT(int, out_w) NEXT(int, size) NEXT(int, stride) NEXT(int, pad)

#define CL_PACK_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, rows) NEXT(int, cols) MEMORY(__global const float *, in) NEXT(ulong, i0) \
    NEXT(int, rs) NEXT(int, cs) NEXT(int, cols_out) MEMORY(__global OUT *, out)

#define CL_SUM_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, M) NEXT(int, N) NEXT(int, count) MEMORY(__global const float *, parts) \
    MEMORY(__global float *, C) NEXT(ulong, c0) NEXT(int, ldc)

/* With CONV. */
#define CL_SUM_CONV_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_SUM_ARGUMENTS(FIRST, NEXT, MEMORY) \
    NEXT(int, filters) MEMORY(__global const float *, norm) NEXT(float, slope)

/* With SHORTCUT too. */
#define CL_SUM_MORE_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_SUM_CONV_ARGUMENTS(FIRST, NEXT, MEMORY) \
    MEMORY(__global const float *, more) NEXT(ulong, more0)

#define CL_ZERO_ARGUMENTS(FIRST, NEXT, MEMORY) FIRST(ulong, count) MEMORY(__global float *, out)

#endif
