/* SPDX-License-Identifier: MIT */
/*
 * cl_int8_input: rounds an image to quads for cl_int8. A quad has four channels of a pixel, one
 * byte each, the first in the lowest bits. Channels of a group fill `planes` planes. What lies
 * beside the image, or behind the last channel, is 0:
 *
 *     [product][plane][rows][row]     a product: a group of an image
 *
 * A byte is x * inverse, rounded to nearest and limited to -127 .. 127; NaN is 127.
 */
#include "cl_int8_arguments.h"
#include "cl_layer.h"

/* Adding 1.5 * 2^23 leaves the rounded number in the lowest bits. */
uint byte_of(float x, float inverse)
{
    float y = x * inverse;
    y = y < 127.0f ? y : 127.0f;
    y = y > -127.0f ? y : -127.0f;
    return as_uint(y + 12582912.0f) & 255;
}

__kernel void cl_int8_input(PARAMETERS(CL_INT8_INPUT_ARGUMENTS))
{
    SKIP_ROWS(rows)
    const int y = (int)ROW - pad, k = (int)PLANE % planes * 4, n = min(4, channels - k);
    const ulong area = (ulong)h * w;
    in += i0 + ((ulong)((int)PLANE / planes) * channels + k) * area + (ulong)clamp(y, 0, h - 1) * w;
    out += ((ulong)PLANE * rows + ROW) * row;
    EACH_X(x, row) {
        uint quad = 0;
        if (y >= 0 && y < h && x >= pad && x < w + pad) {
            for (int i = 0; i < n; ++i) {
                quad |= byte_of(in[i * area + (x - pad)], inverse) << 8 * i;
            }
        }
        out[x] = quad;
    }
}
