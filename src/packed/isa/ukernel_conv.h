/* SPDX-License-Identifier: MIT */
/*
 * Convolutions: strips of B packed from an image, and depthwise layers. Included by ukernel_body.h.
 *
 * A depthwise layer is computed in bands. A band is some rows of the channel with zeroes around
 * them, and it stays in L1. With a stride of S a row is split into S parts, each of every S-th
 * column:
 *
 *     stride 1    | 0 | pixels of a row       | 0 ... |    pitch floats
 *     stride 2    | 0 | even columns  | 0 ... | odd columns     | 0 ... |    half, half
 *     and pairs
 *     stride 3    | 0 | columns 0, 3 .. | 0 .. | columns 1, 4 .. | 0 .. | columns 2, 5 .. | 0 .. |
 *
 * So the pixels under a tap are one vector for neighbouring places, without a mask.
 */

/* Prefetches the next strip, one line for each tap. Neighbouring taps fetch neighbouring lines,
   which together cover its NR columns. */
static void pack_taps(const gemm_taps *t, const float *src, size_t area, int first, int kc,
                      float *strip)
{
    enum { LINES = (NR + LINE_FLOATS - 1) / LINE_FLOATS };
    int q = first;
    for (int p = 0; p < kc; ++p, strip += NR) {
        const float *at = src + t->offset[q];
        __builtin_prefetch(at + NR + q % LINES * LINE_FLOATS, 0, 3);
        UNROLL
        for (int v = 0; v < NV; ++v) {
            vstore(strip + v * VL, vload_valid(at + v * VL, t->valid[v * t->count + q]));
        }
        if (++q == t->count) q = 0, src += area;
    }
}

INLINE void split_vectors(const float *src, float *even, float *odd)
{
    const vec a = vload(src), b = vload(src + VL);
    vstore(even, vevens(a, b));
    vstore(odd, vodds(a, b));
}

/* Splits n floats: those of even index to `even`, (n + 1) / 2, the others to `odd`, n / 2. The last
   vectors overlap those before them. */
INLINE void split_pairs(const float *src, int n, float *even, float *odd)
{
    int j = 0;
    for (; j + 2 * VL <= n; j += 2 * VL) split_vectors(src + j, even + j / 2, odd + j / 2);
    if (j < n && n >= 2 * VL) {
        j = (n - 2 * VL) / 2 * 2;
        split_vectors(src + j, even + j / 2, odd + j / 2);
        j += 2 * VL;
    }
    for (; j < n; ++j) (j % 2 ? odd : even)[j / 2] = src[j];
}

/* Vectors read 2 * VL floats for VL pairs. The last pair has no second float, so it is not read
   so. */
static void take_even(const float *src, int n, float *dst)
{
    int j = 0;
    for (; j + VL < n; j += VL) {
        vstore(dst + j, vevens(vload(src + 2 * j), vload(src + 2 * j + VL)));
    }
    for (; j < n; ++j) dst[j] = src[2 * j];
}

/* ---- depthwise ---- */

/* Writes n floats of a row of pixels. */
INLINE void copy_row(const float *src, int n, float *dst)
{
    int j = 0;
    for (; j + VL <= n; j += VL) vstore(dst + j, vload(src + j));
    if (j < n && n >= VL) {
        vstore(dst + n - VL, vload(src + n - VL));
    } else if (j < n) {
        vstore_part(dst, n, vload_part(src, n));
    }
}

/* Rows of a channel in two parts. */
INLINE void split_in_two(const gemm_depthwise *d, const float *src, int lines, float *band)
{
    const int pitch = d->pitch, n = lesser(d->w, pitch - d->pad);
    float *row = band + d->pad / 2, *second = row + pitch / 2;
    for (int y = 0; y < lines; ++y, src += d->w, row += pitch, second += pitch) {
        if (d->pad % 2) {
            split_pairs(src, n, second, row + 1);
        } else {
            split_pairs(src, n, row, second);
        }
    }
}

/* Rows of a channel in any number of parts. */
INLINE void split_in_parts(const gemm_depthwise *d, const float *src, int lines, float *band)
{
    const int parts = gemm_depthwise_parts(d), n = lesser(d->w, d->pitch - d->pad);
    for (int y = 0; y < lines; ++y, src += d->w, band += d->pitch) {
        for (int first = 0; first < lesser(parts, n); ++first) {
            float *dst = band + gemm_depthwise_column(d, first + d->pad);
            for (int x = first; x < n; x += parts) *dst++ = src[x];
        }
    }
}

INLINE void clear_rows(float *from, const float *to)
{
    for (; from < to; from += VL) vstore(from, vzero());
}

