/* SPDX-License-Identifier: MIT */
/*
 * Short sums by FMLA of Armv8.2, 16 rows x 12 columns: see ukernel_short_sums.h.
 *
 *     A: | rows 0 to 7 | rows 8 to 15 |                  two registers for each half
 *     B: 4 columns in a register: | b[0] b[1] | b[0] b[1] | ...
 *
 * A register of A is multiplied by one element of a register of B. 24 accumulators + 4 of A + 3 of
 * B = 31 registers; 7 loads for 48 multiplications. A column of C is two registers of 8 rows.
 */

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
