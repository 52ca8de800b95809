/* SPDX-License-Identifier: MIT */
/*
 * Every row of the table against the double reference, over random sizes, transposes, leading
 * dimensions, ALPHA and BETA. Guard pages lie around the matrices, and NaN in the padding.
 *
 *   test_gemm [--seed S] [--cases N] [--row NAME] [--case I] [--large yes] [--mflop N]
 *
 * --large adds the 13 gemm calls of yolov3-tiny by the rows of this project, and --mflop leaves out
 * those of more work. A case depends on the seed and its number alone: --seed, --row and --case
 * repeat one, and a failure prints that command.
 *
 * Rows that run other people's libraries get no guard pages, because some of these libraries read
 * behind a matrix. Each of them runs in a process of its own. When a signal ends that process, the
 * row is skipped with the signal's name: no test of this project can mend that library.
 */
#include "check/check.h"
#include "common/shapes.h"
#include "driver/driver.h"
#include "support/child.h"
#include "support/options.h"
#include "support/product.h"
#include "support/report.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool large;              /* options of this program's own */
static int mflop = INT_MAX;     /* of a large call at most */

/* A case: the call with its three matrices. */
typedef struct problem {
    product of;
    float BETA;
} problem;

/* A row under test, and what is wrong with it: "" for nothing. */
typedef struct row_test {
    const gemm_variant *row;
    char wrong[512];
} row_test;

/* Tile sides of the rows, one less, one more, primes, and 0. */
static const int SIZES[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 27, 31, 32, 33, 47, 48, 49,
                            63, 64, 65, 67, 96, 97, 127, 128, 129, 169};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

static const int SMALL = 3;     /* the first 4 * 4^3 cases are all of {0 .. SMALL}^3 in turn */

/* A row may leave smaller NN calls to stock, because setting up costs more than they take. */
static const double TINY = 2000;

static float pick(rng *r, const float *values, int n)
{
    return values[rng_below(r, n)];
}

/* Operands for a call whose TA, TB, M, N and K are set. */
static void problem_allocate(problem *p, rng *r, bool guards)
{
    static const int none[3];
    const guarded_place side = rng_below(r, 4) ? AT_END : AT_START;
    product_pad(&p->of.call, r);
    product_place(&p->of, guards ? side : UNGUARDED, none, r);
}

static problem problem_make(uint64_t seed, int number, bool guards)
{
    static const float alphas[] = {1, 1, -0.5f, 2.5f, 0}, betas[] = {1, 0, 0.5f, -1};
    rng r = rng_make(seed, (uint64_t)number);
    problem p = {.of.call = {.TA = number & 1, .TB = number >> 1 & 1}};
    gemm_call *c = &p.of.call;
    const int side = SMALL + 1, triple = number / 4;
    if (triple < side * side * side) {
        c->M = triple % side;
        c->N = triple / side % side;
        c->K = triple / side / side;
    } else {
        c->M = SIZES[rng_below(&r, SIZE_COUNT)];
        c->N = SIZES[rng_below(&r, SIZE_COUNT)];
        c->K = SIZES[rng_below(&r, SIZE_COUNT)];
    }
    c->ALPHA = pick(&r, alphas, 5);
    p.BETA = pick(&r, betas, 4);
    problem_allocate(&p, &r, guards);
    return p;
}

/* C before BETA: NaN all over when BETA is 0, because a C that is read would then show. */
static void fill_c(problem *p, uint64_t seed, int number)
{
    rng r = rng_make(seed ^ 0xC, (uint64_t)number);
    if (p->BETA == 0)
        guarded_fill_nan(&p->of.C);
    else
        guarded_fill(&p->of.C, &r);
    gemm_beta(&p->of.call, p->BETA);
}

/* What runs at the moment, for the handler of a crash. */
static char running[128];

static void say_crash(int number)
{
    signal(number, SIG_DFL);
    if (write(STDERR_FILENO, running, strlen(running)) < 0) _exit(2);
    raise(number);
}

/* Runs the row on a C that fill_c has filled. Returns NULL, or what is wrong; `why` may hold it. */
static const char *run_and_judge(const gemm_variant *v, problem *p, const gemm_oracle *oracle,
                                 char *why, size_t size)
{
    const gemm_call *c = &p->of.call;
    const gemm_variant *ran = gemm_run(v, c, NULL);
    if (!c->M || !c->N) return NULL;
    const gemm_error worst = gemm_oracle_compare_rounded(oracle, c, ran->rounding);
    if (!(worst.ratio <= 1)) {
        snprintf(why, size, "C[%d][%d] is off by %g, %.3g times the bound", worst.row, worst.column,
                 worst.difference, worst.ratio);
        return why;
    }
    if (!guarded_padding_intact(&p->of.C)) return "it wrote between the rows of C";
    const bool tiny = c->K <= 1 || (double)c->M * c->N * c->K <= TINY;
    if (ran != v && !c->TA && !c->TB && !tiny) return "it declined an NN call";
    return NULL;
}

