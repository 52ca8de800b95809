/* SPDX-License-Identifier: MIT */
/*
 * The tile with sums in 16 bits, of fp16: 16 rows x 12 columns, by FMLA of Armv8.2.
 *
 *     A: a panel, which its own function arranges. A step is a pair of each row, the first halves
 *        first, two registers of each:
 *        | rows 0 to 7 | rows 8 to 15 |     first halves, k
 *        | rows 0 to 7 | rows 8 to 15 |     second halves, k + 1
 *     B: a row of the strip, 4 columns in a register: | b[0] b[1] | b[0] b[1] | ...
 *
 * A register of A is multiplied by one element of a register of B, so that B stays in pairs. 24
 * accumulators + 4 of A + 3 of B = 31 registers; 7 loads for 48 multiplications. A column of C is
 * two registers of 8 rows.
 *
 * A sum of 16 bits has RUN * 2 products, in the order of k. Then it is added to one of single
 * precision. So no sum becomes infinite as long as a product is at most OWN_PRODUCT:
 * 32 * 2000 < 65504.
 *
 * Included by ukernel_pairs.h in place of the base's tile.
 */

enum { OWN_MR = 16, OWN_KC = 128, OWN_K_UNIT = 16, RUN = 16, STEP = OWN_MR };
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

#define BY_ELEMENT(c, a, b, lane)                                                                  \
    __asm__ volatile("fmla %0.8h, %1.8h, %2.h[" #lane "]" : "+w"(c) : "w"(a), "x"(b))

/* Four columns times the first halves, or the second ones. */
#define FOUR_COLUMNS(acc, a, b, lane0, lane1, lane2, lane3)                                        \
    do {                                                                                           \
        for (int h = 0; h < 2; ++h) {                                                              \
            BY_ELEMENT((acc)[0][h], (a)[h], b, lane0);                                             \
            BY_ELEMENT((acc)[1][h], (a)[h], b, lane1);                                             \
            BY_ELEMENT((acc)[2][h], (a)[h], b, lane2);                                             \
            BY_ELEMENT((acc)[3][h], (a)[h], b, lane3);                                             \
        }                                                                                          \
    } while (0)

/* Up to RUN steps of a panel and of nv vectors of a strip, added to sums[column][row]. */
INLINE void short_run(const float *a, const float *b, size_t b_row, int steps, const int nv,
                      float sums[NR][OWN_MR])
{
    vec acc[NR][2];
    UNROLL
    for (int j = 0; j < nv * VL; ++j) acc[j][0] = acc[j][1] = vzero();
    for (; steps; --steps, a += STEP, b += b_row) {
        vec first[2], second[2], row[NV];
        UNROLL
        for (int v = 0; v < nv; ++v) load_vector(row[v], b + v * VL);
        load_vector(first[0], a);
        load_vector(first[1], a + 4);
        load_vector(second[0], a + 8);
        load_vector(second[1], a + 12);
        UNROLL
        for (int v = 0; v < nv; ++v) {
            FOUR_COLUMNS(acc + v * VL, first, row[v], 0, 2, 4, 6);
            FOUR_COLUMNS(acc + v * VL, second, row[v], 1, 3, 5, 7);
        }
    }
    UNROLL
    for (int j = 0; j < nv * VL; ++j) {
        UNROLL
        for (int h = 0; h < 2; ++h) {
            const float16x8_t of_run = vreinterpretq_f16_f32(acc[j][h]);
            float *const sum = sums[j] + 8 * h;
            vstore(sum, vload(sum) + vcvt_f32_f16(vget_low_f16(of_run)));
            vstore(sum + 4, vload(sum + 4) + vcvt_high_f32_f16(of_run));
        }
    }
}

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

#define own_sums short_tile
