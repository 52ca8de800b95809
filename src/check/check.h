/* SPDX-License-Identifier: MIT */
/*
 * Whether C is right: the exact result in double precision, and the largest error that single
 * precision may have with any operands. GEMM_CHECK and the tests use it.
 */
#ifndef GEMM_CHECK_H
#define GEMM_CHECK_H

#include "check/reference.h"
#include "op/op.h"

/* What C must become, and how far each element may be off. Both are M x N with rows of N. */
typedef struct gemm_oracle {
    double *expected;
    double *bound;
    double *a_sizes, *b_sizes;  /* the sums of |ALPHA * a| in a row, of |ALPHA * b| in a column */
} gemm_oracle;

/* Computes the oracle from the operands and from C before the run. Returns 0, or -1 without memory.
   The caller frees it with gemm_oracle_free. */
int gemm_oracle_make(gemm_oracle *, const gemm_call *);
void gemm_oracle_free(gemm_oracle *);

/* Compares C after the run with the oracle. */
gemm_error gemm_oracle_compare(const gemm_oracle *, const gemm_call *);

/* The same for a row that rounds beyond single precision. NULL: it does not. */
gemm_error gemm_oracle_compare_rounded(const gemm_oracle *, const gemm_call *,
                                       const gemm_rounding *);

/* ---- GEMM_CHECK of an op. A chain is compared with its parts: driver/run.c ---- */

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

/* Counts a right result for the line that GEMM_CHECK prints at the end. `ratio` is its worst. */
void gemm_record_check(const gemm_op *, double ratio);

/* Counts a call that was not checked, because there was no memory for its reference. The first one
   is said at once, and their number at the end. */
void gemm_record_unchecked(void);

#endif
