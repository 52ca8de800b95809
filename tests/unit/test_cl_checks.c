/* SPDX-License-Identifier: MIT */
/*
 * What test_cl does not draw, on the device at hand: panels wider than an image, bytes copied,
 * weights that change, plans, NaN and infinity, rounding to 16 bits, memory, options of kernels.
 *
 *   test_cl_checks [--seed S] [--small]
 *       --small: without the largest ones
 *   test_cl_checks --tile    what `cl` runs for a large multiply, as the name of the test; and 16
 *                            bits
 *   test_cl_checks --start   whether rows open the device, build and launch, on an OpenCL that
 *                            executes nothing
 *   test_cl_checks --groups  what `cl` runs where built kernels have groups of at most STRICT_GROUP
 *                            items; needs the layer of tests/support/layer_strict.c
 */
#include "check/conv_check.h"
#include "cl/device/device.h"
#include "cl/device/loader.h"
#include "cl/device/program.h"
#include "cl/device/scratch.h"
#include "driver/driver.h"
#include "support/activated.h"
#include "support/cl_cases.h"
#include "support/options.h"
#include "support/report.h"
#include "util/cores.h"
#include "util/text.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

/* Skips a test where the row cannot run. */
static bool can_run(const char *name, const gemm_cl_row *row)
{
    const char *reason = gemm_cl_unusable(row);
    if (reason) report_unusable(name, reason);
    return !reason;
}

/* A convolution of several tests. */
static const conv_shape usual = {"", 1, 1, 9, 16, 17, 33, 3, 1, 1};

/* ---- large ones ---- */

/* The first layer of yolov3-tiny, wider than an image of PoCL; and a K higher than one. */
static void test_panels(void)
{
    static const int shapes[][3] = {{16, 173056, 27}, {3, 33000, 5}, {9, 6, 40000}};
    for (int i = 0; i < 12; ++i) {
        char name[64];
        const int *m = shapes[i / 4];
        const bool shared = i & 2;
        const cl_how how = {&gemm_cl_image, .policy = i & 1 ? 'u' : 'd'};
        rng r = cl_rng(77);
        snprintf(name, sizeof name, "cl-panels-%dx%dx%d-%c-%s", m[0], m[1], m[2], how.policy,
                 shared ? "shared" : "malloc");
        if (!can_run(name, how.row)) continue;
        cl_case p = cl_multiply(&r, 0, 0, m[0], m[1], m[2], 0, shared);
        const char *why = cl_judge(&p, &how);
        if (!why && how.policy == 'd') {
            /* the weights are there, another B comes, and its last chunk is waited for */
            p.at[1][(size_t)(m[2] - 1) * (size_t)p.g.ldb] += 1.0f;
            why = cl_judge(&p, &how);
        }
        cl_case_free(&p);
        report_judged(name, why);
    }
}

/* More places than one row of an image holds, more rows than an image has, and a row that has no
   convolution: the first two are right all the same, the last one declines. */
static void test_conv_limits(void)
{
    static const conv_shape wide = {"", 1, 1, 2, 8, 9000, 9, 3, 1, 1};
    static const conv_shape high = {"", 2, 1, 3000, 2, 2, 8, 3, 1, 1};
    const struct { const char *name; const conv_shape *shape; bool pool, fits; } cases[] = {
        {"cl-conv-wide", &wide, false, true}, {"cl-conv-wide-pooled", &wide, true, true},
        {"cl-conv-high", &high, false, false}};
    const gemm_cl_row *const by_image[] = {&gemm_cl_image, &gemm_cl_half};
    for (int i = 0; i < 3; ++i) {
        rng r = cl_rng(91);
        const conv_call c = cl_geometry(cases[i].shape, cases[i].pool);
        cl_case p = cl_convolution(&r, &c, true);
        const char *why = cl_judge(&p, &(cl_how){.row = &gemm_cl_best});
        for (int k = 0; k < 2 && cases[i].fits && !why; ++k)
            if (!gemm_cl_unusable(by_image[k])) why = cl_judge(&p, &(cl_how){.row = by_image[k]});
        report_judged(cases[i].name, why);
        const float before = p.c.output[0] = 7.0f;
        if (!cases[i].fits)
            report_right("cl-conv-declines", cl_convolve(&p.c, &(cl_how){.row = &gemm_cl_naive}) &&
                         p.c.output[0] == before, "a row without a convolution took it");
        cl_case_free(&p);
    }
}

