/* SPDX-License-Identifier: MIT */
/*
 * Row hybrid without OpenCL: the share that it learns, and how it joins two sides.
 *
 *   test_hybrid
 *       the model (src/hybrid/share.c) under speeds that are made up: the share ends where both
 *       sides end together, at 0, or at 1; it comes back when speeds change; a device that fails;
 *       more shapes than the table holds
 *       the row with a device that the test plays: each way that a side can decline or fail; four
 *       threads at once
 *       who gets whole layers (src/hybrid/side.c), by times that are made up too
 *
 * test_cl has the row with an OpenCL device.
 */
#include "common/random.h"
#include "driver/driver.h"
#include "hybrid/hybrid.h"
#include "hybrid/share.h"
#include "hybrid/side.h"
#include "support/child.h"
#include "support/report.h"
#include "util/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

/* The ms of a whole call for each part of the model, and what is special. The fixed parts do not
   shrink with the share of the side that they belong to. */
typedef struct machine {
    double start, device, cpu, take;
    double fixed_start, fixed_device, fixed_cpu;
    double fewer;               /* parts of both sides take so much longer than one side alone */
    bool fails;
    double first;               /* more ms for the first call with another share */
    double noise;               /* a time is longer by so large a part at most */
    int slow;                   /* one of so many calls takes four times as long; 0: none */
} machine;

enum { ALLOWED = 32 };       /* cuts */

/* Noise of another call for each number of `at`. */
static double noise_of(const machine *m, unsigned at)
{
    rng r = rng_make(17, at);
    const double outlier = m->slow && at % (unsigned)m->slow == 0 ? 4 : 1;
    return outlier * (1 + m->noise * fabs(rng_float(&r) * rng_float(&r)));
}

/* One call of the machine with this share. `longer` is its noise. */
static gemm_shared_times times_of(const machine *m, double s, double cold, double longer)
{
    const bool both = s > 0 && s < 1;
    const double slower = both ? longer * (1 + m->fewer) : longer;
    const double start = s > 0 ? slower * (m->fixed_start + s * m->start) : 0;
    const double device = s > 0 ? m->fixed_device + s * m->device + cold : 0;
    const double take = slower * s * m->take;
    const double cpu = s < 1 ? slower * (m->fixed_cpu + (1 - s) * m->cpu) : 0;
    return (gemm_shared_times){.share = s, .call_ms = fmax(start + device + take, cpu),
                               .failed = m->fails && s > 0};
}

/* One call on the machine with the share that the model asks for. Returns the share. */
static double call(const gemm_shape *shape, const machine *m, double *last)
{
    static unsigned number;
    const double s = gemm_share_of(shape, 1.0 / ALLOWED);
    const double cold = s > 0 && s != *last ? m->first : 0;
    const gemm_shared_times t = times_of(m, s, cold, noise_of(m, ++number));
    gemm_share_learn(shape, &t);
    *last = s;
    return s;
}

/* The share of the last of `calls` calls. */
static double share_after(const gemm_shape *shape, const machine *m, int calls)
{
    double share = 0, last = -1;
    for (int i = 0; i < calls; ++i) share = call(shape, m, &last);
    return share;
}

static void expect_share(const char *name, machine m, int calls, double least, double most)
{
    static int number;
    const gemm_shape shape = {1, {++number}};
    const double share = share_after(&shape, &m, calls);
    report_that(name, share >= least && share <= most,
                "after %d calls the share is %g, not %g to %g", calls, share, least, most);
}

static void test_ends(void)
{
    const double near = 1.0 / 16;
    expect_share("share-first-call", (machine){.device = 1, .cpu = 1}, 1, .5, .5);
    expect_share("share-equal", (machine){.device = 10, .cpu = 10}, 40, .5 - near, .5 + near);
    expect_share("share-device-twice", (machine){.device = 10, .cpu = 20}, 40, 2. / 3 - near,
                 2. / 3 + near);
    expect_share("share-cpu-thrice", (machine){.device = 30, .cpu = 10}, 40, .25 - near,
                 .25 + near);
    expect_share("share-first-calls-do-not-count",
                 (machine){.device = 10, .cpu = 10, .first = 1000}, 40, .5 - near, .5 + near);
    expect_share("share-slow-device", (machine){.device = 500, .cpu = 10}, 12, 0, 0);
    expect_share("share-slow-cpu", (machine){.device = 10, .cpu = 500}, 12, 1, 1);
    expect_share("share-failing-device", (machine){.device = 1, .cpu = 10, .fails = true}, 8, 0, 0);
}

