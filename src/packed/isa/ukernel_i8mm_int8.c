/* SPDX-License-Identifier: MIT */
/*
 * Quads by SMMLA of Armv8.6: 8 x 12. It multiplies 8 numbers of two rows by 8 of two columns. Rows
 * and columns of two quads become such pairs by ZIP:
 *
 *     A    | row 0: quad p, quad p + 1 | row 1: quad p, quad p + 1 |
 *     sums | row 0: column 0, column 1 | row 1: column 0, column 1 |
 *
 * 24 sums + 4 of A + 2 of B + 1 for a ZIP = 31 of 32 registers; 10 loads and 10 ZIP for 24 SMMLA,
 * which do the work of 48 SDOT.
 */
#if defined(__aarch64__)
#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>

#define ISA i8mm_int8
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

#define zip_low(x, y) vreinterpretq_s8_s32(vzip1q_s32(x, y))
#define zip_high(x, y) vreinterpretq_s8_s32(vzip2q_s32(x, y))
#define load_quads(p) vld1q_s32((const int32_t *)(p))

/* Two steps of K; or one, where K ends with it. */
#define TWO_STEPS(sums, two, a, a_ld, B, p, nv)                                                    \
    {                                                                                              \
        const int32x4_t none = vdupq_n_s32(0);                                                     \
        int8x16_t rows[4];                                                                         \
        _Pragma("GCC unroll 8") for (int i = 0; i < 2; ++i) {                                      \
            const int32x4_t x = load_quads(a + 4 * i);                                             \
            const int32x4_t y = two ? load_quads(a + a_ld + 4 * i) : none;                         \
            rows[2 * i] = zip_low(x, y), rows[2 * i + 1] = zip_high(x, y);                         \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (int v = 0; v < nv; ++v) {                                     \
            const int32x4_t x = load_quads(B(p, v));                                               \
            const int32x4_t y = two ? load_quads(B(p + 1, v)) : none;                              \
            const int8x16_t low = zip_low(x, y), high = zip_high(x, y);                            \
            _Pragma("GCC unroll 8") for (int i = 0; i < 4; ++i) {                                  \
                sums[i][2 * v] = vmmlaq_s32(sums[i][2 * v], rows[i], low);                         \
                sums[i][2 * v + 1] = vmmlaq_s32(sums[i][2 * v + 1], rows[i], high);                \
            }                                                                                      \
        }                                                                                          \
    }

/* Pairs of rows and columns to rows. */
#define ALL_STEPS(c, a, a_ld, B, quads, nv)                                                        \
    {                                                                                              \
        int32x4_t sums[4][2 * NV];                                                                 \
        int p = 0;                                                                                 \
        _Pragma("GCC unroll 8") for (int i = 0; i < 4; ++i)                                        \
            _Pragma("GCC unroll 8") for (int j = 0; j < 2 * nv; ++j) sums[i][j] = vdupq_n_s32(0);  \
        for (; p + 2 <= quads; p += 2, a += 2 * a_ld) TWO_STEPS(sums, true, a, a_ld, B, p, nv)     \
        if (p < quads) TWO_STEPS(sums, false, a, a_ld, B, p, nv)                                   \
        _Pragma("GCC unroll 8") for (int i = 0; i < 4; ++i)                                        \
            _Pragma("GCC unroll 8") for (int v = 0; v < nv; ++v) {                                 \
            const int64x2_t x = vreinterpretq_s64_s32(sums[i][2 * v]);                             \
            const int64x2_t y = vreinterpretq_s64_s32(sums[i][2 * v + 1]);                         \
            c[2 * i][v] += (vint)vzip1q_s64(x, y);                                                 \
            c[2 * i + 1][v] += (vint)vzip2q_s64(x, y);                                             \
        }                                                                                          \
    }

static _Bool quads_supported(void)
{
    enum { I8MM = 1 << 13 };            /* HWCAP2_I8MM of Linux */
    return getauxval(AT_HWCAP2) & I8MM;
}

#include "packed/isa/ukernel_quads.h"
#endif
