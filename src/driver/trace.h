/* SPDX-License-Identifier: MIT */
/*
 * GEMM_TRACE: a CSV row for every call.
 */
#ifndef GEMM_TRACE_H
#define GEMM_TRACE_H

#include "op/op.h"

/* Opens the trace ("-": stderr) and writes its header. Returns 0, or the errno. With `reproducible`
   each row says so in `why`. */
int gemm_trace_open(const char *path, bool reproducible);

/* Writes one CSV row. `ran` is the variant that really ran, and `ms` is its wall time. M, N and K
   are those of gemm_op_product. `kept` is what all plans keep now, in bytes. */
void gemm_trace_op(const gemm_variant *ran, const gemm_op *, double ms, const gemm_note *,
                   size_t kept);

#endif
