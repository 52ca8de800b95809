/* SPDX-License-Identifier: MIT */
/* Pairs of fp16 by F16C and the tile of ukernel_avx512.c. */
#define ISA avx512_fp16
#define PAIRS gemm_ukernel_avx512
#define WIDE_MR 8
#include "packed/isa/ukernel_avx2_fp16.c"