/* A call of this machine without noise. */
static double time_at(const machine *m, double share)
{
    return times_of(m, share, 0, 1).call_ms;
}

/* The least time of all shares; *at becomes that share. */
static double best_time(const machine *m, double *at)
{
    double best = INFINITY;
    for (int i = 0; i <= ALLOWED; ++i) {
        const double s = (double)i / ALLOWED, ms = time_at(m, s);
        if (ms < best) best = ms, *at = s;
    }
    return best;
}

/*
 * Fixed costs, as a GPU on a bus has them: all of A is compared with what the device has, the
 * operand that is not cut is copied, kernels are launched. After `calls` calls the row must be
 * within 5% of the best share, plus the 5% that two sides must save.
 */
static void expect_best(const char *name, machine m, int calls)
{
    static int number;
    const gemm_shape shape = {7, {++number}};
    double at = 0;
    const double best = best_time(&m, &at);
    const double share = share_after(&shape, &m, calls), ms = time_at(&m, share);
    report_that(name, ms <= 1.1 * best, "after %d calls the share is %g with %g ms; %g takes %g ms",
                calls, share, ms, at, best);
}

static void test_fixed_costs(void)
{
    const machine bus = {.fixed_start = .6, .start = .6, .fixed_device = .1, .device = .3,
                         .cpu = 1.62, .take = .05, .first = 30};
    const machine near = {.fixed_start = .4, .start = .4, .fixed_device = .2, .device = .6,
                          .cpu = 2.4, .take = .05, .first = 30};
    expect_best("share-fixed-start", bus, GEMM_HYBRID_WARM_UP);
    machine m = near;
    m.noise = .3;
    expect_best("share-fixed-start-noise", m, 40);
    for (m.slow = 3; m.slow < 9; ++m.slow) expect_best("share-fixed-start-outliers", m, 40);
    m = bus;
    m.fixed_start = .1, m.fixed_device = 1;
    expect_best("share-fixed-device", m, GEMM_HYBRID_WARM_UP);
    m = bus;
    m.fixed_cpu = .4, m.fixed_start = .2, m.device = 1;
    expect_best("share-fixed-cpu", m, GEMM_HYBRID_WARM_UP);
    m = bus;
    m.fixed_start = 2;
    expect_best("share-fixed-start-too-long", m, GEMM_HYBRID_WARM_UP);
    m = bus;
    m.cpu = 6;
    expect_best("share-fixed-start-device-alone", m, GEMM_HYBRID_WARM_UP);
    /* Alone the device is the best by a little: one side is tried when it looks close. */
    m = (machine){.fixed_start = .4, .start = .1, .fixed_device = .2, .device = .3, .cpu = 2.2,
                  .fixed_cpu = .3, .first = 30};
    expect_best("share-fixed-device-alone-close", m, GEMM_HYBRID_WARM_UP);
    /* The device takes nearly as long for any share, and is faster when all threads copy for it. */
    m = (machine){.fixed_start = .02, .fixed_device = .03, .device = .01, .fixed_cpu = .02,
                  .cpu = .08, .fewer = .4, .noise = .1};
    expect_best("share-flat-device-alone", m, GEMM_HYBRID_WARM_UP);
}

static double up_to(rng *r, double most)
{
    return most * (0.5 + 0.5 * (double)rng_float(r));
}

/* Machines of all kinds, one in two with each of the fixed costs, and one in two where a side alone
   is faster. After the warm-up at most one in 200 is more than 10% from its best share. */
static void test_random_machines(void)
{
    enum { MACHINES = 2000, CALLS = GEMM_HYBRID_WARM_UP };
    int far = 0;
    for (int i = 0; i < MACHINES; ++i) {
        const gemm_shape shape = {9, {i}};
        rng r = rng_make(23, (uint64_t)i);
        const machine m = {.start = up_to(&r, 1), .device = up_to(&r, 2), .take = up_to(&r, .1),
                           .cpu = .5 + up_to(&r, 2), .first = 30,
                           .fixed_start = rng_below(&r, 2) * up_to(&r, 1),
                           .fixed_device = rng_below(&r, 2) * up_to(&r, 1),
                           .fixed_cpu = rng_below(&r, 2) * up_to(&r, .5),
                           .fewer = rng_below(&r, 2) * up_to(&r, .2)};
        double at;
        const double best = best_time(&m, &at);
        far += time_at(&m, share_after(&shape, &m, CALLS)) > 1.1 * best;
    }
    report_that("share-random-machines", far <= MACHINES / 200,
                "%d of %d are far from their best share", far, MACHINES);
}

