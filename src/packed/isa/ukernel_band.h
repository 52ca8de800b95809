/* SPDX-License-Identifier: MIT */
/*
 * Layers with few channels. Included by ukernel_body.h.
 *
 *     a filter's weights    tap 0, tap 1 ...          scalars, read where they lie
 *     pixels under tap k    place 0, place 1 ...      a row of the band, from taps[k] on
 *
 * Unless the stride is 1 the columns of the band are split (ukernel_conv.h), so neighbouring places
 * are vectors. A tile is up to MR filters by up to NV vectors. Nothing is packed, because few
 * filters read each pixel.
 */

/* All steps of a tile, in turns of BAND_TURN steps. */
INLINE void band_steps(const gemm_band_row *b, const float *a, const float *pixels, const int rows,
                       const int nv, vec acc[MR][NV])
{
    const int K = b->K, *taps = b->taps;
    int k = 0;
    for (; k + BAND_TURN <= K; k += BAND_TURN, a += BAND_TURN, taps += BAND_TURN) {
        UNROLL
        for (int q = 0; q < BAND_TURN; ++q)
            step(rows, nv, a + q, a + q + 4 * K, K, pixels + taps[q], acc);
    }
    for (; k < K; ++k, ++a, ++taps) step(rows, nv, a, a + 4 * K, K, pixels + *taps, acc);
}

/* Filters i .. i + rows - 1, and nv vectors of places from place x on. */
INLINE void band_tile(const gemm_band_row *b, const int rows, const int nv, int i, int x)
{
    vec acc[MR][NV];
    clear(rows, nv, acc);
    band_steps(b, b->weights + (size_t)i * b->K, b->pixels + x, rows, nv, acc);
    const gemm_tile t = {.c = b->y + i * b->y_row + x, .c_row = b->y_row, .alpha = 1,
                         .shift = b->shift + i, .scale = b->scale ? b->scale + i : NULL,
                         .slope = b->slope};
    store_finished(&t, rows, nv, acc);
}

/* The last `left` places, if they need nv vectors. These end with the row, and so overlap the tile
   before them. */
#define BAND_END(rows, nv)                                                                         \
    if (nv < NV && left > (nv - 1) * VL && left <= nv * VL)                                        \
        band_tile(b, rows, nv, i, b->places - nv * VL);

INLINE void band_filters(const gemm_band_row *b, const int rows, int i)
{
    int left = b->places;
    for (; left > (NV - 1) * VL; left -= NR)
        band_tile(b, rows, NV, i, lesser(b->places - left, b->places - NR));
    EACH_VECS(BAND_END, rows)
}

/* A row of `rows` filters from filter i on. */
#define BAND_FUNCTION(name, filters, rows)                                                         \
    static NOINLINE TILE_TUNING void name(const gemm_band_row *b, int i) { filters(b, rows, i); }
#define BAND_OF_ONE JOIN(gemm_packed_band_one__, ISA)
#define BAND_OF_MR JOIN(gemm_packed_band__, ISA)
BAND_FUNCTION(BAND_OF_ONE, band_filters, 1)
BAND_FUNCTION(BAND_OF_MR, band_filters, MR)

typedef void band_fn(const gemm_band_row *, int i);

/* `rows` filters from filter i on. There are fewer places than floats in the vectors of one tile,
   so these go to memory of their own first. */
static NOINLINE void short_panel(const gemm_band_row *b, band_fn *of, int i, int rows)
{
    float y[MR][NR];
    gemm_band_row panel = *b;
    panel.places = (b->places + VL - 1) / VL * VL;
    panel.weights += (size_t)i * b->K;
    panel.shift += i;
    if (panel.scale) panel.scale += i;
    panel.y = y[0];
    panel.y_row = NR;
    of(&panel, 0);
    for (int r = 0; r < rows; ++r)
        memcpy(b->y + (i + r) * b->y_row, y[r], (size_t)b->places * sizeof **y);
}

/* The last tile of a row of `least` places or more ends with it. */
INLINE void one_panel(const gemm_band_row *b, int least, band_fn *of, int i, int rows)
{
    const bool is_short = b->places < least && b->places % VL;
    if (is_short) short_panel(b, of, i, rows);
    else of(b, i);
}

/* All filters, by tiles of MR of them. The last tile ends with them, and so overlaps the one before
   it. Fewer than MR filters go one by one, because hardly a network has so few. */
static void band_row(const gemm_band_row *b)
{
    const int rows = b->filters < MR ? 1 : MR;
    for (int i = 0; i < b->filters; i += rows)
        one_panel(b, NR, rows == 1 ? BAND_OF_ONE : BAND_OF_MR, lesser(i, b->filters - rows), rows);
}

