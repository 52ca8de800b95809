/* SPDX-License-Identifier: MIT */
/* Quads by SDOT of Armv8.2: 8 x 12. 24 sums + 3 of B + 2 of A = 29 of 32 registers; 5 loads for 24
   dot products. A lane of A meets all columns. */
#if defined(__aarch64__)
#include <arm_neon.h>
#include <stdint.h>
#include <sys/auxv.h>

#define ISA neon_int8
#define BASE gemm_ukernel_neon
#define VL 4
#define NV 3
#define MR 8
#define OFFSET false

typedef int32_t vint __attribute__((vector_size(VL * sizeof(int32_t))));
#define vint_set(x) (vint)vdupq_n_s32(x)
#define vint_max(x, y) (vint)vmaxq_s32((int32x4_t)(x), (int32x4_t)(y))
#define vint_min(x, y) (vint)vminq_s32((int32x4_t)(x), (int32x4_t)(y))
#define vint_swap(x) (vint)vrev64q_s32((int32x4_t)(x))

#define ROW(c, i, lane, rows, nv)                                                                  \
    _Pragma("GCC unroll 8") for (int v = 0; v < nv; ++v) c[i][v] =                                 \
        (vint)vdotq_laneq_s32((int32x4_t)c[i][v], column[v], rows, lane);

#define STEP(c, a, B, p, nv, turned)                                                               \
    {                                                                                              \
        int8x16_t column[NV];                                                                      \
        _Pragma("GCC unroll 8") for (int v = 0; v < nv; ++v) column[v] =                           \
            vld1q_s8((const int8_t *)B(p, v));                                                     \
        const int8x16_t low = vld1q_s8((const int8_t *)a);                                         \
        const int8x16_t high = vld1q_s8((const int8_t *)(a + 4));                                  \
        ROW(c, 0, 0, low, nv)                                                                      \
        ROW(c, 1, 1, low, nv)                                                                      \
        ROW(c, 2, 2, low, nv)                                                                      \
        ROW(c, 3, 3, low, nv)                                                                      \
        ROW(c, 4, 0, high, nv)                                                                     \
        ROW(c, 5, 1, high, nv)                                                                     \
        ROW(c, 6, 2, high, nv)                                                                     \
        ROW(c, 7, 3, high, nv)                                                                     \
    }

static _Bool quads_supported(void)
{
    enum { DOT_PRODUCT = 1 << 20 };     /* HWCAP_ASIMDDP of Linux */
    return getauxval(AT_HWCAP) & DOT_PRODUCT;
}

#include "packed/isa/ukernel_quads.h"
#endif
