/* SPDX-License-Identifier: MIT */
/*
 * Quads by AVX2: 4 x 16. VPMADDUBSW would multiply bytes, but it limits the sum of two products to
 * 16 bits, and 2 * 127 * 255 does not fit. So bytes become numbers of 16 bits, and VPMADDWD adds
 * two products in 32 bits:
 *
 *     a quad              | 3 | 2 | 1 | 0 |
 *     its even bytes      |   2   |   0   |       shifted left by 8, then right with the sign
 *     its odd bytes       |   3   |   1   |       shifted right with the sign
 *
 * 8 sums + 4 of B + 2 of A + 1 for a product = 15 of 16 registers.
 */
#if defined(__x86_64__)
#include <immintrin.h>
#include <stdint.h>

#define ISA avx2_int8
#define BASE gemm_ukernel_avx2
#define VL 8
#define NV 2
#define MR 4
#define OFFSET false

typedef int32_t vint __attribute__((vector_size(VL * sizeof(int32_t))));
#define vint_set(x) (vint)_mm256_set1_epi32(x)
#define vint_max(x, y) (vint)_mm256_max_epi32((__m256i)(x), (__m256i)(y))
#define vint_min(x, y) (vint)_mm256_min_epi32((__m256i)(x), (__m256i)(y))
#define vint_swap(x) (vint)_mm256_shuffle_epi32((__m256i)(x), 0xb1)
#define even_bytes(v) _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8)
#define odd_bytes(v) _mm256_srai_epi16(v, 8)

#define STEP(c, a, B, p, nv, turned)                                                               \
    {                                                                                              \
        __m256i even[NV], odd[NV];                                                                 \
        _Pragma("GCC unroll 8") for (int v = 0; v < nv; ++v) {                                     \
            const __m256i column = _mm256_loadu_si256((const __m256i *)B(p, v));                   \
            even[v] = even_bytes(column), odd[v] = odd_bytes(column);                              \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (int i = 0; i < MR; ++i) {                                     \
            const __m256i row = _mm256_set1_epi32((int)a[i]);                                      \
            const __m256i low = even_bytes(row), high = odd_bytes(row);                            \
            _Pragma("GCC unroll 8") for (int v = 0; v < nv; ++v) {                                 \
                c[i][v] += (vint)_mm256_madd_epi16(even[v], low);                                  \
                c[i][v] += (vint)_mm256_madd_epi16(odd[v], high);                                  \
            }                                                                                      \
        }                                                                                          \
    }

static _Bool quads_supported(void)
{
    return __builtin_cpu_supports("avx2");
}

#include "packed/isa/ukernel_quads.h"
#endif
