/* SPDX-License-Identifier: MIT */
/* Fuzz targets of src/: the file of steps of 8 bits, the tuning table, OpenCL's cache, the
 * environment. */
#include "fuzz/fuzz.h"

#include "cl/configure.h"
#include "cl/device/cache.h"
#include "driver/settings.h"
#include "int8/scales.h"
#include "tune/table.h"
#include "util/file.h"
#include "util/number.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- int8 ---- */

static void run_int8(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    gemm_scales s;
    char why[GEMM_SCALES_WHY] = "";
    if (gemm_scales_read(FUZZ_FILE, &s, why))
        gemm_scales_free(&s);
    else if (!*why)
        abort();
}

static void seeds_int8(void)
{
    fuzz_seed_text("gemm-int8 3 2\n# a comment\nlayer 0123456789abcdef 16 100 27 0.0078125 -128 "
                   "percentile 31.5\n"
                   "layer fedcba9876543210 255 100 512 fp32 0 - -\n");
    fuzz_seed_text("gemm-int8 2 0\n");
}

/* ---- the tuning table ---- */

static const gemm_variant packed = {.name = "packed", .in_auto = GEMM_IN_AUTO,
                                    .kinds = GEMM_ALL_KINDS};

static void begin_table(bool anew)
{
    gemm_tuning_configure(fuzz_folder(), "generic", &packed, 1);
    gemm_tuning_forget(anew);
    gemm_tuning_open("none");
}

enum { HEAD_BYTES = 4096 };

/* A file of fuzz_folder() up to the last line that begins with `end`. */
static void read_head(const char *name, const char *end, char head[HEAD_BYTES])
{
    size_t bytes;
    const char *why;
    char *data = gemm_read_file(fuzz_folder(), name, &bytes, &why);
    char *p = data ? strstr(data, end) : NULL;
    if (!p) abort();
    snprintf(head, HEAD_BYTES, "%.*s", (int)(p - data), data);
    free(data);
}

/* The lines of this machine, which a table begins with, up to the first shape. */
static const char *table_head(void)
{
    static char head[HEAD_BYTES];
    if (*head) return head;
    begin_table(true);
    gemm_tuning_keep();
    if (!gemm_tuning_is_kept()) abort();
    read_head("tuning.txt", "end ", head);
    return head;
}

/* A first byte of 1 stands for the right lines of this machine. */
static void run_tuning(const uint8_t *data, size_t size)
{
    const bool right = size && *data == 1;
    const char *head = right ? table_head() : "";
    fuzz_write("tuning.txt", head, strlen(head), data + right, size - right);
    begin_table(false);
}

static void seeds_tuning(void)
{
    fuzz_seed_text("\1auto multiply TA 0 TB 0 M 16 N 173056 K 27 threads 2 = packed "
                   "(packed 4.112 ms, stock 61.020 ms)\nend 1\n");
    fuzz_seed_text("\1cl convolution batch 1 groups 1 c 3 h 8 w 8 filters 8 size 3 stride 1 pad 1 "
                   "activation 0 pool 0 direct 0 threads 0 = cl_direct 8x4 64x1 group 32 parts 2 "
                   "(default 4.112 ms)\nend 1\n");
    fuzz_seed_text("\1end 0\n");
    fuzz_seed_text(table_head());
}

/* ---- a program in the cache of OpenCL ---- */

static const gemm_cl_key key = {"fuzz", "source", "-DX=1", "device", "driver 1"};

/* The name and the lines of the file of the key. */
static const char *program_file(const char **head)
{
    static char name[256], lines[HEAD_BYTES];
    struct dirent *e;
    if (!*lines) {
        gemm_cl_configure(&(gemm_cl_configuration){.cache_dir = fuzz_folder(), .privileged = true});
        gemm_cl_cache_write(&key, (const unsigned char *)"binary", 6);
        DIR *d = opendir(fuzz_folder());
        while (d && (e = readdir(d)))
            if (strstr(e->d_name, ".clbin")) snprintf(name, sizeof name, "%s", e->d_name);
        closedir(d);
        read_head(name, "bytes ", lines);
    }
    *head = lines;
    return name;
}

/* A first byte of 1 stands for the right first lines, and 2 for a right size and sum too. */
static void run_program(const uint8_t *data, size_t size)
{
    const char *lines;
    char head[4096] = "";
    const char *name = program_file(&lines);
    const int right = size && *data <= 2 ? *data : 0;
    const bool skip = right > 0;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    size_t bytes = 0;
    for (size_t i = 1; i < size; ++i) sum = (sum ^ data[i]) * UINT64_C(0x100000001b3);
    if (right == 1) snprintf(head, sizeof head, "%s", lines);
    if (right == 2)
        snprintf(head, sizeof head, "%sbytes %zu sum %016" PRIx64 "\n", lines, size - 1, sum);
    fuzz_write(name, head, strlen(head), data + skip, size - skip);
    unsigned char *binary = gemm_cl_cache_read(&key, &bytes);
    if (right == 2 && (!binary || bytes != size - 1)) abort();
    free(binary);
}

static void seeds_program(void)
{
    const char *lines;
    program_file(&lines);
    fuzz_seed_text(lines);
    fuzz_seed_text("\1bytes 6 sum 0123456789abcdef\nbinary");
    fuzz_seed_text("\2binary");
}

/* ---- GEMM_* ---- */

static const char *const variables[] = {
    "GEMM_IMPL",         "GEMM_THREADS",   "GEMM_ISA",          "GEMM_BIND",
    "GEMM_CONV",         "GEMM_PREPARE",   "GEMM_REPRODUCIBLE", "GEMM_WAY",
    "GEMM_KEEP",         "GEMM_CHECK",     "GEMM_CL_TRY",       "GEMM_TUNE",
    "GEMM_TUNE_SECONDS", "GEMM_AUTO_BITS", "OMP_NUM_THREADS",   "GEMM_CACHE_DIR"};
enum { VARIABLES = sizeof variables / sizeof *variables };

/* The first byte chooses the variable, the rest is its value. */
static void run_environment(const uint8_t *data, size_t size)
{
    if (!size) return;
    char *value = fuzz_text(data + 1, size - 1);
    const char *name = variables[*data % VARIABLES];
    double x;
    size_t bytes;
    setenv(name, value, 1);
    const gemm_settings s = gemm_read_settings();
    if (s.threads < 0 || s.threads > GEMM_MAX_THREADS || s.tune_seconds < 0) abort();
    unsetenv(name);
    gemm_parse_double(value, -1e9, 1e9, &x);
    gemm_parse_bytes(value, &bytes);
    free(value);
}

static void seeds_environment(void)
{
    static const char *const values[] = {"1",    "0",  "packed", "64M", "99999999999999999999",
                                         "hook", "-1", "4,2,1",  "1e-3"};
    for (int v = 0; v < VARIABLES; ++v) {
        char text[64];
        snprintf(text, sizeof text, "%c%s", v + 1, values[v % 9]);
        fuzz_seed_text(text);
    }
}

const fuzz_target fuzz_own_targets[] = {{"int8", run_int8, seeds_int8},
                                        {"tuning", run_tuning, seeds_tuning},
                                        {"program", run_program, seeds_program},
                                        {"environment", run_environment, seeds_environment},
                                        {NULL, NULL, NULL}};
