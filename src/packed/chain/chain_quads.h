/* SPDX-License-Identifier: MIT */
/* The part of a chain that is in 8 bits. */
#ifndef PACKED_CHAIN_QUADS_H
#define PACKED_CHAIN_QUADS_H

#include "packed/isa/quads.h"

/* The first of three convolutions in whole numbers of 8 bits: members of gemm_quads_nchwc. */
typedef struct packed_chain_quads {
    const gemm_quads *kernels;  /* their vl divides that of the context's micro-kernels */
    float inverse;              /* 1 / the step of its input */
    int zero;                   /* and its byte of 0 */
    const gemm_quad *b;
    const int32_t *start;
    const float *scale, *shift;
} packed_chain_quads;

#endif
