/* SPDX-License-Identifier: MIT */
/*
 * What can run here: asked in a child process, because to ask loads other people's libraries, and
 * one of them may crash.
 */
#ifndef BENCH_PROBE_H
#define BENCH_PROBE_H

#include <stdio.h>

typedef struct probe {
    char reason[2048];          /* why the row cannot run here; "": it can */
    char version[256];          /* of the library behind the row; "": there is none */
    char device[2048];          /* that the row runs on, and its driver; "": the CPU */
} probe;

typedef enum probe_depth {
    PROBE_LIMITS,               /* compiles nothing: a program of OpenCL may fail later */
    PROBE_ALL                   /* compiles and tries the OpenCL programs of each row */
} probe_depth;

/* One for each row of gemm_variants; the caller frees them. NULL: no memory. */
probe *probe_rows(probe_depth);

/* One line of `gemm-bench --list` a row, tab-separated: name, usable or "unusable: reason", origin,
   summary with the device. */
void probe_list(const probe *, FILE *);

#endif
