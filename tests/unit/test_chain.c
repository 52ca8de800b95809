/* SPDX-License-Identifier: MIT */
/*
 * Chains of convolutions of `packed`, or with --row cl of the OpenCL rows: random geometry, and for
 * `packed` bands of random height and each instruction set of this processor. The output must have
 * the bits of the layers one by one, with any number of threads. Guard pages lie before or behind
 * the input, the output and all weights. The outputs of the inner layers do not exist.
 *
 *   random      packed_chain_by against gemm_packed_conv for each layer
 *   added       packed_conv_add, one convolution and a shortcut, against the two layers one by one:
 *               each way that adds, and the ways that decline
 *   driver      gemm_conv_chain with batch norm and plans against gemm_conv, also after a change of
 *               the weights and the batch norm of each layer
 *   declined    a chain that packed cannot run, or without memory, leaves the output as it was
 *   no chain    so does what is no chain; its batch norm is not folded
 *   cl          each tile of cl_tile: gemm_cl_chain against gemm_cl_conv for both layers, within
 *               a bound, also with a shortcut
 *   cl, added   one convolution and a shortcut, likewise, by rows that can add and one that cannot
 *
 *   test_chain [--seed S] [--cases N] [--isa NAME] [--row packed|cl]
 */
#include "check/conv_check.h"
#include "cl/rows.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "packed/chain/chain.h"
#include "packed/packed.h"
#include "support/operands.h"
#include "support/options.h"
#include "support/report.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LAYERS = 3, MOST_THREADS = 8 };

/* By bands with one thread, with some threads, and by phases. One more turn cuts as it likes. */
enum { CUTS = 3, TURNS = CUTS + 1 };

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define PICK(r, of) (of)[rng_below(r, (int)COUNT(of))]

/* Scratch of threads comes from here. */
static bool no_memory;

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return no_memory ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* ---- problems ---- */

typedef struct problem {
    int first;                  /* 0: all three layers; 1: without the expanding one */
    packed_chain_cut cuts[CUTS];
    int threads;
    conv_call calls[LAYERS];
    conv_norm norms[LAYERS];
    bool adds;                  /* a shortcut follows, which also reads `other` */
    layer_call shortcut;
    layer_input inputs[2];
    guarded input, output, expected, other;
    guarded numbers[LAYERS][5]; /* weights, shift, mean, variance, scales */
    float *inner[LAYERS];       /* outputs of the layers one by one */
} problem;

static guarded make_array(int n, rng *r)
{
    guarded g = guarded_make(1, n, n, rng_below(r, 2) ? AT_END : AT_START, 4 * rng_below(r, 4));
    guarded_fill(&g, r);
    return g;
}

static int floats_out(const conv_call *c)
{
    return c->batch * c->n * c->out_h * c->out_w;
}

static void set_numbers(problem *p, int i, rng *r)
{
    conv_call *c = &p->calls[i];
    guarded *g = p->numbers[i];
    g[0] = make_array(c->n * (c->c / c->groups) * c->size * c->size, r);
    for (int k = 1; k < 5; ++k) g[k] = make_array(c->n, r);
    for (int k = 0; k < c->n; ++k) g[3].data[k] = .1f + g[3].data[k] * g[3].data[k];
    c->weights = g[0].data;
    c->shift = g[1].data;
    p->norms[i] = (conv_norm){g[2].data, g[3].data, g[4].data};
}

/* NULL, or the shortcut, with this output of the last convolution. */
static const layer_call *shortcut_of(problem *p, const float *last, float *output)
{
    p->inputs[0].data = last;
    p->inputs[1].data = p->other.data;
    p->shortcut.input = p->inputs;
    p->shortcut.output = output;
    return p->adds ? &p->shortcut : NULL;
}

static void add_shortcut(problem *p, rng *r)
{
    static const conv_activation activations[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU};
    const conv_call *c = &p->calls[2];
    const int floats = c->n * c->out_h * c->out_w;
    p->adds = true;
    p->other = make_array(floats_out(c), r);
    p->inputs[0].size = p->inputs[1].size = floats;
    p->shortcut = (layer_call){
        .kind = LAYER_SHORTCUT, .batch = c->batch, .c = c->n, .h = c->out_h, .w = c->out_w,
        .out_c = c->n, .out_h = c->out_h, .out_w = c->out_w, .alpha = 1 + rng_float(r),
        .beta = 1 + rng_float(r), .activation = PICK(r, activations), .inputs = 2};
}

