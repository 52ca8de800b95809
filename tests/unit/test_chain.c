/* SPDX-License-Identifier: MIT */
/*
 * Chains of convolutions of `packed`, or with --row cl of the OpenCL rows: random geometry, and for
 * `packed` bands of random height and each instruction set of this processor. The output must have
 * the bits of the layers one by one, with any number of threads. Guard pages lie before or behind
 * the input, the output and all weights. The outputs of the inner layers do not exist.
 *
 *   random      packed_chain_by against gemm_packed_conv for each layer
 *               also with an input and an output in nchwc
 *   added       packed_conv_add, one convolution and a shortcut, against the two layers one by one:
 *               each way that adds, and the ways that decline
 *   cl          each tile of cl_tile: gemm_cl_chain against gemm_cl_conv for both layers, within
 *               a bound, also with a shortcut
 *   cl, added   one convolution and a shortcut, likewise, by rows that can add and one that cannot
 *
 *   test_chain [--seed S] [--cases N] [--case I] [--isa NAME] [--row packed|cl]
 */
#include "check/conv_check.h"
#include "cl/rows.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "packed/chain/chain.h"
#include "packed/packed.h"
#include "support/cases.h"
#include "support/isas.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 8, MOST_CHANNELS = 401 };

/* By bands with one thread, with some threads, and by phases. One more turn cuts as it likes. */
enum { CUTS = 3, TURNS = CUTS + 1 };

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define PICK(r, of) (of)[rng_below(r, (int)COUNT(of))]

/* ---- problems ---- */

/* No layer has a scale. */
static void drop_scales(links *l)
{
    for (int i = 0; i < LINKS; ++i) l->calls[i].scale = NULL;
}

/* The shortcut that tiles in registers and the device's kernels can add. */
static void make_plain(links *l)
{
    l->calls[2].activation = CONV_LINEAR;
    l->shortcut.alpha = l->shortcut.beta = 1;
}

static const conv_activation ACTIVATIONS[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU};

/* The shortcut behind a chain. */
static layer_call draw_shortcut(rng *r)
{
    return (layer_call){.alpha = 1 + rng_float(r), .beta = 1 + rng_float(r),
                        .activation = PICK(r, ACTIVATIONS)};
}

/* Layers of these shapes. */
static links make_links(const conv_shape shapes[LINKS], int first, rng *r)
{
    conv_activation activations[LINKS];
    for (int i = 0; i < LINKS; ++i) activations[i] = PICK(r, ACTIVATIONS);
    const layer_call shortcut = draw_shortcut(r);
    return links_make(shapes, activations, first, &shortcut, r);
}

/* A chain with the bands of each turn. */
typedef struct problem {
    links l;
    int threads;
    packed_chain_cut cuts[CUTS];
} problem;

/* `expands`: perhaps with the first layer. */
static problem draw_problem(bool expands, rng *r)
{
    /* 8 and 24 fill half a last vector of 16, 9 and 41 a little more */
    static const int channels[] = {1,  2,  3,  5,  7,  8,  9,  13,  16, 24,
                                   31, 33, 41, 48, 64, 67, 70, 130, 401};
    /* 16x32 and 32x32: rows of B that compete for sets of L1 */
    static const int sides[] = {1, 2, 3, 4, 5, 7, 8, 10, 13, 16, 17, 20, 31, 32, 33, 40, 53};
    static const int filters[] = {3, 3, 5, 2, 7};
    problem p = {.threads = 1 + rng_below(r, MOST_THREADS)};
    const int first = !expands || rng_below(r, 3) == 0, batch = 1 + rng_below(r, 2);
    const int in = PICK(r, channels), wide = PICK(r, channels);
    int h = PICK(r, sides), w = PICK(r, sides);
    const bool as_input = rng_below(r, 3) == 0;
    const int size = as_input ? 3 : PICK(r, filters), stride = as_input ? 1 : 1 + rng_below(r, 2);
    const int pad = as_input || rng_below(r, 4) ? size / 2 : rng_below(r, size);
    const int out = as_input ? (first ? wide : in) : PICK(r, channels);
    while ((h + 2 * pad - size) / stride < 0) ++h;
    while ((w + 2 * pad - size) / stride < 0) ++w;
    const conv_shape shapes[LINKS] = {{"", batch, 1, in, h, w, wide, 1, 1, 0},
                                      {"", batch, wide, wide, h, w, wide, size, stride, pad},
                                      {"", batch, 1, wide, 0, 0, out, 1, 1, 0}};
    p.l = make_links(shapes, first, r);
    const int oh = p.l.calls[1].out_h, places = oh * p.l.calls[1].out_w;
    p.cuts[0] = (packed_chain_cut){.pieces = 1, .rows = 1 + rng_below(r, oh)};
    p.cuts[1].pieces = 1 + rng_below(r, oh);
    p.cuts[1].rows = 1 + rng_below(r, oh);
    p.cuts[2] = (packed_chain_cut){.by_phases = true, .pieces = 1 + rng_below(r, oh)};
    p.cuts[2].step = 1 + rng_below(r, places);
    return p;
}

