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

#endif
