/* SPDX-License-Identifier: MIT */
/*
 * Depthwise layers by tiles of eight sums: for instruction sets with registers for them and an FMA
 * that takes several cycles. Four sums would wait for themselves.
 *
 *   a channel     four rows of two vectors of places. With a stride of 2, two rows of four vectors:
 *                 neighbouring rows share fewer pixels, so four would have little to do at once.
 *                 The weights are elements of registers.
 *   in nchwc      two rows of four places. The weights are vectors, read where they lie, because
 *                 25 of them and eight sums are more than 32 registers.
 *
 * What the next tap needs is loaded before the FMAs of this one, and load_vector() and the FMAs
 * stay in their order. Addresses go from line to line by step_pointer(), because the compiler would
 * keep one for each line. Included by ukernel_conv.h where DEPTHWISE_IN_ORDER is defined.
 *
 * With FEW_REGISTERS there are 16. Then a weight of a channel is loaded for each row that it meets,
 * and not kept. A tile has two vectors, so with a stride of 2 four sums. In nchwc it is two rows of
 * two places. Scale and slope are loaded when the sums are finished.
 */

#ifdef FEW_REGISTERS
enum { NCHWC_ACROSS = 2, FINISHED_AT_ONCE = 2 };
#else
enum { NCHWC_ACROSS = 4, FINISHED_AT_ONCE = 8 };
#endif

enum {
    DEPTHWISE_SUMS = 8,         /* of a tile, at most */
    NCHWC_DEEP = 2,             /* rows of a tile in nchwc; NCHWC_ACROSS: places */
    NCHWC_SUMS = NCHWC_DEEP * NCHWC_ACROSS,
    MOST_DEPTHWISE = 5,         /* the largest filter that these tiles know */
};

/* What a sum begins with, and what finishes it. Each sum loads zero and shift, because a copy of a
   register would take the place of an FMA. */
typedef struct sum_ends {
    float zero[VL], shift[VL];
#ifdef FEW_REGISTERS
    float scale[VL], slope[VL];
#endif
} sum_ends;

INLINE void begin_sums(const sum_ends *ends, const int sums, vec *acc)
{
    UNROLL
    for (int i = 0; i < sums; ++i) load_vector(acc[i], ends->zero);
}

/* acc = f(scale * acc + shift) */
INLINE void finish_sums(const activation f, vec scale, const sum_ends *ends, vec slope,
                        const int sums, vec *acc)
{
#ifdef FEW_REGISTERS
    load_vector(scale, ends->scale);
    load_vector(slope, ends->slope);
#endif
    UNROLL
    for (int from = 0; from < sums; from += FINISHED_AT_ONCE) {
        vec *const part = acc + from, x[FINISHED_AT_ONCE];
        UNROLL
        for (int i = 0; i < FINISHED_AT_ONCE; ++i) load_vector(x[i], ends->shift);
        UNROLL
        for (int i = 0; i < FINISHED_AT_ONCE; ++i) multiply_vectors(x[i], scale, part[i]);
        UNROLL
        for (int i = 0; i < FINISHED_AT_ONCE; ++i)
            part[i] = f == LEAKY ? vmax_alike(x[i], slope * x[i]) : activate(f, x[i], slope);
    }
}

INLINE sum_ends make_ends(vec scale, vec shift, vec slope)
{
    sum_ends ends = {.zero = {0}};
    vstore(ends.shift, shift);
#ifdef FEW_REGISTERS
    vstore(ends.scale, scale);
    vstore(ends.slope, slope);
#else
    (void)scale, (void)slope;
#endif
    return ends;
}

/* ---- a channel ---- */

#ifdef FEW_REGISTERS
typedef float tap_weights;      /* one of a filter's, where it lies */

INLINE int vectors_across(int rows)
{
    (void)rows;
    return 2;
}
#else
typedef vec tap_weights;        /* VL of a filter's in a register, see keep_weights() */

INLINE int vectors_across(int rows)
{
    return DEPTHWISE_SUMS / rows;
}
#endif

/* Where the weights are. With FEW_REGISTERS `kept` is the address of weight `at`, because a fused
   FMA takes none as an element, and a load that spreads it has no room for an offset. */
typedef struct weights_place {
    const tap_weights *kept;
    int at;
} weights_place;

/* acc[v] += (weight q of n) * pixels[v], v < across */
INLINE void multiply_row(vec *acc, weights_place *at, const int q, const int n, const int across,
                         const vec *pixels)
{
#ifdef FEW_REGISTERS
    (void)n;
    element x;
    step_pointer(at->kept, q - at->at);
    at->at = q;
    load_element(x, at->kept);
    UNROLL
    for (int v = 0; v < across; ++v) multiply_add(acc[v], x, pixels[v]);
#else
    UNROLL
    for (int v = 0; v < across; ++v) multiply_weight(acc[v], at->kept, q, n, pixels[v]);
#endif
}

/* acc[r * across + v]: row r of the vector that begins at in[v]. A row of the band is one part, or
   two parts pitch / 2 floats apart: even columns and odd ones. */
