/* SPDX-License-Identifier: MIT */
/* The reference CLBlast, loaded at run time. For the OpenCL files only; called with gemm_cl_lock
   held. */
#ifndef GEMM_CLBLAST_H
#define GEMM_CLBLAST_H

#include "cl/memory/view.h"
#include "gemm_variant.h"

/* NULL, or why CLBlast cannot be used. */
const char *gemm_clblast_missing(void);

/* Enqueues C += ALPHA op(A) op(B). 0, or -1 after saying why; C may be half written then. */
int gemm_clblast_enqueue(const gemm_cl_device *, const gemm_call *, const gemm_cl_view *A,
                         const gemm_cl_view *B, const gemm_cl_view *C);

#endif