static void describe(const links *l, char *text)
{
    char each[2][JUDGE_TEXT] = {"", ""};
    for (int i = l->first > 1 ? 2 : 1; i < LINKS; ++i) judge_text(&l->calls[i], each[i - 1]);
    snprintf(text, JUDGE_TEXT, "%d layers, %.75s, %.75s%s", LINKS - l->first, each[0], each[1],
             l->adds ? ", shortcut" : "");
}

/* ---- random ---- */

static int ran;                 /* the runs of a test's cases that were not declined */

/* The layers one by one, without a plan. */
static bool run_alone(links *l, const gemm_context *context)
{
    bool done = true;
    for (int i = l->first; i < LINKS; ++i) {
        const conv_call c = links_alone(l, i);
        done = done && gemm_packed_conv(&c, context, NULL) == GEMM_DONE;
    }
    links_expect(l, context->isa);
    return done;
}

/* NULL, or what is wrong. */
static const char *judge_cuts(problem *p, const gemm_ukernel *u)
{
    links *l = &p->l;
    gemm_note note;
    gemm_context context = gemm_make_context(&note);
    conv_call calls[LINKS];
    context.isa = u;
    context.direct = true;
    if (!run_alone(l, &context)) return "a layer alone declined";
    const layer_call *s = links_calls(l, calls);
    for (int turn = 0; turn < TURNS; ++turn) {
        links_clear(l);
        context.threads = turn ? p->threads : 1;
        const gemm_status status = packed_chain_by(calls + l->first, LINKS - l->first, s, NULL,
                                                   turn < CUTS ? &p->cuts[turn] : NULL, &context);
        if (status == GEMM_DONE && !links_right(l)) return "the bits are not those of the layers";
        if (status == GEMM_DONE && strcmp(note.algorithm, "chain")) return "the note is wrong";
        ran += status == GEMM_DONE;
        if (status != GEMM_DONE && !links_untouched(l)) return "it declined after it had written";
        if (status != GEMM_DONE) return NULL;
    }
    return NULL;
}

/* A map in nchwc, with zeroes behind the last channel, and back. */
static void lay(const gemm_ukernel *u, const conv_call *c, bool input, float *rows, float *lanes)
{
    const int channels = input ? c->c : c->n, places = input ? c->h * c->w : c->out_h * c->out_w;
    const size_t image = gemm_lanes_floats(channels, places);
    if (input) memset(lanes, 0, image * (size_t)c->batch * sizeof *lanes);
    for (int k = 0; k < c->batch * channels; ++k) {
        const int channel = k % channels, group = channel / u->vl * u->vl;
        float *at = lanes + (size_t)(k / channels) * image + group * places + channel % u->vl;
        for (int i = 0; i < places; ++i, ++rows, at += u->vl) {
            if (input) *at = *rows;
            else *rows = *at;
        }
    }
}

