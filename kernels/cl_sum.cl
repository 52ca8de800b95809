/*
 * cl_sum: adds the parts of a K that was cut: C[i][j] += the sum of the parts.
 *
 *   parts: `count` matrices M x N, one after the other
 *
 * Global {N, M}, rounded up to the group; any work-group. With CONV the parts are whole outputs, M
 * counts the rows of all images, and scale, shift and activation follow (cl_conv.h).
 */
#include "cl_conv.h"

#ifdef CONV
#undef CONV_PARAMETERS
#define CONV_PARAMETERS , int filters, __global const float *norm, float slope, int logistic
#undef RESULT
#define RESULT(s, o, row) conv_finish(s, norm, (row) % filters, filters, slope, logistic)
#endif

__kernel void cl_sum(int M, int N, int count, __global const float *parts,
                     __global float *C, ulong c0, int ldc CONV_PARAMETERS)
{
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= M || j >= N) {
        return;
    }
    const ulong size = (ulong)M * N, at = (ulong)i * N + j;
    float sum = 0.0f;
    for (int p = 0; p < count; ++p) {
        sum += parts[p * size + at];
    }
    __global float *c = C + c0 + (ulong)i * ldc + j;
    *c = RESULT(sum, c, i);
}
