/* SPDX-License-Identifier: MIT */
/*
 * The tiles that `cl` chooses, and what cl_direct and cl_gemv can compute.
 *
 *   CPU                           cl_wide, cl_conv_wide
 *   GPU that shares its memory    cl_image
 *   other GPU                     cl_tile
 *   GPU, fewer than 8 rows of C   cl_thin
 *
 * gemm_cl_image_rules has the tile of cl_image. Where C alone has too few groups for all compute
 * units, K is cut. Parts of K are for other groups (split-K), and slices of K are for other items
 * of the same group.
 */
#include "cl/choice.h"

#include "util/ints.h"

#include <limits.h>

/* Parts of K such that there are about `enough` groups. No part is shorter than `shortest`, because
   then its sum would cost more than it saves. */
static int parts_for(int groups, int enough, int K, int shortest)
{
    const int wanted = groups >= enough ? 1 : ceil_div(enough, groups);
    return max_int(1, min_int(64, min_int(wanted, K / shortest)));
}

bool gemm_cl_fits_local(const gemm_cl_row *t, const gemm_cl_traits *d)
{
    const int rows = t->rows * t->wy + t->cols * t->wx + 8;
    const int items = t->wx * t->wy * max_int(t->slices, 1);
    return items <= d->group && 2 * t->depth * rows * (int)sizeof(float) <= d->local;
}

static int groups_of(const gemm_cl_row *t, const gemm_call *g)
{
    return ceil_div(g->M, t->rows * t->wy) * ceil_div(g->N, t->cols * t->wx);
}

static const gemm_cl_row *lowest_tile(int M)
{
    const int tile = M <= 16 ? GEMM_CL_TILE_16x128
                     : M <= 32 ? GEMM_CL_TILE_32x64 : GEMM_CL_TILE_64x64;
    return &gemm_cl_choices[tile];
}

/* Whether every unit would get few multiplications. Their latency counts then, not their number. */
static bool is_small(const gemm_cl_traits *d, const gemm_call *g)
{
    enum { FEW = 1 << 17, SHORT_K = 48 };
    return (double)g->M * g->N * g->K < (double)FEW * d->units && g->K >= SHORT_K;
}

/*
 * The largest of the sliced tiles that gives most units a group, or else the smallest one. Rows
 * past M would be wasted work. A tile has `least` rows or more. NULL: the device is too small, or
 * no tile is as high.
 */
static const gemm_cl_row *choose_sliced(const gemm_cl_traits *d, const gemm_call *g, int least)
{
    const gemm_cl_row *best = NULL;
    for (int i = GEMM_CL_SLICED_64x16; i <= GEMM_CL_SLICED_16x16; ++i) {
        const gemm_cl_row *t = &gemm_cl_choices[i];
        const int high = t->rows * t->wy;
        if (!gemm_cl_fits_local(t, d) || high < least) continue;
        if (high > 16 && high >= 2 * g->M) continue;
        best = t;
        if (4 * groups_of(t, g) >= 3 * d->units) break;
    }
    return best;
}

/*
 * The lowest tile that covers M, because rows past M are wasted work. A small, deep one where K is
 * too short to be cut.
 *
 * Where units would be idle, K is cut. A small multiply gets slices. A larger one gets parts, until
 * there are about three groups a unit: a group alone on its unit waits for its own loads. NULL: the
 * device is too small for the tile.
 */
static const gemm_cl_row *choose_tile(const gemm_cl_traits *d, const gemm_call *g, int *parts)
{
    const gemm_cl_row *t = lowest_tile(g->M);
    const gemm_cl_row *sliced = choose_sliced(d, g, 1);
    if (sliced && is_small(d, g) && 2 * groups_of(t, g) <= d->units) return sliced;
    if (g->M > 32 && g->K < 288 && groups_of(t, g) < d->units)
        t = &gemm_cl_choices[GEMM_CL_TILE_32x64_DEEP];
    if (!gemm_cl_fits_local(t, d)) return NULL;
    const int groups = groups_of(t, g);
    /* Never more than three groups a unit: one group more would wait for three others. Where most
       units have one already, cutting gains less, and only longer parts pay for their sum. */
    const int shortest = 2 * groups <= d->units ? 64 : 128;
    if (groups < d->units) *parts = parts_for(1, 3 * d->units / groups, g->K, shortest);
    return t;
}

static const gemm_cl_row *choose_thin(const gemm_cl_traits *d, const gemm_call *g, int *parts)
{
    const int thin = g->M <= 1 ? GEMM_CL_THIN_1 : g->M <= 2 ? GEMM_CL_THIN_2
                     : g->M <= 4 ? GEMM_CL_THIN_4 : GEMM_CL_THIN_8;
    *parts = parts_for(ceil_div(g->N, 64), 8 * d->units, g->K, 32);
    return &gemm_cl_choices[thin];
}

int gemm_cl_parts_of_items(double items, int enough, const gemm_call *g, int shortest)
{
    /* groups of 128 items, which the tuned kernels for Adreno use too */
    const int groups = items > INT_MAX / 2 ? INT_MAX / 2 : ceil_div((int)items, 128);
    return g->N < 256 ? parts_for(groups, enough, g->K, shortest) : 1;
}

/* The tile of the first rule that fits. The last rule always fits. */
static const gemm_cl_row *choose_image(const gemm_cl_traits *d, const gemm_call *g, int *parts)
{
    const gemm_cl_image_rule *r = gemm_cl_image_rules;
    const gemm_cl_row *t;
    double items;
    for (;; ++r) {
        t = &gemm_cl_choices[r->choice];
        items = (double)ceil_div(g->N, t->cols) * ceil_div(g->M, t->rows);
        if (d->adreno >= r->first && d->adreno <= r->last && items >= (double)r->items * d->units)
            break;
    }
    *parts = gemm_cl_parts_of_items(items, 4 * d->units, g, 128);
    return t;
}

