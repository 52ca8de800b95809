/* SPDX-License-Identifier: MIT */
/*
 * Chains of convolutions as the driver runs them, with row `packed`. Guard pages lie beside all
 * arrays. The outputs of the inner layers do not exist.
 *
 *   driver      gemm_conv_chain with batch norm and plans against gemm_conv, also after a change of
 *               the weights and the batch norm of each layer
 *   chains      gemm_conv_chains, several chains as one call, against gemm_conv_chain
 *   declined    a chain that packed cannot run, or without memory, leaves the output as it was
 *   no chain    so does what is no chain; its batch norm is not folded
 */
#include "driver/driver.h"
#include "support/judge.h"
#include "support/report.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHANNELS = 401 };

/* Scratch of threads comes from here. */
static bool no_memory;

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return no_memory ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* A shortcut with any factors behind layers with any activations, without scales. */
static links make_links(const conv_shape shapes[LINKS], int first, rng *r)
{
    static const conv_activation all[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU};
    conv_activation activations[LINKS];
    layer_call shortcut = {.activation = all[rng_below(r, 3)]};
    for (int i = 0; i < LINKS; ++i) activations[i] = all[rng_below(r, 3)];
    shortcut.alpha = 1 + rng_float(r);
    shortcut.beta = 1 + rng_float(r);
    links l = links_make(shapes, activations, first, &shortcut, r);
    for (int i = 0; i < LINKS; ++i) l.calls[i].scale = NULL;
    l.adds = first != 1;
    return l;
}

/* Chains as the driver gets them, with batch norm. */
typedef struct driven {
    links l;
    conv_norm norms[LINKS];
    float numbers[LINKS][3][MOST_CHANNELS];
} driven;

/* The chain twice, so that it finds its plans, against the layers one by one without plans. */
static const char *judge_twice(links *l, const conv_norm *const *norms, gemm_plan **const *slots)
{
    const int first = l->first;
    conv_call calls[LINKS];
    for (int i = first; i < LINKS; ++i) {
        const conv_call c = links_alone(l, i);
        if (!gemm_conv(&c, norms[i], NULL)) return "a layer alone declined";
    }
    links_expect(l, NULL);
    const layer_call *s = links_calls(l, calls);
    for (int turn = 0; turn < 2; ++turn) {
        links_clear(l);
        if (!gemm_conv_chain(calls + first, norms + first, LINKS - first, slots + first, s))
            return "it declined";
        if (!links_right(l)) return "the bits are not those of the layers";
    }
    return NULL;
}

static const char *judge_driver(driven *d)
{
    const conv_norm *norms[LINKS];
    gemm_plan *plans[LINKS] = {NULL}, **slots[LINKS];
    for (int i = 0; i < LINKS; ++i) {
        norms[i] = i == 1 ? NULL : &d->norms[i];
        slots[i] = i == 1 ? NULL : &plans[i];
    }
    const char *wrong = judge_twice(&d->l, norms, slots);
    for (int i = d->l.first; i < LINKS && !wrong; ++i) {
        ((float *)d->l.calls[i].weights)[0] += 1;
        d->numbers[i][2][0] += 1;               /* a scale of the batch norm */
        gemm_plan_drop(&plans[i]);
        wrong = judge_twice(&d->l, norms, slots);
    }
    for (int i = 0; i < LINKS; ++i) gemm_plan_drop(&plans[i]);
    return !wrong && gemm_planned_bytes() ? "a dropped plan is counted" : wrong;
}

static driven make_driven(const conv_shape shapes[LINKS], int first)
{
    rng r = rng_make(3, 0);
    driven d = {.l = make_links(shapes, first, &r)};
    for (int i = 0; i < LINKS; ++i) {
        for (int k = 0; k < MOST_CHANNELS; ++k) {
            const float x = rng_float(&r);
            d.numbers[i][0][k] = rng_float(&r);
            d.numbers[i][1][k] = .1f + x * x;
            d.numbers[i][2][k] = rng_float(&r);
        }
    }
    return d;
}

