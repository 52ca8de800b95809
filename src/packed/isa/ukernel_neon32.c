/* SPDX-License-Identifier: MIT */
/*
 * NEON of armv7: 6 x 8.
 *
 * - The tile: 12 accumulators + 2 of B + 1 of three floats of A, or 2 where a load spreads them: 15
 *   or 16 of 16 registers; 8 loads for 12 multiply-adds.
 * - The pooled tile: 2 filters by 4 vectors = 8 accumulators + 4 of pixels + 1 or 2 of A = 14.
 * - Depthwise: 8 sums + 4 of pixels, of this tap and of the next, + 1 or 2 of weights = 14. In
 *   nchwc: 4 sums + 4 of pixels + 4 of weights = 12.
 * - KC = 256: a panel of A is 6 * 256 * 4 = 6 KiB and a strip of B 8 * 256 * 4 = 8 KiB. Together
 *   they fit an L1 of 32 KiB.
 * - MC = 120: the block of A is 120 * 256 * 4 = 120 KiB. It fits an L2 of 256 KiB.
 *
 * NEON of armv7 takes denormals for zero and rounds to nearest, whatever the host has set. A
 * product is rounded before it is added; ukernel_neon32_fma.c has a fused one.
 */
#if defined(__arm__) && defined(__ARM_PCS_VFP)
#include "packed/isa/ukernel.h"

#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>

#ifndef ISA
#define ISA neon32
#endif
#define NV 2
#define MR 6
#define MC 120
#define KC 256
#define WIDE_ROWS 64
#define POOL_ROWS 2
#include "packed/isa/ukernel_four.h"

/* "t" stands for s0 to s31, and %y names one of them as an element of a vector. No fused
   instruction multiplies by an element, so there a load spreads it. */
#ifdef FUSED
typedef float32x4_t element;
#define load_element(x, p)                                                                         \
    __asm__ volatile("vld1.32 {%e0[], %f0[]}, %1" : "=w"(x) : "Q"(*(p)))
#define multiply_add(c, x, b)                                                                      \
    __asm__ volatile("vfma.f32 %q0, %q1, %q2" : "+w"(c) : "w"(b), "w"(x))
#define AHEAD(nv) 2
#define vfma(a, b, c) vfmaq_f32(c, a, b)
#define multiply_vectors(c, a, b)                                                                  \
    __asm__ volatile("vfma.f32 %q0, %q1, %q2" : "+w"(c) : "w"(a), "w"(b))
#else
typedef float element;
#define load_element(x, p) ((x) = *(const volatile float *)(p))
#define multiply_add(c, x, b)                                                                      \
    __asm__ volatile("vmla.f32 %q0, %q1, %y2" : "+w"(c) : "w"(b), "t"(x))
#define AHEAD(nv) ((nv) == 1 ? 4 : 3)
#define vfma(a, b, c) vmlaq_f32(c, a, b)
#define multiply_vectors(c, a, b)                                                                  \
    __asm__ volatile("vmla.f32 %q0, %q1, %q2" : "+w"(c) : "w"(a), "w"(b))
#endif
#include "packed/isa/ukernel_neon.h"

#define vif_positive(x, y) vbslq_f32(vcgtq_f32(x, vzero()), x, y)

#define FEW_REGISTERS
#define vevens(a, b) (vuzpq_f32(a, b).val[0])
#define vodds(a, b) (vuzpq_f32(a, b).val[1])

/* The low half of v + its high half. */
INLINE float32x2_t add_halves(vec v)
{
    return vadd_f32(vget_low_f32(v), vget_high_f32(v));
}

INLINE float vsum(vec v)
{
    const float32x2_t halves = add_halves(v);
    return vget_lane_f32(vpadd_f32(halves, halves), 0);
}

INLINE vec vsums(const vec *v, const int n)
{
    const vec zero = vzero();
    const float32x2_t a = vpadd_f32(add_halves(v[0]), add_halves(n > 1 ? v[1] : zero));
    return vcombine_f32(a, vpadd_f32(add_halves(n > 2 ? v[2] : zero), vdup_n_f32(0)));
}

static bool isa_supported(void)
{
    enum { NEON = 1 << 12, VFPV4 = 1 << 16 };   /* HWCAP_NEON and HWCAP_VFPv4 of Linux */
#ifdef FUSED
    const unsigned long needed = NEON | VFPV4;
#else
    const unsigned long needed = NEON;
#endif
    return (getauxval(AT_HWCAP) & needed) == needed;
}

#include "packed/isa/ukernel_body.h"
#endif