/* Moves of the share in 1000 calls after the warm-up. */
static int moves_on(const machine *m, int number)
{
    const gemm_shape shape = {8, {number}};
    double last = -1;
    int moves = 0;
    share_after(&shape, m, 20);
    for (int i = 0; i < 1000; ++i) {
        const double before = last, share = call(&shape, m, &last);
        moves += i > 0 && share != before;
    }
    return moves;
}

/* What is settled stays: noise does not make the share wander, because each move costs a call. On
   the average of many machines, whose times are up to twice as long by noise. */
static void test_stays(void)
{
    enum { MACHINES = 20, MOST = 40 };
    int moves = 0;
    for (int i = 0; i < MACHINES; ++i) {
        const machine m = {.fixed_start = .2, .start = .3, .fixed_device = .1 + .05 * i,
                           .device = 1, .cpu = 1.6, .noise = 1, .first = 30};
        moves += moves_on(&m, i);
    }
    report_that("share-stays", moves <= MOST * MACHINES, "%d moves in 1000 calls",
                moves / MACHINES);
}

/* From `first` to `second`: calls until the share lies between. -1: never in 5000. */
static int calls_until(const gemm_shape *shape, machine m, double least, double most)
{
    double last = -1;
    for (int i = 1; i <= 5000; ++i) {
        const double share = call(shape, &m, &last);
        if (share >= least && share <= most) return i;
    }
    return -1;
}

static void test_comes_back(void)
{
    static const struct {
        const char *name;
        machine first, second;
    } cases[] = {
        {"share-comes-back-from-0", {.device = 500, .cpu = 10}, {.device = 10, .cpu = 10}},
        {"share-comes-back-from-1", {.device = 10, .cpu = 500}, {.device = 10, .cpu = 10}},
        {"share-comes-back-from-failure", {.device = 10, .cpu = 10, .fails = true},
         {.device = 10, .cpu = 10}}};
    for (int i = 0; i < 3; ++i) {
        const gemm_shape shape = {3, {i}};
        const double bound = share_after(&shape, &cases[i].first, 40);
        const int calls = calls_until(&shape, cases[i].second, .3, .7);
        const double after = share_after(&shape, &cases[i].second, 60);
        report_that(cases[i].name, (bound == 0 || bound == 1) && calls >= 128 && calls <= 800 &&
                    after > .3 && after < .7, "at first %g; a search after %d calls; then %g",
                    bound, calls, after);
    }
}

/* Searches that find nothing new become rare: at most 24 of 4000 calls are cut. */
static void test_searches_are_rare(void)
{
    const gemm_shape shape = {.kind = 4};
    const machine m = {.device = 500, .cpu = 10};
    double last = -1;
    int cut = 0;
    for (int i = 0; i < 4000; ++i) cut += call(&shape, &m, &last) > 0;
    report_that("share-searches-are-rare", cut >= 4 && cut <= 24, "%d of 4000 calls were cut", cut);
}

/* A shape that is used stays known while thousands of others come and go. */
static void test_many_shapes(void)
{
    const gemm_shape shape = {.kind = 5};
    const machine m = {.device = 10, .cpu = 30};
    double last = -1, share = share_after(&shape, &m, 40);
    for (int i = 0; i < 5000; ++i) {
        const gemm_shape other = {6, {i}};
        share_after(&other, &m, 1);
        share = call(&shape, &m, &last);
    }
    report_that("share-many-shapes", fabs(share - .75) < .1, "the share is %g instead of 0.75",
                share);
}

/* ---- a device that the test plays ---- */

/* What a side does. */
typedef enum deed { WORKS, DECLINES, FAILS } deed;

