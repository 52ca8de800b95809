/* SPDX-License-Identifier: MIT */
/* The loops of the packed gemm around the micro-kernel: runs a whole job. */
#ifndef PACKED_LOOPS_H
#define PACKED_LOOPS_H

#include "gemm_dispatch.h"
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

/* ---- skinny.c ---- */

/* Calls whose C is one row, or one or two columns, and outer products. Each element of the matrix
   is used once or twice there, so nothing is packed: memory is the limit. */
typedef enum skinny_way {
    NOT_SKINNY,                 /* the tiles have to do it */
    SKINNY_ROWS,                /* rows of the matrix are added to C, which is one vector */
    SKINNY_DOTS,                /* each element of C is the dot product of two vectors */
    SKINNY_OUTER                /* K = 1: each row of C is a multiple of B added to it */
} skinny_way;

/* The way that suits the sizes, the transposes and the leading dimensions of a call. */
skinny_way packed_skinny_way(const gemm_call *);

/* Runs the call that way, which is not NOT_SKINNY, on up to `threads` threads. Returns 0, or -1
   without memory; C is then untouched. */
int packed_skinny(const gemm_call *, skinny_way, const gemm_ukernel *, int threads);

#endif
