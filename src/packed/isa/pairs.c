/* SPDX-License-Identifier: MIT */
/* The list of micro-kernels for pairs. A new instruction set is a file ukernel_<isa>_bf16.c or
   ukernel_<isa>_fp16.c and a line here. */
#include "packed/isa/pairs.h"

#include "util/forked.h"

extern const gemm_pairs gemm_pairs_amx_bf16, gemm_pairs_avx512_bf16, gemm_pairs_neon_bf16,
    gemm_pairs_portable_bf16, gemm_pairs_asimdhp_fp16;

const gemm_pairs *const gemm_pairs_all[] = {
#if defined(__x86_64__)
    &gemm_pairs_amx_bf16,
    &gemm_pairs_avx512_bf16,
#elif defined(__aarch64__)
    &gemm_pairs_neon_bf16,
#endif
    &gemm_pairs_portable_bf16,
#if defined(__aarch64__)
    &gemm_pairs_asimdhp_fp16,
#endif
    &gemm_pairs_portable_fp16,
    NULL,
};

enum { COUNT = sizeof gemm_pairs_all / sizeof *gemm_pairs_all - 1 };

const gemm_pairs *gemm_pairs_find(gemm_format format, const gemm_ukernel *u)
{
    const gemm_pairs *found = NULL;
    for (int i = 0; i < COUNT; ++i) {
        const gemm_pairs *p = gemm_pairs_all[i];
        if (p->format != format) continue;
        found = p;
        if (p->base == u && p->supported()) break;
    }
    return found;
}

/* ---- the base with other products ---- */

static gemm_ukernel ukernels[COUNT];

/* Tiles of other sizes: strips are one tile wide, and no columns go along K. */
static void set_sizes(gemm_ukernel *u, const gemm_pairs *p)
{
    u->mr = p->mr;
    u->mc = u->mc / p->mr * p->mr;
    u->kc = p->kc;
    u->k_unit = p->k_unit;
    if (p->only_in_l2) u->a_home = GEMM_A_ONLY_IN_L2;
    u->wide = u->nr;
    u->wide_rows = 0;
    u->tail_most = 0;
}

static void make_ukernels(void)
{
    for (int i = 0; i < COUNT; ++i) {
        const gemm_pairs *p = gemm_pairs_all[i];
        gemm_ukernel *u = &ukernels[i];
        *u = *p->base;
        u->gemm = p->multiply;
        u->pairs = p;
        if (p->nchwc) {
            u->nchwc.product = p->nchwc;
            u->nchwc.cost = p->nchwc_cost;
        }
        if (p->mr) set_sizes(u, p);
    }
}
GEMM_ONCE(make_ukernels)

const gemm_ukernel *gemm_pairs_ukernel(const gemm_pairs *p)
{
    once_make_ukernels();
    int i = 0;
    while (gemm_pairs_all[i] != p) ++i;
    return &ukernels[i];
}
