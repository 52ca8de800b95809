/* SPDX-License-Identifier: MIT */
/*
 * The transforms of winograd.c: m x m outputs Y of a 3x3 filter g from n x n inputs d, n = m + 2.
 *
 *   V = BT d B    one channel, all tiles of a strip     winograd_input      a vector: VL tiles
 *   U = G g GT    VL filters, all channels              winograd_filters    a vector: VL filters
 *   Y = AT M A    VL filters, all tiles of a strip      winograd_output     a vector: VL filters
 *
 * A vector holds one element of VL tiles or filters. Both passes of a transform are the same
 * function: on the columns of the tile first, then on its rows.
 *
 * m = 2 interpolates at 0, 1, -1 and infinity, m = 4 at 0, +-P, +-Q and infinity. With P = 5/8 and
 * Q = 3/2 all constants of BT and AT are exact in single precision. The result is off by a third of
 * what the usual 1 and 2 give (docs/log/convolution.md).
 *
 * Included by ukernel_body.h.
 */

#define P GEMM_WINOGRAD_P
#define Q GEMM_WINOGRAD_Q

/* m is a constant in what this calls. */
#define BY_M(m, function, ...) ((m) == 2 ? function(2, __VA_ARGS__) : function(4, __VA_ARGS__))

enum { PANEL_ROW = (MR + 3) / 4 * 4 };

/* ---- one pass ---- */

/* r = BT d */
INLINE void input_pass(const int m, const vec *d, vec *r)
{
    if (m == 2) {
        r[0] = d[0] - d[2];
        r[1] = d[1] + d[2];
        r[2] = d[2] - d[1];
        r[3] = d[1] - d[3];
        return;
    }
    const vec sum = vset1(-(P * P + Q * Q)), product = vset1(P * P * Q * Q);
    const vec minus_pp = vset1(-P * P), minus_qq = vset1(-Q * Q);
    const vec odd_p = vfma(minus_qq, d[1], d[3]), even_p = vfma(minus_qq, d[2], d[4]);
    const vec odd_q = vfma(minus_pp, d[1], d[3]), even_q = vfma(minus_pp, d[2], d[4]);
    r[0] = vfma(product, d[0], vfma(sum, d[2], d[4]));
    r[1] = vfma(vset1(P), odd_p, even_p);
    r[2] = vfma(vset1(-P), odd_p, even_p);
    r[3] = vfma(vset1(Q), odd_q, even_q);
    r[4] = vfma(vset1(-Q), odd_q, even_q);
    r[5] = vfma(product, d[1], vfma(sum, d[3], d[5]));
}

/* r = AT x */
INLINE void output_pass(const int m, const vec *x, vec *r)
{
    if (m == 2) {
        r[0] = x[0] + (x[1] + x[2]);
        r[1] = (x[1] - x[2]) - x[3];
        return;
    }
    const vec even_p = x[1] + x[2], odd_p = x[1] - x[2];
    const vec even_q = x[3] + x[4], odd_q = x[3] - x[4];
    r[0] = x[0] + (even_p + even_q);
    r[1] = vfma(vset1(P), odd_p, vset1(Q) * odd_q);
    r[2] = vfma(vset1(P * P), even_p, vset1(Q * Q) * even_q);
    r[3] = vfma(vset1(P * P * P), odd_p, vfma(vset1(Q * Q * Q), odd_q, x[5]));
}

/* r = G g */
INLINE void filter_pass(const int m, const vec *g, vec *r)
{
    r[m + 1] = g[2];
    if (m == 2) {
        const vec half = vset1(.5f), even = g[0] + g[2];
        r[0] = g[0];
        r[1] = half * (even + g[1]);
        r[2] = half * (even - g[1]);
        return;
    }
    const vec p0 = vset1(GEMM_WINOGRAD_G(P, Q)), p1 = vset1(P * GEMM_WINOGRAD_G(P, Q));
    const vec p2 = vset1(P * P * GEMM_WINOGRAD_G(P, Q));
    const vec q0 = vset1(GEMM_WINOGRAD_G(Q, P)), q1 = vset1(Q * GEMM_WINOGRAD_G(Q, P));
    const vec q2 = vset1(Q * Q * GEMM_WINOGRAD_G(Q, P));
    const vec even_p = vfma(p0, g[0], p2 * g[2]), even_q = vfma(q0, g[0], q2 * g[2]);
    r[0] = vset1(1 / (P * P * Q * Q)) * g[0];
    r[1] = vfma(p1, g[1], even_p);
    r[2] = vfma(vset1(0) - p1, g[1], even_p);
    r[3] = vfma(q1, g[1], even_q);
    r[4] = vfma(vset1(0) - q1, g[1], even_q);
}

