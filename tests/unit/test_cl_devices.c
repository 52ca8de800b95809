/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL rows on each device of tests/support/adreno_devices.h, as the layer of
 * tests/support/layer_adreno.c shows it. Each device has a process of its own, in which
 *
 *   - the layer's texts are as long as the reported ones,
 *   - the device opens, and its name and model are the expected ones,
 *   - the context asks for the high clock where the device lists cl_qcom_perf_hint, and only there.
 *     A device that lists it and refuses it opens too,
 *   - `cl` takes tiles of more than 32 sums an item only for models that are known to hold them,
 *   - each OpenCL row that needs no file, and `hybrid`, compute a multiply and a convolution. What
 *     a row declines, and why, must be expected.
 *
 *   test_cl_devices [NAME | --draw SEED]      needs OPENCL_LAYERS=...layer_adreno.so
 *
 * NAME: only this device. --draw: the rows compute on each sixth device, from one that SEED draws.
 */
#include "check/check.h"
#include "check/conv_check.h"
#include "cl/choice.h"
#include "cl/device/device.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "hybrid/hybrid.h"
#include "support/adreno_devices.h"
#include "support/child.h"
#include "support/conv_shape.h"
#include "support/report.h"
#include "util/number.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Says what is wrong; counts it. */
static int wrong(const char *what, const char *detail)
{
    printf("%s: %s\n", what, detail);
    return 1;
}

/* ---- texts and model ---- */

static int check_texts(const adreno_device *a)
{
    const gemm_cl_device *d = gemm_cl_opened();
    const size_t driver = strlen(d->driver);
    size_t extensions = 0;
    clGetDeviceInfo(d->id, CL_DEVICE_EXTENSIONS, 0, NULL, &extensions);
    int failures = strcmp(d->name, a->shown) ? wrong("the name", d->name) : 0;
    if (strcmp(d->driver, a->driver)) failures += wrong("the driver", d->driver);
    if (a->driver_bytes && driver != a->driver_bytes)
        failures += wrong("not as long as reported", d->driver);
    if (a->extension_bytes && extensions != a->extension_bytes + 1)
        failures += wrong("the extensions", "not as long as reported");
    if (!d->traits.is_adreno || d->traits.adreno != a->number || d->traits.cpu)
        failures += wrong("the model", d->name);
    return failures;
}

/* The layer says what the context asked for. */
static int check_hint(const char *expected)
{
    const char *asked = getenv("ADRENO_HINT");
    if (!asked) return wrong("the context", "was not seen");
    return strcmp(asked, expected) ? wrong("the clock", asked) : 0;
}

static bool lists_hint(const adreno_device *a)
{
    return a->extensions && strstr(a->extensions, "cl_qcom_perf_hint");
}

/* The models of which is known that an item may have more than 32 sums. */
static bool may_be_large(const adreno_device *a)
{
    return a->number >= 710 && a->number < 900;
}

static int check_tile(const adreno_device *a)
{
    static const gemm_call large = {.M = 1024, .N = 8192, .K = 64};
    int parts;
    const gemm_cl_row *row = gemm_cl_choose(&gemm_cl_opened()->traits, &large, &parts);
    const bool is_large = row->rows * row->cols > 32;
    return is_large != may_be_large(a) ? wrong("the tile", is_large ? "too large" : "small") : 0;
}

/* ---- rows ---- */

enum { M = 9, N = 264, K = 20 };

static void fill(float *x, int n, rng *r)
{
    for (int i = 0; i < n; ++i) x[i] = rng_float(r) - .5f;
}

static gemm_status run(const gemm_variant *v, const gemm_call *g, gemm_note *note)
{
    const gemm_context context = gemm_make_context(note);
    if (strcmp(v->name, "hybrid")) return v->multiply(g, &context, v->params);
    gemm_hybrid_sides sides = *(const gemm_hybrid_sides *)v->params;
    sides.forced = .5;
    return gemm_hybrid(g, &context, &sides);
}

/* NULL, or what is wrong about the multiply. */
static const char *multiply(const gemm_variant *v, rng *r)
{
    static float A[M * K], B[K * N], C[M * N];
    const gemm_call g = {.M = M, .N = N, .K = K, .ALPHA = 1, .A = A, .lda = K, .B = B, .ldb = N,
                         .C = C, .ldc = N};
    gemm_oracle oracle;
    gemm_note note;
    fill(A, M * K, r);
    fill(B, K * N, r);
    fill(C, M * N, r);
    if (gemm_oracle_make(&oracle, &g)) return "no memory for the reference";
    const gemm_status status = run(v, &g, &note);
    const gemm_error worst = gemm_oracle_compare_rounded(&oracle, &g, v->rounding);
    gemm_oracle_free(&oracle);
    if (status != GEMM_DONE) return "a multiply was declined";
    return worst.ratio <= 1 ? NULL : "a multiply is wrong";
}

