/* SPDX-License-Identifier: MIT */
/*
 * How a call is cut in two parts: see cut.h.
 */
#include "hybrid/cut.h"

#include "util/ints.h"

#include <math.h>

/* The operand that is not cut is copied as a whole, so the larger one is cut. */
static bool cuts_columns(const gemm_call *g)
{
    return g->N >= g->M;
}

static gemm_call part_of_multiply(const gemm_call *g, gemm_part p)
{
    const size_t from = (size_t)p.from;
    gemm_call own = *g;
    if (cuts_columns(g)) {
        own.N = p.to - p.from;
        own.B += g->TB ? from * (size_t)g->ldb : from;
        own.C += from;
    } else {
        own.M = p.to - p.from;
        own.A += g->TA ? from : from * (size_t)g->lda;
        own.C += from * (size_t)g->ldc;
    }
    return own;
}

static conv_call part_of_images(const conv_call *c, gemm_part p)
{
    const size_t from = (size_t)p.from, area = (size_t)c->h * (size_t)c->w;
    conv_call own = *c;
    own.batch = p.to - p.from;
    own.input += from * (size_t)c->c * area;
    own.output += from * (size_t)c->n * (size_t)gemm_conv_outputs(c);
    return own;
}

/* Filters of one image and one group, or groups of one image. */
static conv_call part_of_filters(const conv_call *c, gemm_part p)
{
    const bool groups = c->groups > 1;
    const int filters = groups ? c->n / c->groups : 1, channels = c->c / c->groups;
    const size_t first = (size_t)p.from * (size_t)filters;
    const size_t area = (size_t)c->h * (size_t)c->w;
    conv_call own = *c;
    own.n = (p.to - p.from) * filters;
    if (groups) {
        own.groups = p.to - p.from;
        own.c = own.groups * channels;
        own.input += (size_t)p.from * (size_t)channels * area;
    }
    own.weights += first * (size_t)gemm_conv_taps(c);
    if (c->scale) own.scale += first;
    own.shift += first;
    own.output += first * (size_t)gemm_conv_outputs(c);
    return own;
}

gemm_op gemm_part_of(const gemm_shared *s, gemm_part p, gemm_part_call *call)
{
    if (s->op.kind == GEMM_MULTIPLY) {
        call->multiply = part_of_multiply(s->op.multiply, p);
        return gemm_op_of_multiply(&call->multiply);
    }
    const conv_call *c = s->op.conv;
    call->conv = c->batch > 1 ? part_of_images(c, p) : part_of_filters(c, p);
    return gemm_op_of_conv(&call->conv);
}

static int count_of(const gemm_op *op)
{
    if (op->kind == GEMM_MULTIPLY)
        return cuts_columns(op->multiply) ? op->multiply->N : op->multiply->M;
    const conv_call *c = op->conv;
    return c->batch > 1 ? c->batch : c->groups > 1 ? c->groups : c->n;
}

gemm_shared gemm_share_op(const gemm_op *op)
{
    return (gemm_shared){*op, count_of(op)};
}

int gemm_cut_unit(int count)
{
    int unit = 64;
    while (unit > 1 && count / unit < 8) unit /= 2;
    return unit;
}

int gemm_cut_at(int count, double share)
{
    const int unit = gemm_cut_unit(count);
    if (share <= 0 || count < 2) return 0;
    if (share >= 1) return count;
    const int units = (int)lround(share * count / unit);
    return min_int(max_int(units, 1), (count - 1) / unit) * unit;
}
