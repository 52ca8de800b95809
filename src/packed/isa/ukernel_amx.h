/* SPDX-License-Identifier: MIT */
/*
 * The tile by AMX, whose registers hold 16 rows of 64 bytes:
 *
 *                                B: 16 rows of the strip, up to 3 x 16 pairs
 *                                [  b  ][  b  ][  b  ]       one register, three times
 *     A: 16 rows of 16 pairs     ---------------------
 *     one register, twice [  a  ][acc 0][acc 1][acc 2]
 *                         [  a  ][acc 3][acc 4][acc 5]
 *
 * An instruction multiplies 16 x 16 pairs of A by 16 x 16 of B, as pairs lie in memory: see
 * packed/isa/pairs.h. Where fewer than 16 steps are left, A and B are copied with zeroes behind.
 *
 * Each function gives the registers back when it ends, so that no state of a host's thread grows.
 * A sum takes blocks of 16 steps from the first one on in all of them, so its bits are the same.
 *
 * Included by ukernel_pairs.h in place of the base's tile.
 */

enum { AMX_ROWS = 16, AMX_STEPS = 16, AMX_MR = 2 * AMX_ROWS };
enum { OWN_MR = AMX_MR, OWN_KC = 24 * AMX_STEPS, OWN_K_UNIT = AMX_STEPS };
enum { ROW_BYTES = AMX_STEPS * sizeof(gemm_pair), STRIP_BYTES = NR * sizeof(float) };

/* The compiler does not know what the registers read. */
#define MEMORY_IS_WRITTEN() __asm__ volatile("" ::: "memory")

/* See gemm_pairs. Steps follow each other in blocks of 16, which are read one after the other: 32
   rows of 16 pairs each. The last block has rows of what is left. */
static void arrange_panel(int rows, int K, const gemm_pair *a, size_t a_row, size_t a_step,
                          gemm_pair *to)
{
    for (int p = 0, steps; p < K; p += steps) {
        steps = lesser(AMX_STEPS, K - p);
        for (int i = 0; i < AMX_MR; ++i, to += steps) {
            const gemm_pair *from = a + (size_t)i * a_row + (size_t)p * a_step;
            if (i >= rows) {
                memset(to, 0, (size_t)steps * sizeof *to);
            } else if (a_step == 1) {
                memcpy(to, from, (size_t)steps * sizeof *to);
            } else {
                for (int k = 0; k < steps; ++k) to[k] = from[(size_t)k * a_step];
            }
        }
    }
}

/* As the processor wants it. */
typedef struct tile_sizes {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];         /* in a row */
    uint8_t rows[16];
} tile_sizes;

/* Registers 0 to 6 have `rows` rows. 6 is A, whose rows have `steps` pairs, and 7 is B, which has
   `steps` rows. */
static void begin_tiles(int rows, int steps)
{
    _Alignas(CACHE_LINE) tile_sizes sizes = {.palette = 1};
    for (int i = 0; i < 8; ++i) {
        sizes.bytes[i] = (uint16_t)(i == 6 ? steps * sizeof(gemm_pair) : ROW_BYTES);
        sizes.rows[i] = (uint8_t)(i < 7 ? rows : steps);
    }
    MEMORY_IS_WRITTEN();
    _tile_loadconfig(&sizes);
}

/* 16 steps of k of one or two registers of A. nv vectors of B, whose rows are b_row bytes apart.
   The processor fetches an A from L3 too late by itself, so with `fetch` those after the next ones
   are fetched. */
INLINE void amx_step(const float *a, const float *b, size_t b_row, const bool two, const int nv,
                     const bool fetch)
{
    for (int i = 0; fetch && i < (two ? AMX_MR : AMX_ROWS); ++i)
        __builtin_prefetch(a + (2 * AMX_MR + i) * AMX_STEPS);
    _tile_loadd(6, a, ROW_BYTES);
    _tile_loadd(7, b, b_row);
    _tile_dpbf16ps(0, 6, 7);
    if (nv > 1) {
        _tile_loadd(7, b + VL, b_row);
        _tile_dpbf16ps(1, 6, 7);
    }
    if (nv > 2) {
        _tile_loadd(7, b + 2 * VL, b_row);
        _tile_dpbf16ps(2, 6, 7);
    }
    if (!two) return;
    _tile_loadd(6, a + AMX_ROWS * AMX_STEPS, ROW_BYTES);
    if (nv > 2) {
        _tile_dpbf16ps(5, 6, 7);
        _tile_loadd(7, b + VL, b_row);
    }
    if (nv > 1) {
        _tile_dpbf16ps(4, 6, 7);
        _tile_loadd(7, b, b_row);
    }
    _tile_dpbf16ps(3, 6, 7);
}

/* The last steps, fewer than 16. */
INLINE void amx_last_step(const gemm_tile *t, int from, int p, const bool two, const int nv)
{
    _Alignas(CACHE_LINE) float a[AMX_MR][AMX_STEPS], b[AMX_STEPS][NR] = {{0}};
    const int steps = t->kc - p;
    for (int i = 0; i < (two ? AMX_MR : AMX_ROWS); ++i)
        vstore(a[i], vload_part(t->a + p * AMX_MR + (from + i) * steps, steps));
    for (int k = 0; k < steps; ++k)
        for (int v = 0; v < nv; ++v)
            vstore(b[k] + v * VL, vload(t->b + (p + k) * t->b_row + v * VL));
    MEMORY_IS_WRITTEN();
    amx_step(a[0], b[0], STRIP_BYTES, two, nv, false);
}

