/* SPDX-License-Identifier: MIT */
/*
 * Three layers as one: 1x1 (expand), depthwise, 1x1 (project). The first may be missing, and a
 * shortcut may follow. This file decides which chains run so. chain_cut.c decides how the threads
 * share one, and chain_work.c computes it.
 *
 * An element of the output is the same sum in the same order as in the layers one by one: see
 * adds_in_order. So the bits are the same, however the work is cut.
 */
#include "packed/chain/chain.h"

#include "packed/conv/nchwc.h"
#include "packed/gemm/plan.h"
#include "packed/packed.h"

#include <string.h>

typedef packed_chain_job chain;

/* ---- which layers ---- */

/* A 1x1 layer of one place adds up in another order: dots.c. */
static bool can_multiply(const conv_call *c)
{
    return !gemm_activation_is_behind(c->activation) && !gemm_conv_is_dots(c);
}

/* Whether chain_work.c can run this chain. */
static bool can_run(const chain *l)
{
    const conv_call *d = l->depth;
    return d->size > 1 && d->stride <= 2 && !gemm_activation_is_behind(d->activation) &&
           can_multiply(l->project) && (!l->expand || can_multiply(l->expand)) &&
           (!l->shortcut || packed_can_add(l->shortcut));
}

/* Whether each element of this layer alone is one sum over k, from the first to the last. Under
   micro-kernels of pairs kc counts pairs, and c->c counts their elements. So some layers of many
   channels are declined that would be one sum too. */
static bool adds_in_order(const conv_call *c, const gemm_ukernel *u)
{
    return packed_prefers_nchwc(c, u) || packed_adds_in_order(c, u);
}

/* ---- the row of the table ---- */

/* Sizes and a cut, without addresses. `cut` NULL: the best one. */
static bool plan_chain(chain *l, const packed_chain_cut *cut, int threads)
{
    if (!can_run(l)) return false;
    if (!l->project_q && !adds_in_order(l->project, l->u)) return false;
    if (!packed_adds_alike(gemm_conv_taps(l->depth), l->u)) return false;
    if (l->expand && !l->expand_q && !adds_in_order(l->expand, l->u)) return false;
    l->cut = cut ? *cut : packed_cut_chain(l->expand, l->depth, l->project, l->u, threads);
    return packed_chain_set_sizes(l);
}

static chain chain_of(const conv_call *calls, int count, const layer_call *shortcut,
                      const packed_chain_quads *quads, const gemm_context *context)
{
    return (chain){.expand = count == 3 ? calls : NULL, .depth = calls + count - 2,
                   .project = calls + count - 1, .shortcut = shortcut, .u = context->isa,
                   .quads = quads, .expand_q = quads ? quads->expand : NULL,
                   .project_q = quads ? quads->project : NULL,
                   .lanes = context->lanes,
                   .output = shortcut ? shortcut->output : calls[count - 1].output};
}

static gemm_status run_planned(chain *l, const conv_call *calls, int count,
                               const gemm_context *context)
{
    if (!packed_chain_run(l, calls, count, context)) return GEMM_DECLINED;
    strcpy(context->note->algorithm, l->quads ? "chain; int8" : "chain");
    if (context->timed)
        snprintf(context->note->weighed, sizeof context->note->weighed, "in %s: %d pieces",
                 l->cut.by_phases ? "phases" : "bands", l->cut.pieces);
    return GEMM_DONE;
}

gemm_status packed_chain_by(const conv_call *calls, int count, const layer_call *shortcut,
                            const packed_chain_quads *quads, const packed_chain_cut *cut,
                            const gemm_context *context)
{
    chain l = chain_of(calls, count, shortcut, quads, context);
    return plan_chain(&l, cut, context->threads) ? run_planned(&l, calls, count, context)
                                                 : GEMM_DECLINED;
}

/* All that a plan depends on. The driver has checked that the layers fit each other. */
typedef struct facts {
    const gemm_ukernel *isa;
    int threads, count, batch, c, h, w, wide, size, stride, pad, out_h, out_w, deep, n;
    conv_activation activation[PACKED_CHAIN_MOST];
    int shortcut;               /* 0: none, 1: one that can be added, 2: another */
    bool expands, projects;     /* in 8 bits */
} facts;

static facts facts_of(const conv_call *calls, int count, const layer_call *shortcut,
                      const packed_chain_quads *quads, const gemm_context *x)
{
    const conv_call *d = calls + count - 2;
    facts f;
    memset(&f, 0, sizeof f);            /* the bytes between members too */
    f.isa = x->isa, f.threads = x->threads, f.count = count, f.batch = d->batch;
    f.c = calls->c, f.h = d->h, f.w = d->w, f.wide = d->c, f.n = calls[count - 1].n;
    f.size = d->size, f.stride = d->stride, f.pad = d->pad;
    f.out_h = d->out_h, f.out_w = d->out_w, f.deep = d->n;
    for (int i = 0; i < count; ++i) f.activation[i] = calls[i].activation;
    f.shortcut = !shortcut ? 0 : packed_can_add(shortcut) ? 1 : 2;
    f.expands = quads && quads->expand, f.projects = quads && quads->project;
    return f;
}

_Static_assert(sizeof(facts) <= sizeof((gemm_decision *)0)->facts &&
               sizeof(chain) <= sizeof((gemm_decision *)0)->own, "they fit a gemm_decision");

/* Makes `planned`, a plan of an earlier call, one of this chain, which has the same sizes. */
static void set_addresses(chain *planned, const chain *l)
{
    planned->expand = l->expand, planned->depth = l->depth, planned->project = l->project;
    planned->shortcut = l->shortcut;
    planned->quads = l->quads, planned->expand_q = l->expand_q, planned->project_q = l->project_q;
    planned->lanes = l->lanes;
    planned->output = l->output;
}

gemm_status packed_chain(const conv_call *calls, int count, const layer_call *shortcut,
                         const packed_chain_quads *quads, const gemm_context *context)
{
    static const char row;
    gemm_kept *kept = context->chain_kept ? context->chain_kept[0] : NULL;
    gemm_decision *decision = kept ? &kept->chained : NULL;
    const facts f = facts_of(calls, count, shortcut, quads, context);
    const chain l = chain_of(calls, count, shortcut, quads, context);
    chain planned;
    if (!gemm_decision_stands(decision, &row, &f, sizeof f, &planned, sizeof planned)) {
        planned = l;
        if (!plan_chain(&planned, NULL, context->threads)) planned.declined = true;
        gemm_decide_once(decision, &row, &f, sizeof f, &planned, sizeof planned);
        ++context->note->decided;
    }
    if (planned.declined) return GEMM_DECLINED;
    set_addresses(&planned, &l);
    return run_planned(&planned, calls, count, context);
}

gemm_status gemm_packed_chain(const conv_call *calls, int count, const layer_call *shortcut,
                              const gemm_context *context, const void *params)
{
    (void)params;
    if (count > 1) return packed_chain(calls, count, shortcut, NULL, context);
    gemm_context alone = *context;
    alone.kept = context->chain_kept ? context->chain_kept[0] : NULL;
    return packed_conv_add(calls, shortcut, &alone);
}

gemm_status gemm_packed_run(const gemm_op *op, const gemm_context *context, const void *params)
{
    return gemm_run_by(gemm_packed_conv, gemm_packed_chain, gemm_packed_layer, op, context, params);
}
