/* SPDX-License-Identifier: MIT */
/*
 * What the rows in 8 bits have in common: which layers they take, and how a number is rounded.
 */
#ifndef INT8_LAYER_H
#define INT8_LAYER_H

#include "gemm_variant.h"

#include <stdint.h>
#include <string.h>

/* The most taps of a filter in one channel: 11 x 11. */
enum { GEMM_INT8_MOST_TAPS = 121 };

/* Whether a convolution goes in 8 bits. `scale` and `way` as gemm_context has them. */
bool gemm_int8_takes(const conv_call *, const struct gemm_scale *scale, const char *way);

/* A 1x1 layer with few channels or filters. Its noise reaches all layers behind it, so it goes in 8
   bits only where the error of the network's outputs was measured (docs/log/int8.md). */
bool gemm_int8_is_narrow(const conv_call *);

/* The step of a filter of n weights, max |w| / 127; *inverse is 1 / step, or 0 where that is not
   finite. Returns false where a weight is not finite. */
bool gemm_int8_step(const float *w, int n, float *step, float *inverse);

/* The byte of x * inverse + zero, limited to -128 .. 127, to nearest, ties to even. `zero`: the
   byte of 0. NaN becomes 127. Adding 1.5 * 2^23 leaves the rounded number in the lowest bits. */
static inline uint32_t gemm_int8_byte(float x, float inverse, int zero)
{
    const float most = (float)(127 - zero), least = (float)(-128 - zero);
    uint32_t bits;
    float y = x * inverse;
    y = y < most ? y : most;
    y = y > least ? y : least;
    y += (float)(3 * (1 << 22) + zero);
    memcpy(&bits, &y, sizeof bits);
    return bits & 255;
}

#endif
