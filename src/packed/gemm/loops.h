/* SPDX-License-Identifier: MIT */
/* The loops of the packed gemm around the micro-kernel: runs a whole job. */
#ifndef PACKED_LOOPS_H
#define PACKED_LOOPS_H

#include "packed/gemm/plan.h"

/*
 * Runs the job on up to `threads` threads, at least 1. The result does not depend on their number,
 * to the bit. Returns 0, or -1 when there is no memory; C is then untouched.
 */
int packed_run(const packed_job *, const gemm_ukernel *, int threads);

/* The same with a plan that was made for as many threads, and for this job or for one that differs
   in addresses only. */
int packed_run_as(const packed_job *, const packed_plan *, int threads);

/* The same on the calling thread alone, with PACKED_SCRATCH_BYTES of scratch and a plan for one
   thread. */
void packed_run_here(const packed_job *, const packed_plan *, void *scratch);

#endif
