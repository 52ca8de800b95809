/* SPDX-License-Identifier: MIT */
/*
 * Convolutions, chains and multiplies of `packed` when memory is short. Each allocation of a call
 * fails in turn: alone, with the next one, or with all that follow. The call then gives the right
 * result by another way, or it declines and leaves the output as it was. Once there is memory
 * again, the same plan gives the right result.
 *
 * The same for the first call of `cl`, which opens the device. The reason of a device that does not
 * open is then the memory. What the OpenCL library allocates itself does not fail here.
 *
 *   test_allocation [--check]      one failure at a time, under GEMM_CHECK=1, whose reference may
 *                                  get no memory: the program goes on
 *
 * The linker puts the functions __wrap_malloc ... below in the place of malloc ... (mk/test.mk).
 */
#include "common/random.h"
#include "driver/driver.h"
#include "packed/packed.h"
#include "support/child.h"
#include "support/report.h"
#include "util/threads.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- memory that ends ---- */

static atomic_int left = -1;    /* so many allocations succeed; below 0: all do */
static atomic_int failing;      /* so many fail then; later ones succeed */

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_aligned_alloc(size_t, size_t);

static atomic_bool failed;      /* one did */
static bool checks;             /* under GEMM_CHECK=1, whose reference allocates for each filter */

static bool fails(void)
{
    if (atomic_load(&left) < 0) return false;
    if (atomic_load(&left) > 0) return atomic_fetch_sub(&left, 1) <= 0;
    failed = true;
    if (atomic_fetch_sub(&failing, 1) <= 1) atomic_store(&left, -1);
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* ---- cases ---- */

enum { LAYERS = 3, MOST = 64 };     /* MOST: more allocations than any call of packed makes */

typedef struct test_case {
    const char *name;
    int count;                      /* of calls; 0: a multiply */
    conv_call calls[LAYERS];
} test_case;

/* Sizes of a convolution of stride s whose map stays as large as the stride allows. */
#define CONV(groups, c, side, n, size, s) \
    {1, groups, c, side, side, n, size, s, (size) / 2, (side) / (s), (side) / (s), .scale = NULL}
#define POOLED(c, side, n) \
    {1, 1, c, side, side, n, 3, 1, 1, side, side, .scale = NULL, .pool = true}

static const test_case cases[] = {
    {"winograd", 1, {CONV(1, 64, 28, 64, 3, 1)}},
    {"winograd-pooled", 1, {POOLED(64, 28, 64)}},
    {"direct-pooled", 1, {POOLED(3, 208, 16)}},
    {"1x1", 1, {CONV(1, 96, 20, 144, 1, 1)}},
    {"3x3-stride-2", 1, {CONV(1, 32, 104, 64, 3, 2)}},
    {"5x5", 1, {CONV(1, 24, 26, 40, 5, 1)}},
    {"depthwise", 1, {CONV(48, 48, 40, 48, 3, 1)}},
    {"groups", 1, {CONV(4, 32, 26, 64, 3, 1)}},
    {"chain", 3,
     {CONV(1, 16, 80, 64, 1, 1), CONV(64, 64, 80, 64, 3, 2), CONV(1, 64, 40, 16, 1, 1)}},
    {"multiply", 0, {CONV(1, 1, 1, 1, 1, 1)}},
};
enum { M = 130, N = 700, K = 300 };

typedef struct problem {
    const test_case *of;
    conv_call calls[LAYERS];
    conv_norm norms[LAYERS];
    gemm_plan *plans[LAYERS];
    float *A, *B;                   /* of a multiply */
    float *output, *expected;
    size_t outputs;
    int allowed, failing;           /* allocations of the next call */
    bool done;                      /* what the last call returned */
} problem;

static float *numbers(size_t n, float least, rng *r)
{
    float *x = __real_malloc(n * sizeof *x);
    if (!x) abort();
    for (size_t i = 0; i < n; ++i) x[i] = least + rng_float(r);
    return x;
}

static problem make_problem(const test_case *t)
{
    rng r = rng_make(7, 0);
    problem p = {.of = t, .outputs = (size_t)M * N};
    for (int i = 0; i < t->count; ++i) {
        conv_call *c = &p.calls[i];
        const size_t n = (size_t)t->calls[i].n;
        *c = t->calls[i];
        const int taps = c->c / c->groups * c->size * c->size;
        c->input = i ? NULL : numbers((size_t)(c->c * c->h * c->w), -.5f, &r);
        c->weights = numbers(n * (size_t)taps, -.5f, &r);
        c->shift = numbers(n, -.5f, &r);
        c->activation = CONV_LEAKY;
        p.norms[i] = (conv_norm){numbers(n, -.5f, &r), numbers(n, 1.5f, &r), numbers(n, .5f, &r)};
        p.outputs = n * (size_t)(c->out_h * c->out_w) / (c->pool ? 4 : 1);
    }
    if (!t->count) p.A = numbers((size_t)M * K, -.5f, &r), p.B = numbers((size_t)K * N, -.5f, &r);
    p.output = numbers(p.outputs, 0, &r);
    p.expected = numbers(p.outputs, 0, &r);
    return p;
}

static void free_problem(problem *p)
{
    for (int i = 0; i < p->of->count; ++i) {
        const conv_call *c = &p->calls[i];
        const float *const all[] = {c->input, c->weights, c->shift, p->norms[i].mean,
                                    p->norms[i].variance, p->norms[i].scales};
        for (size_t k = 0; k < sizeof all / sizeof *all; ++k) free((float *)all[k]);
    }
    free(p->A);
    free(p->B);
    free(p->output);
    free(p->expected);
}

/* ---- one call ---- */

/* In a thread of its own, which has no scratch yet. */
static void *call(void *arg)
{
    problem *p = arg;
    const conv_norm *norms[LAYERS] = {&p->norms[0], &p->norms[1], &p->norms[2]};
    gemm_plan **slots[LAYERS] = {&p->plans[0], &p->plans[1], &p->plans[2]};
    p->calls[p->of->count ? p->of->count - 1 : 0].output = p->output;
    const gemm_call multiply = {.M = M, .N = N, .K = K, .ALPHA = 1, .A = p->A, .lda = K, .B = p->B,
                                .ldb = N, .C = p->output, .ldc = N};
    p->done = true;
    atomic_store(&failing, p->failing);
    atomic_store(&left, p->allowed);
    if (!p->of->count) gemm_dispatch(&multiply);
    else if (p->of->count == 1) p->done = gemm_conv(p->calls, norms[0], slots[0]);
    else p->done = gemm_conv_chain(p->calls, norms, p->of->count, slots, NULL);
    atomic_store(&left, -1);
    return NULL;
}

/* Runs the call; the allocation behind `allowed` others fails, if there are so many. */
static void run(problem *p, int allowed)
{
    pthread_t thread;
    memset(p->output, 0, p->outputs * sizeof *p->output);
    p->allowed = allowed;
    atomic_store(&failed, false);
    gemm_free_idle_scratch();
    if (pthread_create(&thread, NULL, call, p)) abort();
    pthread_join(thread, NULL);
}

/* Another algorithm rounds in another way. */
static bool is_right(const problem *p)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < p->outputs; ++i) {
        worst = fmax(worst, fabs((double)p->output[i] - (double)p->expected[i]));
        largest = fmax(largest, fabs((double)p->expected[i]));
    }
    return worst <= 1e-5 * largest;
}

