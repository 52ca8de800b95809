/* SPDX-License-Identifier: MIT */
/*
 * Winograd's algorithm: a 3x3 convolution of stride 1 as n * n multiplies, n = m + 2.
 *
 *   U = G g GT     each filter and channel, once for a layer: kept in its plan
 *   V = BT d B     each channel and tile: n x n pixels d become n x n points
 *   M = VT U       at each point a gemm: tiles x channels times channels x filters
 *   Y = AT M A     each filter and tile: m x m outputs; then scale, shift, activation, maximum
 *
 * A tile of the direct way takes 9 m * m multiplications for each channel and filter, here n * n:
 * 36 to 16 for m = 2, 144 to 36 for m = 4.
 *
 * Filters are the columns of the gemm, because there are many of them and their number is round.
 * Tiles are its rows: of these any number fills the micro-kernel. The tiles of all images are
 * numbered as one, so that several images share a reading of U.
 *
 *   V [point][panel of mr tiles][channel][tile]
 *   U [block of filters][point][strip of filters][channel][filter]
 *   M [point][tile][filter]
 *
 * Points, and rows of M, begin an odd number of lines apart. Else they would share few sets of L1.
 *
 * Ways through a layer. They give the same bits, so the number of threads may decide:
 *   strips    a chunk is a strip of tiles. Its V and M stay in L2 and never exist whole
 *   phases    V, then M, then Y of one or more whole images, each cut into chunks. For small maps,
 *             whose tiles are too few for strips but whose U is large
 *   in cache  V, then for some filters at a time all that follows. Their U stays in L2 and is made
 *             again at each call. For a layer whose U would go by phases and is not whole: to write
 *             it to new memory takes as long as some passes. So the first call keeps nothing, and
 *             each of the next ones keeps some blocks of U
 *
 * Source: Lavin, Gray, "Fast algorithms for convolutional neural networks", 2015. Strips of tiles:
 * Maji et al., "Efficient Winograd or Cook-Toom convolution kernel implementation on widely used
 * mobile CPUs", 2019. The points of m = 4: docs/packed-ways.md.
 */
#include "packed/conv/way.h"
#include "packed/gemm/loops.h"
#include "packed/gemm/plan.h"
#include "packed/gemm/memory.h"
#include "packed/packed.h"
#include "util/caches.h"
#include "util/cpu.h"
#include "util/ints.h"
#include "util/large.h"
#include "util/threads.h"
#include "util/winograd.h"
#include "util/workspace.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- layouts ---- */

static int points_of(int m)
{
    return (m + 2) * (m + 2);
}

/* The filters in a strip of U. The last strip may have fewer, but whole vectors. */
static int strip_width(const conv_call *c, const gemm_ukernel *u)
{
    return even_step(c->n, u->nr, u->vl);
}

/* The filters in a block of U: equally many strips, of 16 MB at most. It depends on no setting, so
   all calls of a layer read the same U. */
static int block_of(const conv_call *c, const gemm_ukernel *u, int m)
{
    enum { MOST_BYTES = 16 * 1024 * 1024 };
    const int width = strip_width(c, u), strips = ceil_div(c->n, width);
    const size_t strip = points_of(m) * sizeof(float) * c->c * width;
    return even_step(strips, max_int(1, (int)(MOST_BYTES / strip)), 1) * width;
}

/* From point to point of `filters` filters. */
static size_t u_point(const conv_call *c, int filters)
{
    return round_up_odd((size_t)c->c * filters, LINE_FLOATS);
}

/* ---- U ---- */

typedef struct filter_job {
    const conv_call *c;
    const gemm_ukernel *u;
    int m, threads;
    float *U;
} filter_job;

/* How U is cut: filters in a block, and in a strip of it. */
typedef struct u_layout {
    int points, block, width;
} u_layout;

static u_layout u_layout_of(const conv_call *c, const gemm_ukernel *u, int m)
{
    return (u_layout){points_of(m), block_of(c, u, m), strip_width(c, u)};
}

/* Where U of a point has this filter, a multiple of vl. */
static size_t u_at(const conv_call *c, const u_layout *o, int point, int filter)
{
    const int i = filter % o->block, strip = i / o->width * o->width;
    return (size_t)(filter / o->block * o->points + point) * u_point(c, o->block) +
           (size_t)strip * c->c + i - strip;
}

