/* SPDX-License-Identifier: MIT */
/*
 * Sizes of ops.
 *
 * Rows count the elements of an image in int, and round such counts up to whole tiles and to equal
 * steps. So an image has MOST elements at most. A batch of images is counted in int by Darknet.
 */
#include "driver/valid.h"

#include <limits.h>

static const double MOST = 1 << 30;

static bool fits(double image, int batch)
{
    return image <= MOST && image * batch <= INT_MAX;
}

/* Darknet's size of an output. A window that hangs over the image may still be one. */
static bool is_output(int out, long padded, int size, int stride)
{
    return out > 0 && padded <= INT_MAX && out == (padded - size) / stride + 1;
}

static bool is_conv(const conv_call *c)
{
    if (c->batch < 1 || c->groups < 1 || c->c < 1 || c->h < 1 || c->w < 1 || c->n < 1) return false;
    if (c->size < 1 || c->stride < 1 || c->pad < 0) return false;
    if (c->c % c->groups || c->n % c->groups) return false;
    const long h = c->h + 2L * c->pad, w = c->w + 2L * c->pad;
    if (!is_output(c->out_h, h, c->size, c->stride) || !is_output(c->out_w, w, c->size, c->stride))
        return false;
    if (c->pool && (c->out_h % 2 || c->out_w % 2)) return false;
    if (c->pool && gemm_activation_is_behind(c->activation)) return false;
    const double taps = (double)(c->c / c->groups) * c->size * c->size;
    return fits((double)c->c * c->h * c->w, c->batch) && (double)h * (double)w <= MOST &&
           fits((double)c->n * c->out_h * c->out_w, c->batch) && taps * c->n <= MOST;
}

static double output_size(const layer_call *c)
{
    return (double)c->out_c * c->out_h * c->out_w;
}

static bool is_maxpool(const layer_call *c)
{
    const long h = (long)c->h + c->pad, w = (long)c->w + c->pad;
    return c->size > 0 && c->stride > 0 && c->pad >= 0 && c->out_c == c->c &&
           (double)c->size * c->size <= MOST && is_output(c->out_h, h, c->size, c->stride) &&
           is_output(c->out_w, w, c->size, c->stride);
}

static bool is_upsample(const layer_call *c)
{
    return c->stride > 0 && c->out_c == c->c && c->out_h == (long)c->h * c->stride &&
           c->out_w == (long)c->w * c->stride;
}

static bool is_route(const layer_call *c)
{
    double sizes = 0;
    for (int i = 0; i < c->inputs; ++i) {
        if (c->input[i].size < 1) return false;
        sizes += c->input[i].size;
    }
    return sizes == output_size(c);
}

static bool is_yolo(const layer_call *c)
{
    return c->anchors > 0 && c->c % c->anchors == 0 && c->out_c == c->c && c->out_h == c->h &&
           c->out_w == c->w;
}

static bool is_of_kind(const layer_call *c)
{
    const double size = (double)c->c * c->h * c->w;
    if (c->kind == LAYER_ROUTE) return is_route(c);
    if (c->kind == LAYER_SHORTCUT)
        return c->inputs == 2 && c->input[0].size == output_size(c) && c->input[1].size == size;
    if (c->inputs != 1 || c->input[0].size != size) return false;
    switch (c->kind) {
    case LAYER_MAXPOOL: return is_maxpool(c);
    case LAYER_AVGPOOL: return c->out_c == c->c && c->out_h == 1 && c->out_w == 1;
    case LAYER_UPSAMPLE: return is_upsample(c);
    case LAYER_YOLO: return is_yolo(c);
    case LAYER_ROUTE: case LAYER_SHORTCUT: break;
    }
    return false;
}

static bool is_layer(const layer_call *c)
{
    return c->batch > 0 && c->inputs > 0 && c->c > 0 && c->h > 0 && c->w > 0 && c->out_c > 0 &&
           c->out_h > 0 && c->out_w > 0 && fits((double)c->c * c->h * c->w, c->batch) &&
           fits(output_size(c), c->batch) && is_of_kind(c);
}

static bool is_depthwise(const conv_call *c)
{
    return c->groups == c->c && c->n == c->c;
}

static bool follows(const conv_call *c, const conv_call *before)
{
    return c->batch == before->batch && c->c == before->n && c->h == before->out_h &&
           c->w == before->out_w;
}

/* Convolution i of a chain with a depthwise layer. */
static bool is_linked(const chain_call *chain, int i)
{
    const conv_call *c = &chain->convs[i];
    if (i && !follows(c, c - 1)) return false;
    return i == chain->count - 2 ? is_depthwise(c) : c->groups == 1 && gemm_conv_is_pointwise(c);
}

/* Darknet offers every two convolutions that follow each other, and each one with a shortcut. */
static bool is_chain(const chain_call *chain)
{
    const int count = chain->count;
    if (count < 1 || count > GEMM_CHAIN_MOST || (count == 1 && !chain->shortcut)) return false;
    for (int i = 0; i < count; ++i) {
        if (chain->convs[i].pool || !is_conv(&chain->convs[i])) return false;
        if (count > 1 && !is_linked(chain, i)) return false;
    }
    const conv_call *last = &chain->convs[count - 1];
    const layer_call *s = chain->shortcut;
    return !s || (s->kind == LAYER_SHORTCUT && is_layer(s) && s->batch == last->batch &&
                  s->out_c == last->n && s->out_h == last->out_h && s->out_w == last->out_w);
}

bool gemm_chain_follows(const chain_call *chain, const conv_call *before)
{
    const conv_call *c = chain->convs;
    const layer_call *s = chain->shortcut;
    return follows(c, before) &&
           (!s || (gemm_shortcut_is_equal(s) && s->c == c->c && s->h == c->h && s->w == c->w));
}

bool gemm_op_is_valid(const gemm_op *op)
{
    switch (op->kind) {
    case GEMM_MULTIPLY: return op->multiply->M > 0 && op->multiply->N > 0 && op->multiply->K > 0;
    case GEMM_CONVOLUTION: return is_conv(op->conv);
    case GEMM_CHAIN: return is_chain(op->chain);
    case GEMM_LAYER: return is_layer(op->layer);
    }
    return false;
}
