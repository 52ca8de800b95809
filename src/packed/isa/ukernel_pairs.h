/* SPDX-License-Identifier: MIT */
/*
 * The micro-kernels of one instruction set for pairs. Included by ukernel_body.h where PAIRS is
 * defined. The file that includes that one defines:
 *
 *   PAIRS               the base
 *   vfma_to(c, a, b)    c += the products of pairs
 *   pair_rows(), pair_along()   as in gemm_pairs
 *   pair_supported()    whether the processor runs them, beside the base
 *
 * and where the usual ones do not fit:
 *
 *   OWN_FORMAT, OWN_PART    of gemm_pairs: GEMM_BF16 and 2/3
 *   OWN_TILE            the file of a tile of another kind. It has arrange_panel(), which is
 *                       gemm_pairs.panel, OWN_MR, OWN_KC, OWN_K_UNIT and own_tile(), or own_sums()
 *                       for a tile of nv vectors. And it may have own_panels, OWN_PRODUCT, OWN_SUMS
 *   OWN_NCHWC_STEPS     the file of nchwc_steps() of another kind
 *   OWN_NCHWC, OWN_NCHWC_COST   of gemm_pairs. With OWN_TILE and none of the last two, products in
 *                       nchwc are not in pairs
 *   OWN_BLOCKS          there are kernels for blocks (ukernel_blocks.h), which OWN_TILE may include
 *   OWN_SUPPORTED       what the processor must have beside the rest
 */

#ifdef OWN_TILE
#include OWN_TILE
#endif

#ifdef own_sums
#define OWN_NAME(unused, nv) JOIN(gemm_packed_own_##nv##__, ISA)
#define OWN_SUMS_OF(unused, nv)                                                                    \
    static NOINLINE void OWN_NAME(unused, nv)(const gemm_tile *t) { own_sums(t, nv); }
EACH_VECS(OWN_SUMS_OF, 0)

#define OWN_ENTRY(unused, nv) OWN_NAME(unused, nv),
static void (*const own_tiles[NV])(const gemm_tile *) = {EACH_VECS(OWN_ENTRY, 0)};

static void own_tile(const gemm_tile *t)
{
    if (t->moves->left) move_pieces(t->moves, t->kc);
    own_tiles[(t->cols - 1) / VL](t);
}
#endif

#ifdef OWN_NCHWC
#define NCHWC_PAIRS OWN_NCHWC
#elif defined(OWN_TILE) && !defined(OWN_NCHWC_STEPS)
#define NCHWC_PAIRS NULL
#else
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

#endif

#ifdef OWN_BLOCKS
#include "packed/isa/ukernel_blocks.h"
#endif
#ifndef BLOCKS
#define BLOCKS NULL
#endif

#ifndef OWN_FORMAT
#define OWN_FORMAT GEMM_BF16
#endif
#ifndef OWN_PART
#define OWN_PART (2. / 3)
#endif

#ifndef OWN_PRODUCT
#define OWN_PRODUCT 0
#define OWN_SUMS {0}
#endif

#ifndef own_panels
#define own_panels NULL
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
    .format = OWN_FORMAT,
    .base = &PAIRS,
    .part = OWN_PART,
#ifdef OWN_TILE
    .mr = OWN_MR,
    .kc = OWN_KC,
    .k_unit = OWN_K_UNIT,
    .only_in_l2 = OWN_ONLY_IN_L2,
    .panel = arrange_panel,
    .most_product = OWN_PRODUCT,
    .sums = OWN_SUMS,
    .multiply.tile = own_tile,
    .multiply.panels = own_panels,
#else
    .multiply.tile = tile,
#if TURN
    .multiply.panels = all_panels,
#endif
    .multiply.sweep = sweep,
    .multiply.along_k = along_k,
#endif
    .nchwc = NCHWC_PAIRS,
    .nchwc_cost = OWN_NCHWC_COST,
    .blocks = BLOCKS,
    .rows = pair_rows,
    .along = pair_along,
    .supported = all_supported,
};
