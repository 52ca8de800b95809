/* SPDX-License-Identifier: MIT */
/*
 * The convolution of `packed`, without im2col: the ways, in the order in which they are asked.
 * docs/packed-ways.md says which layers each of them takes.
 */
#include "packed/conv/way.h"
#include "packed/gemm/plan.h"
#include "packed/packed.h"
#include "util/threads.h"

#include <stdio.h>
#include <string.h>

static const packed_way *const ways[] = {
    &packed_way_dots,           /* filters as large as the image */
    &packed_way_winograd4,      /* 3x3, where it is fastest */
    &packed_way_winograd2,
    &packed_way_banded,         /* few channels and filters: nothing is packed */
    &packed_way_nchwc,          /* 1x1 filters over small maps */
    &packed_way_depthwise,      /* a filter sees one channel */
    &packed_way_polyphase,      /* stride S > 1, large maps */
    &packed_way_implicit,       /* all others */
};

enum { WAYS = sizeof ways / sizeof *ways };

const char *gemm_packed_way(int i)
{
    return i < WAYS ? ways[i]->name : NULL;
}

/* What the trace says of a way that does not run, or of the one that does. */
static void weigh(const gemm_context *x, const char *way, const char *text)
{
    char *const all = x->note->weighed;
    const size_t at = strlen(all), room = sizeof x->note->weighed - at;
    if (x->timed && *text) snprintf(all + at, room, "%s%s: %s", at ? "; " : "", way, text);
}

/* Whether the convolution goes this way. */
static bool takes(const packed_way *way, const conv_call *c, const gemm_context *x,
                  packed_choice *choice)
{
    const bool alike = !way->one_sum || packed_adds_alike(gemm_conv_taps(c), x->isa);
    const char *why_not = alike ? way->plan(c, x, choice) : "several blocks of K elsewhere";
    const char *text = why_not ? why_not : choice->weighed;
    weigh(x, way->name, !*text && choice->asked ? "GEMM_WAY" : text);
    return !why_not;
}

/* The way that the user named. NULL: none, or it cannot. */
static const packed_way *take_asked(const conv_call *c, const gemm_context *x,
                                    packed_choice *choice)
{
    for (int i = 0; x->way && i < WAYS; ++i)
        if (!strcmp(ways[i]->name, x->way)) return takes(ways[i], c, x, choice) ? ways[i] : NULL;
    if (x->way) weigh(x, x->way, "no way of packed");
    return NULL;
}

/* The way to try behind `tried` others, which counts on. NULL: no way is left. */
static const packed_way *take_next(const conv_call *c, const gemm_context *x, int *tried,
                                   packed_choice *choice)
{
    if (!(*tried)++) {
        *choice = (packed_choice){.asked = true};
        const packed_way *asked = take_asked(c, x, choice);
        if (asked) return asked;
    }
    while (*tried <= WAYS) {
        const packed_way *way = ways[(*tried)++ - 1];
        *choice = (packed_choice){.asked = false};
        if (takes(way, c, x, choice)) return way;
    }
    return NULL;
}

/* ---- decided once ---- */

/* All that the ways' plans depend on. */
typedef struct facts {
    const gemm_ukernel *isa;
    const char *way;
    int threads, batch, groups, c, h, w, n, size, stride, pad, out_h, out_w;
    conv_activation activation;
    bool pool, direct, first, timed;
} facts;

/* What lasts. `weighed` is that of the note. */
typedef struct decision {
    const packed_way *way;
    packed_choice choice;
    char weighed[sizeof((gemm_note *)0)->weighed];
} decision;

static facts facts_of(const conv_call *c, const gemm_context *x)
{
    facts f;
    memset(&f, 0, sizeof f);            /* the bytes between members too */
    f.isa = x->isa, f.way = x->way, f.threads = x->threads;
    f.batch = c->batch, f.groups = c->groups, f.c = c->c, f.h = c->h, f.w = c->w, f.n = c->n;
    f.size = c->size, f.stride = c->stride, f.pad = c->pad;
    f.out_h = c->out_h, f.out_w = c->out_w, f.activation = c->activation, f.pool = c->pool;
    f.direct = x->direct, f.first = x->first, f.timed = x->timed;
    return f;
}

_Static_assert(sizeof(facts) <= sizeof((gemm_decision *)0)->facts &&
               sizeof(decision) <= sizeof((gemm_decision *)0)->own, "they fit a gemm_decision");

