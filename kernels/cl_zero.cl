/* SPDX-License-Identifier: MIT */
/*
 * cl_zero: out[x] = 0 for x < count. Global {count} rounded up to the group; any work-group.
 *
 * It is a kernel because Oclgrind takes memory of clEnqueueFillBuffer for uninitialised.
 */
#include "cl_helper_arguments.h"

__kernel void cl_zero(PARAMETERS(CL_ZERO_ARGUMENTS))
{
    const ulong x = get_global_id(0);
    if (x < count) {
        out[x] = 0.0f;
    }
}