/* Up to vl filters from `first` on. `point` and `step` are as in gemm_winograd_kernels. */
static void transform_filters(const filter_job *j, int first, float *U, size_t point, int step)
{
    const conv_call *c = j->c;
    const int filter = 9 * c->c;
    j->u->winograd.filters(j->m, c->weights + (size_t)first * filter, filter,
                           min_int(j->u->vl, c->n - first), c->c, U, point, step);
}

static void transform_chunk(void *arg, int chunk, void *scratch)
{
    (void)scratch;
    const filter_job *j = arg;
    const int first = chunk * j->u->vl;
    const u_layout o = u_layout_of(j->c, j->u, j->m);
    transform_filters(j, first, j->U + u_at(j->c, &o, 0, first), u_point(j->c, o.block), o.width);
}

static bool make_filters(void *U, const void *job)
{
    filter_job j = *(const filter_job *)job;
    j.U = U;
    return !gemm_parallel(j.threads, ceil_div(j.c->n, j.u->vl), transform_chunk, &j);
}

static packed_form form_of(const conv_call *c, const gemm_ukernel *u, int m)
{
    const u_layout o = u_layout_of(c, u, m);
    const size_t floats = ceil_div(c->n, o.block) * o.points * u_point(c, o.block);
    return (packed_form){u, m, floats * sizeof(float), make_filters};
}

/* ---- a layer ---- */

typedef struct layer {
    const conv_call *c;
    const gemm_ukernel *u;
    const float *U;
    float *kept;                /* U where it may be written, or NULL */
    int threads, m, points;
    int across, down, tiles;    /* in a row; rows of an image; in all images */
    int width;                  /* filters in a strip of U */
    int block, blocks;          /* filters in a block of U, and blocks */
    bool by_strips;             /* else by phases, or in cache */
    int strip, strips;          /* strips way: tiles in a strip, and strips */
    /* other ways */
    bool fits_cache;            /* the layer may go in cache */
    int ready, upto;            /* in cache: so many blocks of U are made; after this call */
    int together, first;        /* tiles of the images at once; the first one of the present ones */
    int v_piece, y_piece;       /* tiles in a chunk of V and of Y: a multiple of mr */
    float *V, *M;
    const layer_call *shortcut; /* NULL: none */
    packed_plan whole, last;    /* of a product with a block of U, and with the last one */
} layer;

/* Where V and M of a number of tiles lie, in floats. */
typedef struct layout {
    size_t v_panel, v_point, m_row, m_point;
    size_t v, floats;           /* of V, and of both */
} layout;

static layout layout_of(const layer *l, int tiles)
{
    layout o = {.v_panel = (size_t)l->c->c * l->u->panel_row,
                .m_row = round_up_odd(round_up(l->c->n, l->u->vl), LINE_FLOATS)};
    o.v_point = round_up_odd(ceil_div(tiles, l->u->mr) * o.v_panel, LINE_FLOATS);
    o.m_point = round_up_odd(tiles * o.m_row, LINE_FLOATS);
    o.v = l->points * o.v_point;
    o.floats = o.v + l->points * o.m_point;
    return o;
}

static gemm_tiles tiles_of(const layer *l, int first, int count)
{
    const conv_call *c = l->c;
    return (gemm_tiles){.m = l->m, .h = c->h, .w = c->w, .pad = c->pad,
                        .out_h = c->out_h, .out_w = c->out_w,
                        .across = l->across, .down = l->down,
                        .in_image = (size_t)c->c * c->h * c->w,
                        .out_image = c->n * gemm_conv_outputs(c),
                        .y = first / l->across, .x = first % l->across, .count = count};
}

static void transform_channel(const layer *l, const layout *o, const gemm_tiles *t, int channel,
                              float *V, float *scratch)
{
    const conv_call *c = l->c;
    l->u->winograd.input(t, c->input + (size_t)channel * c->h * c->w,
                         V + channel * l->u->panel_row, o->v_point, o->v_panel, scratch);
}

static const float *strips_of(const layer *l, int point, int first)
{
    const u_layout o = {l->points, l->block, l->width};
    return l->U + u_at(l->c, &o, point, first);
}

/* M = VT U at a point, for `count` filters whose U is strips of `width`. Without its A and C. */
static packed_job product_of(const layer *l, const layout *o, int tiles, int count,
                             const float *strips, int width)
{
    return (packed_job){
        .M = tiles, .N = round_up(count, l->u->vl), .K = l->c->c,
        .a_row = 1,
        .a_step = l->u->panel_row,
        .a_panel = o->v_panel,
        .B = {.strips = strips, .ld = width},
        .ldc = o->m_row,
        .epilogue = {.alpha = 1, .overwrite = true},
    };
}