/* ---- activations, NaN and infinity ---- */

static bool is_same(float a, float b)
{
    return (isnan(a) && isnan(b)) || a == b || fabsf(a - b) <= 1e-6f * fabsf(b) + 1e-30f;
}

/* NULL, or where the row's activation of such inputs is not Darknet's. */
static const char *judge_activation(const gemm_cl_row *row, conv_activation activation)
{
    enum { PLACES = 27 };       /* vectors and the elements behind them */
    const float largest = row->half == GEMM_CL_HALF_SUMS ? 65504 : FLT_MAX;
    const float ends[] = {INFINITY, -INFINITY, NAN, -0.0f, largest, -largest, 1, -1,
                          -89, -3e4f, 3e4f};    /* e^-x overflows */
    enum { LONG = 64 };         /* of a row of one column: its weights are the ends, then zeroes */
    static const float zeroes[PLACES], unit[LONG] = {1};
    static char why[128];
    float input[PLACES], output[PLACES], rows[PLACES * LONG] = {0};
    const float weight = 1;
    for (int i = 0; i < PLACES; ++i) rows[i * LONG] = input[i] = ends[i * 5 % 11];
    conv_call c = {.batch = 1, .groups = 1, .c = 1, .h = 1, .w = PLACES, .n = 1, .size = 1,
                   .stride = 1, .out_h = 1, .out_w = PLACES, .input = input, .weights = &weight,
                   .shift = zeroes, .activation = activation, .output = output};
    if (row->family->one_column) {
        c.c = LONG, c.n = PLACES;
        c.w = c.out_w = 1;
        c.input = unit;
        c.weights = rows;
    }
    if (cl_convolve(&c, &(cl_how){.row = row})) return "it declined";
    for (int i = 0; i < PLACES; ++i) {
        const float expected = activated(input[i], activation);
        if (is_same(output[i], expected)) continue;
        snprintf(why, sizeof why, "%s of %g is %g instead of %g",
                 activation_name(activation), (double)input[i], (double)output[i],
                 (double)expected);
        return why;
    }
    return NULL;
}

/* Infinity, NaN and the ends of the range through each activation. */
static void test_activations(void)
{
    char title[64], name[96];
    const gemm_cl_row *row;
    for (size_t n = 0; (row = cl_conv_row(n, title, sizeof title)); ++n) {
        const char *why = NULL;
        const bool chooses = row->family->kind == GEMM_CL_CHOOSE;
        if (row->winograd || row->way || (!chooses && gemm_cl_unusable(row))) continue;
        for (int a = CONV_LINEAR; !why && a < CONV_ACTIVATIONS; ++a)
            why = judge_activation(row, (conv_activation)a);
        snprintf(name, sizeof name, "cl-conv-activation-ends-%s", title);
        report_judged(name, why);
    }
}

/* NaN and infinity in B are so in their columns of C, and the other columns stay right. */
static void test_not_finite(void)
{
    rng r = cl_rng(9);
    cl_case p = cl_multiply(&r, 0, 0, 8, 12, 16, 0, false);
    p.at[1][0] = NAN;
    p.at[1][1] = INFINITY;
    report_judged("cl-not-finite-stays-in-its-column",
                  cl_judge(&p, &(cl_how){.row = &gemm_cl_best}));
    cl_case_free(&p);
}

/* cl_half rounds B to the nearest 16-bit number: one product has nearly the error of its bound, and
   never more. What 16 bits cannot hold is infinite. */
static void test_half_rounding(void)
{
    enum { N = 4096 };
    const cl_how how = {.row = &gemm_cl_half};
    static float B[N], C[N];
    const float A = 1;
    const cl_case p = {.shared = true, .g = {.M = 1, .N = N, .K = 1, .ALPHA = 1, .A = &A, .lda = 1,
                                             .B = B, .ldb = N, .C = C, .ldc = N}};
    rng r = cl_rng(23);
    gemm_error worst;
    if (!can_run("cl-half-rounding", how.row)) return;
    for (int j = 0; j < N; ++j) B[j] = 0.75f + 0.25f * rng_float(&r);
    const gemm_status status = cl_run(&p, &how, &worst);
    report_right("cl-half-rounding", status == GEMM_DONE && worst.ratio <= 1 && worst.ratio > 0.6,
                 "status %d, %.3g times the bound", (int)status, worst.ratio);
    B[0] = 65504;
    B[1] = -70000;
    C[0] = C[1] = 0;
    /* Devices differ: NVIDIA's ends at the largest number of 16 bits. */
    const bool done = cl_call(&p.g, &how) == GEMM_DONE;
    report_right("cl-half-overflow",
                 done && C[0] == 65504 && (C[1] == -INFINITY || C[1] == -65504), "%g and %g",
                 (double)C[0], (double)C[1]);
}

