/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL rows while one call of OpenCL after another fails, and how often they wait.
 *
 *   test_cl_faults [--seed S] [--every N] [--row NAME]
 *       each N-th call fails in turn, from one that the seed draws; only cases whose name contains
 *       NAME
 *   test_cl_faults --waits   a convolution's waits and launches
 *
 * Both need the layer of tests/support/layer_fail.c.
 */
#include "driver/driver.h"
#include "support/child.h"
#include "support/cl_cases.h"
#include "support/options.h"
#include "support/report.h"

#include "cl/device/opencl.h"

#include <dlfcn.h>
#include <stdlib.h>

/* ---- faults ---- */

/* How a child ended. NO_FAULT: so many calls were not made. */
enum { FAULT_RIGHT = 10, FAULT_UNCHANGED, FAULT_WRONG, NO_FAULT, FAULT_FAILED, FAULT_NO_REASON };

/* What is run while a call fails. With HYBRID the device computes a half, and the CPU computes what
   the device does not. */
typedef enum fault_kind {
    MULTIPLY, CONVOLVE, DRIVER, HYBRID
} fault_kind;

typedef struct fault_case {
    const char *name;
    const gemm_cl_row *row;
    char policy;
    bool shared;
    fault_kind kind;
    int parts;
    bool in_place;              /* the device writes the caller's memory: GEMM_FAILED is allowed */
    int n;                      /* the call that fails */
} fault_case;

static bool is_hybrid(const fault_case *f)
{
    return f->kind == HYBRID;
}

/* The second one has another shape. */
static cl_case make_case(const fault_case *f, rng *r, int turn)
{
    static const conv_shape pooled = {"", 2, 1, 6, 8, 6, 16, 3, 1, 1};
    static const conv_shape any[] = {{"", 2, 2, 6, 7, 5, 16, 3, 1, 1},
                                     {"", 2, 2, 6, 7, 5, 16, 3, 2, 1}};
    if (f->kind == MULTIPLY || f->kind == HYBRID)
        return cl_multiply(r, turn, 0, 9, 30, 40, 1, f->shared);
    const bool pools = f->row->winograd;
    const conv_call c = cl_geometry(pools ? &pooled : &any[turn], pools);
    return cl_convolution(r, &c, f->shared);
}

/* The first call of Winograd's algorithm has a plan, and leaves its output on the device. */
static int run_once(const fault_case *f, rng *r, int turn)
{
    cl_case p = make_case(f, r, turn);
    gemm_kept kept = {.room = SIZE_MAX};
    const cl_how how = {f->row, f->policy, f->parts, is_hybrid(f), .5,
                        f->row->winograd && !turn ? &kept : NULL};
    const size_t floats = p.convolves ? conv_outputs(&p.c) : product_floats(&p.g);
    const size_t bytes = floats * sizeof(float);
    float *before = malloc(bytes);
    gemm_error worst;
    memcpy(before, p.at[2], bytes);
    const gemm_status status = cl_run(&p, &how, &worst);
    const bool unchanged = !memcmp(before, p.at[2], bytes);
    if (kept.data) kept.free(kept.data);
    free(before);
    cl_case_free(&p);
    if (status == GEMM_FAILED) return *cl_note.reason ? FAULT_FAILED : FAULT_NO_REASON;
    if (status == GEMM_DECLINED) return unchanged ? FAULT_UNCHANGED : FAULT_WRONG;
    return worst.ratio <= 1 ? FAULT_RIGHT : FAULT_WRONG;
}

static cl_case driver_case;

static void free_driver_case(void)
{
    cl_case_free(&driver_case);
}