static void set_norms(driven *d)
{
    for (int i = 0; i < LINKS; ++i)
        d->norms[i] = (conv_norm){d->numbers[i][0], d->numbers[i][1], d->numbers[i][2]};
}

/* Two bands for each thread; and a small map with tail columns, whose last layer has several blocks
   of K. */
static const conv_shape LARGE[LINKS] = {{"", 1, 1, 16, 80, 80, 64, 1, 1, 0},
                                        {"", 1, 64, 64, 80, 80, 64, 3, 2, 1},
                                        {"", 1, 1, 64, 40, 40, 16, 1, 1, 0}};
static const conv_shape SMALL[LINKS] = {{"", 1, 1, 131, 10, 10, 401, 1, 1, 0},
                                        {"", 1, 401, 401, 10, 10, 401, 3, 1, 1},
                                        {"", 1, 1, 401, 10, 10, 70, 1, 1, 0}};

static void test_driver(const char *name, const conv_shape shapes[LINKS], int first, int threads)
{
    driven d = make_driven(shapes, first);
    set_norms(&d);
    gemm_set_threads(threads);
    report_judged(name, judge_driver(&d));
    links_free(&d.l);
}

/* ---- chains ---- */

enum { CHAINS = 4 };

/* Chains that follow each other. */
typedef struct several {
    int count;
    links l[CHAINS];
    conv_call calls[CHAINS][LINKS];
    gemm_plan *plans[CHAINS][LINKS], **slots[CHAINS][LINKS];
    gemm_chain chains[CHAINS];
} several;

static const conv_norm *const no_norms[LINKS];

/* Every second one can add its input. */
static links draw_chain(int batch, int c, int h, int w, bool begins, rng *r)
{
    static const int channels[] = {3, 8, 16, 19, 48, 70};
    const bool adds = !begins && rng_below(r, 2);
    const int first = rng_below(r, 3) == 0, wide = first ? c : channels[rng_below(r, 6)];
    const int size = adds || rng_below(r, 2) ? 3 : 5, stride = adds ? 1 : 1 + rng_below(r, 2);
    const int out = adds ? c : channels[rng_below(r, 6)];
    const conv_shape shapes[LINKS] = {{"", batch, 1, c, h, w, wide, 1, 1, 0},
                                      {"", batch, wide, wide, h, w, wide, size, stride, size / 2},
                                      {"", batch, 1, wide, 0, 0, out, 1, 1, 0}};
    links l = make_links(shapes, first, r);
    l.adds = adds;
    return l;
}

static void draw_several(several *s, rng *r)
{
    static const int sides[] = {9, 13, 20, 33};
    int c = 1 + rng_below(r, 40), h = sides[rng_below(r, 4)], w = sides[rng_below(r, 4)];
    const int batch = 1 + rng_below(r, 2);
    s->count = 2 + rng_below(r, CHAINS - 1);
    for (int i = 0; i < s->count; ++i) {
        links *l = &s->l[i];
        *l = draw_chain(batch, c, h, w, !i, r);
        const conv_call *last = &l->calls[LINKS - 1];
        c = last->n, h = last->out_h, w = last->out_w;
        for (int k = 0; k < LINKS; ++k) s->plans[i][k] = NULL, s->slots[i][k] = &s->plans[i][k];
    }
}

static void free_several(several *s)
{
    for (int i = 0; i < s->count; ++i) {
        for (int k = 0; k < LINKS; ++k) gemm_plan_drop(&s->plans[i][k]);
        links_free(&s->l[i]);
    }
}

