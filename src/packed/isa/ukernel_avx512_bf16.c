/* SPDX-License-Identifier: MIT */
/*
 * Pairs by AVX512_BF16: the tile of ukernel_avx512.c. VDPBF16PS takes the place of an FMA, and does
 * twice its multiply-adds.
 */
#if defined(__x86_64__)
#include "packed/isa/pairs.h"

#include <immintrin.h>

#ifndef ISA
#define ISA avx512_bf16
#endif
#define PAIRS gemm_ukernel_avx512
#define vfma_to(c, a, b) ((c) = _mm512_dpbf16_ps(c, (__m512bh)(a), (__m512bh)(b)))

/* The halves of 16 pairs, in the order of a conversion of two vectors: all first ones, then all
   second ones. */
INLINE __m512i interleaved(__m512 low, __m512 high)
{
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9,
                                           24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1,
                                           16, 0);
    return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

INLINE __mmask16 first_of(int n) { return (__mmask16)((1u << n) - 1); }

static void pair_rows(int n, const float *low, const float *high, gemm_pair *pairs)
{
    const __m512 zero = _mm512_setzero_ps();
    int j = 0;
    for (; high && j + 16 <= n; j += 16)
        _mm512_storeu_si512(pairs + j, interleaved(_mm512_loadu_ps(low + j),
                                                   _mm512_loadu_ps(high + j)));
    for (; j < n; j += 16) {
        const __mmask16 part = n - j < 16 ? first_of(n - j) : 0xffff;
        const __m512 second = high ? _mm512_maskz_loadu_ps(part, high + j) : zero;
        const __m512 first = _mm512_maskz_loadu_ps(part, low + j);
        _mm512_mask_storeu_epi32(pairs + j, part, interleaved(first, second));
    }
}

static void pair_along(int n, const float *x, gemm_pair *pairs)
{
    int j = 0;
    for (; j + 32 <= n; j += 32)
        _mm512_storeu_si512(pairs + j / 2, (__m512i)_mm512_cvtne2ps_pbh(
            _mm512_loadu_ps(x + j + 16), _mm512_loadu_ps(x + j)));
    for (; j < n; j += 16) {
        const int left = n - j < 16 ? n - j : 16;
        const __m512 part = _mm512_maskz_loadu_ps(first_of(left), x + j);
        const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(_mm512_setzero_ps(), part);
        _mm512_mask_storeu_epi32(pairs + j / 2, first_of((left + 1) / 2), halves);
    }
}

static bool pair_supported(void)
{
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
}

#include "packed/isa/ukernel_avx512.c"
#endif
