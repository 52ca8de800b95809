/* SPDX-License-Identifier: MIT */
/*
 * The work of a chain: 1x1 (expand), depthwise, 1x1 (project). The first may be missing, and a
 * shortcut may follow.
 *
 *     input -> expand -> | wide rows | -> depthwise -> | deep rows | -> project -> output
 *
 * A thread takes a piece of the output, some rows, and goes through it band by band. The rows of
 * the two inner maps that a band needs lie in the thread's scratch. There they are used again while
 * they are near, and no inner map is ever written whole. The depthwise filter of the next band
 * needs a few wide rows of this one, which move to the front. Only the first band of a piece
 * computes all of its wide rows.
 *
 * The inner maps are in nchwc (ukernel_nchwc.h): a vector holds vl channels of one place.
 *
 *     wide, group of channels g:      columns of vl floats
 *         | 0 | row y0 * stride - pad of the map | 0 |       zeroes where a tap is outside of the
 *         | 0 | the next row                     | 0 |       map, so the filter sees no edge
 *
 * So the depthwise layer needs no copy with zeroes around it. No vector crosses a cache line, and
 * the rows of small maps fill whole vectors. The two products read scalars of their input and
 * vectors of weights. The weights are arranged for that once, in the layers' plans.
 *
 * Where pieces would have few rows, threads share channels too: see phases, and chain_cut.h.
 *
 * Each product may be one of whole numbers of 8 bits (isa/quads.h). Before the first one the input
 * is rounded to quads, once for all threads. Before the second one a thread rounds its deep rows.
 * Wide and deep rows are floats as before.
 */
#include "packed/chain/chain_work.h"

#include "packed/conv/nchwc.h"
#include "packed/gemm/plan.h"
#include "packed/packed.h"
#include "util/caches.h"
#include "util/ints.h"
#include "util/threads.h"
#include "util/workspace.h"

#include <stdlib.h>
#include <string.h>

typedef packed_chain_job chain;

enum { GROUP = GEMM_DEPTHWISE_ROWS };

/* ---- bands ---- */

/* Floats of a group. Groups are not whole halves of pages apart, because their lines would compete
   for one set of L1. */
static size_t apart(size_t floats)
{
    return floats % (PAGE / 2) ? round_up(floats, LINE_FLOATS) : floats + LINE_FLOATS;
}

static void set_rows(chain *l, int rows)
{
    const conv_call *d = l->depth;
    const int vl = l->u->vl;
    l->rows = rows;
    l->groups = ceil_div(d->c, vl);
    l->out_groups = ceil_div(l->project->n, vl);
    l->wide_rows = (rows - 1) * d->stride + d->size;
    l->pitch = max_int(d->pad + d->w, (d->out_w - 1) * d->stride + d->size) * vl;
    l->wide_ld = apart((size_t)l->wide_rows * (size_t)l->pitch);
    l->deep_ld = l->narrow_ld = apart((size_t)rows * (size_t)d->out_w * (size_t)vl);
    l->quads_ld = l->project_q ? (size_t)rows * (size_t)d->out_w : 0;
}

/* The most places of a product. */
static size_t most_places(const chain *l)
{
    return (size_t)max_int(l->wide_rows * l->depth->w,
                           max_int(l->rows * l->depth->out_w, l->cut.step));
}

/* Floats of deep in a thread's scratch. In phases the threads share the deep map. */
static size_t deep_floats(const chain *l)
{
    return l->cut.by_phases ? 0 : l->deep_ld * l->groups;
}

/* The quads of K of a 1x1 layer in 8 bits: planes of its input. */
static int planes_of(const conv_call *c)
{
    return ceil_div(c->c, 4);
}

/* Quads of deep in a thread's scratch. The last vector has channels behind the last one too. */
static size_t deep_quads(const chain *l)
{
    const size_t planes = round_up((size_t)planes_of(l->project), (size_t)l->u->vl / 4);
    return l->quads_ld ? l->quads_ld * planes + GEMM_QUADS_SLACK : 0;
}

static size_t scratch_bytes(const chain *l)
{
    const size_t inner = l->wide_ld * l->groups + deep_floats(l);
    return (inner + l->narrow_ld * l->out_groups) * sizeof(float) +
           deep_quads(l) * sizeof(gemm_quad) + 2 * most_places(l) * sizeof(int);
}

