/*
 * cl_thin: for a C of few rows (grouped and depthwise convolutions): a work-item computes a whole
 * column of C, so that B, which is all the traffic there is, is read once.
 *
 *   item x -> C[0 ... M-1][x], ROWS >= M accumulators; A is read by all items alike
 *
 * Rows past M repeat row M-1 and are not stored. Global {N rounded up, 1, parts}, work-group {WX}.
 * Parts of K as in cl_image.
 */
#ifndef ROWS
#define ROWS 8
#endif

__kernel void cl_thin(int M, int N, int K, float alpha,
                      __global const float *A, ulong a0, int ars, int acs,
                      __global const float *B, ulong b0, int brs, int bcs,
                      __global float *C, ulong c0, int ldc, int kpart, ulong cpart)
{
    const int j = get_global_id(0), i0 = get_global_id(1) * ROWS;
    if (j >= N) {
        return;
    }
    const int begin = get_global_id(2) * kpart, end = min(K, begin + kpart);
    __global const float *a = A + a0, *b = B + b0 + (ulong)j * bcs;
    ulong row[ROWS];
    float sum[ROWS];
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        row[i] = (ulong)min(i0 + i, M - 1) * ars;
        sum[i] = 0.0f;
    }
    for (int k = begin; k < end; ++k) {
        const float t = b[(ulong)k * brs];
        #pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            sum[i] += a[row[i] + (ulong)k * acs] * t;
        }
    }
    __global float *c = C + c0 + (ulong)get_global_id(2) * cpart + j;
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        if (i0 + i < M) {
            __global float *o = c + (ulong)(i0 + i) * ldc;
            *o = cpart ? alpha * sum[i] : *o + alpha * sum[i];
        }
    }
}