/* The same for a convolution, which only some rows have. */
static const char *convolve(const gemm_variant *v, rng *r)
{
    static const conv_shape shape = {"", 1, 1, 6, 16, 16, 12, 3, 1, 1};
    conv_call c = conv_shape_make(&shape, CONV_LEAKY);
    gemm_error worst = {.ratio = 2};
    gemm_note note;
    conv_shape_fill(&c, r);
    const bool done = gemm_conv_run(v, &c, NULL, &note);
    if (done && gemm_conv_compare_rounded(&c, note.transform, v->rounding, &worst)) abort();
    conv_shape_free(&c);
    if (!done) return "a convolution was declined";
    return worst.ratio <= 1 ? NULL : "a convolution is wrong";
}

/* Whether the device lacks what the row needs. The line says it. */
static bool is_expected(const char *reason)
{
    return !gemm_cl_opened()->traits.fp16 && strstr(reason, "(cl_khr_fp16)");
}

/* cl_naive, _block, _local, _image, cl, _direct, _half and hybrid run on each device. */
enum { LEAST_ROWS = 8 };

/* `searches`: also the rows of the paper's search. One device is enough for them, because they are
   many and take no choice by device. */
static int check_rows(bool searches)
{
    int failures = 0, ran = 0;
    for (size_t i = 0; i < gemm_variant_count; ++i) {
        const gemm_variant *v = &gemm_variants[i];
        rng r = rng_make(1, i);
        const bool by_cl = !strncmp(v->name, "cl", 2) || !strcmp(v->name, "hybrid");
        if (gemm_is_reference(v) || !by_cl) continue;
        if (v->device && v->device->unusable == gemm_cl_limits && !searches) continue;
        if (v->calibrated) continue;        /* test_cl_int8 */
        const char *reason = gemm_unusable(v), *why = reason ? NULL : multiply(v, &r);
        if (!reason && !why && (v->kinds & GEMM_CONVS)) why = convolve(v, &r);
        if (reason && is_expected(reason)) printf("# %s declined: %s\n", v->name, reason);
        else if (reason || why) failures += wrong(v->name, reason ? reason : why);
        else ++ran;
    }
    printf("# %d rows ran\n", ran);
    return failures + (ran < LEAST_ROWS ? wrong("too few rows", "ran") : 0);
}

/* The rows compute on these: index % `step` == `first`. */
static int step = 1, first;

static int test(void *data)
{
    const adreno_device *a = data;
    const char *why;
    setenv("ADRENO_DEVICE", a->id, 1);
    gemm_set_variant(gemm_find("cl"));
    if ((why = gemm_cl_unusable(&gemm_cl_best))) return wrong("cl", why);
    printf("# %.300s\n", gemm_cl_describe());
    const int failures = check_texts(a) + check_tile(a) +
                         check_hint(lists_hint(a) ? "high" : "none");
    const bool computes = (a - adreno_devices) % step == first;
    return failures + (computes ? check_rows(a == &adreno_devices[first]) : 0) ? 1 : 0;
}

/* A device that lists the property, as one that refuses it. */
static int test_refused(void *unused)
{
    const char *why;
    (void)unused;
    setenv("ADRENO_DEVICE", "650", 1);
    setenv("ADRENO_NO_HINT", "1", 1);
    gemm_cl_lock();
    const bool opened = gemm_cl_open_device(&why);
    gemm_cl_unlock();
    if (!opened) return wrong("cl", why);
    return check_hint("refused");
}

static void report_child(const char *name, int (*run_test)(void *), void *data)
{
    const child_result r = child_run(run_test, data);
    const char *signal = child_signal(&r);
    report_that(name, child_exit(&r) == 0, "%s\n%s", signal ? signal : "failed", r.output);
    if (child_exit(&r) == 0) printf("%s", r.output);
}

int main(int argc, char **argv)
{
    int tested = 0;
    if (argc == 3 && !strcmp(argv[1], "--draw") && gemm_parse_int(argv[2], 0, INT_MAX, &first)) {
        step = 6;
        first %= step;
        argc = 1;
    }
    for (int i = 0; i < ADRENO_DEVICES; ++i) {
        char name[64];
        const adreno_device *a = &adreno_devices[i];
        if (argc > 1 && strcmp(argv[1], a->id)) continue;
        snprintf(name, sizeof name, "cl-device-%s", a->id);
        report_child(name, test, (void *)a);
        ++tested;
    }
    if (argc == 1) report_child("cl-device-refuses-hint", test_refused, NULL);
    if (!tested) report_fail("cl-device", "no such device");
    return report_status();
}
