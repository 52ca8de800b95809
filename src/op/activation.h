/* SPDX-License-Identifier: MIT */
/* The table of activations (kernels/cl_activations.h) in double precision. */
#ifndef GEMM_ACTIVATION_H
#define GEMM_ACTIVATION_H

#include "gemm_variant.h"

#include <math.h>

static inline double gemm_activate(double x, conv_activation a)
{
#define ACT_EXP(x) exp(x)
#define ACT_SIGMOID(x) (1 / (1 + exp(-(x))))
#define ACT_LEAST(x, most) ((x) > (most) ? (most) : (x))
#define ACT_IF(x, a, b) ((x) > 0 ? (a) : (b))
#define ACT_IF_ELSE_0(x, a) ACT_IF(x, a, 0)
#define SLOPE(NAME, slope) case CONV_##NAME: return x > 0 ? x : (slope) * x;
#define BEHIND(NAME, f) case CONV_##NAME: return f;
    switch (a) {
        CL_ACTIVATIONS(SLOPE, BEHIND)
    }
#undef SLOPE
#undef BEHIND
#undef ACT_EXP
#undef ACT_SIGMOID
#undef ACT_LEAST
#undef ACT_IF
#undef ACT_IF_ELSE_0
    return NAN;
}

#endif
