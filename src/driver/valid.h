/* SPDX-License-Identifier: MIT */
/* Which ops the variants may see. */
#ifndef GEMM_VALID_H
#define GEMM_VALID_H

#include "op/op.h"

/* Whether the op is one of gemm_dispatch.h, is not empty, and no count of its elements overflows an
   int. A host runs its own code for a layer that is not. */
bool gemm_op_is_valid(const gemm_op *);

/* Whether a valid chain can read the output of this convolution, and add it. */
bool gemm_chain_follows(const chain_call *, const conv_call *before);

#endif
