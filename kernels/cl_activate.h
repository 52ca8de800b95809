/* SPDX-License-Identifier: MIT */
/*
 * The table of activations for OpenCL C: activate(x, number) for a float. CL_ACTIVATE makes the
 * same for a vector. The numbers are those of conv_activation.
 */
#include "cl_activations.h"

#define CL_NUMBER(NAME, f) CL_##NAME,
enum { CL_ACTIVATIONS(CL_NUMBER, CL_NUMBER) };

/* fmin gives a constant the type of x. */
#define ACT_EXP(x) exp(x)
#define ACT_SIGMOID(x) (1.0f / (1.0f + exp(-(x))))
#define ACT_LEAST(x, most) ((x) > (most) ? fmin(x, most) : (x))
#define ACT_IF(x, a, b) ((x) > 0.0f ? (a) : (b))
#define ACT_IF_ELSE_0(x, a) ((x) > 0.0f ? (a) : fmin(fabs(a), 0.0f))

#define CL_SLOPE(NAME, slope) case CL_##NAME: return x > 0.0f ? x : slope * x;
#define CL_BEHIND(NAME, f) case CL_##NAME: return f;

#define CL_ACTIVATE(name, T) \
    T name(T x, int activation) \
    { \
        switch (activation) { \
            CL_ACTIVATIONS(CL_SLOPE, CL_BEHIND) \
        } \
        return x; \
    }
CL_ACTIVATE(activate, float)