static problem make_problem(uint64_t seed, int number)
{
    static const int channels[] = {1, 2, 3, 5, 7, 8, 13, 16, 31, 33, 48, 64, 67, 70, 130, 401};
    /* 16x32 and 32x32: rows of B that compete for sets of L1 */
    static const int sides[] = {1, 2, 3, 4, 5, 7, 8, 10, 13, 16, 17, 20, 31, 32, 33, 40, 53};
    static const conv_activation activations[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU};
    rng r = rng_make(seed, (uint64_t)number);
    problem p = {.first = rng_below(&r, 3) == 0, .threads = 1 + rng_below(&r, MOST_THREADS)};
    const int batch = 1 + rng_below(&r, 2), h = PICK(&r, sides), w = PICK(&r, sides);
    const int in = PICK(&r, channels), wide = PICK(&r, channels), out = PICK(&r, channels);
    static const int filters[] = {3, 3, 5, 2, 7};
    const int size = PICK(&r, filters), stride = 1 + rng_below(&r, 2);
    const int pad = rng_below(&r, 4) ? size / 2 : rng_below(&r, size);
    const int oh = h + 2 * pad < size ? 1 : (h + 2 * pad - size) / stride + 1;
    const int ow = w + 2 * pad < size ? 1 : (w + 2 * pad - size) / stride + 1;
    p.calls[0] = (conv_call){batch, 1, in, h, w, wide, 1, 1, 0, h, w, .scale = NULL};
    p.calls[1] = (conv_call){batch, wide, wide, h, w, wide, size, stride, pad, oh, ow,
                             .scale = NULL};
    p.calls[2] = (conv_call){batch, 1, wide, oh, ow, out, 1, 1, 0, oh, ow, .scale = NULL};
    p.cuts[0] = (packed_chain_cut){.pieces = 1, .rows = 1 + rng_below(&r, oh)};
    p.cuts[1] = (packed_chain_cut){.pieces = 1 + rng_below(&r, oh), .rows = 1 + rng_below(&r, oh)};
    p.cuts[2] = (packed_chain_cut){.by_phases = true, .pieces = 1 + rng_below(&r, oh),
                                   .step = 1 + rng_below(&r, oh * ow)};
    p.input = make_array(batch * (p.first ? wide : in) * h * w, &r);
    p.output = make_array(floats_out(&p.calls[2]), &r);
    p.expected = make_array(floats_out(&p.calls[2]), &r);
    for (int i = 0; i < LAYERS; ++i) {
        p.calls[i].activation = PICK(&r, activations);
        set_numbers(&p, i, &r);
        p.inner[i] = malloc((size_t)floats_out(&p.calls[i]) * sizeof(float));
        if (!p.inner[i]) abort();
    }
    p.calls[p.first].input = p.input.data;
    if (rng_below(&r, 2)) add_shortcut(&p, &r);
    p.calls[2].output = p.adds ? NULL : p.output.data;
    return p;
}

static void drop_shortcut(problem *p)
{
    if (p->adds) guarded_free(&p->other);
    p->adds = false;
    p->calls[2].output = p->output.data;
}

static void free_problem(problem *p)
{
    drop_shortcut(p);
    guarded_free(&p->input);
    guarded_free(&p->output);
    guarded_free(&p->expected);
    for (int i = 0; i < LAYERS; ++i) {
        for (int k = 0; k < 5; ++k) guarded_free(&p->numbers[i][k]);
        free(p->inner[i]);
    }
}

/* Layer i as it runs alone. */
static conv_call alone(const problem *p, int i)
{
    conv_call c = p->calls[i];
    if (i > p->first) c.input = p->inner[i - 1];
    c.output = i == LAYERS - 1 && !p->adds ? p->expected.data : p->inner[i];
    return c;
}

static bool same_bits(const problem *p)
{
    return !memcmp(p->output.data, p->expected.data,
                   (size_t)floats_out(&p->calls[2]) * sizeof(float));
}

static bool is_untouched(problem *p)
{
    guarded_fill_nan(&p->expected);
    return same_bits(p);
}

/* ---- random ---- */

/* Of a case that is wrong, and how to repeat it: `option value` chooses what ran. */
static void report_case(const char *name, const char *wrong, int number, const char *option,
                        const char *value, uint64_t seed, int cases)
{
    report_fail(name, "case %d: %s; repeat: test_chain %s %s --seed %llu --cases %d", number, wrong,
                option, value, (unsigned long long)seed, cases);
}

