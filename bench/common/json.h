/* SPDX-License-Identifier: MIT */
/* The JSON that benchmarks write. */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include <stddef.h>
#include <stdio.h>

void json_string(FILE *, const char *text);                     /* "text" */
void json_field(FILE *, const char *key, const char *value);    /* "key": "value" */
void json_number(FILE *, const char *key, double value);        /* null when it is not finite */

/* Fields with a comma between two of them. */
void json_numbers(FILE *, size_t n, const char *const keys[], const double values[]);

#endif
