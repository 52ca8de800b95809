/*
 * The environment. All variables of src/ are read here, once, and numbers and switches are checked.
 *
 * Names of rows, micro-kernels and devices stay text, because this file knows none of their tables.
 * start.c looks them up.
 */
#include "driver/settings.h"

#include "util/die.h"
#include "util/number.h"

#include <stdlib.h>
#include <string.h>

static int read_threads(void)
{
    const char *own = getenv("GEMM_THREADS");
    int n;
    if (own) {
        if (!gemm_parse_int(own, 1, GEMM_MAX_THREADS, &n))
            gemm_die("GEMM_THREADS='%s' is no whole number from 1 to %d", own, GEMM_MAX_THREADS);
        return n;
    }
    /* OMP_NUM_THREADS may be a list, one number a nesting level. OpenMP judges a bad one itself. */
    const char *openmp = getenv("OMP_NUM_THREADS");
    if (!openmp) return 0;
    char first[16] = "";
    strncpy(first, openmp, sizeof first - 1);
    first[strcspn(first, ",")] = '\0';
    return gemm_parse_int(first, 1, GEMM_MAX_THREADS, &n) ? n : 0;
}

static bool read_switch(const char *variable, bool unset)
{
    const char *value = getenv(variable);
    if (!value) return unset;
    if (strcmp(value, "0") && strcmp(value, "1"))
        gemm_die("%s='%s' is neither 0 nor 1", variable, value);
    return *value == '1';
}

/* Under a row without convolutions Darknet's own code runs whatever the value is. */
static gemm_conv_mode read_conv(void)
{
    static const char *const names[] = {
        [GEMM_HOOK] = "hook", [GEMM_DIRECT] = "direct", [GEMM_IM2COL] = "im2col"};
    const char *value = getenv("GEMM_CONV");
    if (!value) return GEMM_HOOK;
    for (int i = GEMM_HOOK; i <= GEMM_IM2COL; ++i)
        if (!strcmp(value, names[i])) return (gemm_conv_mode)i;
    gemm_die("GEMM_CONV='%s' is none of hook, direct, im2col", value);
}

static const char *read_impl(void)
{
    const char *name = getenv("GEMM_IMPL");
    return name ? name : "auto";
}

gemm_settings gemm_read_settings(void)
{
    return (gemm_settings){
        .impl = read_impl(),
        .threads = read_threads(),
        .isa = getenv("GEMM_ISA"),
        .bind = read_switch("GEMM_BIND", true),
        .conv = read_conv(),
        .check = read_switch("GEMM_CHECK", false),
        .trace = getenv("GEMM_TRACE"),
        .cl_device = getenv("GEMM_CL_DEVICE"),
        .cl_try = read_switch("GEMM_CL_TRY", true),
        .tune = read_switch("GEMM_TUNE", false),
        .cache_dir = getenv("GEMM_CACHE_DIR"),
        .cache_home = getenv("XDG_CACHE_HOME"),
        .home = getenv("HOME"),
        .ref_openblas = getenv("GEMM_REF_OPENBLAS"),
        .ref_blis = getenv("GEMM_REF_BLIS"),
        .ref_onednn = getenv("GEMM_REF_ONEDNN"),
        .ref_clblast = getenv("GEMM_REF_CLBLAST"),
    };
}
