/* SPDX-License-Identifier: MIT */
/* Numbers that a person types: see number.h. */
#include "util/number.h"

#include "util/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Whether the text starts with a digit, or with a minus and a digit, and is not hexadecimal. The
   test is needed because strtol and strtod skip blanks and take a plus, "0x10", "inf" and "nan". */
static bool begins_plainly(const char *text)
{
    if (*text == '-') ++text;
    return isdigit((unsigned char)*text) && !strpbrk(text, "xX");
}

bool gemm_parse_int(const char *text, int least, int most, int *n)
{
    char *end;
    if (!begins_plainly(text)) return false;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno || *end || value < least || value > most) return false;
    *n = (int)value;
    return true;
}

bool gemm_parse_double(const char *text, double least, double most, double *x)
{
    char *end;
    if (!begins_plainly(text)) return false;
    const locale_t host = gemm_begin_point();
    errno = 0;
    const double value = strtod(text, &end);
    gemm_end_point(host);
    if (errno || *end || !isfinite(value) || value < least || value > most) return false;
    *x = value;
    return true;
}

bool gemm_parse_bytes(const char *text, size_t *bytes)
{
    static const char units[] = "KMG";
    char *end;
    if (!isdigit((unsigned char)*text)) return false;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (errno || (*end && (!unit || end[1]))) return false;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (value > SIZE_MAX >> shift || (!shift && value == SIZE_MAX)) return false;
    *bytes = (size_t)value << shift;
    return true;
}