static void fill_band(const gemm_depthwise *d, int y0, int y1, float *band)
{
    const int from = y0 * d->stride - d->pad, to = (y1 - 1) * d->stride - d->pad + d->size;
    const int first = lesser(to, from < 0 ? 0 : from), end = lesser(to, d->h);
    const int lines = end > first ? end - first : 0, pitch = d->pitch;
    const float *src = d->src + (ptrdiff_t)first * d->w;
    float *const pixels = band + (first - from) * pitch;
    clear_rows(band, pixels);
    clear_rows(pixels + lines * pitch, band + (to - from) * pitch);
    const int parts = gemm_depthwise_parts(d);
    if (parts == 2) {
        split_in_two(d, src, lines, pixels);
    } else if (parts > 2) {
        split_in_parts(d, src, lines, pixels);
    } else {
        const int n = lesser(d->w, pitch - d->pad);
        for (int y = 0; y < lines; ++y) copy_row(src + y * d->w, n, pixels + d->pad + y * pitch);
    }
}

/* From a place of the output to its pixel under tap kx, in a row of a band. stride: 1 or 2. */
INLINE int tap_at(const int kx, const int stride, const bool in_nchwc, int pitch)
{
    if (in_nchwc) return kx * VL;
    return stride == 1 ? kx : kx % 2 * (pitch / 2) + kx / 2;
}

/*
 * A vector of `rows` outputs below each other, or its low half. Each pixel is loaded once for all
 * of them. size and stride are constants, so the compiler keeps the weights in registers as far as
 * it has some.
 */
INLINE void depthwise_vectors(const bool half, const int rows, const int size, const int stride,
                              const bool in_nchwc, const float *in, int pitch, const vec *weights,
                              vec acc[GEMM_DEPTHWISE_ROWS])
{
    UNROLL
    for (int r = 0; r < rows; ++r) acc[r] = vzero();
    UNROLL
    for (int i = 0; i < (rows - 1) * stride + size; ++i, in += pitch) {
        UNROLL
        for (int kx = 0; kx < size; ++kx) {
            const float *at = in + tap_at(kx, stride, in_nchwc, pitch);
            vec pixels;
            if (half) load_low(pixels, at);
            else pixels = vload(at);
            UNROLL
            for (int r = 0; r < rows; ++r) {
                const int ky = i - r * stride;
                if (ky < 0 || ky >= size) continue;
                if (half) fma_low_to(acc[r], weights[ky * size + kx], pixels);
                else acc[r] = vfma(weights[ky * size + kx], pixels, acc[r]);
            }
        }
    }
}

/* The same for a filter of any size, whose weights lie in memory. */
INLINE void depthwise_any(const int rows, int size, int stride, const bool in_nchwc,
                          const float *in, int pitch, const float *weights,
                          vec acc[GEMM_DEPTHWISE_ROWS])
{
    UNROLL
    for (int r = 0; r < rows; ++r) acc[r] = vzero();
    for (int ky = 0; ky < size; ++ky) {
        for (int kx = 0; kx < size; ++kx) {
            const int q = ky * size + kx;
            const vec weight = in_nchwc ? vload(weights + q * VL) : vset1(weights[q]);
            const float *at = in + ky * pitch + tap_at(kx, stride, in_nchwc, pitch);
            UNROLL
            for (int r = 0; r < rows; ++r) {
                acc[r] = vfma(weight, vload(at + r * stride * pitch), acc[r]);
            }
        }
    }
}

static void pack_band(const gemm_depthwise *d, const float *band, size_t apart, int first, int kc,
                      int x, int n, float *strip)
{
    const int size = d->size, pitch = d->pitch, part = pitch / gemm_depthwise_parts(d);
    int ky = first % (size * size) / size, kx = first % size;
    int column = gemm_depthwise_column(d, kx);
    const float *row = band + first / (size * size) * apart + (size_t)ky * pitch + x;
    for (int p = 0; p < kc; ++p, strip += NR) {
        const float *src = row + column;
        if (n == NR) {
            UNROLL
            for (int v = 0; v < NV; ++v) vstore(strip + v * VL, vload(src + v * VL));
        } else {
            copy_row(src, n, strip);
        }
        column += part;
        if (column >= pitch) column -= pitch - 1;
        if (++kx < size) continue;
        kx = column = 0, row += pitch;
        if (++ky == size) ky = 0, row += apart - (size_t)size * pitch;
    }
}

/* A vector of `rows` rows. part: only the first `width` floats of it belong to the rows. */
INLINE void depthwise_store(const activation f, const int rows, vec scale, vec shift, vec slope,
                            float *y, int width, const bool part, const vec *acc)
{
    UNROLL
    for (int r = 0; r < rows; ++r) {
        const vec z = activate(f, vfma(scale, acc[r], shift), slope);
        store_some(y + (size_t)r * width, part ? width : VL, z);
    }
}

