/* SPDX-License-Identifier: MIT */
/*
 * The row packed_int8. Layers are compared with a reference that rounds by itself: each float must
 * be the same one. Each set of micro-kernels of this processor is tested, so all of them agree to
 * the bit.
 *
 *   conv        random convolutions: strides, groups, a batch, with a pool and without; 1 to 3
 *               threads give the same bits
 *   chain       random chains whose first layer, last layer, or both go in 8 bits, by bands and
 *               phases: the bits of the layers one by one, from the kept weights too; without the
 *               first layer; none in 8 bits
 *   extremes    a layer whose inputs and weights are all at their limits
 *   bands       images beyond L2, which go by bands: with a pool and groups, and with a stride
 *   single      what has no scale, or a logistic does not go in 8 bits
 *   kept        the weights are kept in 8 bits, serve the next call, and go with the plan
 *   no-memory   each of the aligned allocations fails in turn: the layer is declined, or goes in
 *               single precision; a chain is declined
 *   check       GEMM_CHECK's comparison takes what is right, and sees a sum that is off by 1
 *
 *   test_int8 [--isa NAME] [--cases N] [--seed N] [--case I]
 */
#include "check/int8_check.h"
#include "int8/scales.h"
#include "packed/chain/chain.h"
#include "packed/packed.h"
#include "packed/isa/quads.h"
#include "support/cases.h"
#include "support/failing_memory.h"
#include "support/rounded.h"
#include "util/caches.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, MANY_THREADS = 8 };

static int chains_ran;

/* ---- layers ---- */

typedef struct layer {
    const gemm_quads *q;
    conv_call call;
    gemm_scale scale;
    float *single;              /* NULL: it has to be in 8 bits. Else it may also be this */
    rng *r;                     /* which outputs of a large layer are compared */
} layer;

/* Some inputs are beyond the range. */
static layer make_layer(const gemm_quads *q, const conv_call *c, rng *r)
{
    return (layer){q, *c, {.M = c->n, .K = c->c / c->groups * c->size * c->size,
                           .scale = .9f / 127, .zero = draw_zero(r)}, NULL, r};
}

static layer draw_layer(const gemm_quads *q, const conv_shape *s, conv_activation activation,
                        rng *r)
{
    conv_call c = conv_shape_make(s, activation);
    conv_shape_fill(&c, r);
    return make_layer(q, &c, r);
}

static gemm_status run_layer(void *op, int threads, gemm_kept *kept, gemm_note *note)
{
    const layer *l = op;
    const gemm_context context = {.threads = threads, .isa = l->q->base, .kept = kept,
                                  .scale = &l->scale, .note = note};
    return gemm_int8_conv(&l->call, &context, l->q);
}

static float step_of(const layer *l, int filter)
{
    const float *w = l->call.weights + (size_t)filter * (size_t)l->scale.K;
    float most = 0;
    for (int i = 0; i < l->scale.K; ++i) most = fmaxf(most, fabsf(w[i]));
    return most;
}

/* One output by a direct sum. */
static float exact_output(const layer *l, int image, int filter, int y, int x)
{
    const conv_call *c = &l->call;
    const int channels = c->c / c->groups, first = filter / (c->n / c->groups) * channels;
    const float most = step_of(l, filter), inverse = most > 0 ? 127 / most : 0;
    const float *w = c->weights + (size_t)filter * (size_t)l->scale.K;
    long long sum = 0;
    for (int k = 0; k < channels; ++k) {
        const float *plane = c->input + (size_t)((image * c->c + first + k) * c->h * c->w);
        for (int dy = 0; dy < c->size; ++dy) {
            for (int dx = 0; dx < c->size; ++dx, ++w) {
                const int row = y * c->stride + dy - c->pad, column = x * c->stride + dx - c->pad;
                if (row < 0 || row >= c->h || column < 0 || column >= c->w) continue;
                sum += rounded_byte(plane[row * c->w + column], 1 / l->scale.scale,
                                    l->scale.zero) *
                       rounded_byte(*w, inverse, 0);
            }
        }
    }
    volatile float scale = most / 127;
    scale = scale * l->scale.scale;
    if (c->scale) scale = scale * c->scale[filter];
    const float slope = c->activation == CONV_LEAKY ? .1f : c->activation == CONV_RELU ? 0 : 1;
    return finished(slope, sum, scale, c->shift[filter]);
}

