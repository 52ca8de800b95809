/* SPDX-License-Identifier: MIT */
/*
 * Layers in nchwc but for the product, which ukernel_nchwc_product.h has: depthwise layers, and the
 * way from rows and back. Included by ukernel_body.h.
 *
 * A depthwise layer is computed for VL channels at once. Its pixels are whole vectors for any width
 * of the map.
 */

/* ---- depthwise ---- */

INLINE void nchwc_depthwise_store(const activation f, const bool half, const int rows, vec scale,
                                  vec shift, vec slope, float *y, int row, const vec *acc)
{
    if (!half) {
        depthwise_store(f, rows, scale, shift, slope, y, row, false, acc);
        return;
    }
    UNROLL
    for (int r = 0; r < rows; ++r)
        store_low(y + (size_t)r * row, finish_low(f, scale, acc[r], shift, slope));
}

/* Output rows y .. y + rows - 1. half: of at most VL / 2 channels. */
INLINE void nchwc_depthwise_rows(const bool half, const gemm_nchwc_depthwise *d, const int rows,
                                 const int size, const int stride, const vec *kept,
                                 const vec scale, const vec shift, int y)
{
    const bool leaky = d->slope > 0;
    const vec slope = vset1(d->slope);
    const float *in = d->src + (size_t)y * d->stride * d->pitch;
    float *out = d->y + (size_t)y * d->out_w * VL;
    const int row = d->out_w * VL;
    for (int x = 0; x < d->out_w; ++x, in += d->stride * VL, out += VL) {
        vec acc[GEMM_DEPTHWISE_ROWS];
        if (size) {
            depthwise_vectors(half, rows, size, stride, true, in, d->pitch, kept, acc);
        } else {
            depthwise_any(rows, d->size, d->stride, true, in, d->pitch, d->weights, acc);
        }
        BY_SLOPE(leaky, nchwc_depthwise_store, half, rows, scale, shift, slope, out, row, acc);
    }
}

INLINE void nchwc_depthwise_some(const bool half, const gemm_nchwc_depthwise *d, const int size,
                                 const int stride)
{
    enum { MOST_KEPT = 25, ROWS = GEMM_DEPTHWISE_ROWS };
    vec kept[MOST_KEPT];
    UNROLL
    for (int q = 0; q < size * size; ++q) kept[q] = vload(d->weights + q * VL);
    const vec shift = load_some(d->shift, d->channels);
    const vec scale = d->scale ? load_some(d->scale, d->channels) : vset1(1);
    int y = 0;
    for (; y + ROWS <= d->rows; y += ROWS)
        nchwc_depthwise_rows(half, d, ROWS, size, stride, kept, scale, shift, y);
    if (y + 2 <= d->rows) {
        nchwc_depthwise_rows(half, d, 2, size, stride, kept, scale, shift, y);
        y += 2;
    }
    if (y < d->rows) nchwc_depthwise_rows(half, d, 1, size, stride, kept, scale, shift, y);
}

INLINE void nchwc_depthwise_group(const gemm_nchwc_depthwise *d, const int size, const int stride)
{
    if (HALVES && size && d->channels <= VL / 2) nchwc_depthwise_some(true, d, size, stride);
    else nchwc_depthwise_some(false, d, size, stride);
}

#define NCHWC_DEPTHWISE(size, stride, compute)                                                     \
    static NOINLINE void JOIN(nchwc_depthwise_##size##_##stride##__, ISA)(                         \
        const gemm_nchwc_depthwise *d)                                                             \
    {                                                                                              \
        compute(d, size, stride);                                                                  \
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
