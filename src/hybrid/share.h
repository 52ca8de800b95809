/* SPDX-License-Identifier: MIT */
/*
 * The device's share of a call, by what earlier calls of the same shape measured.
 *
 * Any thread may call at any time.
 */
#ifndef GEMM_SHARE_H
#define GEMM_SHARE_H

#include "op/shape.h"

/* What one call took, by the CPU's clock. */
typedef struct gemm_shared_times {
    double share;               /* the device's, 0 to 1, as the call was cut */
    double call_ms;             /* the whole call */
    bool first;                 /* the times are not those of this share alone */
    bool failed;                /* the device computed nothing */
} gemm_shared_times;

/* The share that the next call of this shape should give the device, 0 to 1. Between them it is a
   multiple of `step`, the smallest share. */
double gemm_share_of(const gemm_shape *, double step);

/* Learns from a call that ended. */
void gemm_share_learn(const gemm_shape *, const gemm_shared_times *);

/* For tests: forgets all that was learned. */
void gemm_share_forget(void);

#endif
