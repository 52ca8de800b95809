/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of BFMMLA: two rows of A by two columns of B, four steps of K, which are two
 * pairs.
 *
 *     A       | row 0: pair p, pair p + 1       | row 1: pair p, pair p + 1       |
 *     B       | column 0: pair p, pair p + 1    | column 1: pair p, pair p + 1    |
 *     sums    | row 0: column 0, column 1       | row 1: column 0, column 1       |
 *
 * ZIP makes such blocks of two rows of pairs. 24 sums + 4 of A + 2 rows of B + 1 for a ZIP = 31 of
 * 32 registers. Where A lies in blocks, there are 10 loads and 6 ZIP for 24 BFMMLA, which do the
 * work of 48 BFDOT.
 *
 * BFMMLA adds as two BFDOT do, one after the other. They round a sum to odd, which is off by one
 * unit and not by half of one: the bound of single precision allows for two halves.
 *
 * Included by ukernel_nchwc_product.h, because products in nchwc go so too. The tile of a multiply
 * is in ukernel_bfmmla_tile.h.
 */

enum { MOST_BLOCKS = MOST_PLACES / 2, BLOCK_COLUMNS = 2 * NV };

/* The statement is volatile, so that the compiler keeps the order and needs no more registers. */
#define multiply_blocks(c, a, b)                                                                   \
    __asm__ volatile("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(c) : "w"(a), "w"(b))

INLINE void clear_blocks(const int blocks, const int nv, vec sums[MOST_BLOCKS][BLOCK_COLUMNS])
{
    UNROLL
    for (int i = 0; i < blocks; ++i) {
        UNROLL
        for (int j = 0; j < 2 * nv; ++j) sums[i][j] = vzero();
    }
}

/* sums += blocks of A by the nv vectors at b and those b_row floats behind, which are zeroes
   instead without `two`. */
INLINE void blocks_step(const int blocks, const int nv, const vec *a, const float *b, size_t b_row,
                        const bool two, vec sums[MOST_BLOCKS][BLOCK_COLUMNS])
{
    UNROLL
    for (int v = 0; v < nv; ++v) {
        vec x, y = vzero();
        load_vector(x, b + v * VL);
        if (two) load_vector(y, b + b_row + v * VL);
        const vec low = vzip1q_f32(x, y), high = vzip2q_f32(x, y);
        UNROLL
        for (int i = 0; i < blocks; ++i) multiply_blocks(sums[i][2 * v], a[i], low);
        UNROLL
        for (int i = 0; i < blocks; ++i) multiply_blocks(sums[i][2 * v + 1], a[i], high);
    }
}

/* Rows of nv vectors from the sums of blocks. An odd number of rows is 1. */
INLINE void rows_of_blocks(const int rows, const int nv, vec sums[MOST_BLOCKS][BLOCK_COLUMNS],
                           vec (*acc)[NV])
{
    UNROLL
    for (int i = 0; i < rows; i += 2) {
        UNROLL
        for (int v = 0; v < nv; ++v) {
            const float64x2_t x = vreinterpretq_f64_f32(sums[i / 2][2 * v]);
            const float64x2_t y = vreinterpretq_f64_f32(sums[i / 2][2 * v + 1]);
            acc[i][v] = vreinterpretq_f32_f64(vzip1q_f64(x, y));
            if (i + 1 < rows) acc[i + 1][v] = vreinterpretq_f32_f64(vzip2q_f64(x, y));
        }
    }
}

/* ---- products in nchwc ---- */

/* Blocks of places from rows of pairs, a_ld apart. The second row is zeroes without `two`. */
INLINE void blocks_of_rows(const int places, const float *a, size_t ld, const bool two, vec *blocks)
{
    const vec none = vzero();
    if (places == 1) {
        blocks[0] = vsetq_lane_f32(a[0], none, 0);
        if (two) blocks[0] = vsetq_lane_f32(a[ld], blocks[0], 1);
        return;
    }
    UNROLL
    for (int i = 0; i < places; i += VL) {
        vec x, y = none;
        load_vector(x, a + i);
        if (two) load_vector(y, a + ld + i);
        blocks[i / 2] = vzip1q_f32(x, y);
        blocks[i / 2 + 1] = vzip2q_f32(x, y);
    }
}

/* The same in nchwc, where the two pairs of a group lie side by side. */
INLINE void blocks_of_group(const int places, const float *a, const bool two, vec *blocks)
{
    const vec none = vzero();
    UNROLL
    for (int i = 0; i < places; i += 2) {
        vec x;
        if (places == 1) {
            x = vcombine_f32(vld1_f32(a), vget_low_f32(none));
        } else {
            load_vector(x, a + i * GROUP_STEPS);
        }
        blocks[i / 2] = two ? x : vtrn1q_f32(x, none);
    }
}

INLINE void nchwc_two_steps(const gemm_nchwc_source source, const int places, const int nv,
                            const float *a, size_t ld, const float *b, const bool two,
                            vec sums[MOST_BLOCKS][BLOCK_COLUMNS])
{
    vec blocks[MOST_BLOCKS];
    if (source == GEMM_ROWS) {
        blocks_of_rows(places, a, ld, two, blocks);
    } else {
        blocks_of_group(places, a, two, blocks);
    }
    blocks_step((places + 1) / 2, nv, blocks, b, (size_t)nv * VL, two, sums);
}

/* All steps of a tile, from place i on: their sums become acc. An odd number of places is 1. */
INLINE void nchwc_steps(const gemm_nchwc *l, const int places, const int nv,
                        const gemm_nchwc_source source, int i, const float *b,
                        vec acc[MOST_PLACES][NV])
{
    const size_t ld = l->a_ld, next = source == GEMM_ROWS ? 2 * ld : ld;
    const float *a = l->a + (size_t)i * (source == GEMM_ROWS ? 1 : GROUP_STEPS);
    vec sums[MOST_BLOCKS][BLOCK_COLUMNS];
    clear_blocks((places + 1) / 2, nv, sums);
    for (int k = l->K / 2; k; --k, a += next, b += 2 * nv * VL)
        nchwc_two_steps(source, places, nv, a, ld, b, true, sums);
    if (l->K % 2) nchwc_two_steps(source, places, nv, a, ld, b, false, sums);
    rows_of_blocks(places, nv, sums, acc);
}