/* NULL, or what is wrong. Counts the chains that ran. */
static const char *judge_random(problem *p, const gemm_ukernel *u, int *ran)
{
    gemm_note note;
    gemm_context context = gemm_make_context(&note);
    context.isa = u;
    context.direct = true;
    for (int i = p->first; i < LAYERS; ++i) {
        const conv_call c = alone(p, i);
        if (gemm_packed_conv(&c, &context, NULL) != GEMM_DONE) return "a layer alone declined";
    }
    const layer_call *s = shortcut_of(p, p->inner[2], p->expected.data);
    if (s && gemm_packed_layer(s, &context, NULL) != GEMM_DONE) return "the shortcut declined";
    s = shortcut_of(p, NULL, p->output.data);
    for (int turn = 0; turn < TURNS; ++turn) {
        guarded_fill_nan(&p->output);
        context.threads = turn ? p->threads : 1;
        const gemm_status status = packed_chain_by(p->calls + p->first, LAYERS - p->first, s, NULL,
                                                   turn < CUTS ? &p->cuts[turn] : NULL, &context);
        if (status == GEMM_DONE && !same_bits(p)) return "the bits are not those of the layers";
        if (status == GEMM_DONE && strcmp(note.algorithm, "chain")) return "the note is wrong";
        *ran += status == GEMM_DONE;
        if (status != GEMM_DONE && !is_untouched(p)) return "it declined after it had written";
        if (status != GEMM_DONE) return NULL;
    }
    return NULL;
}

static void test_random(const gemm_ukernel *u, uint64_t seed, int cases)
{
    char name[32];
    const char *wrong = NULL;
    int ran = 0, number = 0;
    snprintf(name, sizeof name, "random, %s", u->name);
    for (; number < cases && !wrong; ++number) {
        problem p = make_problem(seed, number);
        wrong = judge_random(&p, u, &ran);
        free_problem(&p);
    }
    if (wrong)
        report_case(name, wrong, number - 1, "--isa", u->name, seed, number);
    else if (ran < cases * TURNS / 3)
        report_fail(name, "only %d of %d runs", ran, TURNS * cases);
    else
        report_pass(name);
}

/* ---- added ---- */

/* The ways of packed_conv_add, and NULL. GEMM_WAY asks for each of them. */
static const char *const adding[] = {"winograd4", "winograd2", "nchwc", "implicit", NULL};
enum { ADDING = COUNT(adding) - 1 };

/* One convolution, number 2 of the problem. Every second one can go by Winograd's algorithm or in
   nchwc, if its maps fit the scratch. Most networks have factors of 1 behind a linear convolution.
   Tiles in registers may add such a shortcut. */
static problem make_added(uint64_t seed, int number)
{
    static const int channels[] = {8, 13, 16, 33, 70, 130, 401, 610}, few[] = {1, 2, 3, 6};
    static const int sides[] = {1, 3, 5, 8, 13, 16, 20, 33}, sizes[] = {1, 1, 3, 3, 5};
    rng r = rng_make(seed, (uint64_t)number);
    problem p = {.first = 2, .threads = 1 + rng_below(&r, MOST_THREADS)};
    const bool any = number % 2;
    const int size = any ? PICK(&r, sizes) : number % 4 ? 1 : 3, batch = 1 + rng_below(&r, 2);
    const int in = any && rng_below(&r, 2) ? PICK(&r, few) : PICK(&r, channels);
    const int out = any && rng_below(&r, 2) ? PICK(&r, few) : PICK(&r, channels);
    const int groups = any && in % 2 == 0 && out % 2 == 0 && rng_below(&r, 3) == 0 ? 2 : 1;
    const int stride = any && size > 1 ? 1 + rng_below(&r, 2) : 1;
    const int h = PICK(&r, sides), w = PICK(&r, sides);
    p.calls[2] = (conv_call){batch, groups, in, h, w, out, size, stride, size / 2,
                             (h - 1) / stride + 1, (w - 1) / stride + 1, .scale = NULL};
    p.calls[2].activation = (conv_activation)rng_below(&r, CONV_RELU + 1);
    p.input = make_array(batch * in * h * w, &r);
    p.output = make_array(floats_out(&p.calls[2]), &r);
    p.expected = make_array(floats_out(&p.calls[2]), &r);
    set_numbers(&p, 2, &r);
    p.inner[2] = malloc((size_t)floats_out(&p.calls[2]) * sizeof(float));
    if (!p.inner[2]) abort();
    p.calls[2].input = p.input.data;
    add_shortcut(&p, &r);
    if (rng_below(&r, 2)) {
        p.calls[2].activation = CONV_LINEAR;
        p.shortcut.alpha = p.shortcut.beta = 1;
    }
    return p;
}

static void free_added(problem *p)
{
    drop_shortcut(p);
    guarded_free(&p->input);
    guarded_free(&p->output);
    guarded_free(&p->expected);
    for (int k = 0; k < 5; ++k) guarded_free(&p->numbers[2][k]);
    free(p->inner[2]);
}

