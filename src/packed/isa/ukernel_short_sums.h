/* SPDX-License-Identifier: MIT */
/*
 * The tile with sums in 16 bits, of fp16.
 *
 *     A: a panel, which its own function arranges. A step is a pair of each row, the first halves
 *        first. With 16 rows:
 *        | rows 0 to 15 |   first halves, k
 *        | rows 0 to 15 |   second halves, k + 1
 *     B: a row of the strip: | b[0] b[1] | b[0] b[1] | ...
 *
 * Registers of A are multiplied by one element of B at a time, so that B stays in pairs.
 *
 * A sum of 16 bits has RUN * 2 products, in the order of k. Then it is added to one of single
 * precision. So no sum becomes infinite as long as a product is at most OWN_PRODUCT:
 * 32 * 2000 < 65504. All instruction sets add in the same order, so they give the same sums.
 *
 * Included by ukernel_pairs.h in place of the base's tile. The file of the instruction set defines:
 *
 *   SHORT_ROWS          of a tile
 *   SHORT_RUN           a file with short_run(a, b, b_row, steps, nv, sums): up to RUN steps of a
 *                       panel and of nv vectors of a strip, added to sums[column][row]
 */

enum { OWN_MR = SHORT_ROWS, OWN_KC = 128, OWN_K_UNIT = 16, RUN = 16, STEP = OWN_MR };
#define OWN_PANEL arrange_panel
#define OWN_PRODUCT 2000
#define OWN_SUMS {.product = 0x1p-6 + 0x1p-10, .sum = 0x1p-25}

/* See gemm_pairs. Rows behind the last one are zeroes. */
static void arrange_panel(int rows, int K, const gemm_pair *a, size_t a_row, size_t a_step,
                          gemm_pair *to)
{
    for (int p = 0; p < K; ++p, to += STEP) {
        uint16_t halves[2][OWN_MR] = {{0}};
        for (int i = 0; i < rows; ++i) {
            const gemm_pair pair = a[(size_t)i * a_row + (size_t)p * a_step];
            halves[0][i] = (uint16_t)pair;
            halves[1][i] = (uint16_t)(pair >> 16);
        }
        memcpy(to, halves, sizeof halves);
    }
}

#include SHORT_RUN

/* All steps; then the sums become rows of C. */
INLINE void short_tile(const gemm_tile *t, const int nv)
{
    _Alignas(CACHE_LINE) float sums[NR][OWN_MR] = {{0}}, rows[OWN_MR][NR];
    for (int p = 0; p < t->kc; p += RUN)
        short_run(t->a + p * STEP, t->b + p * t->b_row, t->b_row, lesser(RUN, t->kc - p), nv, sums);
    for (int i = 0; i < OWN_MR; i += BLOCK) {
        for (int j = 0; j < nv * VL; j += BLOCK)
            transpose_block(sums[j] + i, OWN_MR, rows[i] + j, NR);
    }
    store_rows(t, nv, rows);
}

#define TILE(nv) JOIN(JOIN(gemm_packed_, SHORT_ROWS), JOIN(x##nv##__, ISA))
static NOINLINE void TILE(3)(const gemm_tile *t) { short_tile(t, 3); }
static NOINLINE void TILE(2)(const gemm_tile *t) { short_tile(t, 2); }
static NOINLINE void TILE(1)(const gemm_tile *t) { short_tile(t, 1); }

static void own_tile(const gemm_tile *t)
{
    gemm_moves *m = t->moves;
    if (m->left) move_pieces(m, t->kc);
    switch ((t->cols - 1) / VL) {
    case 0: TILE(1)(t); break;
    case 1: TILE(2)(t); break;
    default: TILE(3)(t);
    }
}

/* An A in panels is never swept, and these have no function that runs over them. */
#define own_panels NULL
#define own_sweep NULL
