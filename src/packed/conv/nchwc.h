/* SPDX-License-Identifier: MIT */
/* 1x1 layers in nchwc: a vector holds vl channels of one place (ukernel_nchwc.h). And the weights
   of layers and chains, arranged for that. */
#ifndef PACKED_NCHWC_H
#define PACKED_NCHWC_H

#include "gemm_variant.h"
#include "packed/isa/ukernel.h"

/*
 * The weights of a 1x1 layer as gemm_nchwc.b, or of a depthwise layer as vectors of vl channels, a
 * tap after the other. Channels behind the last one have weights 0. Those of a 1x1 layer are pairs
 * where the product is one of pairs: as gemm_pairs.nchwc reads them. `kept` and `own` are those of
 * packed_keep. NULL: there is no memory.
 */
const float *packed_arrange(const conv_call *, const gemm_ukernel *, gemm_kept *kept, void **own);

/* Whether each element of this 1x1 layer, computed as a packed_job, is one sum over k from the
   first to the last. In nchwc it is such a sum too, so the bits are the same. */
bool packed_adds_in_order(const conv_call *, const gemm_ukernel *);

/* Whether this layer alone runs in nchwc, with or without a plan. It is then a 1x1 layer with a
   small map. As a packed_job it would have tail columns, which are multiplied along K, or several
   blocks of K. */
bool packed_prefers_nchwc(const conv_call *, const gemm_ukernel *);

#endif