/* As many groups of rows as fit in half of L2, in bands of equal height. */
static void choose_rows(chain *l, int most)
{
    const size_t room = gemm_find_caches()->l2 / 2;
    const int least = min_int(GROUP, most);
    int rows = least;
    for (set_rows(l, rows); rows < most; rows += GROUP) {
        set_rows(l, min_int(rows + GROUP, most));
        if (scratch_bytes(l) > room) break;
    }
    set_rows(l, rows < most ? even_step(most, rows, least) : most);
}

/* In phases a thread's scratch has a strip of wide for all rows of a piece, or a strip of the
   output. */
static void set_strip(chain *l, int rows)
{
    set_rows(l, rows);
    l->groups = l->out_groups = l->u->nr / l->u->vl;
    l->deep_ld = apart((size_t)gemm_conv_places(l->depth) * l->u->vl);
    l->narrow_ld = apart((size_t)l->cut.step * l->u->vl);
    if (l->quads_ld) l->quads_ld = (size_t)l->cut.step;
}

/* The first row of a piece. */
static int start_of(const chain *l, int piece)
{
    return (int)((long)l->depth->out_h * piece / l->cut.pieces);
}

bool packed_chain_set_sizes(chain *l)
{
    const int most = ceil_div(l->depth->out_h, l->cut.pieces);
    if (l->cut.by_phases) set_strip(l, most);
    else if (l->cut.rows) set_rows(l, min_int(l->cut.rows, most));
    else choose_rows(l, most);
    return scratch_bytes(l) <= GEMM_SCRATCH_BYTES;
}

/* ---- one band ---- */

/* A thread's scratch. */
typedef struct parts {
    float *wide, *deep, *narrow;        /* narrow: the output in nchwc */
    gemm_quad *quads;                   /* deep in 8 bits */
    int *at_wide, *at_deep;             /* where a place of a product goes: gemm_nchwc */
} parts;

static parts cut_scratch(const chain *l, void *scratch)
{
    const int w = l->depth->w, vl = l->u->vl, gap = l->pitch - w * vl;
    const int places = (int)most_places(l);
    parts s = {.wide = scratch};
    s.deep = s.wide + l->wide_ld * l->groups;
    s.narrow = s.deep + deep_floats(l);
    s.quads = (gemm_quad *)(s.narrow + l->narrow_ld * l->out_groups);
    s.at_wide = (int *)(s.quads + deep_quads(l));
    s.at_deep = s.at_wide + places;
    for (int i = 0, x = 0, at = 0; i < places; ++i) {
        s.at_deep[i] = i * vl;
        s.at_wide[i] = at;
        at += vl;
        if (++x == w) x = 0, at += gap;
    }
    return s;
}

/* Zeroes on the left and on the right of all wide rows. Nothing else is ever written there. */
static void clear_sides(const chain *l, const parts *s)
{
    const size_t left = (size_t)l->depth->pad * l->u->vl, used = (size_t)l->depth->w * l->u->vl;
    for (int g = 0; g < l->groups; ++g) {
        float *row = s->wide + g * l->wide_ld;
        for (int y = 0; y < l->wide_rows; ++y, row += l->pitch) {
            memset(row, 0, left * sizeof *row);
            memset(row + left + used, 0, (l->pitch - left - used) * sizeof *row);
        }
    }
}

/* Zeroes in wide rows from .. to - 1. */
static void clear_rows(const chain *l, const parts *s, int from, int to)
{
    for (int g = 0; g < l->groups && from < to; ++g) {
        float *const row = s->wide + g * l->wide_ld + (size_t)from * l->pitch;
        memset(row, 0, (size_t)(to - from) * l->pitch * sizeof *row);
    }
}

static void multiply_quads(const chain *l, const conv_call *c, const packed_chain_product *q,
                           int channels, int places, const gemm_quad *a, size_t a_ld, float *to,
                           size_t ld, const int *at)
{
    const gemm_quads_nchwc product = {
        .places = places, .channels = channels, .quads = planes_of(c), .a = a, .a_ld = a_ld,
        .b = q->b, .start = q->start, .scale = q->scale, .shift = q->shift,
        .slope = gemm_slope(c->activation), .c = to, .group = l->u->vl, .c_ld = ld, .at = at,
    };
    l->quads->kernels->nchwc(&product);
}

/* The product from channel `first` on. */
static packed_chain_product from_channel(const packed_chain_product *q, const conv_call *c,
                                         int first)
{
    return (packed_chain_product){q->b + (size_t)first * planes_of(c), q->start + first,
                                  q->scale + first, q->shift + first};
}