/* The sums of one or two registers of the rows of a panel from `from` on, with the registers' sizes
   set. */
INLINE void amx_sums(const gemm_tile *t, int from, const bool two, const int nv,
                     const bool fetch, float sums[AMX_MR][NR])
{
    const float *a = t->a + from * AMX_STEPS, *b = t->b;
    int p = 0;
    _tile_zero(0); _tile_zero(1); _tile_zero(2);
    _tile_zero(3); _tile_zero(4); _tile_zero(5);
    MEMORY_IS_WRITTEN();
    for (; p + AMX_STEPS <= t->kc; p += AMX_STEPS, b += AMX_STEPS * t->b_row) {
        amx_step(a, b, t->b_row * sizeof *b, two, nv, fetch);
        a += AMX_MR * AMX_STEPS;
    }
    if (p < t->kc) amx_last_step(t, from, p, two, nv);
    _tile_stored(0, sums[0], STRIP_BYTES);
    if (nv > 1) _tile_stored(1, sums[0] + VL, STRIP_BYTES);
    if (nv > 2) _tile_stored(2, sums[0] + 2 * VL, STRIP_BYTES);
    if (two) {
        _tile_stored(3, sums[AMX_ROWS], STRIP_BYTES);
        if (nv > 1) _tile_stored(4, sums[AMX_ROWS] + VL, STRIP_BYTES);
        if (nv > 2) _tile_stored(5, sums[AMX_ROWS] + 2 * VL, STRIP_BYTES);
    }
    MEMORY_IS_WRITTEN();
}

INLINE void amx_tile(const gemm_tile *t, int from, const bool two, const int nv)
{
    _Alignas(CACHE_LINE) float sums[AMX_MR][NR];
    fetch_tile(t->c, t->c_row, lesser(t->rows, MR), nv);
    amx_sums(t, from, two, nv, true, sums);
    store_rows(t, nv, sums);
}

typedef void tile_fn(const gemm_tile *, int from);

#define AMX_NAME(rows, nv) JOIN(gemm_packed_##rows##x##nv##__, ISA)
#define AMX_TILE(rows, nv)                                                                         \
    static NOINLINE void AMX_NAME(rows, nv)(const gemm_tile *t, int from)                          \
    {                                                                                              \
        amx_tile(t, from, rows == AMX_MR, nv);                                                     \
    }
EACH_VECS(AMX_TILE, 16)
EACH_VECS(AMX_TILE, 32)

#define AMX_ENTRY(rows, nv) AMX_NAME(rows, nv),
static tile_fn *const amx_tiles[2][NV] = {{EACH_VECS(AMX_ENTRY, 16)}, {EACH_VECS(AMX_ENTRY, 32)}};

/* Rows `from` .. from+rows of a tile, but for its A. */
INLINE gemm_tile rows_of_tile(const gemm_tile *t, int from, int rows)
{
    gemm_tile part = *t;
    part.rows = rows;
    part.c += from * t->c_row;
    if (part.shift) part.shift += from;
    if (part.scale) part.scale += from;
    return part;
}

/* A tile of any size by registers. The sizes of a whole tile are set, and are set again. */
static void tile_by_registers(const gemm_tile *t)
{
    const int v = (t->cols - 1) / VL;
    int from = 0;
    if (t->rows == AMX_MR) {
        amx_tiles[1][v](t, 0);
        return;
    }
    for (int rows; from < t->rows; from += rows) {
        rows = lesser(AMX_ROWS, t->rows - from);
        const gemm_tile part = rows_of_tile(t, from, rows);
        if (rows < AMX_ROWS) begin_tiles(rows, AMX_STEPS);
        amx_tiles[0][v](&part, from);
    }
    if (t->rows % AMX_ROWS) begin_tiles(AMX_ROWS, AMX_STEPS);
}

static void own_tile(const gemm_tile *t)
{
    gemm_moves *m = t->moves;
    if (m->left) move_pieces(m, t->kc);
    begin_tiles(AMX_ROWS, AMX_STEPS);
    tile_by_registers(t);
    _tile_release();
}

/* See gemm_multiply_kernels. */
static void own_panels(const gemm_tile *first, int count, int way, ptrdiff_t a_panel)
{
    gemm_tile t = *first;
    const int each = (first->moves->left + count - 1) / count;
    const int steps = each * first->moves->every;
    begin_tiles(AMX_ROWS, AMX_STEPS);
    for (; count; --count) {
        move_pieces(first->moves, steps);
        tile_by_registers(&t);
        t.a += a_panel;
        t.c += way * AMX_MR * (ptrdiff_t)t.c_row;
        if (t.shift) t.shift += way * AMX_MR;
        if (t.scale) t.scale += way * AMX_MR;
    }
    _tile_release();
}

#define own_panels own_panels
#include "packed/isa/ukernel_amx_blocks.h"
#include "packed/isa/ukernel_blocks.h"
#include "packed/isa/ukernel_amx_nchwc.h"
