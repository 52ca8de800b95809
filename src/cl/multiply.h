/*
 * One multiply on the OpenCL device, step by step. For the OpenCL files only; called with
 * gemm_cl_lock held, while the device is open.
 *
 *   start      the row, its kernel, and panels of B
 *   show       the memory policy shows A, B and C to the device
 *   enqueue    all kernels
 *   result     one wait, for C (policy->result)
 *   end
 */
#ifndef GEMM_CL_MULTIPLY_H
#define GEMM_CL_MULTIPLY_H

#include "cl/panels.h"

typedef struct gemm_cl_job {
    const gemm_call *g;
    gemm_cl_work w;
    gemm_cl_matrix a, b, c;
    int K;                      /* as the kernel steps through it: padded, or g->K */
    gemm_cl_panels panels;
    int part;                   /* of the parts in w.sums, so far */
} gemm_cl_job;

/* Chooses and builds the kernel. NULL, or why the device cannot run the row; nothing is held. */
const char *gemm_cl_plan(gemm_cl_job *, const gemm_call *, const gemm_cl_row *);

/* All further steps return 0, or -1 after saying why. gemm_cl_end_job follows in any case. */
int gemm_cl_start(gemm_cl_job *, const gemm_call *, const gemm_cl_row *);

/* resident: B goes to the device even where the CPU could write it into images. */
int gemm_cl_show(gemm_cl_job *, bool resident);
int gemm_cl_enqueue(gemm_cl_job *);
gemm_status gemm_cl_end_job(gemm_cl_job *, bool failed, gemm_note *);

/* All steps. */
gemm_status gemm_cl_multiply(const gemm_call *, const gemm_cl_row *, gemm_note *);

#endif
