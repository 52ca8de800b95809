/* SPDX-License-Identifier: MIT */
/*
 * Pairs on any processor: the tile of ukernel_generic.c. A half becomes a float by a shift or a
 * mask, and its product with another half is exact.
 */
#include "packed/isa/pairs.h"

#define ISA portable_bf16
#define PAIRS gemm_ukernel_generic
#define vfma_to(c, a, b) ((c) = add_pairs(c, a, b))

typedef float four __attribute__((vector_size(16)));
typedef uint32_t four_pairs __attribute__((vector_size(16)));

/* The upper halves first, as AVX512_BF16 does. */
INLINE four add_pairs(four c, four a, four b)
{
    const four_pairs x = (four_pairs)a, y = (four_pairs)b;
    c += (four)(x & 0xffff0000u) * (four)(y & 0xffff0000u);
    return c + (four)(x << 16) * (four)(y << 16);
}

/* The bfloat16 in the upper half. */
INLINE uint32_t round_half(float value)
{
    uint32_t x;
    __builtin_memcpy(&x, &value, sizeof x);
    const uint32_t magnitude = x & 0x7fffffff, half = (x + 0x7fff + (x >> 16 & 1)) & 0xffff0000;
    const uint32_t nan = (x & 0xffff0000) | 0x400000, zero = x & 0x80000000;
    return magnitude > 0x7f800000 ? nan : magnitude < 0x00800000 ? zero : half;
}

static void pair_rows(int n, const float *low, const float *high, gemm_pair *pairs)
{
    if (high) {
        for (int j = 0; j < n; ++j) pairs[j] = round_half(low[j]) >> 16 | round_half(high[j]);
    } else {
        for (int j = 0; j < n; ++j) pairs[j] = round_half(low[j]) >> 16;
    }
}

static void pair_along(int n, const float *x, gemm_pair *pairs)
{
    for (int p = 0; p < n / 2; ++p)
        pairs[p] = round_half(x[2 * p]) >> 16 | round_half(x[2 * p + 1]);
    if (n % 2) pairs[n / 2] = round_half(x[n - 1]) >> 16;
}

static bool pair_supported(void) { return true; }

#include "packed/isa/ukernel_generic.c"