static void test_row_case(row_test *t, problem *p, const gemm_oracle *oracle, uint64_t seed,
                          int number)
{
    char why[160], text[JUDGE_TEXT];
    fill_c(p, seed, number);
    snprintf(running, sizeof running, "crashed: test_gemm --seed %llu --row %s --case %d\n",
             (unsigned long long)seed, t->row->name, number);
    const char *wrong = run_and_judge(t->row, p, oracle, why, sizeof why);
    *running = '\0';
    if (wrong)
        snprintf(t->wrong, sizeof t->wrong,
                 "%s; %s BETA=%g; repeat with: test_gemm --seed %llu --row %s --case %d", wrong,
                 product_text(&p->of.call, text), (double)p->BETA, (unsigned long long)seed,
                 t->row->name, number);
}

/* One case on every row that was right so far. The reference is computed once for all of them. */
static void test_case(row_test *tests, size_t count, uint64_t seed, int number, bool guards)
{
    problem p = problem_make(seed, number, guards);
    fill_c(&p, seed, number);
    gemm_oracle oracle = {0};
    if (p.of.call.M && p.of.call.N && gemm_oracle_make(&oracle, &p.of.call)) {
        fprintf(stderr, "test_gemm: no memory for the reference\n");
        exit(2);
    }
    for (size_t i = 0; i < count; ++i)
        if (!*tests[i].wrong) test_row_case(&tests[i], &p, &oracle, seed, number);
    gemm_oracle_free(&oracle);
    product_free(&p.of);
}

/* The judge itself: its bound is (K + 2) eps times the sum of |C before| and the absolute products,
   no more. */
static void test_oracle(void)
{
    enum { K = 3 };
    float A[K] = {1, -2, 4}, B[K] = {2, 1, 0.5f}, C = 3;
    const gemm_call c = {
        .M = 1, .N = 1, .K = K, .ALPHA = -1, .A = A, .lda = K, .B = B, .ldb = 1, .C = &C, .ldc = 1};
    const float right = 3 - (2 - 2 + 2), bound = (K + 2) * FLT_EPSILON * (3 + 2 + 2 + 2);
    gemm_oracle oracle;
    if (gemm_oracle_make(&oracle, &c)) exit(2);
    const float off[] = {0, 0.9f, -0.9f, 1.3f, -1.3f, NAN, INFINITY};
    for (size_t i = 0; i < sizeof off / sizeof *off; ++i) {
        C = right + off[i] * bound;
        const bool passes = gemm_oracle_compare(&oracle, &c).ratio <= 1;
        report_that("oracle", passes == (i < 3), "%g times the bound off: %s", (double)off[i],
                    passes ? "passes" : "fails");
    }
    gemm_oracle_free(&oracle);
}

/* A row that declines must leave C as it was, to the bit. */
static void test_declines_unchanged(row_test *t, uint64_t seed, bool guards)
{
    for (int transposes = 0; transposes < 4; ++transposes) {
        problem p = problem_make(seed, 4 * 4096 + transposes, guards);
        const gemm_call *c = &p.of.call;
        guarded before = guarded_make(c->M, c->N, c->ldc, AT_END, 0);
        guarded_fill_nan(&p.of.C);
        guarded_fill_nan(&before);
        gemm_note note;
        const gemm_context context = gemm_make_context(&note);
        const bool empty = !c->M || !c->N || !c->K;
        if (!empty && t->row->multiply(c, &context, t->row->params) == GEMM_DECLINED &&
            memcmp(before.data, c->C, product_floats(c) * sizeof(float)))
            snprintf(t->wrong, sizeof t->wrong, "it declined TA=%d TB=%d and changed C", c->TA,
                     c->TB);
        guarded_free(&before);
        product_free(&p.of);
    }
}

/* All cases on these rows, or the one of --case. */
static void test_rows(row_test *tests, size_t count, const test_options *o, bool guards)
{
    const int first = o->only_case >= 0 ? o->only_case : 0;
    const int last = o->only_case >= 0 ? o->only_case + 1 : o->cases;
    for (int i = first; i < last; ++i) test_case(tests, count, o->seed, i, guards);
    for (size_t i = 0; i < count; ++i)
        if (!*tests[i].wrong) test_declines_unchanged(&tests[i], o->seed, guards);
}

/* A library that rounds is right or wrong by its own version, so only --row asks for it.
   test_reference.sh has that row, with a stand-in for the library. */
static bool wanted(const test_options *o, const gemm_variant *v, bool reference)
{
    const bool named = o->row && !strcmp(o->row, v->name);
    const bool own_rounding = gemm_is_reference(v) && v->rounding;
    return gemm_is_reference(v) == reference && (o->row ? named : !own_rounding);
}

/* ---- Rows of this project ---- */

static void test_own_rows(const test_options *o)
{
    row_test *tests = calloc(gemm_variant_count, sizeof *tests);
    size_t count = 0;
    if (!tests) exit(2);
    for (const gemm_variant *v = gemm_variants; v < gemm_variants + gemm_variant_count; ++v) {
        if (!wanted(o, v, false)) continue;
        const char *reason = gemm_unusable(v);
        if (reason) report_unusable(v->name, reason);
        else tests[count++].row = v;
    }
    test_rows(tests, count, o, true);
    for (size_t i = 0; i < count; ++i)
        report_judged(tests[i].row->name, *tests[i].wrong ? tests[i].wrong : NULL);
    free(tests);
}

