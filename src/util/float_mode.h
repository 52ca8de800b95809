/* SPDX-License-Identifier: MIT */
/*
 * How a thread rounds floats, and whether it takes denormal ones for zero. A host may change that
 * for its thread alone.
 *
 * x86-64 has it in MXCSR, arm64 in FPCR, armhf in FPSCR. Other processors have the rounding only,
 * by fenv.h. Traps and flags are no part of it.
 */
#ifndef GEMM_FLOAT_MODE_H
#define GEMM_FLOAT_MODE_H

#include <stdint.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#elif !defined(__aarch64__) && !defined(__ARM_PCS_VFP)
#include <fenv.h>
#endif

typedef uint64_t gemm_float_mode;

static inline gemm_float_mode gemm_get_float_mode(void)
{
#if defined(__SSE__)
    enum { DAZ = 1 << 6, RC = 3 << 13, FTZ = 1 << 15 };
    return _mm_getcsr() & (DAZ | RC | FTZ);
#elif defined(__aarch64__)
    enum { FIZ_AH = 3, FZ16 = 1 << 19, RMODE = 3 << 22, FZ = 1 << 24, DN = 1 << 25 };
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr & (FIZ_AH | FZ16 | RMODE | FZ | DN);
#elif defined(__ARM_PCS_VFP)
    enum { RMODE = 3 << 22, FZ = 1 << 24, DN = 1 << 25 };
    uint32_t fpscr;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(fpscr));
    return fpscr & (RMODE | FZ | DN);
#else
    return (gemm_float_mode)fegetround();
#endif
}

static inline void gemm_set_float_mode(gemm_float_mode mode)
{
    const gemm_float_mode change = gemm_get_float_mode() ^ mode;
    if (change == 0) return;
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() ^ (unsigned)change);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr ^ change));
#elif defined(__ARM_PCS_VFP)
    uint32_t fpscr;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(fpscr));
    __asm__ volatile("vmsr fpscr, %0" : : "r"(fpscr ^ (uint32_t)change));
#else
    fesetround((int)mode);
#endif
}

#endif
