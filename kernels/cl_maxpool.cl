/* SPDX-License-Identifier: MIT */
/*
 * cl_maxpool: out[y][x] = the maximum of the window whose first element is in[y * stride - offset]
 * [x * stride - offset]. What lies outside of the image does not count; a window without an element
 * gives -FLT_MAX. NaN is never a maximum.
 *
 * Items: cl_layer.h, over the outputs. A plane is a channel of an image.
 *
 * BY_ROW takes the elements of a window one after the other, each for all windows of the row. So
 * the inner loop has no conditions but those of the maximum, and common strides are constants.
 */
#include "cl_layer.h"

#define KEEP_MOST(step)                                                                           \
    for (int x = begin; x < end; ++x) {                                                           \
        const float v = row[x * (step)], m = out[x];                                              \
        out[x] = v > m ? v : m;                                                                   \
    }

__kernel void cl_maxpool(PARAMETERS(CL_MAXPOOL_ARGUMENTS))
{
    const int y = ROW;
    SKIP_ROWS(out_h)
    const ulong plane = PLANE;
    const int top = y * stride - offset, first = max(top, 0), last = min(top + size, h);
    in += i0 + plane * h * w;
    out += o0 + (plane * out_h + y) * out_w;
#ifdef BY_ROW
    for (int x = 0; x < out_w; ++x) {
        out[x] = -FLT_MAX;
    }
    for (int r = first; r < last; ++r) {
        for (int k = 0; k < size; ++k) {
            /* column x * stride + k - offset is inside from x = begin to end - 1 */
            const int begin = offset > k ? (offset - k + stride - 1) / stride : 0;
            const int reach = w - 1 + offset - k;
            const int end = reach < 0 ? 0 : min(out_w, reach / stride + 1);
            __global const float *row = in + r * w + k - offset;
            if (stride == 1) {
                KEEP_MOST(1)
            } else {
                KEEP_MOST(stride)
            }
        }
    }
#else
    EACH_X(x, out_w) {
        const int left = x * stride - offset, begin = max(left, 0), end = min(left + size, w);
        float m = -FLT_MAX;
        for (int r = first; r < last; ++r) {
            for (int c = begin; c < end; ++c) {
                const float v = in[r * w + c];
                m = v > m ? v : m;
            }
        }
        out[x] = m;
    }
#endif
}
