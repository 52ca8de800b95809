/* SPDX-License-Identifier: MIT */
/*
 * The plan of a layer: what is kept between its calls.
 *
 *   struct gemm_plan = the layer it was made for + folded batch norm + what the row keeps
 *
 * All plans together may keep as many bytes as GEMM_KEEP says, else a quarter of the memory of the
 * machine, or of a container. Where the process is limited they leave more (util/limits.h): a host
 * does not look whether it gets memory. A layer that finds no room computes what it needs at each
 * call, as a layer without a slot does.
 */
#ifndef GEMM_PLAN_H
#define GEMM_PLAN_H

#include "gemm_variant.h"
#include "int8/scales.h"

/*
 * The plan in the slot. One that was made for another layer or another row is dropped first.
 * An empty slot gets a plan. NULL when `slot` is NULL or there is no memory.
 */
gemm_plan *gemm_plan_get(gemm_plan **slot, const gemm_variant *, const conv_call *,
                         const conv_norm *);

/* n scales, then n shifts, so that scale * x + shift is Darknet's batch norm at inference. Folded
   once for each plan. NULL without memory, and without room for it. */
const float *gemm_plan_norm(gemm_plan *, const conv_call *, const conv_norm *);

/* The same without a plan. The caller frees it. */
float *gemm_fold_norm(const conv_call *, const conv_norm *);

/* For GEMM_CHECK: whether a weight of the layer changed since the last question. */
bool gemm_plan_is_old(gemm_plan *, const conv_call *);

/* What the scales say of the layer. It is found once for each plan; *known tells whether it was
   looked for. */
const gemm_scale *gemm_plan_scale(const gemm_plan *, bool *known);
void gemm_plan_set_scale(gemm_plan *, const gemm_scale *);

/* Whether no call with the plan was done yet. */
bool gemm_plan_is_new(const gemm_plan *);

/* What the row keeps, for the context of a call. gemm_plan_count must follow the call, and is told
   whether it was done, and whether it was the first one as gemm_context means it. */
gemm_kept *gemm_plan_kept(gemm_plan *);
void gemm_plan_count(gemm_plan *, bool done, bool first);

#endif
