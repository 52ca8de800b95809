/* SPDX-License-Identifier: MIT */
/*
 * The processors that this process may use, as they were at the first call. A forked child looks
 * again.
 *
 * They are more than the calling thread's: OMP_PROC_BIND binds the main thread before anything of
 * ours runs, and a host may pin the thread that calls. So all threads of the process count, and
 * libgomp's places where that is loaded. A control group's processors bound all of them.
 */
#ifndef GEMM_CORES_H
#define GEMM_CORES_H

#include <sched.h>

/* Their number, at least 1. */
int gemm_allowed_cores(void);

#ifdef __linux__
/* Empty where the system does not tell. */
const cpu_set_t *gemm_allowed_set(void);
#endif

#endif