/* The same for the block of U from filter `first` on. */
static packed_job block_product(const layer *l, const layout *o, int tiles, int point, int first)
{
    return product_of(l, o, tiles, min_int(l->block, l->c->n - first), strips_of(l, point, first),
                      l->width);
}

static void multiply(const layout *o, int point, packed_job product,
                     const packed_plan *plan, const float *V, float *M, void *scratch)
{
    product.A = V + point * o->v_point;
    product.C = M + point * o->m_point;
    packed_run_here(&product, plan, scratch);
}

/* Adds the shortcut to the outputs of these tiles, for some filters from float `at` on. The first
   and the last row of tiles may be a part of one. */
static void add_shortcut(const layer *l, const gemm_tiles *t, int filters, size_t at)
{
    const conv_call *c = l->c;
    int row = t->y, x = t->x;
    for (int left = t->count, count; left; left -= count, ++row, x = 0) {
        count = min_int(left, l->across - x);
        const int y = row % l->down * l->m, rows = min_int(l->m, c->out_h - y);
        const int cols = min_int(count * l->m, c->out_w - x * l->m);
        const size_t image = row / l->down * t->out_image;
        const size_t first = at + image + (size_t)y * c->out_w + x * l->m;
        for (int f = 0; f < filters; ++f)
            packed_add_shortcut(l->u, l->shortcut, first + f * gemm_conv_places(c), rows, cols,
                                c->out_w);
    }
}

/* The outputs of up to vl filters from `filter` on. */
static void write_filters(const layer *l, const layout *o, const gemm_tiles *t, int filter,
                          const float *M)
{
    const conv_call *c = l->c;
    const gemm_finish finish = {
        .filters = min_int(l->u->vl, c->n - filter),
        .scale = c->scale ? c->scale + filter : NULL,
        .shift = c->shift + filter,
        .slope = gemm_slope(c->activation),
        .pool = c->pool,
    };
    const size_t at = filter * gemm_conv_outputs(c);
    l->u->winograd.output(t, M + filter, o->m_point, o->m_row, &finish, c->output + at);
    if (l->shortcut) add_shortcut(l, t, finish.filters, at);
}

/* ---- by strips ---- */

/* A thread's scratch: the part of packed_run_here and winograd.input, then V, then M. */
enum { V_AT = PACKED_SCRATCH_BYTES / sizeof(float) };

/* V, a few tiles at a time. Two channels share a line of V, which then is still in L1. */
static void transform_strip(const layer *l, const layout *o, int first, int count, float *V,
                            float *scratch)
{
    enum { FEW_TILES = 48 };
    const int mr = l->u->mr, step = FEW_TILES / mr * mr;
    for (int i = 0; i < count; i += step) {
        const gemm_tiles t = tiles_of(l, first + i, min_int(step, count - i));
        float *const to = V + i / mr * o->v_panel;
        for (int k = 0; k < l->c->c; ++k) transform_channel(l, o, &t, k, to, scratch);
    }
}

/* M of the filters of a block, from `first` on. */
static void multiply_block(const layer *l, const layout *o, int tiles, int first, const float *V,
                           float *M, void *scratch)
{
    packed_job product = block_product(l, o, tiles, 0, first);
    packed_plan plan = first + l->block < l->c->n ? l->whole : l->last;
    if (tiles < l->strip) plan = packed_make_part(&product, &plan);
    for (int p = 0; p < l->points; ++p) {
        const bool ends = p + 1 == l->points;
        const int next = !ends ? first : first + l->block < l->c->n ? first + l->block : 0;
        product.B.strips = strips_of(l, p, first);
        product.B.after = strips_of(l, ends ? 0 : p + 1, next);
        multiply(o, p, product, &plan, V, M + first, scratch);
    }
}

static void compute_strip(void *arg, int chunk, void *scratch)
{
    const layer *l = arg;
    const conv_call *c = l->c;
    const int first = chunk * l->strip;
    const gemm_tiles t = tiles_of(l, first, min_int(l->strip, l->tiles - first));
    const layout o = layout_of(l, t.count);
    float *const V = (float *)scratch + V_AT, *const M = V + o.v;
    transform_strip(l, &o, first, t.count, V, scratch);
    for (int f = 0; f < c->n; f += l->block) multiply_block(l, &o, t.count, f, V, M, scratch);
    for (int f = 0; f < c->n; f += l->u->vl) write_filters(l, &o, &t, f, M);
}

