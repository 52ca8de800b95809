/* SPDX-License-Identifier: MIT */
/* Rows by turns on one shape, with the data on the device: for bench_cl and its tables. */
#ifndef BENCH_CL_TIMES_H
#define BENCH_CL_TIMES_H

#include "cl/timing.h"
#include "common/shapes.h"

#include <stdbool.h>

typedef struct named_row {
    const char *name;
    const gemm_cl_row *row;
} named_row;

enum { TIMES_ROUNDS = 5 };

/* What one row took. `median` is the round of the median wall time. */
typedef struct measured {
    gemm_cl_times all[TIMES_ROUNDS], median;
    double low, high;           /* wall, ms */
    int reps;                   /* calls to one wait */
    bool failed;                /* it cannot run here, or a call failed: no time is valid */
} measured;

/* Times all rows on the shape in turns, calls enough for 20 ms to one wait. `out` has room for
   `count`. */
void times_measure(shape_size, const named_row *, int count, measured *out);

/* C += A * B of this size. The matrices are random and in memory of gemm_host_alloc; without
   memory the program ends. */
gemm_call times_make_call(shape_size);
void times_free_call(gemm_call *);

double times_gflop(shape_size);

#endif