/* The number of the way in `adding`, or ADDING. */
static int way_of(const gemm_note *note)
{
    int way = 0;
    while (way < ADDING && strcmp(note->algorithm, adding[way])) ++way;
    return way;
}

/* NULL, or what is wrong. `ran` counts the calls of each way. */
static const char *judge_added(problem *p, const char *asked, const gemm_ukernel *u, int *ran)
{
    gemm_note note;
    gemm_context context = gemm_make_context(&note);
    context.isa = u;
    context.way = asked;
    const conv_call c = alone(p, 2);
    if (gemm_packed_conv(&c, &context, NULL) != GEMM_DONE) return "the layer alone declined";
    const int way = way_of(&note);
    const layer_call *s = shortcut_of(p, p->inner[2], p->expected.data);
    if (gemm_packed_layer(s, &context, NULL) != GEMM_DONE) return "the shortcut declined";
    s = shortcut_of(p, NULL, p->output.data);
    for (int turn = 0; turn < 2; ++turn, ++ran[way]) {
        guarded_fill_nan(&p->output);
        context.threads = turn ? p->threads : 1;
        const gemm_status status = packed_conv_add(&p->calls[2], s, &context);
        if (way == ADDING && (status != GEMM_DECLINED || !is_untouched(p)))
            return "a way that does not add ran, or wrote";
        if (way == ADDING) return NULL;
        if (status != GEMM_DONE) return "it declined";
        if (way_of(&note) != way) return "it goes another way";
        if (!same_bits(p)) return "the bits are not those of the layers";
    }
    return NULL;
}

static void test_added(const gemm_ukernel *u, uint64_t seed, int cases)
{
    enum { ENOUGH = 60 };       /* cases in which each way runs, whatever the seed */
    char name[32];
    const char *wrong = NULL;
    int ran[ADDING + 1] = {0}, number = 0, missing = 0;
    snprintf(name, sizeof name, "added, %s", u->name);
    for (; number < cases && !wrong; ++number) {
        problem p = make_added(seed, number);
        for (int i = 0; i <= ADDING && !wrong; ++i) wrong = judge_added(&p, adding[i], u, ran);
        free_added(&p);
    }
    for (int i = 0; i < ADDING; ++i) missing += !ran[i];
    if (wrong)
        report_case(name, wrong, number - 1, "--isa", u->name, seed, 3 * number);
    else if (missing && cases >= ENOUGH)
        report_fail(name, "%d of %d ways never ran", missing, ADDING);
    else
        report_pass(name);
}

/* ---- driver ---- */

/* The chain twice, so that it finds its plans, against the layers one by one without plans. */
static const char *judge_twice(problem *p, const conv_norm *const *norms, gemm_plan **const *slots)
{
    const int first = p->first;
    for (int i = first; i < LAYERS; ++i) {
        const conv_call c = alone(p, i);
        if (!gemm_conv(&c, norms[i], NULL)) return "a layer alone declined";
    }
    const layer_call *s = shortcut_of(p, p->inner[2], p->expected.data);
    if (s && !gemm_layer(s)) return "the shortcut declined";
    s = shortcut_of(p, NULL, p->output.data);
    for (int turn = 0; turn < 2; ++turn) {
        guarded_fill_nan(&p->output);
        if (!gemm_conv_chain(p->calls + first, norms + first, LAYERS - first, slots + first, s))
            return "it declined";
        if (!same_bits(p)) return "the bits are not those of the layers";
    }
    return NULL;
}

static const char *judge_driver(problem *p)
{
    const conv_norm *norms[LAYERS];
    gemm_plan *plans[LAYERS] = {NULL}, **slots[LAYERS];
    for (int i = 0; i < LAYERS; ++i) {
        norms[i] = i == 1 ? NULL : &p->norms[i];
        slots[i] = i == 1 ? NULL : &plans[i];
    }
    const char *wrong = judge_twice(p, norms, slots);
    for (int i = p->first; i < LAYERS && !wrong; ++i) {
        p->numbers[i][0].data[0] += 1;          /* a weight */
        p->numbers[i][4].data[0] += 1;          /* a scale of the batch norm */
        gemm_plan_drop(&plans[i]);
        wrong = judge_twice(p, norms, slots);
    }
    for (int i = 0; i < LAYERS; ++i) gemm_plan_drop(&plans[i]);
    return !wrong && gemm_planned_bytes() ? "a dropped plan is counted" : wrong;
}

/* ---- cl ---- */

/* What is kept, for each layer of the chain. */
typedef struct cl_plans {
    gemm_kept kept[2];
    gemm_kept *each[2];
} cl_plans;

