/* SPDX-License-Identifier: MIT */
/* Options of test programs. A bad value is one line on stderr and status 2. */
#ifndef TEST_OPTIONS_H
#define TEST_OPTIONS_H

#include "util/number.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of an option that is a seed, a count or an index; `text` may be NULL. */
static inline int option_int(const char *option, const char *text, int least)
{
    int n;
    if (text && gemm_parse_int(text, least, INT_MAX, &n)) return n;
    fprintf(stderr, "%s '%s': a whole number from %d to %d is needed\n", option, text ? text : "",
            least, INT_MAX);
    exit(2);
}

/* For a test of random cases. */
typedef struct test_options {
    uint64_t seed;
    int cases, only_case;       /* only_case -1: all */
    int threads;                /* at most */
    const char *isa, *row;      /* of these alone; NULL: of all */
} test_options;

/* Takes an option of the program's own. False: its value is wrong. */
typedef bool own_option(const char *option, const char *value);

static inline bool is_allowed(const char *option, const char *allowed)
{
    const size_t n = strlen(option);
    for (const char *at = strstr(allowed, option); n > 2 && at; at = strstr(at + n, option))
        if (!at[n] || strchr(", ", at[n])) return true;
    return false;
}

/* Reads `--option value` pairs over the defaults. `allowed` names the options, such as
   "--seed, --cases, --brief"; what is no member above goes to `own`, which may be NULL. Anything
   else is status 2. */
static inline test_options options_read(int argc, char **argv, test_options o, const char *allowed,
                                        own_option *own)
{
    for (int i = 1; i < argc; i += 2) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        const bool known = is_allowed(option, allowed);
        if (known && !strcmp(option, "--seed")) o.seed = (uint64_t)option_int(option, value, 0);
        else if (known && !strcmp(option, "--cases")) o.cases = option_int(option, value, 0);
        else if (known && !strcmp(option, "--case")) o.only_case = option_int(option, value, 0);
        else if (known && !strcmp(option, "--threads")) o.threads = option_int(option, value, 1);
        else if (known && !strcmp(option, "--isa") && *value) o.isa = value;
        else if (known && !strcmp(option, "--row") && *value) o.row = value;
        else if (!known || !own || !own(option, value)) {
            fprintf(stderr, "%s: %s '%s': allowed are %s\n", argv[0], option, value, allowed);
            exit(2);
        }
    }
    return o;
}

#endif
