/* SPDX-License-Identifier: MIT */
/*
 * Where the device sees the caller's matrices: two policies behind one interface. For the OpenCL
 * files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_MEMORY_H
#define GEMM_CL_MEMORY_H

#include "cl/memory/view.h"

extern const gemm_cl_policy gemm_cl_unified;    /* cl/memory/unified.c */
extern const gemm_cl_policy gemm_cl_discrete;   /* cl/memory/discrete.c */

/* The policy that the device needs, or the one that a test asked for. */
const gemm_cl_policy *gemm_cl_memory_policy(void);

/* After a failure: gemm_cl_discrete forgets which weights the device holds. */
void gemm_cl_forget_weights(void);

/* Release all that the policies keep. */
void gemm_cl_release_unified(void);
void gemm_cl_release_discrete(void);

#endif