/* ---- input ---- */

/* Tiles of a strip that lie in one row of tiles. */
typedef struct tile_run {
    int image;
    int y, x;                   /* the row and column of its first tile in the image, in tiles */
    int count;
} tile_run;

INLINE tile_run first_run(const gemm_tiles *t)
{
    return (tile_run){t->y / t->down, t->y % t->down, t->x, lesser(t->across - t->x, t->count)};
}

/* The run behind it, when `tile` tiles of the strip are done. */
INLINE tile_run next_run(const gemm_tiles *t, tile_run run, int tile)
{
    const bool same_image = run.y + 1 < t->down;
    return (tile_run){run.image + !same_image, same_image ? run.y + 1 : 0, 0,
                      lesser(t->across, t->count - tile)};
}

/*
 * The first pass writes each of its n rows twice. A vector of the second pass then holds tiles of
 * several runs, also where a run has few:
 *
 *   at         m pixels of each tile, one tile behind the other, all runs in one row
 *   at + on    the same from pixel m of the first tile on. The last m places of a run have its two
 *              last pixels, and m - 2 that nobody reads
 */
typedef struct tile_rows {
    float *at;
    size_t width, on;           /* floats from row to row, and to the other rows */
} tile_rows;

/*
 * The first pass: on the columns of one run, for all its pixels side by side: `to` is of its first
 * tile. Outside of the image is zero. Vectors may write up to 2 * VL floats more in front and
 * behind. The two pixels that the other rows have there from the run before stay. The same pixels
 * of the next channel are fetched, but for two rows that the run above has fetched. An address
 * behind the last channel does no harm, because a fetch never fails.
 */
INLINE void transform_columns(const int m, const gemm_tiles *t, tile_run run, const float *channel,
                              const float *zeroes, tile_rows to)
{
    const int n = m + 2, x0 = run.x * m - t->pad, length = m * run.count + 2;
    const int from = x0 < 0 ? lesser(-x0, length) : 0, end = lesser(length, t->w - x0);
    const size_t area = (size_t)t->h * t->w;
    const float *rows[6];
    float before[6][2], *const on = to.at + to.on - m;
    UNROLL
    for (int i = 0; i < n; ++i) {
        const int y = run.y * m - t->pad + i;
        rows[i] = y >= 0 && y < t->h ? channel + (size_t)y * t->w + x0 : zeroes;
        memcpy(before[i], on + i * to.width, sizeof before[i]);
    }
    int x = from;
    for (; x < end; x += VL) {
        const bool whole = end - x >= VL;
        vec d[6], r[6];
        UNROLL
        for (int i = 0; i < n; ++i) {
            const float *p = rows[i] == zeroes ? zeroes : rows[i] + x;
            d[i] = whole ? vload(p) : vload_part(p, end - x);
            if (i > 1) __builtin_prefetch(p + area, 0, 2);
        }
        input_pass(m, d, r);
        UNROLL
        for (int i = 0; i < n; ++i) {
            vstore(to.at + i * to.width + x, r[i]);
            vstore(on + i * to.width + x, r[i]);
        }
    }
    for (int i = 0; i < n; ++i) {
        float *const row = to.at + i * to.width, *const row_on = on + i * to.width;
        for (int j = 0; j < from; ++j) row[j] = 0;
        for (int j = m; j < from; ++j) row_on[j] = 0;
        for (int j = x; j < length - 2; j += VL) vstore(row + j, vzero());
        for (int j = x; j < length; j += VL) vstore(row_on + j, vzero());
        memcpy(row_on, before[i], sizeof before[i]);
    }
}

/* d[0], d[1] ... are the pixels 0, 1 ... of VL tiles: m from `row`, and two from `on`. */
INLINE void split_pixels_of_tiles(const int m, const float *row, const float *on, vec *d)
{
    UNROLL
    for (int j = 0; j < m + 2; j += m) {
        const float *s = j ? on : row;
        const vec a = vload(s), b = vload(s + VL);
        if (m == 2) {
            d[j] = vevens(a, b);
            d[j + 1] = vodds(a, b);
            continue;
        }
        const vec c = vload(s + 2 * VL), e = vload(s + 3 * VL);
        const vec even_low = vevens(a, b), even_high = vevens(c, e);
        const vec odd_low = vodds(a, b), odd_high = vodds(c, e);
        d[j] = vevens(even_low, even_high);
        d[j + 1] = vevens(odd_low, odd_high);
        if (j == 0) {
            d[2] = vodds(even_low, even_high);
            d[3] = vodds(odd_low, odd_high);
        }
    }
}