/* ---- plans, and what is copied ---- */

/* NULL, or what is wrong about a call of row cl with these settings. */
static const char *judge_algorithm(const cl_case *p, bool direct, gemm_kept *kept,
                                   const char *algorithm)
{
    static char why[128];
    const size_t count = conv_outputs(&p->c);
    gemm_context context = gemm_make_context(&cl_note);
    gemm_error worst;
    context.direct = direct;
    context.kept = kept;
    gemm_host_write(p->c.output, count * sizeof(float));
    for (size_t i = 0; i < count; ++i) p->c.output[i] = NAN;
    if (gemm_cl_conv(&p->c, &context, &gemm_cl_best)) return "it declined";
    gemm_host_read(p->c.output, count * sizeof(float));
    snprintf(why, sizeof why, "it ran %s instead of %s", cl_note.algorithm, algorithm);
    if (strncmp(cl_note.algorithm, algorithm, strlen(algorithm))) return why;
    if (gemm_conv_compare(&p->c, cl_note.transform, &worst) || !(worst.ratio <= 1))
        return "the output is wrong";
    return !cl_note.transform == !strcmp(algorithm, "winograd") ? "the transform is wrong" : NULL;
}

/* A layer that Winograd's algorithm takes, one call after another. GEMM_CONV=direct turns it off,
   and the plan has what the next call needs. Without a plan, and without room in it, it is off. */
static void test_winograd_plan(void)
{
    static const conv_shape shape = {"", 1, 1, 32, 34, 40, 64, 3, 1, 1};
    const size_t weights = 64 * 32 * 9 * sizeof(float), norm = 2 * 64 * sizeof(float);
    conv_call whole = cl_geometry(&shape, false), pooled = cl_geometry(&shape, true);
    gemm_kept kept = {.room = SIZE_MAX}, small = {.room = weights + norm};
    rng r = cl_rng(93);
    whole.activation = pooled.activation = CONV_LEAKY;
    cl_case p = cl_convolution(&r, &pooled, true), q = cl_convolution(&r, &whole, false);
    const char *why = judge_algorithm(&p, false, &kept, "winograd");
    if (!why && kept.bytes < 16 * weights / 9 + norm) why = "the plan counts too few bytes";
    if (!why) why = judge_algorithm(&p, false, &kept, "winograd");
    if (!why && cl_note.copied_a) why = "weights were copied again";
    if (!why) why = judge_algorithm(&q, true, &kept, "direct");
    if (!why && kept.bytes != weights + norm) why = "the plan has more than the weights";
    if (!why) why = judge_algorithm(&q, false, &kept, "winograd");
    if (!why) why = judge_algorithm(&q, false, &small, "direct");
    if (!why) why = judge_algorithm(&q, false, NULL, "direct");
    if (kept.data) kept.free(kept.data);
    if (small.data) small.free(small.data);
    cl_case_free(&p);
    cl_case_free(&q);
    if (!gemm_cl_opened()->traits.cpu)
        report_skip_machine("cl-winograd-plan", "the OpenCL device is no CPU");
    else report_judged("cl-winograd-plan", why);
}

/* The multiply is right, and copies these bytes of A, B and C. */
static void expect_bytes(const char *name, const cl_case *p, const gemm_cl_row *row, char policy,
                         size_t a, size_t b, size_t c)
{
    const cl_how how = {row, .policy = policy};
    const gemm_note *n = &cl_note;
    const char *why = cl_judge(p, &how);
    report_right(name, !why && n->copied_a == a && n->copied_b == b && n->copied_c == c,
                 "%s; copied %zu, %zu and %zu bytes instead of %zu, %zu and %zu",
                 why ? why : "right", n->copied_a, n->copied_b, n->copied_c, a, b, c);
}