/* One call at a time, as with an OpenCL device. */
static struct {
    pthread_mutex_t lock;
    deed device;
    atomic_int cpu_declines;    /* so many calls, then it works */
    atomic_int calls;
    int timed;                  /* calls that want the device's clock */
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static gemm_status as_status(deed d, gemm_note *note)
{
    if (d == FAILS) strcpy(note->reason, "the test says so");
    return d == WORKS ? GEMM_DONE : d == DECLINES ? GEMM_DECLINED : GEMM_FAILED;
}

/* The device's work, on one thread of the CPU. */
static gemm_status compute(const gemm_call *g, gemm_note *note)
{
    gemm_context context = gemm_make_context(note);
    context.threads = 1;
    const gemm_status status = gemm_find("packed")->multiply(g, &context, NULL);
    strcpy(note->ran, "fake 8x4 group 1x1");
    note->kernel_ms = 1;
    return status;
}

static gemm_status run_device(const gemm_call *g, const gemm_context *context, const void *params)
{
    (void)params;
    pthread_mutex_lock(&fake.lock);
    ++fake.calls;
    fake.timed += context->timed;
    gemm_status status = as_status(fake.device, context->note);
    if (status == GEMM_DONE) status = compute(g, context->note);
    pthread_mutex_unlock(&fake.lock);
    return status;
}

static bool cpu_declines(void)
{
    return fake.cpu_declines > 0 && fake.cpu_declines-- > 0;
}

static gemm_status run_cpu(const gemm_call *g, const gemm_context *context, const void *params)
{
    return cpu_declines() ? GEMM_DECLINED : gemm_find("packed")->multiply(g, context, params);
}

static const char *never(const void *params)
{
    return params ? "the test says so" : NULL;
}

static const gemm_device NEVER = {.limits = never};

static gemm_hybrid_sides make_sides(double forced)
{
    return (gemm_hybrid_sides){
        .cpu = {.name = "packed", .multiply = run_cpu}, .device = {.device = &NEVER},
        .beside = run_device, .forced = forced};
}

/* ---- joining ---- */

enum { M = 60, N = 100, K = 50 };

/* Whole numbers, so that sums are exact and do not depend on who adds. */
static void fill_whole(float *x, int count, rng *r)
{
    for (int i = 0; i < count; ++i) x[i] = (float)(rng_below(r, 9) - 4);
}

/* What a call of hybrid ended in. */
typedef struct outcome {
    gemm_status status;
    bool right, unchanged;
    gemm_note note;
} outcome;

static outcome multiply(const gemm_hybrid_sides *s)
{
    static float A[M * K], B[K * N], C[M * N], before[M * N], expected[M * N];
    rng r = rng_make(1, 1);
    outcome o;
    const gemm_context context = gemm_make_context(&o.note);
    fill_whole(A, M * K, &r);
    fill_whole(B, K * N, &r);
    fill_whole(C, M * N, &r);
    memcpy(before, C, sizeof C);
    memcpy(expected, C, sizeof C);
    gemm_call g = {0, 0, M, N, K, 1, A, K, B, N, expected, N};
    gemm_stock_loops(&g);
    g.C = C;
    o.status = gemm_hybrid(&g, &context, s);
    o.right = !memcmp(C, expected, sizeof C);
    o.unchanged = !memcmp(C, before, sizeof C);
    return o;
}

/* A share, what the sides do, and what must come of it. */
typedef struct way {
    const char *name;
    double share;
    deed device;
    int cpu_declines;
    gemm_status status;
    int calls;                  /* of the device */
    const char *ran;            /* in the note of a call that is done */
    int threads;                /* with so many alone; 0: with any number */
} way;

/* With one thread the side with the larger share has all. With several threads the device gets the
   part that the CPU declines. */
static const way WAYS[] = {
    {"cpu", 0, FAILS, 0, GEMM_DONE, 0, "packed", 0},
    {"both", .25, WORKS, 0, GEMM_DONE, 1, "fake 0.", 2},
    {"both", .25, WORKS, 0, GEMM_DONE, 1, "fake 0.", 5},
    {"cpu-alone", .25, FAILS, 0, GEMM_DONE, 0, "packed", 1},
    {"device-alone", .75, WORKS, 0, GEMM_DONE, 1, "fake 1.00", 1},
    {"device", 1, WORKS, 0, GEMM_DONE, 1, "fake 1.00", 0},
    {"cpu-declines", 0, WORKS, 1, GEMM_DECLINED, 0, "", 0},
    {"device-declines", .75, DECLINES, 0, GEMM_DONE, 1, "packed", 0},
    {"device-declines-whole", 1, DECLINES, 0, GEMM_DONE, 1, "packed", 0},
    {"device-declines-whole-cpu-too", 1, DECLINES, 1, GEMM_DECLINED, 1, "", 0},
    {"device-fails", .75, FAILS, 0, GEMM_FAILED, 1, "", 0},
    {"part-declined", .25, WORKS, 1, GEMM_DONE, 2, "fake 1.00", 5},
    {"both-decline", .25, DECLINES, 2, GEMM_DECLINED, 1, "", 5},
};

static const char *judge_outcome(const way *w, const outcome *o)
{
    static char why[160];
    const char *wrong = NULL;
    if (o->status != w->status) wrong = "another status";
    else if (o->status == GEMM_DONE && !o->right) wrong = "a wrong result";
    else if (o->status == GEMM_DECLINED && !o->unchanged) wrong = "declined, but C has changed";
    else if (o->status == GEMM_FAILED && !*o->note.reason) wrong = "no reason";
    else if (o->status == GEMM_DONE && strncmp(o->note.ran, w->ran, strlen(w->ran)))
        wrong = "another note";
    else if (fake.calls != w->calls) wrong = "other calls of the device";
    if (!wrong) return NULL;
    snprintf(why, sizeof why, "%s: status %d, '%s', %d calls", wrong, (int)o->status, o->note.ran,
             (int)fake.calls);
    return why;
}

static void set_fake(const way *w)
{
    fake.device = w->device;
    fake.cpu_declines = w->cpu_declines;
    fake.calls = fake.timed = 0;
}

static void test_multiply_way(const way *w, int threads)
{
    const gemm_hybrid_sides s = make_sides(w->share);
    char name[96];
    gemm_set_threads(threads);
    set_fake(w);
    const outcome o = multiply(&s);
    snprintf(name, sizeof name, "hybrid-multiply-%s@%d", w->name, threads);
    report_judged(name, judge_outcome(w, &o));
}

static void test_ways(void)
{
    static const int threads[] = {1, 2, 5};
    for (int t = 0; t < 3; ++t) {
        for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; ++i)
            if (!WAYS[i].threads || WAYS[i].threads == threads[t])
                test_multiply_way(&WAYS[i], threads[t]);
    }
}

