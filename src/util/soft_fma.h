/* SPDX-License-Identifier: MIT */
/*
 * a * b + c, rounded once, for processors without an instruction for it.
 *
 * The product of two floats has at most 48 bits, so it is exact in double precision. The sum may
 * not be: then it is rounded to odd, which means that a last bit that was lost shows in the last
 * bit that is kept. The step from double to float then rounds as if nothing had been lost, because
 * a double has more than two bits more than a float.
 *
 * Source: Boldo, Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
 * rounding to odd", 2008. The error of a sum is Knuth's TwoSum.
 */
#ifndef GEMM_UTIL_SOFT_FMA_H
#define GEMM_UTIL_SOFT_FMA_H

#include <stdint.h>
#include <string.h>

/* For rounding to nearest, and denormals that are not taken for zero. */
static inline float gemm_soft_fma(float a, float b, float c)
{
    const double product = (double)a * b, sum = product + c;
    const double of_c = sum - product, error = (product - (sum - of_c)) + (c - of_c);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    /* NaN and infinity have an error of NaN, which is neither. */
    if (error > 0 || error < 0) {
        if (!(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : UINT64_MAX;
    }
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    return (float)odd;
}

#endif
