/* SPDX-License-Identifier: MIT */
/*
 * The layout nchwc: a vector holds VL channels of one place. Included by ukernel_body.h.
 *
 *     group 0:  place 0 | place 1 | ...          VL floats a place, channels 0 .. VL - 1
 *     group 1:  place 0 | place 1 | ...          channels VL .. 2 VL - 1
 *
 * A layer is a product whose rows are places and whose columns are channels. A tile is NCHWC_PLACES
 * places by up to NV groups. With fewer groups it has more places, because otherwise each sum would
 * have to wait for the step before. A depthwise layer is computed for VL channels at once. Its
 * pixels are whole vectors for any width of the map.
 */

#ifndef NCHWC_PLACES
#define NCHWC_PLACES(nv) ((nv) == 1 ? 2 * MR : MR)
#endif
enum { MOST_PLACES = NCHWC_PLACES(1) };

/* One k: acc += (places of A) * (channels of B). */
INLINE void nchwc_step(const int places, const int nv, const float *a, const int apart,
                       const float *b, vec acc[MOST_PLACES][NV])
{
#ifdef outer_product
    const float *column[MOST_PLACES], *row[NV];
    UNROLL
    for (int i = 0; i < places; ++i) column[i] = a + i * apart;
    UNROLL
    for (int v = 0; v < nv; ++v) row[v] = b + v * VL;
    outer_product(places, nv, column, row, acc[0], NV);
#else
    vec row[NV];
    UNROLL
    for (int v = 0; v < nv; ++v) row[v] = vload(b + v * VL);
    UNROLL
    for (int i = 0; i < places; ++i) {
        const vec ai = vset1(a[i * apart]);
        UNROLL
        for (int v = 0; v < nv; ++v) vfma_to(acc[i][v], ai, row[v]);
    }
#endif
}

/* All steps of a tile, from place i on. In nchwc the VL steps of a group have constant offsets. */
INLINE void nchwc_steps(const gemm_nchwc *l, const int places, const int nv,
                        const gemm_nchwc_source source, int i, const float *b,
                        vec acc[MOST_PLACES][NV])
{
    const int K = l->K;
    const size_t ld = l->a_ld;
    int k = 0;
    if (source == GEMM_ROWS) {
        const float *a = l->a + i;
        for (; k < K; ++k, a += ld, b += nv * VL) nchwc_step(places, nv, a, 1, b, acc);
    } else {
        const float *a = l->a + (size_t)i * VL;
        for (; k + VL <= K; k += VL, a += ld, b += VL * nv * VL) {
            UNROLL
            for (int q = 0; q < VL; ++q) nchwc_step(places, nv, a + q, VL, b + q * nv * VL, acc);
        }
        for (; k < K; ++k, ++a, b += nv * VL) nchwc_step(places, nv, a, VL, b, acc);
    }
}

/* Places i .. i + places - 1 of nv groups, the first of which is `group`. */
INLINE void nchwc_tile(const gemm_nchwc *l, const int places, const int nv,
                       const gemm_nchwc_source source, const activation f, int i, int group,
                       const float *b)
{
    vec acc[MOST_PLACES][NV];
    UNROLL
    for (int r = 0; r < places; ++r) {
        UNROLL
        for (int v = 0; v < nv; ++v) acc[r][v] = vzero();
    }
    nchwc_steps(l, places, nv, source, i, b, acc);
    const vec slope = vset1(l->slope);
    const int *at = l->at + i;
    UNROLL
    for (int v = 0; v < nv; ++v) {
        const int channel = (group + v) * VL, left = l->channels - channel;
        const vec shift = load_some(l->shift + channel, left);
        const vec scale = l->scale ? load_some(l->scale + channel, left) : vset1(1);
        float *const c = l->c + (size_t)(group + v) * l->c_ld;
        UNROLL
        for (int r = 0; r < places; ++r) {
            vstore(c + at[r], activate(f, vfma(scale, acc[r][v], shift), slope));
        }
    }
}

/* Places from .. to - 1. The last tile ends with them, and so overlaps the one before it. */
INLINE void nchwc_strip(const gemm_nchwc *l, const int nv, const gemm_nchwc_source source,
                        const activation f, int from, int to, int group, const float *b)
{
    const int places = NCHWC_PLACES(nv);
    if (to < places) {
        for (; from < to; ++from) nchwc_tile(l, 1, nv, source, f, from, group, b);
        return;
    }
    for (; from < to; from += places) {
        nchwc_tile(l, places, nv, source, f, lesser(from, to - places), group, b);
    }
}

