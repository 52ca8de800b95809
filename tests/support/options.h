/* SPDX-License-Identifier: MIT */
/* Options of test programs. A bad value is one line on stderr and status 2. */
#ifndef TEST_OPTIONS_H
#define TEST_OPTIONS_H

#include "util/number.h"

#include <limits.h>
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

/* For a test of the micro-kernels of a row. */
typedef struct kernel_options {
    const char *isa;            /* of these alone; NULL: of all */
    int cases, seed;
} kernel_options;

/* Reads [--isa NAME] [--cases N] [--seed N] into *o, which has the defaults, and prints the last
   two. Anything else is status 2. */
static inline void kernel_options_read(int argc, char **argv, kernel_options *o)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = argv[i + 1];
        if (!strcmp(argv[i], "--isa") && value) o->isa = value;
        else if (!strcmp(argv[i], "--cases")) o->cases = option_int("--cases", value, 1);
        else if (!strcmp(argv[i], "--seed")) o->seed = option_int("--seed", value, 0);
        else {
            fprintf(stderr, "usage: %s [--isa NAME] [--cases N] [--seed N]\n", argv[0]);
            exit(2);
        }
    }
    printf("# seed %d, %d cases\n", o->seed, o->cases);
}

#endif
