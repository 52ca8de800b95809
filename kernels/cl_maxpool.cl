/* SPDX-License-Identifier: MIT */
/*
 * cl_maxpool: out[y][x] = the maximum of the window whose first element is in[y * stride - offset]
 * [x * stride - offset]. What lies outside of the image does not count; a window without an element
 * gives -FLT_MAX. NaN is never a maximum.
 *
 * Items: cl_layer.h, over the outputs. A plane is a channel of an image. -DSTRIDE=n makes a common
 * stride a constant.
 *
 * BY_ROW takes the elements of a window one after the other, each for all windows of the row. So
 * the inner loop has no conditions but those of the maximum.
 */
#include "cl_layer.h"

#ifndef STRIDE
#define STRIDE stride
#endif

__kernel void cl_maxpool(PARAMETERS(CL_MAXPOOL_ARGUMENTS))
{
    const int y = ROW;
    SKIP_ROWS(out_h)
    const ulong plane = PLANE;
    const int top = y * STRIDE - offset, first = max(top, 0), last = min(top + size, h);
    in += i0 + plane * h * w;
    out += o0 + (plane * out_h + y) * out_w;
#ifdef BY_ROW
    for (int x = 0; x < out_w; ++x) {
        out[x] = -FLT_MAX;
    }
    for (int r = first; r < last; ++r) {
        for (int k = 0; k < size; ++k) {
            /* column x * STRIDE + k - offset is inside from x = begin to end - 1 */
            const int begin = offset > k ? (offset - k + STRIDE - 1) / STRIDE : 0;
            const int reach = w - 1 + offset - k;
            const int end = reach < 0 ? 0 : min(out_w, reach / STRIDE + 1);
            __global const float *row = in + r * w + k - offset;
            for (int x = begin; x < end; ++x) {
                const float v = row[x * STRIDE], m = out[x];
                out[x] = v > m ? v : m;
            }
        }
    }
#else
    EACH_X(x, out_w) {
        const int left = x * STRIDE - offset, begin = max(left, 0), end = min(left + size, w);
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
