/* SPDX-License-Identifier: MIT */
/* Numbers of 16 and 8 bits: see rounded.h. */
#include "support/rounded.h"

#include <float.h>
#include <math.h>

/* A multiple of a power of two, ties to even. */
static float multiple(float x, int power)
{
    return (float)ldexp(nearbyint(ldexp(x, -power)), power);
}

float rounded_half(gemm_format format, float x)
{
    int exponent;
    if (!isfinite(x)) return x;
    frexp(x, &exponent);
    if (format == GEMM_BF16) {
        return fabsf(x) < FLT_MIN ? copysignf(0, x) : multiple(x, exponent - 8);
    }
    if (fabsf(x) >= 65520) return copysignf(INFINITY, x);
    return copysignf(multiple(x, exponent < -13 ? -24 : exponent - 11), x);
}

int rounded_byte(float x, float inverse, int zero)
{
    const float y = x * inverse;
    const double byte = (double)y + zero;
    if (!(byte < 127)) return 127 - zero;       /* NaN too */
    return (byte > -128 ? (int)nearbyint(byte) : -128) - zero;
}

int draw_zero(rng *r)
{
    static const int zeros[] = {0, 0, -128, 127};
    return rng_below(r, 2) ? zeros[rng_below(r, 4)] : rng_below(r, 256) - 128;
}

float finished(float slope, long long sum, float scale, float shift)
{
    volatile float y = (float)sum;
    y = y * scale;
    y = y + shift;
    return y > 0 ? y : slope * y;
}
