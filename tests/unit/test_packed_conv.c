/* SPDX-License-Identifier: MIT */
/*
 * Large convolutions of `packed`, by Winograd's algorithm and by the direct way: what test_conv
 * does not see with its many small ones. Each instruction set of this processor is tested.
 *
 *   callers     four threads call at once, two of them with plans. The bits are those of one call
 *   plans       U is made once for a plan. It is made anew for another instruction set or
 *               another m, and at each call if the plans have no room for it. No memory is lost
 *   batch       an image gives the same bits alone and with others
 *   no-memory   each of the aligned allocations fails in turn: the output is right or unchanged
 *   bound       a small error in a transform or in an output exceeds the bound of GEMM_CHECK
 *   not-finite  an input that is not finite, or large, is right. A false output beside it is not
 *
 *   test_packed_conv [--isa NAME] [--only callers | --without callers]
 *
 * --only callers is for ThreadSanitizer, --without callers for qemu.
 */
#include "check/conv_check.h"
#include "driver/driver.h"
#include "packed/packed.h"
#include "support/conv_shape.h"
#include "support/failing_memory.h"
#include "support/heap.h"
#include "support/isas.h"
#include "util/winograd.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CALLERS = 4, THREADS = 3 };
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the row of this test ---- */

enum { CHOSEN = -1, DIRECT = 0 };

/* How the row computes. m: 2 or 4 for Winograd's algorithm, or one of the two above. */
typedef struct way {
    const gemm_ukernel *u;
    int m;
} way;

static gemm_status run_way(const gemm_op *op, const gemm_context *context, const void *params)
{
    const way *w = params;
    gemm_context own = *context;
    own.isa = w->u;
    own.direct = w->m == DIRECT;
    own.way = w->m == 2 ? "winograd2" : w->m == 4 ? "winograd4" : NULL;
    const gemm_status status = gemm_packed_conv(op->conv, &own, NULL);
    /* Without room it goes another way, and the note has both. */
    if (own.way && strncmp(own.note->algorithm, own.way, strlen(own.way))) return GEMM_DECLINED;
    return status;
}

static gemm_variant make_row(const way *w)
{
    return (gemm_variant){.name = "packed", .run = run_way, .kinds = GEMM_CONVS, .params = w};
}

static bool run(const way *w, const conv_call *c, gemm_plan **plan, gemm_note *note)
{
    const gemm_variant row = make_row(w);
    return gemm_conv_run(&row, c, plan, note);
}

/* ---- layers ---- */

/* A layer of one image. With THREADS threads Winograd's algorithm takes the first two by strips of
   tiles, and the others by phases. */
typedef struct large {
    conv_shape shape;
    bool pool;
    int m;
} large;

static const large LAYERS[] = {
    {{"strips, m 2", 1, 1, 32, 53, 70, 35, 3, 1, 1}, false, 2},
    {{"strips, m 4, pooled", 1, 1, 31, 106, 104, 64, 3, 1, 1}, true, 4},
    {{"phases, m 2, pooled", 1, 1, 130, 14, 14, 83, 3, 1, 1}, true, 2},
    {{"phases, m 4", 1, 1, 67, 19, 17, 150, 3, 1, 1}, false, 4},
    {{"few channels, pooled", 1, 1, 3, 208, 208, 16, 3, 1, 1}, true, DIRECT},
    {{"shifts", 1, 1, 5, 208, 80, 66, 3, 1, 1}, false, DIRECT},
    {{"few channels, stride 2, pooled", 1, 1, 3, 100, 108, 64, 7, 2, 3}, true, DIRECT},
    {{"few channels, stride 2", 1, 1, 5, 260, 144, 66, 3, 2, 1}, false, DIRECT},
    {{"few channels, stride 4, pooled", 1, 1, 3, 183, 191, 40, 11, 4, 0}, true, DIRECT},
    {{"strips, stride 2", 1, 1, 64, 40, 42, 128, 3, 2, 1}, false, DIRECT},
    {{"dots", 1, 2, 512, 3, 3, 302, 3, 1, 0}, false, DIRECT},
};

/* Random numbers, but for the output. conv_shape_free frees it. */
static conv_call make_layer(const large *l, int batch)
{
    rng r = rng_make(5, 0);
    conv_shape shape = l->shape;
    shape.batch = batch;
    conv_call c = conv_shape_make(&shape, CONV_LEAKY);
    if (l->pool) conv_shape_pool(&c);
    conv_shape_fill(&c, &r);
    return c;
}

static size_t output_bytes(const conv_call *c)
{
    return conv_outputs(c) * sizeof(float);
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) abort();
    return p;
}

