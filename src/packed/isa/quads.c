/* SPDX-License-Identifier: MIT */
/* The list of micro-kernels for quads. A new instruction set is a file ukernel_<isa>_int8.c and a
   line here. */
#include "packed/isa/quads.h"

extern const gemm_quads gemm_quads_avx512_int8, gemm_quads_avxvnni_int8, gemm_quads_avx2_int8,
    gemm_quads_i8mm_int8, gemm_quads_neon_int8, gemm_quads_portable_int8;

const gemm_quads *const gemm_quads_all[] = {
#if defined(__x86_64__)
    &gemm_quads_avx512_int8,
    &gemm_quads_avxvnni_int8,
    &gemm_quads_avx2_int8,
#elif defined(__aarch64__)
    &gemm_quads_i8mm_int8,
    &gemm_quads_neon_int8,
#endif
    &gemm_quads_portable_int8,
    NULL,
};

const gemm_quads *gemm_quads_find(const gemm_ukernel *u)
{
    int i = 0;
    while (gemm_quads_all[i + 1] && gemm_quads_all[i]->base != u) ++i;
    while (gemm_quads_all[i + 1] && !gemm_quads_all[i]->supported()) ++i;
    return gemm_quads_all[i];
}
