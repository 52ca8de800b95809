/* SPDX-License-Identifier: MIT */
/*
 * cl_yolo: the logistic of every channel, but channels 2 and 3 of each `entries` are copied. A
 * plane is a channel of an image. Items: cl_layer.h, over the `area` elements of a plane, which are
 * one row. BY_ROW takes vectors, because compilers make none of a loop over exp.
 */
#include "cl_layer.h"

#define LOGISTIC(x) (1.0f / (1.0f + exp(-(x))))

__kernel void cl_yolo(PARAMETERS(CL_YOLO_ARGUMENTS))
{
    const int plane = PLANE, entry = plane % entries;
    const bool copied = entry == 2 || entry == 3;
    SKIP_ROWS(1)
    in += i0 + (ulong)plane * area;
    out += o0 + (ulong)plane * area;
#ifdef BY_ROW
    int i = 0;
    for (; i + 8 <= area; i += 8) {
        const float8 x = vload8(0, in + i);
        vstore8(copied ? x : LOGISTIC(x), 0, out + i);
    }
    for (; i < area; ++i) {
        out[i] = copied ? in[i] : LOGISTIC(in[i]);
    }
#else
    EACH_X(i, area) {
        out[i] = copied ? in[i] : LOGISTIC(in[i]);
    }
#endif
}
