/* Layers with few channels, such as the first one of a network: see banded.c. */
#ifndef PACKED_BANDED_H
#define PACKED_BANDED_H

#include "gemm_variant.h"
#include "packed/isa/ukernel.h"

/* Whether this layer can run so: no 1x1, one group, no logistic, and its band fits the scratch. */
bool packed_can_band(const conv_call *, const gemm_ukernel *);

/* Runs a layer that can. Returns -1 if there is no memory. */
int packed_band_conv(const conv_call *, const gemm_context *);

#endif
