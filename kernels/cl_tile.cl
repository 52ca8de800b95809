/*
 * cl_tile: for desktop GPUs. A group computes a BM x BN tile of C from local memory. A work-item
 * holds ROWS x COLS elements of it in registers.
 *
 *   As[k][m]: BK x BM of A      Bs[k][n]: BK x BN of B      two of each: while one is multiplied,
 *   the next one is loaded into registers, so one barrier a step is enough
 *
 *   An item's rows are ROWS/4 runs of 4, WY*4 apart. Its columns are COLS/4 runs of 4, WX*4 apart.
 *   So neighbouring items read neighbouring float4 from local memory.
 *
 * BM = WY*ROWS, BN = WX*COLS. ROWS and COLS are multiples of 4. The group's WX*WY items must divide
 * BM*BK and BN*BK. M, N, K and strides may be any numbers, because everything outside counts as 0.
 * A_TURNED and B_TURNED say that A's (B's) rows are the strided ones. They only change the order of
 * the loads.
 * Global {N/COLS, M/ROWS, parts}, rounded up to groups {WX, WY, 1}. Parts of K as in cl_image.
 * CONV, TAPS, POOL: cl_conv.h. Then all that an item loads of B is of one column.
 *
 * An 8x8 tile has 64 accumulators and 16 operands, of 255 registers; 64 FMAs for 4 loads of float4.
 */
#include "cl_conv.h"

#ifndef ROWS
#define ROWS 8
#endif
#ifndef COLS
#define COLS 8
#endif
#ifndef WX
#define WX 8
#endif
#ifndef WY
#define WY 8
#endif
#ifndef BK
#define BK 16
#endif
#define BM (WY * ROWS)
#define BN (WX * COLS)
#define ITEMS (WX * WY)
#define LOADS_A (BM * BK / ITEMS)
#define LOADS_B (BN * BK / ITEMS)
#define PAD 4
#if ROWS % 4 || COLS % 4 || BM * BK % ITEMS || BN * BK % ITEMS
#error "cl_tile: ROWS, COLS in fours, and items that divide the tiles"
#endif
#if defined(TAPS) && (ITEMS % BN || defined(B_TURNED))
#error "cl_tile: with TAPS the columns of a tile divide the items"
#endif

#ifdef A_TURNED
#define A_M(e) ((e) % BM)
#define A_K(e) ((e) / BM)
#else
#define A_M(e) ((e) / BK)
#define A_K(e) ((e) % BK)
#endif
#ifdef B_TURNED
#define B_N(e) ((e) / BK)
#define B_K(e) ((e) % BK)
#else
#define B_N(e) ((e) % BN)
#define B_K(e) ((e) / BN)
#endif

