/*
 * One whole convolution on the OpenCL device. For the OpenCL files only; called with gemm_cl_lock
 * held, while the device is open.
 */
#ifndef GEMM_CL_CONVOLUTION_H
#define GEMM_CL_CONVOLUTION_H

#include "cl/kept.h"

typedef struct gemm_cl_conv_job {
    const conv_call *c;
    const conv_call *in;            /* whose input is read: c, or the depthwise layer before c */
    gemm_cl_kept *kept;        /* or NULL */
    const gemm_cl_kept *depth_kept;    /* of the depthwise layer, or NULL */
    gemm_call g;                    /* the shape of one product */
    int products, K;
    bool taps;                      /* B is not the input as it lies */
    bool pools;                     /* the row's kernel or cl_sum stores the maxima of c->pool */
    gemm_cl_winograd winograd;      /* for a row with `winograd` */
    gemm_cl_work w;
    gemm_cl_matrix a;               /* the weights */
    cl_mem norm, image;
    int width, strips;              /* of the image: pixels a row, rows for a row of B */
    float *scale_shift;             /* norm, until it is uploaded */
    float slope;                    /* of the activation below 0 */
    cl_int logistic;
} gemm_cl_conv_job;

/* The two halves of a call, with the rules of cl/multiply.h. GEMM_DONE: all is enqueued, and
   gemm_cl_convolve_finish must follow. Else the call has ended. The output of GEMM_CL_BESIDE never
   stays on the device. */
gemm_status gemm_cl_convolve_start(gemm_cl_conv_job *, const conv_call *, const gemm_cl_row *,
                                   gemm_cl_mode, const gemm_context *);

/* A depthwise convolution and the 1x1 behind it, of which only the second output is written. Ends
   as the other one. */
gemm_status gemm_cl_chain_start(gemm_cl_conv_job *, const conv_call *calls, const gemm_cl_row *,
                                const gemm_context *);

gemm_status gemm_cl_convolve_finish(gemm_cl_conv_job *, bool take, const gemm_context *);

#endif
