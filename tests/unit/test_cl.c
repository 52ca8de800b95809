/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL rows and every kernel that `cl` may choose, on the device at hand.
 *
 *   test_cl [--seed S] [--cases N] [--small]
 *       sums against the double reference: all rows, kernels and splits of K, both memory policies,
 *       memory of malloc (behind guard pages) and of gemm_host_alloc, all transposes; panels wider
 *       than an image; bytes copied; weights that change; NaN and infinity; four threads; row
 *       hybrid with shares of 0, 1/3 and 1
 *       --small: a few small sizes of each, for slow devices
 *       With few cases one row convolves by other geometries than the next one
 *   test_cl --row NAME       only sums and convolutions of the rows whose name contains NAME; with
 *                            --faults only the cases whose name does
 *   test_cl --checks         all but sums, convolutions and hybrid of each row
 *   test_cl --threads        only the four threads, for ThreadSanitizer and helgrind
 *   test_cl --faults [--every N]     one OpenCL call after another fails, or each N-th one from one
 *                            that the seed draws; needs the layer of tests/support/layer_fail.c
 *   test_cl --sum ROW MxNxK u|d      one multiply with that memory policy, for Oclgrind
 *   test_cl --conv ROW CASE u|d      one small convolution, likewise
 *   test_cl --tile           what `cl` runs for a large multiply, as the name of the test; and the
 *                            choice of a tile, and 16 bits
 *   test_cl --start          whether rows open the device, build and launch, on an OpenCL that
 *                            executes nothing
 *   test_cl --groups         what `cl` runs where built kernels have groups of at most STRICT_GROUP
 *                            items; needs the layer of tests/support/layer_strict.c
 *   test_cl --waits          a convolution's waits and launches, which the same layer counts
 */
#include "check/check.h"
#include "check/conv_check.h"
#include "cl/choice.h"
#include "cl/device/device.h"
#include "cl/device/loader.h"
#include "cl/device/program.h"
#include "cl/device/scratch.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "hybrid/hybrid.h"
#include "support/conv_shape.h"
#include "support/operands.h"
#include "support/options.h"
#include "support/report.h"
#include "util/cores.h"
#include "util/number.h"
#include "util/text.h"

#include <dlfcn.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the last call of this thread noted. */
static _Thread_local gemm_note last_note;

/* The device's share of a call of hybrid; below 0: the OpenCL rows are tested. */
static double share_tested = -1;

/* Row hybrid with that share. What it declines, the driver would give to stock. */
static gemm_status run_hybrid(const gemm_call *c)
{
    gemm_context context = gemm_make_context(&last_note);
    context.timed = true;       /* judge_ran looks at the times of the kernels */
    gemm_hybrid_sides sides = *(const gemm_hybrid_sides *)gemm_find("hybrid")->params;
    sides.forced = share_tested;
    const gemm_status status = gemm_hybrid(c, &context, &sides);
    if (status != GEMM_DECLINED) return status;
    gemm_stock_loops(c);
    return GEMM_DONE;
}

static gemm_status convolve_hybrid(const conv_call *c)
{
    gemm_context context = gemm_make_context(&last_note);
    context.timed = true;       /* judge_ran looks at the times of the kernels */
    gemm_hybrid_sides sides = *(const gemm_hybrid_sides *)gemm_find("hybrid")->params;
    sides.forced = share_tested;
    return gemm_hybrid_conv(c, &context, &sides);
}

/* parts: of K; 0: the row's own choice. */
static gemm_status run_parts(const gemm_call *c, const gemm_cl_row *row, int parts)
{
    const gemm_context context = gemm_make_context(&last_note);
    gemm_cl_row cut = *row;
    cut.parts = parts;
    if (share_tested >= 0) return run_hybrid(c);
    return gemm_cl_run(c, &context, &cut);
}

static gemm_status run_row(const gemm_call *c, const gemm_cl_row *row)
{
    return run_parts(c, row, 0);
}

/* Of the convolution that is tested, or NULL. */
static gemm_kept *kept_tested;

static gemm_status convolve_parts(const conv_call *c, const gemm_cl_row *row, int parts)
{
    gemm_context context = gemm_make_context(&last_note);
    gemm_kept own = {.room = SIZE_MAX};
    context.kept = row->direct && !kept_tested ? &own : kept_tested;
    gemm_cl_row cut = *row;
    cut.parts = parts;
    if (share_tested >= 0) return convolve_hybrid(c);
    const gemm_status status = gemm_cl_conv(c, &context, &cut);
    if (own.data) {
        gemm_host_read(c->output, conv_outputs(c) * sizeof(float));
        own.free(own.data);
    }
    return status;
}

typedef struct named_row {
    const char *name;
    const gemm_cl_row *row;
} named_row;

static const named_row rows[] = {
    {"cl_naive", &gemm_cl_naive},         {"cl_block", &gemm_cl_block},
    {"cl_local", &gemm_cl_local},         {"cl_local_v4", &gemm_cl_local_v4},
    {"cl_local_v8", &gemm_cl_local_v8},   {"cl_local_v16", &gemm_cl_local_v16},
    {"cl_local_v4_u8", &gemm_cl_local_v4_u8}, {"cl_image", &gemm_cl_image},
    {"cl_half", &gemm_cl_half},           {"cl_half_fast", &gemm_cl_half_fast},
    {"cl", &gemm_cl_best},                {"cl_direct", &gemm_cl_direct},
    {"cl_winograd", &gemm_cl_direct_winograd},
    {"clblast", &gemm_cl_clblast}};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* How the row of the table rounds that has this row's data, or NULL. Copies of rows have the same
   use of 16 bits. */
static const gemm_rounding *rounding_of(const gemm_cl_row *row)
{
    for (size_t i = 0; row->half && i < gemm_variant_count; ++i) {
        const gemm_cl_row *other = gemm_variants[i].params;
        if (gemm_variants[i].on_device && gemm_variants[i].rounding && other->half == row->half)
            return gemm_variants[i].rounding;
    }
    return NULL;
}

static uint64_t seed = 1;
static const char *only;        /* test only rows whose name contains this; NULL: all */
static bool ran_one;            /* a name contains it */

static bool is_wanted(const char *name)
{
    const bool wanted = !only || strstr(name, only);
    if (wanted) ran_one = true;
    return wanted;
}

static const char *policy_name(char policy)
{
    return policy == 'u' ? "unified" : "discrete";
}

/* cl_image as on a discrete GPU. */
static gemm_cl_row ahead_row(void)
{
    gemm_cl_row row = gemm_cl_choices[GEMM_CL_IMAGE_8x4];
    row.defines = row.discrete;
    row.discrete = NULL;
    return row;
}

/* A multiply whose matrices lie in memory of one kind. */
typedef struct problem {
    gemm_call call;
    guarded A, B, C;
    bool shared;
} problem;

/* Copies a guarded matrix into memory of gemm_host_alloc. */
static float *share(const guarded *m)
{
    const size_t count = (size_t)(m->rows - 1) * (size_t)m->ld + (size_t)m->columns;
    float *p = gemm_host_alloc(count, sizeof *p);
    if (!p) abort();
    memcpy(p, m->data, count * sizeof *p);
    return p;
}

static problem make_problem(rng *r, int TA, int TB, int M, int N, int K, int pad, bool shared)
{
    problem p = {.shared = shared};
    p.A = guarded_make(TA ? K : M, TA ? M : K, (TA ? M : K) + pad, AT_END, 0);
    p.B = guarded_make(TB ? N : K, TB ? K : N, (TB ? K : N) + pad, AT_END, 0);
    p.C = guarded_make(M, N, N + pad, AT_END, 0);
    guarded_fill(&p.A, r);
    guarded_fill(&p.B, r);
    guarded_fill(&p.C, r);
    p.call = (gemm_call){TA, TB, M, N, K, rng_below(r, 2) ? 1.0f : -0.5f,
                         shared ? share(&p.A) : p.A.data, p.A.ld,
                         shared ? share(&p.B) : p.B.data, p.B.ld,
                         shared ? share(&p.C) : p.C.data, p.C.ld};
    return p;
}

static void free_problem(problem *p)
{
    if (p->shared) {
        gemm_host_free((float *)p->call.A);
        gemm_host_free((float *)p->call.B);
        gemm_host_free(p->call.C);
    }
    guarded_free(&p->A);
    guarded_free(&p->B);
    guarded_free(&p->C);
}

/* NULL, or what is wrong about the row's run. */
static const char *judge(problem *p, const gemm_cl_row *row, int parts)
{
    static _Thread_local char why[128];
    gemm_oracle oracle;
    if (gemm_oracle_make(&oracle, &p->call)) return "no memory for the reference";
    const gemm_status status = run_parts(&p->call, row, parts);
    const gemm_error worst = gemm_oracle_compare_rounded(&oracle, &p->call, rounding_of(row));
    gemm_oracle_free(&oracle);
    if (status == GEMM_FAILED) return "it failed";
    if (status == GEMM_DECLINED) return "it declined";
    if (!(worst.ratio <= 1)) {
        snprintf(why, sizeof why, "C[%d][%d] is off by %g, %.3g times the bound", worst.row,
                 worst.column, worst.difference, worst.ratio);
        return why;
    }
    return !p->shared && !guarded_padding_intact(&p->C) ? "it wrote between the rows of C" : NULL;
}

/* ---- sums ---- */

/* One case, all decided by its number; reports a failure with all that it was. */
static bool run_case(const char *name, const gemm_cl_row *row, char policy, int number, bool small)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 27, 31, 32, 33, 63, 65, 100, 129,
                                169, 257};
    static const int pads[] = {0, 0, 1, 4, 13};
    rng r = rng_make(seed, (uint64_t)number);
    const int most = small ? 11 : (int)(sizeof sizes / sizeof sizes[0]);
    const int M = sizes[rng_below(&r, most)], N = sizes[rng_below(&r, most)];
    const int K = sizes[rng_below(&r, most)], pad = pads[rng_below(&r, 5)];
    const bool shared = rng_below(&r, 2);
    const int parts = row->splits ? rng_below(&r, 5) : 0;
    problem p = make_problem(&r, number & 1, number >> 1 & 1, M, N, K, pad, shared);
    gemm_cl_force_memory(policy);
    const char *why = judge(&p, row, parts);
    const gemm_note *note = &last_note;
    if (!why && policy == 'u' && shared && share_tested < 0 &&
        (note->copied_a || note->copied_c))
        why = "it copied A or C";
    gemm_cl_force_memory(0);
    free_problem(&p);
    if (why)
        report_fail(name, "%s; TA=%d TB=%d M=%d N=%d K=%d pad=%d parts=%d %s memory, policy %c; "
                    "repeat with --seed %llu, case %d", why, number & 1, number >> 1 & 1, M, N, K,
                    pad, parts, shared ? "shared" : "malloc'd", policy, (unsigned long long)seed,
                    number);
    return !why;
}

/* The number of the first case that is run. */
static int first_case;

typedef bool run_numbered(const char *name, const gemm_cl_row *, char policy, int number,
                          bool small);

/* The cases of a row under both memory policies. `reason`: why the row cannot run, or NULL. */
static void test_policies(const char *kind, const char *title, const gemm_cl_row *row,
                          const char *reason, run_numbered *run, int cases, bool small)
{
    for (const char *policy = "ud"; *policy; ++policy) {
        char name[96];
        bool ok = true;
        snprintf(name, sizeof name, "cl-%s-%s-%s", kind, title, policy_name(*policy));
        if (reason) {
            report_unusable(name, reason);
            continue;
        }
        for (int i = first_case; i < first_case + cases && ok; ++i)
            ok = run(name, row, *policy, i, small);
        if (ok) report_pass(name);
    }
}

