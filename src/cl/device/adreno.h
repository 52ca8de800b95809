/* SPDX-License-Identifier: MIT */
/*
 * Which Adreno a device is. Drivers tell the model in different texts, or not at all.
 */
#ifndef GEMM_CL_ADRENO_H
#define GEMM_CL_ADRENO_H

#include <stdbool.h>

/* What a device says of itself. None of the texts is NULL. */
typedef struct gemm_cl_texts {
    const char *name, *version, *c_version;
    unsigned vendor;            /* CL_DEVICE_VENDOR_ID */
} gemm_cl_texts;

typedef struct gemm_cl_adreno {
    bool is_one;
    const char *model;          /* points into one of the texts: "640", "642L", "X1-85"; or NULL */
    int length;                 /* of the model */
    int number;                 /* 642 for "642L"; 0: the model is not known, or has no number */
} gemm_cl_adreno;

/* Looks for the model in the name, then in the version, then in the C version. */
gemm_cl_adreno gemm_cl_find_adreno(const gemm_cl_texts *);

#endif
