/* SPDX-License-Identifier: MIT */
/* Rows that fail where the caller can go on: see failure.h. */
#include "driver/failure.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

void gemm_say_failed(const char *format, ...)
{
    static atomic_bool said;
    char line[512];
    va_list args;
    if (atomic_exchange(&said, true)) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "gemm: %s\n", line);
}