/* By turns 0 .. TURNS - 1 with maps that lie so. NULL, or what is wrong. */
static const char *judge_turns(problem *p, gemm_context *context, float *in, float *out)
{
    links *l = &p->l;
    conv_call calls[LINKS], *last = &l->calls[LINKS - 1];
    const layer_call *s = links_calls(l, calls);
    const bool reads = context->lanes & GEMM_LANES_IN, writes = context->lanes & GEMM_LANES_OUT;
    if (reads) calls[l->first].input = l->inputs[1].data = in;
    if (writes) *(s ? &l->shortcut.output : &calls[LINKS - 1].output) = out;
    for (int turn = 0; turn < TURNS; ++turn) {
        links_clear(l);
        context->threads = turn ? p->threads : 1;
        if (packed_chain_by(calls + l->first, LINKS - l->first, s, NULL,
                            turn < CUTS ? &p->cuts[turn] : NULL, context) != GEMM_DONE)
            return NULL;
        if (writes) lay(context->isa, last, false, l->output.data, out);
        if (!links_right(l)) return "in nchwc the bits are not those of the layers";
    }
    return NULL;
}

/* The shortcut adds the input of the chain, where that has the size of the output. */
static const char *judge_lanes(problem *p, const gemm_ukernel *u)
{
    links *l = &p->l;
    gemm_note note;
    gemm_context context = gemm_make_context(&note);
    const conv_call *c = &l->calls[l->first], *last = &l->calls[LINKS - 1];
    const int sizes[2] = {c->batch * (int)gemm_lanes_floats(c->c, c->h * c->w),
                          c->batch * (int)gemm_lanes_floats(last->n, gemm_conv_places(last))};
    guarded in = guarded_make(1, sizes[0], sizes[0], AT_END, 0);
    guarded out = guarded_make(1, sizes[1], sizes[1], AT_END, 0);
    const char *wrong = NULL;
    context.isa = u;
    context.direct = true;
    l->adds = c->c == last->n && c->h == last->out_h && c->w == last->out_w;
    if (l->adds) memcpy(l->other.data, c->input, (size_t)l->other.columns * sizeof(float));
    if (!run_alone(l, &context)) wrong = "a layer alone declined";
    lay(u, c, true, (float *)c->input, in.data);
    for (int lanes = 1; lanes <= 3 && !wrong; ++lanes) {
        context.lanes = lanes;
        if (!l->adds || lanes & GEMM_LANES_IN) wrong = judge_turns(p, &context, in.data, out.data);
    }
    guarded_free(&in);
    guarded_free(&out);
    return wrong;
}

static const char *judge_random(void *isa, rng *r, int number, char *text)
{
    problem p = draw_problem(true, r);
    describe(&p.l, text);
    const char *wrong = judge_cuts(&p, isa);
    if (!wrong && number % 2) wrong = judge_lanes(&p, isa);
    links_free(&p.l);
    return wrong;
}

/* ---- added ---- */

/* The ways of packed_conv_add, and NULL. GEMM_WAY asks for each of them. */
static const char *const adding[] = {"winograd4", "winograd2", "nchwc", "implicit", NULL};
enum { ADDING = COUNT(adding) - 1 };

/* One convolution, the last of three. Every second one can go by Winograd's algorithm or in nchwc,
   if its maps fit the scratch. Most networks have factors of 1 behind a linear convolution. Tiles
   in registers may add such a shortcut. */
static links draw_added(rng *r, int number)
{
    static const int channels[] = {8, 13, 16, 33, 70, 130, 401, 610}, few[] = {1, 2, 3, 6};
    static const int sides[] = {1, 3, 5, 8, 13, 16, 20, 33}, sizes[] = {1, 1, 3, 3, 5};
    const bool any = number % 2, plain = rng_below(r, 2);
    const int size = any ? PICK(r, sizes) : number % 4 ? 1 : 3, batch = 1 + rng_below(r, 2);
    const int in = any && rng_below(r, 2) ? PICK(r, few) : PICK(r, channels);
    const int out = any && rng_below(r, 2) ? PICK(r, few) : PICK(r, channels);
    const int groups = any && in % 2 == 0 && out % 2 == 0 && rng_below(r, 3) == 0 ? 2 : 1;
    const int stride = any && size > 1 ? 1 + rng_below(r, 2) : 1;
    const int h = PICK(r, sides), w = PICK(r, sides);
    const conv_shape shapes[LINKS] = {
        [2] = {"", batch, groups, in, h, w, out, size, stride, size / 2}};
    links l = make_links(shapes, 2, r);
    l.adds = true;
    if (plain) make_plain(&l);
    return l;
}

/* The number of the way in `adding`, or ADDING. */
static int way_of(const gemm_note *note)
{
    int way = 0;
    while (way < ADDING && strcmp(note->algorithm, adding[way])) ++way;
    return way;
}

