/* SPDX-License-Identifier: MIT */
/*
 * What the linker calls in place of gemm and gemm_cpu under -Wl,--wrap=gemm,--wrap=gemm_cpu.
 *
 * __real_gemm_cpu is Darknet's own. The linker sets it when this file comes from the archive. From
 * the shared library it stays NULL, and stock.c finds gemm_cpu in the program.
 */
#include "lib/darknet.h"

extern gemm_darknet_function __wrap_gemm, __wrap_gemm_cpu;
extern gemm_darknet_function __real_gemm_cpu __attribute__((weak));

GEMM_DARKNET_FUNCTION(__wrap_gemm, __real_gemm_cpu)
GEMM_DARKNET_FUNCTION(__wrap_gemm_cpu, __real_gemm_cpu)
