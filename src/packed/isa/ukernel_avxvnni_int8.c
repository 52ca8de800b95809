/* SPDX-License-Identifier: MIT */
/* Quads by AVX-VNNI, of processors without AVX-512: 4 x 24. 12 sums + 3 of B + 1 of A = all 16
   registers. */
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>

#define ISA avxvnni_int8
#define BASE gemm_ukernel_avx2
#define VL 8
#define NV 3
#define MR 4
#define OFFSET true

typedef int32_t vint __attribute__((vector_size(VL * sizeof(int32_t))));
#define vint_set(x) (vint)_mm256_set1_epi32(x)
#define vint_max(x, y) (vint)_mm256_max_epi32((__m256i)(x), (__m256i)(y))
#define vint_min(x, y) (vint)_mm256_min_epi32((__m256i)(x), (__m256i)(y))
#define vint_swap(x) (vint)_mm256_shuffle_epi32((__m256i)(x), 0xb1)
#define vint_load(p) (vint)_mm256_loadu_si256((const __m256i *)(p))

/* The factor without a sign is that of B, or turned that of A. */
#define dot_unsigned(sum, x, y)                                                                    \
    (vint)_mm256_dpbusd_avx_epi32((__m256i)(sum), (__m256i)(x), (__m256i)(y))
#define dot(sum, b, a, turned) ((turned) ? dot_unsigned(sum, a, b) : dot_unsigned(sum, b, a))

/* clang 14 knows no name for it. */
static _Bool quads_supported(void)
{
    enum { AVX_VNNI = 1 << 4 };
    unsigned a = 0, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
           (a & AVX_VNNI);
}

#include "packed/isa/ukernel_quads.h"
#endif
