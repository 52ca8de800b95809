/* 1x1 layers in lanes: a vector holds vl channels of one place (ukernel_lanes.h). And the weights
   of layers and chains, arranged for that. */
#ifndef PACKED_LANES_H
#define PACKED_LANES_H

#include "gemm_variant.h"
#include "packed/isa/ukernel.h"

typedef struct packed_lanes packed_lanes;

/*
 * The weights of a 1x1 layer as gemm_lanes.b, or of a depthwise layer as vectors of vl channels, a
 * tap after the other. Channels behind the last one have weights 0. Finds them in `kept`, or makes
 * and keeps them. If they cannot be kept, the caller frees *own. NULL: there is no memory.
 */
const float *packed_arrange(const conv_call *, const gemm_ukernel *, gemm_kept *kept,
                            packed_lanes **own);

/* NULL is allowed. */
void packed_free_lanes(packed_lanes *);

/* Whether each element of this 1x1 layer, computed as a packed_job, is one sum over k from the
   first to the last. In lanes it is such a sum too, so the bits are the same. */
bool packed_adds_in_order(const conv_call *, const gemm_ukernel *);

/* Whether this layer alone runs in lanes, with or without a plan. It is then a 1x1 layer with a
   small map. As a packed_job it would have tail columns, which are multiplied along K, or several
   blocks of K. */
bool packed_prefers_lanes(const conv_call *, const gemm_ukernel *);

/* Runs it. Returns -1 if there is no memory. */
int packed_lanes_conv(const conv_call *, const gemm_context *);

#endif
