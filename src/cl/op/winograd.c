/* SPDX-License-Identifier: MIT */
/*
 * Winograd's algorithm: the sizes of a layer, and its three kernels.
 *
 *   cl_winograd_filter    U, once for a plan, or at each call without one
 *   cl_winograd_input     V of all images, in scratch
 *   cl_winograd           the row's kernel: M, and then the outputs or their maxima
 */
#include "cl/op/winograd.h"

#include "cl/device/scratch.h"
#include "cl/op/groups.h"
#include "util/text.h"
#include "util/winograd.h"

#include <limits.h>


static size_t floats_of_v(const gemm_cl_winograd *l)
{
    return (size_t)l->c->batch * (size_t)l->points * (size_t)l->c->c * (size_t)l->ldv;
}

/* The most tiles of a work-item. Their M fills a quarter of the device's local memory, which is the
   L2 of a CPU or more, and 128 KiB at most. Or they are one step of ROWS. 0: not even that fits. */
static int most_tiles(const gemm_cl_work *w)
{
    enum { MOST_BYTES = 1 << 17 };
    const gemm_cl_row *row = w->row;
    const int tile = gemm_cl_winograd_tile(row), local = w->device->traits.local;
    if (local / tile < row->rows) return 0;
    const int most = min_int(local / 4, MOST_BYTES) / tile;
    return max_int(most, row->rows) / row->rows * row->rows;
}

/* Fewer tiles, where there would not be 4 items for each unit. */
static int tiles_of_item(const gemm_cl_winograd *l, const gemm_cl_work *w)
{
    const int rows = w->row->rows;
    const double items = (double)l->strips * l->c->batch / (4 * w->device->traits.units);
    const int shared = items >= 1 ? INT_MAX : max_int((int)(l->tiles * items), rows);
    return even_step(l->tiles, min_int(l->most_tiles, shared / rows * rows), rows);
}

bool gemm_cl_winograd_fits(gemm_cl_winograd *l, const gemm_cl_work *w, const conv_call *c)
{
    enum { MOST_FLOATS = 1 << 26 };         /* of V */
    const gemm_cl_row *row = w->row;
    const int m = row->winograd, points = (m + 2) * (m + 2);
    if (!m || !gemm_conv_can_transform(c)) return false;
    const double tiles = (double)ceil_div(c->out_w, m) * ceil_div(c->out_h, m);
    if ((double)c->batch * points * c->c * (tiles + row->cols) > MOST_FLOATS) return false;
    *l = (gemm_cl_winograd){.c = c, .m = m, .points = points, .across = ceil_div(c->out_w, m),
                            .tiles = (int)tiles,
                            .ldv = (int)round_up((size_t)tiles, (size_t)row->cols),
                            .strips = ceil_div(c->n, row->cols)};
    l->most_tiles = most_tiles(w);
    if (l->most_tiles) l->item_tiles = tiles_of_item(l, w);
    return l->most_tiles > 0;
}

size_t gemm_cl_winograd_bytes(const gemm_cl_winograd *l, const gemm_cl_row *row)
{
    return (size_t)l->points * (size_t)l->strips * (size_t)row->cols * (size_t)l->c->c *
           sizeof(float);
}

/* Adds what all three kernels are compiled with: the tile, and P and Q in eighths, because a
   locale may print fractions with a comma. */
static void add_tile(const gemm_cl_winograd *l, gemm_text *options)
{
    gemm_text_add(options, " -DTILE=%d -DP_EIGHTHS=%d -DQ_EIGHTHS=%d", l->m,
                  (int)(8 * GEMM_WINOGRAD_P), (int)(8 * GEMM_WINOGRAD_Q));
}

/* The options of another kernel of the algorithm, for the row's vector and tile. */
static void other_options(const gemm_cl_winograd *l, const gemm_cl_work *w, gemm_text *options)
{
    gemm_text_add(options, GEMM_CL_MATH " %s -DCOLS=%d", w->row->defines, w->row->cols);
    add_tile(l, options);
}

const char *gemm_cl_winograd_build(const gemm_cl_winograd *l, gemm_cl_work *w)
{
    gemm_text more = {0}, other = {0};
    const char *why;
    other_options(l, w, &other);
    const char *options = gemm_text_whole(&other);
    if (!(why = gemm_cl_why_left_out("cl_winograd_filter", options)))
        why = gemm_cl_why_left_out("cl_winograd_input", options);
    gemm_text_free(&other);
    if (why) return why;
    add_tile(l, &more);
    gemm_text_add(&more, " -DTILES=%d%s", l->most_tiles, l->c->pool ? " -DPOOL" : "");
    why = gemm_cl_build_row(w, gemm_text_whole(&more));
    gemm_text_free(&more);
    return why;
}

/* Another kernel of the algorithm, for the row's vector and tile. NULL: it cannot be built. */
static const gemm_cl_program *need(const gemm_cl_winograd *l, const gemm_cl_work *w,
                                   const char *name)
{
    gemm_text options = {0};
    other_options(l, w, &options);
    const gemm_cl_program *p = gemm_cl_need(name, gemm_text_whole(&options));
    gemm_text_free(&options);
    return p;
}

static const size_t one_item[3] = {1, 1, 1};

int gemm_cl_winograd_filters(const gemm_cl_winograd *l, gemm_cl_work *w, cl_mem weights,
                             size_t first, cl_mem U)
{
    const gemm_cl_program *p = need(l, w, "cl_winograd_filter");
    const size_t global[3] = {(size_t)l->c->c, (size_t)l->strips, 1};
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_filter, .M = l->c->n, .channels = l->c->c, .strips = l->strips,
        .weights = weights, .a0 = first, .U = U);
    return p ? gemm_cl_launch(w, p, STAGE_PREPARE, &args, global, one_item) : -1;
}

static int transform_input(const gemm_cl_winograd *l, gemm_cl_work *w, cl_mem V)
{
    const conv_call *c = l->c;
    const gemm_cl_program *p = need(l, w, "cl_winograd_input");
    const size_t global[3] = {(size_t)(l->ldv / w->row->cols), (size_t)c->c,
                              (size_t)c->batch};
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_input, .channels = c->c, .h = c->h, .w = c->w, .pad = c->pad,
        .across = l->across, .tiles = l->tiles, .ldv = l->ldv, .image = w->B.mem,
        .i0 = w->B.offset, .V = V);
    return p ? gemm_cl_launch(w, p, STAGE_PREPARE, &args, global, one_item) : -1;
}

int gemm_cl_winograd_run(const gemm_cl_winograd *l, gemm_cl_work *w, cl_mem U, cl_mem norm,
                         float slope)
{
    const conv_call *c = l->c;
    cl_mem V = gemm_cl_scratch(SLOT_PACKED_B, floats_of_v(l) * sizeof(float));
    if (!V || transform_input(l, w, V)) return -1;
    const int side = c->pool ? 2 : 1;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd, .M = c->n, .channels = c->c, .U = U, .V = V, .ldv = l->ldv,
        .across = l->across, .tiles = l->tiles, .each = l->item_tiles, .strips = l->strips,
        .C = w->C.mem, .c0 = w->C.offset, .h = c->out_h / side, .w = c->out_w / side,
        .norm = norm, .slope = slope);
    size_t local[3], global[3] = {(size_t)ceil_div(l->tiles, l->item_tiles), (size_t)l->strips,
                                  (size_t)c->batch};
    gemm_cl_set_groups(w, global, local);
    return gemm_cl_launch(w, w->program, STAGE_MULTIPLY, &args, global, local);
}
