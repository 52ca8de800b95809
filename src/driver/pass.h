/* SPDX-License-Identifier: MIT */
/* Which row takes the layers of the present pass: see gemm_passes in gemm_variant.h. */
#ifndef GEMM_PASS_H
#define GEMM_PASS_H

#include "gemm_variant.h"

/* The row for the next whole layer of this thread: the chosen one, or that of the pass. */
const gemm_variant *gemm_pass_row(void);

/* A layer ran in this thread: the next one may be another row's. Not within a layer, because plans
   and steps are of one row. */
void gemm_pass_go_on(void);

/* Whether the present pass of this thread may stop, because its row is on trial. */
bool gemm_pass_is_measured(void);

/* The row failed in this thread: the pass is not one that counts. */
void gemm_pass_fail(void);

/* The row that this thread's last pass began with. NULL: the chosen row gave none away. */
const gemm_variant *gemm_pass_last(void);

#endif
