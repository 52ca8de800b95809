/* SPDX-License-Identifier: MIT */
/* What the kinds of ops have in common: see op.h. */
#include "op/op.h"

#include "util/text.h"

#include <stdio.h>
#include <string.h>

/* ---- the variant ---- */

bool gemm_op_offered(const gemm_op *op, const gemm_variant *v)
{
    const bool lanes = op->kind == GEMM_CHAIN && op->chain->lanes;
    if (op->kind == GEMM_MULTIPLY) return v->multiply != NULL;
    return (v->kinds & 1u << op->kind) && (!lanes || v->kinds & GEMM_IN_LANES);
}

/* Formats differ in what multiplies. */
bool gemm_op_is_alike(const gemm_op *op, const gemm_variant *v, const gemm_variant *w)
{
    switch (op->kind) {
    case GEMM_MULTIPLY: return v->multiply == w->multiply;
    case GEMM_LAYER: return gemm_op_offered(op, v) && gemm_is_on_device(v) == gemm_is_on_device(w);
    case GEMM_CONVOLUTION: case GEMM_CHAIN: break;
    }
    return v->run == w->run;
}

gemm_status gemm_op_call(const gemm_op *op, const gemm_variant *v, const gemm_context *x)
{
    return op->kind == GEMM_MULTIPLY ? v->multiply(op->multiply, x, v->params)
                                     : v->run(op, x, v->params);
}

/* ---- parts ---- */

int gemm_op_convs(const gemm_op *op)
{
    return op->kind == GEMM_CHAIN ? op->chain->count : op->kind == GEMM_CONVOLUTION;
}

gemm_kept *gemm_op_kept(const gemm_op *op, const gemm_context *x, int i)
{
    if (op->kind != GEMM_CHAIN) return x->kept;
    return x->chain_kept ? x->chain_kept[i] : NULL;
}

int gemm_op_parts(const gemm_op *op, gemm_op parts[GEMM_PARTS_MOST])
{
    int count = 0;
    if (op->kind != GEMM_CHAIN) {
        parts[count++] = *op;
        return count;
    }
    while (count < op->chain->count) {
        parts[count] = gemm_op_of_conv(&op->chain->convs[count]);
        ++count;
    }
    if (op->chain->shortcut) parts[count++] = gemm_op_of_layer(op->chain->shortcut);
    return count;
}

/* ---- memory ---- */

static gemm_span span(const float *data, size_t floats, bool read, bool written)
{
    return (gemm_span){data, floats * sizeof(float), read, written};
}

static size_t floats_of_matrix(int rows, int cols, int ld)
{
    return (size_t)(rows - 1) * (size_t)ld + (size_t)cols;
}

static size_t conv_inputs(const conv_call *c)
{
    return (size_t)c->batch * (size_t)c->c * (size_t)c->h * (size_t)c->w;
}

static size_t conv_outputs(const conv_call *c)
{
    return (size_t)c->batch * (size_t)c->n * (size_t)gemm_conv_outputs(c);
}

static size_t layer_outputs(const layer_call *c)
{
    return (size_t)c->batch * (size_t)(c->out_c * c->out_h * c->out_w);
}

static const conv_call *last_of(const chain_call *c)
{
    return &c->convs[c->count - 1];
}

static size_t chain_outputs(const chain_call *c)
{
    return c->shortcut ? layer_outputs(c->shortcut) : conv_outputs(last_of(c));
}

size_t gemm_op_output_bytes(const gemm_op *op)
{
    switch (op->kind) {
    case GEMM_MULTIPLY:
        return (size_t)op->multiply->M * (size_t)op->multiply->N * sizeof(float);
    case GEMM_CONVOLUTION: return conv_outputs(op->conv) * sizeof(float);
    case GEMM_CHAIN: return chain_outputs(op->chain) * sizeof(float);
    case GEMM_LAYER: return layer_outputs(op->layer) * sizeof(float);
    }
    return 0;
}

static gemm_span multiply_span(const gemm_call *c, int i)
{
    if (i == 0)
        return span(c->A, c->TA ? floats_of_matrix(c->K, c->M, c->lda)
                                : floats_of_matrix(c->M, c->K, c->lda), true, false);
    if (i == 1)
        return span(c->B, c->TB ? floats_of_matrix(c->N, c->K, c->ldb)
                                : floats_of_matrix(c->K, c->N, c->ldb), true, false);
    return span(c->C, floats_of_matrix(c->M, c->N, c->ldc), true, true);
}

static gemm_span conv_span(const conv_call *c, int i)
{
    return i == 0 ? span(c->input, conv_inputs(c), true, false)
                  : span(c->output, conv_outputs(c), false, true);
}

static gemm_span layer_span(const layer_call *c, int i)
{
    if (i == c->inputs) return span(c->output, layer_outputs(c), false, true);
    return span(c->input[i].data, (size_t)c->batch * (size_t)c->input[i].size, true, false);
}

/* Outputs between the parts do not exist. */
static gemm_span chain_span(const chain_call *c, int i)
{
    if (i == 0) return conv_span(c->convs, 0);
    return c->shortcut ? layer_span(c->shortcut, i) : conv_span(last_of(c), 1);
}

int gemm_op_spans(const gemm_op *op)
{
    switch (op->kind) {
    case GEMM_MULTIPLY: return 3;
    case GEMM_CONVOLUTION: return 2;
    case GEMM_CHAIN: return op->chain->shortcut ? 3 : 2;
    case GEMM_LAYER: return op->layer->inputs + 1;
    }
    return 0;
}