static bool is_untouched(const problem *p)
{
    for (size_t i = 0; i < p->outputs; ++i)
        if (p->output[i] != 0) return false;
    return true;
}

static void drop_plans(problem *p)
{
    for (int i = 0; i < LAYERS; ++i) gemm_plan_drop(&p->plans[i]);
}

/* NULL, or what is wrong. Counts the calls with a failure. */
static const char *judge(problem *p, int *failures)
{
    run(p, -1);
    if (!p->done) return "it declines with all memory";
    memcpy(p->expected, p->output, p->outputs * sizeof *p->output);
    drop_plans(p);
    for (int n = 0; n < (checks ? MOST / 4 : MOST); ++n) {
        run(p, n);
        if (!failed) return *failures ? NULL : "it allocates nothing";
        ++*failures;
        if (p->done && !is_right(p)) return "it is wrong without memory";
        if (!p->done && !is_untouched(p)) return "it declines after it has written";
        run(p, -1);
        if (!p->done || !is_right(p)) return "it is wrong with the plan that a failure left";
        drop_plans(p);
        if (gemm_planned_bytes()) return "a dropped plan is counted";
    }
    return checks ? NULL : "it allocates again and again";
}

static void test(const test_case *t, int failing)
{
    problem p = make_problem(t);
    char name[64];
    int failures = 0;
    snprintf(name, sizeof name, "%s, %d fail", t->name, failing);
    p.failing = failing;
    const char *wrong = judge(&p, &failures);
    report_that(name, !wrong, "allocation %d: %s", failures, wrong);
    drop_plans(&p);
    free_problem(&p);
}

/* ---- the first call of `cl` ---- */

enum { NO_FAILURE, SURVIVED = 3, WRONG };

typedef struct first_call {
    const test_case *of;
    int allowed;
} first_call;

/* In a child, whose device is not open. Does not return, because a driver keeps memory to the end,
   which a sanitizer would report. */