/* The maximum of a block, as conv_call defines it. */
static float exact_maximum(const layer *l, int image, int filter, int y, int x)
{
    float most = -FLT_MAX;
    for (int i = 0; i < 4; ++i) {
        const float one = exact_output(l, image, filter, 2 * y + i / 2, 2 * x + i % 2);
        most = one > most ? one : most;
    }
    return most;
}

/* All outputs of a small layer are compared, else some of them. */
static const char *wrong_layer(void *op, const gemm_note *note)
{
    const layer *l = op;
    const conv_call *c = &l->call;
    const int all = (int)conv_outputs(c), outputs = gemm_conv_outputs(c);
    const int count = all < 400 ? all : 400, width = c->out_w / (c->pool ? 2 : 1);
    if (!note->scale && l->single)
        return memcmp(c->output, l->single, (size_t)all * sizeof(float))
             ? "not as in single precision" : NULL;
    if (note->scale != &l->scale) return "not in 8 bits";
    for (int i = 0; i < count; ++i) {
        const int at = all == count ? i : rng_below(l->r, all), place = at % outputs;
        const int filter = at / outputs % c->n, image = at / outputs / c->n;
        const float y = (c->pool ? exact_maximum : exact_output)(l, image, filter, place / width,
                                                                 place % width);
        if (memcmp(&c->output[at], &y, sizeof y)) return "an output is another float";
    }
    return NULL;
}

static bool is_in_8_bits(const gemm_note *note) { return note->scale; }

static judged judge_of(layer *l)
{
    return (judged){l, l->call.output, conv_outputs(&l->call) * sizeof(float), NULL, run_layer,
                    is_in_8_bits, wrong_layer};
}

static const char *judge_layer(layer *l)
{
    const judged j = judge_of(l);
    gemm_note note;
    bool declined;
    const char *wrong = judge_threads(&j, THREADS, &declined, &note);
    return declined ? "declined" : wrong;
}

/* The output gets whole blocks for a pool. */
static void make_even(conv_shape *s)
{
    if ((s->h + 2 * s->pad - s->size) / s->stride % 2 == 0) s->h += s->stride;
    if ((s->w + 2 * s->pad - s->size) / s->stride % 2 == 0) s->w += s->stride;
}

static const char *judge_conv(void *subject, rng *r, int number, char *text)
{
    static const conv_activation activations[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU};
    const bool pools = number % 2;
    conv_shape s = judge_draw_shape(r, false, 300);
    if (pools) make_even(&s);
    layer l = draw_layer(subject, &s, activations[rng_below(r, 3)], r);
    if (rng_below(r, 4) == 0) l.call.scale = NULL;
    if (pools) conv_shape_pool(&l.call);
    judge_text(&l.call, text);
    const char *wrong = judge_layer(&l);
    conv_shape_free(&l.call);
    return wrong;
}

/* ---- chains ---- */

/* A chain with the scale of each layer. The first one has one, the last one, or both. */
typedef struct chain {
    links l;
    layer layers[LINKS];
    const gemm_scale *scales[LINKS];
} chain;

