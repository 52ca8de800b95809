/* SPDX-License-Identifier: MIT */
/* Weights that are kept for a layer. */
#ifndef PACKED_MEMORY_H
#define PACKED_MEMORY_H

#include "gemm_variant.h"

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

#endif
