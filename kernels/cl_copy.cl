/* SPDX-License-Identifier: MIT */
/*
 * cl_copy: n elements of each image, from images that are n elements long to their place in images
 * of `size` elements. A route is one such copy for each input. Items: cl_layer.h, over the n
 * elements; a plane is an image.
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
