/* SPDX-License-Identifier: MIT */
/*
 * The environment. All variables of src/ are read here, once, and numbers and switches are checked.
 *
 * Names of rows, micro-kernels and devices stay text, because this file knows none of their tables.
 * start.c looks them up.
 */
#include "driver/settings.h"

#include "util/number.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static const char *wrong;       /* the first bad value, as a line, or NULL */

void gemm_refuse(const char *format, ...)
{
    va_list args;
    char *line;
    if (wrong) return;
    va_start(args, format);
    wrong = vasprintf(&line, format, args) < 0 ? "a variable has a bad value" : line;
    va_end(args);
}

const char *gemm_refused(void)
{
    return wrong;
}

char **gemm_environment(void)
{
    return environ;
}

const char *gemm_preload(bool *asked)
{
    char **entry = environ;
    while (entry && *entry && strncmp(*entry, "GEMM_", 5)) ++entry;
    *asked = entry && *entry;
    return gemm_is_privileged() ? NULL : getenv("LD_PRELOAD");
}

bool gemm_is_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}

/*
 * A variable that names a file, a folder or a library; all of these are read here. NULL in a
 * program with more rights than its caller. The line is for our own variables: HOME is always set.
 */
static const char *read_name(const char *variable)
{
    const char *value = getenv(variable);
    if (!value || !gemm_is_privileged()) return value;
    if (!strncmp(variable, "GEMM_", 5))
        fprintf(stderr, "gemm: %s is ignored, because this program has more rights than its "
                        "caller\n", variable);
    return NULL;
}

/* The variables of OpenMP and of libraries whose place we take. They judge a bad number themselves.
   OMP_NUM_THREADS may be a list, one number a nesting level. */
static int read_others_threads(const char **by)
{
    static const char *const variables[] = {
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "BLIS_NUM_THREADS",
        "MKL_NUM_THREADS"};
    int n = 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i) {
        const char *value = getenv(variables[i]);
        char first[16] = "";
        if (value) strncpy(first, value, sizeof first - 1);
        first[strcspn(first, ",")] = '\0';
        *by = variables[i];
        if (gemm_parse_int(first, 1, GEMM_MAX_THREADS, &n)) return n;
    }
    *by = NULL;
    return 0;
}

static int read_threads(const char **by)
{
    const char *own = getenv("GEMM_THREADS");
    int n = 0;
    if (!own) return read_others_threads(by);
    if (!gemm_parse_int(own, 1, GEMM_MAX_THREADS, &n))
        gemm_refuse("GEMM_THREADS='%s' is no whole number from 1 to %d", own, GEMM_MAX_THREADS);
    *by = "GEMM_THREADS";
    return n;
}

/* The number of the word that the variable has, or `unset`. `refusal`: such as "neither 0 nor
   1". */
static int read_word(const char *variable, const char *const *words, int unset,
                     const char *refusal)
{
    const char *value = getenv(variable);
    int i = 0;
    if (!value) return unset;
    while (words[i] && strcmp(value, words[i])) ++i;
    if (words[i]) return i;
    gemm_refuse("%s='%s' is %s", variable, value, refusal);
    return unset;
}

static bool read_switch(const char *variable, bool unset)
{
    static const char *const words[] = {"0", "1", NULL};
    return read_word(variable, words, unset, "neither 0 nor 1");
}

/* Under a row without convolutions Darknet's own code runs whatever the value is. */
static gemm_conv_mode read_conv(void)
{
    static const char *const words[] = {
        [GEMM_HOOK] = "hook", [GEMM_DIRECT] = "direct", [GEMM_IM2COL] = "im2col", NULL};
    return (gemm_conv_mode)read_word("GEMM_CONV", words, GEMM_HOOK,
                                     "none of hook, direct, im2col");
}

/* Whether a layer prepares what it keeps at its first call. */
static bool read_prepare(void)
{
    static const char *const words[] = {"second", "first", NULL};
    return read_word("GEMM_PREPARE", words, 0, "neither first nor second");
}

static size_t read_keep(void)
{
    const char *value = getenv("GEMM_KEEP");
    size_t bytes = SIZE_MAX;
    if (value && !gemm_parse_bytes(value, &bytes))
        gemm_refuse("GEMM_KEEP='%s' is no number of bytes; allowed is a whole number, and behind "
                    "it K, M, G or nothing", value);
    return bytes;
}

/* A day is the most. */
static int read_tune_seconds(void)
{
    const char *value = getenv("GEMM_TUNE_SECONDS");
    int seconds = 60;
    if (value && !gemm_parse_int(value, 0, 86400, &seconds))
        gemm_refuse("GEMM_TUNE_SECONDS='%s' is no whole number from 0 to 86400", value);
    return seconds;
}

/* The fewest bits that `auto` may give an operand. */
static int read_auto_bits(void)
{
    static const char *const words[] = {"8", "16", "32", NULL};
    return 8 << read_word("GEMM_AUTO_BITS", words, 2, "none of 8, 16 and 32");
}

static const char *read_impl(void)
{
    const char *name = getenv("GEMM_IMPL");
    return name ? name : "auto";
}

gemm_settings gemm_read_settings(void)
{
    const char *threads_by = NULL;
    const int threads = read_threads(&threads_by);
    return (gemm_settings){
        .impl = read_impl(),
        .threads = threads,
        .threads_by = threads_by,
        .isa = getenv("GEMM_ISA"),
        .bind = read_switch("GEMM_BIND", true),
        .conv = read_conv(),
        .prepare_first = read_prepare(),
        .reproducible = read_switch("GEMM_REPRODUCIBLE", false),
        .way = getenv("GEMM_WAY"),
        .int8 = read_name("GEMM_INT8"),
        .keep = read_keep(),
        .check = read_switch("GEMM_CHECK", false),
        .trace = read_name("GEMM_TRACE"),
        .calibrate = read_name("GEMM_CALIBRATE"),
        .cl_device = getenv("GEMM_CL_DEVICE"),
        .cl_library = read_name("GEMM_CL_LIBRARY"),
        .pocl_dir = read_name("POCL_CACHE_DIR"),
        .cl_try = read_switch("GEMM_CL_TRY", true),
        .tune = read_switch("GEMM_TUNE", false),
        .tune_seconds = read_tune_seconds(),
        .auto_bits = read_auto_bits(),
        .cache_dir = read_name("GEMM_CACHE_DIR"),
        .cache_home = read_name("XDG_CACHE_HOME"),
        .home = read_name("HOME"),
    };
}
