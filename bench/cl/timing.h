/* SPDX-License-Identifier: MIT */
/*
 * Times a row for benchmarks, on data that is on the device already.
 */
#ifndef GEMM_CL_TIMING_H
#define GEMM_CL_TIMING_H

#include "cl/rows.h"
#include "gemm_variant.h"

typedef struct gemm_cl_times {
    double wall_ms;             /* of one call, the wait shared by all */
    double device_ms;           /* of one call's kernels, by events; 0: clblast has none for all */
    double kernel_ms;           /* of that the multiply alone, without packing and summing */
    char ran[64];               /* kernel, tile and parts */
} gemm_cl_times;

/* `reps` calls with one wait at the end give the wall time. As many calls after them give the time
   in kernels, because events with times make launches slower. Needs an open device, so
   gemm_cl_unusable(row) comes before. The product is added to C 2 * reps times. Returns 0, or -1
   when a call failed. */
int gemm_cl_time(const gemm_call *, const gemm_cl_row *, int reps, gemm_cl_times *);

#endif
