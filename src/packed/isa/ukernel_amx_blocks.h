/* SPDX-License-Identifier: MIT */
/*
 * Sums of a convolution in blocks by AMX: see gemm_blocks. 16 pixels of a block are a register, and
 * are read where they lie. The filters are B.
 *
 *                                  B: pairs of 32 channels by two vectors of filters
 *                                  [  b  ][  b  ]
 *     A: 16 places, twice   [  a  ][acc 0][acc 1]
 *                           [  a  ][acc 2][acc 3]
 *
 * Each register of A and B is its own, so that loads need not wait for products.
 *
 * Included by ukernel_amx.h.
 */

static void begin_blocks(int pairs)
{
    _Alignas(CACHE_LINE) tile_sizes sizes = {.palette = 1};
    for (int i = 0; i < 8; ++i) {
        const bool a = i == 4 || i == 5;
        sizes.bytes[i] = (uint16_t)(a ? pairs * (int)sizeof(gemm_pair) : ROW_BYTES);
        sizes.rows[i] = (uint8_t)(i < 6 ? AMX_ROWS : pairs);
    }
    MEMORY_IS_WRITTEN();
    _tile_loadconfig(&sizes);
}

/* A panel: one or two registers of places, from `from` on. Each of its steps fetches `each` lines
   of the weights that are next. */
INLINE void panel_of_blocks(const gemm_blocks *b, int from, const bool two, const int nv, int each)
{
    enum { AHEAD = 2 };         /* steps */
    const size_t row = b->apart * sizeof(gemm_pair), step = (size_t)(b->pairs * nv * VL);
    const gemm_pair *image = b->image + (size_t)from * b->apart, *w = b->weights;
    const gemm_pair *next = each ? b->next + from / AMX_MR * each * VL : w;
    const int panels = (b->places + AMX_MR - 1) / AMX_MR;
    const int lines = b->far && !from ? b->pairs * nv : 0;
    float *const sums = b->sums + from * 2 * VL;
    _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
    for (int s = 0; s < b->steps; ++s, w += step, next += panels * each * VL) {
        const gemm_pair *const a = image + b->at[s];
        for (int i = 0; i < lines; ++i) __builtin_prefetch(w + AHEAD * step + i * VL);
        for (int i = 0; i < each; ++i) __builtin_prefetch(next + i * VL, 0, 2);
        _tile_loadd(4, a, row);
        _tile_loadd(6, w, nv * VL * sizeof *w);
        _tile_dpbf16ps(0, 4, 6);
        if (nv > 1) {
            _tile_loadd(7, w + VL, nv * VL * sizeof *w);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (!two) continue;
        _tile_loadd(5, a + AMX_ROWS * b->apart, row);
        _tile_dpbf16ps(2, 5, 6);
        if (nv > 1) _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, 2 * ROW_BYTES);
    if (nv > 1) _tile_stored(1, sums + VL, 2 * ROW_BYTES);
    if (two) _tile_stored(2, sums + 2 * VL * AMX_ROWS, 2 * ROW_BYTES);
    if (two && nv > 1) _tile_stored(3, sums + 2 * VL * AMX_ROWS + VL, 2 * ROW_BYTES);
}

typedef void blocks_fn(const gemm_blocks *, int from, int each);

#define BLOCKS_PANEL(name, two, nv)                                                                \
    static NOINLINE void name(const gemm_blocks *b, int from, int each)                            \
    {                                                                                              \
        panel_of_blocks(b, from, two, nv, each);                                                   \
    }
BLOCKS_PANEL(blocks_16x1, false, 1)
BLOCKS_PANEL(blocks_16x2, false, 2)
BLOCKS_PANEL(blocks_32x1, true, 1)
BLOCKS_PANEL(blocks_32x2, true, 2)

static void amx_block_sums(const gemm_blocks *b)
{
    static blocks_fn *const panels[2][2] = {{blocks_16x1, blocks_16x2}, {blocks_32x1, blocks_32x2}};
    const int count = (b->places + AMX_MR - 1) / AMX_MR, lines = b->pairs * b->vectors;
    const int each = b->next ? (lines + count - 1) / count : 0;
    begin_blocks(b->pairs);
    for (int i = 0; i < b->places; i += AMX_MR)
        panels[b->places - i > AMX_ROWS][b->vectors - 1](b, i, each);
    _tile_release();
    MEMORY_IS_WRITTEN();
}

#define own_block_sums amx_block_sums
