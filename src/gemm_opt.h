/* SPDX-License-Identifier: MIT */
/*
 * The CPU variants of the articles. Each is a gemm_variant.run for NN calls and declines the rest.
 *
 * The lists below are what gemm_opt.c defines one function from and driver/table.c one row from.
 */
#ifndef GEMM_OPT_H
#define GEMM_OPT_H

#include "gemm_variant.h"

/* X(name, outermost, middle, innermost loop) */
#define GEMM_ORDERS(X) \
    X(mnk, M, N, K) X(mkn, M, K, N) X(nmk, N, M, K) X(nkm, N, K, M) X(kmn, K, M, N) X(knm, K, N, M)

/* X(how often N is unrolled) */
#define GEMM_MKN_UNROLLS(X) X(2) X(4) X(8) X(16) X(32) X(64)

/* X(tile side) */
#define GEMM_TILE_SIDES(X) X(2) X(4) X(8) X(16) X(32) X(64)

/* X(tile side): the third loop is unrolled too */
#define GEMM_UNROLLED_SIDES(X) X(2) X(4) X(8)

/* X(M, K, N of a tile): wide and narrow */
#define GEMM_TILE_SHAPES(X) X(4, 8, 16) X(16, 8, 4)

/* X(K, N of a block of B): wide and narrow */
#define GEMM_BLOCK_SHAPES(X) X(8, 16) X(16, 8)

gemm_row_multiply gemm_mnk_acc, gemm_unroll2, gemm_unroll4, gemm_block1d, gemm_block1d_k,
    gemm_block2d, gemm_transpose;

#define DECLARE_ORDER(name, outer, middle, inner) gemm_row_multiply gemm_##name;
GEMM_ORDERS(DECLARE_ORDER)
#undef DECLARE_ORDER

#define DECLARE_UNROLL(U) gemm_row_multiply gemm_mkn_u##U;
GEMM_MKN_UNROLLS(DECLARE_UNROLL)
#undef DECLARE_UNROLL

#define DECLARE_TILE(T) \
    gemm_row_multiply gemm_tile_##T; \
    gemm_row_multiply gemm_tile_##T##_u; \
    gemm_row_multiply gemm_tile_##T##_uu; \
    gemm_row_multiply gemm_vtile_##T; \
    gemm_row_multiply gemm_vtile_##T##_u; \
    gemm_row_multiply gemm_vtile_##T##_uu;
GEMM_TILE_SIDES(DECLARE_TILE)
#undef DECLARE_TILE

#define DECLARE_UNROLLED(T) gemm_row_multiply gemm_tile_##T##_uuu, gemm_vtile_##T##_uuu;
GEMM_UNROLLED_SIDES(DECLARE_UNROLLED)
#undef DECLARE_UNROLLED

#define DECLARE_SHAPE(TM, TK, TN) gemm_row_multiply gemm_tile_##TM##x##TK##x##TN;
GEMM_TILE_SHAPES(DECLARE_SHAPE)
#undef DECLARE_SHAPE

#define DECLARE_BLOCK(TK, TN) gemm_row_multiply gemm_vtile_##TK##x##TN;
GEMM_BLOCK_SHAPES(DECLARE_BLOCK)
#undef DECLARE_BLOCK

#endif