/* ---- with the maxima of 2x2 places ---- */

/*
 * A vector of maxima has four accumulators: the even and the odd places of two rows. So the maxima
 * need no shuffles.
 *
 * The weights stay in registers while a vector of pixels after the other is loaded.
 */
INLINE void pooled_step(const float *a, size_t a_row, const int rows, const float *row,
                        const float *below, const int *taps, vec acc[POOL_ROWS][4])
{
    const float *const pixels[4] = {row + taps[0], row + taps[1], below + taps[0],
                                    below + taps[1]};
#ifdef outer_product
    const float *column[POOL_ROWS];
    UNROLL
    for (int i = 0; i < rows; ++i) column[i] = (i < 4 ? a : a + 4 * a_row) + (i & 3) * a_row;
    outer_product(rows, 4, column, pixels, acc[0], 4);
#else
    vec weights[POOL_ROWS];
    UNROLL
    for (int i = 0; i < rows; ++i) {
        weights[i] = vset1((i < 4 ? a : a + 4 * a_row)[(i & 3) * a_row]);
    }
    UNROLL
    for (int q = 0; q < 4; ++q) {
        const vec places = vload(pixels[q]);
        UNROLL
        for (int i = 0; i < rows; ++i) vfma_to(acc[i][q], weights[i], places);
    }
#endif
}

/* The maximum of f(scale * sum + shift), as of max_pairs(). */
INLINE vec pooled_maximum(const vec sums[4], vec scale, vec shift, vec slope, const activation f)
{
    vec max = vset1(-FLT_MAX);
    UNROLL
    for (int q = 0; q < 4; ++q) max = vmax(activate(f, vfma(scale, sums[q], shift), slope), max);
    return max;
}

/* The maxima of `rows` filters. */
INLINE void store_pooled(const activation f, const gemm_band_row *b, const int rows, int i, int x,
                         vec acc[POOL_ROWS][4])
{
    static const float one = 1;
    const float *const scales = b->scale ? b->scale + i : &one, *const shifts = b->shift + i;
    const size_t next_scale = b->scale ? 1 : 0;
    const vec slope = vset1(b->slope);
    float *y = b->y + i * b->y_row + x;
    UNROLL
    for (int r = 0; r < rows; ++r, y += b->y_row) {
        const vec scale = vset1(scales[r * next_scale]), shift = vset1(shifts[r]);
        vstore(y, pooled_maximum(acc[r], scale, shift, slope, f));
    }
}

/* Filters i .. i + rows - 1, and a vector of maxima from place x on. */
INLINE void pooled_tile(const gemm_band_row *b, const int rows, int i, int x)
{
    const float *const row = b->pixels + x, *const below = b->below + x;
    const float *a = b->weights + (size_t)i * b->K, *const end = a + b->K;
    vec acc[POOL_ROWS][4];
    UNROLL
    for (int r = 0; r < rows; ++r) {
        UNROLL
        for (int q = 0; q < 4; ++q) acc[r][q] = vzero();
    }
    for (const int *taps = b->taps; a < end; ++a, taps += 2)
        pooled_step(a, b->K, rows, row, below, taps, acc);
    BY_SLOPE(b->slope > 0, store_pooled, b, rows, i, x, acc);
}

/* The last vector ends with the row, and so overlaps the one before it. The compiler reads a copy
   of the struct once, but the struct itself again behind each store. */
INLINE void pooled_filters(const gemm_band_row *row, const int rows, int i)
{
    const gemm_band_row b = *row;
    for (int x = 0; x < b.places; x += VL) pooled_tile(&b, rows, i, lesser(x, b.places - VL));
}

#define POOLED_NAME(r) JOIN(gemm_packed_pooled_##r##__, ISA)
#define POOLED(r) BAND_FUNCTION(POOLED_NAME(r), pooled_filters, r)
EACH_POOL_ROWS(POOLED)

#define POOLED_ENTRY(r) POOLED_NAME(r),
static band_fn *const pooled_of[POOL_ROWS] = {EACH_POOL_ROWS(POOLED_ENTRY)};

/* The tiles have about as many filters each, because in a tile of few filters each sum would wait
   for the step before. */
static void band_pooled(const gemm_band_row *b)
{
    const int panels = (b->filters + POOL_ROWS - 1) / POOL_ROWS;
    for (int panel = 0, i = 0, rows; panel < panels; ++panel, i += rows) {
        rows = (b->filters - i) / (panels - panel);
        one_panel(b, VL, pooled_of[rows - 1], i, rows);
    }
}