__kernel __attribute__((reqd_work_group_size(WX, WY, 1)))
void cl_tile(int M, int N, int K, float alpha,
             __global const float *A, ulong a0, int ars, int acs,
             __global const float *B, ulong b0, int brs, int bcs,
             __global float *C, ulong c0, int ldc, int kpart, ulong cpart CONV_PARAMETERS)
{
    __local float As[2][BK * (BM + PAD)] __attribute__((aligned(16)));
    __local float Bs[2][BK * (BN + PAD)] __attribute__((aligned(16)));
    const int tx = get_local_id(0), ty = get_local_id(1), t = ty * WX + tx;
    const int m0 = get_group_id(1) * BM, n0 = get_group_id(0) * BN;
    const int z = get_group_id(2), begin = PART(z) * kpart, end = min(K, begin + kpart);
    __global const float *a = A + a0 + A_START(z), *b = B + b0 + B_START(z);
#ifdef TAPS
    const int place = n0 + t % BN;
    const int y = PLACE_ROW(place) * stride - pad, x = PLACE_COLUMN(place) * stride - pad;
#define LOAD_B(k, n) conv_tap(b, k, y, x, h, w, size)
#else
#define LOAD_B(k, n) b[(ulong)(k) * brs + (ulong)(n) * bcs]
#endif

    float ra[LOADS_A], rb[LOADS_B];
    float4 acc[ROWS][COLS / 4];
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        #pragma unroll
        for (int j = 0; j < COLS / 4; ++j) {
            acc[i][j] = (float4)(0.0f);
        }
    }

    int now = 0;
    for (int k0 = begin - BK; k0 < end; k0 += BK) {
        const int next = k0 + BK;
        if (next < end) {
            #pragma unroll
            for (int l = 0; l < LOADS_A; ++l) {
                const int e = t + l * ITEMS, m = m0 + A_M(e), k = next + A_K(e);
                ra[l] = m < M && k < end ? a[(ulong)m * ars + (ulong)k * acs] : 0.0f;
            }
            #pragma unroll
            for (int l = 0; l < LOADS_B; ++l) {
                const int e = t + l * ITEMS, n = n0 + B_N(e), k = next + B_K(e);
                rb[l] = n < N && k < end ? LOAD_B(k, n) : 0.0f;
            }
        }
        if (k0 >= begin) {
            __local const float *as = As[now] + ty * 4, *bs = Bs[now] + tx * 4;
            #pragma unroll
            for (int k = 0; k < BK; ++k) {
                float av[ROWS];
                float4 bv[COLS / 4];
                #pragma unroll
                for (int i = 0; i < ROWS / 4; ++i) {
                    const float4 v =
                        *(__local const float4 *)(as + k * (BM + PAD) + i * WY * 4);
                    av[4 * i] = v.x;
                    av[4 * i + 1] = v.y;
                    av[4 * i + 2] = v.z;
                    av[4 * i + 3] = v.w;
                }
                #pragma unroll
                for (int j = 0; j < COLS / 4; ++j) {
                    bv[j] = *(__local const float4 *)(bs + k * (BN + PAD) + j * WX * 4);
                }
                #pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    #pragma unroll
                    for (int j = 0; j < COLS / 4; ++j) {
                        acc[i][j] += av[i] * bv[j];
                    }
                }
            }
            now ^= 1;
        }
        if (next < end) {
            #pragma unroll
            for (int l = 0; l < LOADS_A; ++l) {
                const int e = t + l * ITEMS;
                As[now][A_K(e) * (BM + PAD) + A_M(e)] = ra[l];
            }
            #pragma unroll
            for (int l = 0; l < LOADS_B; ++l) {
                const int e = t + l * ITEMS;
                Bs[now][B_K(e) * (BN + PAD) + B_N(e)] = rb[l];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }

    __global float *c = C + c0 + C_START(z) + (ulong)PART(z) * cpart;
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        const int m = m0 + (i / 4) * WY * 4 + ty * 4 + i % 4;
        #pragma unroll
        for (int j = 0; j < COLS / 4; ++j) {
            const int n = n0 + j * WX * 4 + tx * 4;
#ifdef POOL
            if (!cpart) {
                if (m < M && n < N) {
                    __global float *most = c + (ulong)m * ldc + n / 4;
                    *most = conv_most(RESULT4(alpha * acc[i][j], most, FILTER(z) + m));
                }
                continue;
            }
#endif
            __global float *o = c + (ulong)m * ldc + n;
            const float4 s = alpha * acc[i][j];
            if (m < M && n + 4 <= N) {
                vstore4(cpart ? s : RESULT4(s, o, FILTER(z) + m), 0, o);
            } else if (m < M && n < N) {
                o[0] = cpart ? s.x : RESULT(s.x, o, FILTER(z) + m);
                if (n + 1 < N) {
                    o[1] = cpart ? s.y : RESULT(s.y, o + 1, FILTER(z) + m);
                }
                if (n + 2 < N) {
                    o[2] = cpart ? s.z : RESULT(s.z, o + 2, FILTER(z) + m);
                }
            }
        }
    }
}
