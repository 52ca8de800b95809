/* SPDX-License-Identifier: MIT */
/*
 * The table of activations. C and OpenCL C expand the same lines, in the order of conv_activation
 * (src/gemm_dispatch.h).
 *
 *   SLOPE(NAME, slope)      x > 0 ? x : slope * x. Every kernel of a convolution applies it to its
 *                           sums
 *   BEHIND(NAME, f(x))      behind the kernel: applied to the outputs that a kernel stored, before
 *                           anything reads them
 *
 * f(x) is written with + - * /, constants of float and these macros. Each operand of a macro but
 * `most` has x in it, because a constant alone is no vector: 0.0f * x. Who expands the table
 * defines them for its type, which may be a vector or double:
 *
 *   ACT_EXP(x)              e^x for x <= 20, or for any x if it may become infinite
 *   ACT_SIGMOID(x)          1 / (1 + e^-x)
 *   ACT_LEAST(x, most)      x > most ? most : x, so that NaN stays NaN
 *   ACT_IF(x, a, b)         x > 0 ? a : b
 *   ACT_IF_ELSE_0(x, a)     x > 0 ? a : 0
 *
 * mish is x tanh(ln(1 + e^x)) = x k / (k + 2) with k = e^x (e^x + 2). Above 20 that is x.
 */
#ifndef CL_ACTIVATIONS_H
#define CL_ACTIVATIONS_H

#define CL_MISH_POWER(x) ACT_EXP(ACT_LEAST(x, 20.0f))
#define CL_MISH_K(x) (CL_MISH_POWER(x) * (CL_MISH_POWER(x) + 2.0f))

#define CL_ACTIVATIONS(SLOPE, BEHIND) \
    SLOPE(LINEAR, 1.0f) \
    SLOPE(LEAKY, 0.1f) \
    SLOPE(RELU, 0.0f) \
    BEHIND(LOGISTIC, ACT_SIGMOID(x)) \
    BEHIND(MISH, x * (CL_MISH_K(x) / (CL_MISH_K(x) + 2.0f))) \
    BEHIND(SWISH, x * ACT_SIGMOID(x)) \
    BEHIND(RELU6, ACT_IF_ELSE_0(x, ACT_LEAST(x, 6.0f))) \
    BEHIND(ELU, ACT_IF(x, x, ACT_EXP(ACT_LEAST(x, 0.0f)) - 1.0f)) \
    BEHIND(HARD_MISH, ACT_IF(x, x, ACT_IF_ELSE_0(x + 2.0f, (0.5f * x + 1.0f) * x)))

#endif
