/* SPDX-License-Identifier: MIT */
/*
 * AVX2 and FMA: 4 x 24.
 *
 * - The tile: 12 accumulators + 3 of B + 1 of A = all 16 ymm; 7 loads for 12 FMAs. 6 x 16 needs 8
 *   loads, and N = 169 = 7 * 24 + 1 leaves fewer columns than 10 * 16 + 9.
 * - Tail columns along K: 2 rows of A by 6 columns = 12 accumulators + 2 of A + 1 of B.
 * - The pooled tile: 3 filters by 4 vectors = 12 accumulators + 3 of A + 1 of pixels; 7 loads.
 * - KC = 256, or up to 384 where A is not packed: a panel of A is 4 * 256 * 4 = 4 KiB and a strip
 *   of B 24 * 256 * 4 = 24 KiB. Together they fit an L1 of 32 KiB.
 * - MC = 128: the block of A is 128 * 256 * 4 = 128 KiB. It fits an L2 of 256 KiB.
 * - A_HOME = GEMM_A_IN_L2: a step takes 6 cycles and needs 4 floats of A. L3 is too slow for that.
 * - TURN = 4: a tile takes 1536 cycles. A call for each would add 100.
 * - A tile is one and a half cache lines wide, and a wide strip is whole lines.
 */
#if defined(__x86_64__)
#include "packed/isa/ukernel.h"

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

#define ISA avx2
#define VL 8
#define NV 3
#define MR 4
#define MC 128
#define KC 256
#define TURN 4
#define BAND_TURN 9
#define SHORT_K 129
#define A_HOME GEMM_A_IN_L2
#define TILES_WIDE 4
#define WIDE_ROWS 16
#define TAIL_UNIT 8
#define TAIL_MOST 4
#define ALONG_K_COLS 6
#define NCHWC_PLACES(nv) (12 / (nv))
#define POOL_ROWS 3
#define TILE_TUNING

typedef __m256 vec;
#define vzero() _mm256_setzero_ps()
#define vset1(x) _mm256_set1_ps(x)
#define vload(p) _mm256_loadu_ps(p)
#define vstore(p, v) _mm256_storeu_ps(p, v)
#define vload_part(p, n) _mm256_maskload_ps(p, first(n))
#define vstore_part(p, n, v) _mm256_maskstore_ps(p, first(n), v)
#define vfma(a, b, c) _mm256_fmadd_ps(a, b, c)
/* As an intrinsic, gcc may move accumulators between registers, and then it has too few. */
#define vfma_to(c, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "x"(b))
/* By the sign bit. For +0 and NaN this takes x, but y is the same there. */
#define vif_positive(x, y) _mm256_blendv_ps(x, y, x)
#define vmax(x, m) _mm256_max_ps(x, m)
#define vstore_low(p, v) _mm_storeu_ps(p, _mm256_castps256_ps128(v))
#define vstore_high(p, v) _mm_storeu_ps(p, _mm256_extractf128_ps(v, 1))
#define vkeep(v) __asm__("" : "+x"(v))

/*
 * A step of a whole tile, see step() in ukernel_tile.h. It needs all 16 registers. From intrinsics
 * gcc moves accumulators to memory and back. Two statements, because one may have no more than 30
 * operands.
 */
