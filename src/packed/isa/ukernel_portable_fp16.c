/* SPDX-License-Identifier: MIT */
/* Pairs of fp16 on any processor, for tests: the tile of ukernel_generic.c. A half becomes a float
   at each product. */
#include "packed/isa/pairs.h"

#define ISA portable_fp16
#define PAIRS gemm_ukernel_generic
#define OWN_FORMAT GEMM_FP16
#define OWN_PART 1      /* what Winograd's algorithm saves in single precision, it saves here too */
#define OWN_NCHWC NULL
#define vfma_to(c, a, b) ((c) = add_pairs(c, a, b))

typedef float four __attribute__((vector_size(16)));
typedef uint32_t four_pairs __attribute__((vector_size(16)));

/* The lower halves. As a float of their bits one is 2^112 times too small, and infinity and NaN are
   finite. */
INLINE four widen(four_pairs x)
{
    const four_pairs bits = (x & 0x7fff) << 13;
    const four_pairs special = (four_pairs)(bits >= 0x0f800000) & 0x7f800000;
    return (four)((four_pairs)((four)bits * 0x1p112f) | special | (x & 0x8000) << 16);
}

static __attribute__((noinline)) four add_pairs(four c, four a, four b)
{
    const four_pairs x = (four_pairs)a, y = (four_pairs)b;
    c += widen(x) * widen(y);
    return c + widen(x >> 16) * widen(y >> 16);
}

/* Below 2^-14 a half is a multiple of 2^-24. */
static uint32_t small_half(uint32_t magnitude)
{
    const uint32_t exponent = magnitude >> 23, digits = (magnitude & 0x7fffff) | 0x800000;
    if (exponent < 102) return 0;       /* less than half of 2^-24 */
    const uint32_t shift = 126 - exponent, half = 1u << (shift - 1);
    const uint32_t whole = digits >> shift, rest = digits & ((half << 1) - 1);
    return whole + (rest > half || (rest == half && whole & 1));
}

static uint32_t round_half(float value)
{
    uint32_t x;
    __builtin_memcpy(&x, &value, sizeof x);
    const uint32_t sign = x >> 16 & 0x8000, magnitude = x & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7e00;           /* NaN */
    if (magnitude >= 0x477ff000) return sign | 0x7c00;          /* 65520 */
    if (magnitude < 0x38800000) return sign | small_half(magnitude);
    return sign | ((magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
}

#define PAIR(low, high) (round_half(low) | round_half(high) << 16)
#include "packed/isa/ukernel_round.h"

static bool pair_supported(void) { return true; }

#include "packed/isa/ukernel_generic.c"
