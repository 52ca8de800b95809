/* SPDX-License-Identifier: MIT */
/* The results of an earlier gemm-bench --json, to compare with: its raw samples. */
#ifndef BENCH_BASELINE_H
#define BENCH_BASELINE_H

#include "common/results.h"

typedef struct baseline baseline;

/*
 * Reads FILE. NULL with one line in `error` (of `size` bytes) where it cannot be read, or has no
 * result with samples.
 */
baseline *baseline_read(const char *file, char *error, size_t size);

/*
 * Finds the result with the row, the threads, the caches and the shape of `row`. Sets
 * row->baseline_s, its median in seconds, and row->baseline, the 95% interval of row->median_s over
 * it. Both stay as they are where there is none; an interval needs 6 samples of both.
 */
void baseline_compare(const baseline *, results_row *row, uint64_t seed);

/* Accepts NULL. */
void baseline_free(baseline *);

#endif
