/* SPDX-License-Identifier: MIT */
/*
 * Pairs of fp16 by the micro-kernels of single precision: some steps of A and B become floats, and
 * the base multiplies these. Their products are exact, and the sums are floats.
 *
 *     pairs    | b[0][j] b[1][j] | b[0][j+1] b[1][j+1] | ...         a step
 *     floats   | b[0][j] | b[0][j+1] | ...   | b[1][j] | ...         two steps
 *
 * A strip of B becomes floats once for all panels of a call. STEPS steps of it stay in L1: up to
 * 64 * 2 * 12 * 4 = 6 KiB. A tile adds to C after each STEPS steps, whichever function computes
 * it, so all of them give the same bits.
 *
 * The file that includes this one defines:
 *
 *   ISA, PAIRS          the name, and the base
 *   WIDE_MR             the base's mr
 *   GROUP               pairs that these convert at once:
 *   pairs_of_rows(low, high, pairs)     pairs[j] has low[j] and high[j]
 *   pairs_along(x, pairs)               pairs[p] has x[2 * p] and x[2 * p + 1]
 *   floats_of_rows(pairs, low, high)    the way back
 *   floats_along(pairs, x)
 *   pair_supported()    whether the processor runs them, beside the base
 */
#include "packed/isa/pairs.h"

#include <stddef.h>
#include <string.h>

#define STRING_(a) #a
#define STRING(a) STRING_(a)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

enum { STEPS = 64, MOST_NR = 12, WIDE_KC = 192 };

static int least(int a, int b) { return a < b ? a : b; }

/* ---- conversions of any number of pairs ---- */

static void pair_rows(int n, const float *low, const float *high, gemm_pair *pairs)
{
    static const float zeroes[GROUP];
    int j = 0;
    for (; j + GROUP <= n; j += GROUP) pairs_of_rows(low + j, high ? high + j : zeroes, pairs + j);
    if (j == n) return;
    float first[GROUP] = {0}, second[GROUP] = {0};
    gemm_pair last[GROUP];
    memcpy(first, low + j, (size_t)(n - j) * sizeof *first);
    if (high) memcpy(second, high + j, (size_t)(n - j) * sizeof *second);
    pairs_of_rows(first, second, last);
    memcpy(pairs + j, last, (size_t)(n - j) * sizeof *last);
}

static void pair_along(int n, const float *x, gemm_pair *pairs)
{
    int p = 0;
    for (; 2 * (p + GROUP) <= n; p += GROUP) pairs_along(x + 2 * p, pairs + p);
    if (2 * p >= n) return;
    float rest[2 * GROUP] = {0};
    gemm_pair last[GROUP];
    memcpy(rest, x + 2 * p, (size_t)(n - 2 * p) * sizeof *rest);
    pairs_along(rest, last);
    memcpy(pairs + p, last, (size_t)((n + 1) / 2 - p) * sizeof *last);
}

static void widen_rows(int n, const gemm_pair *pairs, float *low, float *high)
{
    int j = 0;
    for (; j + GROUP <= n; j += GROUP) floats_of_rows(pairs + j, low + j, high + j);
    if (j == n) return;
    gemm_pair last[GROUP] = {0};
    float first[GROUP], second[GROUP];
    memcpy(last, pairs + j, (size_t)(n - j) * sizeof *last);
    floats_of_rows(last, first, second);
    memcpy(low + j, first, (size_t)(n - j) * sizeof *first);
    memcpy(high + j, second, (size_t)(n - j) * sizeof *second);
}

static void widen_along(int n, const gemm_pair *pairs, float *x)
{
    int p = 0;
    for (; p + GROUP <= n; p += GROUP) floats_along(pairs + p, x + 2 * p);
    if (p == n) return;
    gemm_pair last[GROUP] = {0};
    float both[2 * GROUP];
    memcpy(last, pairs + p, (size_t)(n - p) * sizeof *last);
    floats_along(last, both);
    memcpy(x + 2 * p, both, (size_t)(n - p) * 2 * sizeof *both);
}

/* ---- tiles ---- */