static void make_chain(chain *x, const gemm_quads *q, rng *r)
{
    static const conv_activation activations[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU};
    static const int sizes[] = {3, 3, 5};
    static const layer_call shortcut = {.alpha = 1, .beta = .5f, .activation = CONV_LEAKY};
    const int batch = 1 + rng_below(r, 2), size = sizes[rng_below(r, 3)];
    const bool deep = rng_below(r, 4) == 0;     /* many threads then go by phases */
    const int stride = 1 + rng_below(r, 2), h = 4 + rng_below(r, deep ? 8 : 20);
    const int w = 4 + rng_below(r, deep ? 8 : 40), most = deep ? 400 : 60;
    const int in = 17 + rng_below(r, most), wide = 17 + rng_below(r, 2 * most);
    const conv_shape shapes[LINKS] = {
        {"expand", batch, 1, in, h, w, wide, 1, 1, 0},
        {"depthwise", batch, wide, wide, h, w, wide, size, stride, size / 2},
        {"project", batch, 1, wide, 0, 0, 17 + rng_below(r, most), 1, 1, 0}};
    conv_activation drawn[LINKS];
    for (int i = 0; i < LINKS; ++i) drawn[i] = activations[rng_below(r, 3)];
    x->l = links_make(shapes, drawn, 0, &shortcut, r);
    for (int i = 0; i < LINKS; ++i) {
        x->layers[i] = make_layer(q, &x->l.calls[i], r);
        x->scales[i] = &x->layers[i].scale;
    }
    const int which = rng_below(r, 3);
    x->layers[1].scale.scale = 0;
    if (which == 0) x->layers[2].scale.scale = 0;
    if (which == 1) x->layers[0].scale.scale = 0;
}

/* Layer after layer. */
static const char *run_one_by_one(chain *x)
{
    for (int i = 0; i < LINKS; ++i) {
        layer alone = x->layers[i];
        alone.call = links_alone(&x->l, i);
        const judged j = judge_of(&alone);
        gemm_note note;
        if (judge_run(&j, 1, NULL, &note)) return "a layer alone declined";
        if (is_in_8_bits(&note) != (alone.scale.scale > 0)) return "not as its scale says";
    }
    links_expect(&x->l, x->layers[0].q->base);
    return NULL;
}

static const char *judge_chain(chain *x, rng *r)
{
    const gemm_quads *q = x->layers[0].q;
    gemm_kept kept[LINKS] = {{.room = SIZE_MAX}, {.room = SIZE_MAX}, {.room = SIZE_MAX}};
    gemm_kept *each[LINKS] = {&kept[0], &kept[1], &kept[2]};
    conv_call calls[LINKS];
    gemm_note note;
    gemm_context context = {.isa = q->base, .note = &note, .chain_scales = x->scales};
    const char *wrong = run_one_by_one(x);
    const layer_call *shortcut = links_calls(&x->l, calls);
    const judged first = judge_of(&x->layers[0]);
    for (int turn = 0; turn < 4 && !wrong; ++turn) {
        if (turn == 2) gemm_drop_kept(each[0]);     /* what the layer alone keeps is of no use */
        if (turn == 2 && judge_run(&first, 1, each[0], &note)) wrong = "declined alone";
        gemm_clear_note(&note);
        links_clear(&x->l);
        context.threads = turn % 2 ? 1 : 1 + rng_below(r, MANY_THREADS);
        context.chain_kept = turn ? each : NULL;
        const gemm_status status = gemm_int8_chain(calls, LINKS, shortcut, &context, q);
        chains_ran += status == GEMM_DONE;
        if (status == GEMM_DONE && !links_right(&x->l))
            wrong = "the bits are not those of the layers";
        else if (status == GEMM_DONE && strcmp(note.algorithm, "chain; int8"))
            wrong = "not in 8 bits";
        else if (status != GEMM_DONE && !links_untouched(&x->l)) wrong = "declined, and wrote";
    }
    for (int i = 0; i < LINKS; ++i) gemm_drop_kept(&kept[i]);
    return wrong;
}

