/* SPDX-License-Identifier: MIT */
/*
 * What the OpenCL rows did so far, for benchmarks. Needs no OpenCL header.
 */
#ifndef GEMM_CL_COUNTS_H
#define GEMM_CL_COUNTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gemm_cl_counts {
    unsigned long waits;        /* calls of OpenCL that wait for the device */
    unsigned long launches;     /* of kernels */
    size_t bytes;               /* copied between the CPU and the device, or to its images */
    double kernel_ms;           /* time in kernels, by events */
} gemm_cl_counts;

/* Begins to count, at 0, or ends it. The time in kernels costs calls of OpenCL, so it is taken only
   while this is on. */
void gemm_cl_count(bool on);

/* What was counted since. A kernel counts from the next wait on. */
gemm_cl_counts gemm_cl_counted(void);

#endif
