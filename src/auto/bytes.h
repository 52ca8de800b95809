/* How many bytes a layer reads and writes, for those who give them to the CPU. */
#ifndef GEMM_BYTES_H
#define GEMM_BYTES_H

#include "gemm_variant.h"

static inline size_t gemm_conv_input_bytes(const conv_call *c)
{
    return (size_t)c->batch * (size_t)c->c * (size_t)c->h * (size_t)c->w * sizeof(float);
}

static inline size_t gemm_conv_output_bytes(const conv_call *c)
{
    return (size_t)c->batch * (size_t)c->n * (size_t)gemm_conv_outputs(c) * sizeof(float);
}

static inline size_t gemm_layer_input_bytes(const layer_call *c, int i)
{
    return (size_t)c->batch * (size_t)c->input[i].size * sizeof(float);
}

static inline size_t gemm_layer_output_bytes(const layer_call *c)
{
    return (size_t)c->batch * (size_t)(c->out_c * c->out_h * c->out_w) * sizeof(float);
}

#endif
