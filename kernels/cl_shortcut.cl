/*
 * cl_shortcut: out[i] = activation(alpha * a[i] + beta * b[i]). Items: cl_layer.h, over n elements.
 * The numbers of the activations are those of conv_activation: linear, leaky, ReLU, logistic. As in
 * Darknet, ReLU is a product.
 */
#include "cl_layer.h"

__kernel void cl_shortcut(int n, float alpha, float beta, int activation,
                          __global const float *restrict a, ulong a0,
                          __global const float *restrict b, ulong b0,
                          __global float *restrict out, ulong o0)
{
    a += a0;
    b += b0;
    out += o0;
    EACH(i, n) {
        const float p = alpha * a[i], q = beta * b[i], x = p + q;
        out[i] = activation == 0   ? x
                 : activation == 1 ? (x > 0.0f ? x : 0.1f * x)
                 : activation == 2 ? x * (float)(x > 0.0f)
                                   : 1.0f / (1.0f + exp(-x));
    }
}