gemm_span gemm_op_span(const gemm_op *op, int i)
{
    switch (op->kind) {
    case GEMM_MULTIPLY: return multiply_span(op->multiply, i);
    case GEMM_CONVOLUTION: return conv_span(op->conv, i);
    case GEMM_CHAIN: return chain_span(op->chain, i);
    case GEMM_LAYER: return layer_span(op->layer, i);
    }
    return (gemm_span){.data = NULL};
}

size_t gemm_unpooled_bytes(const conv_call *c)
{
    conv_call conv = *c;
    conv.pool = false;
    return conv_outputs(&conv) * sizeof(float);
}

void gemm_copy_c(const gemm_call *g, float *copy, bool back)
{
    const size_t N = (size_t)g->N, bytes = N * sizeof(float);
    for (size_t i = 0; i < (size_t)g->M; ++i) {
        float *row = g->C + i * (size_t)g->ldc;
        if (back) memcpy(row, copy + i * N, bytes);
        else memcpy(copy + i * N, row, bytes);
    }
}

/* ---- work ---- */

static gemm_call conv_product(const conv_call *c)
{
    return (gemm_call){.M = c->n / c->groups, .N = gemm_conv_places(c), .K = gemm_conv_taps(c)};
}

gemm_call gemm_op_product(const gemm_op *op)
{
    switch (op->kind) {
    case GEMM_MULTIPLY:
        return (gemm_call){.M = op->multiply->M, .N = op->multiply->N, .K = op->multiply->K};
    case GEMM_CONVOLUTION: return conv_product(op->conv);
    case GEMM_CHAIN: return conv_product(last_of(op->chain));
    case GEMM_LAYER: break;
    }
    return (gemm_call){.M = 0};
}

double gemm_op_flop(const gemm_op *op)
{
    const gemm_call p = gemm_op_product(op);
    const double flop = 2.0 * p.M * p.N * p.K;
    gemm_op parts[GEMM_PARTS_MOST];
    double sum = 0;
    switch (op->kind) {
    case GEMM_MULTIPLY: return flop;
    case GEMM_CONVOLUTION: return flop * op->conv->groups * op->conv->batch;
    case GEMM_CHAIN:
        for (int i = gemm_op_parts(op, parts) - 1; i >= 0; --i) sum += gemm_op_flop(&parts[i]);
        return sum;
    case GEMM_LAYER: break;
    }
    return 0;
}

/* ---- words ---- */

const char *gemm_layer_name(layer_kind kind)
{
    static const char *const names[] = {
        [LAYER_MAXPOOL] = "maxpool", [LAYER_AVGPOOL] = "avgpool", [LAYER_UPSAMPLE] = "upsample",
        [LAYER_ROUTE] = "route", [LAYER_SHORTCUT] = "shortcut", [LAYER_YOLO] = "yolo"};
    _Static_assert(sizeof names / sizeof *names == LAYER_KINDS, "a kind of layer has no name");
    return names[kind];
}

/* A 1x1 convolution of a map of one place is a connected layer, whatever Darknet calls it. */
static void name_conv(const conv_call *c, char text[GEMM_OP_TEXT])
{
    if (c->h == 1 && c->w == 1 && c->size == 1 && c->groups == 1)
        snprintf(text, GEMM_OP_TEXT, "connected %d over %d batch %d", c->n, c->c, c->batch);
    else
        snprintf(text, GEMM_OP_TEXT, "%dx%d/%d pad %d groups %d batch %d%s", c->size, c->size,
                 c->stride, c->pad, c->groups, c->batch, c->pool ? " pool" : "");
}

/* The channels and the depthwise filter, such as "chain 16 64 64 16 3x3/1 over 80x80 batch 1". */
static void name_chain(const chain_call *c, char text[GEMM_OP_TEXT])
{
    if (c->count == 1) {
        name_conv(c->convs, text);
        gemm_append(text, GEMM_OP_TEXT, " shortcut");
        return;
    }
    const conv_call *last = last_of(c), *depth = last - 1;
    text[0] = '\0';
    gemm_append(text, GEMM_OP_TEXT, "chain ");
    if (c->count == 3) gemm_append(text, GEMM_OP_TEXT, "%d ", c->convs->c);
    gemm_append(text, GEMM_OP_TEXT, "%d %d %d %dx%d/%d over %dx%d batch %d%s", depth->c, depth->n,
                last->n, depth->size, depth->size, depth->stride, depth->w, depth->h, depth->batch,
                c->shortcut ? " shortcut" : "");
}

static void name_layer(const layer_call *c, char text[GEMM_OP_TEXT])
{
    snprintf(text, GEMM_OP_TEXT, "%s %dx%dx%d to %dx%dx%d batch %d", gemm_layer_name(c->kind), c->w,
             c->h, c->c, c->out_w, c->out_h, c->out_c, c->batch);
}

void gemm_op_name_layer(const gemm_op *op, char text[GEMM_OP_TEXT])
{
    switch (op->kind) {
    case GEMM_MULTIPLY: text[0] = '\0'; break;
    case GEMM_CONVOLUTION: name_conv(op->conv, text); break;
    case GEMM_CHAIN: name_chain(op->chain, text); break;
    case GEMM_LAYER: name_layer(op->layer, text); break;
    }
}

void gemm_op_describe(const gemm_op *op, char text[GEMM_OP_TEXT])
{
    const gemm_call p = gemm_op_product(op);
    gemm_op_name_layer(op, text);
    if (op->kind == GEMM_MULTIPLY)
        snprintf(text, GEMM_OP_TEXT, "TA=%d TB=%d", op->multiply->TA, op->multiply->TB);
    if (p.M) gemm_append(text, GEMM_OP_TEXT, " M=%d N=%d K=%d", p.M, p.N, p.K);
}
