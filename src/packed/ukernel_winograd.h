/*
 * The transforms of winograd.c: m x m outputs Y of a 3x3 filter g from n x n inputs d, n = m + 2.
 *
 *   V = BT d B    one channel, all tiles of a strip     winograd_input
 *   U = G g GT    one filter, all channels              winograd_filter
 *   Y = AT M A    one filter, all tiles of a strip      winograd_output
 *
 * A vector holds one element of VL tiles side by side, or of VL channels. Both passes of a transform
 * are the same function: on the columns of the tile first, then on its rows.
 *
 * m = 2 interpolates at 0, 1, -1 and infinity, m = 4 at 0, +-P, +-Q and infinity. With P = 5/8 and
 * Q = 3/2 all constants of BT and AT are exact in single precision, and the result is off by a third
 * of what the usual 1 and 2 give (docs/convolution.md).
 *
 * Included by ukernel_body.h.
 */

#define P GEMM_WINOGRAD_P
#define Q GEMM_WINOGRAD_Q

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

/* Tiles `tile` ... `end` - 1 of a strip that lie in one row of tiles. */
typedef struct tile_run {
    int y, x;                   /* the row and column of its first tile, in tiles */
    int count;
} tile_run;

INLINE tile_run run_at(const gemm_tiles *t, int tile)
{
    const int y = (t->first + tile) / t->across, x = (t->first + tile) % t->across;
    return (tile_run){y, x, lesser(t->across - x, t->count - tile)};
}

/*
 * The first pass: on the columns of one run, for all its pixels side by side. Writes n rows of
 * m * count + 2 floats, `width` apart. Outside of the image is zero. Vectors may write up to 2 * VL
 * floats more.
 */
INLINE void transform_columns(const int m, const gemm_tiles *t, tile_run run, const float *channel,
                              const float *zeroes, float *to, size_t width)
{
    const int n = m + 2, x0 = run.x * m - t->pad, length = m * run.count + 2;
    const int from = x0 < 0 ? lesser(-x0, length) : 0, end = lesser(length, t->w - x0);
    const float *rows[6];
    UNROLL
    for (int i = 0; i < n; ++i) {
        const int y = run.y * m - t->pad + i;
        rows[i] = y >= 0 && y < t->h ? channel + (size_t)y * t->w + x0 : zeroes;
    }
    int x = from;
    for (; x < end; x += VL) {
        const bool whole = end - x >= VL;
        vec d[6], r[6];
        UNROLL
        for (int i = 0; i < n; ++i) {
            const float *p = rows[i] == zeroes ? zeroes : rows[i] + x;
            d[i] = whole ? vload(p) : vload_part(p, end - x);
        }
        input_pass(m, d, r);
        UNROLL
        for (int i = 0; i < n; ++i) vstore(to + i * width + x, r[i]);
    }
    for (int i = 0; i < n; ++i) {
        float *row = to + i * width;
        for (int j = 0; j < from; ++j) row[j] = 0;
        for (int j = x; j < length; j += VL) vstore(row + j, vzero());
    }
}

/* Splits a row of a run: element t of phase j becomes src[m * t + j]. The phases are `apart` floats
   apart. Vectors may write up to VL floats more: they belong to the next run, which comes later. */
INLINE void split_phases(const int m, const float *src, int count, float *to, size_t apart)
{
    for (int t = 0; t < count; t += VL, src += m * VL, to += VL) {
        UNROLL
        for (int j = 0; j < m + 2; j += m) {
            const float *s = src + j;
            if (m == 2) {
                const vec a = vload(s), b = vload(s + VL);
                vstore(to + j * apart, vevens(a, b));
                vstore(to + (j + 1) * apart, vodds(a, b));
                continue;
            }
            const vec a = vload(s), b = vload(s + VL), c = vload(s + 2 * VL), d = vload(s + 3 * VL);
            const vec even_low = vevens(a, b), even_high = vevens(c, d);
            const vec odd_low = vodds(a, b), odd_high = vodds(c, d);
            vstore(to + j * apart, vevens(even_low, even_high));
            vstore(to + (j + 1) * apart, vevens(odd_low, odd_high));
            if (j == 0) {
                vstore(to + 2 * apart, vodds(even_low, even_high));
                vstore(to + 3 * apart, vodds(odd_low, odd_high));
            }
        }
    }
}

