/* SPDX-License-Identifier: MIT */
/*
 * Depthwise layers by tiles of eight sums: for instruction sets with registers for them and an FMA
 * that takes several cycles. Four sums would wait for themselves.
 *
 *   a channel     four rows of two vectors of places. The weights are elements of registers.
 *   in nchwc      two rows of four places. The weights are vectors, read where they lie, because
 *                 25 of them and eight sums are more than 32 registers.
 *
 * What the next tap needs is loaded before the FMAs of this one, and load_vector() and the FMAs stay
 * in their order. Addresses go from line to line by step_pointer(), because the compiler would keep
 * one for each line. Included by ukernel_conv.h where DEPTHWISE_IN_ORDER is defined.
 */

enum {
    DEPTHWISE_ACROSS = 2,       /* vectors of a tile in a channel */
    NCHWC_DEEP = 2, NCHWC_ACROSS = 4,   /* rows and places of a tile in nchwc */
    MOST_DEPTHWISE = 5,         /* the largest filter that these tiles know */
};

/* f(scale * sum + shift) */
INLINE vec finish(const activation f, vec sum, vec scale, vec shift, vec slope)
{
    const vec x = vfma(scale, sum, shift);
    return f == LEAKY ? vmax_alike(x, slope * x) : activate(f, x, slope);
}

/* ---- a channel ---- */

/* acc[r][v]: row r of the vector that begins at in[v]. A row of the band is one part, or two parts
   `half` floats apart: even columns and odd ones. */
INLINE void depthwise_sums(const int size, const int stride, const float *const *in, size_t pitch,
                           const vec *kept, vec acc[GEMM_DEPTHWISE_ROWS][DEPTHWISE_ACROSS])
{
    enum { ROWS = GEMM_DEPTHWISE_ROWS };
    const int lines = (ROWS - 1) * stride + size;
    const float *line[2][DEPTHWISE_ACROSS];     /* of the next tap: its parts */
    vec pixels[2][DEPTHWISE_ACROSS];            /* of this tap and of the next */
    UNROLL
    for (int v = 0; v < DEPTHWISE_ACROSS; ++v) {
        line[0][v] = in[v];
        line[1][v] = in[v] + pitch / 2;
        load_vector(pixels[0][v], line[0][v]);
    }
    UNROLL
    for (int i = 0; i < lines; ++i) {
        UNROLL
        for (int kx = 0; kx < size; ++kx) {
            const int tap = i * size + kx, next = (kx + 1) % size, part = next % stride;
            UNROLL
            for (int v = 0; v < DEPTHWISE_ACROSS; ++v) {
                if (tap + 1 == lines * size) continue;
                if (next == 0) step_pointer(line[0][v], pitch);
                if (next == 0 && stride > 1) step_pointer(line[1][v], pitch);
                load_vector(pixels[(tap + 1) % 2][v], line[part][v] + next / stride);
            }
            UNROLL
            for (int r = 0; r < ROWS; ++r) {
                const int ky = i - r * stride;
                if (ky < 0 || ky >= size) continue;
                UNROLL
                for (int v = 0; v < DEPTHWISE_ACROSS; ++v)
                    multiply_weight(acc[r][v], kept, ky * size + kx, size * size,
                                    pixels[tap % 2][v]);
            }
        }
    }
}

/* Rows y .. y + 3 of filter f's output, which are at least a vector wide. The last two vectors of a
   row end with it. */
INLINE void depthwise_tiles(const gemm_depthwise *d, const int size, const int stride,
                            const activation activation, int f, const vec *kept, const float *in,
                            int y)
{
    const int pitch = d->pitch, width = d->out_w;
    const vec scale = vset1(d->scale ? d->scale[f] : 1), shift = vset1(d->shift[f]);
    const vec slope = vset1(d->slope);
    float *const out = d->y + ((size_t)f * d->out_h + y) * width;
    for (int x = 0; x < width; x += DEPTHWISE_ACROSS * VL) {
        vec acc[GEMM_DEPTHWISE_ROWS][DEPTHWISE_ACROSS];
        const float *pixels[DEPTHWISE_ACROSS];
        float *to[DEPTHWISE_ACROSS];
        UNROLL
        for (int v = 0; v < DEPTHWISE_ACROSS; ++v) {
            const int from = lesser(x + v * VL, width - VL);
            pixels[v] = in + from;
            to[v] = out + from;
            UNROLL
            for (int r = 0; r < GEMM_DEPTHWISE_ROWS; ++r) acc[r][v] = vzero();
        }
        depthwise_sums(size, stride, pixels, pitch, kept, acc);
        UNROLL
        for (int r = 0; r < GEMM_DEPTHWISE_ROWS; ++r) {
            UNROLL
            for (int v = 0; v < DEPTHWISE_ACROSS; ++v) {
                vstore(to[v], finish(activation, acc[r][v], scale, shift, slope));
                step_pointer(to[v], width);
            }
        }
    }
}

