/* SPDX-License-Identifier: MIT */
/*
 * The list of micro-kernels. A new instruction set is a file ukernel_<isa>.c and a line here, and
 * one in has_fma() if its multiply-add rounds twice.
 */
#include "packed/isa/ukernel.h"

#include "util/forked.h"

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

/* ---- reproducible kernels ---- */

enum { KERNELS = sizeof gemm_ukernels / sizeof *gemm_ukernels - 1 };

static gemm_ukernel reproducible[KERNELS];

static bool has_fma(const gemm_ukernel *u)
{
#if defined(__arm__) && defined(__ARM_PCS_VFP)
    if (u == &gemm_ukernel_neon32) return false;
#endif
    return u != &gemm_ukernel_generic;
}

/* The plans look at `reproducible`, too: plan.c, convolution.c and winograd.c. */
static void make_reproducible(void)
{
    for (int i = 0; i < KERNELS; ++i) {
        const gemm_ukernel *u = gemm_ukernels[i];
        gemm_ukernel *const r = &reproducible[i];
        *r = has_fma(u) ? *u : gemm_ukernel_generic_fused;
        r->name = has_fma(u) ? u->name : gemm_ukernel_generic.name;
        r->reproducible = true;
        r->skinny.dots = r->skinny.dots_by_parts;
        r->layers.sum = r->layers.sum_by_parts;
    }
}
GEMM_ONCE(make_reproducible)

const gemm_ukernel *gemm_ukernel_reproducible(const gemm_ukernel *u)
{
    once_make_reproducible();
    int i = 0;
    while (gemm_ukernels[i] != u) ++i;
    return &reproducible[i];
}
