/* SPDX-License-Identifier: MIT */
/*
 * The lists of micro-kernels. A new instruction set is a file ukernel_<isa>.c and a line here, and
 * one in has_fma() if its multiply-add rounds twice. Its kernels for pairs and quads are files
 * ukernel_<isa>_bf16.c, _fp16.c and _int8.c, and a line each.
 */
#include "packed/isa/pairs.h"
#include "packed/isa/quads.h"

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

/* ---- pairs: the base with other products ---- */

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

enum { PAIRS = sizeof gemm_pairs_all / sizeof *gemm_pairs_all - 1 };

const gemm_pairs *gemm_pairs_find(gemm_format format, const gemm_ukernel *u)
{
    const gemm_pairs *found = NULL;
    for (int i = 0; i < PAIRS; ++i) {
        const gemm_pairs *p = gemm_pairs_all[i];
        if (p->format != format) continue;
        found = p;
        if (p->base == u && p->supported()) break;
    }
    return found;
}

static gemm_ukernel of_pairs[PAIRS];

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
    for (int i = 0; i < PAIRS; ++i) {
        const gemm_pairs *p = gemm_pairs_all[i];
        gemm_ukernel *u = &of_pairs[i];
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
    return &of_pairs[i];
}

/* ---- quads ---- */

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
