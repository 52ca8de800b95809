/* Layers of stride 2 with few channels, such as the first one of a network: see band.c. */
#ifndef PACKED_BAND_H
#define PACKED_BAND_H

#include "gemm_variant.h"
#include "packed/ukernel.h"

/* Whether this layer runs so. */
bool packed_prefers_band(const conv_call *, const gemm_ukernel *);

/* Runs it. Returns -1 if there is no memory. */
int packed_band_conv(const conv_call *, const gemm_context *);

#endif
