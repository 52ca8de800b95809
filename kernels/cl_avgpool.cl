/* SPDX-License-Identifier: MIT */
/*
 * cl_avgpool: out[p] = the mean of the `area` elements of plane p. Items: cl_layer.h, over planes.
 */
#include "cl_layer.h"

__kernel void cl_avgpool(PARAMETERS(CL_AVGPOOL_ARGUMENTS))
{
    EACH(p, planes) {
        __global const float *plane = in + i0 + (ulong)p * area;
        float sum = 0.0f;
        for (int i = 0; i < area; ++i) {
            sum += plane[i];
        }
        out[o0 + p] = sum / area;
    }
}
