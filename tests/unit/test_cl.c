/* SPDX-License-Identifier: MIT */
/*
 * Multiplies and convolutions of the OpenCL rows, and of every kernel that `cl` may choose, against
 * the double reference on the device at hand.
 *
 *   test_cl [--seed S] [--cases N] [--small] [--row NAME]
 *       all rows, kernels and splits of K, both memory policies, memory of malloc (behind guard
 *       pages) and of gemm_host_alloc, all transposes; row hybrid with shares of 0, 1/3 and 1; four
 *       threads. With few cases one row convolves by other geometries than the next one
 *       --small: a few small sizes of each, for slow devices
 *       --row: only the rows whose name contains NAME
 *   test_cl --threads                only the four threads, for ThreadSanitizer and helgrind
 *   test_cl --sum ROW MxNxK u|d      one multiply with that memory policy, for Oclgrind
 *   test_cl --conv ROW CASE u|d      one small convolution, likewise
 */
#include "check/check.h"
#include "driver/driver.h"
#include "support/cl_cases.h"
#include "support/options.h"
#include "support/report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

static const struct named_row {
    const char *name;
    const gemm_cl_row *row;
} rows[] = {
    {"cl_naive", &gemm_cl_naive},         {"cl_block", &gemm_cl_block},
    {"cl_local", &gemm_cl_local},         {"cl_local_v4", &gemm_cl_local_v4},
    {"cl_local_v8", &gemm_cl_local_v8},   {"cl_local_v16", &gemm_cl_local_v16},
    {"cl_local_v4_u8", &gemm_cl_local_v4_u8}, {"cl_image", &gemm_cl_image},
    {"cl_half", &gemm_cl_half},           {"cl_half_fast", &gemm_cl_half_fast},
    {"cl", &gemm_cl_best},                {"cl_direct", &gemm_cl_direct},
    {"cl_winograd", &gemm_cl_direct_winograd},
    {"clblast", &gemm_cl_clblast}};
enum { ROWS = sizeof rows / sizeof rows[0] };

static struct {
    int cases;
    bool small, threads;
    const char *row;            /* of --row, or NULL */
    char **one;                 /* --sum or --conv, and its three arguments */
} options = {.cases = 60};

static bool ran_one;            /* a name contains that of --row */

static bool is_wanted(const char *name)
{
    const bool wanted = !options.row || strstr(name, options.row);
    ran_one = ran_one || wanted;
    return wanted;
}

/* ---- cases of a row ---- */

/* Nothing of a block is copied where the device shares it. Weights of a plan are, and scale and
   shift of a convolution. */
static const char *judge_copies(const cl_case *p, const cl_how *how)
{
    const gemm_note *n = &cl_note;
    if (how->policy != 'u' || !p->shared || how->hybrid) return NULL;
    if (!p->convolves) return n->copied_a || n->copied_c ? "it copied A or C" : NULL;
    const size_t weights = cl_needs_plan(how->row) ? (size_t)(p->c.n * gemm_conv_taps(&p->c)) : 0;
    if (n->copied_a == weights * sizeof(float) && !n->copied_c &&
        n->copied_b == 2 * (size_t)p->c.n * sizeof(float))
        return NULL;
    return "it copied weights twice or without a plan, output, or more than scale and shift";
}

static void describe(const cl_case *p, char *text, size_t bytes)
{
    const gemm_call *g = &p->g;
    const conv_call *c = &p->c;
    if (!p->convolves)
        snprintf(text, bytes, "TA=%d TB=%d M=%d N=%d K=%d ldc=%d", g->TA, g->TB, g->M, g->N, g->K,
                 g->ldc);
    else
        snprintf(text, bytes, "%d filters %dx%d/%d pad %d groups %d over %d of %dx%dx%d "
                 "activation %d%s", c->n, c->size, c->size, c->stride, c->pad, c->groups, c->batch,
                 c->w, c->h, c->c, (int)c->activation, c->pool ? " pool" : "");
}