/* A multiply of ones with K = 8 through the driver, which may end the program. */
static int drive_once(const fault_case *f, rng *r)
{
    enum { M = 9, N = 30, K = 8 };
    cl_case *p = &driver_case;
    *p = cl_multiply(r, 0, 0, M, N, K, 0, f->shared);
    if (atexit(free_driver_case)) abort();
    p->g.ALPHA = 1;
    for (int i = 0; i < M * K; ++i) p->at[0][i] = 1;
    for (int i = 0; i < K * N; ++i) p->at[1][i] = 1;
    memset(p->g.C, 0, M * N * sizeof(float));
    gemm_run(gemm_find(f->name), &p->g, &cl_note);
    for (int i = 0; i < M * N; ++i) {
        if (p->g.C[i] == K) continue;
        fprintf(stderr, "C[%d][%d] is %g instead of %d\n", i / N, i % N, (double)p->g.C[i], K);
        return FAULT_WRONG;
    }
    return FAULT_RIGHT;
}

/* In a child: two calls while the n-th OpenCL call fails, or one of the driver, or of hybrid, which
   makes the same OpenCL calls. */
static int fault_child(void *data)
{
    const fault_case *f = data;
    char text[16];
    int worst = FAULT_RIGHT;
    snprintf(text, sizeof text, "%d", f->n);
    setenv("CL_FAIL_AT", text, 1);
    gemm_cl_force_memory(f->policy);
    rng r = cl_rng(3);
    if (f->kind == DRIVER) return drive_once(f, &r);
    for (int i = 0; i < (is_hybrid(f) ? 1 : 2); ++i) {
        const int code = run_once(f, &r, i);
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

static void test_fault(fault_case f, rng *r, int every)
{
    char name[64];
    int ran = 0, declined = 0, failed = 0;
    const char *why = NULL;
    snprintf(name, sizeof name, "cl-faults-%s%s-%c-%s", f.kind == DRIVER ? "driver-" : "", f.name,
             f.policy, f.shared ? "shared" : "malloc");
    for (f.n = 1 + rng_below(r, every);; f.n += every, ++ran) {
        const child_result child = child_run(fault_child, &f);
        const int code = child_exit(&child);
        why = judge_child(&f, code, child.output);
        if (why) report_fail(name, "call %d: %s (status %d): %s", f.n, why, code, child.output);
        if (why || code == NO_FAULT) break;
        declined += code == FAULT_UNCHANGED;
        failed += code == FAULT_FAILED || code == 1;
    }
    printf("# %s: %d of %d calls failed in turn; %d of them declined, %d failed\n", name, ran,
           f.n - 1, declined, failed);
    const bool all = every == 1, declines = all && f.kind != DRIVER && !is_hybrid(&f);
    if (!why)
        report_right(name, f.n > 20 && (!declines || declined) && (!all || !f.in_place || failed),
                     "too few: is tests/support/layer_fail.c loaded?");
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

#define IMAGE_8x4 &gemm_cl_choices[GEMM_CL_IMAGE_8x4]
#define TILE_16x128 &gemm_cl_choices[GEMM_CL_TILE_16x128]
#define LAST_WINOGRAD &gemm_cl_choices[GEMM_CL_WINOGRAD + 5]

static const fault_case cases[] = {
    {"cl", &gemm_cl_best, 'u', true, MULTIPLY, 0, true, 0},
    {"cl", &gemm_cl_best, 'u', false, MULTIPLY, 0, false, 0},
    {"cl", &gemm_cl_best, 'd', false, MULTIPLY, 0, false, 0},
    {"cl", &gemm_cl_best, 'd', true, MULTIPLY, 0, false, 0},
    {"cl_image", &gemm_cl_image, 'u', true, MULTIPLY, 0, true, 0},
    {"cl_image", &gemm_cl_image, 'u', false, MULTIPLY, 0, false, 0},
    {"cl_image", &gemm_cl_image, 'd', false, MULTIPLY, 0, false, 0},
    {"cl_image-split", IMAGE_8x4, 'u', true, MULTIPLY, 3, true, 0},
    {"cl_local_v4_u8", &gemm_cl_local_v4_u8, 'u', true, MULTIPLY, 0, true, 0},
    {"conv-cl", &gemm_cl_best, 'u', true, CONVOLVE, 0, true, 0},
    {"conv-cl", &gemm_cl_best, 'u', false, CONVOLVE, 0, false, 0},
    {"conv-cl", &gemm_cl_best, 'd', true, CONVOLVE, 0, true, 0},
    {"conv-cl", &gemm_cl_best, 'd', false, CONVOLVE, 0, false, 0},
    {"conv-cl_image", IMAGE_8x4, 'u', true, CONVOLVE, 2, true, 0},
    {"conv-cl_tile", TILE_16x128, 'd', true, CONVOLVE, 2, true, 0},
    {"conv-winograd", LAST_WINOGRAD, 'u', true, CONVOLVE, 0, true, 0},
    {"conv-winograd", LAST_WINOGRAD, 'd', false, CONVOLVE, 0, false, 0},
    {"cl", NULL, 'u', true, DRIVER, 0, true, 0},
    {"cl", NULL, 'u', false, DRIVER, 0, false, 0},
    {"cl_image", NULL, 'u', true, DRIVER, 0, true, 0},
    {"hybrid", &gemm_cl_best, 'u', true, HYBRID, 0, false, 0},
    {"hybrid", &gemm_cl_best, 'd', true, HYBRID, 0, false, 0},
    {"hybrid", &gemm_cl_best, 'd', false, HYBRID, 0, false, 0},
};

static bool test_faults(int every, const char *only)
{
    bool ran_one = false;
    rng r = cl_rng(4);
    load_drivers();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        if (only && !strstr(cases[i].name, only)) continue;
        test_fault(cases[i], &r, every);
        ran_one = true;
    }
    return ran_one;
}

/* ---- waits and launches, which the layer counts ---- */

/* A second convolution of each kind takes one wait and one launch for all groups and images, with a
   maxpool too. */
static void test_waits(void)
{
    static const conv_shape kinds[] = {{"", 2, 1, 5, 9, 9, 12, 3, 1, 1},
                                       {"", 3, 40, 40, 9, 9, 40, 3, 1, 1},
                                       {"", 1, 1, 70, 4, 4, 9, 1, 1, 0},
                                       {"", 2, 1, 3, 20, 18, 40, 3, 1, 1}};
    const atomic_int *count = cl_open_counts();
    for (int i = 0; i < 16; ++i) {
        const cl_how how = {&gemm_cl_best, .policy = i & 2 ? 'd' : 'u'};
        const conv_call c = cl_geometry(&kinds[i / 4], i / 4 == 3);
        rng r = cl_rng(17);
        char name[64];
        cl_case p = cl_convolution(&r, &c, i & 1);
        snprintf(name, sizeof name, "cl-conv-waits-%d-%s-%s", i / 4, cl_policy_name(how.policy),
                 p.shared ? "shared" : "malloc");
        const char *why = cl_judge(&p, &how);
        const int waits = count[0], launches = count[1];
        if (!why) why = cl_judge(&p, &how);
        const int more = count[0] - waits, launched = count[1] - launches;
        report_right(name, !why && more == 1 && launched == 1,
                     "%d waits and %d launches, not one; %s", more, launched, why ? why : "right");
        cl_case_free(&p);
    }
}

int main(int argc, char **argv)
{
    int every = 1;
    const char *only = NULL;
    bool waits = false;
    for (int i = 1; i < argc; ++i) {
        const char *a = argv[i], *value = argv[i + 1];
        if (!strcmp(a, "--waits")) waits = true;
        else if (!strcmp(a, "--seed")) cl_seed = option_int(a, value, 0), ++i;
        else if (!strcmp(a, "--every")) every = option_int(a, value, 1), ++i;
        else if (!strcmp(a, "--row") && value) only = value, ++i;
        else return fprintf(stderr, "test_cl_faults: %s: no such option\n", a), 2;
    }
    printf("# seed %d\n", cl_seed);
    gemm_set_variant(gemm_find("cl"));      /* so that gemm_host_alloc asks the driver */
    if (waits) test_waits();
    else if (!test_faults(every, only))
        report_fail("faults", "the name of no case contains %s", only);
    return report_status();
}