/* The output on one thread without a plan. NULL: the layer did not run. The caller frees it. */
static float *expect(const way *w, const conv_call *c)
{
    float *expected = allocate(output_bytes(c));
    conv_call own = *c;
    own.output = expected;
    gemm_set_threads(1);
    const bool done = run(w, &own, NULL, NULL);
    gemm_set_threads(THREADS);
    gemm_set_prepare_first(true);
    if (done) return expected;
    free(expected);
    return NULL;
}

/* Runs the call on fresh NaN. Whether it gives these bits. */
static bool gives(const way *w, const conv_call *c, gemm_plan **plan, const float *expected)
{
    memset(c->output, 0xff, output_bytes(c));
    return run(w, c, plan, NULL) && !memcmp(c->output, expected, output_bytes(c));
}

static void report(const char *test, const char *layer, const gemm_ukernel *u, const char *wrong)
{
    char name[96];
    snprintf(name, sizeof name, "%s %s, %s", test, layer, u->name);
    report_judged(name, wrong);
}

/* ---- callers ---- */

typedef struct caller {
    pthread_t thread;
    const gemm_ukernel *u;
    int number;
    conv_call *calls;           /* one for each of LAYERS */
    float **expected;
    const char *wrong;          /* NULL, or the layer */
} caller;

/* All layers, from one of its own on. Two callers have slots, which they empty once. */
static void *call_all(void *arg)
{
    enum { ROUNDS = 4, LAST = COUNT(LAYERS) };
    caller *me = arg;
    gemm_plan *plans[LAST] = {NULL};
    for (int i = 0; i < ROUNDS * LAST; ++i) {
        const int at = (i + me->number) % LAST;
        const way w = {me->u, LAYERS[at].m};
        gemm_plan **plan = me->number % 2 ? &plans[at] : NULL;
        conv_call c = me->calls[at];
        c.output = allocate(output_bytes(&c));
        if (plan && i / LAST == ROUNDS / 2) gemm_plan_drop(plan);
        if (!gives(&w, &c, plan, me->expected[at])) me->wrong = LAYERS[at].shape.name;
        free(c.output);
    }
    for (int i = 0; i < LAST; ++i) gemm_plan_drop(&plans[i]);
    return NULL;
}

static void test_callers(const gemm_ukernel *u)
{
    conv_call calls[COUNT(LAYERS)];
    float *expected[COUNT(LAYERS)];
    caller callers[CALLERS];
    const char *wrong = NULL;
    for (size_t i = 0; i < COUNT(LAYERS); ++i) {
        calls[i] = make_layer(&LAYERS[i], 1);
        expected[i] = expect(&(way){u, LAYERS[i].m}, &calls[i]);
        if (!expected[i]) abort();
    }
    for (int i = 0; i < CALLERS; ++i) {
        callers[i] = (caller){.u = u, .number = i, .calls = calls, .expected = expected};
        if (pthread_create(&callers[i].thread, NULL, call_all, &callers[i])) abort();
    }
    for (int i = 0; i < CALLERS; ++i) {
        pthread_join(callers[i].thread, NULL);
        if (callers[i].wrong) wrong = callers[i].wrong;
    }
    if (!wrong && gemm_planned_bytes()) wrong = "dropped plans are still counted";
    report("callers", "of all layers", u, wrong);
    for (size_t i = 0; i < COUNT(LAYERS); ++i) {
        free(expected[i]);
        conv_shape_free(&calls[i]);
    }
}

/* ---- what a plan keeps ---- */

/* Two calls with one slot. The second one makes nothing: without a plan it would take memory for
   U. */
static const char *judge_slot(const way *w, const conv_call *c, const float *expected)
{
    gemm_plan *plan = NULL;
    const size_t before = gemm_planned_bytes();
    const bool first = gives(w, c, &plan, expected);
    const size_t kept = gemm_planned_bytes() - before;
    const int made = atomic_load(&allocations);
    const bool second = gives(w, c, &plan, expected);
    const bool again = atomic_load(&allocations) != made;
    gemm_plan_drop(&plan);
    if (!first || !second) return "a plan changes the bits";
    if (kept < sizeof(float) * (size_t)(c->n * c->c * 9)) return "no filters are kept";
    if (again) return "the second call makes the filters again";
    return gemm_planned_bytes() == before ? NULL : "the dropped plan is still counted";
}

