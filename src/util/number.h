/* SPDX-License-Identifier: MIT */
/*
 * Numbers that a person types: environment variables and command lines. Every such number is parsed
 * by one of these functions.
 */
#ifndef GEMM_NUMBER_H
#define GEMM_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a decimal whole number from least to most with nothing before or behind it. Returns false
   and leaves *n alone for anything else: an empty text, blanks, letters, a number out of range. */
bool gemm_parse_int(const char *text, int least, int most, int *n);

/* The same for a finite decimal number such as 2, 0.5 or 1e-3. */
bool gemm_parse_double(const char *text, double least, double most, double *x);

/* The same for bytes: a whole number, and behind it K, M, G (of 1024, 1024^2, 1024^3) or nothing.
   From 0 to less than SIZE_MAX. */
bool gemm_parse_bytes(const char *text, size_t *bytes);

#endif
