/* SPDX-License-Identifier: MIT */
/*
 * Packing of panels: kc rows of `width` floats, the first n from the matrix, zeroes behind them.
 * Included by ukernel_body.h.
 */

/* Writes zeroes to columns n .. width of a panel. */
static void clear_right(int n, int kc, float *dst, int width)
{
    for (int p = 0; p < kc; ++p, dst += width) {
        for (int i = n; i < width; ++i) dst[i] = 0.0f;
    }
}

/* The start of the block at `at`. The last block of `size` ends with it, and so overlaps the one
   before it where BLOCK does not divide `size`. */
INLINE int block_start(int at, int size) { return lesser(at, size - BLOCK); }

/* Rows of up to SPAN floats: n of them stay in L1, so columns are the outer loop. */
static void transpose_short(const float *src, size_t ld, int n, int kc, float *dst, int width)
{
    const int tall = n / TALL * TALL;
    for (int p_block = 0; p_block < kc; p_block += BLOCK) {
        const int p = block_start(p_block, kc);
        float *const to = dst + p * width;
        for (int i = 0; i < tall; i += TALL) transpose_tall(src + i * ld + p, ld, to + i, width);
        for (int i_block = tall; i_block < n; i_block += BLOCK) {
            const int i = block_start(i_block, n);
            transpose_block(src + i * ld + p, ld, to + i, width);
        }
    }
}

/* The blocks of n rows of kc floats. Prefetches the n rows behind them, which are most likely
   transposed next. */
static void transpose_span(const float *src, size_t ld, int n, int kc, float *dst, int width)
{
    for (int i_block = 0; i_block < n; i_block += BLOCK) {
        const int i = block_start(i_block, n);
        const float *rows = src + i * ld;
        for (int p_block = 0; p_block < kc; p_block += BLOCK) {
            const int p = block_start(p_block, kc);
            transpose_block(rows + p, ld, dst + p * width + i, width);
            if (p_block % LINE_FLOATS) continue;
            for (int r = 0; r < BLOCK; ++r) {
                __builtin_prefetch(rows + (n + r) * ld + p + LINE_FLOATS - 1, 0, 2);
            }
        }
    }
}

/* Element by element, where not even one block fits. */
static void transpose_small(const float *src, size_t ld, int n, int kc, float *dst, int width)
{
    for (int p = 0; p < kc; ++p) {
        for (int i = 0; i < n; ++i) dst[p * width + i] = src[i * ld + p];
    }
}

/* Long rows are cut into spans: SPAN rows of the panel stay in L1 while blocks are written side by
   side into them. */
static void transpose(const float *src, size_t ld, int n, int kc, float *dst, int width)
{
    enum { SPAN = 64 };
    if (n < width) clear_right(n, kc, dst, width);
    if (n < BLOCK || kc < BLOCK) {
        transpose_small(src, ld, n, kc, dst, width);
    } else if (ld <= SPAN) {
        transpose_short(src, ld, n, kc, dst, width);
    } else {
        for (int at = 0; at < kc; at += SPAN) {
            const int p = block_start(at, kc), span = lesser(kc - p, SPAN);
            transpose_span(src + p, ld, n, span, dst + p * width, width);
        }
    }
}

/* Prefetches the kc rows behind these, as transpose_span does. */
static void copy(const float *src, size_t ld, int n, int kc, float *dst, int width)
{
    const int whole = n / VL * VL;
    if (n < width) clear_right(n, kc, dst, width);
    for (int p = 0; p < kc; ++p, src += ld, dst += width) {
        __builtin_prefetch(src + kc * ld, 0, 2);
        for (int i = 0; i < whole; i += VL) vstore(dst + i, vload(src + i));
        if (whole < n) vstore_part(dst + whole, n - whole, vload_part(src + whole, n - whole));
    }
}
