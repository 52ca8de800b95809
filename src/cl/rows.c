/*
 * The OpenCL rows as data, and what `cl` makes of a device and a shape.
 *
 * The paper's ladder (Adreno 330): naive -> blocks -> local memory -> wide loads -> unrolled.
 * Qualcomm's: image. `cl` chooses among those and the kernels below, which no article has: wide for
 * CPUs, thin for a C of few rows, tile for desktop GPUs.
 */
#include "gemm_cl.h"

#include "util/ints.h"

const gemm_cl_row gemm_cl_naive = {"cl_naive", "", GEMM_CL_PLAIN, 1, 1, 1, 1, 0, false};
const gemm_cl_row gemm_cl_block = {"cl_block", "", GEMM_CL_PADDED, 1, 32, 1, 32, 0, false};
const gemm_cl_row gemm_cl_local = {"cl_local", "-DVECTOR=1", GEMM_CL_PADDED, 1, 32, 1, 32, 0, false};
const gemm_cl_row gemm_cl_local_v4 = {
    "cl_local", "-DVECTOR=4", GEMM_CL_PADDED, 1, 32, 1, 32, 0, false};
const gemm_cl_row gemm_cl_local_v8 = {
    "cl_local", "-DVECTOR=8", GEMM_CL_PADDED, 1, 32, 1, 32, 0, false};
const gemm_cl_row gemm_cl_local_v16 = {
    "cl_local", "-DVECTOR=16", GEMM_CL_PADDED, 1, 32, 1, 32, 0, false};
const gemm_cl_row gemm_cl_local_v4_u8 = {
    "cl_local", "-DVECTOR=4 -DUNROLL=8", GEMM_CL_PADDED, 1, 32, 1, 32, 0, false};
const gemm_cl_row gemm_cl_image = {"cl_image", "", GEMM_CL_IMAGE, 8, 4, 0, 0, 0, false};
const gemm_cl_row gemm_cl_best = {NULL, "", GEMM_CL_CHOOSE, 0, 0, 0, 0, 0, true};
const gemm_cl_row gemm_cl_clblast = {NULL, "", GEMM_CL_CLBLAST, 0, 0, 0, 0, 0, false};

enum {
    IMAGE_SPLIT, WIDE_16, WIDE_8, WIDE_4, THIN_1, THIN_2, THIN_4, THIN_8,
    TILE_16x128, TILE_32x64, TILE_64x64, TILE_64x128
};

const gemm_cl_row gemm_cl_choices[] = {
    [IMAGE_SPLIT] = {"cl_image", "", GEMM_CL_IMAGE, 8, 4, 0, 0, 0, true},
    [WIDE_16] = {"cl_wide", "-DVECTOR=16", GEMM_CL_PLAIN, 8, 32, 1, 1, 0, false},
    [WIDE_8] = {"cl_wide", "-DVECTOR=8", GEMM_CL_PLAIN, 6, 16, 1, 1, 0, false},
    [WIDE_4] = {"cl_wide", "-DVECTOR=4", GEMM_CL_PLAIN, 4, 8, 1, 1, 0, false},
    [THIN_1] = {"cl_thin", "", GEMM_CL_PLAIN, 1, 1, 64, 1, 0, true},
    [THIN_2] = {"cl_thin", "", GEMM_CL_PLAIN, 2, 1, 64, 1, 0, true},
    [THIN_4] = {"cl_thin", "", GEMM_CL_PLAIN, 4, 1, 64, 1, 0, true},
    [THIN_8] = {"cl_thin", "", GEMM_CL_PLAIN, 8, 1, 64, 1, 0, true},
    [TILE_16x128] = {"cl_tile", "", GEMM_CL_PLAIN, 4, 4, 32, 4, 8, true},
    [TILE_32x64] = {"cl_tile", "", GEMM_CL_PLAIN, 4, 4, 16, 8, 16, true},
    [TILE_64x64] = {"cl_tile", "", GEMM_CL_PLAIN, 8, 4, 16, 8, 16, true},
    [TILE_64x128] = {"cl_tile", "", GEMM_CL_PLAIN, 8, 8, 16, 8, 16, true},
};
const size_t gemm_cl_choice_count = sizeof gemm_cl_choices / sizeof gemm_cl_choices[0];

