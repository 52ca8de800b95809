/* SPDX-License-Identifier: MIT */
/*
 * cl_upsample: each element becomes stride x stride elements, times alpha. Items: cl_layer.h, over
 * the inputs, so that no item divides.
 */
#include "cl_layer.h"

__kernel void cl_upsample(PARAMETERS(CL_UPSAMPLE_ARGUMENTS))
{
    const int y = ROW;
    SKIP_ROWS(h)
    const ulong plane = PLANE;
    in += i0 + (plane * h + y) * w;
    out += o0 + (plane * h + y) * w * stride * stride;
    EACH_X(x, w) {
        const float v = alpha * in[x];
        for (int i = 0; i < stride; ++i) {
            for (int j = 0; j < stride; ++j) {
                out[(i * w + x) * stride + j] = v;
            }
        }
    }
}
