/* SPDX-License-Identifier: MIT */
/*
 * Pairs by BFDOT of Armv8.6: the tile of ukernel_neon.c. BFDOT takes the place of an FMA, and does
 * twice its multiply-adds. It rounds a sum to odd, which is off by one unit and not by half of one:
 * the bound of single precision allows for two halves.
 */
#if defined(__aarch64__)
#include "packed/isa/pairs.h"

#include <arm_neon.h>
#include <sys/auxv.h>

#define ISA neon_bf16
#define PAIRS gemm_ukernel_neon
#define halves(v) vreinterpretq_bf16_f32(v)
#define vfma_to(c, a, b) ((c) = vbfdotq_f32(c, halves(a), halves(b)))
#define multiply_add(c, x, b)                                                                      \
    __asm__ volatile("bfdot %0.4s, %1.8h, %2.2h[0]" : "+w"(c) : "w"(b), "w"(x))

#include "packed/isa/ukernel_round.h"

static bool pair_supported(void)
{
    enum { BF16 = 1 << 14 };    /* HWCAP2_BF16 of Linux */
    return getauxval(AT_HWCAP2) & BF16;
}

#include "packed/isa/ukernel_neon.c"
#endif
