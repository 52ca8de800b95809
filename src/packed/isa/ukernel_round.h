/* SPDX-License-Identifier: MIT */
/* Pairs from floats by integers: see gemm_pairs. Included by micro-kernels for pairs. PAIR(low,
   high): another pair than one of bfloat16. */

#ifndef PAIR
/* The bfloat16 in the upper half. */
INLINE uint32_t round_half(float value)
{
    uint32_t x;
    __builtin_memcpy(&x, &value, sizeof x);
    const uint32_t magnitude = x & 0x7fffffff, half = (x + 0x7fff + (x >> 16 & 1)) & 0xffff0000;
    const uint32_t nan = (x & 0xffff0000) | 0x400000, zero = x & 0x80000000;
    return magnitude > 0x7f800000 ? nan : magnitude < 0x00800000 ? zero : half;
}

#define PAIR(low, high) (round_half(low) >> 16 | round_half(high))
#endif

static void pair_rows(int n, const float *low, const float *high, gemm_pair *pairs)
{
    if (high) {
        for (int j = 0; j < n; ++j) pairs[j] = PAIR(low[j], high[j]);
    } else {
        for (int j = 0; j < n; ++j) pairs[j] = PAIR(low[j], 0.0f);
    }
}

static void pair_along(int n, const float *x, gemm_pair *pairs)
{
    for (int p = 0; p < n / 2; ++p) pairs[p] = PAIR(x[2 * p], x[2 * p + 1]);
    if (n % 2) pairs[n / 2] = PAIR(x[n - 1], 0.0f);
}