static void test_row(const char *title, const gemm_cl_row *row, int cases, bool small)
{
    if (!is_wanted(title)) return;
    test_policies("sums", title, row, gemm_cl_unusable(row), run_case, cases, small);
}

static void test_sums(int cases, bool small)
{
    for (int i = 0; i < ROWS; ++i) {
        if (!small || rows[i].row->way != GEMM_CL_CLBLAST)
            test_row(rows[i].name, rows[i].row, cases, small);
    }
    const gemm_cl_row ahead = ahead_row();
    test_row("cl_image-ahead", &ahead, cases, small);
    for (size_t i = 0; i < gemm_cl_choice_count; ++i) {
        const gemm_cl_row *r = &gemm_cl_choices[i];
        char title[64];
        snprintf(title, sizeof title, "%s-%dx%d-%dx%d%s%.0d%s", r->kernel, r->rows, r->cols, r->wx,
                 r->wy, r->depth ? "-k" : "", r->depth, r->defines);
        test_row(title, r, cases, small);
    }
}

/* One multiply, M x N x K; NULL, or what is wrong. */
static const char *run_one_sum(const char *name, const char *shape, char policy)
{
    int M, N, K, used = 0;
    if (sscanf(shape, "%dx%dx%d%n", &M, &N, &K, &used) != 3 || shape[used] || M < 1 || N < 1 ||
        K < 1)
        return "no such shape";
    for (int i = 0; i < ROWS; ++i) {
        if (strcmp(rows[i].name, name) == 0) {
            rng r = rng_make(seed, 78);
            problem p = make_problem(&r, 0, 0, M, N, K, 0, policy == 'u');
            gemm_cl_force_memory(policy);
            return judge(&p, rows[i].row, 0);
        }
    }
    return "no such row";
}

/* The first layer of yolov3-tiny, wider than an image of PoCL; and a K higher than one. */
static void test_panels(void)
{
    static const int shapes[][3] = {{16, 173056, 27}, {3, 33000, 5}, {9, 6, 40000}};
    for (int s = 0; s < 3; ++s) {
        for (int i = 0; i < 4; ++i) {
            char name[64];
            const int *m = shapes[s];
            rng r = rng_make(seed, 77);
            snprintf(name, sizeof name, "cl-panels-%dx%dx%d-%c-%s", m[0], m[1], m[2],
                     i & 1 ? 'u' : 'd', i & 2 ? "shared" : "malloc");
            if (gemm_cl_unusable(&gemm_cl_image)) {
                report_skip(name, "%s", gemm_cl_unusable(&gemm_cl_image));
                continue;
            }
            problem p = make_problem(&r, 0, 0, m[0], m[1], m[2], 0, i & 2);
            gemm_cl_force_memory(i & 1 ? 'u' : 'd');
            const char *why = judge(&p, &gemm_cl_image, 0);
            if (!why && !(i & 1)) {
                /* the weights are there, another B comes, and its last chunk is waited for */
                ((float *)p.call.B)[(size_t)(m[2] - 1) * (size_t)p.call.ldb] += 1.0f;
                why = judge(&p, &gemm_cl_image, 0);
            }
            gemm_cl_force_memory(0);
            free_problem(&p);
            report_judged(name, why);
        }
    }
}

/* ---- whole convolutions ---- */

/* A convolution whose arrays lie in memory of one kind. */
typedef struct convolution {
    conv_call call;
    guarded input, weights, scale, shift, output;
    bool shared;
} convolution;

static const int conv_sides[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 33, 40};
static const int conv_channels[] = {1, 2, 3, 4, 5, 8, 9, 13, 17, 33, 70};

/* Filters as large as the image, so that the row is a matrix times a vector; K is long enough for
   cl_gemv. */
static conv_call draw_gemv(rng *r)
{
    static const int taps[] = {64, 65, 130, 511, 512, 1023, 1544};
    conv_call c = {.batch = 1 + rng_below(r, 2), .groups = 1 + rng_below(r, 3) / 2, .out_h = 1,
                   .out_w = 1, .stride = 1 + rng_below(r, 2),
                   .size = rng_below(r, 2) ? 1 : 1 + rng_below(r, 4),
                   .activation = (conv_activation)rng_below(r, 4)};
    const int area = c.size * c.size;
    c.h = c.w = c.size;
    c.c = c.groups * ((taps[rng_below(r, 7)] + area - 1) / area);
    c.n = c.groups * (1 + rng_below(r, 40));
    return c;
}

static bool draw_sides(conv_call *c, rng *r, int most)
{
    c->h = conv_sides[rng_below(r, most)];
    c->w = conv_sides[rng_below(r, most)];
    c->out_h = (c->h + 2 * c->pad - c->size) / c->stride + 1;
    c->out_w = (c->w + 2 * c->pad - c->size) / c->stride + 1;
    return c->h + 2 * c->pad >= c->size && c->w + 2 * c->pad >= c->size;
}

/* Whether the row is a kernel that computes only what gemm_cl_can_direct says. */
static bool is_direct(const gemm_cl_row *row)
{
    return row->direct && row->kernel;
}

/* Geometry by number: any, of the same size, depthwise, grouped, 1x1 in place, and
   each sixth one for cl_gemv; each not pooled,
   then pooled where the row can and even sizes are found. */
static conv_call draw_convolution(rng *r, const gemm_cl_row *row, int number, int most)
{
    if (number % 6 == 5 && !row->winograd && !is_direct(row)) return draw_gemv(r);
    conv_call c = {.batch = 1 + rng_below(r, 3), .groups = 1, .size = 1 + rng_below(r, 7),
                   .stride = 1 + rng_below(r, 3), .pad = rng_below(r, 4),
                   .activation = (conv_activation)rng_below(r, 4)};
    c.c = conv_channels[rng_below(r, most)];
    c.n = conv_channels[rng_below(r, most)];
    switch (number % 5) {
    case 1: c.stride = 1; c.size = 1 + 2 * rng_below(r, 4); c.pad = c.size / 2; break;
    case 2: c.groups = c.c; c.n = c.c * (1 + rng_below(r, 2)); c.pad = c.size / 2; break;
    case 3:
        c.groups = 1 + rng_below(r, 4);
        c.c = c.groups * (1 + rng_below(r, 6));
        c.n = c.groups * (1 + rng_below(r, 20));
        break;
    case 4: c.size = c.stride = 1; c.pad = 0; break;
    default: break;
    }
    if (is_direct(row)) {
        static const int sizes[] = {3, 3, 5, 1};
        c.size = row->winograd ? 3 : sizes[number % 4];
        if (c.size == 5 && row->rows > 4) c.size = 3;   /* as gemm_cl_choose_direct says */
        c.stride = c.size == 3 ? 1 + number % 2 : 1;
        c.pad = rng_below(r, c.size / 2 + 1);
    }
    if (row->winograd) {
        c.size = 3, c.stride = c.groups = 1;
        if (c.activation == CONV_LOGISTIC) c.activation = CONV_RELU;
    }
    const bool pools = row->pools && !(is_direct(row) && c.size == 1);
    for (int i = 0; pools && number / 5 % 2 && !c.pool && i < 100; ++i)
        c.pool = draw_sides(&c, r, most) && (!is_direct(row) || gemm_cl_can_direct(&c)) &&
                 c.out_h % 2 == 0 && c.out_w % 2 == 0 &&
                 (row->conv != GEMM_CL_ONLY_CONV || c.c / c.groups * c.size * c.size <= 256);
    while (!c.pool && !(draw_sides(&c, r, most) && (!is_direct(row) || gemm_cl_can_direct(&c)))) {}
    return c;
}

static float *conv_array(guarded *g, int count, rng *r, bool shared)
{
    *g = guarded_make(1, count, count, rng_below(r, 2) ? AT_END : AT_START, 4 * rng_below(r, 5));
    guarded_fill(g, r);
    return shared ? share(g) : g->data;
}

static convolution make_convolution(rng *r, conv_call c, bool shared)
{
    convolution p = {.call = c, .shared = shared};
    const int K = c.c / c.groups * c.size * c.size;
    p.call.input = conv_array(&p.input, c.batch * c.c * c.h * c.w, r, shared);
    p.call.weights = conv_array(&p.weights, c.n * K, r, shared);
    p.call.output = conv_array(&p.output, (int)conv_outputs(&c), r, shared);
    p.call.shift = conv_array(&p.shift, c.n, r, false);
    const float *scale = conv_array(&p.scale, c.n, r, false);
    p.call.scale = rng_below(r, 2) ? scale : NULL;
    for (int i = 0; i < p.output.columns; ++i)
        p.call.output[i] = NAN;
    return p;
}