/* Channels of an image as they lie in memory. */
static int room_of(const chain *l, gemm_lanes side, int channels)
{
    return l->lanes & side ? (int)gemm_lanes_floats(channels, 1) : channels;
}

/* Without an expanding layer, the same from an input in nchwc. */
static void copy_rows(const chain *l, const float *from, int rows, float *to)
{
    const size_t row = (size_t)l->depth->w * l->u->vl, group = row * l->depth->h;
    for (int g = 0; g < l->groups; ++g, from += group, to += l->wide_ld)
        for (int i = 0; i < rows; ++i)
            memcpy(to + i * l->pitch, from + i * row, row * sizeof *to);
}

/* Rows y .. y + rows - 1 of the map go to wide row `at` and on. */
static void bring_rows(const chain *l, const parts *s, int image, int y, int rows, int at)
{
    const conv_call *e = l->expand, *d = l->depth, *first = e ? e : d;
    const bool lanes = l->lanes & GEMM_LANES_IN;
    const size_t area = (size_t)d->h * d->w, row = (size_t)y * d->w, unit = lanes ? l->u->vl : 1;
    const float *const from = first->input + image * area * room_of(l, GEMM_LANES_IN, first->c) +
                              row * unit;
    float *const to = s->wide + (size_t)at * l->pitch + (size_t)d->pad * l->u->vl;
    if (l->expand_q) {
        const gemm_quad *a = l->quads->a + (size_t)image * planes_of(e) * area + row;
        multiply_quads(l, e, l->expand_q, e->n, rows * e->w, a, area, to, l->wide_ld,
                       s->at_wide);
        return;
    }
    if (e) {
        const gemm_nchwc product = {
            .places = rows * e->w, .channels = e->n, .K = e->c,
            .source = lanes ? GEMM_NCHWC : GEMM_ROWS, .a = from, .a_ld = area * unit,
            .b = l->expand_w, .scale = e->scale, .shift = e->shift,
            .slope = gemm_slope(e->activation),
            .c = to, .c_ld = l->wide_ld, .at = s->at_wide,
        };
        l->u->nchwc.product(&product);
        return;
    }
    if (lanes) {
        copy_rows(l, from, rows, to);
        return;
    }
    for (int i = 0; i < rows; ++i) {
        l->u->reorder.to_nchwc(d->w, d->c, from + i * d->w, area, to + i * l->pitch, l->wide_ld);
    }
}

/* Wide row 0 becomes row `first` of the map; the first `kept` rows are there. */
static void fill_wide(const chain *l, const parts *s, int image, int first, int rows, int kept)
{
    const int from = max_int(first + kept, 0), to = min_int(first + rows, l->depth->h);
    clear_rows(l, s, kept, min_int(rows, from - first));
    clear_rows(l, s, max_int(kept, to - first), rows);
    if (from < to) bring_rows(l, s, image, from, to - from, from - first);
}

static void keep_rows(const chain *l, const parts *s, int from, int rows)
{
    for (int g = 0; g < l->groups && rows > 0; ++g) {
        float *const group = s->wide + g * l->wide_ld;
        memmove(group, group + (size_t)from * l->pitch, (size_t)rows * l->pitch * sizeof *group);
    }
}

/* All wide rows to `rows` deep rows. */
static void filter_rows(const chain *l, const parts *s, int rows)
{
    const conv_call *d = l->depth;
    const int vl = l->u->vl;
    gemm_nchwc_depthwise g = {
        .size = d->size, .stride = d->stride, .rows = rows, .out_w = d->out_w, .pitch = l->pitch,
        .slope = gemm_slope(d->activation),
    };
    for (int i = 0; i < l->groups; ++i) {
        g.channels = min_int(vl, d->c - i * vl);
        g.src = s->wide + i * l->wide_ld;
        g.weights = l->depth_w + (size_t)i * d->size * d->size * vl;
        g.scale = d->scale ? d->scale + i * vl : NULL;
        g.shift = d->shift + i * vl;
        g.y = s->deep + i * l->deep_ld;
        l->u->nchwc.depthwise(&g);
    }
}

/* In nchwc: output y of these channels and places, at float `at` of the chain's own input. */
static void add_input(const chain *l, int channels, int places, size_t at, float *y, size_t y_ld)
{
    const layer_call *s = l->shortcut;
    const float *from = s->input[1].data + at;
    const size_t group = (size_t)l->project->h * l->project->w * l->u->vl;
    for (int c = 0; c < channels; c += l->u->vl, y += y_ld, from += group)
        l->u->layers.add_scaled(places * l->u->vl, s->alpha, y, s->beta, from,
                                gemm_slope(s->activation), y);
}

