/* SPDX-License-Identifier: MIT */
/*
 * A preloaded library that no call reached says so at the end, where silence would mislead: the
 * program is called darknet, or a variable of this library is set. Not so a program that started
 * others, because the calls may be theirs, and none that such a program started.
 */
#include "driver/driver.h"
#include "util/started.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

__attribute__((destructor)) static void say_unreached(void)
{
    const char *program = program_invocation_short_name;
    struct rusage children = {.ru_maxrss = 0};
    bool asked;
    const char *preload = gemm_preload(&asked);
    if (gemm_is_started() || !preload || !strstr(preload, "libdarknet-")) return;
    getrusage(RUSAGE_CHILDREN, &children);
    asked &= !children.ru_maxrss && !gemm_started_with(getppid(), "LD_PRELOAD", preload);
    if (asked || !strcmp(program, "darknet"))
        fprintf(stderr, "gemm: no call of '%s' reached LD_PRELOAD=%s, which reaches Darknet and "
                        "BLAS in shared libraries alone. For a program that holds Darknet itself "
                        "there are make patch and make wrap\n", program, preload);
}
