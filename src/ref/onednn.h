/* SPDX-License-Identifier: MIT */
/*
 * A multiply by oneDNN's matmul with operands in bfloat16 and sums in single precision. dnnl_sgemm
 * has none. Each call rounds A and B (oneDNN's reorder), as `packed_bf16` does, and multiplies in
 * the layouts that oneDNN wants. All that depends on the shape alone is kept for the next call.
 */
#ifndef REF_ONEDNN_H
#define REF_ONEDNN_H

#include "gemm_dispatch.h"

/* NULL, or why the library's matmul cannot be used: it is older than 3, or has none of this kind
   for the processor. To be called before the other one. */
const char *gemm_ref_try_matmul(void *library);

/* 0, or an error of oneDNN. One call runs at a time. */
int gemm_ref_matmul(const gemm_call *, int threads);

#endif