/* Without the first layer: the bits are the same. None in 8 bits: as under `packed`. */
static const char *judge_others(chain *x)
{
    const gemm_quads *q = x->layers[0].q;
    conv_call calls[LINKS];
    gemm_note note;
    gemm_context context = {.threads = 1, .isa = q->base, .note = &note,
                            .chain_scales = x->scales + 1};
    const char *wrong = NULL;
    const layer_call *shortcut = links_calls(&x->l, calls);
    calls[1].input = x->l.calls[0].output;
    links_clear(&x->l);
    gemm_clear_note(&note);
    gemm_status status = gemm_int8_chain(calls + 1, 2, shortcut, &context, q);
    if (status == GEMM_DONE && !links_right(&x->l)) wrong = "two layers have other bits";
    else if (status == GEMM_DONE &&
             !strcmp(note.algorithm, "chain; int8") != (x->layers[2].scale.scale > 0))
        wrong = "two layers are not as the scale says";
    context.chain_scales = x->scales;
    x->layers[0].scale.scale = x->layers[2].scale.scale = 0;
    links_calls(&x->l, calls);
    gemm_clear_note(&note);
    status = gemm_int8_chain(calls, 3, shortcut, &context, q);
    if (status == GEMM_DONE && strcmp(note.algorithm, "chain"))
        wrong = "it ran in 8 bits without a scale";
    return wrong;
}

/* The micro-kernels with those for floats of this processor that have the widest vectors: an
   AVX-512 without VNNI has such. */
static gemm_quads beside_wide_floats(const gemm_quads *q)
{
    gemm_quads mixed = *q;
    for (int i = 0; gemm_ukernels[i]; ++i) {
        const gemm_ukernel *u = gemm_ukernels[i];
        if (u->supported() && u->vl % q->vl == 0 && u->vl > mixed.base->vl) mixed.base = u;
    }
    return mixed;
}

static const char *judge_chains(void *subject, rng *r, int number, char *text)
{
    const gemm_quads *q = subject, mixed = beside_wide_floats(q);
    chain x;
    make_chain(&x, number % 2 ? &mixed : q, r);
    judge_text(&x.l.calls[1], text);
    const char *wrong = judge_chain(&x, r);
    if (!wrong) wrong = judge_others(&x);
    links_free(&x.l);
    return wrong;
}

/* Each product is 127 * 128, with one sign and then with the other. */
static void test_extremes(const gemm_quads *q, const char *name)
{
    const conv_shape s = {"extremes", 1, 1, 1024, 4, 5, 16, 3, 1, 1};
    rng r = rng_make(7, 0);
    const char *wrong = NULL;
    for (int sign = -1; sign <= 1 && !wrong; sign += 2) {
        layer l = draw_layer(q, &s, CONV_LINEAR, &r);
        l.scale.zero = 0;
        float *input = (float *)l.call.input, *w = (float *)l.call.weights;
        for (int i = 0; i < s.c * s.h * s.w; ++i) input[i] = -5;
        for (int i = 0; i < s.n * s.c * 9; ++i) w[i] = (float)sign * 3;
        wrong = judge_layer(&l);
        conv_shape_free(&l.call);
    }
    report_judged(name, wrong);
}

/* ---- bands ---- */

/* Images beyond L2, whose rows are no multiple of those of a band: with a pool and groups, and with
   a stride. */
static void test_bands(const gemm_quads *q, const char *name)
{
    enum { WIDTH = 150 };
    const int rows = 2 * (int)(gemm_find_caches()->l2 / (2 * 24 * WIDTH) + 8);
    const conv_shape shapes[] = {{"pooled", 1, 2, 6, rows, WIDTH, 10, 3, 1, 1},
                                 {"stride", 1, 1, 3, 2 * rows + 1, WIDTH + 1, 5, 3, 2, 1}};
    rng r = rng_make(7, 0);
    const char *wrong = NULL;
    for (int i = 0; i < 2 && !wrong; ++i) {
        layer l = draw_layer(q, &shapes[i], CONV_LEAKY, &r);
        if (i == 0) conv_shape_pool(&l.call);
        wrong = judge_layer(&l);
        conv_shape_free(&l.call);
    }
    report_judged(name, wrong);
}

/* ---- what stays in single precision ---- */

static const conv_shape SHAPE = {"kept", 1, 1, 66, 20, 22, 41, 3, 2, 1};