static void free_convolution(convolution *p)
{
    guarded *all[] = {&p->input, &p->weights, &p->scale, &p->shift, &p->output};
    if (p->shared) {
        gemm_host_free((float *)p->call.input);
        gemm_host_free((float *)p->call.weights);
        gemm_host_free(p->call.output);
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        guarded_free(all[i]);
}

/* A GPU's compiler may spill in one case of a row, and the user is told so. No CPU says it. */
static const char spills[] = "the OpenCL compiler spills the registers of the kernel";

/* NULL, `spills`, or what is wrong about the row's convolution. */
static const char *judge_convolution(const convolution *p, const gemm_cl_row *row, int parts)
{
    static _Thread_local char why[128];
    gemm_error worst;
    if (convolve_parts(&p->call, row, parts))
        return strcmp(last_note.reason, spills) ? "it declined" : spills;
    if (gemm_conv_compare_rounded(&p->call, last_note.transform, rounding_of(row), &worst))
        return "no memory for the reference";
    if (!(worst.ratio <= 1)) {
        snprintf(why, sizeof why, "image %d filter %d at %d is off by %g, %.3g times the bound",
                 worst.image, worst.row, worst.column, worst.difference, worst.ratio);
        return why;
    }
    return NULL;
}

static bool run_conv_case(const char *name, const gemm_cl_row *row, char policy, int number,
                          bool small)
{
    rng r = rng_make(seed, 5000 + (uint64_t)number);
    conv_call c = row->one_column ? draw_gemv(&r)
                                  : draw_convolution(&r, row, number, small ? 6 : 11);
    if (share_tested >= 0) c.pool = c.out_h % 2 == 0 && c.out_w % 2 == 0 && number / 5 % 2;
    const bool shared = rng_below(&r, 2);
    const int parts = row->splits ? rng_below(&r, 5) : 0;
    convolution p = make_convolution(&r, c, shared);
    gemm_cl_force_memory(policy);
    const char *why = judge_convolution(&p, row, parts);
    const gemm_note *note = &last_note;
    const size_t planned = row->direct ? sizeof(float) * (size_t)p.weights.columns : 0;
    if (!why && policy == 'u' && shared && share_tested < 0 &&
        (note->copied_a != planned || note->copied_c ||
         note->copied_b != 2 * sizeof(float) * (size_t)c.n)) {
        why = "it copied weights twice or without a plan, output, or more than scale and shift";
    }
    gemm_cl_force_memory(0);
    free_convolution(&p);
    if (why == spills) {
        printf("# %s: case %d does not run here: %s\n", name, number, why);
        return true;
    }
    if (why) {
        report_fail(name, "%s; %d filters %dx%d/%d pad %d groups %d over %d of %dx%dx%d parts %d "
                    "activation %d%s %s memory, policy %c; repeat with --seed %llu, case %d", why,
                    c.n, c.size, c.size, c.stride, c.pad, c.groups, c.batch, c.w, c.h, c.c, parts,
                    (int)c.activation, c.pool ? " pool" : "", shared ? "shared" : "malloc'd",
                    policy, (unsigned long long)seed, number);
    }
    return !why;
}

static void test_conv_row(const char *title, const gemm_cl_row *row, int cases, bool small)
{
    if (!is_wanted(title)) return;
    const char *reason = row->way == GEMM_CL_CHOOSE ? NULL : gemm_cl_unusable(row);
    test_policies("conv", title, row, reason, run_conv_case, cases, small);
}

/* The n-th of all rows that convolve, or NULL; its name. */
static const gemm_cl_row *conv_row(size_t n, char *title, size_t bytes)
{
    static gemm_cl_row ahead;
    ahead = ahead_row();
    const gemm_cl_row *const named[] = {&gemm_cl_best, &gemm_cl_direct, &ahead, &gemm_cl_half,
                                        &gemm_cl_half_fast, &gemm_cl_direct_winograd};
    enum { NAMED = sizeof named / sizeof *named };
    const gemm_cl_row *r = n < NAMED ? named[n] : NULL;
    size_t left = n - NAMED;
    for (size_t i = 0; n >= NAMED && !r && i < gemm_cl_choice_count; ++i)
        if (gemm_cl_choices[i].conv && left-- == 0) r = &gemm_cl_choices[i];
    enum { CPU_ROWS = GEMM_CL_CONV_VECTORS * GEMM_CL_CONV_TILES };
    if (n >= NAMED && !r && left < CPU_ROWS)
        r = &gemm_cl_conv_choices[left];
    else if (n >= NAMED && !r && left - CPU_ROWS < GEMM_CL_GEMV_COUNT)
        r = &gemm_cl_gemv_choices[left - CPU_ROWS];
    else if (n >= NAMED && !r && left - CPU_ROWS - GEMM_CL_GEMV_COUNT < 2 * GEMM_CL_CONV_VECTORS)
        r = &gemm_cl_winograd_choices[left - CPU_ROWS - GEMM_CL_GEMV_COUNT];
    enum { OTHERS = CPU_ROWS + GEMM_CL_GEMV_COUNT + 2 * GEMM_CL_CONV_VECTORS };
    if (n >= NAMED && !r && left - OTHERS < GEMM_CL_DIRECT_COUNT)
        r = &gemm_cl_direct_choices[left - OTHERS];
    else if (n >= NAMED && !r && left - OTHERS - GEMM_CL_DIRECT_COUNT < GEMM_CL_POINTS_COUNT)
        r = &gemm_cl_points_choices[left - OTHERS - GEMM_CL_DIRECT_COUNT];
    if (r)
        snprintf(title, bytes, "%s%s%.0d-%dx%d-%dx%d%s%.0d%s",
                 r->kernel ? r->kernel : r->direct ? "cl_direct" : "cl", r->half ? "-half" : "",
                 r->winograd, r->rows, r->cols, r->wx, r->wy, r->depth ? "-k" : "", r->depth,
                 r->defines);
    return r;
}

static void test_convolutions(int cases, bool small)
{
    enum { KINDS = 10 };        /* each geometry, pooled and not */
    char title[64];
    const gemm_cl_row *row;
    for (size_t n = 0; (row = conv_row(n, title, sizeof title)); ++n) {
        /* each case may compile a kernel: those that differ from another in a number get a few */
        const bool main_one = !strcmp(title, "cl-0x0-0x0") || strstr(title, "-DVECTOR=16");
        const bool other_tile = row->slices || strstr(title, "cl_tile-8");
        const int few = main_one ? cases : other_tile ? 5 : 10;
        first_case = main_one || cases >= few ? 0 : (int)n * cases;
        const int most = cases < few ? cases : few;
        test_conv_row(title, row, main_one && cases < KINDS ? KINDS : most, small);
    }
    first_case = 0;
}

/* ---- row hybrid ---- */

/* NULL, or what the note of a call with this share should not say. */
static const char *judge_ran(double share)
{
    static char why[128];
    const char *ran = last_note.ran;
    const bool cpu = strstr(ran, "packed"), device = strstr(ran, share < 1 ? " 0." : " 1.00");
    const bool right = share == 0 ? !strcmp(ran, "packed") : device && cpu == (share < 1);
    snprintf(why, sizeof why, "the share is %g, and the note says '%s'", share, ran);
    return right && (share == 0) == (last_note.kernel_ms < 0) ? NULL : why;
}

/* What ran, of a multiply and of a convolution that are large enough for any share. */
static void test_hybrid_note(double share)
{
    static const conv_call shape = {.batch = 1, .groups = 1, .c = 9, .h = 16, .w = 17, .n = 33,
                                    .size = 3, .stride = 1, .pad = 1, .out_h = 16, .out_w = 17};
    rng r = rng_make(seed, 31);
    char name[64];
    problem p = make_problem(&r, 0, 0, 40, 70, 30, 0, true);
    convolution q = make_convolution(&r, shape, true);
    snprintf(name, sizeof name, "hybrid-note-%.2f", share);
    const char *why = judge(&p, &gemm_cl_best, 0);
    if (!why) why = judge_ran(share);
    if (!why) why = judge_convolution(&q, &gemm_cl_best, 0);
    if (!why) why = judge_ran(share);
    free_problem(&p);
    free_convolution(&q);
    report_judged(name, why);
}

/* All operands in one block of gemm_host_alloc, which the CPU uses while the device works. */
static void test_hybrid_block(char policy)
{
    enum { M = 40, N = 70, K = 30, ALL = M * K + K * N + M * N };
    rng r = rng_make(seed, 32);
    gemm_oracle oracle;
    float *all = gemm_host_alloc(ALL, sizeof *all);
    if (!all) abort();
    for (int i = 0; i < ALL; ++i) all[i] = rng_float(&r);
    const gemm_call g = {.M = M, .N = N, .K = K, .ALPHA = 1, .A = all, .lda = K, .B = all + M * K,
                         .ldb = N, .C = all + M * K + K * N, .ldc = N};
    if (gemm_oracle_make(&oracle, &g)) abort();
    gemm_cl_force_memory(policy);
    const gemm_status status = run_hybrid(&g);
    gemm_cl_force_memory(0);
    const double ratio = gemm_oracle_compare(&oracle, &g).ratio;
    gemm_oracle_free(&oracle);
    gemm_host_free(all);
    const char *name = policy == 'u' ? "hybrid-one-block-unified" : "hybrid-one-block-discrete";
    if (status == GEMM_DONE && ratio <= 1)
        report_pass(name);
    else
        report_fail(name, "status %d, %.3g times the bound", (int)status, ratio);
}

/* Shares of 0, 1/3 and 1, whatever the speeds are. */
static void test_hybrid(int cases)
{
    static const double shares[] = {0, 1.0 / 3, 1};
    for (int i = 0; i < 3; ++i) {
        char title[32];
        share_tested = shares[i];
        snprintf(title, sizeof title, "hybrid-%.2f", share_tested);
        if (!is_wanted(title)) continue;
        test_row(title, &gemm_cl_best, 2 * cases, false);
        test_conv_row(title, &gemm_cl_best, 2 * cases, false);
        test_hybrid_note(share_tested);
    }
    share_tested = 1.0 / 3;
    test_hybrid_block('u');
    test_hybrid_block('d');
    share_tested = -1;
}

/* One small case of the first row with such a name; NULL, or what is wrong. */
static const char *run_one_convolution(const char *title, int number, char policy)
{
    char found[64];
    const gemm_cl_row *row;
    size_t n = 0;
    while ((row = conv_row(n, found, sizeof found)) && !strstr(found, title))
        ++n;
    if (!row) return "no such row";
    rng r = rng_make(seed, 5000 + (uint64_t)number);
    const conv_call c = row->one_column ? draw_gemv(&r) : draw_convolution(&r, row, number, 6);
    convolution p = make_convolution(&r, c, policy == 'u');
    gemm_cl_force_memory(policy);
    return judge_convolution(&p, row, row->splits ? number % 3 : 0);
}

/* More places than one row of an image holds, more rows than an image has, and a row that has no
   convolution: the first two are right all the same, the last one declines. */
static void test_conv_limits(void)
{
    static const conv_call wide = {.batch = 1, .groups = 1, .c = 2, .h = 8, .w = 9000, .n = 9,
                                   .size = 3, .stride = 1, .pad = 1, .out_h = 8, .out_w = 9000};
    static const conv_call high = {.batch = 2, .groups = 1, .c = 3000, .h = 2, .w = 2, .n = 8,
                                   .size = 3, .stride = 1, .pad = 1, .out_h = 2, .out_w = 2};
    static const gemm_cl_row *const by_image[] = {&gemm_cl_image, &gemm_cl_half};
    conv_call pooled = wide;
    pooled.pool = true;
    const struct { const char *name; const conv_call *call; bool fits; } cases[] = {
        {"cl-conv-wide", &wide, true}, {"cl-conv-wide-pooled", &pooled, true},
        {"cl-conv-high", &high, false}};
    for (int i = 0; i < 3; ++i) {
        rng r = rng_make(seed, 91);
        convolution p = make_convolution(&r, *cases[i].call, true);
        const char *why = judge_convolution(&p, &gemm_cl_best, 0);
        for (int k = 0; k < 2 && cases[i].fits && !why; ++k)
            if (!gemm_cl_unusable(by_image[k])) why = judge_convolution(&p, by_image[k], 0);
        report_judged(cases[i].name, why);
        const float before = p.call.output[0] = 7.0f;
        if (!cases[i].fits &&
            (!convolve_parts(&p.call, &gemm_cl_naive, 0) || p.call.output[0] != before))
            report_fail("cl-conv-declines", "a row without a convolution took it");
        else if (!cases[i].fits)
            report_pass("cl-conv-declines");
        free_convolution(&p);
    }
}

/* Where e^-x overflows, logistic is 0 all the same, with vectors and on their edge. */
static void test_conv_far(void)
{
    char title[64];
    const gemm_cl_row *row;
    const char *why = NULL;
    for (size_t n = 0; !why && (row = conv_row(n, title, sizeof title)); ++n) {
        const bool one = row->one_column;
        const conv_call c = {.batch = 1, .groups = 1, .c = one ? 64 : 1, .h = one ? 1 : 5,
                             .w = one ? 1 : 7, .n = 3, .size = 1, .stride = 1,
                             .out_h = one ? 1 : 5, .out_w = one ? 1 : 7,
                             .activation = CONV_LOGISTIC};
        rng r = rng_make(seed, 92);
        convolution p = make_convolution(&r, c, false);
        p.shift.data[0] = -89.0f;
        p.shift.data[1] = -1e6f;
        p.shift.data[2] = 1e6f;
        if (!row->winograd && (row->way == GEMM_CL_CHOOSE || !gemm_cl_unusable(row)))
            why = judge_convolution(&p, row, 0);
        free_convolution(&p);
    }
    if (why)
        report_fail("cl-conv-logistic-far", "%s: %s", title, why);
    else
        report_pass("cl-conv-logistic-far");
}

/* ---- Winograd's algorithm ---- */

/* For which devices and layers it is taken. */
static void test_winograd_choice(void)
{
    static const struct {
        const char *name;
        gemm_cl_traits device;
        conv_call call;
        int least, most;        /* of m */
    } cases[] = {
        {"cpu", {.cpu = true, .vector = 8}, {.c = 256, .n = 512, .out_h = 26, .out_w = 26}, 2, 4},
        {"vector-16", {.cpu = true, .vector = 16}, {.c = 256, .n = 512, .out_h = 26, .out_w = 26},
         2, 4},
        {"batch", {.cpu = true, .vector = 8},
         {.batch = 8, .c = 256, .n = 512, .out_h = 26, .out_w = 26}, 2, 4},
        {"gpu", {.vector = 8}, {.c = 256, .n = 512, .out_h = 26, .out_w = 26}, 0, 0},
        {"few-channels", {.cpu = true, .vector = 8}, {.c = 7, .n = 512, .out_h = 26, .out_w = 26},
         0, 0},
        {"few-filters", {.cpu = true, .vector = 8}, {.c = 512, .n = 7, .out_h = 26, .out_w = 26},
         0, 0},
        {"small-map", {.cpu = true, .vector = 8}, {.c = 512, .n = 512, .out_h = 2, .out_w = 2},
         0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char name[64];
        const gemm_cl_row *row = gemm_cl_choose_winograd(&cases[i].device, &cases[i].call);
        const int m = row ? row->winograd : 0;
        snprintf(name, sizeof name, "cl-winograd-choice-%s", cases[i].name);
        if (m < cases[i].least || m > cases[i].most)
            report_fail(name, "m is %d", m);
        else
            report_pass(name);
    }
}

/* ---- cl_direct ---- */

/* For which devices and layers it is taken, and into how many parts it cuts K. */
static void test_direct_choice(void)
{
#define LAYER(channels, filters, size_, stride_, side) \
    {.batch = 1, .groups = 1, .c = channels, .n = filters, .size = size_, .stride = stride_, \
     .pad = size_ / 2, .h = side, .w = side, .out_h = (side - 1) / stride_ + 1, \
     .out_w = (side - 1) / stride_ + 1}
    const gemm_cl_traits shared = {.unified = true, .images = true, .units = 12, .group = 1024};
    const gemm_cl_traits none = {.unified = true, .units = 4, .group = 256};
    const gemm_cl_traits own = {.images = true, .units = 132, .group = 1024};
    const gemm_cl_traits cpu = {.cpu = true, .unified = true, .units = 4, .vector = 8};
    const conv_call few = LAYER(64, 7, 3, 1, 26), small = LAYER(512, 512, 3, 1, 1);
    const conv_call layer = LAYER(64, 128, 3, 1, 52), point = LAYER(256, 128, 1, 1, 13);
    const conv_call large = LAYER(64, 64, 7, 2, 56), deep = LAYER(512, 1024, 3, 1, 13);
    const conv_call narrow = LAYER(1024, 64, 3, 1, 13), half = LAYER(64, 128, 3, 2, 52);
    const conv_call huge = LAYER(1 << 17, 64, 3, 1, 128);
    const conv_call five = LAYER(96, 256, 5, 1, 27), five_half = LAYER(96, 256, 5, 2, 27);
    conv_call wide = layer, pooled = point;
    conv_call depthwise = layer, grouped = layer, logistic = layer;
    const gemm_cl_row *const best = &gemm_cl_best, *const direct = &gemm_cl_direct;
    const gemm_cl_row *const image = &gemm_cl_direct_image, *const half_b = &gemm_cl_half;
    const gemm_cl_row *const winograd = &gemm_cl_direct_winograd;
    wide.pad = 2;
    pooled.pool = true;
    grouped.groups = 2;
    logistic.activation = CONV_LOGISTIC;
    depthwise.groups = depthwise.n = depthwise.c;
    const struct {
        const char *name;
        const gemm_cl_traits *device;
        const conv_call *call;
        const gemm_cl_row *asked;
        int choice, parts;      /* choice -1: another kernel */
    } cases[] = {
        {"3x3", &shared, &layer, best, GEMM_CL_DIRECT_8, 1},
        {"without-images", &none, &layer, best, GEMM_CL_DIRECT_8, 1},
        {"gpu-on-a-bus", &own, &layer, best, -1, 1},
        {"cpu", &cpu, &layer, best, -1, 1},
        {"asked", &cpu, &layer, direct, GEMM_CL_DIRECT_8, 1},
        {"stride-2", &shared, &half, best, GEMM_CL_DIRECT_8, 1},
        {"1x1", &shared, &point, best, GEMM_CL_DIRECT_8, 1},
        {"1x1-pooled", &shared, &pooled, direct, -1, 1},
        {"5x5", &shared, &five, best, GEMM_CL_DIRECT_4, 1},
        {"5x5-stride-2", &shared, &five_half, direct, -1, 1},
        {"7x7", &shared, &large, direct, -1, 1},
        {"wide-pad", &shared, &wide, direct, -1, 1},
        {"small-map", &shared, &small, direct, -1, 1},
        {"elements-past-an-int", &shared, &huge, direct, -1, 1},
        {"few-filters", &shared, &few, best, -1, 1},
        {"few-filters-asked", &shared, &few, direct, GEMM_CL_DIRECT_8, 1},
        {"deep", &shared, &deep, best, GEMM_CL_DIRECT_8, 1},
        {"few-items", &shared, &narrow, best, GEMM_CL_DIRECT_8, 6},
        {"depthwise", &shared, &depthwise, best, GEMM_CL_DIRECT_1, 1},
        {"depthwise-cpu", &cpu, &depthwise, best, -1, 1},
        {"depthwise-16-bits", &shared, &depthwise, half_b, -1, 1},
        {"image", &shared, &layer, image, GEMM_CL_DIRECT_IMAGE, 1},
        {"image-5x5", &cpu, &five, image, GEMM_CL_DIRECT_4, 1},
        {"16-bits", &shared, &half, half_b, GEMM_CL_DIRECT_HALF, 1},
        {"16-bits-5x5", &shared, &five, half_b, -1, 1},
        {"16-bits-1x1", &shared, &point, half_b, -1, 1},
        {"16-bits-cpu", &cpu, &layer, half_b, -1, 1},
        {"winograd", &shared, &layer, winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
        {"winograd-cpu", &cpu, &layer, winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
        {"winograd-on-a-bus", &own, &layer, winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
        {"winograd-groups", &shared, &grouped, winograd, GEMM_CL_DIRECT_WINOGRAD, 1},
        {"winograd-logistic", &shared, &logistic, winograd, GEMM_CL_DIRECT_8, 1},
        {"winograd-stride-2", &shared, &half, winograd, GEMM_CL_DIRECT_8, 1},
        {"winograd-1x1", &own, &point, winograd, -1, 1},
        {"winograd-depthwise", &shared, &depthwise, winograd, GEMM_CL_DIRECT_1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char name[64];
        int parts = 1;
        const gemm_cl_row *row = gemm_cl_choose_direct(cases[i].device, cases[i].call,
                                                       cases[i].asked, &parts);
        const int choice = row ? (int)(row - gemm_cl_direct_choices) : -1;
        snprintf(name, sizeof name, "cl-direct-choice-%s", cases[i].name);
        if (choice != cases[i].choice || parts != cases[i].parts)
            report_fail(name, "choice %d, parts %d", choice, parts);
        else
            report_pass(name);
    }
#undef LAYER
}

/* NULL, or what is wrong about a call of row cl with these settings. */
static const char *judge_algorithm(const convolution *p, bool direct, gemm_kept *kept,
                                   const char *algorithm)
{
    static char why[128];
    gemm_context context = gemm_make_context(&last_note);
    gemm_error worst;
    context.direct = direct;
    context.kept = kept;
    gemm_host_write(p->call.output, (size_t)p->output.columns * sizeof(float));
    for (int i = 0; i < p->output.columns; ++i) p->call.output[i] = NAN;
    if (gemm_cl_conv(&p->call, &context, &gemm_cl_best)) return "it declined";
    gemm_host_read(p->call.output, (size_t)p->output.columns * sizeof(float));
    snprintf(why, sizeof why, "it ran %s instead of %s", last_note.algorithm, algorithm);
    if (strncmp(last_note.algorithm, algorithm, strlen(algorithm))) return why;
    if (gemm_conv_compare(&p->call, last_note.transform, &worst) || !(worst.ratio <= 1))
        return "the output is wrong";
    return !last_note.transform == !strcmp(algorithm, "winograd") ? "the transform is wrong" : NULL;
}

/* A layer that Winograd's algorithm takes, one call after another. GEMM_CONV=direct turns it off,
   and the plan has what the next call needs. Without a plan, and without room in it, it is off. */
static void test_winograd_plan(void)
{
    static const conv_call c = {.batch = 1, .groups = 1, .c = 32, .h = 34, .w = 40, .n = 64,
                                .size = 3, .stride = 1, .pad = 1, .out_h = 34, .out_w = 40,
                                .activation = CONV_LEAKY, .pool = true};
    conv_call whole = c;
    whole.pool = false;
    const size_t weights = 64 * 32 * 9 * sizeof(float), norm = 2 * 64 * sizeof(float);
    gemm_kept kept = {.room = SIZE_MAX}, small = {.room = weights + norm};
    rng r = rng_make(seed, 93);
    convolution p = make_convolution(&r, c, true), q = make_convolution(&r, whole, false);
    const char *why = judge_algorithm(&p, false, &kept, "winograd");
    if (!why && kept.bytes < 16 * weights / 9 + norm) why = "the plan counts too few bytes";
    if (!why) why = judge_algorithm(&p, false, &kept, "winograd");
    if (!why && last_note.copied_a) why = "weights were copied again";
    if (!why) why = judge_algorithm(&q, true, &kept, "direct");
    if (!why && kept.bytes != weights + norm) why = "the plan has more than the weights";
    if (!why) why = judge_algorithm(&q, false, &kept, "winograd");
    if (!why) why = judge_algorithm(&q, false, &small, "direct");
    if (!why) why = judge_algorithm(&q, false, NULL, "direct");
    if (kept.data) kept.free(kept.data);
    if (small.data) small.free(small.data);
    free_convolution(&p);
    free_convolution(&q);
    if (!gemm_cl_opened()->traits.cpu)
        report_skip_machine("cl-winograd-plan", "the OpenCL device is no CPU");
    else report_judged("cl-winograd-plan", why);
}

/* ---- what is copied ---- */

static void expect_bytes(const char *name, size_t a, size_t b, size_t c)
{
    const gemm_note *n = &last_note;
    if (n->copied_a != a || n->copied_b != b || n->copied_c != c)
        report_fail(name, "copied %zu, %zu and %zu bytes instead of %zu, %zu and %zu", n->copied_a,
                    n->copied_b, n->copied_c, a, b, c);
    else
        report_pass(name);
}

static void test_copies(void)
{
    enum { M = 24, N = 256, K = 40 };
    rng r = rng_make(seed, 5);
    problem shared = make_problem(&r, 0, 0, M, N, K, 0, true);
    problem own = make_problem(&r, 0, 0, M, N, K, 0, false);
    const size_t a = sizeof(float) * M * K, b = sizeof(float) * K * N, c = sizeof(float) * M * N;

    gemm_cl_force_memory('u');
    run_row(&shared.call, &gemm_cl_naive);
    expect_bytes("cl-copies-unified-shared", 0, 0, 0);
    run_row(&own.call, &gemm_cl_naive);
    expect_bytes("cl-copies-unified-malloc", a, b, c);
    if (!gemm_cl_unusable(&gemm_cl_image)) {
        /* rows of 256 floats are 64 pixels, and some devices make the image from B's own buffer */
        const cl_uint pitch = gemm_cl_opened()->pitch_alignment;
        run_row(&shared.call, &gemm_cl_image);
        expect_bytes("cl-copies-image-shared", 0, pitch && 64 % pitch == 0 ? 0 : b, 0);
        /* but not where the last row lacks the gap behind it */
        problem cut = make_problem(&r, 0, 0, M, N - 4, K, 4, true);
        report_judged("cl-copies-image-cut-sum", judge(&cut, &gemm_cl_image, 0));
        expect_bytes("cl-copies-image-cut", 0, sizeof(float) * K * (N - 4), 0);
        free_problem(&cut);
        run_row(&own.call, &gemm_cl_image);
        expect_bytes("cl-copies-image-malloc", a, b, c);
    }

    gemm_cl_force_memory('d');
    run_row(&own.call, &gemm_cl_naive);
    expect_bytes("cl-copies-discrete-first", a, b, c);
    run_row(&own.call, &gemm_cl_naive);
    expect_bytes("cl-copies-weights-kept", 0, b, c);
    own.A.data[M * K - 1] += 1.0f;      /* the last weight changes: seen, uploaded, used */
    const char *why = judge(&own, &gemm_cl_naive, 0);
    report_judged("cl-copies-weights-changed-sum", why);
    expect_bytes("cl-copies-weights-changed", a, b, c);
    gemm_cl_force_memory(0);
    free_problem(&shared);
    free_problem(&own);
}

/* Matrices that several threads copy, compare and add up. With `pad` there are gaps between rows. A
   weight of any part may change: it is seen, uploaded and used. */
static void test_large_copies(int pad)
{
    enum { M = 420, N = 500, K = 470 };
    static const int weights[] = {0, M / 2 * K + 3, M * K - 1};
    char name[48];
    rng r = rng_make(seed, 6);
    problem p = make_problem(&r, 0, 0, M, N, K, pad, false);
    snprintf(name, sizeof name, "cl-large-copies-pad-%d", pad);
    gemm_cl_force_memory('d');
    gemm_set_threads(3);
    const char *why = judge(&p, &gemm_cl_best, 0);
    for (int i = 0; i < 3 && !why; ++i) {
        why = judge(&p, &gemm_cl_best, 0);
        if (!why && last_note.copied_a) why = "weights that had not changed were copied";
        p.A.data[weights[i] / K * p.A.ld + weights[i] % K] += 1.0f;
        if (!why) why = judge(&p, &gemm_cl_best, 0);
        if (!why && last_note.copied_a != sizeof(float) * M * K) why = "a change was not seen";
    }
    gemm_set_threads(gemm_allowed_cores());
    gemm_cl_force_memory(0);
    free_problem(&p);
    report_judged(name, why);
}

/* NaN and infinity in B are so in their columns of C, and the other columns stay right. */
static void test_not_finite(void)
{
    rng r = rng_make(seed, 9);
    problem p = make_problem(&r, 0, 0, 8, 12, 16, 0, false);
    float *clean = malloc(8 * 12 * sizeof *clean);
    problem q = p;
    memcpy(clean, p.call.C, 8 * 12 * sizeof *clean);
    run_row(&p.call, &gemm_cl_best);
    float expected[8];
    for (int i = 0; i < 8; ++i)
        expected[i] = p.call.C[i * 12 + 5];
    memcpy(p.call.C, clean, 8 * 12 * sizeof *clean);
    p.B.data[0] = NAN;
    p.B.data[1] = INFINITY;
    run_row(&q.call, &gemm_cl_best);
    bool ok = true;
    for (int i = 0; i < 8; ++i)
        ok = ok && isnan(q.call.C[i * 12]) && isinf(q.call.C[i * 12 + 1]);
    for (int i = 0; i < 8; ++i)
        ok = ok && fabsf(q.call.C[i * 12 + 5] - expected[i]) <= 1e-5f;
    if (ok)
        report_pass("cl-not-finite-stays-in-its-column");
    else
        report_fail("cl-not-finite-stays-in-its-column",
                    "NaN gives %g, infinity %g, or another column changed", (double)q.call.C[0],
                    (double)q.call.C[1]);
    free(clean);
    free_problem(&p);
}

/* No kernel calls what some compilers emulate, compute badly, or crash on. */
static void test_calls(void)
{
    static const char *const bad[] = {"fma(", "native_", "half_exp", "get_global_size("};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; ++b) {
        char name[64];
        const char *where = NULL;
        for (size_t i = 0; i < gemm_cl_source_count; ++i)
            if (strstr(gemm_cl_sources[i].text, bad[b])) where = gemm_cl_sources[i].name;
        snprintf(name, sizeof name, "cl-kernels-without-%.*s", (int)strcspn(bad[b], "("), bad[b]);
        if (where) report_fail(name, "kernels/%s.cl has it", where);
        else report_pass(name);
    }
}

/* Darknet's activations. */
static float activate(float x, conv_activation a)
{
    switch (a) {
    case CONV_LINEAR: return x;
    case CONV_LEAKY: return x > 0 ? x : .1f * x;
    case CONV_RELU: return x * (x > 0);
    case CONV_LOGISTIC: return 1 / (1 + expf(-x));
    }
    return 0;
}

static bool is_same(float a, float b)
{
    return (isnan(a) && isnan(b)) || a == b || fabsf(a - b) <= 1e-6f * fabsf(b) + FLT_MIN;
}

/* NULL, or where the row's activation of such inputs is not Darknet's. */
static const char *judge_activation(const gemm_cl_row *row, conv_activation activation)
{
    enum { PLACES = 24 };       /* vectors and the elements behind them */
    const float largest = row->half == GEMM_CL_HALF_SUMS ? 65504 : FLT_MAX;
    const float ends[] = {INFINITY, -INFINITY, NAN, -0.0f, largest, -largest, 1, -1};
    enum { LONG = 64 };         /* of a row of one column: its weights are the ends, then zeroes */
    static const float zeroes[PLACES], unit[LONG] = {1};
    static char why[128];
    float input[PLACES], output[PLACES], rows[PLACES * LONG] = {0};
    const float weight = 1;
    for (int i = 0; i < PLACES; ++i) rows[i * LONG] = input[i] = ends[i * 5 % 8];
    conv_call c = {.batch = 1, .groups = 1, .c = 1, .h = 1, .w = PLACES, .n = 1, .size = 1,
                   .stride = 1, .out_h = 1, .out_w = PLACES, .input = input, .weights = &weight,
                   .shift = zeroes, .activation = activation, .output = output};
    if (row->one_column) {
        c.c = LONG, c.n = PLACES;
        c.w = c.out_w = 1;
        c.input = unit;
        c.weights = rows;
    }
    if (convolve_parts(&c, row, 0)) return "it declined";
    for (int i = 0; i < PLACES; ++i) {
        const float expected = activate(input[i], activation);
        if (is_same(output[i], expected)) continue;
        snprintf(why, sizeof why, "activation %d of %g is %g instead of %g", (int)activation,
                 (double)input[i], (double)output[i], (double)expected);
        return why;
    }
    return NULL;
}

/* Infinity, NaN and the ends of the range through each activation. */
static void test_activations(void)
{
    char title[64], name[96];
    const gemm_cl_row *row;
    for (size_t n = 0; (row = conv_row(n, title, sizeof title)); ++n) {
        const char *why = NULL;
        if (row->winograd || (row->way != GEMM_CL_CHOOSE && gemm_cl_unusable(row))) continue;
        for (int a = CONV_LINEAR; !why && a <= CONV_LOGISTIC; ++a)
            why = judge_activation(row, (conv_activation)a);
        snprintf(name, sizeof name, "cl-conv-activation-ends-%s", title);
        report_judged(name, why);
    }
}

/* Which tile of cl_image `cl` takes, by model and by shape. */
static void test_image_rules(void)
{
    static const struct {
        const char *name;
        int model, M, N, choice;
    } cases[] = {
        {"A740-large", 740, 128, 4096, GEMM_CL_IMAGE_8x8},
        {"A740-small", 740, 128, 300, GEMM_CL_IMAGE_8x4},
        {"A830-large", 830, 1024, 1024, GEMM_CL_IMAGE_8x8},
        {"A640-large", 640, 128, 4096, GEMM_CL_IMAGE_8x4},
        {"A610-large", 610, 128, 4096, GEMM_CL_IMAGE_4x4},
        {"A618-small", 618, 8, 10, GEMM_CL_IMAGE_4x4},
        {"A530", 530, 128, 4096, GEMM_CL_IMAGE_8x4},
        {"A702", 702, 1024, 4096, GEMM_CL_IMAGE_8x4},
        {"later", 905, 1024, 4096, GEMM_CL_IMAGE_8x4},
        {"no-Adreno", 0, 128, 4096, GEMM_CL_IMAGE_8x4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const gemm_cl_traits d = {.unified = true, .images = true, .units = 2, .group = 256,
                                  .local = 32768, .adreno = cases[i].model};
        const gemm_call g = {.M = cases[i].M, .N = cases[i].N, .K = 64};
        char name[64];
        int parts;
        const gemm_cl_row *row = gemm_cl_choose(&d, &g, &parts);
        snprintf(name, sizeof name, "cl-tile-%s", cases[i].name);
        if (row == &gemm_cl_choices[cases[i].choice])
            report_pass(name);
        else
            report_fail(name, "%s %dx%d", row->kernel, row->rows, row->cols);
    }
}

static const gemm_cl_row *choice_or_null(int choice)
{
    return choice < 0 ? NULL : &gemm_cl_choices[choice];
}

/* Which tile of cl_tile `cl` takes on a desktop GPU: for a 1x1 layer of this M, N and K, and for it
   and the depthwise layer before it (-1: two launches). */
static void test_tile_rules(void)
{
    static const struct {
        int M, N, K, one, chain, parts;
    } cases[] = {
        {8, 25600, 16, GEMM_CL_TILE_16x128, GEMM_CL_TILE_16x128, 1},
        {16, 6400, 64, GEMM_CL_SLICED_16x32, GEMM_CL_SLICED_16x32, 1},
        {32, 1600, 192, GEMM_CL_SLICED_32x16, GEMM_CL_SLICED_32x16, 1},
        {48, 400, 272, GEMM_CL_SLICED_16x16, GEMM_CL_SLICED_64x8, 1},
        {96, 100, 448, GEMM_CL_SLICED_16x16, GEMM_CL_SLICED_64x8, 1},
        {193, 100, 448, GEMM_CL_SLICED_16x16, -1, 1},       /* four tiles high */
        {192, 1600, 32, GEMM_CL_TILE_32x64_DEEP, -1, 1},
        {255, 400, 144, GEMM_CL_SLICED_64x16, -1, 1},
        {64, 10816, 288, GEMM_CL_TILE_64x64, GEMM_CL_TILE_64x64, 1},
        {64, 2704, 2880, GEMM_CL_TILE_64x64, -1, 9},
        {128, 2704, 576, GEMM_CL_TILE_64x64, -1, 4},        /* 86 groups for 132 units */
        {128, 4096, 1152, GEMM_CL_TILE_64x64, -1, 3},       /* 128 groups */
        {128, 4288, 1152, GEMM_CL_TILE_64x64, -1, 1},       /* 134 groups */
        {128, 2704, 300, GEMM_CL_TILE_64x64, -1, 2},
        {512, 169, 2304, GEMM_CL_TILE_64x64, -1, 16}};
    const gemm_cl_traits d = {.units = 132, .group = 1024, .local = 49152};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const gemm_call g = {.M = cases[i].M, .N = cases[i].N, .K = cases[i].K};
        const conv_call pair[] = {
            {1, g.K, g.K, 1, g.N, g.K, 3, 1, 1, 1, g.N, .shift = NULL},
            {1, 1, g.K, 1, g.N, g.M, 1, 1, 0, 1, g.N, .shift = NULL}};
        char name[64];
        int parts;
        const gemm_cl_row *one = gemm_cl_choose_conv(&d, &g, 1, &parts);
        const gemm_cl_row *chain = gemm_cl_choose_chain(&d, &gemm_cl_best, pair, &g);
        snprintf(name, sizeof name, "cl-tile-%dx%dx%d", g.M, g.N, g.K);
        if (one == choice_or_null(cases[i].one) && chain == choice_or_null(cases[i].chain) &&
            parts == cases[i].parts)
            report_pass(name);
        else
            report_fail(name, "choice %td, chain: %td, parts %d", one - gemm_cl_choices,
                        chain ? chain - gemm_cl_choices : -1, parts);
    }
}

/* What `cl` ran for a large multiply: the note's text. For the layer of an Adreno. */
static void show_tile(void)
{
    rng r = rng_make(seed, 11);
    problem p = make_problem(&r, 0, 0, 64, 1024, 32, 0, true);
    const char *why = judge(&p, &gemm_cl_best, 0);
    if (why)
        report_fail("cl-tile", "%s", why);
    else
        report_pass(last_note.ran);
    free_problem(&p);
}

/* The device opens, kernels are built, and launches and copies succeed. What is computed is not
   looked at. */
static void test_start(void)
{
    static const conv_call shape = {.batch = 1, .groups = 1, .c = 9, .h = 16, .w = 17, .n = 33,
                                    .size = 3, .stride = 1, .pad = 1, .out_h = 16, .out_w = 17};
    static const struct { const char *name; const gemm_cl_row *row; } starts[] = {
        {"cl", &gemm_cl_best}, {"cl_image", &gemm_cl_image}, {"cl_half", &gemm_cl_half}};
    for (size_t i = 0; i < 2 * sizeof starts / sizeof *starts; ++i) {
        const char policy = i % 2 ? 'u' : 'd';
        rng r = rng_make(seed, 13);
        char name[64];
        gemm_cl_force_memory(policy);
        problem p = make_problem(&r, 0, 0, 40, 70, 30, 0, false);
        convolution q = make_convolution(&r, shape, false);
        const gemm_cl_row *row = starts[i / 2].row;
        const char *why = gemm_cl_unusable(row);
        if (!why && run_row(&p.call, row) != GEMM_DONE) why = "a multiply did not run";
        if (!why && convolve_parts(&q.call, row, 0) != GEMM_DONE)
            why = "a convolution did not run";
        snprintf(name, sizeof name, "cl-start-%s-%s", starts[i / 2].name, policy_name(policy));
        report_judged(name, why);
        gemm_cl_force_memory(0);
        free_problem(&p);
        free_convolution(&q);
    }
}

/* Where built kernels have small groups, `cl` chooses another kernel or a smaller group, and a row
   of a fixed group says why it cannot run. The layer refuses larger groups. */
static void test_groups(void)
{
    static const int shapes[][3] = {{40, 70, 30}, {3, 300, 200}, {16, 640, 64}, {130, 140, 300}};
    static const conv_call calls[] = {
        {.batch = 1, .groups = 1, .c = 9, .h = 16, .w = 17, .n = 33, .size = 3, .stride = 1,
         .pad = 1, .out_h = 16, .out_w = 17},
        {.batch = 2, .groups = 40, .c = 40, .h = 9, .w = 9, .n = 40, .size = 3, .stride = 1,
         .pad = 1, .out_h = 9, .out_w = 9},
        {.batch = 1, .groups = 1, .c = 130, .h = 2, .w = 2, .n = 11, .size = 2, .stride = 1,
         .out_h = 1, .out_w = 1},
        {.batch = 1, .groups = 1, .c = 70, .h = 4, .w = 4, .n = 9, .size = 1, .stride = 1,
         .out_h = 4, .out_w = 4}};
    const char *items = getenv("STRICT_GROUP");
    const gemm_cl_row *tile = &gemm_cl_choices[GEMM_CL_TILE_64x64];
    int most = 0;
    rng r = rng_make(seed, 12);
    char name[64];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        problem p = make_problem(&r, 0, 0, shapes[i][0], shapes[i][1], shapes[i][2], 0, i & 1);
        snprintf(name, sizeof name, "cl-groups-%dx%dx%d", p.call.M, p.call.N, p.call.K);
        report_judged(name, judge(&p, &gemm_cl_best, 0));
        free_problem(&p);
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        convolution p = make_convolution(&r, calls[i], i & 1);
        snprintf(name, sizeof name, "cl-groups-conv-%zu", i);
        report_judged(name, judge_convolution(&p, &gemm_cl_best, 0));
        free_convolution(&p);
    }
    if (!items || !gemm_parse_int(items, 1, INT_MAX, &most))
        report_fail("cl-groups", "STRICT_GROUP names no number");
    const char *why = gemm_cl_unusable(tile);
    const bool refused = why && strstr(why, "has smaller work-groups");
    if (refused == (most < tile->wx * tile->wy))
        report_pass("cl-groups-fixed");
    else
        report_fail("cl-groups-fixed", "%s", why ? why : "the row is usable");
}

/* cl_half rounds B to the nearest 16-bit number: one product has nearly the error of its bound, and
   never more. What 16 bits cannot hold is infinite. */
static void test_half_rounding(void)
{
    enum { N = 4096 };
    const char *reason = gemm_cl_unusable(&gemm_cl_half);
    static float B[N], C[N];
    const float A = 1;
    const gemm_call g = {.M = 1, .N = N, .K = 1, .ALPHA = 1, .A = &A, .lda = 1, .B = B, .ldb = N,
                         .C = C, .ldc = N};
    rng r = rng_make(seed, 23);
    gemm_oracle oracle;
    if (reason) {
        report_unusable("cl-half-rounding", reason);
        return;
    }
    for (int j = 0; j < N; ++j) B[j] = 0.75f + 0.25f * rng_float(&r);
    if (gemm_oracle_make(&oracle, &g)) abort();
    const gemm_status status = run_row(&g, &gemm_cl_half);
    const double ratio = gemm_oracle_compare_rounded(&oracle, &g, rounding_of(&gemm_cl_half)).ratio;
    gemm_oracle_free(&oracle);
    if (status == GEMM_DONE && ratio <= 1 && ratio > 0.6)
        report_pass("cl-half-rounding");
    else
        report_fail("cl-half-rounding", "status %d, %.3g times the bound", (int)status, ratio);
    B[0] = 65504;
    B[1] = -70000;
    C[0] = C[1] = 0;
    /* Devices differ: NVIDIA's ends at the largest number of 16 bits. */
    if (run_row(&g, &gemm_cl_half) == GEMM_DONE && C[0] == 65504 &&
        (C[1] == -INFINITY || C[1] == -65504))
        report_pass("cl-half-overflow");
    else
        report_fail("cl-half-overflow", "%g and %g", (double)C[0], (double)C[1]);
}

static void test_host_memory(void)
{
    float *p = gemm_host_alloc(1000, sizeof *p);
    bool ok = p != NULL;
    for (int i = 0; ok && i < 1000; ++i)
        ok = p[i] == 0.0f;
    for (int i = 0; ok && i < 1000; ++i)
        p[i] = (float)i;
    p = ok ? gemm_host_realloc(p, 2000 * sizeof *p) : p;
    for (int i = 0; ok && i < 1000; ++i)
        ok = p[i] == (float)i;
    void *other = malloc(10);
    const bool plain = gemm_cl_alloc_size(p) == 0;      /* where the device has none */
    ok = ok && gemm_host_is_plain(p + 1999) == plain && gemm_host_is_plain(other);
    gemm_host_free(p);
    gemm_host_free(NULL);
    gemm_host_free(other);
    void *huge = gemm_host_alloc((size_t)-1 / 2, 4);
    ok = ok && !huge;
    if (ok)
        report_pass("cl-host-memory");
    else
        report_fail("cl-host-memory", "not zeroed, not kept, not refused, or plain");
}

/* An image stays for the next calls, and is released when many calls did not use it. */
static void test_old_images(void)
{
    enum { CALLS = 256 };
    const char *reason = gemm_cl_unusable(&gemm_cl_image);
    if (reason) {
        report_unusable("cl-old-images", reason);
        return;
    }
    gemm_cl_lock();
    for (int i = 0; i <= CALLS; ++i) gemm_cl_release_old_images();     /* of other tests */
    const unsigned long before = gemm_cl_released_memory();
    const cl_mem image = gemm_cl_image_get(64, 8, false);
    gemm_cl_images_done();
    for (int i = 0; i < CALLS; ++i) gemm_cl_release_old_images();
    const bool stays = image && gemm_cl_image_get(64, 8, false) == image &&
                       gemm_cl_released_memory() == before;
    gemm_cl_images_done();
    for (int i = 0; i < CALLS; ++i) gemm_cl_release_old_images();
    const bool still = gemm_cl_released_memory() == before;
    gemm_cl_release_old_images();
    const bool goes = gemm_cl_released_memory() == before + 1;
    gemm_cl_unlock();
    if (stays && still && goes)
        report_pass("cl-old-images");
    else
        report_fail("cl-old-images", "stays %d, still %d, goes %d", stays, still, goes);
}

/* Rows of B are as far apart as an image's, but only in memory that has room for them. */
static const char *judge_b_ld(void)
{
    enum { ROWS = 5, COLUMNS = 1001 };
    const int pitch = 4 * (int)gemm_cl_opened()->pitch_alignment;
    const size_t bytes = gemm_b_bytes(ROWS, COLUMNS);
    float *roomy = gemm_host_alloc(1, bytes), *other = malloc(bytes);
    const int ld = gemm_b_ld(roomy, ROWS, COLUMNS);
    const char *wrong = NULL;
    if (!roomy || !other) wrong = "no memory";
    else if (pitch ? ld < COLUMNS || ld % pitch : ld != COLUMNS) wrong = "no row of an image";
    else if (gemm_b_ld(roomy, ROWS + 1, COLUMNS) != COLUMNS) wrong = "in memory that is too small";
    else if (gemm_b_ld(other, ROWS, COLUMNS) != COLUMNS) wrong = "in memory of malloc";
    gemm_host_free(roomy);
    free(other);
    return wrong;
}

static void test_b_ld(void)
{
    const char *reason = gemm_cl_unusable(&gemm_cl_image);
    if (reason) {
        report_unusable("cl-b-ld", reason);
        return;
    }
    gemm_cl_force_memory('u');
    gemm_set_variant(gemm_find("cl_image"));
    const char *wrong = judge_b_ld();
    gemm_set_variant(gemm_find("cl"));
    gemm_cl_force_memory(0);
    report_judged("cl-b-ld", wrong);
}

/* Options of any length reach the compiler whole: the last one decides. */
static void test_long_options(void)
{
    static char long_define[4096] = "-DLONG=";
    gemm_cl_row row = gemm_cl_naive;
    rng r = rng_make(seed, 4);
    problem p = make_problem(&r, 0, 0, 9, 10, 11, 0, false);
    char text[8] = "";
    gemm_text grown = {0};
    memset(long_define + 7, '1', sizeof long_define - 8);
    row.defines = long_define;
    report_judged("cl-options-long", judge(&p, &row, 0));
    strcpy(long_define + sizeof long_define - 30, " -DALPHA=this -Dint=does_not");
    row.kernel = "cl_naive";
    const char *why = gemm_cl_unusable(&row);
    report_judged("cl-options-long-end", why ? NULL : "the last option is lost");
    free_problem(&p);
    const bool fits = gemm_append(text, sizeof text, "%d", 123) &&
                      gemm_append(text, sizeof text, "%d", 4567);
    const bool refuses = !gemm_append(text, sizeof text, "89") &&
                         !gemm_append(text, sizeof text, "%s", "more");
    if (fits && refuses && !strcmp(text, "1234567"))
        report_pass("append-stops-at-the-end");
    else
        report_fail("append-stops-at-the-end", "fits %d, refuses %d, '%s'", fits, refuses, text);
    for (int i = 0; i < 1000; ++i) gemm_text_add(&grown, "%03d", i);
    const char *whole = gemm_text_whole(&grown);
    const bool right = whole && strlen(whole) == 3000 && !strcmp(whole + 2997, "999");
    report_judged("text-grows", right ? NULL : "it is cut off");
    gemm_text_free(&grown);
}

static size_t resident_pages(void)
{
    size_t all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%zu %zu", &all, &resident) != 2) resident = 0;
        fclose(f);
    }
    return resident;
}

/* A network's cfg may name a batch of hundreds, of which a detection uses one image. */
static void test_untouched_memory(void)
{
    const size_t bytes = (size_t)256 << 20, page = (size_t)sysconf(_SC_PAGESIZE);
    if (!gemm_cl_opened()->traits.cpu) return;  /* only a CPU gets pages of the system */
    const size_t before = resident_pages();
    char *p = gemm_host_alloc(bytes, 1);
    const size_t after = resident_pages();
    const bool zero = p && p[0] == 0 && p[bytes - 1] == 0;
    gemm_host_free(p);
    if (!zero || !before || (after - before) * page > bytes / 16)
        report_fail("cl-host-memory-untouched", "256 MiB took %zu resident ones, zero: %d",
                    (after - before) * page >> 20, zero);
    else
        report_pass("cl-host-memory-untouched");
}

/* ---- threads ---- */

static void *work(void *failures)
{
    static atomic_int turn;
    const int mine = turn++;
    rng r = rng_make(seed, 1000 + (uint64_t)mine);
    for (int i = 0; i < 12; ++i) {
        const named_row *row = &rows[(i + mine) % (ROWS - 1)];
        const int M = 1 + rng_below(&r, 40), N = 1 + rng_below(&r, 60), K = 1 + rng_below(&r, 50);
        problem p = make_problem(&r, i & 1, i >> 1 & 1, M, N, K, 0, i & 4);
        if (!gemm_cl_unusable(row->row) && judge(&p, row->row, 0)) ++*(atomic_int *)failures;
        free_problem(&p);
    }
    return NULL;
}

/* Hybrid, with the share that the model finds: of 4e6 multiplications or more. */
static void *work_hybrid(void *failures)
{
    static atomic_int turn;
    const int mine = turn++;
    const gemm_variant *hybrid = gemm_find("hybrid");
    rng r = rng_make(seed, 2000 + (uint64_t)mine);
    for (int i = 0; i < 6; ++i) {
        problem p = make_problem(&r, i & 1, i >> 1 & 1, 100 + mine % 2, 210, 200, 0, i & 4);
        gemm_oracle oracle;
        if (gemm_oracle_make(&oracle, &p.call)) abort();
        const gemm_variant *ran = gemm_run(hybrid, &p.call, NULL);
        const double ratio = gemm_oracle_compare(&oracle, &p.call).ratio;
        if (ran != hybrid || !(ratio <= 1)) ++*(atomic_int *)failures;
        gemm_oracle_free(&oracle);
        free_problem(&p);
    }
    return NULL;
}

static void test_threads(const char *name, void *work(void *))
{
    pthread_t threads[4];
    atomic_int failures = 0;
    for (int i = 0; i < 4; ++i) {
        if (pthread_create(&threads[i], NULL, work, &failures)) abort();
    }
    for (int i = 0; i < 4; ++i)
        pthread_join(threads[i], NULL);
    if (failures)
        report_fail(name, "%d calls wrong", (int)failures);
    else
        report_pass(name);
}

/* ---- faults ---- */

enum { FAULT_RIGHT = 10, FAULT_UNCHANGED, FAULT_WRONG, NO_FAULT, FAULT_FAILED, FAULT_NO_REASON };

/* What is run while a call fails, and how. With HYBRID the device computes a half, and the CPU
   computes what the device does not. */
typedef enum fault_kind {
    MULTIPLY, CONVOLVE, DRIVER, HYBRID_MULTIPLY, HYBRID_CONVOLVE, HYBRID_POOL
} fault_kind;

typedef struct fault_case {
    const char *name;
    const gemm_cl_row *row;
    char policy;
    bool shared;
    fault_kind kind;
    int parts;
    bool in_place;              /* the device writes the caller's memory: GEMM_FAILED is allowed */
} fault_case;

/* A status, whether the result is right and whether it is as before: what the child returns. */
static int judge_fault(gemm_status status, bool right, bool unchanged)
{
    switch (status) {
    case GEMM_DONE: return right ? FAULT_RIGHT : FAULT_WRONG;
    case GEMM_DECLINED: return unchanged ? FAULT_UNCHANGED : FAULT_WRONG;
    case GEMM_FAILED: return *last_note.reason ? FAULT_FAILED : FAULT_NO_REASON;
    }
    return FAULT_WRONG;
}

static bool is_hybrid(const fault_case *f)
{
    return f->kind == HYBRID_MULTIPLY || f->kind == HYBRID_CONVOLVE || f->kind == HYBRID_POOL;
}

static int multiply_once(const fault_case *f, rng *r, int turn)
{
    problem p = make_problem(r, turn, 0, 9, 30, 40, 1, f->shared);
    const size_t bytes = (8 * (size_t)p.call.ldc + 30) * sizeof(float);
    float *before = malloc(bytes);
    gemm_oracle oracle;
    memcpy(before, p.call.C, bytes);
    gemm_oracle_make(&oracle, &p.call);
    const gemm_status status = run_parts(&p.call, f->row, f->parts);
    const int code = judge_fault(status, gemm_oracle_compare(&oracle, &p.call).ratio <= 1,
                                 !memcmp(before, p.call.C, bytes));
    gemm_oracle_free(&oracle);
    free(before);
    free_problem(&p);
    return code;
}

static int convolve_once(const fault_case *f, rng *r, int turn)
{
    static const conv_call pooled = {.batch = 2, .groups = 1, .c = 6, .h = 8, .w = 6, .n = 16,
                                     .size = 3, .stride = 1, .pad = 1, .out_h = 8, .out_w = 6,
                                     .pool = true};
    const conv_call any = {.batch = 2, .groups = 2, .c = 6, .h = 7, .w = 5, .n = 16, .size = 3,
                           .stride = 1 + turn, .pad = 1, .out_h = turn ? 4 : 7,
                           .out_w = turn ? 3 : 5};
    const bool winograd = f->row->winograd, pools = winograd || f->kind == HYBRID_POOL;
    convolution p = make_convolution(r, pools ? pooled : any, f->shared);
    gemm_kept kept = {.room = SIZE_MAX};
    kept_tested = winograd && !turn ? &kept : NULL;
    const size_t bytes = (size_t)p.output.columns * sizeof(float);
    float *before = malloc(bytes);
    gemm_error worst;
    memcpy(before, p.call.output, bytes);
    gemm_status status = convolve_parts(&p.call, f->row, f->parts);
    /* with a plan the output stays on the device */
    const char *lost = gemm_cl_give_to_cpu(p.call.output, bytes, false);
    if (lost) {
        status = GEMM_FAILED;
        snprintf(last_note.reason, sizeof last_note.reason, "%s", lost);
    }
    const bool right =
        !gemm_conv_compare(&p.call, last_note.transform, &worst) && worst.ratio <= 1;
    const int code = judge_fault(status, right, !memcmp(before, p.call.output, bytes));
    if (kept.data) kept.free(kept.data);
    kept_tested = NULL;
    free(before);
    free_convolution(&p);
    return code;
}

static problem driver_problem;

static void free_driver_problem(void)
{
    free_problem(&driver_problem);
}

/* A multiply of ones with K = 8 through the driver, which may end the program. */
static int drive_once(const fault_case *f, rng *r, int turn)
{
    problem *p = &driver_problem;
    if (turn) return FAULT_RIGHT;
    *p = make_problem(r, 0, 0, 9, 30, 8, 0, f->shared);
    if (atexit(free_driver_problem)) abort();
    p->call.ALPHA = 1;
    for (int i = 0; i < 9 * 8; ++i) ((float *)p->call.A)[i] = 1;
    for (int i = 0; i < 8 * 30; ++i) ((float *)p->call.B)[i] = 1;
    memset(p->call.C, 0, 9 * 30 * sizeof(float));
    gemm_run(gemm_find(f->name), &p->call, &last_note);
    for (int i = 0; i < 9 * 30; ++i) {
        if (p->call.C[i] != 8) {
            fprintf(stderr, "C[%d][%d] is %g instead of 8\n", i / 30, i % 30, (double)p->call.C[i]);
            return FAULT_WRONG;
        }
    }
    return FAULT_RIGHT;
}

/* In a child: two calls while the n-th OpenCL call fails, or one of hybrid, which makes the same
   OpenCL calls. How it ended is the exit status. */
static int fault_child(const fault_case *f, int n)
{
    char text[16];
    int worst = FAULT_RIGHT;
    snprintf(text, sizeof text, "%d", n);
    setenv("CL_FAIL_AT", text, 1);
    gemm_cl_force_memory(f->policy);
    if (is_hybrid(f)) share_tested = 0.5;
    rng r = rng_make(seed, 3);
    for (int i = 0; i < (is_hybrid(f) ? 1 : 2); ++i) {
        const bool convolves = f->kind == CONVOLVE || f->kind == HYBRID_CONVOLVE ||
                               f->kind == HYBRID_POOL;
        const int code = convolves ? convolve_once(f, &r, i)
                         : f->kind == DRIVER ? drive_once(f, &r, i) : multiply_once(f, &r, i);
        if (code != FAULT_RIGHT && code != FAULT_UNCHANGED) return code;
        if (code == FAULT_UNCHANGED) worst = code;
    }
    return worst;
}

/* NULL, or what is wrong about a child that ended with this code and said this. */
static const char *judge_child(const fault_case *f, int code, const char *said)
{
    if (code == NO_FAULT) return NULL;
    if (code < 0) return "it crashed";
    if (!*said) return "nothing was said";
    switch (code) {
    case FAULT_RIGHT:
    case FAULT_UNCHANGED: return is_hybrid(f) && code != FAULT_RIGHT ? "it declined" : NULL;
    case FAULT_WRONG: return "C is wrong";
    case FAULT_NO_REASON: return "it failed without a reason";
    case FAULT_FAILED: return f->in_place ? NULL : "it failed where C lay beside";
    case 1: /* the driver ended the program */
        if (f->kind != DRIVER) return "it ended the program";
        return strstr(said, "and C is undefined: cl") ? NULL : "the driver gave no reason";
    default: return "objects leaked";
    }
}

/* Runs a child with its messages in a file; returns how it ended, or NO_FAULT when it was wrong. */
static int fault_run(const char *name, const fault_case *f, int n)
{
    char log[] = "/tmp/test_cl_XXXXXX", said[1024] = "";
    const int fd = mkstemp(log);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(fd, 2);
        exit(fault_child(f, n));
    }
    int status = 0;
    waitpid(child, &status, 0);
    const ssize_t got = pread(fd, said, sizeof said - 1, 0);
    said[got > 0 ? got : 0] = 0;
    close(fd);
    unlink(log);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const char *why = judge_child(f, code, said);
    if (why) report_fail(name, "call %d: %s (status %d): %s", n, why, code, said);
    return why ? NO_FAULT : code;
}

static void test_fault(const fault_case *f, rng *r, int every)
{
    char name[64];
    int n = 1 + rng_below(r, every), ran = 0, code, declined = 0, failed = 0;
    const int before = report_failures;
    snprintf(name, sizeof name, "cl-faults-%s%s-%c-%s", f->kind == DRIVER ? "driver-" : "", f->name,
             f->policy, f->shared ? "shared" : "malloc");
    for (; (code = fault_run(name, f, n)) != NO_FAULT; n += every) {
        ++ran;
        declined += code == FAULT_UNCHANGED;
        failed += code == FAULT_FAILED || code == 1;
    }
    printf("# %s: %d of %d calls failed in turn; %d of them declined, %d failed\n", name, ran,
           n - 1, declined, failed);
    if (report_failures != before) return;
    const bool all = every == 1, declines = all && f->kind != DRIVER && !is_hybrid(f);
    if (n <= 20 || (declines && !declined) || (all && f->in_place && !failed))
        report_fail(name, "too few: is tests/support/layer_fail.c loaded?");
    else
        report_pass(name);
}

/* The drivers are loaded once, for all children. None has begun then: one with threads would be of
   no use in a child. */
static void load_drivers(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    void *symbol = library ? dlsym(library, "clGetPlatformIDs") : NULL;
    cl_int (*get_platforms)(cl_uint, cl_platform_id *, cl_uint *);
    cl_uint count;
    memcpy(&get_platforms, &symbol, sizeof get_platforms);
    if (symbol) get_platforms(0, NULL, &count);
}

static void test_faults(int every)
{
    const gemm_cl_row *image = &gemm_cl_choices[GEMM_CL_IMAGE_8x4];
    const gemm_cl_row *tile = &gemm_cl_choices[GEMM_CL_TILE_16x128];
    const gemm_cl_row *winograd = &gemm_cl_winograd_choices[GEMM_CL_CONV_VECTORS * 2 - 1];
    const fault_case cases[] = {
        {"cl", &gemm_cl_best, 'u', true, MULTIPLY, 0, true},
        {"cl", &gemm_cl_best, 'u', false, MULTIPLY, 0, false},
        {"cl", &gemm_cl_best, 'd', false, MULTIPLY, 0, false},
        {"cl", &gemm_cl_best, 'd', true, MULTIPLY, 0, false},
        {"cl_image", &gemm_cl_image, 'u', true, MULTIPLY, 0, true},
        {"cl_image", &gemm_cl_image, 'u', false, MULTIPLY, 0, false},
        {"cl_image", &gemm_cl_image, 'd', false, MULTIPLY, 0, false},
        {"cl_image-split", image, 'u', true, MULTIPLY, 3, true},
        {"cl_local_v4_u8", &gemm_cl_local_v4_u8, 'u', true, MULTIPLY, 0, true},
        {"conv-cl", &gemm_cl_best, 'u', true, CONVOLVE, 0, true},
        {"conv-cl", &gemm_cl_best, 'u', false, CONVOLVE, 0, false},
        {"conv-cl", &gemm_cl_best, 'd', true, CONVOLVE, 0, true},
        {"conv-cl", &gemm_cl_best, 'd', false, CONVOLVE, 0, false},
        {"conv-cl_image", image, 'u', true, CONVOLVE, 2, true},
        {"conv-cl_tile", tile, 'd', true, CONVOLVE, 2, true},
        {"conv-winograd", winograd, 'u', true, CONVOLVE, 0, true},
        {"conv-winograd", winograd, 'd', false, CONVOLVE, 0, false},
        {"cl", NULL, 'u', true, DRIVER, 0, true},
        {"cl", NULL, 'u', false, DRIVER, 0, false},
        {"cl_image", NULL, 'u', true, DRIVER, 0, true},
        {"hybrid", &gemm_cl_best, 'u', true, HYBRID_MULTIPLY, 0, false},
        {"hybrid", &gemm_cl_best, 'd', true, HYBRID_MULTIPLY, 0, false},
        {"hybrid", &gemm_cl_best, 'd', false, HYBRID_MULTIPLY, 0, false},
        {"conv-hybrid", &gemm_cl_best, 'u', true, HYBRID_CONVOLVE, 0, false},
        {"conv-hybrid", &gemm_cl_best, 'd', true, HYBRID_CONVOLVE, 0, true},
        {"pool-hybrid", &gemm_cl_best, 'u', true, HYBRID_POOL, 0, false},
        {"pool-hybrid", &gemm_cl_best, 'd', true, HYBRID_POOL, 0, true}};
    rng r = rng_make(seed, 4);
    load_drivers();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        if (is_wanted(cases[i].name)) test_fault(&cases[i], &r, every);
}

/* ---- waits and launches, which the layer of tests/support/layer_fail.c counts ---- */

/* A second convolution of each kind takes one wait and one launch for all groups and images, with a
   maxpool too. */
static void test_waits(void)
{
    static const conv_call kinds[] = {
        {.batch = 2, .groups = 1, .c = 5, .h = 9, .w = 9, .n = 12, .size = 3, .stride = 1,
         .pad = 1, .out_h = 9, .out_w = 9},
        {.batch = 3, .groups = 40, .c = 40, .h = 9, .w = 9, .n = 40, .size = 3, .stride = 1,
         .pad = 1, .out_h = 9, .out_w = 9},
        {.batch = 1, .groups = 1, .c = 70, .h = 4, .w = 4, .n = 9, .size = 1, .stride = 1,
         .out_h = 4, .out_w = 4},
        {.batch = 2, .groups = 1, .c = 3, .h = 20, .w = 18, .n = 40, .size = 3, .stride = 1,
         .pad = 1, .out_h = 20, .out_w = 18, .pool = true}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    char path[] = "/tmp/test_cl_XXXXXX";
    const int fd = mkstemp(path);
    atomic_int *count = NULL;
    if (fd >= 0 && !ftruncate(fd, 3 * sizeof *count))
        count = mmap(NULL, 3 * sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    setenv("CL_COUNT", path, 1);
    for (int i = 0; count && i < KINDS * 4; ++i) {
        rng r = rng_make(seed, 17);
        char name[64];
        const bool shared = i & 1, discrete = i & 2;
        convolution p = make_convolution(&r, kinds[i / 4], shared);
        gemm_cl_force_memory(discrete ? 'd' : 'u');
        snprintf(name, sizeof name, "cl-conv-waits-%d-%s-%s", i / 4,
                 policy_name(discrete ? 'd' : 'u'), shared ? "shared" : "malloc");
        const char *why = judge_convolution(&p, &gemm_cl_best, 0);
        const int waits = count[0], launches = count[1];
        why = why ? why : judge_convolution(&p, &gemm_cl_best, 0);
        if (why || count[0] - waits != 1 || count[1] - launches != 1)
            report_fail(name, "%d waits and %d launches, not one; %s", count[0] - waits,
                        count[1] - launches, why ? why : "right");
        else
            report_pass(name);
        gemm_cl_force_memory(0);
        free_convolution(&p);
    }
    if (!count) report_fail("cl-conv-waits", "no file to count in");
    unlink(path);
}

/* --sum or --conv with its arguments, for Oclgrind: ends the program and releases nothing, because
   its race detector may abort then. */
static _Noreturn void run_one(char **argv)
{
    const char policy = argv[3][0];
    int number = 0;
    const char *why;
    if (!strcmp(argv[0], "--sum"))
        why = run_one_sum(argv[1], argv[2], policy);
    else if (gemm_parse_int(argv[2], 0, INT_MAX, &number))
        why = run_one_convolution(argv[1], number, policy);
    else
        why = "no such case";
    if (why)
        report_fail(argv[1], "%s %s: %s", argv[0], argv[2], why);
    else
        report_pass(argv[1]);
    _exit(report_status());
}

typedef struct options {
    int seed, cases, every;
    bool small, threads, faults, waits, tile, groups, checks, start;
    char **one;                 /* --sum or --conv, and its three arguments */
} options;

static options read_options(int argc, char **argv)
{
    options o = {.seed = 1, .cases = 60, .every = 1};
    for (int i = 1; i < argc; ++i) {
        const char *a = argv[i];
        if (!strcmp(a, "--small")) o.small = true;
        else if (!strcmp(a, "--threads")) o.threads = true;
        else if (!strcmp(a, "--faults")) o.faults = true;
        else if (!strcmp(a, "--waits")) o.waits = true;
        else if (!strcmp(a, "--tile")) o.tile = true;
        else if (!strcmp(a, "--groups")) o.groups = true;
        else if (!strcmp(a, "--checks")) o.checks = true;
        else if (!strcmp(a, "--start")) o.start = true;
        else if (!strcmp(a, "--seed")) o.seed = option_int(a, argv[++i], 0);
        else if (!strcmp(a, "--cases")) o.cases = option_int(a, argv[++i], 1);
        else if (!strcmp(a, "--every")) o.every = option_int(a, argv[++i], 1);
        else if (!strcmp(a, "--row") && i + 1 < argc) only = argv[++i];
        else if (i + 3 < argc && (!strcmp(a, "--sum") || !strcmp(a, "--conv"))) {
            o.one = argv + i;
            i += 3;
        } else {
            fprintf(stderr, "test_cl: %s: no such option, or too few arguments; see "
                            "tests/unit/test_cl.c\n", a);
            exit(2);
        }
    }
    return o;
}

int main(int argc, char **argv)
{
    const options o = read_options(argc, argv);
    seed = (uint64_t)o.seed;
    printf("# seed %d\n", o.seed);
    gemm_set_variant(gemm_find("cl"));      /* so that gemm_host_alloc asks the driver */
    if (o.faults || o.waits) {
        if (o.faults) test_faults(o.every);
        if (o.waits) test_waits();
        if (o.faults && !ran_one) report_fail("faults", "the name of no case contains %s", only);
        return report_status();
    }
    if (o.groups || o.start) {
        if (o.groups) test_groups();
        if (o.start) test_start();
        return report_status();
    }
    const char *why = gemm_cl_unusable(&gemm_cl_best);
    if (why) {
        report_skip("cl", "%s", why);
        return report_status();
    }
    if (o.one) run_one(o.one);
    if (o.tile) {
        show_tile();
        test_half_rounding();
        test_image_rules();
        test_tile_rules();
        return report_status();
    }
    if (!o.threads) {
        if (!o.checks) test_sums(o.small && o.cases > 8 ? 8 : o.cases, o.small);
        if (!o.checks) test_convolutions(o.small && o.cases > 20 ? 10 : o.cases / 2, o.small);
        if (!o.small && !o.checks) test_hybrid(o.cases);
        if (is_wanted("cl-direct-choice")) test_direct_choice();
        if (is_wanted("cl-winograd-plan")) {
            test_winograd_choice();
            test_winograd_plan();
        }
        if (!ran_one) report_fail("rows", "the name of no row contains %s", only);
        if (only) return report_status();
        test_copies();
        test_large_copies(0);
        test_large_copies(7);
        test_not_finite();
        test_calls();
        test_activations();
        test_host_memory();
        test_image_rules();
        test_tile_rules();
        test_half_rounding();
        test_old_images();
        test_b_ld();
        test_long_options();
        test_untouched_memory();
    }
    if (!o.threads && !o.small) {
        test_conv_limits();
        test_conv_far();
        test_panels();
    }
    if (!o.small) {
        test_threads("cl-threads", work);
        test_threads("hybrid-threads", work_hybrid);
    }
    return report_status();
}