static void test_copies(void)
{
    enum { M = 24, N = 256, K = 40 };
    const size_t a = sizeof(float) * M * K, b = sizeof(float) * K * N, c = sizeof(float) * M * N;
    const gemm_cl_row *naive = &gemm_cl_naive, *image = &gemm_cl_image;
    rng r = cl_rng(5);
    cl_case shared = cl_multiply(&r, 0, 0, M, N, K, 0, true);
    cl_case own = cl_multiply(&r, 0, 0, M, N, K, 0, false);
    expect_bytes("cl-copies-unified-shared", &shared, naive, 'u', 0, 0, 0);
    expect_bytes("cl-copies-unified-malloc", &own, naive, 'u', a, b, c);
    if (!gemm_cl_unusable(image)) {
        /* rows of 256 floats are 64 pixels, and some devices make the image from B's own buffer */
        const cl_uint pitch = gemm_cl_opened()->pitch_alignment;
        const size_t of_b = pitch && 64 % pitch == 0 ? 0 : b;
        expect_bytes("cl-copies-image-shared", &shared, image, 'u', 0, of_b, 0);
        /* but not where the last row lacks the gap behind it */
        cl_case cut = cl_multiply(&r, 0, 0, M, N - 4, K, 4, true);
        expect_bytes("cl-copies-image-cut", &cut, image, 'u', 0, sizeof(float) * K * (N - 4), 0);
        cl_case_free(&cut);
        expect_bytes("cl-copies-image-malloc", &own, image, 'u', a, b, c);
    }
    expect_bytes("cl-copies-discrete-first", &own, naive, 'd', a, b, c);
    expect_bytes("cl-copies-weights-kept", &own, naive, 'd', 0, b, c);
    own.at[0][M * K - 1] += 1.0f;       /* the last weight changes: seen, uploaded, used */
    expect_bytes("cl-copies-weights-changed", &own, naive, 'd', a, b, c);
    cl_case_free(&shared);
    cl_case_free(&own);
}

/* Matrices that several threads copy, compare and add up. With `pad` there are gaps between rows. A
   weight of any part may change: it is seen, uploaded and used. */
static void test_large_copies(int pad)
{
    enum { M = 420, N = 500, K = 470 };
    static const int weights[] = {0, M / 2 * K + 3, M * K - 1};
    const cl_how how = {&gemm_cl_best, .policy = 'd'};
    char name[48];
    rng r = cl_rng(6);
    cl_case p = cl_multiply(&r, 0, 0, M, N, K, pad, false);
    snprintf(name, sizeof name, "cl-large-copies-pad-%d", pad);
    gemm_set_threads(3);
    const char *why = cl_judge(&p, &how);
    for (int i = 0; i < 3 && !why; ++i) {
        why = cl_judge(&p, &how);
        if (!why && cl_note.copied_a) why = "weights that had not changed were copied";
        p.at[0][weights[i] / K * p.g.lda + weights[i] % K] += 1.0f;
        if (!why) why = cl_judge(&p, &how);
        if (!why && cl_note.copied_a != sizeof(float) * M * K) why = "a change was not seen";
    }
    gemm_set_threads(gemm_allowed_cores());
    cl_case_free(&p);
    report_judged(name, why);
}

/* ---- memory ---- */

static void test_host_memory(void)
{
    enum { COUNT = 1000 };
    float *p = gemm_host_alloc(COUNT, sizeof *p);
    bool ok = p != NULL;
    for (int i = 0; ok && i < COUNT; ++i) {
        ok = p[i] == 0.0f;
        p[i] = (float)i;
    }
    p = ok ? gemm_host_realloc(p, 2 * COUNT * sizeof *p) : p;
    for (int i = 0; ok && i < COUNT; ++i) ok = p[i] == (float)i;
    void *other = malloc(10);
    const bool plain = gemm_cl_alloc_size(p) == 0;      /* where the device has none */
    ok = ok && gemm_host_is_plain(p + 2 * COUNT - 1) == plain && gemm_host_is_plain(other);
    gemm_host_free(p);
    gemm_host_free(NULL);
    gemm_host_free(other);
    ok = ok && !gemm_host_alloc((size_t)-1 / 2, 4);
    report_right("cl-host-memory", ok, "not zeroed, not kept, not refused, or plain");
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
    const size_t taken = (resident_pages() - before) * page;
    const bool zero = p && p[0] == 0 && p[bytes - 1] == 0;
    gemm_host_free(p);
    report_right("cl-host-memory-untouched", zero && before && taken <= bytes / 16,
                 "256 MiB took %zu resident ones, zero: %d", taken >> 20, zero);
}

