/* SPDX-License-Identifier: MIT */
/*
 * Winograd's algorithm: the sizes of a layer, and its kernels.
 *
 *   cl_winograd_filter    U, once for a plan, or at each call without one
 *   cl_winograd_input     V of all images, in scratch
 *   cl_winograd           the row's kernel on a CPU: M, and then the outputs or their maxima
 *
 * On a GPU the row's kernel is cl_tile, for which the points are the groups of a 1x1 layer. An
 * image of it is one row of tiles. It stores M as a part of K, in scratch:
 *
 *   cl_tile               M [image][point][filter][tile]
 *   cl_winograd_output    the outputs or their maxima
 */
#include "cl/op/winograd.h"

#include "cl/device/scratch.h"
#include "util/text.h"
#include "util/winograd.h"

#include <limits.h>

static size_t floats_of_v(const gemm_cl_winograd *l)
{
    return (size_t)l->c->batch * (size_t)l->points * (size_t)l->c->c * (size_t)l->ldv;
}

/* M of a row for GPUs. */
static size_t floats_of_m(const gemm_cl_winograd *l)
{
    return (size_t)l->c->batch * (size_t)l->points * (size_t)l->c->n * (size_t)l->ldv;
}

/* The most tiles of a work-item. Their M fills a quarter of the device's local memory, which is the
   L2 of a CPU or more, and 128 KiB at most. Or they are one step of ROWS. 0: not even that fits. */
static int most_tiles(const gemm_cl_row *row, int local)
{
    enum { MOST_BYTES = 1 << 17 };
    const int tile = gemm_cl_winograd_tile(row);
    if (local / tile < row->rows) return 0;
    const int most = min_int(local / 4, MOST_BYTES) / tile;
    return max_int(most, row->rows) / row->rows * row->rows;
}

/* Fewer tiles, where there would not be 4 items for each unit. */
static int tiles_of_item(const gemm_cl_winograd *l, int rows, int units)
{
    const double items = (double)l->strips * l->c->batch / (4 * units);
    const int shared = items >= 1 ? INT_MAX : max_int((int)(l->tiles * items), rows);
    return even_step(l->tiles, min_int(l->most_tiles, shared / rows * rows), rows);
}

bool gemm_cl_winograd_fits(gemm_cl_winograd *l, const gemm_cl_row *row, const gemm_cl_traits *d,
                           const conv_call *c)
{
    enum { MOST_FLOATS = 1 << 26, FOUR = 4 };   /* of V and M; what cl_tile loads at once */
    const bool by_points = row->depth;
    const int m = row->winograd, points = (m + 2) * (m + 2), cols = by_points ? 1 : row->cols;
    if (!m || !gemm_conv_can_transform(c)) return false;
    const double tiles = (double)ceil_div(c->out_w, m) * ceil_div(c->out_h, m);
    const int planes = by_points ? max_int(c->c, c->n) : c->c;
    if ((double)c->batch * points * planes * (tiles + row->cols) > MOST_FLOATS) return false;
    *l = (gemm_cl_winograd){.c = c, .m = m, .points = points, .across = ceil_div(c->out_w, m),
                            .tiles = (int)tiles, .by_points = by_points, .cols = cols,
                            .ldv = (int)round_up((size_t)tiles, (size_t)(by_points ? FOUR : cols)),
                            .strips = ceil_div(c->n, cols)};
    if (by_points) return true;
    l->most_tiles = most_tiles(row, d->local);
    if (l->most_tiles) l->item_tiles = tiles_of_item(l, row->rows, d->units);
    return l->most_tiles > 0;
}

size_t gemm_cl_winograd_bytes(const gemm_cl_winograd *l)
{
    return (size_t)l->points * (size_t)l->strips * (size_t)l->cols * (size_t)l->c->c *
           sizeof(float);
}

/* Adds what all three kernels are compiled with: the tile, and P and Q in eighths, because a
   locale may print fractions with a comma. */
static void add_tile(const gemm_cl_winograd *l, gemm_text *options)
{
    gemm_text_add(options, " -DTILE=%d -DP_EIGHTHS=%d -DQ_EIGHTHS=%d", l->m,
                  (int)(8 * GEMM_WINOGRAD_P), (int)(8 * GEMM_WINOGRAD_Q));
}

static const char filter_kernel[] = "cl_winograd_filter", input_kernel[] = "cl_winograd_input",
                  output_kernel[] = "cl_winograd_output";

/* Of another kernel of the algorithm than the row's. On a CPU they are of one program. NULL: left
   out, for *why. */
static const gemm_cl_program *build_other(const gemm_cl_winograd *l, const gemm_cl_work *w,
                                          const char *name, const char **why)
{
    gemm_text options = {0};
    if (!l->by_points) return gemm_cl_build(name, w->program->options, why);
    gemm_text_add(&options, GEMM_CL_MATH " -DVECTOR=1 -DCOLS=%d", l->cols);
    add_tile(l, &options);
    const gemm_cl_program *p = gemm_cl_build(name, gemm_text_whole(&options), why);
    gemm_text_free(&options);
    return p;
}

