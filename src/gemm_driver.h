/*
 * What the parts of the driver (settings, trace, dispatch) share among themselves; variants and
 * Darknet have no business here.
 */
#ifndef GEMM_DRIVER_H
#define GEMM_DRIVER_H

#include "gemm_dispatch.h"

/* Prints "gemm: ..." on stderr and ends the program with status 1. */
_Noreturn void gemm_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The name in the table that is nearest to this one. */
const char *gemm_nearest_name(const char *name);

/* Opens the trace ("-": stderr) and writes its header; ends the program when it cannot. */
void gemm_trace_open(const char *path);

/* One CSV row; `ran` is the row that really ran, `ms` its wall time. */
void gemm_trace_call(const gemm_variant *ran, const gemm_call *, double ms, const gemm_note *);

/* The same for a whole convolution: M, N and K are those of the gemm that it stands for, and the
   last column says how it was: 3x3/1 pad 1 groups 1 batch 1. */
void gemm_trace_conv(const gemm_variant *ran, const conv_call *, double ms, const gemm_note *);

/* Counts a right result for the line that GEMM_CHECK prints at the end. */
void gemm_record_check(const gemm_call *, double ratio);

/* Milliseconds of a clock that only runs forward. */
double gemm_now_ms(void);

/* The row of GEMM_IMPL; ends the program when it cannot run here. */
const gemm_variant *gemm_chosen(void);

#endif
