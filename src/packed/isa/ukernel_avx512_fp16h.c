/* SPDX-License-Identifier: MIT */
/*
 * Pairs of fp16 by the arithmetic of AVX512_FP16, in short sums of 16 bits. An instruction does
 * twice the multiply-adds of single precision. The sums are those of asimdhp_fp16.
 */
#if defined(__x86_64__)
#include "packed/isa/pairs.h"

#include <cpuid.h>
#include <immintrin.h>

#define ISA avx512_fp16h
#define PAIRS gemm_ukernel_avx512
#define OWN_TILE "packed/isa/ukernel_short_sums.h"
#define OWN_FORMAT GEMM_FP16
#define OWN_PART .65
#define TURN 0
#define SHORT_ROWS 32
#define SHORT_RUN "packed/isa/ukernel_short_run_avx512.h"

static void pair_rows(int n, const float *low, const float *high, gemm_pair *pairs)
{
    gemm_pairs_avx512_fp16.rows(n, low, high, pairs);
}

static void pair_along(int n, const float *x, gemm_pair *pairs)
{
    gemm_pairs_avx512_fp16.along(n, x, pairs);
}

static bool pair_supported(void)
{
    enum { AVX512_FP16 = 1 << 23 };
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AVX512_FP16);
}

#include "packed/isa/ukernel_avx512.c"
#endif
