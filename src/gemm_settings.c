/*
 * The environment: every variable is read and checked here, once. A bad value ends the program with
 * one line that names the variable, the value and what is allowed.
 */
#include "gemm_dispatch.h"
#include "gemm_driver.h"
#include "gemm_packed.h"
#include "gemm_threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1024 };

static gemm_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void gemm_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("gemm: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* Levenshtein's distance of two names of at most 63 characters; longer ones count as far away. */
static int edit_distance(const char *a, const char *b)
{
    int row[64];
    const size_t la = strlen(a), lb = strlen(b);
    if (la > 63 || lb > 63) return 64;
    for (size_t j = 0; j <= lb; ++j) row[j] = (int)j;
    for (size_t i = 1; i <= la; ++i) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= lb; ++j) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[lb];
}

const char *gemm_nearest_name(const char *name)
{
    const char *nearest = gemm_variants[0].name;
    for (size_t i = 1; i < gemm_variant_count; ++i)
        if (edit_distance(name, gemm_variants[i].name) < edit_distance(name, nearest))
            nearest = gemm_variants[i].name;
    return nearest;
}

static void die_of_unknown_name(const char *name)
{
    fprintf(stderr, "gemm: the names that GEMM_IMPL may have:");
    for (size_t i = 0; i < gemm_variant_count; ++i) fprintf(stderr, " %s", gemm_variants[i].name);
    fputc('\n', stderr);
    gemm_die("GEMM_IMPL='%s' is unknown: did you mean '%s'?", name, gemm_nearest_name(name));
}

static const gemm_variant *read_impl(void)
{
    const char *name = getenv("GEMM_IMPL");
    if (!name) name = "auto";
    const gemm_variant *v = gemm_find(name);
    if (!v) die_of_unknown_name(name);
    return v;
}

/* A whole number from 1 to MAX_THREADS with nothing behind it but `end`, else 0. */
static int parse_threads(const char *text, const char *end)
{
    char *rest;
    errno = 0;
    const long n = strtol(text, &rest, 10);
    const bool ends = *rest == '\0' || (rest != text && strchr(end, *rest));
    return errno || rest == text || !ends || n < 1 || n > MAX_THREADS ? 0 : (int)n;
}

static int read_threads(void)
{
    const char *own = getenv("GEMM_THREADS");
    if (own) {
        const int n = parse_threads(own, "");
        if (!n) gemm_die("GEMM_THREADS='%s' is no whole number from 1 to %d", own, MAX_THREADS);
        return n;
    }
    /* OpenMP's variable may be a list, a number a nesting level; a bad one is OpenMP's to judge. */
    const char *openmp = getenv("OMP_NUM_THREADS");
    const int n = openmp ? parse_threads(openmp, ",") : 0;
    if (n) return n;
    const int cores = gemm_allowed_cores();
    return cores < MAX_THREADS ? cores : MAX_THREADS;
}

static const gemm_ukernel *read_isa(void)
{
    const char *name = getenv("GEMM_ISA");
    const gemm_ukernel *isa = gemm_ukernel_find(name);
    if (isa) return isa;
    fprintf(stderr, "gemm: the values that GEMM_ISA may have here:");
    for (const gemm_ukernel *const *u = gemm_ukernels; *u; ++u)
        if ((*u)->supported()) fprintf(stderr, " %s", (*u)->name);
    fputc('\n', stderr);
    gemm_die("GEMM_ISA='%s' is no instruction set that this processor and build have", name);
}

static bool read_switch(const char *variable)
{
    const char *value = getenv(variable);
    if (!value || !strcmp(value, "0")) return false;
    if (strcmp(value, "1")) gemm_die("%s='%s' is neither 0 nor 1", variable, value);
    return true;
}

/* Hooks unless told otherwise: a row without convolutions takes Darknet's way anyway. */
static bool read_conv(void)
{
    const char *value = getenv("GEMM_CONV");
    if (!value || !strcmp(value, "hook")) return true;
    if (strcmp(value, "im2col")) gemm_die("GEMM_CONV='%s' is neither hook nor im2col", value);
    return false;
}

static void read_environment(void)
{
    settings.threads = read_threads();
    settings.isa = read_isa();
    settings.check = read_switch("GEMM_CHECK");
    settings.conv = read_conv();
    settings.impl = read_impl();
    settings.trace = getenv("GEMM_TRACE");
    if (settings.trace) gemm_trace_open(settings.trace);
}

const gemm_settings *gemm_get_settings(void)
{
    pthread_once(&once, read_environment);
    return &settings;
}

void gemm_set_variant(const gemm_variant *v)
{
    gemm_get_settings();
    settings.impl = v;
}

void gemm_set_threads(int threads)
{
    gemm_get_settings();
    settings.threads = threads;
}

void gemm_set_conv(bool hook)
{
    gemm_get_settings();
    settings.conv = hook;
}