static int call_first(void *data)
{
    const first_call *f = data;
    problem p = make_problem(f->of);
    p.failing = 1;
    run(&p, -1);
    memcpy(p.expected, p.output, p.outputs * sizeof *p.output);
    drop_plans(&p);
    gemm_set_variant(gemm_find("cl"));
    run(&p, f->allowed);
    const bool any = failed, well = p.done ? is_right(&p) : is_untouched(&p);
    run(&p, -1);
    const bool again = p.done ? is_right(&p) : is_untouched(&p);
    drop_plans(&p);
    free_problem(&p);
    fflush(NULL);
    _exit(!well || !again ? WRONG : any ? SURVIVED : NO_FAILURE);
}

/* NULL, or what is wrong about how the child ended. */
static const char *judge_first(const child_result *r)
{
    const char *signal = child_signal(r);
    if (signal) return signal;
    const bool refused = strstr(r->output, "OpenCL device") || strstr(r->output, "OpenCL does");
    if (refused && !strcasestr(r->output, "memory")) return "it gives another reason";
    return child_exit(r) == WRONG ? "it is wrong" : NULL;
}

static void test_first(const test_case *t)
{
    char name[64];
    const char *wrong = NULL;
    first_call f = {.of = t};
    child_result r;
    snprintf(name, sizeof name, "cl-first-%s", t->name);
    do {
        r = child_run(call_first, &f);
        wrong = judge_first(&r);
    } while (!wrong && child_exit(&r) != NO_FAILURE && ++f.allowed < 4 * MOST);
    if (!wrong && f.allowed < 8) wrong = "too few allocations failed";
    if (!wrong && child_exit(&r) != NO_FAILURE) wrong = "it allocates again and again";
    report_that(name, !wrong, "allocation %d: %s\n%s", f.allowed + 1, wrong, r.output);
    printf("# %d allocations failed in turn\n", f.allowed);
}

/* Little room is left for the OpenCL library, which then finds no driver: the reason is the
   memory. */
__attribute__((unused))
static int open_cramped(void *data)
{
    const size_t room = *(const size_t *)data;
    struct rlimit limit;
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%zu", &pages) != 1) return 2;
    fclose(f);
    limit.rlim_cur = limit.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + room;
    if (setrlimit(RLIMIT_AS, &limit)) return 2;
    const char *why = gemm_unusable(gemm_find("cl"));
    printf("%s\n", why ? why : "usable");
    return 0;
}

__attribute__((unused))
static void test_cramped(size_t room)
{
    char name[64];
    const child_result r = child_run(open_cramped, &room);
    snprintf(name, sizeof name, "cl-cramped-%zu", room >> 20);
    report_that(name, child_exit(&r) == 0 && strstr(r.output, "memory"), "%s", r.output);
}

static int ask_cl(void *unused)
{
    (void)unused;
    const char *why = gemm_unusable(gemm_find("cl"));
    if (why) printf("%s", why);
    fflush(NULL);
    _exit(why != NULL);
}

/* Before the first thread, because the children open the device. */
static void test_cl(void)
{
    static const test_case conv = {"convolution", 1, {CONV(1, 8, 16, 12, 3, 1)}};
    static const test_case multiply = {"multiply", 0, {CONV(1, 1, 1, 1, 1, 1)}};
#ifdef __SANITIZE_ADDRESS__
    report_skip_machine("cl-first", "the sanitizer would have no memory either");
    return;
#endif
    const child_result r = child_run(ask_cl, NULL);
    if (child_exit(&r)) {
        report_skip("cl-first", "%s", r.output);
        return;
    }
    test_first(&conv);
    test_first(&multiply);
    test_cramped((size_t)1 << 20);
    test_cramped((size_t)64 << 20);
}

/* The trace names the way that had no room beside the one that ran. */
static void test_trace(void)
{
    problem p = make_problem(&cases[0]);
    gemm_note note;
    const gemm_context context = gemm_make_context(&note);
    bool told = false;
    p.calls[0].output = p.output;
    for (int allowed = 0; allowed < MOST && !told; ++allowed) {
        atomic_store(&failing, 1);
        atomic_store(&left, allowed);
        const gemm_status status = gemm_packed_conv(p.calls, &context, NULL);
        atomic_store(&left, -1);
        told = status == GEMM_DONE && strstr(note.algorithm, ", no room for winograd");
    }
    report_that("no-room-in-trace", told, "the last one: %s", note.algorithm);
    free_problem(&p);
}

int main(int argc, char **argv)
{
    checks = argc == 2 && !strcmp(argv[1], "--check");
    if (argc > 1 && !checks) {
        fputs("usage: test_allocation [--check]\n", stderr);
        return 2;
    }
    if (checks) setenv("GEMM_CHECK", "1", 1);
    gemm_set_variant(gemm_find("packed"));
    gemm_set_threads(2);
    gemm_set_prepare_first(true);
    if (!checks) test_cl();
    if (!checks) test_trace();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        test(&cases[i], 1);
        if (checks) continue;
        test(&cases[i], 2);
        test(&cases[i], INT_MAX);
    }
    return report_status();
}
