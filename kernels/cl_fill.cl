/* SPDX-License-Identifier: MIT */
/*
 * cl_fill: writes B into an image, four columns a pixel. Columns past N are 0.
 *
 *   pixel (x, k) = B[k][4x ... 4x+3]
 *
 * Global {N/4 rounded up to the group, K}; any work-group. Reads the K x N elements of B and no
 * others. A transposed B differs only in its strides.
 *
 * With CONV it writes what im2col would write, for all products. The image is as cl_image's CONV
 * needs it: a row of B takes `strips` rows of the image, K apart. An item writes all taps of a
 * channel for its four columns, because finding their places takes longer than the loads.
 *
 *   item (x, channel, product * strips + strip) -> pixel x of size^2 rows
 *
 * An item past the width ends at once. Its columns belong to the next strip, and to write outside
 * of an image is undefined.
 *
 * Global {width of the image rounded up to the group, channels of a product, products * strips}.
 */
#include "cl_conv.h"
#include "cl_helper_arguments.h"

/* With HALF a pixel has 16 bits a column. The values are rounded to nearest before, because
   write_imagef may round to zero. */
__attribute__((always_inline))
void write_pixel(__write_only image2d_t image, int2 at, float4 p)
{
#ifdef HALF
    const uint4 bits = as_uint4(p);
    p = as_float4((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);    /* 13 bits fewer */
#endif
    write_imagef(image, at, p);
}

#ifdef CONV
__kernel void cl_fill(PARAMETERS(CL_FILL_CONV_ARGUMENTS))
{
    const int x = get_global_id(0), z = get_global_id(2), product = z / strips;
    const int j = 4 * ((z - product * strips) * width + x);
    const int channel = get_global_id(1), slice = product * channels + channel;
    __global const float *b = B + b0 + (ulong)slice * h * w;
    int k = (z * channels + channel) * SIZE * SIZE;
    int y[4], c[4];
    if (x >= width || j >= N) {
        return;
    }
#ifdef POOL
    y[0] = y[1] = PLACE_ROW(j);
    y[2] = y[3] = y[0] + 1;
    c[0] = c[2] = PLACE_COLUMN(j);
    c[1] = c[3] = c[0] + 1;
#else
    y[0] = j / out_w;
    c[0] = j - y[0] * out_w;
    #pragma unroll
    for (int i = 1; i < 4; ++i) {
        const bool over = c[i - 1] + 1 == out_w;
        y[i] = over ? y[i - 1] + 1 : y[i - 1];
        c[i] = over ? 0 : c[i - 1] + 1;
    }
#endif
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        y[i] = j + i < N ? y[i] * stride - pad : h;
        c[i] = c[i] * stride - pad;
    }
    UNROLL_TAPS
    for (int ty = 0; ty < SIZE; ++ty) {
        UNROLL_TAPS
        for (int tx = 0; tx < SIZE; ++tx, ++k) {
            float p[4];
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                p[i] = conv_element(b, y[i] + ty, c[i] + tx, h, w);
            }
            write_pixel(image, (int2)(x, k), (float4)(p[0], p[1], p[2], p[3]));
        }
    }
}
#else
__kernel void cl_fill(PARAMETERS(CL_FILL_ARGUMENTS))
{
    const int x = get_global_id(0), k = get_global_id(1);
    if (4 * x >= N) {
        return;
    }
    __global const float *b = B + b0 + (ulong)k * brs + (ulong)(4 * x) * bcs;
    float4 p = (float4)(0.0f);
    p.x = b[0];
    if (4 * x + 1 < N) {
        p.y = b[(ulong)bcs];
    }
    if (4 * x + 2 < N) {
        p.z = b[2 * (ulong)bcs];
    }
    if (4 * x + 3 < N) {
        p.w = b[3 * (ulong)bcs];
    }
    write_pixel(image, (int2)(x, k), p);
}
#endif
