/* SPDX-License-Identifier: MIT */
/*
 * The ways in which a host may have its thread compute floats: where it rounds to, and whether
 * denormal numbers are zero. A test sets one, compares, and sets NEAREST again.
 */
#ifndef FLOAT_MODES_H
#define FLOAT_MODES_H

#include <fenv.h>
#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { NEAREST, UPWARD, DOWNWARD, TOWARD_ZERO, FLUSHED, FLOAT_MODES };

static const char *const float_mode_names[FLOAT_MODES] = {"nearest", "upward", "downward",
                                                          "toward zero", "denormals are zero"};

/* Both what is read and what is computed. */
static inline void float_mode_flush(bool on)
{
#if defined(__SSE__)
    _mm_setcsr(on ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u);
#elif defined(__riscv)
    (void)on;   /* it never does */
#elif defined(__aarch64__)
    const uint64_t bit = UINT64_C(1) << 24;
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(on ? fpcr | bit : fpcr & ~bit));
#elif defined(__ARM_PCS_VFP)
    const uint32_t bit = 1u << 24;
    uint32_t fpscr;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(fpscr));
    __asm__ volatile("vmsr fpscr, %0" : : "r"(on ? fpscr | bit : fpscr & ~bit));
#else
#error "say how this processor takes denormal numbers for zero"
#endif
}

static inline void float_mode_set(int mode)
{
    static const int rounding[FLOAT_MODES] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO,
                                              FE_TONEAREST};
    fesetround(rounding[mode]);
    float_mode_flush(mode == FLUSHED);
}

/* How far off a small number may be on an instruction set: NEON of armv7 takes denormals for zero,
   whatever the mode is. */
static inline float float_mode_least(const char *isa)
{
    return strncmp(isa, "neon32", strlen("neon32")) ? FLT_TRUE_MIN : FLT_MIN;
}

#endif
