/*
 * cl_sum: the second half of a split K: C[i][j] += the sum of the parts' products.
 *
 *   parts: `count` matrices M x N, one behind the other
 *
 * Global {N, M}, rounded up to the group; any work-group.
 */
__kernel void cl_sum(int M, int N, int count, __global const float *parts,
                     __global float *C, ulong c0, int ldc)
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
    C[c0 + (ulong)i * ldc + j] += sum;
}