/* `rows` rows of filter f's output, from row y on. `in` is the first row of the band that they
   need. The last vector of a row ends with it, and so overlaps the one before it. */
INLINE void depthwise_rows(const gemm_depthwise *d, const int rows, const int size,
                           const int stride, int f, const vec *kept, const float *in, int y)
{
    const int pitch = d->pitch, width = d->out_w, last = width - VL;
    const bool leaky = d->slope > 0;
    const float *weights = d->weights + f * d->size * d->size;
    const vec scale = vset1(d->scale ? d->scale[f] : 1), shift = vset1(d->shift[f]);
    const vec slope = vset1(d->slope);
    float *const out = d->y + ((size_t)f * d->out_h + y) * width;
    for (int x = 0; x < width; x += VL) {
        const int from = last < 0 ? 0 : lesser(x, last);
        vec acc[GEMM_DEPTHWISE_ROWS];
        if (size) {
            depthwise_vectors(false, rows, size, stride, false, in + from, pitch, kept, acc);
        } else {
            depthwise_any(rows, d->size, d->stride, false, in + from, pitch, weights, acc);
        }
        if (last >= 0 && leaky) {
            depthwise_store(LEAKY, rows, scale, shift, slope, out + from, width, false, acc);
        } else {
            depthwise_store(BY_SIGN, rows, scale, shift, slope, out + from, width, last < 0, acc);
        }
    }
}

/* Rows y0 .. y1 of filter f's output. The last group of rows ends with y1. */
INLINE void depthwise_filter(const gemm_depthwise *d, const int rows, const int size,
                             const int stride, int f, const float *band, int y0, int y1)
{
    enum { MOST_KEPT = 25 };
    vec kept[MOST_KEPT];
    UNROLL
    for (int q = 0; q < size * size; ++q) kept[q] = vset1(d->weights[f * size * size + q]);
    for (int y = y0; y < y1; y += rows) {
        const int at = lesser(y, y1 - rows);
        const float *in = band + (size_t)(at - y0) * d->stride * d->pitch;
        depthwise_rows(d, rows, size, stride, f, kept, in, at);
    }
}

#ifdef DEPTHWISE_IN_ORDER
#include "packed/isa/ukernel_depthwise.h"
#endif

/* size 0: any */
#define DEPTHWISE_NAME(size, stride) JOIN(depthwise_##size##_##stride##__, ISA)
#define DEPTHWISE_FUNCTION(size, stride, compute)                                                  \
    static NOINLINE void DEPTHWISE_NAME(size, stride)(const gemm_depthwise *d, int f,              \
                                                      const float *band, int y0, int y1)           \
    {                                                                                              \
        compute;                                                                                   \
    }
#ifdef DEPTHWISE_IN_ORDER
#define DEPTHWISE(size, stride)                                                                    \
    DEPTHWISE_FUNCTION(size, stride, depthwise_channel(d, size, stride, f, band, y0, y1))
#else
#define DEPTHWISE(size, stride)                                                                    \
    DEPTHWISE_FUNCTION(size, stride, depthwise_filter(d, GEMM_DEPTHWISE_ROWS, size, stride, f,     \
                                                      band, y0, y1))
#endif
DEPTHWISE(3, 1)
DEPTHWISE(3, 2)
DEPTHWISE(5, 1)
DEPTHWISE(5, 2)
DEPTHWISE_FUNCTION(0, 0, depthwise_filter(d, GEMM_DEPTHWISE_ROWS, 0, 0, f, band, y0, y1))

static NOINLINE void JOIN(depthwise_row__, ISA)(const gemm_depthwise *d, int f, const float *band,
                                                int y0, int y1)
{
    depthwise_filter(d, 1, 0, 0, f, band, y0, y1);
}

typedef void depthwise_fn(const gemm_depthwise *, int f, const float *band, int y0, int y1);

static depthwise_fn *depthwise_for(const gemm_depthwise *d)
{
    if (d->out_h < GEMM_DEPTHWISE_ROWS) return JOIN(depthwise_row__, ISA);
#ifdef DEPTHWISE_IN_ORDER
    if (d->out_w < VL) return DEPTHWISE_NAME(0, 0);
#endif
    if (d->size == 3) return d->stride == 1 ? DEPTHWISE_NAME(3, 1) : DEPTHWISE_NAME(3, 2);
    if (d->size == 5) return d->stride == 1 ? DEPTHWISE_NAME(5, 1) : DEPTHWISE_NAME(5, 2);
    return DEPTHWISE_NAME(0, 0);
}

static void depthwise(const gemm_depthwise *d, const float *band, int y0, int y1)
{
    depthwise_fn *const run = depthwise_for(d);
    for (int f = 0; f < d->filters; ++f) run(d, f, band, y0, y1);
}
