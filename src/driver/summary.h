/* SPDX-License-Identifier: MIT */
/* GEMM_TRACE=summary: a few lines at the end of the program. */
#ifndef GEMM_SUMMARY_H
#define GEMM_SUMMARY_H

#include "op/op.h"

/* From now on calls are counted. The end of the program prints `settings` and what they were. */
void gemm_summary_open(const char *settings);

/* Counts a call. `ran` is the variant that really ran, and `ms` is its wall time. */
void gemm_summary_op(const gemm_variant *ran, const gemm_op *, double ms, const gemm_note *);

#endif
