/* SPDX-License-Identifier: MIT */
/* Rows of the image in S parts, for layers of stride S: pixels under a tap are then neighbours. */
#ifndef PACKED_PARTS_H
#define PACKED_PARTS_H

#include "gemm_dispatch.h"
#include "packed/isa/ukernel.h"

/* Whether a filter reads each part of a row. */
bool packed_reads_all_parts(const conv_call *);

/* The geometry of a channel's band. */
gemm_depthwise packed_band_of(const conv_call *, const gemm_ukernel *);

/* Packs nc places of kc rows of a strip, those from place j0 of the band's first row on. Channels
   lie `apart` floats apart in the band. */
void packed_pack_places(const gemm_depthwise *, const gemm_ukernel *, const float *band,
                        size_t apart, int first, int kc, int j0, int nc, float *strip);

#endif
