/* SPDX-License-Identifier: MIT */
/*
 * cl_naive: one work-item computes one element of C, and shares nothing with its neighbours.
 *
 *   item (x, y) -> C[y][x]: a row of A times a column of B, both from global memory
 *
 * Work-group {1,1}, global {N, M}. The paper has {M, N}, because it is column-major. M, N and K may
 * be any numbers.
 *
 * All kernels that multiply take these arguments first (cl_winograd.cl has its own). A matrix is a
 * buffer, the index of its first element, the distance between two rows (rs) and the distance
 * between two columns (cs), in elements. C has rows of ldc.
 *
 * A kernel that can cut K into parts (split-K) takes two more: kpart and cpart. Part z is kpart
 * steps of K long, and the last one may be shorter. cpart = 0: K is not cut, and C gains the
 * product. Else part z stores its product at C + z * cpart, and cl_sum adds the parts later. With
 * -DCONV the arguments of cl_conv.h follow.
 *
 * Source: Wang, Shi, Wen: CNN convolution on mobile GPUs (2018), step 1.
 */
__kernel void cl_naive(int M, int N, int K, float alpha,
                       __global const float *A, ulong a0, int ars, int acs,
                       __global const float *B, ulong b0, int brs, int bcs,
                       __global float *C, ulong c0, int ldc)
{
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= M || j >= N) {
        return;
    }
    __global const float *a = A + a0 + (ulong)i * ars;
    __global const float *b = B + b0 + (ulong)j * bcs;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += a[(ulong)k * acs] * b[(ulong)k * brs];
    }
    C[c0 + (ulong)i * ldc + j] += alpha * sum;
}
