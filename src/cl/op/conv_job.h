/* SPDX-License-Identifier: MIT */
/* A convolution on the OpenCL device: what is known of a call while it runs. */
#ifndef GEMM_CL_CONV_JOB_H
#define GEMM_CL_CONV_JOB_H

#include "cl/op/direct.h"
#include "cl/op/kept.h"

/* One call, from its start to its finish. */
typedef struct gemm_cl_conv_job {
    const conv_call *c;
    const conv_call *in;        /* whose input is read: c, or the depthwise layer before c */
    const layer_call *shortcut; /* behind c, which then writes the shortcut's output; or NULL */
    conv_call summed;           /* c of a job with a shortcut */
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
} gemm_cl_conv_job;

#endif
