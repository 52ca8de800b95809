/*
 * The CPU variants of the articles. Each is a gemm_variant.run for NN calls and declines the rest.
 *
 * The lists below are what gemm_opt.c defines one function from and gemm_table.c one row from.
 */
#ifndef GEMM_OPT_H
#define GEMM_OPT_H

#include "gemm_dispatch.h"

/* X(name, outermost, middle, innermost loop) */
#define GEMM_ORDERS(X) \
    X(mnk, M, N, K) X(mkn, M, K, N) X(nmk, N, M, K) X(nkm, N, K, M) X(kmn, K, M, N) X(knm, K, N, M)

/* X(how often N is unrolled) */
#define GEMM_MKN_UNROLLS(X) X(2) X(4) X(8) X(16) X(32) X(64)

/* X(tile side) */
#define GEMM_TILE_SIDES(X) X(2) X(4) X(8) X(16) X(32) X(64)

int gemm_mnk_acc(const gemm_call *, const void *);
int gemm_unroll2(const gemm_call *, const void *);
int gemm_unroll4(const gemm_call *, const void *);
int gemm_block1d(const gemm_call *, const void *);
int gemm_block2d(const gemm_call *, const void *);
int gemm_transpose(const gemm_call *, const void *);

#define DECLARE_ORDER(name, outer, middle, inner) int gemm_##name(const gemm_call *, const void *);
GEMM_ORDERS(DECLARE_ORDER)
#undef DECLARE_ORDER

#define DECLARE_UNROLL(U) int gemm_mkn_u##U(const gemm_call *, const void *);
GEMM_MKN_UNROLLS(DECLARE_UNROLL)
#undef DECLARE_UNROLL

#define DECLARE_TILE(T) \
    int gemm_tile_##T(const gemm_call *, const void *); \
    int gemm_tile_##T##_u(const gemm_call *, const void *); \
    int gemm_tile_##T##_uu(const gemm_call *, const void *); \
    int gemm_vtile_##T(const gemm_call *, const void *); \
    int gemm_vtile_##T##_u(const gemm_call *, const void *); \
    int gemm_vtile_##T##_uu(const gemm_call *, const void *);
GEMM_TILE_SIDES(DECLARE_TILE)
#undef DECLARE_TILE

#endif
