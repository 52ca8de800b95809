/* SPDX-License-Identifier: MIT */
/*
 * The arguments of all kernels that multiply (cl_winograd has its own).
 *
 * CL_PRODUCT: C += alpha * A * B, where C is M x N. A matrix is a buffer, the index of its first
 * element, the distance between two rows (rs) and the distance between two columns (cs), in
 * elements. C has rows of ldc.
 *
 * CL_MULTIPLY: of a kernel that can cut K into parts (split-K). Part z is kpart steps of K long,
 * and the last one may be shorter. cpart = 0: K is not cut, and C gains the product. Else part z
 * stores its product at C + z * cpart, and cl_sum adds the parts later.
 *
 * CL_WIDE: of cl_wide. `shares`: the items that share the rows of C.
 *
 * CL_CONV: with CONV, as cl_conv.h explains it.
 *
 * CL_DEPTHWISE: the same with DEPTHWISE. CL_CONV_MORE, CL_DEPTHWISE_MORE: both with SHORTCUT.
 *
 * CL_CONV_WIDE: of cl_conv_wide. `elements`: the length of all images together. shares and
 * z_shares: the items that share filters and products.
 */
#ifndef CL_MULTIPLY_ARGUMENTS_H
#define CL_MULTIPLY_ARGUMENTS_H

#include "cl_arguments.h"

/* A kernel may have defined another type before. */
#ifndef A_TYPE
#define A_TYPE __global const float *
#endif
#ifndef B_TYPE
#define B_TYPE __global const float *
#endif

#define CL_PRODUCT_ARGUMENTS(FIRST, NEXT, MEMORY) \
    FIRST(int, M) NEXT(int, N) NEXT(int, K) NEXT(float, alpha) \
    MEMORY(A_TYPE, A) NEXT(ulong, a0) NEXT(int, ars) NEXT(int, acs) \
    MEMORY(B_TYPE, B) NEXT(ulong, b0) NEXT(int, brs) NEXT(int, bcs) \
    MEMORY(__global float *, C) NEXT(ulong, c0) NEXT(int, ldc)

#define CL_MULTIPLY_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_PRODUCT_ARGUMENTS(FIRST, NEXT, MEMORY) NEXT(int, kpart) NEXT(ulong, cpart)

#define CL_WIDE_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_MULTIPLY_ARGUMENTS(FIRST, NEXT, MEMORY) NEXT(int, shares)

#define CL_CONV_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_MULTIPLY_ARGUMENTS(FIRST, NEXT, MEMORY) \
    NEXT(int, products) NEXT(int, groups) NEXT(int, h) NEXT(int, w) NEXT(int, out_w) \
    NEXT(int, size) NEXT(int, stride) NEXT(int, pad) \
    MEMORY(__global const float *, norm) NEXT(float, slope)

#define CL_DEPTHWISE_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_CONV_ARGUMENTS(FIRST, NEXT, MEMORY) \
    MEMORY(__global const float *, taps) MEMORY(__global const float *, depth_norm) \
    NEXT(float, depth_slope)

#define CL_MORE_ARGUMENTS(NEXT, MEMORY) \
    MEMORY(__global const float *, more) NEXT(ulong, more0) NEXT(int, adds)

#define CL_CONV_MORE_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_CONV_ARGUMENTS(FIRST, NEXT, MEMORY) CL_MORE_ARGUMENTS(NEXT, MEMORY)

#define CL_DEPTHWISE_MORE_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_DEPTHWISE_ARGUMENTS(FIRST, NEXT, MEMORY) CL_MORE_ARGUMENTS(NEXT, MEMORY)

#define CL_SHARES_ARGUMENTS(NEXT) NEXT(ulong, elements) NEXT(int, shares) NEXT(int, z_shares)

#define CL_CONV_WIDE_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_CONV_ARGUMENTS(FIRST, NEXT, MEMORY) \
    CL_SHARES_ARGUMENTS(NEXT)

/*
 * With PACKED, which is for the kernels of -DCONV, a kernel has one argument for all numbers, and
 * then the memory of its list. A driver takes time for each argument. UNPACK begins the kernel:
 * each number gets its name.
 */
#ifdef PACKED
#define CL_NOTHING(type, name)
#define CL_MEMBER(type, name) type name;
#define CL_TAKE(type, name) const type name = packed.name;
typedef struct numbers {
    CL_DEPTHWISE_MORE_ARGUMENTS(CL_MEMBER, CL_MEMBER, CL_NOTHING)
} numbers;
#undef PARAMETERS
#define PARAMETERS(LIST) const numbers packed LIST(CL_NOTHING, CL_NOTHING, NEXT_PARAMETER)
#define UNPACK(LIST) LIST(CL_TAKE, CL_TAKE, CL_NOTHING)
#else
#define UNPACK(LIST)
#endif

#endif