static void project_floats(const chain *l, const parts *s, int first, int channels, int places,
                           float *to, size_t ld)
{
    const conv_call *p = l->project;
    const gemm_nchwc product = {
        .places = places, .channels = channels, .K = p->c,
        .source = GEMM_NCHWC, .a = s->deep, .a_ld = l->deep_ld,
        .b = l->project_w + (size_t)first * p->c,
        .scale = p->scale ? p->scale + first : NULL, .shift = p->shift + first,
        .slope = gemm_slope(p->activation),
        .c = to, .c_ld = ld, .at = s->at_deep,
    };
    l->u->nchwc.product(&product);
}

static void project_quads(const chain *l, const parts *s, int first, int channels, int places)
{
    const packed_chain_quads *q = l->quads;
    const int planes = planes_of(l->project), vl = l->u->vl;
    for (int p = 0; p < planes; p += vl / 4)
        q->kernels->quantize_nchwc(places, vl, s->deep + (size_t)(p * 4 / vl) * l->deep_ld,
                                   q->inverse, q->zero, s->quads + p * l->quads_ld, l->quads_ld);
    const packed_chain_product some = from_channel(l->project_q, l->project, first);
    multiply_quads(l, l->project, &some, channels, places, s->quads, l->quads_ld, s->narrow,
                   l->narrow_ld, s->at_deep);
}

/* Output channels first .. first + channels - 1, `places` from place `from` of an image on. Place
   0 of deep is that place. Chains in 8 bits are never between lanes. */
static void project(const chain *l, const parts *s, int image, int first, int channels, int from,
                    int places)
{
    const conv_call *p = l->project;
    const bool in = l->lanes & GEMM_LANES_IN, out = l->lanes & GEMM_LANES_OUT;
    const size_t area = (size_t)p->h * p->w, at = (image * p->n + first) * area + from;
    const size_t lane_at = ((size_t)image * gemm_lanes_floats(p->n, 1) + first) * area +
                           (size_t)from * l->u->vl;
    float *const to = out ? l->output + lane_at : s->narrow;
    const size_t ld = out ? area * l->u->vl : l->narrow_ld;
    if (l->project_q) project_quads(l, s, first, channels, places);
    else project_floats(l, s, first, channels, places, to, ld);
    if (l->shortcut && in) add_input(l, channels, places, lane_at, to, ld);
    if (out) return;
    l->u->reorder.from_nchwc(places, channels, s->narrow, l->narrow_ld, l->output + at, area);
    if (l->shortcut && !in) packed_add_shortcut(l->u, l->shortcut, at, channels, places, area);
}

static void run_piece(void *arg, int chunk, void *scratch)
{
    const chain *l = arg;
    const conv_call *d = l->depth;
    const int image = chunk / l->cut.pieces, piece = chunk % l->cut.pieces;
    const int begin = start_of(l, piece), end = start_of(l, piece + 1);
    const parts s = cut_scratch(l, scratch);
    clear_sides(l, &s);
    int held = 0;                       /* the row of the map behind those in wide */
    for (int y = begin, before = 0; y < end; y += l->rows) {
        const int rows = min_int(l->rows, end - y);
        const int first = y * d->stride - d->pad, needed = (rows - 1) * d->stride + d->size;
        const int kept = y > begin ? max_int(0, held - first) : 0;
        keep_rows(l, &s, first - before, kept);
        fill_wide(l, &s, image, first, needed, kept);
        before = first, held = first + needed;
        filter_rows(l, &s, rows);
        project(l, &s, image, 0, l->project->n, y * d->out_w, rows * d->out_w);
    }
}

/* -1: no memory. */
static int run_bands(chain *l, int threads)
{
    return gemm_parallel(threads, l->depth->batch * l->cut.pieces, run_piece, l);
}

/* ---- phases ---- */

/*
 * First a chunk is a strip of wide channels for the rows of a piece. It is expanded, and filtered
 * to the deep map, which all threads share. Then a chunk is a strip of output channels for some
 * places.
 */
typedef struct phases {
    const chain *l;
    float *deep;                /* the map */
    int image;
} phases;

/* Layers and weights of inner channels first .. first + channels - 1 of an image. */
typedef struct part {
    conv_call expand, depth;
    packed_chain_quads quads;
    packed_chain_product product;
} part;

