/* SPDX-License-Identifier: MIT */
/*
 * The micro-kernels of one instruction set for pairs. Included by ukernel_body.h where PAIRS is
 * defined. The file that includes that one defines:
 *
 *   PAIRS               the base
 *   vfma_to(c, a, b)    c += the products of pairs
 *   pair_rows(), pair_along()   as in gemm_pairs
 *   pair_supported()    whether the processor runs them, beside the base
 */
static bool all_supported(void) { return isa_supported() && pair_supported(); }

const gemm_pairs JOIN(gemm_pairs_, ISA) = {
    .name = STRING(ISA),
    .base = &PAIRS,
    .multiply.tile = tile,
#if TURN
    .multiply.panels = all_panels,
#endif
    .multiply.along_k = along_k,
    .multiply.sweep = sweep,
    .rows = pair_rows,
    .along = pair_along,
    .supported = all_supported,
};
