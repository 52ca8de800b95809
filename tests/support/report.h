/*
 * What a test program prints: one line a test, "PASS name", "FAIL name: why" or "SKIP name: why".
 * tests/support/run.sh counts them. A program ends with report_status().
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int report_failures;

static inline void report_pass(const char *name)
{
    printf("PASS %s\n", name);
    fflush(stdout);
}

static inline void report_why(const char *verdict, const char *name, const char *format, va_list args)
{
    printf("%s %s: ", verdict, name);
    vprintf(format, args);
    putchar('\n');
    fflush(stdout);
}

__attribute__((format(printf, 2, 3)))
static inline void report_fail(const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_why("FAIL", name, format, args);
    va_end(args);
    ++report_failures;
}

__attribute__((format(printf, 2, 3)))
static inline void report_skip(const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_why("SKIP", name, format, args);
    va_end(args);
}

static inline int report_status(void)
{
    return report_failures != 0;
}

#endif