/* The same for whole convolutions on CPUs, by the device's vector and the filters of a group. */
#define WIDE_CONV(vector, rows, cols) \
    {"cl_conv_wide", "-DVECTOR=" #vector, GEMM_CL_PLAIN, rows, cols, 1, 1, 0, false}
enum { FILTERS_1, FILTERS_2, FILTERS_4, FILTERS_MORE };
const gemm_cl_row gemm_cl_conv_choices[] = {
    WIDE_CONV(16, 1, 32), WIDE_CONV(16, 2, 32), WIDE_CONV(16, 4, 32), WIDE_CONV(16, 8, 32),
    WIDE_CONV(8, 1, 16), WIDE_CONV(8, 2, 16), WIDE_CONV(8, 4, 16), WIDE_CONV(8, 6, 16),
    WIDE_CONV(4, 1, 8), WIDE_CONV(4, 2, 8), WIDE_CONV(4, 4, 8), WIDE_CONV(4, 4, 8),
};
const size_t gemm_cl_conv_choice_count =
    sizeof gemm_cl_conv_choices / sizeof gemm_cl_conv_choices[0];

/* Parts of K, so that there are about `enough` groups, each part long enough to pay for its sum. */
static int parts_for(int groups, int enough, int K, int shortest)
{
    int parts = groups >= enough ? 1 : ceil_div(enough, groups);
    const int most = K / shortest;
    if (parts > most) {
        parts = most;
    }
    return parts < 1 ? 1 : parts > 64 ? 64 : parts;
}

/* Two tiles of A and of B, each row padded by 4 floats, in local memory. */
static bool fits(const gemm_cl_row *t, const gemm_cl_traits *d)
{
    const int rows = t->rows * t->wy + t->cols * t->wx + 8;
    return t->wx * t->wy <= d->group && 2 * t->depth * rows * (int)sizeof(float) <= d->local;
}

static int groups_of(const gemm_cl_row *t, const gemm_call *g)
{
    return ceil_div(g->M, t->rows * t->wy) * ceil_div(g->N, t->cols * t->wx);
}

/*
 * The lowest tile that covers M, because rows past M are work for nothing; the largest one where
 * even that keeps all units busy. Small problems are cut finely, the others along K until there are
 * about three groups a unit, but never into parts shorter than their sums are worth.
 */
static const gemm_cl_row *choose_tile(const gemm_cl_traits *d, const gemm_call *g, int *parts)
{
    const gemm_cl_row *t = &gemm_cl_choices[g->M <= 16 ? TILE_16x128
                                            : g->M <= 32 ? TILE_32x64 : TILE_64x64];
    const gemm_cl_row *large = &gemm_cl_choices[TILE_64x128];
    if (g->M > 32 && g->K < 288 && groups_of(t, g) < d->units) {
        t = &gemm_cl_choices[TILE_16x128];
    } else if (g->M >= 128 && groups_of(large, g) >= 3 * d->units && fits(large, d)) {
        t = large;
    }
    const int groups = groups_of(t, g);
    /* no more groups than three a unit: one more would wait for a whole wave */
    *parts = groups >= d->units ? 1 : parts_for(1, 3 * d->units / groups, g->K, 144);
    return fits(t, d) ? t : NULL;
}

const gemm_cl_row *gemm_cl_choose(const gemm_cl_traits *d, const gemm_call *g, int *parts)
{
    *parts = 1;
    if (d->cpu) {
        return &gemm_cl_choices[d->vector >= 16 ? WIDE_16 : d->vector >= 8 ? WIDE_8 : WIDE_4];
    }
    if (g->M < 8) {
        const int thin = g->M <= 1 ? THIN_1 : g->M <= 2 ? THIN_2 : g->M <= 4 ? THIN_4 : THIN_8;
        *parts = parts_for(ceil_div(g->N, 64), 8 * d->units, g->K, 32);
        return &gemm_cl_choices[thin];
    }
    if (d->unified && d->images) {
        /* groups of 128 items of 4x8, as the tuned kernels for Adreno have them */
        const int groups = ceil_div(ceil_div(g->N, 4) * ceil_div(g->M, 8), 128);
        *parts = g->N < 256 ? parts_for(groups, 4 * d->units, g->K, 128) : 1;
        return &gemm_cl_choices[IMAGE_SPLIT];
    }
    const gemm_cl_row *tile = choose_tile(d, g, parts);
    if (!tile) {
        *parts = 1;     /* too little local memory, or too small groups */
    }
    return tile ? tile : &gemm_cl_naive;
}

const gemm_cl_row *gemm_cl_choose_conv(const gemm_cl_traits *d, const gemm_call *g, int products,
                                       int *parts)
{
    *parts = 1;
    if (d->cpu) {
        const gemm_cl_row *rows =
            gemm_cl_conv_choices + (d->vector >= 16 ? 0 : d->vector >= 8 ? 4 : 8);
        return &rows[g->M <= 1 ? FILTERS_1 : g->M <= 2 ? FILTERS_2 : g->M <= 4 ? FILTERS_4
                                                                               : FILTERS_MORE];
    }
    /* all products at once are as much work for the device as one that is so much wider */
    gemm_call all = *g;
    all.N = g->N > (1 << 30) / products ? 1 << 30 : g->N * products;
    const gemm_cl_row *row = gemm_cl_choose(d, &all, parts);
    return row == &gemm_cl_naive ? &gemm_cl_choices[THIN_8] : row;
}