const char *gemm_cl_winograd_build(const gemm_cl_winograd *l, gemm_cl_work *w)
{
    gemm_text more = {0};
    if (l->by_points) {
        gemm_text_add(&more, " -DSIZE=1 -DCONV%s -DALIGNED_B",
                      l->c->c % 4 ? "" : " -DALIGNED_A");
    } else {
        add_tile(l, &more);
        gemm_text_add(&more, " -DTILES=%d", l->most_tiles);
    }
    const char *why = gemm_cl_build_row(w, gemm_text_whole(&more));
    gemm_text_free(&more);
    if (!why && build_other(l, w, filter_kernel, &why) && build_other(l, w, input_kernel, &why) &&
        l->by_points)
        build_other(l, w, output_kernel, &why);
    return why;
}

/* Launches one of them. An item of a CPU is a group. 0 or -1. */
static int launch_other(const gemm_cl_winograd *l, gemm_cl_work *w, const char *name,
                        gemm_cl_stage stage, const gemm_cl_arguments *args, const size_t *global)
{
    static const size_t one_item[3] = {1, 1, 1};
    const char *why = NULL;
    const gemm_cl_program *p = build_other(l, w, name, &why);
    if (!p) {
        gemm_cl_say_left_out(why);
        return -1;
    }
    if (!l->by_points) return gemm_cl_launch(w, p, stage, args, global, one_item);
    return gemm_cl_launch_lines(w, p, stage, args, global[0], global[1], global[2]);
}

int gemm_cl_winograd_filters(const gemm_cl_winograd *l, gemm_cl_work *w, cl_mem weights,
                             size_t first, cl_mem U)
{
    const size_t global[3] = {(size_t)l->c->c, (size_t)l->strips, 1};
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_filter, .M = l->c->n, .channels = l->c->c, .strips = l->strips,
        .weights = weights, .a0 = first, .U = U);
    return launch_other(l, w, filter_kernel, STAGE_PREPARE, &args, global);
}

static int transform_input(const gemm_cl_winograd *l, gemm_cl_work *w, cl_mem V)
{
    const conv_call *c = l->c;
    const size_t global[3] = {(size_t)(l->ldv / l->cols), (size_t)c->c, (size_t)c->batch};
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_input, .channels = c->c, .h = c->h, .w = c->w, .pad = c->pad,
        .across = l->across, .tiles = l->tiles, .ldv = l->ldv, .image = w->B.mem,
        .i0 = w->B.offset, .V = V);
    return launch_other(l, w, input_kernel, STAGE_PREPARE, &args, global);
}

/* M of all points, images and filters, in w->sums. */
static int multiply_points(const gemm_cl_winograd *l, gemm_cl_work *w, cl_mem U, cl_mem V,
                           cl_mem norm)
{
    const conv_call *c = l->c;
    const gemm_cl_multiply_args values = {
        .M = c->n, .N = l->ldv, .K = c->c, .alpha = 1, .A = U, .ars = c->c, .acs = 1, .B = V,
        .brs = l->ldv, .bcs = 1, .C = w->sums, .ldc = l->ldv, .kpart = c->c,
        .cpart = floats_of_m(l), .products = c->batch * l->points, .groups = l->points, .h = 1,
        .w = l->ldv, .out_w = l->ldv, .size = 1, .stride = 1, .norm = norm, .slope = 1};
    const gemm_cl_arguments args = gemm_cl_conv_wide_arguments(&values);
    size_t local[3], global[3] = {(size_t)ceil_div(l->ldv, w->row->cols),
                                  (size_t)ceil_div(c->n, w->row->rows), (size_t)values.products};
    gemm_cl_set_groups(w, global, local);
    return gemm_cl_launch(w, w->program, STAGE_MULTIPLY, &args, global, local);
}

static int run_by_points(const gemm_cl_winograd *l, gemm_cl_work *w, cl_mem U, cl_mem V,
                         cl_mem norm, float slope)
{
    const conv_call *c = l->c;
    const int side = c->pool ? 2 : 1;
    const size_t global[3] = {(size_t)l->tiles, (size_t)c->n, (size_t)c->batch};
    if (gemm_cl_need_sums(w, floats_of_m(l), sizeof(float)) || multiply_points(l, w, U, V, norm))
        return -1;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd_output, .M = c->n, .ldv = l->ldv, .across = l->across, .tiles = l->tiles,
        .sums = w->sums, .C = w->C.mem, .c0 = w->C.offset, .h = c->out_h / side,
        .w = c->out_w / side, .norm = norm, .slope = slope, .pool = c->pool);
    return launch_other(l, w, output_kernel, STAGE_SUM, &args, global);
}

int gemm_cl_winograd_run(const gemm_cl_winograd *l, gemm_cl_work *w, cl_mem U, cl_mem norm,
                         float slope)
{
    const conv_call *c = l->c;
    cl_mem V = gemm_cl_scratch(SLOT_PACKED_B, floats_of_v(l) * sizeof(float));
    if (!V || transform_input(l, w, V)) return -1;
    if (l->by_points) return run_by_points(l, w, U, V, norm, slope);
    const int side = c->pool ? 2 : 1;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        winograd, .M = c->n, .channels = c->c, .U = U, .V = V, .ldv = l->ldv,
        .across = l->across, .tiles = l->tiles, .each = l->item_tiles, .strips = l->strips,
        .C = w->C.mem, .c0 = w->C.offset, .h = c->out_h / side, .w = c->out_w / side,
        .norm = norm, .slope = slope, .pool = c->pool);
    size_t local[3], global[3] = {(size_t)ceil_div(l->tiles, l->item_tiles), (size_t)l->strips,
                                  (size_t)c->batch};
    gemm_cl_set_groups(w, global, local);
    return gemm_cl_launch(w, w->program, STAGE_MULTIPLY, &args, global, local);
}
