/* SPDX-License-Identifier: MIT */
/*
 * cl_shortcut: out[i] = activation(alpha * a[i] + beta * b[i]). Items: cl_layer.h, over n elements.
 *
 * SIZES: an image of b has channels x h x w elements, and one of a and out has out_c x out_h x
 * out_w. LAYER_SHORTCUT in src/gemm_dispatch.h says which elements meet. Items over the columns,
 * rows and planes of out.
 */
#include "cl_layer.h"
#include "cl_activate.h"

#ifdef SIZES
__kernel void cl_shortcut(PARAMETERS(CL_SHORTCUT_SIZES_ARGUMENTS))
{
    const int y = ROW, plane = PLANE, k = plane % out_c;
    SKIP_ROWS(out_h)
    const int sample = max(out_w / w, 1), stride = max(w / out_w, 1);
    const int row = y / sample * stride, at = (plane * out_h + y) * out_w;
    const int from = ((plane / out_c * channels + k) * h + row) * w;
    const bool met = k < channels && y % sample == 0 && y / sample < h;
    a += a0 + at;
    b += b0 + (met ? from : 0);
    out += o0 + at;
    EACH_X(x, out_w) {
        const int i = x / sample;
        const bool adds = met && x % sample == 0 && i < w;
        const float p = (adds ? alpha : 1.0f) * a[x];
        const float q = adds ? beta * b[i * stride] : 0.0f;
        out[x] = activate(adds ? p + q : p, activation);
    }
}
#else
__kernel void cl_shortcut(PARAMETERS(CL_SHORTCUT_ARGUMENTS))
{
    a += a0;
    b += b0;
    out += o0;
    EACH(i, n) {
        const float p = alpha * a[i], q = beta * b[i];
        out[i] = activate(p + q, activation);
    }
}
#endif