static void test_single(const gemm_quads *q, const char *name)
{
    static const conv_shape few = {"few", 1, 1, 2, 20, 22, 40, 3, 1, 1},
                            depthwise = {"depthwise", 1, 40, 40, 20, 22, 40, 3, 1, 1},
                            narrow = {"narrow", 1, 1, 16, 20, 22, 40, 1, 1, 0};
    rng r = rng_make(7, 0);
    gemm_note note;
    const char *wrong = NULL;
    const conv_shape *const shapes[] = {&SHAPE, &SHAPE, &few, &depthwise, &narrow};
    for (int i = 0; i < 5 && !wrong; ++i) {
        layer l = draw_layer(q, shapes[i], i == 1 ? CONV_LOGISTIC : CONV_LEAKY, &r);
        const judged j = judge_of(&l);
        if (i == 0) l.scale.scale = 0;
        l.scale.by_noise = true;
        const gemm_status status = judge_run(&j, 1, NULL, &note);
        if (note.scale || !strcmp(note.algorithm, "int8")) wrong = "went in 8 bits";
        else if (status != GEMM_DONE || judge_untouched(&j)) wrong = "declined";
        conv_shape_free(&l.call);
    }
    report_judged(name, wrong);
}

/* ---- kept, no-memory ---- */

static void test_kept(const gemm_quads *q, const char *name)
{
    rng r = rng_make(7, 0);
    layer l = draw_layer(q, &SHAPE, CONV_LEAKY, &r);
    const judged j = judge_of(&l);
    const size_t rows = (size_t)(SHAPE.n + q->mr - 1) / (size_t)q->mr * (size_t)q->mr;
    report_judged(name, judge_kept(&j, l.call.weights, (size_t)SHAPE.n * 66 * 9,
                                   rows * (8 + (66 + 2) * 9), 2 * CACHE_LINE));
    conv_shape_free(&l.call);
}

static const char *judge_layer_without_memory(const gemm_quads *q, rng *r)
{
    layer l = draw_layer(q, &SHAPE, CONV_LEAKY, r), single = l;
    const judged j = judge_of(&l), as_single = judge_of(&single);
    gemm_note note;
    l.single = malloc(j.bytes);
    if (!l.single) abort();
    single.scale.scale = 0;
    const char *wrong = judge_run(&as_single, 1, NULL, &note) ? "single precision declined" : NULL;
    memcpy(l.single, l.call.output, j.bytes);
    if (!wrong) wrong = judge_no_memory(&j);
    free(l.single);
    conv_shape_free(&l.call);
    return wrong;
}

static gemm_status run_chain(void *op, int threads, gemm_kept *kept, gemm_note *note)
{
    chain *x = op;
    (void)kept;
    const gemm_quads *q = x->layers[0].q;
    const gemm_context context = {.threads = threads, .isa = q->base, .note = note,
                                  .chain_scales = x->scales};
    conv_call calls[LINKS];
    const layer_call *shortcut = links_calls(&x->l, calls);
    return gemm_int8_chain(calls, LINKS, shortcut, &context, q);
}

static bool is_chain_in_8_bits(const gemm_note *note)
{
    return !strcmp(note->algorithm, "chain; int8");
}

static const char *wrong_chain(void *op, const gemm_note *note)
{
    const chain *x = op;
    if (!is_chain_in_8_bits(note)) return "a chain ran without memory";
    return links_right(&x->l) ? NULL : "the bits are not those of the layers";
}

static const char *judge_chain_without_memory(const gemm_quads *q, rng *r)
{
    chain x;
    make_chain(&x, q, r);
    const judged j = {&x, x.l.output.data, conv_outputs(&x.l.calls[2]) * sizeof(float), NULL,
                      run_chain, is_chain_in_8_bits, wrong_chain};
    const char *wrong = run_one_by_one(&x);
    if (!wrong) wrong = judge_no_memory(&j);
    links_free(&x.l);
    return wrong;
}

static void test_no_memory(const gemm_quads *q, const char *name)
{
    rng r = rng_make(7, 0);
    const char *wrong = judge_layer_without_memory(q, &r);
    report_judged(name, wrong ? wrong : judge_chain_without_memory(q, &r));
}