/* Stores the tiles of a vector, from t on, in their panels. `two`: the second half is one too. */
INLINE void store_panels(float *V, size_t panel, int t, bool two, vec v)
{
    if (VL > PANEL_ROW) {
        vstore_low(V + t / MR * panel, v);
        if (two) vstore_high(V + (t / MR + 1) * panel, v);
    } else {
        vstore(V + t / MR * panel + t % MR, v);
    }
}

/* The first tile of the vector behind that of tile t. Where a panel is some vectors and a part of
   one, the next panel begins with a vector of its own. */
INLINE int next_vector(int t)
{
    if (VL >= PANEL_ROW || MR % VL == 0) return t + (VL == PANEL_ROW ? MR : VL);
    return lesser(t + VL, (t / MR + 1) * MR);
}

/* The second pass: on a row of the first. Writes a row of V's points. */
INLINE void transform_row(const int m, const float *row, size_t on, int count, float *V,
                          size_t point, size_t panel)
{
    for (int t = 0; t < count; t = next_vector(t)) {
        vec d[6], r[6];
        split_pixels_of_tiles(m, row + m * t, row + on + m * t, d);
        input_pass(m, d, r);
        UNROLL
        for (int j = 0; j < m + 2; ++j)
            store_panels(V + j * point, panel, t, t + MR < count, r[j]);
    }
}

INLINE void transform_input(const int m, const gemm_tiles *t, const float *channel, float *V,
                            size_t point, size_t panel, float *scratch)
{
    const int n = m + 2;
    const size_t width = ((size_t)m * t->count + (m + 4) * VL) / VL * VL;
    const tile_rows rows = {scratch + 2 * VL, width, n * width};
    float *const zeroes = scratch + 2 * n * width;
    vstore(zeroes, vzero());
    tile_rows to = rows;
    tile_run run = first_run(t);
    for (int tile = 0; tile < t->count; run = next_run(t, run, tile)) {
        transform_columns(m, t, run, channel + run.image * t->in_image, zeroes, to);
        tile += run.count;
        to.at += m * run.count;
    }
    for (int i = 0; i < n; ++i)
        transform_row(m, rows.at + i * width, rows.on, t->count, V + i * n * point, point, panel);
}

static NOINLINE void JOIN(gemm_winograd_input__, ISA)(const gemm_tiles *t, const float *channel,
                                                      float *V, size_t point, size_t panel,
                                                      float *scratch)
{
    BY_M(t->m, transform_input, t, channel, V, point, panel, scratch);
}

/* ---- filters ---- */

/* `floats` floats of each filter, side by side. Behind the last filter come zeroes. */
INLINE void gather_taps(const float *g, size_t apart, int filters, int floats, float *taps)
{
    if (filters < VL) clear_right(filters, floats, taps, VL);
    if (filters < BLOCK) transpose_small(g, apart, filters, floats, taps, VL);
    else transpose_short(g, apart, filters, floats, taps, VL);
}

/* A channel of VL filters: 3x3 vectors. */
INLINE void transform_channel(const int m, const float *taps, float *U, size_t point)
{
    const int n = m + 2;
    vec half[6][3];             /* G g */
    UNROLL
    for (int x = 0; x < 3; ++x) {
        const vec column[3] = {vload(taps + x * VL), vload(taps + (3 + x) * VL),
                               vload(taps + (6 + x) * VL)};
        vec r[6];
        filter_pass(m, column, r);
        UNROLL
        for (int i = 0; i < n; ++i) half[i][x] = r[i];
    }
    UNROLL
    for (int i = 0; i < n; ++i) {
        vec r[6];
        filter_pass(m, half[i], r);
        UNROLL
        for (int j = 0; j < n; ++j) vstore(U + (i * n + j) * point, r[j]);
    }
}

INLINE void transform_filters(const int m, const float *g, size_t apart, int filters, int channels,
                              float *U, size_t point, size_t step)
{
    enum { CHANNELS = 8 };      /* whose taps stay in L1 */
    float taps[CHANNELS * 9 * VL];
    for (int first = 0; first < channels; first += CHANNELS) {
        const int count = lesser(CHANNELS, channels - first);
        gather_taps(g + first * 9, apart, filters, count * 9, taps);
        for (int c = 0; c < count; ++c, U += step)
            transform_channel(m, taps + c * 9 * VL, U, point);
    }
}

static NOINLINE void JOIN(gemm_winograd_filters__, ISA)(int m, const float *g, size_t apart,
                                                        int filters, int channels, float *U,
                                                        size_t point, size_t step)
{
    BY_M(m, transform_filters, g, apart, filters, channels, U, point, step);
}

/* ---- output ---- */