static int ran_by[ADDING + 1];  /* the calls of each way */

/* NULL, or what is wrong. */
static const char *judge_by(links *l, const char *asked, const gemm_ukernel *u, int threads)
{
    gemm_note note;
    gemm_context context = gemm_make_context(&note);
    conv_call calls[LINKS];
    context.isa = u;
    context.way = asked;
    if (!run_alone(l, &context)) return "the layer alone declined";
    const int way = way_of(&note);
    const layer_call *s = links_calls(l, calls);
    for (int turn = 0; turn < 2; ++turn, ++ran_by[way]) {
        links_clear(l);
        context.threads = turn ? threads : 1;
        const gemm_status status = packed_conv_add(&calls[2], s, &context);
        if (way == ADDING && (status != GEMM_DECLINED || !links_untouched(l)))
            return "a way that does not add ran, or wrote";
        if (way == ADDING) return NULL;
        if (status != GEMM_DONE) return "it declined";
        if (way_of(&note) != way) return "it goes another way";
        if (!links_right(l)) return "the bits are not those of the layers";
    }
    return NULL;
}

static const char *judge_added(void *isa, rng *r, int number, char *text)
{
    links l = draw_added(r, number);
    const int threads = 1 + rng_below(r, MOST_THREADS);
    const char *wrong = NULL;
    describe(&l, text);
    for (int i = 0; i <= ADDING && !wrong; ++i) wrong = judge_by(&l, adding[i], isa, threads);
    links_free(&l);
    return wrong;
}

static void test_isa(const gemm_ukernel *u, const test_options *o)
{
    enum { ENOUGH = 60 };       /* cases in which each way runs, whatever the seed */
    char name[48], repeat[48];
    const int added = o->cases / 3;
    int ways = 0;
    snprintf(repeat, sizeof repeat, "test_chain --isa %s", u->name);
    snprintf(name, sizeof name, "random, %s", u->name);
    ran = 0;
    judge_cases(&(random_cases){name, repeat, 0, o->cases, judge_random, (void *)u, &ran,
                                o->cases * TURNS / 3}, o);
    snprintf(name, sizeof name, "added, %s", u->name);
    memset(ran_by, 0, sizeof ran_by);
    judge_cases(&(random_cases){.name = name, .repeat = repeat, .count = added,
                                .judge = judge_added, .subject = (void *)u}, o);
    for (int i = 0; i < ADDING; ++i) ways += ran_by[i] > 0;
    if (added >= ENOUGH && o->only_case < 0)
        report_that("each way adds", ways == ADDING, "only %d of %d ways ran", ways, ADDING);
}

/* ---- cl ---- */

/* What is kept, for the last two layers. */
typedef struct cl_plans {
    gemm_kept kept[2];
    gemm_kept *each[2];
} cl_plans;

static void make_plans(cl_plans *p)
{
    *p = (cl_plans){.kept = {{.room = SIZE_MAX}, {.room = SIZE_MAX}},
                    .each = {&p->kept[0], &p->kept[1]}};
}

static void drop_plans(cl_plans *p)
{
    for (int i = 0; i < 2; ++i) gemm_drop_kept(&p->kept[i]);
}

/* Of the chain that ran last. */
static gemm_note cl_note;

/* Why a chain of a tile does not run on some GPUs. `cl` launches the two layers there. */
static const char spills[] = "the OpenCL compiler spills the registers of the kernel";

static gemm_status run_cl_chain(links *l, const gemm_cl_row *row, cl_plans *plans)
{
    gemm_context context = gemm_make_context(&cl_note);
    conv_call calls[LINKS];
    const layer_call *shortcut = links_calls(l, calls);
    context.chain_kept = plans->each + l->first - 1;
    links_clear(l);
    return gemm_cl_chain(calls + l->first, LINKS - l->first, shortcut, &context, row);
}

