/*
 * AVX-512: 8 x 48.
 *
 * 24 accumulators + 3 of B + 1 of A = 28 of 32 zmm; 11 loads for 24 FMAs. Widths of 1 to 3 vectors
 * suit Darknet's N = 169 = 3 * 48 + 25: 3 + 3 + 3 + 2 vectors.
 * KC = 384, or 576 where A is not packed: a panel of A is 8 * 576 * 4 = 18 KiB, in L1; a strip of B
 * is 48 * 576 * 4 = 108 KiB and streams from L2, 192 bytes in the 12 cycles of a step; C is read and
 * written every so many steps.
 * MC_IN_PLACE: a step takes 12 cycles for 8 floats of A, time enough for them to come from L3.
 * MC = 256: the block of A is 256 * 384 * 4 = 384 KiB, which with the strip, the next one and the
 * one that is fetched fits in the 1 MiB of L2 that such processors have at least.
 */
#if defined(__x86_64__)
#include <immintrin.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define ISA avx512
#define VL 16
#define NV 3
#define MR 8
#define MC 256
#define KC 384
#define MC_IN_PLACE INT_MAX
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

/* In four registers of 16 floats, which the micro-kernel has left beside its accumulators: 8 loads, 12
   shuffles and 8 stores for 64 floats. */
enum { BLOCK = 8 };

/* Rows i and i + 4, of 8 floats each. */
static inline __m512 load_rows(const float *src, size_t ld, int i)
{
    const __m512d low = _mm512_broadcast_f64x4(_mm256_loadu_pd((const double *)(src + i * ld)));
    const __m256d high = _mm256_loadu_pd((const double *)(src + (i + 4) * ld));
    return _mm512_castpd_ps(_mm512_mask_broadcast_f64x4(low, 0xf0, high));
}

/* Column p, and behind it column p + 4, of which v holds: rows 0-3 of p, of p + 4, rows 4-7 of both. */
static inline void store_columns(float *dst, int width, __m512 v)
{
    v = _mm512_shuffle_f32x4(v, v, 0xd8);
    _mm256_storeu_ps(dst, _mm512_castps512_ps256(v));
    _mm256_storeu_pd((double *)(dst + 4 * width), _mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
}

/* Element (i, p) goes from src[i * ld + p] to dst[p * width + i], for i and p below BLOCK. */
static inline void transpose_block(const float *src, size_t ld, float *dst, int width)
{
    const __m512 r0 = load_rows(src, ld, 0), r1 = load_rows(src, ld, 1);
    const __m512 a = _mm512_unpacklo_ps(r0, r1), b = _mm512_unpackhi_ps(r0, r1);
    const __m512 r2 = load_rows(src, ld, 2), r3 = load_rows(src, ld, 3);
    const __m512 c = _mm512_unpacklo_ps(r2, r3), d = _mm512_unpackhi_ps(r2, r3);
    store_columns(dst, width, _mm512_shuffle_ps(a, c, 0x44));
    store_columns(dst + width, width, _mm512_shuffle_ps(a, c, 0xee));
    store_columns(dst + 2 * width, width, _mm512_shuffle_ps(b, d, 0x44));
    store_columns(dst + 3 * width, width, _mm512_shuffle_ps(b, d, 0xee));
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
