/* SPDX-License-Identifier: MIT */
/* The rows vtile_*: each block of B meets all rows of A before the next block. */
#include "gemm_opt.h"
#include "opt/block.h"

/* KN over blocks of B, then all of M, then KN inside the block. */
INLINE void vtile(nn_call g, size_t TK, size_t TN, unrolling how)
{
    for (size_t p = 0; p < g.K; p += TK)
        for (size_t j = 0; j < g.N; j += TN) rows_by_block(g, 0, g.M, p, j, TK, TN, how);
}

INLINE void vtile_uuu(nn_call g, size_t T)
{
    for (size_t p = 0; p < g.K; p += T)
        for (size_t j = 0; j < g.N; j += T) rows_by_block_uuu(g, 0, g.M, p, j, T);
}

#define DEFINE_TILES(T) \
    VARIANT(vtile_##T, vtile(g, T, T, LOOPS)) \
    VARIANT(vtile_##T##_u, vtile(g, T, T, INNERMOST)) \
    VARIANT(vtile_##T##_uu, vtile(g, T, T, BOTH))
GEMM_TILE_SIDES(DEFINE_TILES)

#define DEFINE_UNROLLED_TILES(T) VARIANT(vtile_##T##_uuu, vtile_uuu(g, T))
GEMM_UNROLLED_SIDES(DEFINE_UNROLLED_TILES)

#define DEFINE_BLOCK_SHAPE(TK, TN) VARIANT(vtile_##TK##x##TN, vtile(g, TK, TN, LOOPS))
GEMM_BLOCK_SHAPES(DEFINE_BLOCK_SHAPE)
