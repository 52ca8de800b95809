/* SPDX-License-Identifier: MIT */
/*
 * A preloaded library that no call reached says so at the end of the program, where silence would
 * mislead: the program is called darknet, or its user has set a variable of this library.
 *
 * It is part of the shared libraries alone. A program that has started others is left out, because
 * the calls may be theirs; so is a program that one of these started, such as a shell's `ls`.
 */
#include "lib/reach.h"

#include "driver/driver.h"
#include "driver/settings.h"
#include "util/started.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

bool gemm_reach_said;

static bool has_started_others(void)
{
    struct rusage children;
    return getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_maxrss > 0;
}

static bool is_expected(const char *preload)
{
    if (!strcmp(program_invocation_short_name, "darknet")) return true;
    return gemm_is_asked() && !has_started_others() && !gemm_parent_has("LD_PRELOAD", preload);
}

__attribute__((destructor)) static void say_unreached(void)
{
    static const char here;
    Dl_info info;
    const char *preload = gemm_preload();
    if (gemm_reach_said || gemm_is_started() || !preload || !is_expected(preload)) return;
    if (!dladdr(&here, &info)) return;
    const char *name = strrchr(info.dli_fname, '/');
    name = name ? name + 1 : info.dli_fname;
    if (!strstr(preload, name)) return;
    fprintf(stderr, "gemm: no call of '%s' reached %s, which reaches Darknet and BLAS in shared "
                    "libraries alone. For a program that holds Darknet itself there are make patch "
                    "and make wrap\n", program_invocation_short_name, name);
}