static void release_old_images(int calls)
{
    for (int i = 0; i < calls; ++i) gemm_cl_release_old_images();
}

/* An image stays for the next calls, and is released when many calls did not use it. */
static void test_old_images(void)
{
    enum { CALLS = 256 };
    if (!can_run("cl-old-images", &gemm_cl_image)) return;
    gemm_cl_lock();
    release_old_images(CALLS + 1);      /* of other tests */
    const unsigned long before = gemm_cl_released_memory();
    const cl_mem image = gemm_cl_image_get(64, 8, false);
    gemm_cl_images_done();
    release_old_images(CALLS);
    const bool stays = image && gemm_cl_image_get(64, 8, false) == image &&
                       gemm_cl_released_memory() == before;
    gemm_cl_images_done();
    release_old_images(CALLS);
    const bool still = gemm_cl_released_memory() == before;
    release_old_images(1);
    const bool goes = gemm_cl_released_memory() == before + 1;
    gemm_cl_unlock();
    report_right("cl-old-images", stays && still && goes, "stays %d, still %d, goes %d", stays,
                 still, goes);
}

/* Rows of B are as far apart as an image's, but only in memory that has room for them. */
static void test_b_ld(void)
{
    enum { ROWS = 5, COLUMNS = 1001 };
    if (!can_run("cl-b-ld", &gemm_cl_image)) return;
    gemm_cl_force_memory('u');
    gemm_set_variant(gemm_find("cl_image"));
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
    gemm_set_variant(gemm_find("cl"));
    gemm_cl_force_memory(0);
    report_judged("cl-b-ld", wrong);
}

/* ---- kernels and their options ---- */

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
        report_right(name, !where, "kernels/%s.cl has it", where ? where : "");
    }
}

/* Options of any length reach the compiler whole: the last one decides. */
static void test_long_options(void)
{
    static char long_define[4096] = "-DLONG=";
    gemm_cl_row row = gemm_cl_naive;
    rng r = cl_rng(4);
    cl_case p = cl_multiply(&r, 0, 0, 9, 10, 11, 0, false);
    memset(long_define + 7, '1', sizeof long_define - 8);
    row.defines = long_define;
    report_judged("cl-options-long", cl_judge(&p, &(cl_how){.row = &row}));
    strcpy(long_define + sizeof long_define - 30, " -DALPHA=this -Dint=does_not");
    report_judged("cl-options-long-end", gemm_cl_unusable(&row) ? NULL : "the last option is lost");
    cl_case_free(&p);
}

static void test_texts(void)
{
    char text[8] = "";
    gemm_text grown = {0};
    const bool fits = gemm_append(text, sizeof text, "%d", 123) &&
                      gemm_append(text, sizeof text, "%d", 4567);
    const bool refuses = !gemm_append(text, sizeof text, "89") &&
                         !gemm_append(text, sizeof text, "%s", "more");
    report_right("append-stops-at-the-end", fits && refuses && !strcmp(text, "1234567"),
                 "fits %d, refuses %d, '%s'", fits, refuses, text);
    for (int i = 0; i < 1000; ++i) gemm_text_add(&grown, "%03d", i);
    const char *whole = gemm_text_whole(&grown);
    const bool right = whole && strlen(whole) == 3000 && !strcmp(whole + 2997, "999");
    report_judged("text-grows", right ? NULL : "it is cut off");
    gemm_text_free(&grown);
}

/* ---- other devices ---- */

/* What `cl` ran for a large multiply: the note's text. For the layer of an Adreno. */
static void show_tile(void)
{
    rng r = cl_rng(11);
    cl_case p = cl_multiply(&r, 0, 0, 64, 1024, 32, 0, true);
    const char *why = cl_judge(&p, &(cl_how){.row = &gemm_cl_best});
    report_judged(why ? "cl-tile" : cl_note.ran, why);
    cl_case_free(&p);
}

/* The device opens, kernels are built, and launches and copies succeed. What is computed is not
   looked at. */
