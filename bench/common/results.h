/* SPDX-License-Identifier: MIT */
/*
 * What gemm-bench prints: text for people, CSV and JSON for programs. CSV and JSON have the same
 * columns. JSON has the samples too. A value that is not known is - in
 * text, nothing in CSV and null in JSON. The heading of a CSV goes to standard error.
 */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include "common/machine.h"
#include "common/peak.h"
#include "common/shapes.h"
#include "common/stats.h"

#include <stdint.h>
#include <stdio.h>

typedef enum results_format { RESULTS_TEXT, RESULTS_CSV, RESULTS_JSON } results_format;

/* How fast the machine is with so many threads. */
typedef struct results_width {
    int threads;
    double gflops[8];           /* the best for each of peak_isas; below 0: not measured here */
    peak_bandwidth bandwidth;   /* below 0: not measured */
} results_width;

typedef struct results_head {
    machine machine;
    const char *time;           /* when the run began */
    const char *shapes;         /* what was asked for */
    uint64_t seed;
    const char *memory;         /* where the matrices are from */
    int peak_isa;               /* whose peak the percentages mean */
    results_width *widths;
    int width_count;
    struct {
        const char *name, *version;
    } versions[8];
    int version_count;
    int label_width;            /* of the longest row's name, for text */
} results_head;

/* One row of the table on one shape, or (totals) on all of them. Numbers not known are NAN. */
typedef struct results_row {
    const char *impl;           /* with its environment, if it has one of its own */
    const char *cache;          /* warm or cold */
    const char *status;         /* ok, declined, wrong, failed */
    const char *text;           /* why, when it is wrong or failed; else "" */
    const char *ran;            /* the row or kernel that worked when it was another one, else "" */
    shape shape;
    int threads, samples;
    double median_s, min_s, mad_s, first_s, cycles;
    double flops, bytes;        /* of the time above */
    double peak_s;              /* what so many FLOPs take at the peak of that moment */
    double base_s;              /* the first row's median here */
    stats_interval speedup;     /* 95% interval of base_s / median_s; {0, 0}: not known */
    const double *sample_s;     /* in the order in which they were taken; NULL: none */
    const int *sample_rounds;
} results_row;

typedef struct results {
    FILE *out;
    results_format format;
    const results_head *head;
    int results;                /* printed so far */
    shape block;                /* the shape whose heading was printed last */
    int error;                  /* errno of the first write that failed, or 0 */
} results;

void results_begin(results *, FILE *, results_format, const results_head *);
void results_add(results *, const results_row *);

/* Totals: `shapes` of `of` were measured. Only text and JSON have them. */
void results_totals_begin(results *);
void results_total(results *, const results_row *, long calls, int shapes, int of);

/* Ends it. `complete` is false after Ctrl-C. 0, or errno of what could not be written. */
int results_end(results *, bool complete);

#endif