#define NCHWC_NAME(from, v) JOIN(gemm_packed_##from##_to_nchwc_##v##__, ISA)
#define NCHWC(from, source, v)                                                                     \
    static NOINLINE TILE_TUNING void NCHWC_NAME(from, v)(const gemm_nchwc *l, int first, int end,  \
                                                         int group, const float *b)                \
    {                                                                                              \
        if (l->slope == 1) {                                                                       \
            nchwc_strip(l, v, source, LINEAR, first, end, group, b);                               \
        } else if (l->slope > 0) {                                                                 \
            nchwc_strip(l, v, source, LEAKY, first, end, group, b);                                \
        } else {                                                                                   \
            nchwc_strip(l, v, source, BY_SIGN, first, end, group, b);                              \
        }                                                                                          \
    }
#define NCHWC_OF(unused, v) NCHWC(rows, GEMM_ROWS, v) NCHWC(nchwc, GEMM_NCHWC, v)
EACH_VECS(NCHWC_OF, 0)

typedef void nchwc_fn(const gemm_nchwc *, int first, int end, int group, const float *b);
#define FROM_ROWS(unused, v) NCHWC_NAME(rows, v),
#define FROM_NCHWC(unused, v) NCHWC_NAME(nchwc, v),
static nchwc_fn *const nchwc_from[][NV] = {
    [GEMM_ROWS] = {EACH_VECS(FROM_ROWS, 0)},
    [GEMM_NCHWC] = {EACH_VECS(FROM_NCHWC, 0)},
};

/* Some places times all channels, so that they are in L1 for all but the first strip. */
static void nchwc(const gemm_nchwc *l)
{
    enum { PLACES = 4 * MOST_PLACES };
    const int groups = (l->channels + VL - 1) / VL;
    for (int from = 0; from < l->places; from += PLACES) {
        const int to = lesser(from + PLACES, l->places);
        const float *b = l->b;
        for (int group = 0; group < groups; group += NV) {
            const int nv = lesser(NV, groups - group);
            nchwc_from[l->source][nv - 1](l, from, to, group, b);
            b += (size_t)l->K * nv * VL;
        }
    }
}

/* ---- depthwise ---- */

/* Output rows y .. y + rows - 1. */
INLINE void nchwc_depthwise_rows(const gemm_nchwc_depthwise *d, const int rows, const int size,
                                 const int stride, const activation f, const vec *kept,
                                 const vec scale, const vec shift, int y)
{
    const vec slope = vset1(d->slope);
    const float *in = d->src + (size_t)y * d->stride * d->pitch;
    float *out = d->y + (size_t)y * d->out_w * VL;
    const size_t row = (size_t)d->out_w * VL;
    for (int x = 0; x < d->out_w; ++x, in += d->stride * VL, out += VL) {
        vec acc[GEMM_DEPTHWISE_ROWS];
        if (size) {
            depthwise_vectors(rows, size, stride, true, in, d->pitch, kept, acc);
        } else {
            UNROLL
            for (int r = 0; r < rows; ++r) acc[r] = vzero();
            for (int q = 0; q < d->size * d->size; ++q) {
                const vec weight = vload(d->weights + q * VL);
                const float *at = in + q / d->size * d->pitch + q % d->size * VL;
                UNROLL
                for (int r = 0; r < rows; ++r) {
                    acc[r] = vfma(weight, vload(at + r * d->stride * d->pitch), acc[r]);
                }
            }
        }
        UNROLL
        for (int r = 0; r < rows; ++r) {
            vstore(out + r * row, activate(f, vfma(scale, acc[r], shift), slope));
        }
    }
}

INLINE void nchwc_depthwise_group(const gemm_nchwc_depthwise *d, const int size, const int stride,
                                  const activation f)
{
    enum { MOST_KEPT = 25, ROWS = GEMM_DEPTHWISE_ROWS };
    vec kept[MOST_KEPT];
    UNROLL
    for (int q = 0; q < size * size; ++q) kept[q] = vload(d->weights + q * VL);
    const vec shift = load_some(d->shift, d->channels);
    const vec scale = d->scale ? load_some(d->scale, d->channels) : vset1(1);
    int y = 0;
    for (; y + ROWS <= d->rows; y += ROWS)
        nchwc_depthwise_rows(d, ROWS, size, stride, f, kept, scale, shift, y);
    if (y + 2 <= d->rows) {
        nchwc_depthwise_rows(d, 2, size, stride, f, kept, scale, shift, y);
        y += 2;
    }
    if (y < d->rows) nchwc_depthwise_rows(d, 1, size, stride, f, kept, scale, shift, y);
}