/* Of the chain that ran last. */
static gemm_note cl_note;

/* Why a chain of a tile does not run on some GPUs. `cl` launches the two layers there. */
static const char spills[] = "the OpenCL compiler spills the registers of the kernel";

/* The last `count` layers, and the shortcut behind them if there is one. */
static gemm_status run_cl_chain(problem *p, int count, const gemm_cl_row *row, cl_plans *plans)
{
    gemm_context context = gemm_make_context(&cl_note);
    context.chain_kept = plans->each + 2 - count;
    guarded_fill_nan(&p->output);
    return gemm_cl_chain(p->calls + LAYERS - count, count, shortcut_of(p, NULL, p->output.data),
                         &context, row);
}

static bool declines(problem *p, int count, const gemm_cl_row *row, cl_plans *plans)
{
    return run_cl_chain(p, count, row, plans) == GEMM_DECLINED && is_untouched(p);
}

/* The shortcut that the device's kernels can add. */
static void make_plain(problem *p)
{
    p->calls[2].activation = CONV_LINEAR;
    p->shortcut.alpha = p->shortcut.beta = 1;
}

static float activate(conv_activation a, float x)
{
    return x > 0 || a == CONV_LINEAR ? x : a == CONV_LEAKY ? .1f * x : 0 * x;
}

/*
 * NULL, or what is wrong about a chain with a shortcut. `last`: the output of the last layer
 * without it, by the same row. Another kernel may round otherwise, but what is added at a wrong
 * place is off by more.
 */
static const char *judge_sum(problem *p, int count, const gemm_cl_row *row, cl_plans *plans,
                             const float *last)
{
    layer_call *s = &p->shortcut;
    const int n = floats_out(&p->calls[2]);
    for (int turn = 0; turn < 2; ++turn) {      /* then with what is kept */
        if (run_cl_chain(p, count, row, plans) != GEMM_DONE) return "with a shortcut it declined";
        for (int i = 0; i < n; ++i) {
            const float x = activate(s->activation, last[i] + p->other.data[i]);
            if (!(fabsf(p->output.data[i] - x) <= 1e-2f * (1 + fabsf(x))))
                return "the shortcut is wrong";
        }
    }
    s->beta = 2;
    if (!declines(p, count, row, plans)) return "it ran a shortcut with a factor";
    s->beta = 1;
    p->calls[2].activation = CONV_LEAKY;
    if (!declines(p, count, row, plans)) return "it ran an activation and a shortcut";
    p->calls[2].activation = CONV_LINEAR;
    plans->each[1] = NULL;
    if (!declines(p, count, row, plans)) return "it ran a shortcut without a plan";
    plans->each[1] = &plans->kept[1];
    return NULL;
}

/*
 * NULL, or what is wrong about the output. OpenCL lets a compiler round a product and a sum once or
 * twice, so two kernels may give other bits. `inner` is what the depthwise kernel gave. An element
 * of the chain's own is off from it by twice the bound of conv_check.c at most: FLT_EPSILON for
 * each of taps + 8 roundings, of taps + 1 terms below 1. The bound of the 1x1 has that as an error
 * of its input.
 */
static const char *judge_output(const problem *p, const conv_call *project)
{
    static char why[96];
    const int taps = p->calls[1].size * p->calls[1].size;
    const gemm_rounding inner = {.b = 2 * (taps + 8) * (FLT_EPSILON * (taps + 1) + FLT_MIN)};
    conv_call c = *project;
    gemm_error worst;
    c.output = p->output.data;
    if (gemm_conv_compare_rounded(&c, NULL, &inner, &worst)) return "no memory";
    snprintf(why, sizeof why, "filter %d at %d is off by %g, %.3g times the bound", worst.row,
             worst.column, worst.difference, worst.ratio);
    return worst.ratio <= 1 ? NULL : why;
}

