/* SPDX-License-Identifier: MIT */
#include "activated.h"

#include "gemm_variant.h"

#include <math.h>

float activated(float x, conv_activation a)
{
    switch (a) {
    case CONV_LINEAR: return x;
    case CONV_LEAKY: return x > 0 ? x : .1f * x;
    case CONV_RELU: return x * (float)(x > 0);
    case CONV_LOGISTIC: return 1 / (1 + expf(-x));
    case CONV_MISH: return (float)(x * tanh(log1p(exp(x))));
    case CONV_SWISH: return (float)(x / (1 + exp(-(double)x)));
    case CONV_RELU6: return x > 0 ? fminf(x, 6) : 0;
    case CONV_ELU: return x > 0 ? x : expf(x) - 1;
    case CONV_HARD_MISH: return x > 0 ? x : x > -2 ? x * x / 2 + x : 0;
    }
    return NAN;
}

const char *activation_name(conv_activation a)
{
#define NAME(name, value) #name,
    static const char *const names[] = {CL_ACTIVATIONS(NAME, NAME)};
    return names[a];
}
