/* SPDX-License-Identifier: MIT */
/* What every op goes through on its way to a variant, whatever its kind. */
#ifndef GEMM_RUN_H
#define GEMM_RUN_H

#include "driver/plan.h"
#include "op/op.h"

/*
 * Runs a valid op on the variant, which offers its kind: with trace and check. A multiply that the
 * variant declines runs on stock. `plans` has one plan for each convolution of the op, NULL where
 * nothing shall be kept; it may be NULL. Returns the variant that computed the op, or NULL when it
 * declined or failed. A multiply that failed, and a wrong result under GEMM_CHECK, end the program.
 */
const gemm_variant *gemm_run_op(const gemm_variant *, const gemm_op *, gemm_plan *const *plans,
                               gemm_note *);

/* Under GEMM_CHECK: ends the program where the output of the op has not the bits of its parts.
   NULL: these could not be computed. */
void gemm_check_parts(const gemm_op *, const float *parts, const char *row);

#endif
