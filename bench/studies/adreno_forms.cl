/* SPDX-License-Identifier: MIT */
/*
 * Forms of published kernels, for adreno_model.awk: what a compiler makes of a kernel that loads
 * and multiplies as they do. Nothing runs them. Written after their descriptions.
 *
 * form: an item has ROWS x 8 results. A step is 4 of K: ROWS float4 of A along K, and 8 float4 of
 * B, by buffers or (IMAGE) B by the texture pipe. TAPS: a 3x3 convolution, whose A is the input; it
 * is an image too with IMAGE. Neighbours along x have the same rows of A.
 *
 * form_wide: an item has 4 x 16 results, and a step is 1 of K: a float4 of A, four of B. Neighbours
 * along x have the same columns.
 */
#ifndef ROWS
#define ROWS 8
#endif

#ifdef IMAGE
#define SOURCE __read_only image2d_t
__constant sampler_t inside = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
__constant sampler_t clamped = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#define LOAD_B(x, k) read_imagef(B, inside, (int2)(x, k))
#else
#define SOURCE __global const float4 *
#define LOAD_B(x, k) B[(k) * N4 + (x)]
#endif

#define ADD(k, element) \
    { \
        const float4 left = LOAD_B(x, k), right = LOAD_B(x + 1, k); \
        for (int i = 0; i < ROWS; ++i) { \
            c[i][0] += a[i].element * left; \
            c[i][1] += a[i].element * right; \
        } \
    }

#ifdef TAPS
#define H 56
#define W 56
#define C4 16
#define N4 C4
__kernel void form(SOURCE A, SOURCE B, __global float4 *C)
#else
__kernel void form(__global const float4 *A, SOURCE B, __global float4 *C, int M, int N4, int K4)
#endif
{
    const int x = get_global_id(0) * 2, y = get_global_id(1) * ROWS;
    float4 a[ROWS], c[ROWS][2];
    for (int i = 0; i < ROWS; ++i) {
        c[i][0] = 0;
        c[i][1] = 0;
    }
#ifdef TAPS
    const int M = H * W;
    int top[ROWS], left_of[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        const int place = min(y + i, M - 1);
        top[i] = place / W;
        left_of[i] = place % W;
    }
    for (int tap = 0; tap < 9; ++tap) {
        int row[ROWS], column[ROWS];
        for (int i = 0; i < ROWS; ++i) {
            row[i] = top[i] + tap / 3 - 1;
            column[i] = left_of[i] + tap % 3 - 1;
        }
        for (int k = 0; k < C4; ++k) {
            const int depth = tap * 4 * C4 + 4 * k;
            for (int i = 0; i < ROWS; ++i) {
#ifdef IMAGE
                a[i] = read_imagef(A, clamped, (int2)(column[i] * C4 + k, row[i]));
#else
                const bool is_inside = row[i] >= 0 && row[i] < H && column[i] >= 0 && column[i] < W;
                a[i] = is_inside ? A[(row[i] * W + column[i]) * C4 + k] : (float4)(0.0f);
#endif
            }
            ADD(depth, x)
            ADD(depth + 1, y)
            ADD(depth + 2, z)
            ADD(depth + 3, w)
        }
    }
#else
    int row[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        row[i] = min(y + i, M - 1) * K4;
    }
    for (int k = 0; k < K4; ++k) {
        for (int i = 0; i < ROWS; ++i) {
            a[i] = A[row[i] + k];
        }
        ADD(4 * k, x)
        ADD(4 * k + 1, y)
        ADD(4 * k + 2, z)
        ADD(4 * k + 3, w)
    }
#endif
    for (int i = 0; i < ROWS; ++i) {
        if (y + i < M) {
            C[(y + i) * N4 + x] = c[i][0];
            C[(y + i) * N4 + x + 1] = c[i][1];
        }
    }
}

__kernel void form_wide(__global const float4 *A, __global const float4 *B, __global float4 *C,
                        int M4, int columns, int K)
{
    const int x = get_global_id(0), y = get_global_id(1) * 4;
    float4 c[16];
    for (int j = 0; j < 16; ++j) {
        c[j] = 0;
    }
    for (int k = 0; k < K; ++k) {
        const float4 a = A[k * M4 + x];
        for (int j = 0; j < 4; ++j) {
            const float4 b = B[k * columns + y + j];
            c[4 * j] += b.x * a;
            c[4 * j + 1] += b.y * a;
            c[4 * j + 2] += b.z * a;
            c[4 * j + 3] += b.w * a;
        }
    }
    for (int j = 0; j < 16; ++j) {
        C[(4 * y + j) * M4 + x] = c[j];
    }
}
