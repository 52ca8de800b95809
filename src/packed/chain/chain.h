/* SPDX-License-Identifier: MIT */
/* A chain of convolutions of `packed`, by bands or by phases. */
#ifndef PACKED_CHAIN_H
#define PACKED_CHAIN_H

#include "packed/isa/quads.h"

/* How threads share a chain: see chain_work.c. */
typedef struct packed_chain_cut {
    bool by_phases;             /* else by bands */
    int pieces;                 /* of an image, 1 .. the rows of the output */
    int rows;                   /* bands: the most rows of the output in one; 0: as L2 allows */
    int step;                   /* phases: places of the output in a chunk of the second phase */
} packed_chain_cut;

/* The first of three convolutions in whole numbers of 8 bits: members of gemm_quads_nchwc. */
typedef struct packed_chain_quads {
    const gemm_quads *kernels;  /* their vl divides that of the context's micro-kernels */
    const gemm_quad *a;         /* the input: planes of all images, one behind the other */
    int (*round)(void *job, int threads);       /* writes them. -1: no memory */
    void *job;
    const gemm_quad *b;
    const int32_t *start;
    const float *scale, *shift;
} packed_chain_quads;

/*
 * 1x1, depthwise, 1x1, or the last two of these, and a shortcut behind them. The bits are those of
 * one layer after the other, and do not depend on the number of threads. Declines other layers, a
 * chain whose bits would differ, one that would not be faster, and any when there is no memory.
 */
gemm_row_chain gemm_packed_chain;

/* A convolution, a chain or a layer. */
gemm_row_run gemm_packed_run;

/* The same with quads, which may be NULL. Count is 3 with quads. */
gemm_status packed_chain(const conv_call *, int count, const layer_call *shortcut,
                         const packed_chain_quads *, const gemm_context *);

/* The same, cut in this way. NULL: as packed_chain. The tests use it. */
gemm_status packed_chain_by(const conv_call *, int count, const layer_call *shortcut,
                            const packed_chain_quads *, const packed_chain_cut *,
                            const gemm_context *);

#endif
