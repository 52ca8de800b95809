/* SPDX-License-Identifier: MIT */
/* Pairs of fp16 by the conversions that every aarch64 has, and the tile of ukernel_neon.c. */
#if defined(__aarch64__)
#include "packed/isa/pairs.h"

#include <arm_neon.h>

#define ISA neon_fp16
#define PAIRS gemm_ukernel_neon
#define WIDE_MR 8
#define GROUP 4

INLINE uint16x4_t halves(const float *x)
{
    return vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x)));
}

INLINE float32x4_t floats(uint16x4_t halves)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(halves));
}

INLINE uint16x8_t load_pairs(const gemm_pair *pairs)
{
    return vreinterpretq_u16_u32(vld1q_u32((const uint32_t *)pairs));
}

INLINE void store_pairs(gemm_pair *pairs, uint16x8_t v)
{
    vst1q_u32((uint32_t *)pairs, vreinterpretq_u32_u16(v));
}

INLINE void pairs_of_rows(const float *low, const float *high, gemm_pair *pairs)
{
    const uint16x4x2_t both = vzip_u16(halves(low), halves(high));
    store_pairs(pairs, vcombine_u16(both.val[0], both.val[1]));
}

INLINE void pairs_along(const float *x, gemm_pair *pairs)
{
    store_pairs(pairs, vcombine_u16(halves(x), halves(x + 4)));
}

INLINE void floats_of_rows(const gemm_pair *pairs, float *low, float *high)
{
    const uint16x8_t v = load_pairs(pairs);
    const uint16x4x2_t both = vuzp_u16(vget_low_u16(v), vget_high_u16(v));
    vst1q_f32(low, floats(both.val[0]));
    vst1q_f32(high, floats(both.val[1]));
}

INLINE void floats_along(const gemm_pair *pairs, float *x)
{
    const uint16x8_t v = load_pairs(pairs);
    vst1q_f32(x, floats(vget_low_u16(v)));
    vst1q_f32(x + 4, floats(vget_high_u16(v)));
}

static bool pair_supported(void) { return true; }

#include "packed/isa/ukernel_widen.h"
#endif