static void cut_part(chain *l, part *p, int image, int first, int channels)
{
    conv_call *const d = &p->depth, *const e = &p->expand;
    const size_t area = (size_t)l->depth->h * l->depth->w;
    *d = *l->depth;
    if (d->scale) d->scale += first;
    d->shift += first;
    if (!l->expand) d->input += (image * room_of(l, GEMM_LANES_IN, d->c) + first) * area;
    l->depth_w += (size_t)first * d->size * d->size;
    if (l->expand_q) {
        p->quads = *l->quads;
        p->quads.a += (size_t)image * planes_of(l->expand) * area;
        p->product = from_channel(l->expand_q, l->expand, first);
        l->quads = &p->quads;
        l->expand_q = &p->product;
    }
    if (l->expand) {
        *e = *l->expand;
        if (e->scale) e->scale += first;
        e->shift += first;
        e->input += image * room_of(l, GEMM_LANES_IN, e->c) * area;
        e->n = channels;
        if (l->expand_w) l->expand_w += (size_t)first * e->c;
        l->expand = e;
    }
    d->c = d->n = d->groups = channels;
    l->depth = d;
    l->groups = ceil_div(channels, l->u->vl);
    l->out_groups = 0;
}

static void filter_strip(void *arg, int chunk, void *scratch)
{
    const phases *p = arg;
    chain l = *p->l;
    part of_strip;
    const int first = chunk / l.cut.pieces * l.u->nr, piece = chunk % l.cut.pieces;
    const int y = start_of(&l, piece), rows = start_of(&l, piece + 1) - y, stride = l.depth->stride;
    cut_part(&l, &of_strip, p->image, first, min_int(l.u->nr, l.depth->c - first));
    parts s = cut_scratch(&l, scratch);
    s.deep = p->deep + first / l.u->vl * l.deep_ld + (size_t)y * l.depth->out_w * l.u->vl;
    clear_sides(&l, &s);
    fill_wide(&l, &s, 0, y * stride - l.depth->pad, (rows - 1) * stride + l.depth->size, 0);
    filter_rows(&l, &s, rows);
}

static void project_piece(void *arg, int chunk, void *scratch)
{
    const phases *p = arg;
    chain l = *p->l;
    const int places = l.project->h * l.project->w, step = l.cut.step, nr = l.u->nr;
    const int pieces = ceil_div(places, step);
    const int first = chunk / pieces * nr, from = chunk % pieces * step;
    l.groups = 0;
    l.out_groups = nr / l.u->vl;
    parts s = cut_scratch(&l, scratch);
    s.deep = p->deep + (size_t)from * l.u->vl;
    project(&l, &s, p->image, first, min_int(nr, l.project->n - first), from,
            min_int(step, places - from));
}

/* -1: no memory. */
static int run_phases(chain *l, int threads)
{
    const conv_call *d = l->depth;
    const int strips = ceil_div(d->c, l->u->nr), out_strips = ceil_div(l->project->n, l->u->nr);
    const int places = gemm_conv_places(d), out_pieces = ceil_div(places, l->cut.step);
    gemm_workspace *w = gemm_take_workspace(l->deep_ld * ceil_div(d->c, l->u->vl));
    if (!w) return -1;
    phases p = {.l = l, .deep = w->data};
    int status = 0;
    for (; p.image < d->batch && !status; ++p.image) {
        status = gemm_parallel(threads, strips * l->cut.pieces, filter_strip, &p);
        if (!status) status = gemm_parallel(threads, out_strips * out_pieces, project_piece, &p);
    }
    gemm_give_workspace(w);
    return status;
}

/* ---- a chain ---- */

bool packed_chain_run(chain *l, const conv_call *calls, int count, const gemm_context *context)
{
    void *own[PACKED_CHAIN_MOST] = {NULL};
    const float *w[PACKED_CHAIN_MOST] = {NULL};
    bool done = true;
    const int end = l->project_q ? count - 1 : count;
    for (int i = l->expand_q ? 1 : 0; i < end && done; ++i) {
        gemm_kept *kept = context->chain_kept ? context->chain_kept[i] : NULL;
        w[i] = packed_arrange(&calls[i], l->u, kept, &own[i]);
        done = w[i];
    }
    l->expand_w = w[0], l->depth_w = w[count - 2], l->project_w = w[count - 1];
    const int threads = context->threads;
    done = done && !(l->expand_q && l->quads->round(l->quads->job, threads)) &&
           !(l->cut.by_phases ? run_phases : run_bands)(l, threads);
    for (int i = 0; i < count; ++i) free(own[i]);
    return done;
}