/* Rows y0 .. y1, at least four. The last group of rows ends with y1. */
INLINE void depthwise_channel(const gemm_depthwise *d, const int size, const int stride, int f,
                              const float *band, int y0, int y1)
{
    vec kept[MOST_DEPTHWISE * MOST_DEPTHWISE];
    keep_weights(d->weights + f * size * size, size * size, kept);
    for (int y = y0; y < y1; y += GEMM_DEPTHWISE_ROWS) {
        const int at = lesser(y, y1 - GEMM_DEPTHWISE_ROWS);
        const float *in = band + (size_t)(at - y0) * stride * d->pitch;
        if (d->slope > 0) {
            depthwise_tiles(d, size, stride, LEAKY, f, kept, in, at);
        } else {
            depthwise_tiles(d, size, stride, BY_SIGN, f, kept, in, at);
        }
    }
}

/* ---- in nchwc ---- */

/* What tap (i, kx) needs that the tap before has not brought: columns of line i, and a weight for
   each row. Place v reads column v * stride + kx. */
INLINE void load_tap(const int size, const int stride, const float *line,
                     const float *weights, const int i, const int kx, vec *columns, vec *of_row)
{
    UNROLL
    for (int v = 0; v < NCHWC_ACROSS; ++v) {
        const int column = v * stride + kx;
        if (kx < stride || v == NCHWC_ACROSS - 1) load_vector(columns[column], line + column * VL);
    }
    UNROLL
    for (int r = 0; r < NCHWC_DEEP; ++r) {
        const int ky = i - r * stride;
        if (ky >= 0 && ky < size) load_vector(of_row[r], weights + (ky * size + kx) * VL);
    }
}

INLINE void nchwc_depthwise_sums(const int size, const int stride, const float *in, size_t pitch,
                                 const float *weights, vec acc[NCHWC_DEEP][NCHWC_ACROSS])
{
    enum { MOST_COLUMNS = 2 * (NCHWC_ACROSS - 1) + MOST_DEPTHWISE };
    const int lines = (NCHWC_DEEP - 1) * stride + size;
    vec columns[2][MOST_COLUMNS], of_row[2][NCHWC_DEEP];
    load_tap(size, stride, in, weights, 0, 0, columns[0], of_row[0]);
    UNROLL
    for (int i = 0; i < lines; ++i) {
        UNROLL
        for (int kx = 0; kx < size; ++kx) {
            const int tap = i * size + kx, next = tap + 1;
            if (next % size == 0) step_pointer(in, pitch);
            if (next < lines * size)
                load_tap(size, stride, in, weights, next / size, next % size,
                         columns[next / size % 2], of_row[next % 2]);
            UNROLL
            for (int r = 0; r < NCHWC_DEEP; ++r) {
                const int ky = i - r * stride;
                if (ky < 0 || ky >= size) continue;
                UNROLL
                for (int v = 0; v < NCHWC_ACROSS; ++v)
                    multiply_vectors(acc[r][v], of_row[tap % 2][r],
                                     columns[i % 2][v * stride + kx]);
            }
        }
    }
}

/* At least two rows of four places. The last tiles end with the last place and the last row. */
INLINE void nchwc_depthwise_tiles(const gemm_nchwc_depthwise *d, const int size, const int stride,
                                  const activation f)
{
    const vec shift = load_some(d->shift, d->channels);
    const vec scale = d->scale ? load_some(d->scale, d->channels) : vset1(1);
    const vec slope = vset1(d->slope);
    const int pitch = d->pitch, out_w = d->out_w;
    const size_t row = (size_t)out_w * VL;
    for (int y_tile = 0; y_tile < d->rows; y_tile += NCHWC_DEEP) {
        const int y = lesser(y_tile, d->rows - NCHWC_DEEP);
        const float *const in = d->src + (size_t)y * stride * pitch;
        float *const out = d->y + y * row;
        for (int x_tile = 0; x_tile < out_w; x_tile += NCHWC_ACROSS) {
            const int x = lesser(x_tile, out_w - NCHWC_ACROSS);
            vec acc[NCHWC_DEEP][NCHWC_ACROSS];
            UNROLL
            for (int v = 0; v < NCHWC_ACROSS; ++v) acc[0][v] = acc[1][v] = vzero();
            float *to = out + x * VL;
            nchwc_depthwise_sums(size, stride, in + x * stride * VL, pitch, d->weights, acc);
            UNROLL
            for (int r = 0; r < NCHWC_DEEP; ++r) {
                UNROLL
                for (int v = 0; v < NCHWC_ACROSS; ++v)
                    vstore(to + v * VL, finish(f, acc[r][v], scale, shift, slope));
                step_pointer(to, row);
            }
        }
    }
}

INLINE bool nchwc_has_tiles(const gemm_nchwc_depthwise *d)
{
    return d->rows >= NCHWC_DEEP && d->out_w >= NCHWC_ACROSS;
}
