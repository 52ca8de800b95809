/* SPDX-License-Identifier: MIT */
/*
 * Rows that run other people's libraries, for comparison only. Nothing depends on them, and `auto`
 * never chooses them.
 */
#ifndef GEMM_REF_H
#define GEMM_REF_H

#include "gemm_variant.h"

typedef struct gemm_ref gemm_ref;

/* The params of the rows openblas, blis, onednn and onednn_bf16. */
extern gemm_ref gemm_ref_openblas, gemm_ref_blis, gemm_ref_onednn, gemm_ref_onednn_bf16;

/* The members multiply and unusable of such a row. Its params is one of those above. */
gemm_row_multiply gemm_ref_run;
const char *gemm_ref_unusable(const void *params);

/* Name, version and chosen kernels of the library, or NULL when it cannot be loaded. */
const char *gemm_ref_version(const void *params);

#endif
