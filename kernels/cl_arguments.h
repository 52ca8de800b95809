/* SPDX-License-Identifier: MIT */
/*
 * The arguments of kernels: a list each, in cl_*_arguments.h. The kernel declares its parameters by
 * the list, and the host the struct that it fills (src/cl/device/arguments.h).
 *
 *   #define CL_SOME_ARGUMENTS(FIRST, NEXT, MEMORY) \
 *       FIRST(int, n) NEXT(float, alpha) MEMORY(__global const float *, in) NEXT(ulong, i0)
 *
 * FIRST and NEXT are an int, a ulong or a float. MEMORY is a buffer or an image. Its type is for
 * the kernel alone.
 *
 * An option of a kernel may leave out the last arguments. Nothing else may differ.
 */
#ifndef CL_ARGUMENTS_H
#define CL_ARGUMENTS_H

#define PARAMETERS(LIST) LIST(FIRST_PARAMETER, NEXT_PARAMETER, NEXT_PARAMETER)
#define FIRST_PARAMETER(type, name) type name
#define NEXT_PARAMETER(type, name) , type name

#endif
