/*
 * cl_fill: writes B into an image, four columns a pixel; columns past N are 0.
 *
 *   pixel (x, k) = B[k][4x ... 4x+3]
 *
 * Global {N/4 rounded up, K}; any work-group. Reads exactly the K x N elements of B, by strides, so
 * that a transposed B costs no more code.
 */
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
