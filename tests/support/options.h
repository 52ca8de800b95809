/* SPDX-License-Identifier: MIT */
/* Options of test programs. A bad value is one line on stderr and status 2. */
#ifndef TEST_OPTIONS_H
#define TEST_OPTIONS_H

#include "util/number.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* The value of an option that is a seed, a count or an index; `text` may be NULL. */
static inline int option_int(const char *option, const char *text, int least)
{
    int n;
    if (text && gemm_parse_int(text, least, INT_MAX, &n)) return n;
    fprintf(stderr, "%s '%s': a whole number from %d to %d is needed\n", option, text ? text : "",
            least, INT_MAX);
    exit(2);
}

#endif
