/*
 * Every row of the table against the double reference, over random sizes, transposes, leading
 * dimensions, ALPHA and BETA, with guard pages around the matrices and NaN in the padding.
 *
 *   test_gemm [--seed S] [--cases N] [--row NAME] [--case I] [--large]
 *
 * --large adds the 13 gemm calls of yolov3-tiny. A case depends on the seed and its number alone:
 * --seed, --row and --case repeat one, and a failure prints that command.
 */
#include "driver/check.h"
#include "driver/driver.h"
#include "support/operands.h"
#include "support/report.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct options {
    uint64_t seed;
    int cases;
    int only_case;              /* -1: all */
    const char *row;            /* NULL: all */
    bool large;
} options;

/* A case: the call with its three matrices. */
typedef struct problem {
    gemm_call call;
    float BETA;
    guarded A, B, C;
} problem;

/* Tile sides of the rows, one less, one more, primes, and nothing at all. */
static const int SIZES[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 27, 31, 32, 33, 47, 48, 49,
                            63, 64, 65, 67, 96, 97, 127, 128, 129, 169};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

static const int SMALL = 3;     /* cases 0 .. 4 * 4^3 - 1 are all of {0 .. SMALL}^3 in turn */

static const int YOLOV3_TINY[][3] = {
    {16, 173056, 27}, {32, 43264, 144}, {64, 10816, 288}, {128, 2704, 576}, {256, 676, 1152},
    {512, 169, 2304}, {1024, 169, 4608}, {256, 169, 1024}, {512, 169, 2304}, {255, 169, 512},
    {128, 169, 256}, {256, 676, 3456}, {255, 676, 256}};

static float pick(rng *r, const float *values, int n)
{
    return values[rng_below(r, n)];
}

static int pad(rng *r)
{
    static const int extra[] = {0, 0, 1, 3, 16};
    return extra[rng_below(r, 5)];
}

/* Operands for a call whose TA, TB, M, N and K are set. */
static void problem_allocate(problem *p, rng *r)
{
    gemm_call *c = &p->call;
    const int rows_a = c->TA ? c->K : c->M, columns_a = c->TA ? c->M : c->K;
    const int rows_b = c->TB ? c->N : c->K, columns_b = c->TB ? c->K : c->N;
    const int side = rng_below(r, 4) ? AT_END : AT_START;
    c->lda = columns_a + pad(r);
    c->ldb = columns_b + pad(r);
    c->ldc = c->N + pad(r);
    p->A = guarded_make(rows_a, columns_a, c->lda, side, 0);
    p->B = guarded_make(rows_b, columns_b, c->ldb, side, 0);
    p->C = guarded_make(c->M, c->N, c->ldc, side, 0);
    guarded_fill(&p->A, r);
    guarded_fill(&p->B, r);
    c->A = p->A.data;
    c->B = p->B.data;
    c->C = p->C.data;
}

static problem problem_make(uint64_t seed, int number)
{
    static const float alphas[] = {1, 1, -0.5f, 2.5f, 0}, betas[] = {1, 0, 0.5f, -1};
    rng r = rng_make(seed, (uint64_t)number);
    problem p = {.call = {.TA = number & 1, .TB = number >> 1 & 1}};
    gemm_call *c = &p.call;
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
    problem_allocate(&p, &r);
    return p;
}

static void problem_free(problem *p)
{
    guarded_free(&p->A);
    guarded_free(&p->B);
    guarded_free(&p->C);
}

/* NULL, or what is wrong about the row's run in `why`. C is as BETA and the row find it. */
static const char *run_and_judge(const gemm_variant *v, problem *p, char *why, size_t size)
{
    gemm_call *c = &p->call;
    gemm_beta(c, p->BETA);
    if (!c->M || !c->N) {
        gemm_run(v, c, NULL);
        return NULL;
    }
    gemm_oracle oracle;
    if (gemm_oracle_make(&oracle, c)) return "no memory for the reference";
    const gemm_variant *ran = gemm_run(v, c, NULL);
    const gemm_error worst = gemm_oracle_compare(&oracle, c);
    gemm_oracle_free(&oracle);
    if (!(worst.ratio <= 1)) {
        snprintf(why, size, "C[%d][%d] is off by %g, %.3g times the bound", worst.row, worst.column,
                 worst.difference, worst.ratio);
        return why;
    }
    if (!guarded_padding_intact(&p->C)) return "it wrote between the rows of C";
    if (ran != v && !c->TA && !c->TB && c->K) return "it declined an NN call";
    return NULL;
}