static const char *judge_cl(problem *p, const gemm_cl_row *row, cl_plans *plans)
{
    const bool adds = p->adds;
    const char *wrong;
    gemm_note note;
    gemm_context context = gemm_make_context(&note);
    p->adds = false;
    if (adds) make_plain(p);
    const conv_call depth = alone(p, 1), project = alone(p, 2);
    if (gemm_cl_conv(&depth, &context, &gemm_cl_choices[GEMM_CL_THIN_1]) != GEMM_DONE ||
        gemm_cl_conv(&project, &context, row) != GEMM_DONE)
        return "a layer alone declined";
    for (int turn = 0; turn < 2; ++turn) {      /* then with what is kept */
        if (run_cl_chain(p, 2, row, plans) != GEMM_DONE)
            return strcmp(cl_note.reason, spills) ? "it declined" : spills;
        if (turn && !same_bits(p)) return "a second call gives other bits";
        if ((wrong = judge_output(p, &project))) return wrong;
        memcpy(p->expected.data, p->output.data, (size_t)floats_out(&p->calls[2]) * sizeof(float));
    }
    plans->each[0] = NULL;
    if (run_cl_chain(p, 2, row, plans) != GEMM_DECLINED) return "it ran without a plan";
    plans->each[0] = &plans->kept[0];
    p->adds = adds;
    memcpy(p->inner[2], p->expected.data, (size_t)floats_out(&p->calls[2]) * sizeof(float));
    if (adds && (wrong = judge_sum(p, 2, row, plans, p->inner[2]))) return wrong;
    p->adds = false;
    if (row->rows * row->wy < 401) {
        p->calls[2].n = row->rows * row->wy + 1;
        if (run_cl_chain(p, 2, row, plans) != GEMM_DECLINED) return "it ran with too many filters";
    }
    p->calls[2].n = project.n;
    p->adds = adds;
    return NULL;
}

/* Random chains of two layers that one tile of the row covers. */
static void test_cl_row(const gemm_cl_row *row, uint64_t seed, int cases)
{
    const char *wrong = gemm_cl_unusable(row);
    char name[64];
    int number = 0;
    snprintf(name, sizeof name, "cl, %dx%d of %dx%d k%d", row->rows, row->cols, row->wx, row->wy,
             row->depth);
    if (wrong) {
        report_unusable(name, wrong);
        return;
    }
    for (int ran = 0; ran < cases && !wrong; ++number) {
        problem p = make_problem(seed, number);
        cl_plans plans = {.kept = {{.room = SIZE_MAX}, {.room = SIZE_MAX}},
                          .each = {&plans.kept[0], &plans.kept[1]}};
        const bool is_dots = gemm_conv_is_dots(&p.calls[1]) || gemm_conv_is_dots(&p.calls[2]);
        p.first = 1;
        p.calls[2].output = p.output.data;
        p.calls[1].input = p.inner[0];
        if (p.calls[2].n <= row->rows * row->wy && p.calls[1].size > 1 && !is_dots) {
            rng r = rng_make(seed, (uint64_t)number);
            for (int i = 0; i < floats_out(&p.calls[0]); ++i) p.inner[0][i] = rng_float(&r);
            wrong = judge_cl(&p, row, &plans);
            ++ran;
        }
        for (int i = 0; i < 2; ++i) gemm_drop_kept(&plans.kept[i]);
        free_problem(&p);
    }
    if (wrong == spills)
        report_skip_machine(name, "%s", wrong);
    else if (wrong)
        report_case(name, wrong, number - 1, "--row", "cl", seed, number);
    else
        report_pass(name);
}

static const char *judge_cl_added(problem *p, const gemm_cl_row *row)
{
    cl_plans plans = {.kept = {{.room = SIZE_MAX}, {.room = SIZE_MAX}},
                      .each = {&plans.kept[0], &plans.kept[1]}};
    gemm_note note;
    gemm_context context = gemm_make_context(&note);
    make_plain(p);
    const conv_call c = alone(p, 2);
    const bool done = gemm_cl_conv(&c, &context, row) == GEMM_DONE;
    const char *wrong = done ? judge_sum(p, 1, row, &plans, p->inner[2]) : "the layer declined";
    gemm_drop_kept(&plans.kept[1]);
    return wrong;
}

/* A convolution of any kind and a shortcut, with K whole, in slices and in parts. A row whose
   kernel cannot add declines. */
static void test_cl_added(uint64_t seed, int cases)
{
    gemm_cl_row parts = gemm_cl_choices[GEMM_CL_TILE_32x64];
    parts.parts = 2;
    const gemm_cl_row *const rows[] = {
        &gemm_cl_choices[GEMM_CL_THIN_4], &gemm_cl_choices[GEMM_CL_TILE_32x64_DEEP],
        &gemm_cl_choices[GEMM_CL_SLICED_32x16], &parts};
    for (size_t i = 0; i < COUNT(rows); ++i) {
        const char *wrong = gemm_cl_unusable(rows[i]);
        char name[64];
        int number = 0;
        snprintf(name, sizeof name, "cl, added, %s %dx%d slices %d parts %d",
                 rows[i]->family->kernel, rows[i]->rows, rows[i]->cols, rows[i]->slices,
                 rows[i]->parts);
        if (wrong) {
            report_unusable(name, wrong);
            continue;
        }
        for (; number < cases && !wrong; ++number) {
            problem p = make_added(seed, number);
            wrong = judge_cl_added(&p, rows[i]);
            free_added(&p);
        }
        if (wrong)
            report_case(name, wrong, number - 1, "--row", "cl", seed, number);
        else
            report_pass(name);
    }
}