/* ---- threads ---- */

/* Calls that are large enough to share, of one shape, by four threads at once. */
static void *call_often(void *wrong)
{
    enum { SIDE = 160 };
    const gemm_hybrid_sides s = make_sides(-1);
    float *x = calloc(4 * SIDE * SIDE, sizeof *x);
    if (!x) abort();
    float *A = x, *B = A + SIDE * SIDE, *C = B + SIDE * SIDE, *expected = C + SIDE * SIDE;
    rng r = rng_make(3, 3);
    fill_whole(A, 2 * SIDE * SIDE, &r);
    gemm_call g = {0, 0, SIDE, SIDE, SIDE, 1, A, SIDE, B, SIDE, expected, SIDE};
    gemm_stock_loops(&g);
    g.C = C;
    for (int i = 0; i < 12; ++i) {
        gemm_note note;
        const gemm_context context = gemm_make_context(&note);
        memset(C, 0, SIDE * SIDE * sizeof *C);
        if (gemm_hybrid(&g, &context, &s) != GEMM_DONE ||
            memcmp(C, expected, SIDE * SIDE * sizeof *C))
            ++*(atomic_int *)wrong;
    }
    free(x);
    return NULL;
}

/* The device's clock takes time, and nobody needs it to learn the share. */
static void test_without_clock(void)
{
    enum { SIDE = 160, CALLS = 40 };
    static float A[SIDE * SIDE], B[SIDE * SIDE], C[SIDE * SIDE];
    const gemm_call g = {0, 0, SIDE, SIDE, SIDE, 1, A, SIDE, B, SIDE, C, SIDE};
    const gemm_hybrid_sides s = make_sides(-1);
    const way w = {.device = WORKS};
    gemm_note note;
    for (int threads = 1; threads < 4; ++threads) {
        char name[64];
        gemm_set_threads(threads);
        const gemm_context context = gemm_make_context(&note);
        set_fake(&w);
        for (int i = 0; i < CALLS; ++i) gemm_hybrid(&g, &context, &s);
        snprintf(name, sizeof name, "hybrid-without-clock@%d", threads);
        report_that(name, fake.calls > 0 && fake.timed == 0,
                    "%d calls of the device, %d with its clock", (int)fake.calls, fake.timed);
    }
}

