/* SPDX-License-Identifier: MIT */
/*
 * Convolutions in blocks of channels: see gemm_blocks. Included by ukernel_pairs.h, or by the tile
 * that has own_block_sums(), which takes the place of the sums below.
 */

/* ---- from rows to blocks ---- */

enum { FILLED = 16 };           /* pixels at once */

/* Pairs of FILLED pixels, each `pairs` behind the last one. */
INLINE void turn_pixels(int pairs, const float from[][FILLED], float *to)
{
    const int unit = pairs % TALL ? BLOCK : TALL;
    for (int p = 0; p < pairs; p += unit) {
        for (int i = 0; i < FILLED; i += BLOCK) {
            float *const at = to + i * pairs + p;
            if (unit == TALL) transpose_tall(from[p] + i, FILLED, at, pairs);
            else transpose_block(from[p] + i, FILLED, at, pairs);
        }
    }
}

static void fill_blocks(int n, int channels, int pairs, const float *src, size_t area,
                        gemm_pair *to)
{
    _Alignas(CACHE_LINE) float rows[16][FILLED] = {{0}}, last[16 * FILLED];
    for (int i = 0, count; i < n; i += count) {
        count = lesser(FILLED, n - i);
        for (int p = 0; 2 * p < channels; ++p) {
            const float *const low = src + 2 * (size_t)p * area + i;
            pair_rows(count, low, 2 * p + 1 < channels ? low + area : NULL, (gemm_pair *)rows[p]);
        }
        float *const at = count < FILLED ? last : (float *)to + i * pairs;
        turn_pixels(pairs, rows, at);
        if (count < FILLED) memcpy(to + i * pairs, last, (size_t)(count * pairs) * sizeof *to);
    }
}

/* ---- sums ---- */

#ifndef own_block_sums
#define own_block_sums block_sums
static void block_sums(const gemm_blocks *b)
{
    const int width = b->vectors * VL;
    for (int i = 0; i < b->places; ++i) {
        for (int f = 0; f < width; f += VL) {
            const float *w = (const float *)b->weights + f;
            vec sum = vzero();
            for (int s = 0; s < b->steps; ++s) {
                const float *a = (const float *)b->image + b->at[s] + (size_t)i * b->apart;
                for (int p = 0; p < b->pairs; ++p, w += width)
                    vfma_to(sum, vset1(a[p]), vload(w));
            }
            vstore(b->sums + 2 * VL * i + f, sum);
        }
    }
}
#endif

/* ---- outputs ---- */

INLINE void finish_blocks_as(const activation f, const gemm_blocks_row *r)
{
    const vec slope = vset1(r->slope), shift = load_some(r->shift, r->channels);
    const vec scale = r->scale ? load_some(r->scale, r->channels) : vset1(1);
#define END(p) activate(f, vfma(scale, vload(p), shift), slope)
    const float *top = r->sums, *bottom = r->below;
    for (int i = 0; !bottom && i < r->places; ++i, top += 2 * VL) vstore(r->y + i * VL, END(top));
    for (int i = 0; bottom && i < r->places; ++i, top += 4 * VL, bottom += 4 * VL) {
        vec m = vmax(END(top), vset1(-FLT_MAX));
        m = vmax(END(top + 2 * VL), m);
        m = vmax(END(bottom), m);
        vstore(r->y + i * VL, vmax(END(bottom + 2 * VL), m));
    }
#undef END
}

static void finish_blocks(const gemm_blocks_row *r)
{
    if (r->slope == 1) finish_blocks_as(LINEAR, r);
    else if (r->slope > 0 && r->slope < 1) finish_blocks_as(LEAKY, r);
    else finish_blocks_as(BY_SIGN, r);
}

static const gemm_blocks_kernels blocks = {fill_blocks, own_block_sums, finish_blocks};
#define BLOCKS &blocks
