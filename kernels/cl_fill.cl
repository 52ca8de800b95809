/*
 * cl_fill: writes B into an image, four columns a pixel. Columns past N are 0.
 *
 *   pixel (x, k) = B[k][4x ... 4x+3]
 *
 * Global {N/4 rounded up, K}; any work-group. Reads the K x N elements of B and no others. A
 * transposed B differs only in its strides.
 *
 * With CONV it writes what im2col would write, for all products: global {N/4, K, products}. The
 * image is as cl_image's CONV needs it: rows of `width` pixels, `strips` of them for a row of B.
 */
#include "cl_conv.h"

#ifdef CONV
__kernel void cl_fill(int N, int K, __global const float *B, ulong b0, __write_only image2d_t image,
                      int width, int strips, int h, int w, int out_w, int size, int stride, int pad)
{
    const int x = get_global_id(0), k = get_global_id(1), product = get_global_id(2);
    __global const float *b = B + b0 + (ulong)product * (K / (SIZE * SIZE)) * h * w;
    float p[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int j = 4 * x + i;
        const int row = j / out_w * stride - pad, column = j % out_w * stride - pad;
        p[i] = j < N ? conv_tap(b, k, row, column, h, w, size) : 0.0f;
    }
    write_imagef(image, (int2)(x % width, (product * strips + x / width) * K + k),
                 (float4)(p[0], p[1], p[2], p[3]));
}
#else
__kernel void cl_fill(int N, __global const float *B, ulong b0, int brs, int bcs,
                      __write_only image2d_t image)
{
    const int x = get_global_id(0), k = get_global_id(1);
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
    write_imagef(image, (int2)(x, k), p);
}
#endif