/* With room for one byte nothing is kept. */
static const char *judge_no_room(const way *w, const conv_call *c, const float *expected)
{
    gemm_plan *plan = NULL;
    gemm_set_plan_limit(1);
    const bool first = gives(w, c, &plan, expected);
    const bool second = gives(w, c, &plan, expected);
    const size_t counted = gemm_planned_bytes();
    gemm_plan_drop(&plan);
    gemm_set_plan_limit(SIZE_MAX);
    if (!first || !second) return "without room the bits are others";
    return counted ? "the filters are kept without room" : NULL;
}

/* The same row computes the layer in two ways by turns, with one slot. */
static const char *judge_other(const way *w, const way *other, const conv_call *c,
                               const float *expected)
{
    gemm_plan *plan = NULL;
    way now;
    float *others = expect(other, c);
    const gemm_variant row = make_row(&now);
    bool right = others != NULL;
    for (int i = 0; i < 4 && right; ++i) {
        now = i % 2 ? *other : *w;
        memset(c->output, 0xff, output_bytes(c));
        right = gemm_conv_run(&row, c, &plan, NULL) &&
                !memcmp(c->output, i % 2 ? others : expected, output_bytes(c));
    }
    gemm_plan_drop(&plan);
    free(others);
    if (!right) return "the filters of another way are used";
    return gemm_planned_bytes() ? "the dropped plan is still counted" : NULL;
}

/* Another instruction set of this processor, or `u` if it has no other one. */
static const gemm_ukernel *other_isa(const gemm_ukernel *u)
{
    for (const gemm_ukernel *const *other = gemm_ukernels; *other; ++other)
        if (*other != u && (*other)->supported()) return *other;
    return u;
}

/* NULL, or what is wrong with the layer. */
static const char *judge_plans(const gemm_ukernel *u, const large *l, const conv_call *c)
{
    const way w = {u, l->m}, other_m = {u, 6 - l->m}, isa = {other_isa(u), l->m};
    float *expected = expect(&w, c);
    if (!expected) return "it did not run";
    const char *wrong = judge_slot(&w, c, expected);
    if (!wrong) wrong = judge_no_room(&w, c, expected);
    if (!wrong) wrong = judge_other(&w, &other_m, c, expected);
    if (!wrong) wrong = judge_other(&w, &isa, c, expected);
    free(expected);
    return wrong;
}

/* The second round must not lose U. The first one fills what is kept for good. malloc itself keeps
   small pieces. */
static void test_plans(const gemm_ukernel *u, const large *l)
{
    enum { SMALL_PIECES = 32 * 1024 };  /* U is larger in each layer */
    conv_call c = make_layer(l, 1);
    const char *wrong = judge_plans(u, l, &c);
    const size_t given = heap_given();
    if (!wrong) wrong = judge_plans(u, l, &c);
    if (!wrong && heap_given() > given + SMALL_PIECES) wrong = "memory is lost";
    report("plans", l->shape.name, u, wrong);
    conv_shape_free(&c);
}

/* ---- batches ---- */

/* The first images of three: each is compared with a call of its own. */
static const char *judge_batch(const way *w, conv_call *c)
{
    enum { IMAGES = 3 };
    const size_t outputs = conv_outputs(c) / IMAGES, inputs = (size_t)(c->c * c->h * c->w);
    float *alone = allocate(IMAGES * outputs * sizeof *alone);
    bool right = true;
    for (int i = 0; i < IMAGES; ++i) {
        conv_call one = *c;
        one.batch = 1;
        one.input += (size_t)i * inputs;
        one.output = alone + (size_t)i * outputs;
        right = right && run(w, &one, NULL, NULL);
    }
    for (int batch = 2; batch <= IMAGES; ++batch) {
        conv_call some = *c;
        some.batch = batch;
        right = right && gives(w, &some, NULL, alone);
    }
    free(alone);
    return right ? NULL : "an image gives other bits among others";
}

static void test_batch(const gemm_ukernel *u, const large *l)
{
    conv_call c = make_layer(l, 3);
    report("batch", l->shape.name, u, judge_batch(&(way){u, l->m}, &c));
    conv_shape_free(&c);
}

/* ---- no memory ---- */

static bool is_right(const conv_call *c, const gemm_note *note)
{
    gemm_error worst;
    if (gemm_conv_compare(c, note->transform, &worst)) abort();
    return worst.ratio <= 1;
}

/* One run after another with an empty slot, in which allocation 1, 2 ... fails, until a run needs
   fewer. The slot must be good after each. */
