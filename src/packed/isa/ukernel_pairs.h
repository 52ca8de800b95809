/* SPDX-License-Identifier: MIT */
/*
 * The micro-kernels of one instruction set for pairs. Included by ukernel_body.h where PAIRS is
 * defined. The file that includes that one defines:
 *
 *   PAIRS               the base
 *   vfma_to(c, a, b)    c += the products of pairs
 *   pair_rows(), pair_along()   as in gemm_pairs
 *   pair_supported()    whether the processor runs them, beside the base
 *   OWN_TILE            the file of a tile of another kind, or nothing. Then also:
 *   OWN_FORMAT, OWN_PART    of gemm_pairs; without OWN_TILE they are GEMM_BF16 and 2/3
 *   OWN_NCHWC_STEPS     with OWN_TILE: the file of nchwc_steps() of another kind, or nothing: then
 *                       products in nchwc are not in pairs
 *   OWN_SUPPORTED       what the processor must have beside the rest; need not be defined
 */

#ifdef OWN_TILE
#include OWN_TILE
#endif

#if !defined(OWN_TILE) || defined(OWN_NCHWC_STEPS)
#define NCHWC_PAIRS nchwc_pairs

/* Pairs of n places of all steps, as gemm_nchwc has A. */
INLINE void pair_places(const gemm_nchwc *l, int from, int n, gemm_pair *pairs)
{
    if (l->source == GEMM_ROWS) {
        const float *low = l->a + from;
        for (int k = 0; k < l->K; k += 2, low += 2 * l->a_ld, pairs += n)
            pair_rows(n, low, k + 1 < l->K ? low + l->a_ld : NULL, pairs);
        return;
    }
    const float *group = l->a + (size_t)from * VL;
    for (int k = 0; k < l->K; k += VL, group += l->a_ld, pairs += n * GROUP_STEPS)
        pair_along(n * VL, group, pairs);
}

/* See gemm_pairs. Some places at a time, whose pairs stay in L1. */
static void nchwc_pairs(const gemm_nchwc *l)
{
    enum { ROOM = MOST_PLACES * GEMM_PAIRS_MOST_K / 2, PLACES = 4 * MOST_PLACES };
    _Alignas(CACHE_LINE) gemm_pair pairs[ROOM];
    const int steps = (l->K + VL - 1) / VL * VL / 2;
    const int most = lesser(PLACES, ROOM / steps / MOST_PLACES * MOST_PLACES);
    gemm_nchwc part = *l;
    part.K = (l->K + 1) / 2;
    part.a = (const float *)pairs;
    for (int from = 0; from < l->places; from += most, part.at += most) {
        const int n = lesser(most, l->places - from);
        pair_places(l, from, n, pairs);
        part.a_ld = (size_t)n * (l->source == GEMM_ROWS ? 1 : GROUP_STEPS);
        nchwc_places(&part, 0, n, l->K);
    }
}

#elif defined(OWN_NCHWC)
#define NCHWC_PAIRS OWN_NCHWC
#else
#define NCHWC_PAIRS NULL
#endif

#ifndef OWN_NCHWC_COST
#define OWN_NCHWC_COST {.step = 1}      /* that of an FMA */
#endif

#ifndef OWN_ONLY_IN_L2
#define OWN_ONLY_IN_L2 false
#endif

#ifndef OWN_SUPPORTED
#define OWN_SUPPORTED true
#endif

static bool all_supported(void)
{
    return isa_supported() && pair_supported() && OWN_SUPPORTED;
}

const gemm_pairs JOIN(gemm_pairs_, ISA) = {
    .name = STRING(ISA),
    .base = &PAIRS,
#ifdef OWN_TILE
    .format = OWN_FORMAT,
    .mr = OWN_MR,
    .kc = OWN_KC,
    .k_unit = OWN_K_UNIT,
    .only_in_l2 = OWN_ONLY_IN_L2,
    .part = OWN_PART,
    .panel = OWN_PANEL,
    .most_product = OWN_PRODUCT,
    .sums = OWN_SUMS,
    .multiply.tile = own_tile,
    .multiply.panels = own_panels,
    .multiply.sweep = own_sweep,
#else
    .format = GEMM_BF16,
    .part = 2. / 3,
    .multiply.tile = tile,
#if TURN
    .multiply.panels = all_panels,
#endif
    .multiply.sweep = sweep,
    .multiply.along_k = along_k,
#endif
    .nchwc = NCHWC_PAIRS,
    .nchwc_cost = OWN_NCHWC_COST,
    .rows = pair_rows,
    .along = pair_along,
    .supported = all_supported,
};