/* The way of an earlier call, if that stands. */
static bool has_decided(const facts *f, const gemm_context *x, decision *d)
{
    if (!x->kept ||
        !gemm_decision_stands(&x->kept->alone, ways, f, sizeof *f, d, sizeof *d))
        return false;
    strcpy(x->note->weighed, d->weighed);
    return true;
}

static void keep_decision(const facts *f, const gemm_context *x, decision *d)
{
    strcpy(d->weighed, x->note->weighed);
    if (x->kept) gemm_decide_once(&x->kept->alone, ways, f, sizeof *f, d, sizeof *d);
}

/* `shortcut` is NULL or added. Then ways that cannot add it decline. */
static gemm_status convolve(const conv_call *c, const layer_call *shortcut, const gemm_context *x)
{
    const facts f = facts_of(c, x);
    const char *failed = NULL;
    decision d;
    int tried = 0;
    bool stands = has_decided(&f, x, &d);
    while (stands || (d.way = take_next(c, x, &tried, &d.choice))) {
        if (!stands) ++x->note->decided;
        if (shortcut && !d.way->adds) return GEMM_DECLINED;
        if (d.way->run(c, shortcut, &d.choice, x)) {
            if (!failed) failed = d.way->name;
            if (stands) x->note->weighed[0] = '\0';    /* all ways, from the first on */
            stands = false;
            continue;
        }
        if (!stands && !failed) keep_decision(&f, x, &d);
        snprintf(x->note->algorithm, sizeof x->note->algorithm, "%s%s%s", d.way->name,
                 failed ? ", no room for " : "", failed ? failed : "");
        return GEMM_DONE;
    }
    return GEMM_DECLINED;
}

/* ---- activations behind the kernels ---- */

/* A level 1 cache holds a part. It takes some times as long as to wake a worker for it. */
enum { PART = 4096 };

typedef struct behind {
    const conv_call *c;
    const gemm_ukernel *u;
    size_t outputs;
} behind;

static void activate_part(void *arg, int part, void *scratch)
{
    (void)scratch;
    const behind *b = arg;
    const size_t from = (size_t)part * PART, left = b->outputs - from;
    float *const y = b->c->output + from;
    b->u->layers.activate(b->c->activation, left < PART ? (int)left : PART, y, y);
}

gemm_status packed_conv_behind(const conv_call *c, const gemm_context *x, const void *params,
                               gemm_row_conv *conv)
{
    conv_call linear = *c;
    linear.activation = CONV_LINEAR;
    const gemm_status status = conv(&linear, x, params);
    if (status != GEMM_DONE) return status;
    behind b = {c, x->isa, (size_t)c->batch * (size_t)c->n * (size_t)gemm_conv_places(c)};
    const int parts = (int)((b.outputs + PART - 1) / PART);
    if (gemm_parallel(parts < 3 ? 1 : x->threads, parts, activate_part, &b))
        for (int i = 0; i < parts; ++i) activate_part(&b, i, NULL);
    return GEMM_DONE;
}

gemm_status gemm_packed_conv(const conv_call *c, const gemm_context *x, const void *params)
{
    if (gemm_activation_is_behind(c->activation))
        return packed_conv_behind(c, x, params, gemm_packed_conv);
    return convolve(c, NULL, x);
}

gemm_status packed_conv_add(const conv_call *c, const layer_call *shortcut, const gemm_context *x)
{
    conv_call conv = *c;
    conv.output = shortcut->output;
    if (gemm_activation_is_behind(c->activation) || !packed_can_add(shortcut)) return GEMM_DECLINED;
    return convolve(&conv, shortcut, x);
}

gemm_status gemm_packed_explain(const conv_call *call, const gemm_context *x, const void *params)
{
    (void)params;
    conv_call linear = *call;
    const conv_call *const c = &linear;
    if (gemm_activation_is_behind(c->activation)) linear.activation = CONV_LINEAR;
    const facts f = facts_of(c, x);
    decision d;
    int tried = 0;
    if (!has_decided(&f, x, &d)) {
        d.way = take_next(c, x, &tried, &d.choice);
        if (!d.way) return GEMM_DECLINED;
        keep_decision(&f, x, &d);
    }
    snprintf(x->note->algorithm, sizeof x->note->algorithm, "%s", d.way->name);
    return GEMM_DONE;
}