static void test_threads(void)
{
    const way w = {.device = WORKS};
    pthread_t threads[4];
    atomic_int wrong = 0;
    set_fake(&w);
    for (int i = 0; i < 4; ++i)
        if (pthread_create(&threads[i], NULL, call_often, &wrong)) abort();
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    report_that("hybrid-threads", !wrong && fake.calls >= 4,
                "%d of 48 calls wrong; %d of the device", (int)wrong, (int)fake.calls);
}

/* ---- whole layers ---- */

/* The side that a layer was given to. */
static const char *layer_side;

static gemm_status run_layer(const gemm_op *op, const gemm_context *context, const void *params)
{
    (void)op, (void)context;
    layer_side = params;
    return GEMM_DONE;
}

/* Multiplies within so many ms, by the clock or by the clock of kernels; below 0: it fails. */
static double cpu_takes, kernels_take;

static gemm_status multiply_in(const gemm_call *g, const gemm_context *context, const void *params)
{
    (void)g;
    const bool device = !strcmp(params, "device");
    const double ms = device ? kernels_take : cpu_takes, begin = gemm_now_ms();
    if (ms < 0) return GEMM_DECLINED;
    while (!device && gemm_now_ms() - begin < ms) continue;
    if (device && context->timed) context->note->kernel_ms = ms;
    return GEMM_DONE;
}

static gemm_hybrid_sides layer_sides(double forced)
{
    const gemm_variant cpu = {.name = "side", .multiply = multiply_in, .run = run_layer,
                              .kinds = GEMM_ALL_KINDS, .params = "cpu"};
    gemm_hybrid_sides s = {.cpu = cpu, .device = cpu, .forced = forced};
    s.device.params = "device";
    return s;
}

static void expect_layers(const char *name, double forced, const char *expected)
{
    const gemm_hybrid_sides s = layer_sides(forced);
    gemm_note note;
    const gemm_context context = gemm_make_context(&note);
    const char *why = NULL;
    gemm_forget_side();
    for (int kind = GEMM_CONVOLUTION; kind <= GEMM_LAYER && !why; ++kind) {
        const gemm_op op = {.kind = (gemm_kind)kind};
        layer_side = "";
        const gemm_status status = gemm_hybrid_run(&op, &context, &s);
        if (status != GEMM_DONE || strcmp(layer_side, expected)) why = layer_side;
        cpu_takes = kernels_take = 1e-3;        /* the choice stands */
    }
    report_that(name, !why, "'%s' has the layers, not '%s'", why ? why : "", expected);
}

/* A child cannot use the device, although its parent's layers are there. For child_run. */
static int choose_in_child(void *unused)
{
    const gemm_hybrid_sides s = layer_sides(-1);
    gemm_note note;
    const gemm_context context = gemm_make_context(&note);
    (void)unused;
    kernels_take = -1;
    const gemm_op op = {.kind = GEMM_LAYER};
    return gemm_hybrid_run(&op, &context, &s) != GEMM_DONE || strcmp(layer_side, "cpu");
}

/* The faster side has the layers, by its multiply. A device whose copies take longer counts by its
   kernels. */
static void test_layers(void)
{
    cpu_takes = 1, kernels_take = .2;
    expect_layers("layers-fast-device", -1, "device");
    cpu_takes = .5, kernels_take = 5;
    expect_layers("layers-fast-cpu", -1, "cpu");
    cpu_takes = .5, kernels_take = -1;
    expect_layers("layers-no-device", -1, "cpu");
    cpu_takes = 1, kernels_take = .2;
    expect_layers("layers-before-fork", -1, "device");
    const child_result r = child_run(choose_in_child, NULL);
    report_judged("layers-in-child", child_exit(&r) ? "the device has them" : NULL);
    cpu_takes = -1, kernels_take = 1;
    expect_layers("layers-no-cpu", -1, "device");
    expect_layers("layers-forced-device", 1, "device");
    expect_layers("layers-forced-cpu", .25, "cpu");
}

int main(void)
{
    test_ends();
    test_fixed_costs();
    test_random_machines();
    test_stays();
    test_comes_back();
    test_searches_are_rare();
    test_many_shapes();
    test_ways();
    test_without_clock();
    gemm_share_forget();
    test_threads();
    test_layers();
    const gemm_hybrid_sides s = {.device = {.device = &NEVER, .params = "device"}};
    report_judged("hybrid-unusable", gemm_hybrid_limits(&s) ? NULL : "it is usable");
    return report_status();
}
