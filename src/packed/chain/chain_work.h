/* SPDX-License-Identifier: MIT */
/* The work of a chain that chain.c has decided to run. chain_work.c explains it. */
#ifndef PACKED_CHAIN_WORK_H
#define PACKED_CHAIN_WORK_H

#include "packed/isa/quads.h"

/* How threads share a chain: see chain_work.c. */
typedef struct packed_chain_cut {
    bool by_phases;             /* else by bands */
    int pieces;                 /* of an image, 1 .. the rows of the output */
    int rows;                   /* bands: the most rows of the output in one; 0: as L2 allows */
    int step;                   /* phases: places of the output in a chunk of the second phase */
} packed_chain_cut;

/* A 1x1 layer in whole numbers of 8 bits: members of gemm_quads_nchwc. */
typedef struct packed_chain_product {
    const gemm_quad *b;
    const int32_t *start;
    const float *scale, *shift;
} packed_chain_product;

/* The 1x1 layers of a chain that are so. */
typedef struct packed_chain_quads {
    const gemm_quads *kernels;  /* their vl divides that of the context's micro-kernels */
    const packed_chain_product *expand, *project;   /* NULL: one of floats */
    const gemm_quad *a;         /* of expand: planes of all images, one behind the other */
    int (*round)(void *job, int threads);       /* writes them. -1: no memory */
    void *job;
    float inverse;              /* of project: 1 / SCALE, and ZERO */
    int zero;
} packed_chain_quads;

enum { PACKED_CHAIN_MOST = 3 };         /* layers */

typedef struct packed_chain_job {
    const conv_call *expand;            /* NULL: the depthwise layer reads the input */
    const conv_call *depth, *project;
    const layer_call *shortcut;         /* NULL: none */
    const float *expand_w, *depth_w, *project_w;    /* arranged: nchwc.h */
    const packed_chain_quads *quads;    /* NULL: none is in 8 bits */
    const packed_chain_product *expand_q, *project_q;   /* its own; in phases, of some channels */
    float *output;                      /* of the last layer */
    gemm_lanes lanes;                   /* which of input and output are in nchwc */
    const gemm_ukernel *u;
    bool declined;                      /* the layers run one by one */
    packed_chain_cut cut;
    int rows;                           /* the most rows of the output in a band */
    int groups, out_groups;             /* of vl channels: inner maps, output */
    int wide_rows, pitch;               /* of a band: rows, and floats in a row */
    size_t wide_ld, deep_ld, narrow_ld; /* floats of a group of wide, of deep and of the output.
                                           In phases deep has all rows of the map */
    size_t quads_ld;                    /* quads of a plane of deep in 8 bits; 0: it stays floats */
} packed_chain_job;

/* The cut of the least estimated time: chain_cut.c. expand may be NULL. */
packed_chain_cut packed_cut_chain(const conv_call *expand, const conv_call *depth,
                                  const conv_call *project, const gemm_ukernel *, int threads);

/* From the layers and the cut: rows of a band, groups and distances. No addresses. False: the
   scratch of a thread is too small. */
bool packed_chain_set_sizes(packed_chain_job *);

/* Arranges the weights, or takes those that are kept, and computes the output. False: there is no
   memory, and the output is unchanged. */
bool packed_chain_run(packed_chain_job *, const conv_call *, int count, const gemm_context *);

#endif
