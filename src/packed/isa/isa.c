/* SPDX-License-Identifier: MIT */
/* The list of micro-kernels. A new instruction set is a file ukernel_<isa>.c and a line here. */
#include "packed/isa/ukernel.h"

#include <string.h>

const gemm_ukernel *const gemm_ukernels[] = {
#if defined(__x86_64__)
    &gemm_ukernel_avx512,
    &gemm_ukernel_avx2,
#elif defined(__aarch64__)
    &gemm_ukernel_neon,
#elif defined(__arm__) && defined(__ARM_PCS_VFP)
    &gemm_ukernel_neon32_fma,
    &gemm_ukernel_neon32,
#endif
    &gemm_ukernel_generic,
    NULL,
};

const gemm_ukernel *gemm_ukernel_find(const char *name)
{
    for (const gemm_ukernel *const *u = gemm_ukernels; *u; ++u) {
        if ((!name || !strcmp(name, (*u)->name)) && (*u)->supported()) return *u;
    }
    return NULL;
}