int gemm_cl_vector_choice(const gemm_cl_traits *d)
{
    return d->vector >= 16 ? 0 : d->vector >= 8 ? 1 : 2;
}

const gemm_cl_row *gemm_cl_choose(const gemm_cl_traits *d, const gemm_call *g, int *parts)
{
    *parts = 1;
    if (d->cpu) return &gemm_cl_choices[GEMM_CL_WIDE_16 + gemm_cl_vector_choice(d)];
    /* An Adreno's compiler keeps the sums of cl_tile in private memory. */
    if (g->M < 8 || (d->is_adreno && !d->images)) return choose_thin(d, g, parts);
    if (d->unified && d->images) return choose_image(d, g, parts);
    const gemm_cl_row *tile = choose_tile(d, g, parts);
    return tile ? tile : &gemm_cl_naive;
}

/* Of the tiles for a vector the one that covers M rows in the least time. A tile takes the time of
   its rows, and that of one more for the vectors of B. */
static const gemm_cl_row *lowest_cost(const gemm_cl_row *tiles, int M)
{
    const gemm_cl_row *best = tiles;
    for (const gemm_cl_row *t = tiles + 1; t < tiles + GEMM_CL_CONV_TILES; ++t)
        if (ceil_div(M, t->rows) * (double)(t->rows + 1) <
            ceil_div(M, best->rows) * (double)(best->rows + 1))
            best = t;
    return best;
}

/* For the device all products together are one multiply with `products` times the columns. */
static gemm_call all_products(const gemm_call *g, int products)
{
    gemm_call all = *g;
    all.N = g->N > (1 << 30) / products ? 1 << 30 : g->N * products;
    return all;
}

const gemm_cl_row *gemm_cl_choose_conv(const gemm_cl_traits *d, const gemm_call *g, int products,
                                       int *parts)
{
    const int vector = gemm_cl_vector_choice(d);
    *parts = 1;
    if (d->cpu)
        return lowest_cost(&gemm_cl_choices[GEMM_CL_CONV_WIDE + vector * GEMM_CL_CONV_TILES],
                           g->M);
    const gemm_call all = all_products(g, products);
    const gemm_cl_row *row = gemm_cl_choose(d, &all, parts);
    return row->family->conv ? row : &gemm_cl_choices[GEMM_CL_THIN_8];
}

/* Whether the kernel has all that the pair needs. The driver has checked that it is a chain. */
static bool can_pair(const conv_call *d, const conv_call *p)
{
    return d->size > 1 && !gemm_activation_is_behind(d->activation) && !gemm_conv_is_dots(d) &&
           !gemm_conv_is_dots(p);
}

/* A tile has all rows of C, because another one would compute the depthwise layer once more. A
   small pair may have some of the highest tiles: a launch less is worth more there. Rows with
   slices give the same bits, so the pair may have another tile than the 1x1 alone. */
const gemm_cl_row *gemm_cl_choose_chain(const gemm_cl_traits *d, const gemm_cl_row *asked,
                                        const conv_call *depth, const conv_call *point,
                                        const gemm_call *g)
{
    enum { HIGHEST = 64, TILES = 3 };
    const bool chooses = gemm_cl_chooses(asked);
    int parts = 1;
    if ((d->cpu && chooses) || !can_pair(depth, point)) return NULL;
    const gemm_call all = all_products(g, point->batch);
    const gemm_cl_row *row = chooses ? gemm_cl_choose(d, &all, &parts) : asked;
    if (!row->depth || parts > 1) return NULL;
    if (row->slices && chooses)
        return g->M <= TILES * HIGHEST ? choose_sliced(d, &all, min_int(g->M, HIGHEST)) : NULL;
    return row->rows * row->wy >= g->M ? row : NULL;
}

const gemm_cl_row *gemm_cl_choose_gemv(const gemm_cl_traits *d, const conv_call *c,
                                       gemm_cl_half_use half)
{
    enum { LEAST_K = 64 };
    if (!gemm_conv_is_dots(c) || gemm_conv_taps(c) < LEAST_K) return NULL;
    const gemm_cl_row *row = &gemm_cl_choices[half == GEMM_CL_HALF_SUMS ? GEMM_CL_GEMV_HALF
                                              : d->cpu ? GEMM_CL_GEMV_CPU : GEMM_CL_GEMV];
    return row->wx <= d->group ? row : NULL;
}

int gemm_cl_direct_blocks(const conv_call *c)
{
    if (c->size == 1) return ceil_div(gemm_conv_places(c), 4);
    return ceil_div(c->out_w, 2) * ceil_div(c->out_h, 2);
}

/* The kernel counts all items in one int, and the elements of an input in another one. */
bool gemm_cl_can_direct(const conv_call *c)
{
    const double area = (double)c->h * c->w, tiles = c->n / c->groups;
    if (c->pad > c->size / 2 || area < c->size + 3) return false;
    if (gemm_cl_direct_blocks(c) * tiles > INT_MAX / 2) return false;
    if (area * (c->c / c->groups) > INT_MAX / 2) return false;
    return (c->size == 3 && c->stride <= 2) || (c->size == 5 && c->stride == 1) ||
           (c->size == 1 && c->stride == 1 && !c->pool);
}

bool gemm_cl_is_depthwise(const conv_call *c)
{
    return c->groups > 1 && c->groups == c->c && c->groups == c->n;
}

bool gemm_cl_can_transform(const conv_call *c)
{
    conv_call one = *c;         /* groups are as many layers */
    one.groups = 1;
    return gemm_cl_can_direct(c) && !gemm_cl_is_depthwise(c) && gemm_conv_can_transform(&one);
}
