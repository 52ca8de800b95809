/*
 * An 8 x 8 block transposed in AVX registers, for the AVX2 and the AVX-512 kernels.
 *
 * The loads pair row i with row i + 4, four columns at a time, so that no shuffle has to cross
 * the halves of a register: 16 half loads and 16 shuffles for 64 floats.
 */
#ifndef GEMM_TRANSPOSE8_AVX_H
#define GEMM_TRANSPOSE8_AVX_H

#include <immintrin.h>
#include <stddef.h>

enum { BLOCK = 8 };

/* Columns 4h .. 4h+3 of rows i and i + 4. */
static inline __m256 load_halves(const float *src, size_t ld, int i, int h)
{
    const __m256 low = _mm256_castps128_ps256(_mm_loadu_ps(src + i * ld + 4 * h));
    return _mm256_insertf128_ps(low, _mm_loadu_ps(src + (i + 4) * ld + 4 * h), 1);
}

/* Element (i, p) goes from src[i * ld + p] to dst[p * width + i], for i and p below BLOCK. */
static inline void transpose_block(const float *src, size_t ld, float *dst, int width)
{
    for (int h = 0; h < 2; ++h, dst += 4 * width) {
        const __m256 r0 = load_halves(src, ld, 0, h), r1 = load_halves(src, ld, 1, h);
        const __m256 r2 = load_halves(src, ld, 2, h), r3 = load_halves(src, ld, 3, h);
        const __m256 a = _mm256_unpacklo_ps(r0, r1), b = _mm256_unpackhi_ps(r0, r1);
        const __m256 c = _mm256_unpacklo_ps(r2, r3), d = _mm256_unpackhi_ps(r2, r3);
        _mm256_storeu_ps(dst, _mm256_shuffle_ps(a, c, 0x44));
        _mm256_storeu_ps(dst + width, _mm256_shuffle_ps(a, c, 0xee));
        _mm256_storeu_ps(dst + 2 * width, _mm256_shuffle_ps(b, d, 0x44));
        _mm256_storeu_ps(dst + 3 * width, _mm256_shuffle_ps(b, d, 0xee));
    }
}

#endif
