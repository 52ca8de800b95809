/* SPDX-License-Identifier: MIT */
/*
 * cl_copy: n elements of each image, from images that are n elements long to their place in images
 * of `size` elements. Items: cl_layer.h, over the n elements; a plane is an image.
 *
 * cl_copy_two: behind them, all - n elements of the images of `second`. Items over all elements. A
 * route is such a copy for each two of its inputs.
 */
#include "cl_layer.h"

__kernel void cl_copy(PARAMETERS(CL_COPY_ARGUMENTS))
{
    const ulong image = PLANE;
    in += i0 + image * n;
    out += o0 + image * size;
    EACH(i, n) {
        out[i] = in[i];
    }
}

__kernel void cl_copy_two(PARAMETERS(CL_COPY_TWO_ARGUMENTS))
{
    const ulong image = PLANE;
    const int m = all - n;
    in += i0 + image * n;
    second += s0 + image * m;
    out += o0 + image * size;
    EACH(i, all) {
        out[i] = i < n ? in[i] : second[i - n];
    }
}