/* ---- by phases ---- */

/* A chunk is a few channels, whose rows of V are neighbours. */
enum { CHANNELS = 8 };

static gemm_tiles piece_of(const layer *l, int piece, int tiles)
{
    return tiles_of(l, l->first + piece * tiles, min_int(tiles, l->together - piece * tiles));
}

static void compute_v(void *arg, int chunk, void *scratch)
{
    const layer *l = arg;
    const int groups = ceil_div(l->c->c, CHANNELS), piece = chunk / groups;
    const int first = chunk % groups * CHANNELS, end = min_int(first + CHANNELS, l->c->c);
    const gemm_tiles t = piece_of(l, piece, l->v_piece);
    const layout o = layout_of(l, l->together);
    float *V = l->V + piece * l->v_piece / l->u->mr * o.v_panel;
    for (int k = first; k < end; ++k) transform_channel(l, &o, &t, k, V, scratch);
}

/* The threads take chunks in turns, so the next one of this thread is probably `threads` on. */
static void compute_m(void *arg, int chunk, void *scratch)
{
    const layer *l = arg;
    const int point = chunk % l->points, first = chunk / l->points * l->block;
    const int next = chunk + l->threads;
    const layout o = layout_of(l, l->together);
    packed_job product = block_product(l, &o, l->together, point, first);
    if (next < l->points * l->blocks)
        product.B.after = strips_of(l, next % l->points, next / l->points * l->block);
    multiply(&o, point, product, first + l->block < l->c->n ? &l->whole : &l->last, l->V,
             l->M + first, scratch);
}

static void compute_y(void *arg, int chunk, void *scratch)
{
    (void)scratch;
    const layer *l = arg;
    const int groups = ceil_div(l->c->n, l->u->vl), piece = chunk / groups;
    const gemm_tiles t = piece_of(l, piece, l->y_piece);
    const layout o = layout_of(l, l->together);
    const float *M = l->M + piece * l->y_piece * o.m_row;
    write_filters(l, &o, &t, chunk % groups * l->u->vl, M);
}

/* ---- in cache ---- */

/* The filters of a chunk, which are a strip of U or divide it. One vector is enough where a tile of
   it has accumulators for the latency of the FMA. */
static int group_of(const layer *l)
{
    enum { ACCUMULATORS = 8 };
    return l->u->mr < ACCUMULATORS ? l->width : l->u->vl;
}

static layout group_layout(const layer *l)
{
    layout o = layout_of(l, l->together);
    o.m_row = group_of(l);
    o.m_point = round_up_odd(l->together * o.m_row, LINE_FLOATS);
    return o;
}

/* U of the filters of a chunk: in its place, or in scratch. */
typedef struct group_u {
    float *at;
    size_t point;
    int step;
} group_u;

static group_u get_group(const layer *l, int first, int count, float *scratch)
{
    const filter_job job = {.c = l->c, .u = l->u, .m = l->m};
    const int block = first / l->block, group = group_of(l);
    const u_layout o = {l->points, l->block, l->width};
    group_u u = {scratch, u_point(l->c, group), group};
    if (block < l->upto)
        u = (group_u){l->kept + u_at(l->c, &o, 0, first), u_point(l->c, l->block), l->width};
    if (block < l->ready) return u;
    for (int f = 0; f < count; f += l->u->vl)
        transform_filters(&job, first + f, u.at + f, u.point, u.step);
    return u;
}

/* What is fetched while point p is multiplied: U of the next one, and at the end a piece of the
   weights of this thread's next chunk. */
static const float *fetched(const layer *l, const group_u *u, int first, int p)
{
    const int filter = 9 * l->c->c, pieces = ceil_div(9 * group_of(l), u->step);
    const int next = first + l->threads * group_of(l), piece = p - (l->points - pieces);
    if (piece < 0 || next >= l->c->n) return u->at + (p + 1) % l->points * u->point;
    return l->c->weights + (size_t)next * filter + (size_t)piece * l->c->c * u->step;
}

