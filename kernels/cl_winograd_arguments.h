/* SPDX-License-Identifier: MIT */
/*
 * The arguments of the kernels of Winograd's algorithm. cl_winograd.h has the layouts of U and V,
 * and each kernel explains the rest.
 */
#ifndef CL_WINOGRAD_ARGUMENTS_H
#define CL_WINOGRAD_ARGUMENTS_H

#include "cl_arguments.h"

#define CL_WINOGRAD_FILTER_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, M) NEXT(int, channels) NEXT(int, strips) \
    MEMORY(__global const float *, weights) NEXT(ulong, a0) MEMORY(__global float *, U)

#define CL_WINOGRAD_INPUT_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, channels) NEXT(int, h) NEXT(int, w) NEXT(int, pad) NEXT(int, across) \
    NEXT(int, tiles) NEXT(int, ldv) MEMORY(__global const float *, image) NEXT(ulong, i0) \
    MEMORY(__global float *, V)

#define CL_WINOGRAD_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, M) NEXT(int, channels) MEMORY(__global const float *, U) \
    MEMORY(__global const float *, V) NEXT(int, ldv) NEXT(int, across) NEXT(int, tiles) \
    NEXT(int, each) NEXT(int, strips) MEMORY(__global float *, C) NEXT(ulong, c0) NEXT(int, h) \
    NEXT(int, w) MEMORY(__global const float *, norm) NEXT(float, slope) NEXT(int, pool)

#define CL_WINOGRAD_OUTPUT_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, M) NEXT(int, ldv) NEXT(int, across) NEXT(int, tiles) \
    MEMORY(__global const float *, sums) MEMORY(__global float *, C) NEXT(ulong, c0) NEXT(int, h) \
    NEXT(int, w) MEMORY(__global const float *, norm) NEXT(float, slope) NEXT(int, pool)

#endif
