/* SPDX-License-Identifier: MIT */
/* Pairs of fp16 on any processor: conversions by integers, and the tile of ukernel_generic.c. */
#include "packed/isa/pairs.h"

#define ISA portable_fp16
#define PAIRS gemm_ukernel_generic
#define WIDE_MR 4
#define GROUP 4

/* Below 2^-14 a half is a multiple of 2^-24. */
static uint32_t small_half(uint32_t magnitude)
{
    const uint32_t exponent = magnitude >> 23, digits = (magnitude & 0x7fffff) | 0x800000;
    if (exponent < 102) return 0;       /* less than half of 2^-24 */
    const uint32_t shift = 126 - exponent, half = 1u << (shift - 1);
    const uint32_t whole = digits >> shift, rest = digits & ((half << 1) - 1);
    return whole + (rest > half || (rest == half && whole & 1));
}

static uint32_t half_of(float value)
{
    uint32_t x;
    __builtin_memcpy(&x, &value, sizeof x);
    const uint32_t sign = x >> 16 & 0x8000, magnitude = x & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7e00;           /* NaN */
    if (magnitude >= 0x477ff000) return sign | 0x7c00;          /* 65520 */
    if (magnitude < 0x38800000) return sign | small_half(magnitude);
    return sign | ((magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
}

/* A small half is a whole number times 2^-24, so that no denormal float is needed. */
static float float_of(uint32_t half)
{
    const uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, digits = half & 0x3ff;
    uint32_t x = exponent == 31 ? 0x7f800000 | digits << 13 : (exponent + 112) << 23 | digits << 13;
    if (!exponent) {
        const float small = (float)digits * 0x1p-24f;
        __builtin_memcpy(&x, &small, sizeof x);
    }
    x |= sign;
    float value;
    __builtin_memcpy(&value, &x, sizeof value);
    return value;
}

INLINE void pairs_of_rows(const float *low, const float *high, gemm_pair *pairs)
{
    for (int j = 0; j < GROUP; ++j) pairs[j] = half_of(low[j]) | half_of(high[j]) << 16;
}

INLINE void pairs_along(const float *x, gemm_pair *pairs)
{
    for (int p = 0; p < GROUP; ++p) pairs[p] = half_of(x[2 * p]) | half_of(x[2 * p + 1]) << 16;
}

INLINE void floats_of_rows(const gemm_pair *pairs, float *low, float *high)
{
    for (int j = 0; j < GROUP; ++j) {
        low[j] = float_of(pairs[j] & 0xffff);
        high[j] = float_of(pairs[j] >> 16);
    }
}

INLINE void floats_along(const gemm_pair *pairs, float *x)
{
    for (int p = 0; p < GROUP; ++p) {
        x[2 * p] = float_of(pairs[p] & 0xffff);
        x[2 * p + 1] = float_of(pairs[p] >> 16);
    }
}

static bool pair_supported(void) { return true; }

#include "packed/isa/ukernel_widen.h"