static void test_cl_declined(void)
{
    problem p = make_added(1, 1);
    cl_plans plans = {.kept = {{.room = SIZE_MAX}, {.room = SIZE_MAX}},
                      .each = {&plans.kept[0], &plans.kept[1]}};
    make_plain(&p);
    report_judged("cl, a kernel that cannot add",
                  declines(&p, 1, &gemm_cl_image, &plans) ? NULL : "it ran, or wrote");
    gemm_drop_kept(&plans.kept[1]);
    free_added(&p);
}

/* Ends the program without its functions at exit, because Oclgrind crashes in them. */
static _Noreturn void test_cl(uint64_t seed, int cases)
{
    for (int i = 0; i < GEMM_CL_MULTIPLIES; ++i)
        if (gemm_cl_choices[i].depth) test_cl_row(&gemm_cl_choices[i], seed, cases);
    test_cl_row(&gemm_cl_tile_short, seed, cases);
    if (cases > 1) test_cl_added(seed, cases);      /* large ones, which Oclgrind is too slow for */
    test_cl_declined();
    const int status = report_status();
    fflush(stdout);
    _exit(status);
}

/* ---- all of it ---- */

/* 1x1 from `in` to `wide` channels, 3x3 of this stride, 1x1 to `out` channels. */
static problem make_driven(int first, int in, int wide, int out, int side, int stride)
{
    rng r = rng_make(3, 0);
    problem p = {.first = first};
    const int to = side / stride;
    p.calls[0] = (conv_call){1, 1, in, side, side, wide, 1, 1, 0, side, side, .scale = NULL};
    p.calls[1] = (conv_call){1, wide, wide, side, side, wide, 3, stride, 1, to, to, .scale = NULL};
    p.calls[2] = (conv_call){1, 1, wide, to, to, out, 1, 1, 0, to, to, .scale = NULL};
    p.input = make_array((first ? wide : in) * side * side, &r);
    p.output = make_array(out * to * to, &r);
    p.expected = make_array(out * to * to, &r);
    for (int i = 0; i < LAYERS; ++i) {
        set_numbers(&p, i, &r);
        p.inner[i] = malloc((size_t)floats_out(&p.calls[i]) * sizeof(float));
        if (!p.inner[i]) abort();
    }
    p.calls[first].input = p.input.data;
    p.calls[2].output = p.output.data;
    if (!first) add_shortcut(&p, &r);
    return p;
}

/* Two bands for each thread, and a small map. The small one has tail columns, and its last layer
   several blocks of K. */
static problem make_large(int first) { return make_driven(first, 16, 64, 16, 80, 2); }
static problem make_small(int first) { return make_driven(first, 131, 401, 70, 10, 1); }

/* One 1x1 layer and a shortcut. */
static problem make_one(void)
{
    problem p = make_large(0);
    rng r = rng_make(4, 0);
    guarded_free(&p.input);
    p.first = 2;
    p.input = make_array(p.calls[2].c * p.calls[2].h * p.calls[2].w, &r);
    p.calls[2].input = p.input.data;
    return p;
}

/* ---- declined ---- */

static bool is_declined(problem *p)
{
    const conv_norm *norms[LAYERS] = {NULL};
    gemm_plan **slots[LAYERS] = {NULL};
    guarded_fill_nan(&p->output);
    return !gemm_conv_chain(p->calls, norms, LAYERS, slots, shortcut_of(p, NULL, p->output.data)) &&
           is_untouched(p);
}

static bool without_memory;

static void *run_without_memory(void *p)
{
    no_memory = true;
    without_memory = is_declined(p);
    no_memory = false;
    return NULL;
}

/* In a thread of its own, which has no scratch yet. */
static bool is_declined_without_memory(problem *p)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_without_memory, p)) abort();
    pthread_join(thread, NULL);
    return without_memory;
}

/* Whether it does not run, and gets no plan, which would hold its batch norm. */
static bool costs_nothing(problem *p)
{
    const conv_norm *norms[LAYERS] = {&p->norms[0], &p->norms[1], &p->norms[2]};
    gemm_plan *plans[LAYERS] = {NULL}, **slots[LAYERS] = {&plans[0], &plans[1], &plans[2]};
    guarded_fill_nan(&p->output);
    const bool ran = gemm_conv_chain(p->calls, norms, LAYERS, slots,
                                     shortcut_of(p, NULL, p->output.data));
    bool planned = false;
    for (int i = 0; i < LAYERS; ++i) {
        planned = planned || plans[i];
        gemm_plan_drop(&plans[i]);
    }
    return !ran && !planned && is_untouched(p);
}