/* One case, all decided by its number. False: it failed, and that is reported. */
static bool run_case(const char *name, const cl_how *asked, bool convolves, int number)
{
    char text[160];
    cl_how how = *asked;
    rng r = cl_rng(number + (convolves ? 5000 : 0));
    cl_case p = convolves ? cl_draw_convolution(&r, &how, number, options.small)
                          : cl_draw_multiply(&r, &how, number, options.small);
    const char *why = cl_judge(&p, &how);
    if (!why) why = judge_copies(&p, &how);
    if (why == cl_spills) {
        printf("# %s: case %d does not run here: %s\n", name, number, why);
        why = NULL;
    }
    describe(&p, text, sizeof text);
    if (why)
        report_fail(name, "%s; %s parts=%d %s memory, policy %c; repeat with --seed %d, case %d",
                    why, text, how.parts, p.shared ? "shared" : "malloc'd", how.policy,
                    cl_seed, number);
    cl_case_free(&p);
    return !why;
}

/* Cases of a row, or of hybrid, from `first` on, under both memory policies. */
static void test_row(const char *title, const cl_how *asked, bool convolves, int first, int cases)
{
    const bool chooses = convolves && gemm_cl_chooses(asked->row);
    if (!is_wanted(title)) return;
    const char *reason = chooses ? NULL : gemm_cl_unusable(asked->row);
    for (const char *policy = "ud"; *policy; ++policy) {
        char name[96];
        bool right = true;
        cl_how how = *asked;
        how.policy = *policy;
        snprintf(name, sizeof name, "cl-%s-%s-%s", convolves ? "conv" : "sums", title,
                 cl_policy_name(*policy));
        for (int i = first; !reason && i < first + cases && right; ++i)
            right = run_case(name, &how, convolves, i);
        if (reason) report_unusable(name, reason);
        else if (right) report_pass(name);
    }
}

static void test_sums(int cases)
{
    const gemm_cl_row ahead = cl_ahead_row();
    for (int i = 0; i < ROWS; ++i)
        if (!options.small || rows[i].row->family->kind != GEMM_CL_CLBLAST)
            test_row(rows[i].name, &(cl_how){.row = rows[i].row}, false, 0, cases);
    test_row("cl_image-ahead", &(cl_how){.row = &ahead}, false, 0, cases);
    for (int i = 0; i < GEMM_CL_MULTIPLIES; ++i) {
        const gemm_cl_row *r = &gemm_cl_choices[i];
        char title[64];
        snprintf(title, sizeof title, "%s-%dx%d-%dx%d%s%.0d%s", r->family->kernel, r->rows, r->cols,
                 r->wx, r->wy, r->depth ? "-k" : "", r->depth, r->defines);
        test_row(title, &(cl_how){.row = r}, false, 0, cases);
    }
}

static void test_convolutions(int cases)
{
    enum { KINDS = 10 };        /* each geometry, pooled and not */
    char title[64];
    const gemm_cl_row *row;
    for (size_t n = 0; (row = cl_conv_row(n, title, sizeof title)); ++n) {
        /* each case may compile a kernel: those that differ from another in a number get a few */
        const bool main_one = !strcmp(title, "cl-0x0-0x0") || strstr(title, "-DVECTOR=16");
        const bool other_tile = row->slices || strstr(title, "cl_tile-8");
        const int few = main_one ? cases : other_tile ? 5 : 10;
        const int first = main_one || cases >= few ? 0 : (int)n * cases;
        const int most = cases < few ? cases : few;
        test_row(title, &(cl_how){.row = row}, true, first,
                 main_one && cases < KINDS ? KINDS : most);
    }
}

/* ---- row hybrid ---- */

/* NULL, or what the note of a call with this share should not say. */
static const char *judge_ran(double share)
{
    static char why[128];
    const char *ran = cl_note.ran;
    const bool cpu = strstr(ran, "packed"), device = strstr(ran, share < 1 ? " 0." : " 1.00");
    const bool right = share == 0 ? !strcmp(ran, "packed") : device && cpu == (share < 1);
    snprintf(why, sizeof why, "the share is %g, and the note says '%s'", share, ran);
    return right && (share == 0) == (cl_note.kernel_ms < 0) ? NULL : why;
}