/* M and Y of some filters. Scratch: the part of packed_run_here, M, U. */
static void compute_group(void *arg, int chunk, void *scratch)
{
    const layer *l = arg;
    const int group = group_of(l), first = chunk * group, count = min_int(group, l->c->n - first);
    const layout o = group_layout(l);
    const gemm_tiles t = tiles_of(l, l->first, l->together);
    float *const M = (float *)scratch + V_AT;
    const group_u u = get_group(l, first, count, M + l->points * o.m_point);
    packed_job product = product_of(l, &o, l->together, count, u.at, u.step);
    const packed_plan plan = packed_make_plan(&product, l->u, 1);
    for (int p = 0; p < l->points; ++p) {
        product.B.strips = u.at + p * u.point;
        product.B.after = fetched(l, &u, first, p);
        multiply(&o, p, product, &plan, l->V, M, scratch);
    }
    for (int f = 0; f < count; f += l->u->vl) write_filters(l, &o, &t, first + f, M - first);
}

/* ---- by phases, and in cache ---- */

/* Of V and M of an image, and of several ones. */
enum { MOST_FLOATS = 8 * 1024 * 1024 / sizeof(float), MOST_SHARED = 4 * MOST_FLOATS };

static int run_phases(layer *l)
{
    const conv_call *c = l->c;
    const bool in_cache = l->ready < l->blocks;
    const layout o = layout_of(l, l->together);
    const int groups = ceil_div(c->n, group_of(l));
    const int v_chunks = ceil_div(c->c, CHANNELS) * ceil_div(l->together, l->v_piece);
    const int y_chunks = ceil_div(c->n, l->u->vl) * ceil_div(l->together, l->y_piece);
    /* one block for all layers, so that it is touched once, and in huge pages */
    gemm_workspace *w = gemm_take_workspace(o.floats > MOST_FLOATS ? o.floats : MOST_FLOATS);
    if (!w) return -1;
    if (gemm_get_jobs() == GEMM_JOBS_SKIP) gemm_touch(w->data, o.floats * sizeof(float));
    l->V = w->data;
    l->M = l->V + o.v;
    int status = 0;
    for (l->first = 0; l->first < l->tiles && !status; l->first += l->together) {
        status = gemm_parallel(l->threads, v_chunks, compute_v, l);
        if (!status && in_cache) status = gemm_parallel(l->threads, groups, compute_group, l);
        if (status || in_cache) continue;
        status = gemm_parallel(l->threads, l->points * l->blocks, compute_m, l);
        if (!status) status = gemm_parallel(l->threads, y_chunks, compute_y, l);
    }
    gemm_give_workspace(w);
    return status;
}

/* ---- the sizes of strips and blocks ---- */

/* winograd.input needs 96 floats of scratch for a tile, and 4096. */
enum { MOST_TILES = (V_AT - 4096) / 96 };

enum { ROOM = (GEMM_SCRATCH_BYTES - PACKED_SCRATCH_BYTES) / sizeof(float),
       FEW_PANELS = 4 };                /* in the smallest strip */

/* Strips of whole rows of the micro-kernel. Their V and M fill most of L2 at most, and there are
   two for each thread, if they are not small then. Returns false if not even a small strip fits the
   scratch. */
static bool cut_strips(layer *l)
{
    const int mr = l->u->mr, least = FEW_PANELS * mr, threads = l->threads;
    const size_t tile = (size_t)l->points * (l->c->c + l->c->n) * sizeof(float);
    const int in_l2 = (int)(gemm_find_caches()->l2 / 4 * 3 / tile);
    const int shared = threads == 1 ? l->tiles : ceil_div(l->tiles, 2 * threads);
    int most = min_int(MOST_TILES, min_int(in_l2, shared));
    do {        /* where L2 has room for more than the scratch, phases beat smaller strips */
        l->strip = even_step(l->tiles, max_int(least, most / mr * mr), mr);
        l->strips = ceil_div(l->tiles, l->strip);
        most /= 2;
    } while (l->u->reproducible && layout_of(l, l->strip).floats > ROOM && most >= least);
    return layout_of(l, l->strip).floats <= ROOM;
}

/* The tiles in a chunk. Tiles are cut only if there are fewer groups of channels, or of filters,
   than threads. */
static int piece_for(const layer *l, int groups)
{
    return (int)round_up(ceil_div(l->together, ceil_div(l->threads, groups)), l->u->mr);
}

/*
 * The images whose tiles are multiplied together, equally many each time. They share a reading of
 * U. The more there are, the farther away their V and M are kept: so these are no longer than U.
 */
