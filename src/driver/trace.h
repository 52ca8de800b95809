/*
 * GEMM_TRACE: a CSV row for every call.
 */
#ifndef GEMM_TRACE_H
#define GEMM_TRACE_H

#include "gemm_variant.h"

/* Opens the trace ("-": stderr) and writes its header. Returns 0, or the errno. */
int gemm_trace_open(const char *path);

/* Writes one CSV row. `ran` is the row that really ran, and `ms` is its wall time. */
void gemm_trace_call(const gemm_variant *ran, const gemm_call *, double ms, const gemm_note *);

/* The same for a whole convolution. M, N and K are those of gemm_of_conv. The column `layer`
   describes the convolution, such as: 3x3/1 pad 1 groups 1 batch 1. `algorithm` says how. */
void gemm_trace_conv(const gemm_variant *ran, const conv_call *, double ms, const gemm_note *);

/* The same for a chain. M, N and K are those of its last convolution. `layer` names the channels
   and the depthwise filter, such as: chain 16 64 64 16 3x3/1 over 80x80 batch 1. The word shortcut
   follows if there is one. */
void gemm_trace_chain(const gemm_variant *ran, const conv_call *, int count,
                      const layer_call *shortcut, double ms, const gemm_note *);

/* The same for a layer without weights. M, N and K are 0. */
void gemm_trace_layer(const gemm_variant *ran, const layer_call *, double ms, const gemm_note *);

/* M, N and K of the gemm that computes one group of the convolution. All other members are 0. */
gemm_call gemm_of_conv(const conv_call *);

#endif