/* The second pass: on the rows of VL tiles at once. Row i of V's points is `to`. */
INLINE void transform_rows(const int m, const float *phases, size_t apart, int count, float *to,
                           size_t point)
{
    const int n = m + 2;
    for (int t = 0; t < count; t += VL) {
        vec d[6], r[6];
        UNROLL
        for (int j = 0; j < n; ++j) d[j] = vload(phases + j * apart + t);
        input_pass(m, d, r);
        UNROLL
        for (int j = 0; j < n; ++j) vstore(to + j * point + t, r[j]);
    }
}

INLINE void transform_input(const int m, const gemm_tiles *t, const float *channel, float *V,
                            size_t point, float *scratch)
{
    const int n = m + 2;
    const int runs = t->count / t->across + 2;
    const size_t width = m * t->count + 2 * runs + 8 * VL, apart = t->count + 2 * VL;
    float *const columns = scratch, *const phases = columns + n * width;
    float *const zeroes = phases + n * apart;
    UNROLL
    for (int j = 0; j < VL; j += VL) vstore(zeroes + j, vzero());
    float *to = columns;
    for (int tile = 0; tile < t->count;) {
        const tile_run run = run_at(t, tile);
        transform_columns(m, t, run, channel, zeroes, to, width);
        tile += run.count;
        to += m * run.count + 2;
    }
    for (int i = 0; i < n; ++i) {
        const float *row = columns + i * width;
        for (int tile = 0; tile < t->count;) {
            const tile_run run = run_at(t, tile);
            split_phases(m, row, run.count, phases + tile, apart);
            tile += run.count;
            row += m * run.count + 2;
        }
        transform_rows(m, phases, apart, t->count, V + i * n * point, point);
    }
}

static NOINLINE void JOIN(gemm_winograd_input__, ISA)(const gemm_tiles *t, const float *channel,
                                                      float *V, size_t point, float *scratch)
{
    if (t->m == 2) {
        transform_input(2, t, channel, V, point, scratch);
    } else {
        transform_input(4, t, channel, V, point, scratch);
    }
}

/* ---- filters ---- */

/* Channels c ... c + VL - 1 of one filter. Behind the last channel are zeroes. */
INLINE void transform_filter(const int m, const float *g, int channels, float *U, size_t point)
{
    const int n = m + 2;
    for (int c = 0; c < channels; c += VL, g += 9 * VL) {
        const int cols = lesser(VL, channels - c);
        float taps[9][VL] = {{0}};
        for (int i = 0; i < cols; ++i) {
            UNROLL
            for (int q = 0; q < 9; ++q) taps[q][i] = g[9 * i + q];
        }
        vec half[6][3];         /* G g */
        UNROLL
        for (int x = 0; x < 3; ++x) {
            const vec column[3] = {vload(taps[x]), vload(taps[3 + x]), vload(taps[6 + x])};
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
            for (int j = 0; j < n; ++j)
                store_c(U + (i * n + j) * point + c, cols < VL, cols, r[j]);
        }
    }
}

static NOINLINE void JOIN(gemm_winograd_filter__, ISA)(int m, const float *g, int channels,
                                                       float *U, size_t point)
{
    if (m == 2) {
        transform_filter(2, g, channels, U, point);
    } else {
        transform_filter(4, g, channels, U, point);
    }
}

/* ---- output ---- */

