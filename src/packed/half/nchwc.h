/* SPDX-License-Identifier: MIT */
/* 1x1 layers of small maps, and chains, in nchwc and in pairs. */
#ifndef HALF_NCHWC_H
#define HALF_NCHWC_H

#include "gemm_variant.h"
#include "packed/isa/pairs.h"

/* Whether all products of these layers can be computed so. */
bool packed_half_nchwc_fits(const conv_call *, int count);

/* A layer that takes the way `nchwc` under `packed`. Returns 0, or -1 without memory. */
int packed_half_nchwc(const conv_call *, const gemm_pairs *, const gemm_context *);

/* A chain whose products are all in pairs. */
gemm_status packed_half_nchwc_chain(const conv_call *, int count, const layer_call *shortcut,
                                    const gemm_pairs *, const gemm_context *);

#endif
