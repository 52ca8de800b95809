/* SPDX-License-Identifier: MIT */
/*
 * The work-group of a launch: see groups.h.
 */
#include "cl/op/groups.h"

/*
 * How well groups of x times y items suit gx times gy items; more is better. Three things count
 * most: few items that idle in partly filled groups, groups of 64 items or more, and a group for
 * every unit. The last two terms only decide between equals: about 128 items, and wide groups
 * (16x8). A discrete GPU gets 64x2, because the items of a warp then share their rows of A.
 */
static double group_score(const gemm_cl_device *d, size_t gx, size_t gy, size_t x, size_t y)
{
    const size_t items = round_up(gx, x) * round_up(gy, y), groups = items / (x * y);
    const double filled = (double)(gx * gy) / (double)items;
    const double large = x * y >= 64 ? 1.0 : (double)(x * y) / 64.0;
    const double units = d->traits.units;
    const double spread = (double)groups >= units ? 1.0 : (double)groups / units;
    const double wide = d->traits.unified ? (double)(x >= y) : (double)(x < 64 ? x : 64) / 64.0;
    const double size = x * y <= 128 ? (double)(x * y) / 128.0 : 0.5;
    return filled * large * spread + 0.02 * wide + 0.02 * size;
}

/* The best group where the row names none: a power of two a side, at most `most` items. */
static void fit_group(const gemm_cl_device *d, size_t most, size_t gx, size_t gy, size_t *group)
{
    double best = 0.0;
    for (size_t x = 1; x <= most && x <= d->item_sizes[0]; x *= 2) {
        for (size_t y = 1; x * y <= most && y <= d->item_sizes[1]; y *= 2) {
            const double score = group_score(d, gx, gy, x, y);
            if (score <= best) continue;
            best = score;
            group[0] = x;
            group[1] = y;
        }
    }
}

/* Fewer items along x where the built kernel allows no more. */
static void shrink_group(const gemm_cl_program *p, size_t *group)
{
    while (group[0] > 1 && group[0] * group[1] * group[2] > p->group_items) group[0] /= 2;
}

/*
 * The items of a kernel whose items take shares: x counts strips of columns, y tiles of rows, z
 * products. Every unit needs groups, but each more group packs B once more. So z, and then y,
 * become as small as 4 groups a unit allow.
 */
static void fit_shares(const gemm_cl_work *w, size_t *global)
{
    const size_t enough = 4 * (size_t)w->device->traits.units;
    const size_t deep = global[0] >= enough ? 1 : (enough + global[0] - 1) / global[0];
    if (deep < global[2]) global[2] = deep;
    const size_t groups = global[0] * global[2];
    const size_t shares = groups >= enough ? 1 : (enough + groups - 1) / groups;
    if (shares < global[1]) global[1] = shares;
}

void gemm_cl_set_groups(gemm_cl_work *w, size_t global[3], size_t local[3])
{
    const gemm_cl_row *row = w->row;
    local[0] = (size_t)row->wx;
    local[1] = (size_t)row->wy;
    local[2] = (size_t)max_int(row->slices, 1);
    global[2] *= local[2];
    if (row->family->shares) fit_shares(w, global);
    if (!row->wx) fit_group(w->device, w->program->group_items, global[0], global[1], local);
    if (row->family->any_group && gemm_cl_is_tuned(w) && w->form->group)
        local[0] = (size_t)w->form->group;
    if (row->family->any_group) shrink_group(w->program, local);
    w->group[0] = local[0];
    w->group[1] = local[1];
    global[0] = round_up(global[0], local[0]);
    global[1] = round_up(global[1], local[1]);
}