/* Stores `side` floats of each of VL tiles side by side. */
INLINE void store_side_by_side(const int side, const vec *y, float *to)
{
    if (side == 1) {
        vstore(to, y[0]);
    } else if (side == 2) {
        vstore(to, vzip_low(y[0], y[1]));
        vstore(to + VL, vzip_high(y[0], y[1]));
    } else {
        const vec even_low = vzip_low(y[0], y[2]), even_high = vzip_high(y[0], y[2]);
        const vec odd_low = vzip_low(y[1], y[3]), odd_high = vzip_high(y[1], y[3]);
        vstore(to, vzip_low(even_low, odd_low));
        vstore(to + VL, vzip_high(even_low, odd_low));
        vstore(to + 2 * VL, vzip_low(even_high, odd_high));
        vstore(to + 3 * VL, vzip_high(even_high, odd_high));
    }
}

/* The maximum of each 2x2 block of Y, as Darknet's maxpool has it. Y[i] is a row. */
INLINE void pool_tile(const int m, vec Y[4][4])
{
    UNROLL
    for (int i = 0; i < m; i += 2) {
        UNROLL
        for (int j = 0; j < m; j += 2) {
            vec max = vset1(-FLT_MAX);
            max = vmax(Y[i][j], max);
            max = vmax(Y[i][j + 1], max);
            max = vmax(Y[i + 1][j], max);
            Y[i / 2][j / 2] = vmax(Y[i + 1][j + 1], max);
        }
    }
}

/* VL tiles: from the points of M to `side` rows of their outputs, `apart` floats apart. */
INLINE void transform_outputs(const int m, const bool pool, const gemm_tiles *t, const float *M,
                              size_t point, const gemm_finish *f, float *to, size_t apart)
{
    const int n = m + 2, side = pool ? m / 2 : m;
    const vec scale = vset1(f->scale), shift = vset1(f->shift), slope = vset1(f->slope);
    vec half[6][4], Y[4][4];    /* half: AT M, by columns */
    (void)t;
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
    if (pool) pool_tile(m, Y);
    UNROLL
    for (int i = 0; i < side; ++i) store_side_by_side(side, Y[i], to + i * apart);
}

/* Copies the rows of a run of tiles to the output. What hangs over its edges is left out. */
INLINE void copy_run(const int side, const gemm_tiles *t, tile_run run, const float *rows,
                     size_t apart, const int h, const int w, float *output)
{
    const int x = run.x * side, length = lesser(run.count * side, w - x);
    for (int i = 0; i < side && run.y * side + i < h; ++i) {
        const float *from = rows + i * apart;
        float *to = output + (size_t)(run.y * side + i) * w + x;
        int j = 0;
        for (; j + VL <= length; j += VL) vstore(to + j, vload(from + j));
        if (j < length) vstore_part(to + j, length - j, vload(from + j));
    }
    (void)t;
}

INLINE void transform_output(const int m, const bool pool, const gemm_tiles *t, const float *M,
                             size_t point, const gemm_finish *f, float *output, float *scratch)
{
    const int side = pool ? m / 2 : m;
    const size_t apart = (size_t)side * t->count + 4 * VL;
    for (int tile = 0; tile < t->count; tile += VL)
        transform_outputs(m, pool, t, M + tile, point, f, scratch + side * tile, apart);
    for (int tile = 0; tile < t->count;) {
        const tile_run run = run_at(t, tile);
        copy_run(side, t, run, scratch + side * tile, apart, pool ? t->out_h / 2 : t->out_h,
                 pool ? t->out_w / 2 : t->out_w, output);
        tile += run.count;
    }
}

static NOINLINE void JOIN(gemm_winograd_output__, ISA)(const gemm_tiles *t, const float *M,
                                                       size_t point, const gemm_finish *f,
                                                       float *output, float *scratch)
{
    if (t->m == 2 && f->pool) {
        transform_output(2, true, t, M, point, f, output, scratch);
    } else if (t->m == 2) {
        transform_output(2, false, t, M, point, f, output, scratch);
    } else if (f->pool) {
        transform_output(4, true, t, M, point, f, output, scratch);
    } else {
        transform_output(4, false, t, M, point, f, output, scratch);
    }
}

#undef P
#undef Q
