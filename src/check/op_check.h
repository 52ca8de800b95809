/* SPDX-License-Identifier: MIT */
/* GEMM_CHECK of an op, whatever its kind. A chain is compared with its parts: driver/run.c. */
#ifndef GEMM_OP_CHECK_H
#define GEMM_OP_CHECK_H

#include "check/check.h"

/* Computes what must be known before the run: the C of a multiply is read and written. False: there
   is no memory. The caller frees the oracle with gemm_oracle_free in any case. */
bool gemm_check_before(const gemm_op *, gemm_oracle *);

/* Compares the output with the reference, which computes as the note says: by Winograd's algorithm,
   or in 8 bits. False: there is no memory. */
bool gemm_check_after(const gemm_op *, const gemm_oracle *, const gemm_note *,
                      const gemm_rounding *, gemm_error *worst);

/* Such as "image 0 filter 3 at 17". */
enum { GEMM_PLACE_TEXT = 64 };
void gemm_check_place(const gemm_op *, const gemm_error *, char text[GEMM_PLACE_TEXT]);

#endif
