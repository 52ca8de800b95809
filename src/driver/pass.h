/* SPDX-License-Identifier: MIT */
/* Which row takes the layers of the present pass: see gemm_passes in gemm_variant.h. */
#ifndef GEMM_PASS_H
#define GEMM_PASS_H

#include "gemm_variant.h"

/* The row for the next whole layer of this thread: the chosen one, or that of the pass. */
const gemm_variant *gemm_pass_row(void);

/* The row failed in this thread: the pass is not one that counts. */
void gemm_pass_fail(void);

#endif
