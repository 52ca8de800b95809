/* SPDX-License-Identifier: MIT */
/* The command line of gemm-bench. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "gemm-bench/measure.h"
#include "common/results.h"
#include "common/shapes.h"

#include <stdbool.h>
#include <stdint.h>

enum { MAX_WIDTHS = 16 };

/* A row to be timed: "name", "name@threads", "name+VAR=value+VAR=value", or both, in this order. */
typedef struct bench_row {
    int variant;                /* index into gemm_variants */
    int threads;                /* 0: as --threads says */
    char *settings;             /* VAR=value+VAR=value, or NULL */
    char *label;                /* name and settings */
    bool named;                 /* by the user: it must be usable */
    bool apart;                 /* runs in a process of its own: `worker` */
    worker worker;
} bench_row;

typedef struct bench_options {
    bool list, list_shapes;
    shape_list shapes;
    char *shapes_text;          /* as they were asked for */
    bench_row *rows;
    size_t row_count;
    int threads[MAX_WIDTHS];
    int thread_count;           /* 0: GEMM_THREADS and its defaults */
    bool warm, cold;
    int samples;
    double seconds;             /* at most, for a row on a shape, once it has 3 samples */
    uint64_t seed;
    bool host_alloc;            /* memory as each row gets it in the patched Darknet */
    bool peaks;                 /* peak and bandwidth are measured */
    int peak_isa;               /* index into peak_isas; -1: GEMM_ISA, else the best */
    results_format format;
    const char *output;         /* NULL: standard output */
} bench_options;

/* Reads the command line; ends the program with a message and status 2 when it is wrong. */
void options_read(bench_options *, int argc, char **argv);
void options_free(bench_options *);

#endif
