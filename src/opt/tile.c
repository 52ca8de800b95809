/* SPDX-License-Identifier: MIT */
/* The rows tile_*: tiles of A, B and C in the order MKN. */
#include "gemm_opt.h"
#include "opt/block.h"

/* MKN over tiles, MKN inside a tile. */
INLINE void tile(nn_call g, size_t TM, size_t TK, size_t TN, unrolling how)
{
    for (size_t i = 0; i < g.M; i += TM)
        for (size_t p = 0; p < g.K; p += TK)
            for (size_t j = 0; j < g.N; j += TN)
                rows_by_block(g, i, min(i + TM, g.M), p, j, TK, TN, how);
}

INLINE void tile_uuu(nn_call g, size_t T)
{
    for (size_t i = 0; i < g.M; i += T)
        for (size_t p = 0; p < g.K; p += T)
            for (size_t j = 0; j < g.N; j += T)
                rows_by_block_uuu(g, i, min(i + T, g.M), p, j, T);
}

#define DEFINE_TILES(T) \
    VARIANT(tile_##T, tile(g, T, T, T, LOOPS)) \
    VARIANT(tile_##T##_u, tile(g, T, T, T, INNERMOST)) \
    VARIANT(tile_##T##_uu, tile(g, T, T, T, BOTH))
GEMM_TILE_SIDES(DEFINE_TILES)

#define DEFINE_UNROLLED_TILES(T) VARIANT(tile_##T##_uuu, tile_uuu(g, T))
GEMM_UNROLLED_SIDES(DEFINE_UNROLLED_TILES)

#define DEFINE_TILE_SHAPE(TM, TK, TN) \
    VARIANT(tile_##TM##x##TK##x##TN, tile(g, TM, TK, TN, LOOPS))
GEMM_TILE_SHAPES(DEFINE_TILE_SHAPE)