static const char *judge_without_memory(const conv_call *c, const way *w)
{
    bool failed = true;
    int runs = 0;
    for (; failed; ++runs) {
        gemm_plan *plan = NULL;
        gemm_note note;
        memset(c->output, 0xff, output_bytes(c));
        fail_allocation(runs + 1);
        const bool done = run(w, c, &plan, &note);
        failed = was_reached(runs + 1);
        if (done ? !is_right(c, &note) : !judge_is_set(c->output, output_bytes(c)))
            return "it is wrong without memory";
        if (!failed && strncmp(note.algorithm, "winograd", 8)) return "it is not Winograd's";
        const bool again = run(w, c, &plan, &note);
        gemm_plan_drop(&plan);
        if (!again || strncmp(note.algorithm, "winograd", 8) || !is_right(c, &note))
            return "it is wrong after a run without memory";
    }
    return runs < 2 ? "nothing failed" : gemm_planned_bytes() ? "a plan is left" : NULL;
}

/* ---- the first calls of a layer ---- */

/* Calls with a new plan, then one more without the weights. Whether this one still has the bits, so
   that all it needs is kept. Sets *wrong, or leaves it. */
static bool keeps_all(const way *w, const conv_call *c, const float *expected, int calls,
                      const char **wrong)
{
    const size_t bytes = (size_t)gemm_conv_taps(c) * (size_t)c->n * sizeof(float);
    float *const weights = (float *)c->weights, *const saved = allocate(bytes);
    gemm_plan *plan = NULL;
    for (int i = 0; i < calls; ++i) {
        if (!gives(w, c, &plan, expected)) *wrong = "other bits";
        if ((gemm_planned_bytes() > 0) != (i > 0)) *wrong = "kept at the wrong call";
    }
    memcpy(saved, weights, bytes);
    memset(weights, 0, bytes);
    const bool all = gives(w, c, &plan, expected);
    memcpy(weights, saved, bytes);
    free(saved);
    gemm_plan_drop(&plan);
    return all;
}

/* Without GEMM_PREPARE=first the first call keeps nothing, and each of the next ones a part. All
   have the same bits. */
static const char *judge_first(const large *l, const gemm_ukernel *u, int batch)
{
    enum { PARTS = 8 };
    const way w = {u, l->m};
    conv_call c = make_layer(l, batch);
    float *const expected = expect(&w, &c);
    const char *wrong = NULL;
    if (!expected) abort();
    gemm_set_prepare_first(false);
    if (keeps_all(&w, &c, expected, 2, &wrong)) wrong = "all is kept at once";
    if (!keeps_all(&w, &c, expected, PARTS, &wrong)) wrong = "the weights are still read";
    gemm_set_prepare_first(true);
    free(expected);
    conv_shape_free(&c);
    return wrong;
}

static void test_first(const gemm_ukernel *u)
{
    static const large layers[] = {
        {{"m 4", 1, 1, 300, 13, 11, 500, 3, 1, 1}, false, 4},
        {{"m 2, pooled", 1, 1, 420, 12, 14, 700, 3, 1, 1}, true, 2},
    };
    for (int i = 0; i < 4; ++i)
        report(i / 2 ? "first-calls of 2 images" : "first-calls", layers[i % 2].shape.name, u,
               judge_first(&layers[i % 2], u, i / 2 + 1));
}

/* Layers that the cost model gives to Winograd with every instruction set. */
static void test_no_memory(const gemm_ukernel *u)
{
    static const large layers[] = {
        {{"strips", 1, 1, 64, 53, 53, 64, 3, 1, 1}, false, CHOSEN},
        {{"phases", 1, 1, 128, 26, 26, 128, 3, 1, 1}, false, CHOSEN},
    };
    for (size_t i = 0; i < COUNT(layers); ++i) {
        conv_call c = make_layer(&layers[i], 1);
        gemm_set_threads(i ? 8 : 1);
        report("no-memory", layers[i].shape.name, u, judge_without_memory(&c, &(way){u, CHOSEN}));
        gemm_set_threads(THREADS);
        conv_shape_free(&c);
    }
}

/* ---- the bound ---- */

static double ratio_of(const conv_call *c, const way *w)
{
    gemm_error worst;
    const gemm_transform *t = w->m == DIRECT ? NULL : gemm_winograd_transform(w->m);
    if (gemm_conv_compare(c, t, &worst)) abort();
    return worst.ratio;
}

/* The output of the call, but with one weight `by` times as large. */
static double ratio_of_weight(const conv_call *c, const way *w, float by)
{
    float *weight = (float *)c->weights + (size_t)(c->n / 2 * c->c + c->c / 2) * 9 + 4;
    const float before = *weight;
    *weight *= by;
    const bool done = run(w, c, NULL, NULL);
    *weight = before;
    return done ? ratio_of(c, w) : 0;
}

