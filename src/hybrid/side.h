/* SPDX-License-Identifier: MIT */
/* The side that computes whole layers: the faster one at a multiply, measured once in a process. */
#ifndef GEMM_HYBRID_SIDE_H
#define GEMM_HYBRID_SIDE_H

#include "gemm_variant.h"

/* The side of this process, one of these two. The first call multiplies some times on both. While
   what the device needs for that is compiled it is the CPU, and *later is set. Any thread may
   call. */
const gemm_variant *gemm_faster_side(const gemm_variant *cpu, const gemm_variant *device,
                                     const gemm_context *, const char **later);

/* What it measured: the time of the device over that of the CPU. Behind gemm_faster_side. */
double gemm_side_ratio(void);

/* For tests: the next call measures again. */
void gemm_forget_side(void);

#endif
