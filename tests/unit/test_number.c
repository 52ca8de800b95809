/* SPDX-License-Identifier: MIT */
/*
 * Numbers that a person types: what gemm_parse_int, gemm_parse_double and gemm_parse_bytes take,
 * and what they refuse.
 */
#include "support/report.h"
#include "util/number.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

typedef struct whole_case {
    const char *text;
    int least, most;
    bool right;
    int value;
} whole_case;

static const whole_case WHOLE[] = {
    {"0", 0, 9, true, 0},
    {"007", 0, 9, true, 7},
    {"-3", -5, 5, true, -3},
    {"2147483647", 0, INT_MAX, true, INT_MAX},
    {"-2147483648", INT_MIN, 0, true, INT_MIN},
    {"1", 1, 1, true, 1},
    /* out of range */
    {"0", 1, 9, false, 0},
    {"10", 1, 9, false, 0},
    {"-1", 0, 9, false, 0},
    {"2147483648", INT_MIN, INT_MAX, false, 0},
    {"-2147483649", INT_MIN, INT_MAX, false, 0},
    {"4294967297", INT_MIN, INT_MAX, false, 0},                 /* 1 in 32 bits */
    {"99999999999999999999", INT_MIN, INT_MAX, false, 0},       /* more than 64 bits */
    /* no whole decimal numbers */
    {"", INT_MIN, INT_MAX, false, 0},
    {" ", INT_MIN, INT_MAX, false, 0},
    {" 1", INT_MIN, INT_MAX, false, 0},
    {"1 ", INT_MIN, INT_MAX, false, 0},
    {"\n1", INT_MIN, INT_MAX, false, 0},
    {"+1", INT_MIN, INT_MAX, false, 0},
    {"-", INT_MIN, INT_MAX, false, 0},
    {"--1", INT_MIN, INT_MAX, false, 0},
    {"- 1", INT_MIN, INT_MAX, false, 0},
    {"0x10", INT_MIN, INT_MAX, false, 0},
    {"1e3", INT_MIN, INT_MAX, false, 0},
    {"1.0", INT_MIN, INT_MAX, false, 0},
    {"1,2", INT_MIN, INT_MAX, false, 0},
    {"2x", INT_MIN, INT_MAX, false, 0},
    {"two", INT_MIN, INT_MAX, false, 0},
};

typedef struct real_case {
    const char *text;
    double least, most;
    bool right;
    double value;
} real_case;

static const real_case REAL[] = {
    {"0", 0, 1, true, 0},
    {"0.5", 0, 1, true, 0.5},
    {"-2.25", -3, 0, true, -2.25},
    {"1e-3", 0, 1, true, 1e-3},
    {"2E2", 0, 200, true, 200},
    {"3.", 0, 9, true, 3},
    /* out of range */
    {"1.5", 0, 1, false, 0},
    {"-0.1", 0, 1, false, 0},
    {"1e99", 0, 1e6, false, 0},
    {"1e999", 0, 1e308, false, 0},
    {"1e-999", 0, 1, false, 0},
    /* no decimal numbers */
    {"", 0, 1e308, false, 0},
    {" ", 0, 1e308, false, 0},
    {" 1", 0, 1e308, false, 0},
    {"1 ", 0, 1e308, false, 0},
    {"+1", 0, 1e308, false, 0},
    {".5", 0, 1e308, false, 0},
    {"-", -1, 1e308, false, 0},
    {"0x1p3", 0, 1e308, false, 0},
    {"inf", 0, 1e308, false, 0},
    {"nan", 0, 1e308, false, 0},
    {"1e", 0, 1e308, false, 0},
    {"1.5s", 0, 1e308, false, 0},
    {"1,5", 0, 1e308, false, 0},
};

typedef struct bytes_case {
    const char *text;
    bool right;
    size_t value;
} bytes_case;

static const bytes_case BYTES[] = {
    {"0", true, 0},
    {"0G", true, 0},
    {"123", true, 123},
    {"1K", true, 1024},
    {"64M", true, 64 << 20},
    {"3G", true, (size_t)3 << 30},
    {"17179869183G", SIZE_MAX > UINT32_MAX, (size_t)17179869183u << 30},
    {"17179869184G", false, 0},                 /* 2^64 */
    {"18446744073709551615", false, 0},         /* SIZE_MAX */
    {"99999999999999999999", false, 0},
    {"", false, 0},
    {"M", false, 0},
    {" 1M", false, 0},
    {"1 M", false, 0},
    {"-1", false, 0},
    {"+1", false, 0},
    {"0x10", false, 0},
    {"1.5G", false, 0},
    {"64m", false, 0},
    {"64MB", false, 0},
    {"1T", false, 0},
};

/* A text that is refused must leave the number alone. */
static void test_whole(const whole_case *c)
{
    enum { BEFORE = -77 };
    char name[64];
    int n = BEFORE;
    snprintf(name, sizeof name, "whole '%s' from %d to %d",
             strcmp(c->text, "\n1") ? c->text : "\\n1", c->least, c->most);
    const bool right = gemm_parse_int(c->text, c->least, c->most, &n);
    const int expected = c->right ? c->value : BEFORE;
    report_that(name, right == c->right && n == expected, "%s as %d", right ? "taken" : "refused",
                n);
}

static void test_real(const real_case *c)
{
    const double before = -77.5;
    char name[64];
    double x = before;
    snprintf(name, sizeof name, "real '%s' from %g to %g", c->text, c->least, c->most);
    const bool right = gemm_parse_double(c->text, c->least, c->most, &x);
    const double expected = c->right ? c->value : before;
    report_that(name, right == c->right && x == expected, "%s as %g", right ? "taken" : "refused",
                x);
}

static void test_bytes(const bytes_case *c)
{
    enum { BEFORE = 77 };
    char name[64];
    size_t bytes = BEFORE;
    snprintf(name, sizeof name, "bytes '%s'", c->text);
    const bool right = gemm_parse_bytes(c->text, &bytes);
    const size_t expected = c->right ? c->value : BEFORE;
    report_that(name, right == c->right && bytes == expected, "%s as %zu",
                right ? "taken" : "refused", bytes);
}

int main(void)
{
    for (size_t i = 0; i < sizeof WHOLE / sizeof *WHOLE; ++i) test_whole(&WHOLE[i]);
    for (size_t i = 0; i < sizeof REAL / sizeof *REAL; ++i) test_real(&REAL[i]);
    for (size_t i = 0; i < sizeof BYTES / sizeof *BYTES; ++i) test_bytes(&BYTES[i]);
    return report_status();
}
