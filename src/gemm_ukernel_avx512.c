/*
 * AVX-512: 8 x 48.
 *
 * 24 accumulators + 3 of B + 1 of A = 28 of 32 zmm; 11 loads for 24 FMAs. Widths of 1 to 3 vectors
 * suit Darknet's N = 169 = 3 * 48 + 25: 3 + 3 + 3 + 2 vectors.
 * KC = 384, or 576 where A is not packed: a panel of A is 8 * 576 * 4 = 18 KiB, in L1; a strip of B
 * is 48 * 576 * 4 = 108 KiB and streams from L2, 192 bytes in the 12 cycles of a step; C is read and
 * written every so many steps.
 * MC = 256: the block of A is 256 * 384 * 4 = 384 KiB, which with the strip, the next one and the
 * one that is fetched fits in the 1 MiB of L2 that such processors have at least.
 */
#if defined(__x86_64__)
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

#define ISA avx512
#define VL 16
#define NV 3
#define MR 8
#define MC 256
#define KC 384
#define TILES_WIDE 1
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define EACH_VECS(X, r) X(r, 1) X(r, 2) X(r, 3)

typedef __m512 vec;
#define FIRST(n) ((__mmask16)((1u << (n)) - 1))
#define vzero() _mm512_setzero_ps()
#define vset1(x) _mm512_set1_ps(x)
#define vload(p) _mm512_loadu_ps(p)
#define vstore(p, v) _mm512_storeu_ps(p, v)
#define vload_part(p, n) _mm512_maskz_loadu_ps(FIRST(n), p)
#define vstore_part(p, n, v) _mm512_mask_storeu_ps(p, FIRST(n), v)
#define vfma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define vmax(a, b) _mm512_max_ps(a, b)
#define vsum(v) _mm512_reduce_add_ps(v)

/* The loads pair row i with row i + 4, four columns at a time, so that no shuffle has to cross the
   halves of a register: 16 half loads and 16 shuffles for 64 floats. */
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

#define vload_valid(p, bits) _mm512_maskz_loadu_ps(bits, p)

static inline __m512 vevens(__m512 a, __m512 b)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(a, even, b);
}

static inline __m512 vodds(__m512 a, __m512 b)
{
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(a, odd, b);
}

static bool isa_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
}

#include "gemm_ukernel_body.h"
#endif