static void test_start(void)
{
    static const struct { const char *name; const gemm_cl_row *row; } starts[] = {
        {"cl", &gemm_cl_best}, {"cl_image", &gemm_cl_image}, {"cl_half", &gemm_cl_half}};
    const conv_call geometry = cl_geometry(&usual, false);
    for (size_t i = 0; i < 2 * sizeof starts / sizeof *starts; ++i) {
        const cl_how how = {starts[i / 2].row, .policy = i % 2 ? 'u' : 'd'};
        rng r = cl_rng(13);
        char name[64];
        gemm_error ignored;
        cl_case p = cl_multiply(&r, 0, 0, 40, 70, 30, 0, false);
        cl_case q = cl_convolution(&r, &geometry, false);
        const char *why = gemm_cl_unusable(how.row);
        if (!why && cl_run(&p, &how, &ignored) != GEMM_DONE) why = "a multiply did not run";
        if (!why && cl_run(&q, &how, &ignored) != GEMM_DONE) why = "a convolution did not run";
        snprintf(name, sizeof name, "cl-start-%s-%s", starts[i / 2].name,
                 cl_policy_name(how.policy));
        report_judged(name, why);
        cl_case_free(&p);
        cl_case_free(&q);
    }
}

/* Where built kernels have small groups, `cl` chooses another kernel or a smaller group, and a row
   of a fixed group says why it cannot run. The layer refuses larger groups. */
static void test_groups(void)
{
    static const int shapes[][3] = {{40, 70, 30}, {3, 300, 200}, {16, 640, 64}, {130, 140, 300}};
    static const conv_shape calls[] = {{"", 1, 1, 9, 16, 17, 33, 3, 1, 1},
                                       {"", 2, 40, 40, 9, 9, 40, 3, 1, 1},
                                       {"", 1, 1, 130, 2, 2, 11, 2, 1, 0},
                                       {"", 1, 1, 70, 4, 4, 9, 1, 1, 0}};
    const char *items = getenv("STRICT_GROUP");
    const gemm_cl_row *tile = &gemm_cl_choices[GEMM_CL_TILE_64x64];
    int most = 0;
    rng r = cl_rng(12);
    char name[64];
    for (int i = 0; i < 8; ++i) {
        const bool convolves = i >= 4;
        const int *m = shapes[i % 4];
        const conv_call c = cl_geometry(&calls[i % 4], false);
        cl_case p = convolves ? cl_convolution(&r, &c, i & 1)
                              : cl_multiply(&r, 0, 0, m[0], m[1], m[2], 0, i & 1);
        if (convolves) snprintf(name, sizeof name, "cl-groups-conv-%d", i % 4);
        else snprintf(name, sizeof name, "cl-groups-%dx%dx%d", m[0], m[1], m[2]);
        report_judged(name, cl_judge(&p, &(cl_how){.row = &gemm_cl_best}));
        cl_case_free(&p);
    }
    if (!items || !gemm_parse_int(items, 1, INT_MAX, &most))
        report_fail("cl-groups", "STRICT_GROUP names no number");
    const char *why = gemm_cl_unusable(tile);
    const bool refused = why && strstr(why, "has smaller work-groups");
    report_right("cl-groups-fixed", refused == (most < tile->wx * tile->wy), "%s",
                 why ? why : "the row is usable");
}

static void test_all(bool small)
{
    test_winograd_plan();
    test_copies();
    test_large_copies(0);
    test_large_copies(7);
    test_not_finite();
    test_calls();
    test_activations();
    test_host_memory();
    test_half_rounding();
    test_old_images();
    test_b_ld();
    test_long_options();
    test_texts();
    test_untouched_memory();
    if (small) return;
    test_conv_limits();
    test_panels();
}

int main(int argc, char **argv)
{
    bool small = false;
    const char *mode = "";
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--seed")) cl_seed = option_int(argv[i], argv[i + 1], 0), ++i;
        else if (!strcmp(argv[i], "--small")) small = true;
        else mode = argv[i];
    }
    printf("# seed %d\n", cl_seed);
    gemm_set_variant(gemm_find("cl"));      /* so that gemm_host_alloc asks the driver */
    const char *why = gemm_cl_unusable(&gemm_cl_best);
    if (!strcmp(mode, "--groups")) {
        test_groups();
    } else if (!strcmp(mode, "--start")) {
        test_start();
    } else if (why) {
        report_skip("cl-checks", "%s", why);
    } else if (!strcmp(mode, "--tile")) {
        show_tile();
        test_half_rounding();
    } else if (!*mode) {
        test_all(small);
    } else {
        fprintf(stderr, "test_cl_checks: %s: no such option; see tests/unit/test_cl_checks.c\n",
                mode);
        return 2;
    }
    return report_status();
}