/* `inner`: with the inputs and outputs between them. */
static void set_chains(several *s, bool inner)
{
    for (int i = 0; i < s->count; ++i) {
        links *l = &s->l[i];
        conv_call *calls = s->calls[i];
        const layer_call *shortcut = links_calls(l, calls);
        const float *before = i ? s->l[i - 1].output.data : NULL;
        if (i) calls[l->first].input = inner ? before : NULL;
        l->inputs[1].data = inner ? before : NULL;
        if (!inner && i + 1 < s->count) calls[LINKS - 1].output = l->shortcut.output = NULL;
        s->chains[i] = (gemm_chain){calls + l->first, no_norms, LINKS - l->first,
                                    s->slots[i] + l->first, shortcut};
        links_clear(l);
    }
}

static bool run_one_by_one(several *s)
{
    bool done = true;
    set_chains(s, true);
    for (int i = 0; i < s->count; ++i) {
        const gemm_chain *c = &s->chains[i];
        done = done && gemm_conv_chain(c->calls, c->norms, c->count, c->slots, c->shortcut);
    }
    return done;
}

static bool are_untouched(const several *s, int count)
{
    int i = 0;
    while (i < count && links_untouched(&s->l[i])) ++i;
    return i == count;
}

static const char *judge_chains(several *s)
{
    links *last = &s->l[s->count - 1];
    if (!run_one_by_one(s)) return "a chain alone declined";
    memcpy(last->expected.data, last->output.data, (size_t)last->output.columns * sizeof(float));
    for (int turn = 0; turn < 2; ++turn) {
        set_chains(s, false);
        if (!gemm_conv_chains(s->chains, s->count)) return "it declined";
        if (!links_right(last)) return "the bits are not those of the chains one by one";
        if (!are_untouched(s, s->count - 1)) return "an output between two chains is written";
    }
    return NULL;
}

static bool is_refused(several *s)
{
    set_chains(s, false);
    return !gemm_conv_chains(s->chains, s->count) && are_untouched(s, s->count);
}

/* What may not run. The chains have two or more, of which the second has one map more than the
   first gives. */
static const char *judge_refused(several *s)
{
    gemm_set_variant(gemm_find("packed_bf16"));
    const bool other_row = is_refused(s);
    gemm_set_variant(gemm_find("packed"));
    const int count = s->count, adds = s->l[0].adds;
    s->count = 1;
    const bool one = is_refused(s);
    s->count = count, s->l[0].adds = true;
    const bool shortcut = is_refused(s);
    s->l[0].adds = adds, s->l[0].calls[LINKS - 1].n += 1;
    const bool more = is_refused(s);
    s->l[0].calls[LINKS - 1].n -= 1;
    return other_row && one && shortcut && more ? NULL : "it ran, or wrote";
}

static void test_chains(void)
{
    enum { CASES = 40 };
    const char *wrong = NULL;
    for (int i = 0; i < CASES && !wrong; ++i) {
        rng r = rng_make(11, i);
        several s;
        draw_several(&s, &r);
        gemm_set_threads(1 + i % 4);
        wrong = judge_chains(&s);
        if (!wrong) wrong = judge_refused(&s);
        if (wrong) fprintf(stderr, "chains: case %d\n", i);
        free_several(&s);
    }
    report_judged("chains", wrong);
}

/* ---- declined ---- */

static bool is_declined(links *l)
{
    const conv_norm *norms[LINKS] = {NULL};
    gemm_plan **slots[LINKS] = {NULL};
    conv_call calls[LINKS];
    const layer_call *s = links_calls(l, calls);
    links_clear(l);
    return !gemm_conv_chain(calls, norms, LINKS, slots, s) && links_untouched(l);
}

static bool without_memory;

static void *run_without_memory(void *l)
{
    no_memory = true;
    without_memory = is_declined(l);
    no_memory = false;
    return NULL;
}

/* In a thread of its own, which has no scratch yet. */
static bool is_declined_without_memory(links *l)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_without_memory, l)) abort();
    pthread_join(thread, NULL);
    return without_memory;
}