static bool declines(links *l, const gemm_cl_row *row, cl_plans *plans)
{
    return run_cl_chain(l, row, plans) == GEMM_DECLINED && links_untouched(l);
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
static const char *judge_sum(links *l, const gemm_cl_row *row, cl_plans *plans, const float *last)
{
    layer_call *s = &l->shortcut;
    for (int turn = 0; turn < 2; ++turn) {      /* then with what is kept */
        if (run_cl_chain(l, row, plans) != GEMM_DONE) return "with a shortcut it declined";
        for (int i = 0; i < l->output.columns; ++i) {
            const float x = activate(s->activation, last[i] + l->other.data[i]);
            if (!(fabsf(l->output.data[i] - x) <= 1e-2f * (1 + fabsf(x))))
                return "the shortcut is wrong";
        }
    }
    s->beta = 2;
    if (!declines(l, row, plans)) return "it ran a shortcut with a factor";
    s->beta = 1;
    l->calls[2].activation = CONV_LEAKY;
    if (!declines(l, row, plans)) return "it ran an activation and a shortcut";
    l->calls[2].activation = CONV_LINEAR;
    plans->each[1] = NULL;
    if (!declines(l, row, plans)) return "it ran a shortcut without a plan";
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
static const char *judge_output(const links *l, const conv_call *project)
{
    static char why[96];
    const int taps = l->calls[1].size * l->calls[1].size;
    const gemm_rounding inner = {.b = 2 * (taps + 8) * (FLT_EPSILON * (taps + 1) + FLT_MIN)};
    conv_call c = *project;
    gemm_error worst;
    c.output = l->output.data;
    if (gemm_conv_compare_rounded(&c, NULL, &inner, &worst)) return "no memory";
    snprintf(why, sizeof why, "filter %d at %d is off by %g, %.3g times the bound", worst.row,
             worst.column, worst.difference, worst.ratio);
    return worst.ratio <= 1 ? NULL : why;
}

/* Without a shortcut; the output of the chain is expected then. */
static const char *judge_two(links *l, const gemm_cl_row *row, cl_plans *plans)
{
    const char *wrong;
    gemm_note note;
    const gemm_context context = gemm_make_context(&note);
    const conv_call depth = links_alone(l, 1), project = links_alone(l, 2);
    if (gemm_cl_conv(&depth, &context, &gemm_cl_choices[GEMM_CL_THIN_1]) != GEMM_DONE ||
        gemm_cl_conv(&project, &context, row) != GEMM_DONE)
        return "a layer alone declined";
    for (int turn = 0; turn < 2; ++turn) {      /* then with what is kept */
        if (run_cl_chain(l, row, plans) != GEMM_DONE)
            return strcmp(cl_note.reason, spills) ? "it declined" : spills;
        if (turn && !links_right(l)) return "a second call gives other bits";
        if ((wrong = judge_output(l, &project))) return wrong;
        memcpy(l->expected.data, l->output.data, (size_t)l->output.columns * sizeof(float));
    }
    plans->each[0] = NULL;
    if (!declines(l, row, plans)) return "it ran without a plan";
    plans->each[0] = &plans->kept[0];
    return NULL;
}

static const char *judge_cl(links *l, const gemm_cl_row *row, cl_plans *plans)
{
    const bool adds = l->adds;
    const int filters = l->calls[2].n;
    if (adds) make_plain(l);
    l->adds = false;
    const char *wrong = judge_two(l, row, plans);
    l->adds = adds;
    if (!wrong && adds) wrong = judge_sum(l, row, plans, l->expected.data);
    if (wrong || row->rows * row->wy >= MOST_CHANNELS) return wrong;
    l->adds = false;
    l->calls[2].n = row->rows * row->wy + 1;
    if (!declines(l, row, plans)) wrong = "it ran with too many filters";
    l->calls[2].n = filters;
    return wrong;
}

/* A random chain of two layers that one tile of the row covers. */
static const char *judge_cl_chain(void *row, rng *r, int number, char *text)
{
    const gemm_cl_row *v = row;
    cl_plans plans;
    bool suits = false;
    problem p;
    while (!suits) {
        p = draw_problem(false, r);
        const conv_call *c = p.l.calls;
        suits = c[2].n <= v->rows * v->wy && c[1].size > 1 && !gemm_conv_is_dots(&c[1]) &&
                !gemm_conv_is_dots(&c[2]);
        if (!suits) links_free(&p.l);
    }
    make_plans(&plans);
    drop_scales(&p.l);
    describe(&p.l, text);
    const char *wrong = judge_cl(&p.l, v, &plans);
    if (wrong == spills) printf("# case %d does not run here: %s\n", number, wrong);
    drop_plans(&plans);
    links_free(&p.l);
    return wrong == spills ? NULL : wrong;
}

/* A convolution of any kind and a shortcut, with K whole, in slices and in parts. */
static const char *judge_cl_added(void *row, rng *r, int number, char *text)
{
    links l = draw_added(r, number);
    cl_plans plans;
    gemm_note note;
    const gemm_context context = gemm_make_context(&note);
    make_plans(&plans);
    make_plain(&l);
    drop_scales(&l);
    describe(&l, text);
    const conv_call c = links_alone(&l, 2);
    const bool done = gemm_cl_conv(&c, &context, row) == GEMM_DONE;
    const char *wrong = done ? judge_sum(&l, row, &plans, c.output) : "the layer declined";
    drop_plans(&plans);
    links_free(&l);
    return wrong;
}

static void test_cl_row(const char *name, const gemm_cl_row *row, judge_case *judge,
                        const test_options *o)
{
    const char *why = gemm_cl_unusable(row);
    if (why) report_unusable(name, why);
    else
        judge_cases(&(random_cases){.name = name, .repeat = "test_chain --row cl", .judge = judge,
                                    .count = o->cases, .subject = (void *)row}, o);
}

static void test_cl_tile(const gemm_cl_row *row, const test_options *o)
{
    char name[64];
    snprintf(name, sizeof name, "cl, %dx%d of %dx%d k%d", row->rows, row->cols, row->wx, row->wy,
             row->depth);
    test_cl_row(name, row, judge_cl_chain, o);
}

static void test_cl_added(const test_options *o)
{
    gemm_cl_row parts = gemm_cl_choices[GEMM_CL_TILE_32x64];
    parts.parts = 2;
    const gemm_cl_row *const rows[] = {
        &gemm_cl_choices[GEMM_CL_THIN_4], &gemm_cl_choices[GEMM_CL_TILE_32x64_DEEP],
        &gemm_cl_choices[GEMM_CL_SLICED_32x16], &parts};
    for (size_t i = 0; i < COUNT(rows); ++i) {
        char name[64];
        snprintf(name, sizeof name, "cl, added, %s %dx%d slices %d parts %d",
                 rows[i]->family->kernel, rows[i]->rows, rows[i]->cols, rows[i]->slices,
                 rows[i]->parts);
        test_cl_row(name, rows[i], judge_cl_added, o);
    }
}

/* A row whose kernel cannot add declines. */
static void test_cl_declined(void)
{
    rng r = rng_make(1, 1);
    links l = draw_added(&r, 1);
    cl_plans plans;
    make_plans(&plans);
    make_plain(&l);
    report_judged("cl, a kernel that cannot add",
                  declines(&l, &gemm_cl_image, &plans) ? NULL : "it ran, or wrote");
    drop_plans(&plans);
    links_free(&l);
}

/* Ends the program without its functions at exit, because Oclgrind crashes in them. */
static _Noreturn void test_cl(const test_options *o)
{
    for (int i = 0; i < GEMM_CL_MULTIPLIES; ++i)
        if (gemm_cl_choices[i].depth) test_cl_tile(&gemm_cl_choices[i], o);
    test_cl_tile(&gemm_cl_tile_short, o);
    if (o->cases > 1) test_cl_added(o);     /* large ones, which Oclgrind is too slow for */
    test_cl_declined();
    const int status = report_status();
    fflush(stdout);
    _exit(status);
}

int main(int argc, char **argv)
{
    test_options o = {.seed = (uint64_t)time(NULL), .cases = 300, .only_case = -1,
                      .row = "packed"};
    o = options_read(argc, argv, o, "--seed, --cases, --case, --row, --isa", NULL);
    if (strcmp(o.row, "packed") && strcmp(o.row, "cl"))
        return fprintf(stderr, "--row %s: packed or cl is needed\n", o.row), 2;
    printf("# seed %llu\n", (unsigned long long)o.seed);
    if (!strcmp(o.row, "cl")) test_cl(&o);
    gemm_set_variant(gemm_find("packed"));
    test_isas(&o, test_isa);
    return report_status();
}
