/* SPDX-License-Identifier: MIT */
/* Weights that are kept for a layer. */
#ifndef PACKED_MEMORY_H
#define PACKED_MEMORY_H

#include "gemm_variant.h"

#include <limits.h>

/* Weights of a layer as some micro-kernels read them. */
typedef struct packed_form {
    const void *of;             /* the micro-kernels, */
    int how;                    /* and which of their forms */
    size_t bytes;
    bool (*make)(void *weights, const void *job);       /* False: they cannot be made */
} packed_form;

/* The weights in this form, from a cache line on: those in `kept`, or made and kept. What cannot be
   kept, the caller frees by *own, which else is NULL. NULL: no memory, or `make` failed. */
void *packed_keep(gemm_kept *kept, const packed_form *, const void *job, void **own);

/* The weights in this form, of which *made parts are made, and the caller makes others. Where
   nothing is kept, this is new memory without a part. The caller counts *made up, and ends with
   PACKED_WHOLE: packed_keep returns only whole weights. NULL: nothing can be kept. */
enum { PACKED_WHOLE = INT_MAX };
void *packed_keep_parts(gemm_kept *kept, const packed_form *, int **made);

#endif