#define step_whole step_whole
INLINE void step_whole(const float *a, size_t a_row, const float *b, __m256 acc[MR][NV])
{
    __m256 b0, b1, b2, x;
    __asm__("vmovups %[p0], %[b0]\n\t"
            "vmovups %[p1], %[b1]\n\t"
            "vmovups %[p2], %[b2]\n\t"
            "vbroadcastss %[a0], %[x]\n\t"
            "vfmadd231ps %[b0], %[x], %[c0]\n\t"
            "vfmadd231ps %[b1], %[x], %[c1]\n\t"
            "vfmadd231ps %[b2], %[x], %[c2]\n\t"
            "vbroadcastss %[a1], %[x]\n\t"
            "vfmadd231ps %[b0], %[x], %[c3]\n\t"
            "vfmadd231ps %[b1], %[x], %[c4]\n\t"
            "vfmadd231ps %[b2], %[x], %[c5]"
            : [c0] "+x"(acc[0][0]), [c1] "+x"(acc[0][1]), [c2] "+x"(acc[0][2]),
              [c3] "+x"(acc[1][0]), [c4] "+x"(acc[1][1]), [c5] "+x"(acc[1][2]),
              [b0] "=&x"(b0), [b1] "=&x"(b1), [b2] "=&x"(b2), [x] "=&x"(x)
            : [a0] "m"(a[0]), [a1] "m"(a[a_row]), [p0] "m"(*(const __m256_u *)b),
              [p1] "m"(*(const __m256_u *)(b + VL)), [p2] "m"(*(const __m256_u *)(b + 2 * VL)));
    __asm__("vbroadcastss %[a2], %[x]\n\t"
            "vfmadd231ps %[b0], %[x], %[c0]\n\t"
            "vfmadd231ps %[b1], %[x], %[c1]\n\t"
            "vfmadd231ps %[b2], %[x], %[c2]\n\t"
            "vbroadcastss %[a3], %[x]\n\t"
            "vfmadd231ps %[b0], %[x], %[c3]\n\t"
            "vfmadd231ps %[b1], %[x], %[c4]\n\t"
            "vfmadd231ps %[b2], %[x], %[c5]"
            : [c0] "+x"(acc[2][0]), [c1] "+x"(acc[2][1]), [c2] "+x"(acc[2][2]),
              [c3] "+x"(acc[3][0]), [c4] "+x"(acc[3][1]), [c5] "+x"(acc[3][2]), [x] "=&x"(x)
            : [a2] "m"(a[2 * a_row]), [a3] "m"(a[3 * a_row]), [b0] "x"(b0), [b1] "x"(b1),
              [b2] "x"(b2));
}

/* The mask of the first n floats, read from a table of ones and zeroes. */
static inline __m256i first(int n)
{
    static const int mask[2 * VL] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(mask + VL - n));
}

#define vload_valid vload_valid
static inline __m256 vload_valid(const float *p, unsigned bits)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i set = _mm256_and_si256(_mm256_set1_epi32((int)bits), bit);
    return _mm256_maskload_ps(p, _mm256_cmpeq_epi32(set, bit));
}

/* A shuffle works in each half of 4 floats alone. So the low halves of a and b come first, then
   their high halves. */
static inline __m256 low_halves(__m256 a, __m256 b) { return _mm256_permute2f128_ps(a, b, 0x20); }
static inline __m256 high_halves(__m256 a, __m256 b) { return _mm256_permute2f128_ps(a, b, 0x31); }

static inline __m256 vevens(__m256 a, __m256 b)
{
    return _mm256_shuffle_ps(low_halves(a, b), high_halves(a, b), 0x88);
}

static inline __m256 vodds(__m256 a, __m256 b)
{
    return _mm256_shuffle_ps(low_halves(a, b), high_halves(a, b), 0xdd);
}

static inline float vsum(vec v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

INLINE __m256 vsums(const __m256 *v, const int n)
{
    const __m256 zero = vzero();
    const __m256 a = _mm256_hadd_ps(v[0], n > 1 ? v[1] : zero);
    const __m256 b = _mm256_hadd_ps(n > 2 ? v[2] : zero, n > 3 ? v[3] : zero);
    const __m256 c = _mm256_hadd_ps(n > 4 ? v[4] : zero, n > 5 ? v[5] : zero);
    const __m256 low = _mm256_hadd_ps(a, b), high = _mm256_hadd_ps(c, zero);
    return _mm256_permute2f128_ps(low, high, 0x20) + _mm256_permute2f128_ps(low, high, 0x31);
}

/* 4 x 4, because an 8 x 8 block has more rows than a panel. */
enum { BLOCK = 4, TALL = BLOCK };
#define transpose_tall transpose_block

static inline void transpose_block(const float *src, size_t ld, float *dst, int width)
{
    __m128 r0 = _mm_loadu_ps(src), r1 = _mm_loadu_ps(src + ld);
    __m128 r2 = _mm_loadu_ps(src + 2 * ld), r3 = _mm_loadu_ps(src + 3 * ld);
    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    _mm_storeu_ps(dst, r0);
    _mm_storeu_ps(dst + width, r1);
    _mm_storeu_ps(dst + 2 * width, r2);
    _mm_storeu_ps(dst + 3 * width, r3);
}

static bool isa_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#include "packed/isa/ukernel_body.h"
#endif