/* ---- Rows that run other people's libraries, each in a process of its own ---- */

/* The exit status of such a process. Its output says why. */
enum { RIGHT, WRONG, UNUSABLE };

/* Reports what the process said about the row. */
static void report_child(const gemm_variant *v, child_result r)
{
    const char *killed = child_signal(&r);
    r.output[strcspn(r.output, "\n")] = '\0';
    if (killed) report_skip_machine(v->name, "%s died: %s", v->origin, killed);
    else if (child_exit(&r) == RIGHT) report_pass(v->name);
    else if (child_exit(&r) == UNUSABLE) report_unusable(v->name, r.output);
    else report_fail(v->name, "%s", r.output);
}

typedef struct reference_job {
    row_test *test;
    const test_options *o;
} reference_job;

static int run_reference(void *data)
{
    const reference_job *job = data;
    const char *reason = gemm_unusable(job->test->row);
    if (reason) return puts(reason), UNUSABLE;
    test_rows(job->test, 1, job->o, false);
    puts(job->test->wrong);
    return *job->test->wrong ? WRONG : RIGHT;
}

static void test_references(const test_options *o)
{
    for (const gemm_variant *v = gemm_variants; v < gemm_variants + gemm_variant_count; ++v) {
        if (!wanted(o, v, true)) continue;
        row_test test = {.row = v};
        reference_job job = {.test = &test, .o = o};
        report_child(v, child_run(run_reference, &job));
    }
}

/* ---- The 13 shapes of yolov3-tiny ---- */

static void test_large_row(row_test *t, problem *p, const gemm_oracle *oracle, uint64_t seed)
{
    gemm_beta(&p->of.call, 0);
    gemm_run(t->row, &p->of.call, NULL);
    const gemm_error worst = gemm_oracle_compare_rounded(oracle, &p->of.call, t->row->rounding);
    if (worst.ratio <= 1) return;
    snprintf(t->wrong, sizeof t->wrong,
             "%s: C[%d][%d] is off by %g, %.3g times the bound; "
             "repeat with: test_gemm --large yes --cases 0 --seed %llu --row %s",
             t->row->name, worst.row, worst.column, worst.difference, worst.ratio,
             (unsigned long long)seed, t->row->name);
}

/* This project's rows on one shape, on tight matrices. The reference is computed once for all. */
static void test_large_shape(const test_options *o, const char *shape, problem *p,
                             const gemm_oracle *oracle)
{
    bool right = true;
    for (const gemm_variant *v = gemm_variants; v < gemm_variants + gemm_variant_count; ++v) {
        row_test test = {.row = v};
        if (!wanted(o, v, false) || gemm_unusable(v)) continue;
        test_large_row(&test, p, oracle, o->seed);
        if (*test.wrong) report_fail(shape, "%s", test.wrong);
        right = right && !*test.wrong;
    }
    if (right) report_pass(shape);
}

static void test_large(const test_options *o)
{
    for (size_t s = 0; s < YOLOV3_TINY_CALLS; ++s) {
        const int M = yolov3_tiny_sizes[s].M, N = yolov3_tiny_sizes[s].N;
        const int K = yolov3_tiny_sizes[s].K;
        if (2e-6 * M * N * K > mflop) continue;
        rng r = rng_make(o->seed, 1000000 + s);
        problem p = {.of.call = {.M = M, .N = N, .K = K, .ALPHA = 1}, .BETA = 0};
        problem_allocate(&p, &r, true);
        gemm_beta(&p.of.call, 0);
        gemm_oracle oracle;
        if (gemm_oracle_make(&oracle, &p.of.call)) exit(2);
        char name[64];
        snprintf(name, sizeof name, "%zu-%dx%dx%d", s + 1, M, N, K);
        test_large_shape(o, name, &p, &oracle);
        gemm_oracle_free(&oracle);
        product_free(&p.of);
    }
}

/* ---- The command line ---- */

static bool take_own(const char *option, const char *value)
{
    if (!strcmp(option, "--mflop")) return mflop = option_int(option, value, 1), true;
    large = !strcmp(value, "yes");
    return !strcmp(option, "--large") && large;
}

/* The references come first, because a process can only be forked well while there are no threads
   and no open devices. */
int main(int argc, char **argv)
{
    test_options o = {.seed = (uint64_t)time(NULL) & INT_MAX, .cases = 1200, .only_case = -1};
    o = options_read(argc, argv, o, "--seed, --cases, --case, --row, --mflop, --large yes",
                     take_own);
    if (o.row && !gemm_find(o.row)) return fprintf(stderr, "test_gemm: no row %s\n", o.row), 2;
    printf("# seed %llu\n", (unsigned long long)o.seed);
    const bool cases = o.cases > 0 || o.only_case >= 0;
    if (cases) test_references(&o);
    signal(SIGSEGV, say_crash);
    signal(SIGBUS, say_crash);
    if (cases) test_own_rows(&o);
    if (!o.row) test_oracle();
    if (large) test_large(&o);
    return report_status();
}
