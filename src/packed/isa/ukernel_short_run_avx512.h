/* SPDX-License-Identifier: MIT */
/*
 * Short sums by VFMADDPH of AVX512_FP16, 32 rows x 48 columns, 24 of them at a time: see
 * ukernel_short_sums.h. A register has 32 rows. It is multiplied by one element of B, which the
 * instruction reads from memory for all rows. 24 accumulators + 2 of A; 2 + 48 loads for 48
 * multiplications.
 */

typedef uint16_t __attribute__((may_alias)) half_bits;

/* In assembly, because compilers that know no AVX512_FP16 are older than its assemblers. */
#ifndef BY_ELEMENT
#define BY_ELEMENT(c, a, b)                                                                        \
    __asm__("vfmadd231ph %2%{1to32%}, %1, %0" : "+v"(c) : "v"(a), "m"(*(b)))
#endif

/* Of a constant number of columns, at most 24. */
INLINE void short_columns(const float *a, const float *b, size_t b_row, int steps,
                          const int columns, float sums[][OWN_MR])
{
    enum { MOST = 24 };
    vec acc[MOST];
    UNROLL
    for (int j = 0; j < columns; ++j) acc[j] = vzero();
    for (; steps; --steps, a += STEP, b += b_row) {
        const half_bits *const pairs = (const half_bits *)b;
        const vec first = vload(a), second = vload(a + STEP / 2);
        UNROLL
        for (int j = 0; j < columns; ++j) BY_ELEMENT(acc[j], first, pairs + 2 * j);
        UNROLL
        for (int j = 0; j < columns; ++j) BY_ELEMENT(acc[j], second, pairs + 2 * j + 1);
    }
    UNROLL
    for (int j = 0; j < columns; ++j) {
        const __m512i of_run = _mm512_castps_si512(acc[j]);
        float *const sum = sums[j];
        vstore(sum, vload(sum) + _mm512_cvtph_ps(_mm512_castsi512_si256(of_run)));
        vstore(sum + VL, vload(sum + VL) + _mm512_cvtph_ps(_mm512_extracti64x4_epi64(of_run, 1)));
    }
}

INLINE void short_run(const float *a, const float *b, size_t b_row, int steps, const int nv,
                      float sums[NR][OWN_MR])
{
    enum { HALF = NR / 2 };
    if (nv == NV) {
        short_columns(a, b, b_row, steps, HALF, sums);
        short_columns(a, b + HALF, b_row, steps, HALF, sums + HALF);
        return;
    }
    short_columns(a, b, b_row, steps, VL, sums);
    if (nv == 2) short_columns(a, b + VL, b_row, steps, VL, sums + VL);
}
