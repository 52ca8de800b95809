/* SPDX-License-Identifier: MIT */
/*
 * Pairs of fp16 by the arithmetic of Armv8.2 (`asimdhp` in /proc/cpuinfo), in short sums of 16
 * bits. An instruction does twice the multiply-adds of single precision.
 */
#if defined(__aarch64__)
#include "packed/isa/pairs.h"

#include <arm_neon.h>
#include <sys/auxv.h>

#define ISA asimdhp_fp16
#define PAIRS gemm_ukernel_neon
#define OWN_TILE "packed/isa/ukernel_short_sums.h"
#define OWN_FORMAT GEMM_FP16
#define OWN_PART .65

static void pair_rows(int n, const float *low, const float *high, gemm_pair *pairs)
{
    gemm_pairs_neon_fp16.rows(n, low, high, pairs);
}

static void pair_along(int n, const float *x, gemm_pair *pairs)
{
    gemm_pairs_neon_fp16.along(n, x, pairs);
}

static bool pair_supported(void)
{
    enum { ASIMDHP = 1 << 10 };         /* HWCAP_ASIMDHP of Linux */
    return getauxval(AT_HWCAP) & ASIMDHP;
}

#include "packed/isa/ukernel_neon.c"
#endif