/* ---- GEMM_CHECK ---- */

static double check_ratio(const layer *l)
{
    gemm_error worst;
    if (gemm_int8_compare(&l->call, l->scale.scale, l->scale.zero, &worst)) abort();
    return worst.ratio;
}

static void test_check(const gemm_quads *q, const char *name)
{
    static const conv_shape shapes[] = {{"3x3", 2, 1, 66, 12, 13, 20, 3, 2, 1},
                                        {"groups", 1, 3, 33, 9, 10, 18, 3, 1, 0},
                                        {"1x1", 1, 1, 200, 6, 7, 30, 1, 1, 0},
                                        {"pool", 2, 1, 66, 8, 10, 20, 3, 1, 1}};
    rng r = rng_make(7, 0);
    const char *wrong = NULL;
    for (int i = 0; i < 4 && !wrong; ++i) {
        layer l = draw_layer(q, &shapes[i], i ? CONV_LEAKY : CONV_LINEAR, &r);
        if (i == 3) conv_shape_pool(&l.call);
        const judged j = judge_of(&l);
        gemm_note note;
        if (judge_run(&j, 1, NULL, &note) || !note.scale) wrong = "not in 8 bits";
        else if (!(check_ratio(&l) <= 1)) wrong = "what is right is called wrong";
        const int at = (int)conv_outputs(&l.call) / 2;
        const int filter = at / gemm_conv_outputs(&l.call) % l.call.n;
        const float step = step_of(&l, filter) / 127 * l.scale.scale * l.call.scale[filter];
        l.call.output[at] += l.call.output[at] > 0 || !i ? step : .1f * step;
        if (!wrong && check_ratio(&l) <= 1) wrong = "a sum that is off by 1 is called right";
        conv_shape_free(&l.call);
    }
    report_judged(name, wrong);
}

/* ---- main ---- */

static void test_random(const gemm_quads *q, const test_options *o)
{
    const int chains = o->cases < 40 ? o->cases : 40;
    char name[64], repeat[64];
    snprintf(repeat, sizeof repeat, "test_int8 --isa %s", q->name);
    snprintf(name, sizeof name, "conv-%s", q->name);
    judge_cases(&(random_cases){name, repeat, 100000, o->cases, judge_conv, (void *)q, NULL, 0}, o);
    snprintf(name, sizeof name, "chain-%s", q->name);
    chains_ran = 0;
    judge_cases(&(random_cases){name, repeat, 200000, chains, judge_chains, (void *)q, &chains_ran,
                                chains}, o);
}

static void test_all(const gemm_quads *q, const test_options *o)
{
    static const struct test {
        const char *name;
        void (*run)(const gemm_quads *, const char *name);
    } tests[] = {{"extremes", test_extremes}, {"bands", test_bands}, {"single", test_single},
                 {"kept", test_kept}, {"no-memory", test_no_memory}, {"check", test_check}};
    if (!q->supported()) {
        report_skip_machine(q->name, "this processor has no %s", q->name);
        return;
    }
    test_random(q, o);
    for (size_t i = 0; i < sizeof tests / sizeof *tests && o->only_case < 0; ++i) {
        char name[64];
        snprintf(name, sizeof name, "%s-%s", tests[i].name, q->name);
        tests[i].run(q, name);
    }
}

int main(int argc, char **argv)
{
    test_options o = {.cases = 200, .seed = 1, .only_case = -1};
    o = options_read(argc, argv, o, "--isa, --cases, --seed, --case", NULL);
    printf("# seed %llu, %d cases\n", (unsigned long long)o.seed, o.cases);
    bool known = !o.isa;
    for (const gemm_quads *const *q = gemm_quads_all; *q; ++q) {
        if (o.isa && strcmp(o.isa, (*q)->name)) continue;
        known = true;
        test_all(*q, &o);
    }
    if (!known) return fprintf(stderr, "--isa %s: there are no such micro-kernels\n", o.isa), 2;
    return report_status();
}