#define NCHWC_DEPTHWISE(size, stride, compute)                                                     \
    static NOINLINE void JOIN(nchwc_depthwise_##size##_##stride##__, ISA)(                         \
        const gemm_nchwc_depthwise *d)                                                             \
    {                                                                                              \
        if (d->slope > 0) {                                                                        \
            compute(d, size, stride, LEAKY);                                                       \
        } else {                                                                                   \
            compute(d, size, stride, BY_SIGN);                                                     \
        }                                                                                          \
    }
#ifdef DEPTHWISE_IN_ORDER
#define NCHWC_DEPTHWISE_KNOWN nchwc_depthwise_tiles
#else
#define NCHWC_DEPTHWISE_KNOWN nchwc_depthwise_group
#endif
NCHWC_DEPTHWISE(3, 1, NCHWC_DEPTHWISE_KNOWN)
NCHWC_DEPTHWISE(3, 2, NCHWC_DEPTHWISE_KNOWN)
NCHWC_DEPTHWISE(5, 1, NCHWC_DEPTHWISE_KNOWN)
NCHWC_DEPTHWISE(5, 2, NCHWC_DEPTHWISE_KNOWN)
NCHWC_DEPTHWISE(0, 0, nchwc_depthwise_group)

static void nchwc_depthwise(const gemm_nchwc_depthwise *d)
{
#ifdef DEPTHWISE_IN_ORDER
    if (!nchwc_has_tiles(d)) {
        JOIN(nchwc_depthwise_0_0__, ISA)(d);
        return;
    }
#endif
    if (d->size == 3 && d->stride == 1) JOIN(nchwc_depthwise_3_1__, ISA)(d);
    else if (d->size == 3 && d->stride == 2) JOIN(nchwc_depthwise_3_2__, ISA)(d);
    else if (d->size == 5 && d->stride == 1) JOIN(nchwc_depthwise_5_1__, ISA)(d);
    else if (d->size == 5 && d->stride == 2) JOIN(nchwc_depthwise_5_2__, ISA)(d);
    else JOIN(nchwc_depthwise_0_0__, ISA)(d);
}

/* ---- from rows to nchwc and back ---- */

/* Both by blocks of BLOCK places and channels. The last block ends with the last place, and so
   overlaps the one before it. Channels that fill no block go one by one. Rows may be pages apart,
   and their lines then compete for one set of L1. So only BLOCK rows at a time are written. */

static void from_nchwc(int places, int channels, const float *src, size_t ld, float *dst,
                       size_t dst_ld)
{
    for (; channels > 0; channels -= VL, src += ld, dst += VL * dst_ld) {
        const int n = lesser(VL, channels), whole = places < BLOCK ? 0 : n / BLOCK * BLOCK;
        for (int c = 0; c < whole; c += BLOCK) {
            for (int i_block = 0; i_block < places; i_block += BLOCK) {
                const int i = block_start(i_block, places);
                transpose_block(src + i * VL + c, VL, dst + c * dst_ld + i, (int)dst_ld);
            }
        }
        for (int c = whole; c < n; ++c) {
            for (int i = 0; i < places; ++i) dst[c * dst_ld + i] = src[i * VL + c];
        }
    }
}

static void to_nchwc(int places, int channels, const float *src, size_t ld, float *dst,
                     size_t dst_ld)
{
    for (; channels > 0; channels -= VL, src += VL * ld, dst += dst_ld) {
        const int n = lesser(VL, channels), whole = places < BLOCK ? 0 : n / BLOCK * BLOCK;
        for (int i_block = 0; i_block < places; i_block += BLOCK) {
            const int i = block_start(i_block, places);
            for (int c = 0; c < whole; c += BLOCK) {
                transpose_block(src + c * ld + i, ld, dst + i * VL + c, VL);
            }
        }
        for (int c = whole; c < n; ++c) {
            for (int i = 0; i < places; ++i) dst[i * VL + c] = src[c * ld + i];
        }
    }
}
