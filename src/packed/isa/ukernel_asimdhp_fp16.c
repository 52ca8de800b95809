/* SPDX-License-Identifier: MIT */
/*
 * Pairs of fp16 by the arithmetic of Armv8.2 (`asimdhp` in /proc/cpuinfo), in short sums of 16
 * bits. An instruction does twice the multiply-adds of single precision.
 */
#if defined(__aarch64__)
#include "packed/isa/pairs.h"

#include <arm_neon.h>
#include <sys/auxv.h>

#define ISA asimdhp_fp16
#define PAIRS gemm_ukernel_neon
#define OWN_TILE "packed/isa/ukernel_short_sums.h"
#define OWN_FORMAT GEMM_FP16
#define OWN_PART .65

INLINE uint16x4_t halves(float32x4_t x)
{
    return vreinterpret_u16_f16(vcvt_f16_f32(x));
}

INLINE gemm_pair half_of(float x)
{
    return vget_lane_u16(halves(vdupq_n_f32(x)), 0);
}

INLINE void store_pairs(gemm_pair *pairs, uint16x4_t a, uint16x4_t b)
{
    vst1q_u32((uint32_t *)pairs, vreinterpretq_u32_u16(vcombine_u16(a, b)));
}

static void pair_rows(int n, const float *low, const float *high, gemm_pair *pairs)
{
    int j = 0;
    for (; high && j + 4 <= n; j += 4) {
        const uint16x4x2_t both = vzip_u16(halves(vld1q_f32(low + j)), halves(vld1q_f32(high + j)));
        store_pairs(pairs + j, both.val[0], both.val[1]);
    }
    for (; j < n; ++j) pairs[j] = half_of(low[j]) | (high ? half_of(high[j]) << 16 : 0);
}

static void pair_along(int n, const float *x, gemm_pair *pairs)
{
    int i = 0;
    for (; i + 8 <= n; i += 8)
        store_pairs(pairs + i / 2, halves(vld1q_f32(x + i)), halves(vld1q_f32(x + i + 4)));
    for (; i < n; i += 2)
        pairs[i / 2] = half_of(x[i]) | (i + 1 < n ? half_of(x[i + 1]) << 16 : 0);
}

static bool pair_supported(void)
{
    enum { ASIMDHP = 1 << 10 };         /* HWCAP_ASIMDHP of Linux */
    return getauxval(AT_HWCAP) & ASIMDHP;
}

#include "packed/isa/ukernel_neon.c"
#endif
