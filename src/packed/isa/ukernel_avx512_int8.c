/* SPDX-License-Identifier: MIT */
/* Quads by AVX512_VNNI: 8 x 48. 24 sums + 3 of B + 1 of A = 28 of 32 registers; 11 loads for 24 dot
   products. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <stdint.h>

#define ISA avx512_int8
#define BASE gemm_ukernel_avx512
#define VL 16
#define NV 3
#define MR 8
#define OFFSET true

typedef int32_t vint __attribute__((vector_size(VL * sizeof(int32_t))));
#define vint_set(x) (vint)_mm512_set1_epi32(x)
#define vint_load(p) (vint)_mm512_loadu_si512(p)
#define vint_max(x, y) (vint)_mm512_max_epi32((__m512i)(x), (__m512i)(y))
#define vint_min(x, y) (vint)_mm512_min_epi32((__m512i)(x), (__m512i)(y))
#define vint_swap(x) (vint)_mm512_shuffle_epi32((__m512i)(x), _MM_PERM_CDAB)

/* The factor without a sign is that of B, or turned that of A. */
#define dot_unsigned(sum, x, y)                                                                    \
    (vint)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(x), (__m512i)(y))
#define dot(sum, b, a, turned) ((turned) ? dot_unsigned(sum, a, b) : dot_unsigned(sum, b, a))

#define by_slope(y, slope)                                                                         \
    ((floats)_mm512_mask_mul_ps(y, _mm512_cmp_ps_mask(y, _mm512_setzero_ps(), _CMP_NGT_UQ), y,     \
                                slope))

static _Bool quads_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vnni");
}

#include "packed/isa/ukernel_quads.h"
#endif
