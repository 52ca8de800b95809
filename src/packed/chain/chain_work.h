/* SPDX-License-Identifier: MIT */
/* The work of a chain that chain.c has decided to run. chain_work.c explains it. */
#ifndef PACKED_CHAIN_WORK_H
#define PACKED_CHAIN_WORK_H

#include "packed/chain/chain.h"

enum { PACKED_CHAIN_MOST = 3 };         /* layers */

typedef struct packed_chain_job {
    const conv_call *expand;            /* NULL: the depthwise layer reads the input */
    const conv_call *depth, *project;
    const layer_call *shortcut;         /* NULL: none */
    const float *expand_w, *depth_w, *project_w;    /* arranged: nchwc.h */
    const packed_chain_quads *quads;    /* of expand, or NULL: it is a product of floats */
    float *output;                      /* of the last layer */
    const gemm_ukernel *u;
    bool declined;                      /* the layers run one by one */
    packed_chain_cut cut;
    int rows;                           /* the most rows of the output in a band */
    int groups, out_groups;             /* of vl channels: inner maps, output */
    int wide_rows, pitch;               /* of a band: rows, and floats in a row */
    size_t wide_ld, deep_ld, narrow_ld; /* floats of a group of wide, of deep and of the output.
                                           In phases deep has all rows of the map */
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
