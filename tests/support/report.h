/* SPDX-License-Identifier: MIT */
/*
 * What a test program prints: TAP, the Test Anything Protocol. tests/support/run.sh and `prove`
 * read it. Each test is one line: "ok 1 - name", "not ok 1 - name" or "ok 1 - name # SKIP why". The
 * plan, "1..N", comes at the end. Without it a reader knows that the program died. A program ends
 * with report_status().
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int report_tests, report_failures;

static inline void report_pass(const char *name)
{
    printf("ok %d - %s\n", ++report_tests, name);
    fflush(stdout);
}

static inline void report_failed(const char *name, const char *format, va_list args)
{
    char why[2048];
    vsnprintf(why, sizeof why, format, args);
    printf("not ok %d - %s\n# ", ++report_tests, name);
    for (const char *c = why; *c; ++c) {
        putchar(*c);
        if (*c == '\n') fputs("# ", stdout);
    }
    putchar('\n');
    fflush(stdout);
    ++report_failures;
}

/* The reason follows as a comment. */
__attribute__((format(printf, 2, 3)))
static inline void report_fail(const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_failed(name, format, args);
    va_end(args);
}

/* A pass where it is right, else a failure with this reason. */
__attribute__((format(printf, 3, 4), unused))
static inline void report_that(const char *name, bool right, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (right) report_pass(name);
    else report_failed(name, format, args);
    va_end(args);
}

/* `wrong`: the reason, or NULL for a pass. */
__attribute__((unused))
static inline void report_judged(const char *name, const char *wrong)
{
    if (wrong) report_fail(name, "%s", wrong);
    else report_pass(name);
}

/* A pass where it is right, else a failure with this reason. */
__attribute__((format(printf, 3, 4), unused))
static inline void report_right(const char *name, bool right, const char *format, ...)
{
    char why[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    report_judged(name, right ? NULL : why);
}

static inline void report_skipped(const char *name, const char *kind, const char *format,
                                  va_list args)
{
    printf("ok %d - %s # SKIP %s", ++report_tests, name, kind);
    vprintf(format, args);
    putchar('\n');
    fflush(stdout);
}

/* Something is missing that can be installed: a failure under GEMM_REQUIRE=all. */
__attribute__((format(printf, 2, 3)))
static inline void report_skip(const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_skipped(name, "", format, args);
    va_end(args);
}

/* This processor or system cannot have it: never a failure, unless GEMM_REQUIRE names it. */
__attribute__((format(printf, 2, 3), unused))
static inline void report_skip_machine(const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_skipped(name, "machine: ", format, args);
    va_end(args);
}

/* A row cannot run, and this is why. What a device or a processor lacks cannot be installed, and
   scales are of a network. */
__attribute__((unused))
static inline void report_unusable(const char *name, const char *reason)
{
    static const char *const machine[] = {"the OpenCL device has ", "this processor has ",
                                          "GEMM_INT8 "};
    for (size_t i = 0; i < sizeof machine / sizeof *machine; ++i) {
        if (strncmp(reason, machine[i], strlen(machine[i]))) continue;
        report_skip_machine(name, "%s", reason);
        return;
    }
    report_skip(name, "%s", reason);
}

/* Prints the plan; the program's exit status. */
static inline int report_status(void)
{
    printf("1..%d\n", report_tests);
    fflush(stdout);
    return report_failures != 0;
}

#endif
