/* SPDX-License-Identifier: MIT */
/*
 * Pairs by AMX: 32 x 48, six registers of sums; in nchwc 32 places by 48 channels.
 *
 * - Panels of A are in the order in which they are read. Rows far apart took up to 1.25 of the
 *   time.
 * - KC = 384, or 576 at most: a strip of B is 48 * 576 * 4 = 108 KiB and stays in L2. C is added
 *   to less often than with one in L1.
 * - A stays in L2: 16 steps take 96 cycles and need 2 KiB of A. L3 is too slow for that.
 * - Columns along K: none, because a register of 16 columns takes less time.
 */
#if defined(__x86_64__)
#define ISA amx_bf16
#define OWN_TILE "packed/isa/ukernel_amx.h"
#define OWN_FORMAT GEMM_BF16
#define TURN 0
#define OWN_PART .3
#define OWN_SUPPORTED amx_supported()
#define OWN_ONLY_IN_L2 true

#include <cpuid.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux lets a process use the registers after a request. */
static bool amx_permitted(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18 };
    return !syscall(SYS_arch_prctl, REQUEST, TILE_DATA);
}

static bool amx_supported(void)
{
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return (d & AMX_BF16) && (d & AMX_TILE) && amx_permitted();
}

#include "packed/isa/ukernel_avx512_bf16.c"
#endif