/* C before BETA: NaN all over when BETA is 0, so that reading it shows. */
static void fill_c(problem *p, uint64_t seed, int number)
{
    rng r = rng_make(seed ^ 0xC, (uint64_t)number);
    if (p->BETA == 0)
        guarded_fill_nan(&p->C);
    else
        guarded_fill(&p->C, &r);
}

static bool test_case(const gemm_variant *v, uint64_t seed, int number)
{
    char why[160];
    problem p = problem_make(seed, number);
    fill_c(&p, seed, number);
    const char *wrong = run_and_judge(v, &p, why, sizeof why);
    const gemm_call *c = &p.call;
    if (wrong)
        report_fail(v->name, "%s; TA=%d TB=%d M=%d N=%d K=%d lda=%d ldb=%d ldc=%d ALPHA=%g BETA=%g; "
                    "repeat with: test_gemm --seed %llu --row %s --case %d", wrong, c->TA, c->TB, c->M,
                    c->N, c->K, c->lda, c->ldb, c->ldc, (double)c->ALPHA, (double)p.BETA,
                    (unsigned long long)seed, v->name, number);
    problem_free(&p);
    return !wrong;
}

/* The judge itself: its bound is (K + 2) eps times the sum of |C before| and the absolute products,
   no more. */
static void test_oracle(void)
{
    enum { K = 3 };
    float A[K] = {1, -2, 4}, B[K] = {2, 1, 0.5f}, C = 3;
    const gemm_call c = {.M = 1, .N = 1, .K = K, .ALPHA = -1, .A = A, .lda = K, .B = B, .ldb = 1, .C = &C, .ldc = 1};
    const float right = 3 - (2 - 2 + 2), bound = (K + 2) * FLT_EPSILON * (3 + 2 + 2 + 2);
    gemm_oracle oracle;
    if (gemm_oracle_make(&oracle, &c)) exit(2);
    const float off[] = {0, 0.9f, -0.9f, 1.3f, -1.3f, NAN, INFINITY};
    for (size_t i = 0; i < sizeof off / sizeof *off; ++i) {
        C = right + off[i] * bound;
        const bool passes = gemm_oracle_compare(&oracle, &c).ratio <= 1;
        if (passes != (i < 3))
            report_fail("oracle", "%g times the bound off: %s", (double)off[i], passes ? "passes" : "fails");
        else report_pass("oracle");
    }
    gemm_oracle_free(&oracle);
}

/* BETA is settled before any row: C becomes BETA * C, and 0 overwrites even NaN. */
static void test_beta(uint64_t seed)
{
    static const float betas[] = {1, 0, 0.5f, -1};
    for (int b = 0; b < 4; ++b) {
        char name[32];
        snprintf(name, sizeof name, "beta-%g", (double)betas[b]);
        rng r = rng_make(seed, (uint64_t)b), again = r;
        const gemm_call c = {.M = 5, .N = 7, .K = 1, .ldc = 10};
        guarded C = guarded_make(c.M, c.N, c.ldc, AT_END, 0);
        gemm_call call = c;
        call.C = C.data;
        guarded_fill(&C, &r);
        if (betas[b] == 0) C.data[c.ldc + 1] = NAN;
        gemm_beta(&call, betas[b]);
        bool right = guarded_padding_intact(&C);
        for (int i = 0; i < c.M; ++i)
            for (int j = 0; j < c.N; ++j)
                if (!(C.data[i * c.ldc + j] == betas[b] * rng_float(&again))) right = false;
        if (right) report_pass(name);
        else report_fail(name, "C is not BETA * C, or its padding changed");
        guarded_free(&C);
    }
}

