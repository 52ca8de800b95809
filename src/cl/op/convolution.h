/* SPDX-License-Identifier: MIT */
/*
 * One whole convolution on the OpenCL device, or a chain of two. For the OpenCL files only; called
 * with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_CONVOLUTION_H
#define GEMM_CL_CONVOLUTION_H

#include "cl/op/direct.h"
#include "cl/op/kept.h"

/* One call, from its start to its finish. */
typedef struct gemm_cl_conv_job {
    const conv_call *c;
    const conv_call *in;        /* whose input is read: c, or the depthwise layer before c */
    gemm_cl_kept *kept;         /* of the plan of c, or NULL */
    const gemm_cl_kept *depth_kept;     /* of the plan of the depthwise layer, or NULL */
    gemm_call g;                /* the shape of one product */
    int products;
    bool taps;                  /* B is not the input as it lies */
    gemm_cl_winograd winograd;  /* for a row with `winograd` */
    bool chosen;                /* the row by `cl`, so another one may stand in for it */
    gemm_cl_work w;
    gemm_cl_traits traits;      /* of the device. Groups are as small as those of a kernel that was
                                   built and not taken */
    gemm_cl_matrix a;           /* the weights */
    gemm_cl_packed packed;      /* of a row with `direct` */
    cl_mem norm, image;         /* n scales and n shifts; B of cl_image, where it is an image */
    int width, strips;          /* of the image: pixels a row, rows for a row of B */
    float *scale_shift;         /* norm, until it is uploaded */
    float slope;                /* the factor of the activation below 0 */
    cl_int logistic;
} gemm_cl_conv_job;

/* The two halves of a call, with the rules of cl/op/multiply.h. GEMM_DONE: all is enqueued, and
   gemm_cl_convolve_finish must follow. Else the call has ended. The output of GEMM_CL_BESIDE never
   stays on the device. The form, or NULL, is as in cl/op/multiply.h. */
gemm_status gemm_cl_convolve_start(gemm_cl_conv_job *, const conv_call *, const gemm_cl_row *,
                                   const gemm_cl_form *, gemm_cl_mode, const gemm_context *);

/* The same for a depthwise convolution, calls[0], and the 1x1 behind it. Only the second output is
   written. */
gemm_status gemm_cl_chain_start(gemm_cl_conv_job *, const conv_call *calls, const gemm_cl_row *,
                                const gemm_context *);

/* Ends both. take: see gemm_cl_multiply_finish. */
gemm_status gemm_cl_convolve_finish(gemm_cl_conv_job *, bool take, const gemm_context *);

/* Builds the kernel of a 1x1 layer with many channels, as most networks have one. NULL, or why the
   row cannot run it. */
const char *gemm_cl_build_layer(const gemm_cl_row *);

#endif
