/* SPDX-License-Identifier: MIT */
/* Pairs of fp16 by F16C, which converts eight halves at once, and the tile of ukernel_avx2.c. */
#if defined(__x86_64__)
#include "packed/isa/pairs.h"

#include <cpuid.h>
#include <immintrin.h>

#ifndef ISA
#define ISA avx2_fp16
#define PAIRS gemm_ukernel_avx2
#define WIDE_MR 4
#endif
#define GROUP 8

INLINE __m128i halves(const float *x)
{
    return _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT);
}

INLINE __m256 floats(const gemm_pair *pairs)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)pairs));
}

INLINE void pairs_of_rows(const float *low, const float *high, gemm_pair *pairs)
{
    const __m128i first = halves(low), second = halves(high);
    _mm_storeu_si128((__m128i *)pairs, _mm_unpacklo_epi16(first, second));
    _mm_storeu_si128((__m128i *)(pairs + 4), _mm_unpackhi_epi16(first, second));
}

INLINE void pairs_along(const float *x, gemm_pair *pairs)
{
    _mm_storeu_si128((__m128i *)pairs, halves(x));
    _mm_storeu_si128((__m128i *)(pairs + 4), halves(x + 8));
}

/* A shuffle works in each half of four floats alone: the middle quarters change places. */
INLINE __m256 in_order(__m256 v)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8));
}

INLINE void floats_of_rows(const gemm_pair *pairs, float *low, float *high)
{
    const __m256 a = floats(pairs), b = floats(pairs + 4);
    _mm256_storeu_ps(low, in_order(_mm256_shuffle_ps(a, b, 0x88)));
    _mm256_storeu_ps(high, in_order(_mm256_shuffle_ps(a, b, 0xdd)));
}

INLINE void floats_along(const gemm_pair *pairs, float *x)
{
    _mm256_storeu_ps(x, floats(pairs));
    _mm256_storeu_ps(x + 8, floats(pairs + 4));
}

static bool pair_supported(void)
{
    enum { F16C = 1 << 29 };
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & F16C);
}

#include "packed/isa/ukernel_widen.h"
#endif