/* Each step breaks one rule of the contract, and mends the one before it. */
static const char *judge_no_chain(problem *p)
{
    conv_call *c = p->calls;
    c[0].n = 65;
    const bool channels = costs_nothing(p);
    c[0].n = 64, c[0].size = 3, c[0].pad = 1;
    const bool pointwise = costs_nothing(p);
    c[0].size = 1, c[0].pad = 0, c[1].groups = 32;
    const bool depthwise = costs_nothing(p);
    c[1].groups = 64, c[2].h = 39;
    const bool sides = costs_nothing(p);
    c[2].h = 40, c[2].pool = true;
    const bool pool = costs_nothing(p);
    c[2].pool = false;
    const bool right = channels && pointwise && depthwise && sides && pool;
    return right ? NULL : "what is no chain ran, or has plans";
}

/* Chains that packed cannot run. */
static const char *judge_declined(problem *p)
{
    conv_call *c = p->calls;
    if (is_declined(p)) return "the chain itself is declined";
    if (!is_declined_without_memory(p)) return "it ran without memory, or wrote";
    c[1].activation = CONV_LOGISTIC;
    const bool logistic = is_declined(p);
    c[1].activation = CONV_LINEAR, c[1].stride = 3;
    const bool stride = is_declined(p);
    c[1].stride = 2, p->shortcut.activation = CONV_LOGISTIC;
    const bool sum = is_declined(p);
    p->shortcut.activation = CONV_LINEAR, p->shortcut.c = 8;
    const bool fewer = is_declined(p);
    p->shortcut.c = 16;
    return logistic && stride && sum && fewer ? NULL : "it ran a chain that it cannot run";
}

/* Whether one layer gets no plan and does not run: without a shortcut, and with a maxpool. */
static const char *judge_no_sum(problem *p)
{
    const conv_norm *norm = &p->norms[2];
    gemm_plan *plan = NULL, **slot = &plan;
    const layer_call *s = shortcut_of(p, NULL, p->output.data);
    conv_call c = p->calls[2];
    c.output = p->output.data;
    guarded_fill_nan(&p->output);
    bool ran = gemm_conv_chain(&c, &norm, 1, &slot, NULL);
    c.pool = true;
    ran = gemm_conv_chain(&c, &norm, 1, &slot, s) || ran || plan;
    gemm_plan_drop(&plan);
    return ran || !is_untouched(p) ? "what is no chain ran, or has a plan" : NULL;
}

static bool is_isa(const char *name)
{
    const gemm_ukernel *const *u = gemm_ukernels;
    while (*u && strcmp((*u)->name, name)) ++u;
    return *u;
}

int main(int argc, char **argv)
{
    test_options o = {.seed = (uint64_t)time(NULL), .cases = 300, .row = "packed"};
    o = options_read(argc, argv, o, "--seed, --cases, --row, --isa", NULL);
    if ((o.isa && !is_isa(o.isa)) || (strcmp(o.row, "packed") && strcmp(o.row, "cl")))
        return fprintf(stderr, "--row: packed or cl; --isa: micro-kernels of this build\n"), 2;
    const uint64_t seed = o.seed;
    const int cases = o.cases;
    printf("# seed %llu\n", (unsigned long long)seed);
    if (!strcmp(o.row, "cl")) test_cl(seed, cases);
    gemm_set_variant(gemm_find("packed"));
    for (const gemm_ukernel *const *u = gemm_ukernels; *u; ++u) {
        if (o.isa && strcmp(o.isa, (*u)->name)) continue;
        if ((*u)->supported()) {
            test_random(*u, seed, cases);
            test_added(*u, seed, cases / 3);
        } else {
            report_skip_machine((*u)->name, "this processor has no %s", (*u)->name);
        }
    }
    for (int first = 0; first < 2; ++first) {
        problem p = make_large(first), small = make_small(first);
        gemm_set_threads(2);
        report_judged(first ? "driver, two layers" : "driver", judge_driver(&p));
        report_judged(first ? "small map, two layers" : "small map", judge_driver(&small));
        gemm_set_threads(1);
        report_judged(first ? "small map, one thread, two layers" : "small map, one thread",
                      judge_driver(&small));
        if (!first) report_judged("declined", judge_declined(&p));
        if (!first) report_judged("no chain", judge_no_chain(&p));
        free_problem(&p);
        free_problem(&small);
    }
    problem one = make_one();
    report_judged("driver, one layer", judge_driver(&one));
    report_judged("no chain of one layer", judge_no_sum(&one));
    free_problem(&one);
    return report_status();
}
