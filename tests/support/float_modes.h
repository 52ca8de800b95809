/* SPDX-License-Identifier: MIT */
/*
 * The ways in which a host may have its thread compute floats: where it rounds to, and whether
 * denormal numbers are zero. A test sets one, compares, and sets NEAREST again.
 */
#ifndef FLOAT_MODES_H
#define FLOAT_MODES_H

#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>
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

#endif
