/* SPDX-License-Identifier: MIT */
/*
 * Pairs by BFMMLA of Armv8.6: an instruction does four times the multiply-adds of an FMA, and
 * every processor that has BFDOT has it.
 */
#if defined(__aarch64__)
#include "packed/isa/pairs.h"

#include <arm_neon.h>
#include <sys/auxv.h>

#define ISA neon_bf16
#define PAIRS gemm_ukernel_neon
#define OWN_NCHWC_STEPS "packed/isa/ukernel_bfmmla.h"
#define OWN_TILE "packed/isa/ukernel_bfmmla_tile.h"
#define OWN_FORMAT GEMM_BF16
#define OWN_PART .4

#include "packed/isa/ukernel_round.h"

static bool pair_supported(void)
{
    enum { BF16 = 1 << 14 };    /* HWCAP2_BF16 of Linux */
    return getauxval(AT_HWCAP2) & BF16;
}

#include "packed/isa/ukernel_neon.c"
#endif
