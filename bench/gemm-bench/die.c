/* SPDX-License-Identifier: MIT */
/* How gemm-bench ends after an error: see die.h. */
#include "gemm-bench/die.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void bench_die(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("gemm-bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(status);
}

void *bench_check_memory(void *p)
{
    if (!p) bench_die(BENCH_FAILED, "out of memory");
    return p;
}