static void test_bound(const gemm_ukernel *u, int m)
{
    static const large layer = {{"", 1, 1, 16, 26, 26, 16, 3, 1, 1}, false, 0};
    char name[32], why[128];
    const way w = {u, m};
    conv_call c = make_layer(&layer, 1);
    const double right = run(&w, &c, NULL, NULL) ? ratio_of(&c, &w) : -1;
    for (size_t i = 0; i < conv_outputs(&c); ++i) c.output[i] *= 1.001f;
    const double scaled = ratio_of(&c, &w), weight = ratio_of_weight(&c, &w, 1.01f);
    conv_shape_free(&c);
    snprintf(name, sizeof name, "m %d", m);
    snprintf(why, sizeof why, "%g times the bound; outputs scaled: %g, a weight scaled: %g", right,
             scaled, weight);
    report("bound", name, u, right >= 0 && right <= 1 && scaled > 1 && weight > 1 ? NULL : why);
}

/* ---- what is not finite ---- */

enum { BAD_AT = 13 };           /* row and column of the input that is not finite */

/* Whether the check finds a false output in the place (y, x) of a filter, before a pool. */
static bool finds(const conv_call *c, const way *w, int y, int x, float wrong)
{
    const int pool = c->pool ? 2 : 1;
    float *at = c->output + (size_t)5 * (size_t)gemm_conv_outputs(c) +
                y / pool * (c->out_w / pool) + x / pool;
    const float before = *at;
    *at = wrong;
    const double ratio = ratio_of(c, w);
    *at = before;
    return ratio > 1;
}

/* The tiles of m = 4 have rows 12 to 15. The filter over row 15 reads no input of row 13. */
static const char *judge_not_finite(const conv_call *c, const way *w, float bad)
{
    enum { BESIDE = 15, FAR = 2 };
    if (!run(w, c, NULL, NULL)) return "it does not run";
    const double ratio = ratio_of(c, w);
    static char why[64];
    snprintf(why, sizeof why, "%g times the bound", ratio);
    if (!(ratio <= 1)) return why;
    if (!c->pool && !isfinite(bad) && !finds(c, w, BAD_AT, BAD_AT, 1)) return "finite passes";
    if (c->pool && !finds(c, w, BAD_AT, BAD_AT, NAN)) return "NaN passes a pool";
    if (!isfinite(bad) && !finds(c, w, BESIDE, BESIDE, 1000)) return "a false output passes";
    if (!finds(c, w, FAR, FAR, NAN)) return "NaN far away passes";
    return finds(c, w, FAR, FAR, INFINITY) ? NULL : "infinity far away passes";
}

static void test_not_finite(const gemm_ukernel *u, int m)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX};
    const way w = {u, m};
    for (size_t i = 0; i < 2 * COUNT(bad); ++i) {
        const int side = m == DIRECT ? 208 : 26, channels = m == DIRECT ? 3 : 16;
        const large layer = {{"", 1, 1, channels, side, side, 16, 3, 1, 1}, i % 2, 0};
        char name[48];
        conv_call c = make_layer(&layer, 1);
        ((float *)c.input)[(2 * side + BAD_AT) * side + BAD_AT] = bad[i / 2];
        snprintf(name, sizeof name, "m %d, %g%s", m, (double)bad[i / 2],
                 c.pool ? ", pooled" : "");
        report("not-finite", name, u, judge_not_finite(&c, &w, bad[i / 2]));
        conv_shape_free(&c);
    }
}

/* ---- the command line ---- */

static bool callers = true, rest = true;

static bool take_own(const char *option, const char *value)
{
    if (strcmp(value, "callers")) return false;
    if (!strcmp(option, "--only")) return rest = false, true;
    return !strcmp(option, "--without") ? callers = false, true : false;
}

static void test_isa(const gemm_ukernel *u, const test_options *o)
{
    (void)o;
    if (callers) test_callers(u);
    if (!rest) return;
    for (size_t i = 0; i < COUNT(LAYERS); ++i) {
        if (LAYERS[i].m != DIRECT) test_plans(u, &LAYERS[i]);
        test_batch(u, &LAYERS[i]);
    }
    test_no_memory(u);
    test_first(u);
    test_bound(u, 2);
    test_bound(u, 4);
    for (int m = DIRECT; m <= 4; m += 2) test_not_finite(u, m);
}

int main(int argc, char **argv)
{
    const test_options o = options_read(argc, argv, (test_options){0},
                                        "--isa, --only callers, --without callers", take_own);
    gemm_set_threads(THREADS);
    gemm_set_prepare_first(true);
    gemm_set_plan_limit(SIZE_MAX);
    test_isas(&o, test_isa);
    return report_status();
}
