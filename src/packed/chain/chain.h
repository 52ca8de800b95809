/* SPDX-License-Identifier: MIT */
/* A chain of convolutions of `packed`, by bands or by phases. */
#ifndef PACKED_CHAIN_H
#define PACKED_CHAIN_H

#include "packed/chain/chain_work.h"

/*
 * 1x1, depthwise, 1x1, or the last two of these, and a shortcut behind them. The bits are those of
 * one layer after the other, and do not depend on the number of threads. Declines other layers, a
 * chain whose bits would differ, one that would not be faster, and any when there is no memory.
 */
gemm_row_chain gemm_packed_chain;

/* A convolution, a chain or a layer. */
gemm_row_run gemm_packed_run;

/* The same with quads, which may be NULL. */
gemm_status packed_chain(const conv_call *, int count, const layer_call *shortcut,
                         const packed_chain_quads *, const gemm_context *);

/* The same, cut in this way. NULL: as packed_chain. The tests use it. */
gemm_status packed_chain_by(const conv_call *, int count, const layer_call *shortcut,
                            const packed_chain_quads *, const packed_chain_cut *,
                            const gemm_context *);

#endif
