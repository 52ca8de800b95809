/* Ends the program after an error: see die.h. */
#include "util/die.h"

#include "util/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void gemm_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("gemm: ", stderr);
    const locale_t host = gemm_begin_point();
    vfprintf(stderr, format, args);
    gemm_end_point(host);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}
