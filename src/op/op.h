/* SPDX-License-Identifier: MIT */
/*
 * An op: one piece of work of any kind (gemm_variant.h). What the driver, `auto` and `hybrid` do
 * alike for all kinds is written with these functions. To add a kind, add a case to each switch of
 * op.c and shape.c.
 */
#ifndef GEMM_OP_H
#define GEMM_OP_H

#include "gemm_variant.h"

/* Convolutions of a chain; parts of it, with the shortcut. */
enum { GEMM_CHAIN_MOST = 3, GEMM_PARTS_MOST = GEMM_CHAIN_MOST + 1 };

static inline gemm_op gemm_op_of_multiply(const gemm_call *c)
{
    return (gemm_op){GEMM_MULTIPLY, {.multiply = c}};
}

static inline gemm_op gemm_op_of_conv(const conv_call *c)
{
    return (gemm_op){GEMM_CONVOLUTION, {.conv = c}};
}

static inline gemm_op gemm_op_of_chain(const chain_call *c)
{
    return (gemm_op){GEMM_CHAIN, {.chain = c}};
}

static inline gemm_op gemm_op_of_layer(const layer_call *c)
{
    return (gemm_op){GEMM_LAYER, {.layer = c}};
}

/* Whether the variant computes ops of this kind. */
bool gemm_op_offered(const gemm_op *, const gemm_variant *);

/* Whether both variants compute the op by the same code. */
bool gemm_op_is_alike(const gemm_op *, const gemm_variant *, const gemm_variant *);

/* The variant must offer the op. */
gemm_status gemm_op_call(const gemm_op *, const gemm_variant *, const gemm_context *);

/* What the context keeps for convolution i of the op, or NULL. */
gemm_kept *gemm_op_kept(const gemm_op *, const gemm_context *, int i);

/* The convolutions of the op: 0 for a multiply and a layer without weights. */
int gemm_op_convs(const gemm_op *);

/* The ops that give the same output one by one: those of a chain, else the op alone. Returns how
   many. */
int gemm_op_parts(const gemm_op *, gemm_op parts[GEMM_PARTS_MOST]);

/* Whether the op is a convolution with the pool behind it. */
static inline bool gemm_op_pools(const gemm_op *op)
{
    return op->kind == GEMM_CONVOLUTION && op->conv->pool;
}

/* Memory that an op uses, from its first to its last element. A matrix may have gaps in it. */
typedef struct gemm_span {
    const float *data;
    size_t bytes;
    bool read, written;
} gemm_span;

/* All but weights and shifts, which are the CPU's. The output is the last one. */
int gemm_op_spans(const gemm_op *);
gemm_span gemm_op_span(const gemm_op *, int i);

/* The bytes of the output, without gaps. */
size_t gemm_op_output_bytes(const gemm_op *);

/* Those of a convolution before its pool. */
size_t gemm_unpooled_bytes(const conv_call *);

/* M, N and K of the multiply that computes the op, or one group of it; of a chain's last
   convolution; 0 for a layer. All other members are 0. */
gemm_call gemm_op_product(const gemm_op *);

/* C to a copy without gaps between its rows, or `back` from it. */
void gemm_copy_c(const gemm_call *, float *copy, bool back);

/* Floating-point operations, 2 for each multiplication; 0 for a layer. */
double gemm_op_flop(const gemm_op *);

/* Such as "maxpool". */
const char *gemm_layer_name(layer_kind);

/* For the column `layer` of GEMM_TRACE, such as "3x3/1 pad 1 groups 1 batch 1". Empty for a
   multiply. */
enum { GEMM_OP_TEXT = 192 };
void gemm_op_name_layer(const gemm_op *, char text[GEMM_OP_TEXT]);

/* The same with M, N and K, for a message, such as "TA=0 TB=0 M=16 N=173056 K=27". */
void gemm_op_describe(const gemm_op *, char text[GEMM_OP_TEXT]);

#endif