INLINE void depthwise_sums(const int rows, const int across, const int size, const int stride,
                           const float *const *in, size_t pitch, const tap_weights *kept,
                           vec *acc)
{
    const int lines = (rows - 1) * stride + size;
    const float *line[2][DEPTHWISE_SUMS];       /* of the next tap: its parts */
    vec pixels[2][DEPTHWISE_SUMS];              /* of this tap and of the next */
    weights_place weights = {kept, 0};
    UNROLL
    for (int v = 0; v < across; ++v) {
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
            for (int v = 0; v < across; ++v) {
                if (tap + 1 == lines * size) continue;
                if (next == 0) step_pointer(line[0][v], pitch);
                if (next == 0 && stride > 1) step_pointer(line[1][v], pitch);
                load_vector(pixels[(tap + 1) % 2][v], line[part][v] + next / stride);
            }
            UNROLL
            for (int r = 0; r < rows; ++r) {
                const int ky = i - r * stride;
                if (ky < 0 || ky >= size) continue;
                multiply_row(acc + r * across, &weights, ky * size + kx, size * size, across,
                             pixels[tap % 2]);
            }
        }
    }
}

/* `rows` rows of filter f's output from row y on, which are at least a vector wide. The last
   vectors of a row end with it. */
INLINE void depthwise_tiles(const activation activation, const gemm_depthwise *d, const int rows,
                            const int size, const int stride, int f, const tap_weights *kept,
                            const float *in, int y)
{
    const int across = vectors_across(rows), sums = rows * across;
    const int pitch = d->pitch, width = d->out_w;
    const vec scale = vset1(d->scale ? d->scale[f] : 1), slope = vset1(d->slope);
    float *const out = d->y + ((size_t)f * d->out_h + y) * width;
    const sum_ends memory = make_ends(scale, vset1(d->shift[f]), slope), *ends = &memory;
    step_pointer(ends, 0);
    for (int x = 0; x < width; x += across * VL) {
        const float *pixels[DEPTHWISE_SUMS];
        float *to[DEPTHWISE_SUMS];
        UNROLL
        for (int v = 0; v < across; ++v) {
            const int from = lesser(x + v * VL, width - VL);
            pixels[v] = in + from;
            to[v] = out + from;
        }
        vec acc[DEPTHWISE_SUMS];
        begin_sums(ends, sums, acc);
        depthwise_sums(rows, across, size, stride, pixels, pitch, kept, acc);
        finish_sums(activation, scale, ends, slope, sums, acc);
        UNROLL
        for (int r = 0; r < rows; ++r) {
            UNROLL
            for (int v = 0; v < across; ++v) {
                vstore(to[v], acc[r * across + v]);
                step_pointer(to[v], width);
            }
        }
    }
}

/* Rows y0 .. y1, at least four. The last group of rows ends with y1. */
INLINE void depthwise_channel(const gemm_depthwise *d, const int size, const int stride, int f,
                              const float *band, int y0, int y1)
{
#ifdef FEW_REGISTERS
    const tap_weights *const kept = d->weights + f * size * size;
#else
    tap_weights kept[MOST_DEPTHWISE * MOST_DEPTHWISE];
    keep_weights(d->weights + f * size * size, size * size, kept);
#endif
    const int rows = stride == 1 ? 4 : 2;
    for (int y = y0; y < y1; y += rows) {
        const int at = lesser(y, y1 - rows);
        const float *in = band + (size_t)(at - y0) * stride * d->pitch;
        BY_SLOPE(d->slope > 0, depthwise_tiles, d, rows, size, stride, f, kept, in, at);
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
                                 const float *weights, vec acc[NCHWC_SUMS])
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
                    multiply_vectors(acc[r * NCHWC_ACROSS + v], of_row[tap % 2][r],
                                     columns[i % 2][v * stride + kx]);
            }
        }
    }
}

/* At least two rows of four places. The last tiles end with the last place and the last row. */
INLINE void nchwc_depthwise_of(const activation f, const gemm_nchwc_depthwise *d, const int size,
                               const int stride)
{
    const vec scale = d->scale ? load_some(d->scale, d->channels) : vset1(1);
    const vec slope = vset1(d->slope);
    const int pitch = d->pitch, out_w = d->out_w;
    const size_t row = (size_t)out_w * VL;
    const sum_ends memory = make_ends(scale, load_some(d->shift, d->channels), slope);
    const sum_ends *ends = &memory;
    step_pointer(ends, 0);
    for (int y_tile = 0; y_tile < d->rows; y_tile += NCHWC_DEEP) {
        const int y = lesser(y_tile, d->rows - NCHWC_DEEP);
        const float *const in = d->src + (size_t)y * stride * pitch;
        float *const out = d->y + y * row;
        for (int x_tile = 0; x_tile < out_w; x_tile += NCHWC_ACROSS) {
            const int x = lesser(x_tile, out_w - NCHWC_ACROSS);
            float *to = out + x * VL;
            vec acc[NCHWC_SUMS];
            begin_sums(ends, NCHWC_SUMS, acc);
            nchwc_depthwise_sums(size, stride, in + x * stride * VL, pitch, d->weights, acc);
            finish_sums(f, scale, ends, slope, NCHWC_SUMS, acc);
            UNROLL
            for (int r = 0; r < NCHWC_DEEP; ++r) {
                UNROLL
                for (int v = 0; v < NCHWC_ACROSS; ++v)
                    vstore(to + v * VL, acc[r * NCHWC_ACROSS + v]);
                step_pointer(to, row);
            }
        }
    }
}

INLINE void nchwc_depthwise_tiles(const gemm_nchwc_depthwise *d, const int size, const int stride)
{
    BY_SLOPE(d->slope > 0, nchwc_depthwise_of, d, size, stride);
}

INLINE bool nchwc_has_tiles(const gemm_nchwc_depthwise *d)
{
    return d->rows >= NCHWC_DEEP && d->out_w >= NCHWC_ACROSS;
}
