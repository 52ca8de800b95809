/* SPDX-License-Identifier: MIT */
/*
 * GEMM_TRACE=summary: a few lines at the end of the program.
 */
#ifndef GEMM_SUMMARY_H
#define GEMM_SUMMARY_H

#include "op/op.h"

/* From now on calls are counted, and the end of the program prints what they were. `threads` is
   read then. */
void gemm_summary_open(const char *impl, const char *isa, const int *threads);

/* Counts a call. `ran` is the variant that really ran, and `ms` is its wall time. */
void gemm_summary_op(const gemm_variant *ran, const gemm_op *, double ms, const gemm_note *);

#endif