/* A row that declines must leave C as it was, to the bit. */
static bool test_declines_untouched(const gemm_variant *v, uint64_t seed)
{
    for (int transposes = 0; transposes < 4; ++transposes) {
        const int number = 4 * 4096 + transposes;
        problem p = problem_make(seed, number);
        gemm_call *c = &p.call;
        guarded_fill_nan(&p.C);
        guarded before = guarded_make(c->M, c->N, c->ldc, AT_END, 0);
        guarded_fill_nan(&before);
        const size_t bytes = c->M && c->N ? ((size_t)(c->M - 1) * (size_t)c->ldc + (size_t)c->N) * sizeof(float) : 0;
        const bool empty = !c->M || !c->N || !c->K;
        gemm_note note;
        const gemm_context context = gemm_make_context(&note);
        const bool touched = !empty && v->run(c, &context, v->params) == GEMM_DECLINED &&
                             memcmp(before.data, c->C, bytes);
        guarded_free(&before);
        problem_free(&p);
        if (touched) {
            report_fail(v->name, "it declined TA=%d TB=%d and changed C", transposes & 1, transposes >> 1);
            return false;
        }
    }
    return true;
}

/* The real shapes, on tight matrices; the reference of each is computed once for all rows. */
static void test_large(const options *o)
{
    for (size_t s = 0; s < sizeof YOLOV3_TINY / sizeof *YOLOV3_TINY; ++s) {
        rng r = rng_make(o->seed, 1000000 + s);
        problem p = {.call = {.M = YOLOV3_TINY[s][0], .N = YOLOV3_TINY[s][1], .K = YOLOV3_TINY[s][2],
                              .ALPHA = 1}, .BETA = 0};
        problem_allocate(&p, &r);
        gemm_beta(&p.call, 0);
        gemm_oracle oracle;
        if (gemm_oracle_make(&oracle, &p.call)) exit(2);
        char name[64];
        snprintf(name, sizeof name, "%dx%dx%d", p.call.M, p.call.N, p.call.K);
        int wrong = 0;
        for (size_t i = 0; i < gemm_variant_count; ++i) {
            const gemm_variant *v = &gemm_variants[i];
            if ((o->row && strcmp(o->row, v->name)) || gemm_unusable(v)) continue;
            gemm_beta(&p.call, 0);
            gemm_run(v, &p.call, NULL);
            const gemm_error worst = gemm_oracle_compare(&oracle, &p.call);
            if (worst.ratio <= 1) continue;
            ++wrong;
            report_fail(name, "%s: C[%d][%d] is off by %g, %.3g times the bound; repeat with: "
                        "test_gemm --large --cases 0 --seed %llu --row %s", v->name, worst.row,
                        worst.column, worst.difference, worst.ratio, (unsigned long long)o->seed, v->name);
        }
        if (!wrong) report_pass(name);
        gemm_oracle_free(&oracle);
        problem_free(&p);
    }
}

static void test_row(const gemm_variant *v, const options *o)
{
    const char *reason = gemm_unusable(v);
    if (reason) {
        report_skip(v->name, "%s", reason);
        return;
    }
    if (o->only_case >= 0) {
        if (test_case(v, o->seed, o->only_case)) report_pass(v->name);
        return;
    }
    for (int i = 0; i < o->cases; ++i)
        if (!test_case(v, o->seed, i)) return;
    if (test_declines_untouched(v, o->seed)) report_pass(v->name);
}

static options parse(int argc, char **argv)
{
    options o = {.seed = (uint64_t)time(NULL), .cases = 1200, .only_case = -1};
    for (int i = 1; i < argc; ++i) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--large")) { o.large = true; continue; }
        else if (!strcmp(argv[i], "--seed")) o.seed = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i], "--cases")) o.cases = atoi(value);
        else if (!strcmp(argv[i], "--case")) o.only_case = atoi(value);
        else if (!strcmp(argv[i], "--row")) o.row = value;
        else {
            fprintf(stderr, "test_gemm: unknown option %s\n", argv[i]);
            exit(2);
        }
        ++i;
    }
    if (o.row && !gemm_find(o.row)) {
        fprintf(stderr, "test_gemm: no row %s\n", o.row);
        exit(2);
    }
    return o;
}

int main(int argc, char **argv)
{
    const options o = parse(argc, argv);
    printf("seed %llu\n", (unsigned long long)o.seed);
    for (size_t i = 0; i < gemm_variant_count; ++i)
        if (!o.row || !strcmp(o.row, gemm_variants[i].name)) test_row(&gemm_variants[i], &o);
    if (!o.row) test_beta(o.seed);
    if (!o.row) test_oracle();
    if (o.large) test_large(&o);
    return report_status();
}
