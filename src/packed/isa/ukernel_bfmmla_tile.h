/* SPDX-License-Identifier: MIT */
/*
 * The tile of a multiply by BFMMLA: 8 x 12, see ukernel_bfmmla.h. A is a panel in blocks:
 *
 *     | rows 0, 1: pairs 0, 1 | rows 2, 3 | rows 4, 5 | rows 6, 7 | rows 0, 1: pairs 2, 3 | ...
 *
 * Where the number of steps is odd, the last one is a pair of each row.
 *
 * Included by ukernel_pairs.h in place of the base's tile.
 */

enum { OWN_MR = MR, OWN_KC = KC, OWN_K_UNIT = 4, PANEL_BLOCKS = OWN_MR / 2 };

/* See gemm_pairs. Rows behind the last one are zeroes. */
static void arrange_panel(int rows, int K, const gemm_pair *a, size_t a_row, size_t a_step,
                          gemm_pair *to)
{
    for (int p = 0, steps; p < K; p += steps) {
        steps = lesser(2, K - p);
        for (int i = 0; i < OWN_MR; ++i) {
            const gemm_pair *from = a + (size_t)i * a_row + (size_t)p * a_step;
            for (int k = 0; k < steps; ++k) *to++ = i < rows ? from[(size_t)k * a_step] : 0;
        }
    }
}

INLINE void panel_blocks(const float *a, const bool two, vec blocks[PANEL_BLOCKS])
{
    if (!two) {
        blocks_of_rows(OWN_MR, a, 0, false, blocks);
        return;
    }
    UNROLL
    for (int i = 0; i < PANEL_BLOCKS; ++i) load_vector(blocks[i], a + i * VL);
}

INLINE void bfmmla_tile(const gemm_tile *t, const int nv)
{
    const float *a = t->a, *b = t->b;
    const size_t b_row = t->b_row;
    vec sums[MOST_BLOCKS][BLOCK_COLUMNS], blocks[PANEL_BLOCKS], acc[MR][NV];
    for (int i = 0; i < t->rows; ++i) prefetch_next(t, i, NV);
    clear_blocks(PANEL_BLOCKS, nv, sums);
    for (int p = t->kc / 2; p; --p, a += 2 * OWN_MR, b += 2 * b_row) {
        panel_blocks(a, true, blocks);
        blocks_step(PANEL_BLOCKS, nv, blocks, b, b_row, true, sums);
    }
    if (t->kc % 2) {
        panel_blocks(a, false, blocks);
        blocks_step(PANEL_BLOCKS, nv, blocks, b, b_row, false, sums);
    }
    rows_of_blocks(MR, nv, sums, acc);
    if (t->rows == MR) {
        store_tile(t, MR, nv, acc);
    } else {
        store_by_memory(t, MR, nv, acc);
    }
}

#define own_sums bfmmla_tile
