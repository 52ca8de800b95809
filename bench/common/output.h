/* SPDX-License-Identifier: MIT */
/* A file of results that is written while a program measures. */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include <stdio.h>

/* Opens the file, which becomes empty. NULL, with errno, if that fails: EBUSY where another process
   still writes it. */
FILE *output_open(const char *path);

#endif
