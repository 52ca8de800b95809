/*
 * Layers of stride 2 with few channels. Included by ukernel_body.h.
 *
 *     a filter's weights    tap 0, tap 1 ...          scalars, read where they lie
 *     pixels under tap k    place 0, place 1 ...      a row of the band, from taps[k] on
 *
 * The columns of the band are split (ukernel_conv.h), so neighbouring places are vectors. A tile is
 * up to MR filters by up to NV vectors. Nothing is packed, because few filters read each pixel.
 */

/* All steps of a tile. Turns of several steps take less time with AVX2, as in panel_steps().
   Elsewhere the compiler spills addresses that such a turn needs. */
INLINE void band_steps(const gemm_band_row *b, const float *a, const float *pixels, const int rows,
                       const int nv, vec acc[MR][NV])
{
    enum { STEPS = TURN ? 9 : 1 };      /* 9: a channel of a 3x3 filter */
    const int K = b->K, *taps = b->taps;
    int k = 0;
    for (; k + STEPS <= K; k += STEPS, a += STEPS, taps += STEPS) {
        UNROLL
        for (int q = 0; q < STEPS; ++q)
            step(rows, nv, a + q, a + q + 4 * K, K, pixels + taps[q], acc);
    }
    for (; k < K; ++k, ++a, ++taps) step(rows, nv, a, a + 4 * K, K, pixels + *taps, acc);
}

/* Filters i .. i + rows - 1, and `cols` places from place x on. `whole`: they are nv vectors. */
INLINE void band_tile(const gemm_band_row *b, const int rows, const int nv, const bool whole,
                      const activation f, int i, int x, int cols)
{
    vec acc[MR][NV];
    clear(rows, nv, acc);
    band_steps(b, b->weights + (size_t)i * b->K, b->pixels + x, rows, nv, acc);
    const gemm_tile t = {.cols = cols, .c = b->y + i * b->y_row + x, .c_row = b->y_row, .alpha = 1,
                         .shift = b->shift + i, .scale = b->scale ? b->scale + i : NULL,
                         .slope = b->slope};
    store_activated(&t, rows, nv, whole, false, f, acc);
}

/* The last `left` places, if they need nv vectors. These end with the row, and so overlap the tile
   before them. A row of fewer places has no such tile. */
INLINE void band_end(const gemm_band_row *b, const int rows, const int nv, const activation f,
                     int i, int left)
{
    const int x = b->places - nv * VL;
    if (left <= (nv - 1) * VL || left > nv * VL) return;
    if (x < 0) {
        band_tile(b, rows, nv, false, f, i, 0, left);
    } else {
        band_tile(b, rows, nv, true, f, i, x, nv * VL);
    }
}

#define BAND_END(rows, v) band_end(b, rows, v, f, i, left);
INLINE void band_filters(const gemm_band_row *b, const int rows, const activation f, int i)
{
    int left = b->places;
    for (; left >= NR; left -= NR) band_tile(b, rows, NV, true, f, i, b->places - left, NR);
    EACH_VECS(BAND_END, rows)
}

#define BAND_NAME(r) JOIN(gemm_packed_band_##r##__, ISA)
#define BAND(r)                                                                                    \
    static NOINLINE TILE_TUNING void BAND_NAME(r)(const gemm_band_row *b, int i)                   \
    {                                                                                              \
        if (b->slope == 1) {                                                                       \
            band_filters(b, r, LINEAR, i);                                                         \
        } else if (b->slope > 0) {                                                                 \
            band_filters(b, r, LEAKY, i);                                                          \
        } else {                                                                                   \
            band_filters(b, r, BY_SIGN, i);                                                        \
        }                                                                                          \
    }
EACH_ROWS(BAND)

typedef void band_fn(const gemm_band_row *, int i);
#define BAND_ENTRY(r) BAND_NAME(r),
static band_fn *const bands_of[MR] = {EACH_ROWS(BAND_ENTRY)};

/* The tiles have about as many filters each, because in a tile of few filters each sum would wait
   for the step before. */
static void band_row(const gemm_band_row *b)
{
    const int panels = (b->filters + MR - 1) / MR;
    for (int panel = 0, i = 0; panel < panels; ++panel) {
        const int rows = (b->filters - i) / (panels - panel);
        bands_of[rows - 1](b, i);
        i += rows;
    }
}
