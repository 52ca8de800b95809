/* SPDX-License-Identifier: MIT */
/*
 * One multiply on the OpenCL device. For the OpenCL files only; called with gemm_cl_lock held,
 * while the device is open.
 *
 *   gemm_cl_multiply_start
 *     prepare    the row, its kernel, and panels of B
 *     show       the memory policy shows A, B and C to the device
 *     enqueue    all kernels
 *     ask        the transfer of C (policy->ask)
 *     confirm    that A is what the device keeps of it; else all again
 *   gemm_cl_multiply_finish
 *     take       one wait, for C (gemm_cl_take_output)
 *     end
 */
#ifndef GEMM_CL_MULTIPLY_H
#define GEMM_CL_MULTIPLY_H

#include "cl/op/panels.h"
#include "cl/op/ways.h"

typedef struct gemm_cl_job {
    const gemm_call *g;
    const gemm_cl_row *asked;   /* the row of the call; w.row is the one that runs */
    gemm_cl_work w;
    gemm_cl_matrix a, b, c;
    int K;                      /* as the kernel steps through it: padded, or g->K */
    gemm_cl_panels panels;
    int part;                   /* of the parts in w.sums, so far */
    char weighed[64];           /* for the note */
} gemm_cl_job;

/* Chooses and builds the kernel. NULL, or why the device cannot run the row; nothing is held.
   `form`: what was measured for the call, which is taken where it can run; or NULL. It lasts until
   the call ends. */
const char *gemm_cl_build_job(gemm_cl_job *, const gemm_call *, const gemm_cl_row *,
                              const gemm_cl_form *);

/* The steps of K and the panels of B for the row of the work. 0, or -1 without memory. */
int gemm_cl_lay_out_job(gemm_cl_job *);

/* All further steps return 0, or -1 after saying why. gemm_cl_end_job follows in any case. */
int gemm_cl_prepare(gemm_cl_job *, const gemm_call *, const gemm_cl_row *, const gemm_cl_form *);

int gemm_cl_show(gemm_cl_job *, gemm_cl_mode);
int gemm_cl_enqueue_product(gemm_cl_job *);     /* all but what adds parts of K */
int gemm_cl_enqueue(gemm_cl_job *);
gemm_status gemm_cl_end_job(gemm_cl_job *, bool failed, gemm_note *);

/* All steps, in two halves. The job and the call last until the second half. Between them the
   caller keeps the lock, and changes neither A nor B. */

/* GEMM_DONE: all is enqueued, and gemm_cl_multiply_finish must follow. Else the call has ended. */
gemm_status gemm_cl_multiply_start(gemm_cl_job *, const gemm_call *, const gemm_cl_row *,
                                   const gemm_cl_form *, gemm_cl_mode, const gemm_context *);

gemm_status gemm_cl_multiply_finish(gemm_cl_job *, gemm_note *);

#endif
