/* SPDX-License-Identifier: MIT */
/*
 * One whole convolution on the OpenCL device, or a chain of two, also with a shortcut behind it.
 * For the OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_CONVOLUTION_H
#define GEMM_CL_CONVOLUTION_H

#include "cl/op/ways.h"

/* One call, from its start to its finish. */
typedef struct gemm_cl_conv_job {
    const conv_call *c;
    const conv_call *in;        /* whose input is read: c, or the depthwise layer before c */
    const layer_call *shortcut; /* behind c, which then writes the shortcut's output; or NULL */
    conv_call summed;           /* c of a job with a shortcut */
    gemm_cl_op op;
    gemm_cl_decision decision;
    gemm_cl_sizes sizes;        /* under the row of the work */
    gemm_cl_kept *kept;         /* of the plan of c, or NULL */
    const gemm_cl_kept *depth_kept;     /* of the plan of the depthwise layer, or NULL */
    gemm_cl_work w;
    gemm_cl_matrix a;           /* the weights */
    cl_mem norm, image;         /* n scales and n shifts; B of cl_image, where it is an image */
    float *scale_shift;         /* norm, until it is uploaded */
    float slope;                /* the factor of the activation below 0 */
} gemm_cl_conv_job;

/* The two halves of a call, with the rules of cl/op/multiply.h. GEMM_DONE: all is enqueued, and
   gemm_cl_convolve_finish must follow. Else the call has ended. The form, or NULL, is as in
   cl/op/multiply.h.

   `shortcut` is NULL or the layer behind. Then only its output is written, in the bits of the two
   layers. That is declined without a plan, and where the row's kernel cannot add. */
gemm_status gemm_cl_convolve_start(gemm_cl_conv_job *, const conv_call *,
                                   const layer_call *shortcut, const gemm_cl_row *,
                                   const gemm_cl_form *, const gemm_context *);

/* The same for a depthwise convolution, calls[0], and the 1x1 behind it. Only the second output is
   written. */
gemm_status gemm_cl_chain_start(gemm_cl_conv_job *, const conv_call *calls,
                                const layer_call *shortcut, const gemm_cl_row *,
                                const gemm_context *);

/* Enqueues the launches from w.B to w.C, or to the parts of K in w.sums, without what adds these. 0
   or -1. */
int gemm_cl_convolve(gemm_cl_conv_job *);

/* Ends both. */
gemm_status gemm_cl_convolve_finish(gemm_cl_conv_job *, const gemm_context *);

/* Builds the kernel of a 1x1 layer with many channels, as most networks have one. NULL, or why the
   row cannot run it. */
const char *gemm_cl_build_layer(const gemm_cl_row *);

#endif
