/* SPDX-License-Identifier: MIT */
/*
 * AVX-512: 8 x 48.
 *
 * - The tile: 24 accumulators + 3 of B + 1 of A = 28 of 32 zmm; 11 loads for 24 FMAs. Tiles of 1 to
 *   3 vectors suit Darknet's N = 169 = 48 + 48 + 32 + 32 + 9.
 * - The pooled tile: 6 filters by 4 vectors = 24 accumulators + 6 of A + 1 of pixels; 10 loads.
 * - Tail columns along K: 2 rows of A by up to 9 columns = 18 accumulators + 2 of A + 1 of B. N of
 *   a square map is a square, and N % 16 is then 0, 1, 4 or 9. Nine columns take 9/16 of the time
 *   of a full vector.
 * - KC = 384, or 576 where A is not packed: a panel of A is 8 * 576 * 4 = 18 KiB and fits L1. A
 *   strip of B is 48 * 576 * 4 = 108 KiB and streams from L2: 192 bytes in the 12 cycles of a step.
 *   C is read and written once in KC steps.
 * - MC = 256: the block of A is 256 * 384 * 4 = 384 KiB. L2 is at least 1 MiB on such processors.
 *   It holds the block, this strip, the next one and the one that is prefetched.
 * - A_HOME = GEMM_A_IN_L3: a step takes 12 cycles and needs 8 floats of A. L3 delivers them.
 * - TURN = 4: the integer instructions of a step compete with its FMAs for ports, so four steps
 *   share them.
 */
#if defined(__x86_64__)
#include "packed/isa/ukernel.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef ISA
#define ISA avx512
#endif
#define VL 16
#define NV 3
#define MR 8
#define MC 256
#define KC 384
#ifndef TURN
#define TURN 4
#endif
#define BAND_TURN 1
#define SHORT_K 64
#define A_HOME GEMM_A_IN_L3
#define TILES_WIDE 2
#define WIDE_ROWS 16
#define TAIL_UNIT 16
#define TAIL_MOST 9
#define ALONG_K_COLS 9
#define POOL_ROWS 6

/* With its default tuning gcc keeps addresses in vector registers. Reading one back waits for
   all FMAs before it. Functions of another tuning are inlined only if they are INLINE, so all parts
   of a tile are. */
#define TILE_TUNING __attribute__((target("tune=skylake-avx512")))

typedef __m512 vec;
#define FIRST(n) ((__mmask16)((1u << (n)) - 1))
#define vzero() _mm512_setzero_ps()
#define vset1(x) _mm512_set1_ps(x)
#define vload(p) _mm512_loadu_ps(p)
#define vstore(p, v) _mm512_storeu_ps(p, v)
#define vload_part(p, n) _mm512_maskz_loadu_ps(FIRST(n), p)
#define vstore_part(p, n, v) _mm512_mask_storeu_ps(p, FIRST(n), v)
#define vfma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define vif_positive(x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, vzero(), _CMP_GT_OQ), y, x)
#define vstore_low(p, v) _mm256_storeu_ps(p, _mm512_castps512_ps256(v))
#define vstore_high(p, v) \
    _mm256_storeu_pd((double *)(p), _mm512_extractf64x4_pd(_mm512_castps_pd(v), 1))
#define vmax(x, m) _mm512_max_ps(x, m)
#define vsum(v) _mm512_reduce_add_ps(v)
#define vkeep(v) __asm__("" : "+v"(v))

/* Of low halves: Zen 4 has two FMA units of 256 bits, and joins them for one FMA of 512. From
   intrinsics the compiler would make moves between halves and vectors. */
#ifndef PAIRS
#define HALVES 1
#define LOW(text, c, ...) __asm__(text : "=v"(c) : __VA_ARGS__)
#define load_low(v, p) LOW("vmovups %1, %t0", v, "m"(*(const __m256_u *)(p)))
#define store_low(p, v) vstore_low(p, v)
#define multiply_low(c, a, b) LOW("vmulps %t2, %t1, %t0", c, "v"(a), "v"(b))
#define max_low(c, x, m) LOW("vmaxps %t2, %t1, %t0", c, "v"(x), "v"(m))
#define fma_low_to(c, a, b) __asm__("vfmadd231ps %t2, %t1, %t0" : "+v"(c) : "v"(a), "v"(b))
#define fma_low_by(c, p, b) \
    __asm__("vfmadd231ps %1%{1to8%}, %t2, %t0" : "+v"(c) : "m"(*(p)), "v"(b))
#endif

/* An 8 x 8 block takes 4 registers, which the tile has free beside its accumulators. It takes 8
   loads, 12 shuffles and 8 stores for 64 floats. */
enum { BLOCK = 8 };

/* A vector of two rows of 8 floats: row i, then row i + apart. */
INLINE __m512 load_rows(const float *src, size_t ld, int i, int apart)
{
    const __m512d low = _mm512_broadcast_f64x4(_mm256_loadu_pd((const double *)(src + i * ld)));
    const __m256d high = _mm256_loadu_pd((const double *)(src + (i + apart) * ld));
    return _mm512_castpd_ps(_mm512_mask_broadcast_f64x4(low, 0xf0, high));
}

