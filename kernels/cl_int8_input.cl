/* SPDX-License-Identifier: MIT */
/*
 * cl_int8_input: rounds an image to quads for the kernels in 8 bits. A quad has four channels of a
 * pixel, one byte each, the first in the lowest bits. QUADS of them, 1 or 4, lie side by side: the
 * channels of a plane. Channels of a group fill `planes` planes. What lies beside the image is
 * `zero`. What lies behind the last channel is `zero` or 0, and its weights are 0:
 *
 *     [product][plane][rows][row][QUADS]      a product: a group of an image
 *
 * A byte is x * inverse + zero, rounded to nearest and limited to -128 .. 127; NaN is 127.
 */
#include "cl_int8_arguments.h"
#include "cl_layer.h"

#ifndef QUADS
#define QUADS 1
#endif

/* Adding 1.5 * 2^23 leaves the rounded number in the lowest bits. */
uint byte_of(float x, float inverse, int zero)
{
    float y = x * inverse;
    y = y < (float)(127 - zero) ? y : (float)(127 - zero);
    y = y > (float)(-128 - zero) ? y : (float)(-128 - zero);
    return as_uint(y + (float)(12582912 + zero)) & 255;
}

/* The quad of a pixel's next channels, of which there are n. */
uint quad_of(__global const float *in, ulong area, int n, float inverse, int zero)
{
    uint quad = 0;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (i < n) {
            quad |= byte_of(in[i * area], inverse, zero) << 8 * i;
        }
    }
    return quad;
}

__kernel void cl_int8_input(PARAMETERS(CL_INT8_INPUT_ARGUMENTS))
{
    SKIP_ROWS(rows)
    const int y = (int)ROW - pad, k = (int)PLANE % planes * 4 * QUADS, n = channels - k;
    const ulong area = (ulong)h * w;
    const uint beside = ((uint)zero & 255) * 0x01010101u;
    in += i0 + ((ulong)((int)PLANE / planes) * channels + k) * area + (ulong)clamp(y, 0, h - 1) * w;
    out += ((ulong)PLANE * rows + ROW) * row * QUADS;
    EACH_X(x, row) {
        const bool inside = y >= 0 && y < h && x >= pad && x < w + pad;
#if QUADS == 1
        out[x] = inside ? quad_of(in + (x - pad), area, n, inverse, zero) : beside;
#else
        uint4 quads = beside;
        if (inside) {
            __global const float *from = in + (x - pad);
            quads.x = quad_of(from, area, n, inverse, zero);
            quads.y = quad_of(from + 4 * area, area, n - 4, inverse, zero);
            quads.z = quad_of(from + 8 * area, area, n - 8, inverse, zero);
            quads.w = quad_of(from + 12 * area, area, n - 12, inverse, zero);
        }
        vstore4(quads, x, out);
#endif
    }
}
