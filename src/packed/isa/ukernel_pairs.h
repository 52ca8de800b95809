/* SPDX-License-Identifier: MIT */
/*
 * The micro-kernels of one instruction set for pairs of bfloat16. Included by ukernel_body.h where PAIRS is
 * defined. The file that includes that one defines:
 *
 *   PAIRS               the base
 *   vfma_to(c, a, b)    c += the products of pairs
 *   pair_rows(), pair_along()   as in gemm_pairs
 *   pair_supported()    whether the processor runs them, beside the base
 *   AMX                 the tile is that of ukernel_amx.h; then amx_supported() too
 */

#ifdef AMX
#include "packed/isa/ukernel_amx.h"
#else

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

static bool amx_supported(void) { return true; }

#endif

static bool all_supported(void)
{
    return isa_supported() && pair_supported() && amx_supported();
}

const gemm_pairs JOIN(gemm_pairs_, ISA) = {
    .name = STRING(ISA),
    .format = GEMM_BF16,
    .base = &PAIRS,
#ifdef AMX
    .mr = AMX_MR,
    .kc = 8 * AMX_STEPS,
    .k_unit = AMX_STEPS,
    .by_columns = &gemm_pairs_avx512_bf16,
    .part = AMX_PART,
    .multiply.tile = tile_of_registers,
    .multiply.panels = panels_of_registers,
    .multiply.sweep = sweep_of_registers,
#else
    .part = 2. / 3,
    .nchwc = nchwc_pairs,
    .multiply.tile = tile,
#if TURN
    .multiply.panels = all_panels,
#endif
    .multiply.sweep = sweep,
    .multiply.along_k = along_k,
#endif
    .rows = pair_rows,
    .along = pair_along,
    .supported = all_supported,
};