/* The maximum of each 2x2 block of Y, as Darknet's maxpool has it. Y[i] is a row. */
INLINE void pool_tile(const int m, vec Y[4][4])
{
    UNROLL
    for (int i = 0; i < m; i += 2) {
        UNROLL
        for (int j = 0; j < m; j += 2) {
            vec max = vmax(Y[i][j], vset1(-FLT_MAX));
            max = vmax(Y[i][j + 1], max);
            max = vmax(Y[i + 1][j], max);
            Y[i / 2][j / 2] = vmax(Y[i + 1][j + 1], max);
        }
    }
}

/* `side` rows of pixels. A pixel is VL floats, a row is `apart` floats. */
INLINE void store_pixels(const int side, vec Y[4][4], float *to, size_t apart)
{
    UNROLL
    for (int i = 0; i < side; ++i) {
        UNROLL
        for (int j = 0; j < side; ++j) vstore(to + i * apart + j * VL, Y[i][j]);
    }
}

/* The pixels of one tile of VL filters: Y, finished. */
INLINE void transform_tile(const int m, bool pool, const float *M, size_t point, vec scale,
                           vec shift, vec slope, float *to, size_t apart)
{
    const int n = m + 2;
    vec half[6][4], Y[4][4];    /* half: AT M, by columns */
    UNROLL
    for (int j = 0; j < n; ++j) {
        vec column[6];
        UNROLL
        for (int i = 0; i < n; ++i) column[i] = vload(M + (i * n + j) * point);
        output_pass(m, column, half[j]);
    }
    UNROLL
    for (int i = 0; i < m; ++i) {
        vec row[6];
        UNROLL
        for (int j = 0; j < n; ++j) row[j] = half[j][i];
        output_pass(m, row, Y[i]);
        UNROLL
        for (int j = 0; j < m; ++j) {
            const vec x = vfma(scale, Y[i][j], shift);
            Y[i][j] = vif_positive(x, slope * x);
        }
    }
    if (pool) {
        pool_tile(m, Y);
        store_pixels(m / 2, Y, to, apart);
    } else {
        store_pixels(m, Y, to, apart);
    }
}

/* n pixels of VL floats become a row of n floats for each of the filters, `area` floats apart. */
INLINE void split_pixels(const float *pixels, int n, int filters, float *output, size_t area)
{
    const int whole = n < BLOCK ? 0 : filters / BLOCK * BLOCK;
    for (int x_block = 0; x_block < n && whole; x_block += BLOCK) {
        const int x = block_start(x_block, n);
        for (int f = 0; f < whole; f += BLOCK)
            transpose_block(pixels + x * VL + f, VL, output + f * area + x, (int)area);
    }
    for (int f = whole; f < filters; ++f) {
        for (int x = 0; x < n; ++x) output[f * area + x] = pixels[x * VL + f];
    }
}

INLINE void transform_output(const int m, const gemm_tiles *t, const float *M, size_t point,
                             size_t ld, const gemm_finish *f, float *output)
{
    enum { MOST_TILES = 8 };    /* whose pixels stay in L1 */
    const bool pool = f->pool;
    const int side = pool ? m / 2 : m;
    const int h = pool ? t->out_h / 2 : t->out_h, w = pool ? t->out_w / 2 : t->out_w;
    const vec slope = vset1(f->slope);
    const vec shift = f->filters == VL ? vload(f->shift) : vload_part(f->shift, f->filters);
    const vec scale = !f->scale ? vset1(1)
                    : f->filters == VL ? vload(f->scale) : vload_part(f->scale, f->filters);
    float pixels[4 * 4 * MOST_TILES * VL];
    const size_t apart = (size_t)side * MOST_TILES * VL;
    tile_run run = first_run(t);
    for (int tile = 0; tile < t->count;) {
        const int count = lesser(run.count, MOST_TILES), x = run.x * side, y = run.y * side;
        for (int i = 0; i < count; ++i)
            transform_tile(m, pool, M + (tile + i) * ld, point, scale, shift, slope,
                           pixels + i * side * VL, apart);
        const int length = lesser(count * side, w - x);
        float *const to = output + run.image * t->out_image + (size_t)y * w + x;
        for (int i = 0; i < side && y + i < h; ++i)
            split_pixels(pixels + i * apart, length, f->filters, to + (size_t)i * w, (size_t)h * w);
        tile += count;
        run = (tile_run){run.image, run.y, run.x + count, run.count - count};
        if (run.count == 0) run = next_run(t, run, tile);
    }
}

static NOINLINE void JOIN(gemm_winograd_output__, ISA)(const gemm_tiles *t, const float *M,
                                                       size_t point, size_t ld,
                                                       const gemm_finish *f, float *output)
{
    BY_M(t->m, transform_output, t, M, point, ld, f, output);
}

#undef P
#undef Q
