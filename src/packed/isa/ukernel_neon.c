/* SPDX-License-Identifier: MIT */
/*
 * NEON of aarch64: 8 x 12.
 *
 * - The tile: 24 accumulators + 3 of B + 3 floats of A = 30 of 32 registers; 11 loads for 24 FMAs.
 * - The pooled tile: 6 filters by 4 vectors = 24 accumulators + 4 of pixels + 3 floats of A = 31.
 * - Depthwise: 8 sums + up to 7 of weights + 8 of pixels, of this tap and of the next.
 * - KC = 256: a panel of A is 8 * 256 * 4 = 8 KiB and a strip of B 12 * 256 * 4 = 12 KiB. Together
 *   they fit an L1 of 32 KiB.
 * - MC = 128: the block of A is 128 * 256 * 4 = 128 KiB. It fits an L2 of 256 KiB.
 */
#if defined(__aarch64__)
#include "packed/isa/ukernel.h"

#include <stdbool.h>
#include <stddef.h>

#ifndef ISA
#define ISA neon
#endif
#define NV 3
#define MR 8
#define MC 128
#define KC 256
#define WIDE_ROWS 64
#define POOL_ROWS 6
#include "packed/isa/ukernel_four.h"

typedef float element;
#define load_element(x, p) ((x) = *(const volatile float *)(p))
#define AHEAD(nv) ((nv) == 1 ? 4 : 3)
#define multiply_add(c, x, b)                                                                      \
    __asm__ volatile("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(c) : "w"(b), "w"(x))
#include "packed/isa/ukernel_neon.h"

#define vfma(a, b, c) vfmaq_f32(c, a, b)
#define vif_positive(x, y) vbslq_f32(vcgtzq_f32(x), x, y)
#define vsum(v) vaddvq_f32(v)

#define multiply_vectors(c, a, b)                                                                  \
    __asm__ volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(c) : "w"(a), "w"(b))
#define multiply_lane(c, w, lane, x)                                                               \
    __asm__ volatile("fmla %0.4s, %1.4s, %2.s[" #lane "]" : "+w"(c) : "w"(x), "w"(w))

/* n floats in as few registers; the last one has the last four. */
INLINE void keep_weights(const float *w, const int n, vec *kept)
{
    _Pragma("GCC unroll 16")
    for (int j = 0; j * VL < n; ++j) kept[j] = vload(w + (j * VL + VL <= n ? j * VL : n - VL));
}

/* sum += (weight q of n) * x */
#define multiply_weight(sum, kept, q, n, x)                                                        \
    do {                                                                                           \
        const vec w = (kept)[(q) / VL];                                                            \
        switch ((q) / VL * VL + VL <= (n) ? (q) % VL : (q) - ((n) - VL)) {                         \
        case 0: multiply_lane(sum, w, 0, x); break;                                                \
        case 1: multiply_lane(sum, w, 1, x); break;                                                \
        case 2: multiply_lane(sum, w, 2, x); break;                                                \
        default: multiply_lane(sum, w, 3, x);                                                      \
        }                                                                                          \
    } while (0)

static inline vec vsums(const vec *v, const int n)
{
    const vec zero = vzero();
    return vpaddq_f32(vpaddq_f32(v[0], n > 1 ? v[1] : zero), vpaddq_f32(n > 2 ? v[2] : zero, zero));
}

#define vevens(a, b) vuzp1q_f32(a, b)
#define vodds(a, b) vuzp2q_f32(a, b)

static bool isa_supported(void)
{
    return true;                /* part of aarch64 */
}

#include "packed/isa/ukernel_body.h"
#endif
