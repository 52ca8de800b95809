/* SPDX-License-Identifier: MIT */
/*
 * For tests of `auto` and of its table: a folder of their own, ops, and what children printed. The
 * environment is read once a process, so each case runs in a child.
 */
#ifndef TEST_TUNED_H
#define TEST_TUNED_H

#include "driver/driver.h"
#include "support/child.h"
#include "support/conv_shape.h"
#include "support/report.h"
#include "util/file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { M = 70, N = 90, K = 80, LD = 100, MORE = 420, SHAPES = 6 };

static char folder[] = "/tmp/test_tuned.XXXXXX";
static char path[64];           /* the file of the table */

/* ---- ops ---- */

static const conv_shape small = {"small", 1, 1, 8, 14, 14, 12, 3, 1, 1};
static const conv_shape larger = {"larger", 1, 1, 64, 26, 26, 64, 3, 1, 1};

/* A multiply of M + more rows, at most MORE, by operands that are the same at every call. C may be
   NULL. Returns whether the row ran. */
static inline bool multiply_rows(const gemm_variant *v, int more, float *C, gemm_note *note)
{
    float A[(M + MORE) * LD], B[K * LD], own[(M + MORE) * LD];
    rng r = rng_make(7, 1);
    if (!C) C = own;
    for (int i = 0; i < (M + more) * LD; ++i) A[i] = rng_float(&r), C[i] = rng_float(&r);
    for (int i = 0; i < K * LD; ++i) B[i] = rng_float(&r);
    const gemm_call c = {0, 0, M + more, N, K, 1, A, LD, B, LD, C, LD};
    return gemm_run(v, &c, note) == v;
}

/* A call with random numbers. conv_shape_free frees it. */
static inline conv_call make_conv(const conv_shape *shape)
{
    conv_call c = conv_shape_make(shape, CONV_LEAKY);
    rng r = rng_make(9, 1);
    conv_shape_fill(&c, &r);
    return c;
}

/* From 12x14x14 to 12x28x28. */
static inline layer_call make_upsample(const layer_input *input, float *output)
{
    return (layer_call){.kind = LAYER_UPSAMPLE, .batch = 1, .c = 12, .h = 14, .w = 14,
                        .out_c = 12, .out_h = 28, .out_w = 28, .stride = 2, .alpha = 1,
                        .inputs = 1, .input = input, .output = output};
}

/* In a child: what it measures goes into the table. Without OpenCL's rows, which test_cl_tune is
   about, and without PoCL's threads. */
static inline void tune_without_device(void)
{
    setenv("GEMM_TUNE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
}

/* ---- judging ---- */

/* Whether the output has the text so many times. */
static inline bool has(const char *output, const char *text, int times)
{
    int found = 0;
    for (const char *at = output; (at = strstr(at, text)); ++at) ++found;
    return found == times;
}

static inline void expect(const char *name, const char *output, const char *text, int times)
{
    report_that(name, has(output, text, times), "'%s' is not there %d times: %s", text, times,
                output);
}

/* The text of the table, which the caller frees; "" without a table. */
static inline char *read_table(void)
{
    size_t bytes;
    const char *why;
    char *text = gemm_read_file(folder, "tuning.txt", &bytes, &why);
    return text ? text : calloc(1, 1);
}

/* The child's status must be 0. */
static inline child_result expect_right(const char *name, int (*body)(void *), void *data)
{
    const child_result r = child_run(body, data);
    report_that(name, child_exit(&r) == 0, "status %d: %s", child_exit(&r), r.output);
    return r;
}

/* ---- the program ---- */

/* Before all tests. */
static inline void make_folder(void)
{
    umask(022);                 /* no table that others may write is used */
    if (!mkdtemp(folder)) exit(2);
    snprintf(path, sizeof path, "%s/tuning.txt", folder);
    setenv("GEMM_CACHE_DIR", folder, 1);
    setenv("GEMM_THREADS", "2", 1);
    setenv("GEMM_TUNE_SECONDS", "86400", 1);
    unsetenv("GEMM_TUNE");
    unsetenv("GEMM_IMPL");
}

/* Removes the folder; the program's exit status. */
static inline int end_tests(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) ? 2 : report_status();
}

#endif