static int images_together(const layer *l)
{
    const int batch = l->c->batch, tiles = l->across * l->down;
    const size_t u = l->points * u_point(l->c, l->c->n), most = u < MOST_SHARED ? u : MOST_SHARED;
    int images = 1;
    for (int n = 2; n <= batch && n * tiles <= MOST_TILES; ++n) {
        if (batch % n == 0 && layout_of(l, n * tiles).floats <= most) images = n;
    }
    return images;
}

static bool cut_phases(layer *l)
{
    const int tiles = l->across * l->down;
    l->together = images_together(l) * tiles;
    l->v_piece = piece_for(l, ceil_div(l->c->c, CHANNELS));
    l->y_piece = piece_for(l, ceil_div(l->c->n, l->u->vl));
    l->fits_cache = l->points * (group_layout(l).m_point + u_point(l->c, group_of(l))) <= ROOM;
    return tiles <= MOST_TILES && layout_of(l, tiles).floats <= MOST_FLOATS;
}

static layer make_layer(const conv_call *c, int m, const gemm_context *context)
{
    const gemm_ukernel *u = context->isa;
    layer l = {.c = c, .u = u, .threads = context->threads, .m = m, .points = points_of(m),
               .width = strip_width(c, u), .block = block_of(c, u, m),
               .U = c->weights};        /* a plan reads no address */
    l.blocks = ceil_div(c->n, l.block);
    l.across = ceil_div(c->out_w, m);
    l.down = ceil_div(c->out_h, m);
    l.tiles = l.across * l.down * c->batch;
    return l;
}

/* Strips keep V and M in L2, and the chunks need no barrier. But each strip reads all of U again.
   Each thread needs one, or two at least. Phases share the work of few tiles, and write and read V
   and M once, a part of them from the L2 of other cores. U comes from memory, and V and M mostly do
   not: to write and read them takes as long as to read as much of U. */
static bool prefers_strips(const layer *l)
{
    const int threads = l->threads, chunks = l->strips;
    if (chunks == 1 || (chunks < 2 * threads && chunks != threads)) return false;
    const double again = (double)(l->strips - 1) * l->points * u_point(l->c, l->c->n);
    return again <= layout_of(l, l->tiles).floats;
}

static packed_plan plan_product(const layer *l, int tiles, int first)
{
    const layout o = layout_of(l, tiles);
    const packed_job product = block_product(l, &o, tiles, 0, first);
    return packed_make_plan(&product, l->u, 1);
}

/*
 * Whether strips or phases have room with the micro-kernels of every instruction set: panels of up
 * to MOST_MR tiles, vectors of up to MOST_VL filters, and a third more of V than it has tiles.
 */
static bool has_room_everywhere(const conv_call *c, int m)
{
    enum { MOST_MR = 8, MOST_VL = 16, STRIP = FEW_PANELS * MOST_MR };
    const int tiles = ceil_div(c->out_w, m) * ceil_div(c->out_h, m), points = points_of(m);
    const int counts[] = {min_int((int)round_up(tiles, MOST_MR), STRIP), tiles};
    const double most[] = {ROOM, MOST_FLOATS};
    for (int i = 0; i < 2; ++i) {
        const double v = (round_up(counts[i], MOST_MR) + MOST_MR) * (double)c->c * 4 / 3;
        const double m_row = round_up(c->n, MOST_VL) + 2 * LINE_FLOATS;
        const double all = points * (v + counts[i] * m_row + 4 * LINE_FLOATS);
        if (all <= most[i] && (i == 0 || tiles <= MOST_TILES)) return true;
    }
    return false;
}

/* False: neither strips nor phases have room. */
static bool plan_layer(layer *l)
{
    const bool has_strips = cut_strips(l), has_phases = cut_phases(l);
    if (!has_strips && !has_phases) return false;
    l->by_strips = has_strips && (!has_phases || prefers_strips(l));
    const int tiles = l->by_strips ? l->strip : l->together;
    l->whole = plan_product(l, tiles, 0);
    l->last = plan_product(l, tiles, (l->blocks - 1) * l->block);
    return true;
}

/* Sets l->U, of which l->ready blocks are made. NULL: all is made in cache. *made is NULL, or
   counts the blocks. The caller frees *own. Returns false without memory. */
