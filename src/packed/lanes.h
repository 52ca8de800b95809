/* Weights of a chain's layers, arranged for maps in lanes. */
#ifndef PACKED_LANES_H
#define PACKED_LANES_H

#include "gemm_variant.h"
#include "packed/ukernel.h"

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

#endif
