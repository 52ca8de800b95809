/*
 * What gemm-bench prints: text for people, CSV and JSON for programs (DESIGN.md, "Outputs that
 * programs read"). CSV and JSON have the same columns. A value that is not there is - in text,
 * nothing in CSV and null in JSON. The heading of a CSV goes to standard error.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "machine.h"
#include "peak.h"
#include "shapes.h"

#include <stdint.h>
#include <stdio.h>

typedef enum report_format { REPORT_TEXT, REPORT_CSV, REPORT_JSON } report_format;

/* How fast the machine is with so many threads. */
typedef struct report_width {
    int threads;
    double gflops[8];           /* for each of peak_isas; below 0: this processor has it not */
    peak_bandwidth bandwidth;
} report_width;

typedef struct report_head {
    machine machine;
    const char *time;           /* when the run began */
    const char *shapes;         /* what was asked for */
    uint64_t seed;
    int peak_isa;               /* whose peak the percentages mean */
    report_width *widths;
    int width_count;
    struct {
        const char *name, *version;
    } versions[8];
    int version_count;
} report_head;

/* One row of the table on one shape, or (totals) on all of them. */
typedef struct report_row {
    const char *impl;           /* with its environment, if it has one of its own */
    const char *cache;          /* warm or cold */
    const char *status;         /* ok, declined, wrong, failed */
    const char *text;           /* why, when it is not ok; else "" */
    const char *ran;            /* the row that worked, when this one only chooses; else "" */
    shape shape;
    int threads, samples;
    /* below 0: not known */
    double median_s, min_s, mad_s, first_s, cycles;
    double flops, bytes;        /* of the time above */
    double base_s;              /* the first row's median here */
} report_row;

typedef struct report {
    FILE *out;
    report_format format;
    const report_head *head;
    int results;                /* printed so far */
    shape block;                /* the shape whose heading was printed last */
} report;

void report_begin(report *, FILE *, report_format, const report_head *);
void report_result(report *, const report_row *);

/* Totals: `shapes` of `of` were measured. Only text and JSON have them. */
void report_totals_begin(report *);
void report_total(report *, const report_row *, long calls, int shapes, int of);

/* Ends it. `complete` is false after Ctrl-C. 0, or -1 when something could not be written. */
int report_end(report *, bool complete);

/* GFLOP/s and GB/s that so many threads reach at best, or below 0. */
double report_peak(const report_head *, int threads);
double report_bandwidth(const report_head *, int threads);

#endif
