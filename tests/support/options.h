/* Options of test programs. A bad value is one line on stderr and status 2. */
#ifndef TEST_OPTIONS_H
#define TEST_OPTIONS_H

#include "util/number.h"

#include <stdio.h>
#include <stdlib.h>

/* The value of an option that is a seed, a count or an index. */
static inline int option_int(const char *option, const char *value)
{
    enum { MOST = 999999999 };
    int n;
    if (gemm_parse_int(value, 0, MOST, &n)) return n;
    fprintf(stderr, "%s '%s': a whole number from 0 to %d is needed\n", option, value, MOST);
    exit(2);
}

#endif