/* Steps p .. p + steps - 1 of the strip of a tile, in whole vectors. */
static void widen_strip(const gemm_tile *t, int p, int steps, float *to)
{
    const int vl = PAIRS.vl, nr = PAIRS.nr, columns = (t->cols + vl - 1) / vl * vl;
    const gemm_pair *b = (const gemm_pair *)t->b + p * t->b_row;
    for (; steps; --steps, b += t->b_row, to += 2 * nr) widen_rows(columns, b, to, to + nr);
}

/* The same of its panel; the tile then has the floats. A lies by rows or by columns. */
static void widen_panel(gemm_tile *t, int p, int steps, float *to)
{
    const gemm_pair *a = (const gemm_pair *)t->a + p * t->a_step;
    const bool by_rows = t->a_step == 1;
    t->a = t->a_next = to;
    if (by_rows) {
        for (int i = 0; i < t->rows; ++i, a += t->a_row) widen_along(steps, a, to + 2 * STEPS * i);
    } else {
        for (int k = 0; k < steps; ++k, a += t->a_step, to += 2 * WIDE_MR)
            widen_rows(t->rows, a, to, to + WIDE_MR);
    }
    t->a_row = by_rows ? 2 * STEPS : 1;
    t->a_step = by_rows ? 1 : WIDE_MR;
}

/* `rows` rows of a strip from the tile `first` on, and what is added to `first` for a panel. */
static void multiply_floats(const gemm_tile *first, int rows, ptrdiff_t a_panel, int way)
{
    _Alignas(CACHE_LINE) float a[2 * STEPS * WIDE_MR], b[2 * STEPS * MOST_NR];
    for (int p = 0, steps; p < first->kc; p += steps) {
        steps = least(STEPS, first->kc - p);
        const bool ends = p + steps == first->kc;
        widen_strip(first, p, steps, b);
        gemm_tile panel = *first;
        for (int left = rows; left > 0; left -= WIDE_MR) {
            gemm_tile t = panel;
            t.rows = least(left, WIDE_MR);
            widen_panel(&t, p, steps, a);
            t.b = b;
            t.b_row = (size_t)PAIRS.nr;
            t.kc = 2 * steps;
            t.c_next = t.c;
            if (p) t.add = true;
            if (!ends) t.shift = t.scale = NULL;
            PAIRS.gemm.tile(&t);
            panel.a += a_panel;
            panel.c += way * WIDE_MR * (ptrdiff_t)panel.c_row;
            if (panel.shift) panel.shift += way * WIDE_MR;
            if (panel.scale) panel.scale += way * WIDE_MR;
        }
    }
}

static void tile_of_pairs(const gemm_tile *t)
{
    multiply_floats(t, t->rows, 0, 1);
}

/* See gemm_multiply_kernels. */
static void panels_of_pairs(const gemm_tile *t, int count, int way, ptrdiff_t a_panel)
{
    multiply_floats(t, count * WIDE_MR, a_panel, way);
}

static void sweep_of_pairs(const gemm_sweep *s)
{
    gemm_moves none = {.left = 0};
    const gemm_tile t = {.cols = s->cols, .kc = s->kc, .a = s->a, .a_row = s->a_row, .a_step = 1,
                         .b = s->b, .b_row = s->b_row, .moves = &none, .c = s->c,
                         .c_row = s->c_row, .alpha = 1, .shift = s->shift, .scale = s->scale,
                         .slope = s->slope};
    multiply_floats(&t, s->rows, WIDE_MR * (ptrdiff_t)s->a_row, 1);
}

static bool all_supported(void)
{
    return PAIRS.supported() && pair_supported();
}

/* part: what Winograd's algorithm saves in single precision, it saves here too. */
const gemm_pairs JOIN(gemm_pairs_, ISA) = {
    .name = STRING(ISA),
    .format = GEMM_FP16,
    .base = &PAIRS,
    .mr = WIDE_MR,
    .kc = WIDE_KC,
    .k_unit = 4,
    .part = 1,
    .multiply.tile = tile_of_pairs,
    .multiply.panels = panels_of_pairs,
    .multiply.sweep = sweep_of_pairs,
    .rows = pair_rows,
    .along = pair_along,
    .supported = all_supported,
};
