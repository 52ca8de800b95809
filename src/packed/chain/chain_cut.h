/* SPDX-License-Identifier: MIT */
/* How threads share a chain: by bands or by phases, see chain_work.c. */
#ifndef PACKED_CHAIN_CUT_H
#define PACKED_CHAIN_CUT_H

#include "gemm_variant.h"
#include "packed/isa/ukernel.h"

#include <stdbool.h>

typedef struct packed_chain_cut {
    bool by_phases;
    int pieces;                 /* of an image, 1 .. the rows of the output */
    int rows;                   /* bands: the most rows of the output in one; 0: as L2 allows */
    int step;                   /* phases: places of the output in a chunk of the second phase */
} packed_chain_cut;

/* expand may be NULL. threads is at least 1. */
packed_chain_cut packed_cut_chain(const conv_call *expand, const conv_call *depth,
                                  const conv_call *project, const gemm_ukernel *, int threads);

#endif