/* What ran, of a multiply that is large enough for any share. */
static void test_hybrid_note(const cl_how *how)
{
    rng r = cl_rng(31);
    char name[64];
    cl_case p = cl_multiply(&r, 0, 0, 40, 70, 30, 0, true);
    const char *why = cl_judge(&p, how);
    if (!why) why = judge_ran(how->share);
    cl_case_free(&p);
    snprintf(name, sizeof name, "hybrid-note-%.2f", how->share);
    report_judged(name, why);
}

/* All operands in one block of gemm_host_alloc, which the CPU uses while the device works. */
static void test_hybrid_block(char policy)
{
    enum { M = 40, N = 70, K = 30, ALL = M * K + K * N + M * N };
    const cl_how how = {&gemm_cl_best, .policy = policy, .hybrid = true, .share = 1.0 / 3};
    rng r = cl_rng(32);
    float *all = gemm_host_alloc(ALL, sizeof *all);
    if (!all) abort();
    for (int i = 0; i < ALL; ++i) all[i] = rng_float(&r);
    const cl_case p = {.shared = true,
                       .g = {.M = M, .N = N, .K = K, .ALPHA = 1, .A = all, .lda = K,
                             .B = all + M * K, .ldb = N, .C = all + M * K + K * N, .ldc = N}};
    report_judged(policy == 'u' ? "hybrid-one-block-unified" : "hybrid-one-block-discrete",
                  cl_judge(&p, &how));
    gemm_host_free(all);
}

/* Shares of 0, 1/3 and 1, whatever the speeds are. */
static void test_hybrid(int cases)
{
    static const double shares[] = {0, 1.0 / 3, 1};
    for (int i = 0; i < 3; ++i) {
        const cl_how how = {&gemm_cl_best, .hybrid = true, .share = shares[i]};
        char title[32];
        snprintf(title, sizeof title, "hybrid-%.2f", how.share);
        if (!is_wanted(title)) continue;
        test_row(title, &how, false, 0, 2 * cases);
        test_hybrid_note(&how);
    }
    test_hybrid_block('u');
    test_hybrid_block('d');
}

/* ---- threads ---- */

/* Each row in turn. */
static bool run_any(rng *r, int i, int mine)
{
    const struct named_row *row = &rows[(i + mine) % (ROWS - 1)];
    const int M = 1 + rng_below(r, 40), N = 1 + rng_below(r, 60), K = 1 + rng_below(r, 50);
    cl_case p = cl_multiply(r, i & 1, i >> 1 & 1, M, N, K, 0, i & 4);
    const bool right = gemm_cl_unusable(row->row) || !cl_judge(&p, &(cl_how){.row = row->row});
    cl_case_free(&p);
    return right;
}

/* Hybrid through the driver, with the share that the model finds: of 4e6 multiplications. */
static bool run_hybrid(rng *r, int i, int mine)
{
    const gemm_variant *hybrid = gemm_find("hybrid");
    cl_case p = cl_multiply(r, i & 1, i >> 1 & 1, 100 + mine % 2, 210, 200, 0, i & 4);
    gemm_oracle oracle;
    if (gemm_oracle_make(&oracle, &p.g)) abort();
    const bool ran = gemm_run(hybrid, &p.g, NULL) == hybrid;
    const bool right = gemm_oracle_compare(&oracle, &p.g).ratio <= 1;
    gemm_oracle_free(&oracle);
    cl_case_free(&p);
    return ran && right;
}

typedef struct work {
    bool (*run)(rng *, int i, int mine);
    int first, calls;           /* a number for the first thread's rng */
    atomic_int turn, failures;
} work;

static void *work_of(void *data)
{
    work *w = data;
    const int mine = w->turn++;
    rng r = cl_rng(w->first + mine);
    for (int i = 0; i < w->calls; ++i)
        if (!w->run(&r, i, mine)) ++w->failures;
    return NULL;
}