/* Whether it does not run, and gets no plan, which would hold its batch norm. */
static bool costs_nothing(driven *d)
{
    const conv_norm *norms[LINKS] = {&d->norms[0], &d->norms[1], &d->norms[2]};
    gemm_plan *plans[LINKS] = {NULL}, **slots[LINKS] = {&plans[0], &plans[1], &plans[2]};
    conv_call calls[LINKS];
    const layer_call *s = links_calls(&d->l, calls);
    links_clear(&d->l);
    const bool ran_it = gemm_conv_chain(calls, norms, LINKS, slots, s);
    bool planned = false;
    for (int i = 0; i < LINKS; ++i) {
        planned = planned || plans[i];
        gemm_plan_drop(&plans[i]);
    }
    return !ran_it && !planned && links_untouched(&d->l);
}

/* Each step breaks one rule of the contract, and mends the one before it. */
static const char *judge_no_chain(driven *d)
{
    conv_call *c = d->l.calls;
    c[0].n = 65;
    const bool channels = costs_nothing(d);
    c[0].n = 64, c[0].size = 3, c[0].pad = 1;
    const bool pointwise = costs_nothing(d);
    c[0].size = 1, c[0].pad = 0, c[1].groups = 32;
    const bool depthwise = costs_nothing(d);
    c[1].groups = 64, c[2].h = 39;
    const bool sides = costs_nothing(d);
    c[2].h = 40, c[2].pool = true;
    const bool pool = costs_nothing(d);
    c[2].pool = false;
    const bool right = channels && pointwise && depthwise && sides && pool;
    return right ? NULL : "what is no chain ran, or has plans";
}

/* Chains that packed cannot run. */
static const char *judge_declined(links *l)
{
    conv_call *c = l->calls;
    if (is_declined(l)) return "the chain itself is declined";
    if (!is_declined_without_memory(l)) return "it ran without memory, or wrote";
    c[1].activation = CONV_LOGISTIC;
    const bool logistic = is_declined(l);
    c[1].activation = CONV_LINEAR, c[1].stride = 3;
    const bool stride = is_declined(l);
    c[1].stride = 2, l->shortcut.activation = CONV_LOGISTIC;
    const bool sum = is_declined(l);
    l->shortcut.activation = CONV_LINEAR, l->shortcut.c = 8;
    const bool fewer = is_declined(l);
    l->shortcut.c = 16;
    return logistic && stride && sum && fewer ? NULL : "it ran a chain that it cannot run";
}

/* Whether one layer gets no plan and does not run: without a shortcut, and with a maxpool. */
static const char *judge_no_sum(driven *d)
{
    const conv_norm *norm = &d->norms[2];
    gemm_plan *plan = NULL, **slot = &plan;
    conv_call calls[LINKS];
    const layer_call *s = links_calls(&d->l, calls);
    conv_call c = calls[2];
    c.output = d->l.output.data;
    links_clear(&d->l);
    bool done = gemm_conv_chain(&c, &norm, 1, &slot, NULL);
    c.pool = true;
    done = gemm_conv_chain(&c, &norm, 1, &slot, s) || done || plan;
    gemm_plan_drop(&plan);
    return done || !links_untouched(&d->l) ? "what is no chain ran, or has a plan" : NULL;
}

int main(void)
{
    gemm_set_variant(gemm_find("packed"));
    test_driver("driver", LARGE, 0, 2);
    test_driver("driver, two layers", LARGE, 1, 2);
    test_driver("driver, one layer", LARGE, 2, 1);
    test_driver("small map", SMALL, 0, 2);
    test_driver("small map, two layers", SMALL, 1, 2);
    test_driver("small map, one thread", SMALL, 0, 1);
    test_driver("small map, one thread, two layers", SMALL, 1, 1);
    driven all = make_driven(LARGE, 0), one = make_driven(LARGE, 2);
    set_norms(&all);
    set_norms(&one);
    test_chains();
    report_judged("declined", judge_declined(&all.l));
    report_judged("no chain", judge_no_chain(&all));
    report_judged("no chain of one layer", judge_no_sum(&one));
    links_free(&all.l);
    links_free(&one.l);
    return report_status();
}