/* Stores columns p and p + 4 of a block. The quarters of v are rows 0-3 of p, rows 0-3 of p + 4,
   rows 4-7 of p, rows 4-7 of p + 4. */
INLINE void store_columns(float *dst, int width, __m512 v)
{
    v = _mm512_shuffle_f32x4(v, v, 0xd8);
    _mm256_storeu_ps(dst, _mm512_castps512_ps256(v));
    _mm256_storeu_pd((double *)(dst + 4 * width), _mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
}

/* Transposes the 4 x 4 floats that each quarter of the four registers holds. */
INLINE void transpose_quarters(__m512 r[4])
{
    const __m512 a = _mm512_unpacklo_ps(r[0], r[1]), b = _mm512_unpackhi_ps(r[0], r[1]);
    const __m512 c = _mm512_unpacklo_ps(r[2], r[3]), d = _mm512_unpackhi_ps(r[2], r[3]);
    r[0] = _mm512_shuffle_ps(a, c, 0x44);
    r[1] = _mm512_shuffle_ps(a, c, 0xee);
    r[2] = _mm512_shuffle_ps(b, d, 0x44);
    r[3] = _mm512_shuffle_ps(b, d, 0xee);
}

INLINE void transpose_block(const float *src, size_t ld, float *dst, int width)
{
    __m512 r[4];
    _Pragma("GCC unroll 4")
    for (int i = 0; i < 4; ++i) r[i] = load_rows(src, ld, i, 4);
    transpose_quarters(r);
    _Pragma("GCC unroll 4")
    for (int p = 0; p < 4; ++p) store_columns(dst + p * width, width, r[p]);
}

/* 16 rows take 8 registers, and 16 loads, 24 shuffles and 8 stores for 128 floats. `low` holds
   rows 0-3 and 8-11, `high` rows 4-7 and 12-15, both of columns p and p + 4. */
enum { TALL = 16 };
static inline void transpose_tall(const float *src, size_t ld, float *dst, int width)
{
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const __m512i second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    __m512 low[4], high[4];
    _Pragma("GCC unroll 4")
    for (int i = 0; i < 4; ++i) {
        low[i] = load_rows(src, ld, i, 8);
        high[i] = load_rows(src, ld, i + 4, 8);
    }
    transpose_quarters(low);
    transpose_quarters(high);
    _Pragma("GCC unroll 4")
    for (int p = 0; p < 4; ++p, dst += width) {
        const __m512d l = _mm512_castps_pd(low[p]), h = _mm512_castps_pd(high[p]);
        _mm512_storeu_pd(dst, _mm512_permutex2var_pd(l, first, h));
        _mm512_storeu_pd(dst + 4 * width, _mm512_permutex2var_pd(l, second, h));
    }
}

/* Two vectors become one with a half for each, whose 8 floats have the same sum as the vector's
   16. */
static inline __m512 add_halves(__m512 a, __m512 b)
{
    return _mm512_shuffle_f32x4(a, b, 0x44) + _mm512_shuffle_f32x4(a, b, 0xee);
}

/* The same: four vectors, two in each operand, become one with a quarter for each. */
static inline __m512 add_quarters(__m512 ab, __m512 cd)
{
    return _mm512_shuffle_f32x4(ab, cd, 0x88) + _mm512_shuffle_f32x4(ab, cd, 0xdd);
}

/* Quarter q of four[i] has the sum of v[i + 4 * q]. A transpose of the quarters, with additions,
   then leaves one float for each vector. */
INLINE __m512 vsums(const __m512 *v, const int n)
{
    const __m512 zero = vzero();
    __m512 four[4];
    _Pragma("GCC unroll 4")
    for (int i = 0; i < 4; ++i) {
        const __m512 a = i < n ? v[i] : zero, b = i + 4 < n ? v[i + 4] : zero;
        const __m512 c = i + 8 < n ? v[i + 8] : zero, d = i + 12 < n ? v[i + 12] : zero;
        four[i] = add_quarters(add_halves(a, b), add_halves(c, d));
    }
    const __m512 low = _mm512_unpacklo_ps(four[0], four[1]) + _mm512_unpackhi_ps(four[0], four[1]);
    const __m512 high = _mm512_unpacklo_ps(four[2], four[3]) + _mm512_unpackhi_ps(four[2], four[3]);
    return _mm512_shuffle_ps(low, high, 0x44) + _mm512_shuffle_ps(low, high, 0xee);
}

#define vload_valid(p, bits) _mm512_maskz_loadu_ps(bits, p)

static inline __m512 vevens(__m512 a, __m512 b)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(a, even, b);
}

static inline __m512 vodds(__m512 a, __m512 b)
{
    const __m512i odd =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(a, odd, b);
}

static bool isa_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("fma");
}

#include "packed/isa/ukernel_body.h"
#endif