static void test_threads(const char *name, work w)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i)
        if (pthread_create(&threads[i], NULL, work_of, &w)) abort();
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    report_right(name, !w.failures, "%d calls wrong", (int)w.failures);
}

/* ---- one call ---- */

/* A multiply, M x N x K; NULL, or what is wrong. */
static const char *run_one_sum(const char *name, const char *shape, char policy)
{
    int M, N, K, used = 0;
    if (sscanf(shape, "%dx%dx%d%n", &M, &N, &K, &used) != 3 || shape[used] || M < 1 || N < 1 ||
        K < 1)
        return "no such shape";
    for (int i = 0; i < ROWS; ++i) {
        if (strcmp(rows[i].name, name)) continue;
        rng r = cl_rng(78);
        const cl_case p = cl_multiply(&r, 0, 0, M, N, K, 0, policy == 'u');
        return cl_judge(&p, &(cl_how){.row = rows[i].row, .policy = policy});
    }
    return "no such row";
}

/* A small case of the first row with such a name. */
static const char *run_one_convolution(const char *title, const char *text, char policy)
{
    char found[64];
    cl_how how = {.policy = policy};
    size_t n = 0;
    int number;
    if (!gemm_parse_int(text, 0, INT_MAX, &number)) return "no such case";
    while ((how.row = cl_conv_row(n, found, sizeof found)) && !strstr(found, title)) ++n;
    if (!how.row) return "no such row";
    rng r = cl_rng(5000 + number);
    const conv_call c = cl_draw_geometry(&r, how.row, number, true);
    const cl_case p = cl_convolution(&r, &c, policy == 'u');
    how.parts = gemm_cl_splits(how.row) ? number % 3 : 0;
    return cl_judge(&p, &how);
}

/* Ends the program and releases nothing, because Oclgrind's race detector may abort then. */
static _Noreturn void run_one(char **argv)
{
    const char *why = (!strcmp(argv[0], "--sum") ? run_one_sum : run_one_convolution)(
        argv[1], argv[2], argv[3][0]);
    report_right(argv[1], !why, "%s %s: %s", argv[0], argv[2], why);
    _exit(report_status());
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        const char *a = argv[i];
        if (!strcmp(a, "--small")) options.small = true;
        else if (!strcmp(a, "--threads")) options.threads = true;
        else if (!strcmp(a, "--seed")) cl_seed = option_int(a, argv[++i], 0);
        else if (!strcmp(a, "--cases")) options.cases = option_int(a, argv[++i], 1);
        else if (!strcmp(a, "--row") && i + 1 < argc) options.row = argv[++i];
        else if (i + 3 < argc && (!strcmp(a, "--sum") || !strcmp(a, "--conv"))) {
            options.one = argv + i;
            i += 3;
        } else {
            fprintf(stderr, "test_cl: %s: no such option, or too few arguments; see "
                            "tests/unit/test_cl.c\n", a);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    printf("# seed %d\n", cl_seed);
    gemm_set_variant(gemm_find("cl"));      /* so that gemm_host_alloc asks the driver */
    const char *why = gemm_cl_unusable(&gemm_cl_best);
    if (why) {
        report_skip("cl", "%s", why);
        return report_status();
    }
    if (options.one) run_one(options.one);
    const int cases = options.cases;
    if (!options.threads) {
        test_sums(options.small && cases > 8 ? 8 : cases);
        test_convolutions(options.small && cases > 20 ? 10 : cases / 2);
        if (!options.small) test_hybrid(cases);
        if (!ran_one) report_fail("rows", "the name of no row contains %s", options.row);
    }
    if (!options.small && !options.row) {
        test_threads("cl-threads", (work){.run = run_any, .first = 1000, .calls = 12});
        test_threads("hybrid-threads", (work){.run = run_hybrid, .first = 2000, .calls = 6});
    }
    return report_status();
}