static bool find_filters(layer *l, const gemm_context *x, void **own, int **made)
{
    enum { CALLS = 6 };         /* so that none of them takes half as long again as later ones */
    const filter_job job = {l->c, l->u, l->m, l->threads, NULL};
    const packed_form form = form_of(l->c, l->u, l->m);
    const bool keeps = x->kept && form.bytes < x->kept->room;
    const bool at_once = (x->at_once && keeps) || l->by_strips || !l->fits_cache;
    *own = *made = NULL;
    if (at_once) l->kept = packed_keep(x->kept, &form, &job, own);
    else l->kept = x->first || !keeps ? NULL : packed_keep_parts(x->kept, &form, made);
    l->U = l->kept;
    l->ready = at_once ? l->blocks : *made ? min_int(l->blocks, **made) : 0;
    l->upto = *made ? min_int(l->blocks, l->ready + ceil_div(l->blocks, CALLS)) : l->ready;
    return l->U || !at_once;
}

static int run_winograd(const conv_call *c, const layer_call *shortcut,
                        const packed_choice *choice, const gemm_context *context)
{
    layer l;
    packed_get(choice, &l, sizeof l);
    void *own;
    int *made;
    l.c = c;
    l.shortcut = shortcut;
    if (!find_filters(&l, context, &own, &made)) return -1;
    const int status = l.by_strips
                           ? gemm_parallel(l.threads, l.strips, compute_strip, &l)
                           : run_phases(&l);
    free(own);
    if (status) return status;
    if (made) *made = l.upto < l.blocks ? l.upto : PACKED_WHOLE;
    context->note->transform = gemm_winograd_transform(l.m);
    return 0;
}

/* ---- the ways ---- */

/* It was measured (docs/log/convolution.md). */
static const gemm_winograd_cost cost = {.element = {22, 30}, .bytes = 2.5, .fetched = true,
                                        .prepare = 2};

/* GEMM_REPRODUCIBLE lets the shape of an image alone decide. */
static gemm_winograd_layer shape_of(const conv_call *c, const gemm_context *context)
{
    enum { USUAL_VECTOR = 8 };
    const gemm_ukernel *u = context->isa;
    gemm_winograd_layer shape = {.channels = c->c, .filters = c->n, .out_h = c->out_h,
                                 .out_w = c->out_w, .vector = USUAL_VECTOR, .together = {1, 1}};
    if (u->reproducible) return shape;
    const layer two = make_layer(c, 2, context), four = make_layer(c, 4, context);
    shape.together[0] = images_together(&two);
    shape.together[1] = images_together(&four);
    shape.vector = min_int(u->vl, gemm_unit_floats());
    shape.images = context->first ? c->batch : 0;
    return shape;
}

double packed_winograd_ratio(const conv_call *c, const gemm_context *context, int m)
{
    const gemm_winograd_layer shape = shape_of(c, context);
    return gemm_winograd_ratio(&shape, &cost, m);
}

static const char *plan_winograd(const conv_call *c, const gemm_context *context,
                                 packed_choice *choice, int m)
{
    const gemm_winograd_layer shape = shape_of(c, context);
    if (!gemm_conv_can_transform(c))
        return "not 3x3 of stride 1 and one group";
    if (!choice->asked && context->direct) return "GEMM_CONV=direct";
    if (!choice->asked && context->timed)
        snprintf(choice->weighed, sizeof choice->weighed, "%.2f times as long as implicit%s",
                 gemm_winograd_ratio(&shape, &cost, m), shape.images ? " in one pass" : "");
    if (!choice->asked && gemm_winograd_fastest(&shape, &cost) != m)
        return *choice->weighed ? choice->weighed : "slower";
    if (context->isa->reproducible && !has_room_everywhere(c, m)) return "no room elsewhere";
    layer l = make_layer(c, m, context);
    if (!plan_layer(&l) || (context->first && !l.by_strips && !l.fits_cache))
        return "no room in scratch";
    packed_put(choice, &l, sizeof l);
    return NULL;
}

static const char *plan_4(const conv_call *c, const gemm_context *context, packed_choice *choice)
{
    return plan_winograd(c, context, choice, 4);
}

static const char *plan_2(const conv_call *c, const gemm_context *context, packed_choice *choice)
{
    return plan_winograd(c, context, choice, 2);
}

const packed_way packed_way_winograd4 = {"winograd4", false, true, plan_4, run_winograd};
const packed_way packed_way_winograd2 = {"winograd2", false, true, plan_2, run_winograd};
