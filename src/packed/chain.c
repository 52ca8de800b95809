/*
 * Three layers as one: 1x1 (expand), depthwise, 1x1 (project). The first may be missing, and a
 * shortcut may follow.
 *
 *     input -> expand -> | wide rows | -> depthwise -> | deep rows | -> project -> output
 *
 * A band is some rows of the output. The rows of the two inner maps that it needs lie in the
 * thread's scratch. There they are used again while they are near, and no inner map is ever
 * written whole. The depthwise filter of the next band needs a few wide rows of this one, which
 * move to the front. Only the first band of a chunk computes all of its wide rows.
 *
 * The inner maps are in lanes (ukernel_lanes.h): a vector holds vl channels of one place.
 *
 *     wide, group of channels g:      columns of vl floats
 *         | 0 | row y0 * stride - pad of the map | 0 |       zeroes where a tap is outside of the
 *         | 0 | the next row                     | 0 |       map, so the filter sees no edge
 *
 * So the depthwise layer needs neither a copy with zeroes around it nor vectors that cross a cache
 * line, and the rows of small maps fill whole vectors. The two products read scalars of their
 * input and vectors of weights. The weights are arranged for that once, in the layers' plans.
 *
 * Where threads would get few rows each, they share channels instead of rows: see phases.
 *
 * An element of the output is the same sum in the same order as in the layers one by one: see
 * adds_in_order. So the bits are the same, however the work is cut.
 */
#include "packed/chain.h"

#include "packed/lanes.h"
#include "packed/packed.h"
#include "packed/plan.h"
#include "packed/workspace.h"
#include "util/caches.h"
#include "util/ints.h"
#include "util/threads.h"

#include <string.h>

enum { GROUP = GEMM_DEPTHWISE_ROWS, MOST = 3 };

typedef struct chain {
    const conv_call *expand;            /* NULL: the depthwise layer reads the input */
    const conv_call *depth, *project;
    const layer_call *shortcut;         /* NULL: none */
    const float *expand_w, *depth_w, *project_w;    /* arranged: lanes.h */
    float *output;                      /* of the last layer */
    bool by_phases;                     /* else by bands */
    const gemm_ukernel *u;
    int rows;                           /* of the output in a band */
    int bands;                          /* in an image */
    int step;                           /* bands in a chunk */
    int groups, out_groups;             /* of vl channels: inner maps, output */
    int wide_rows, pitch;               /* of a band: rows, and floats in a row */
    size_t wide_ld, deep_ld;            /* floats of a group of wide; of deep and of the output */
} chain;

/* ---- which layers ---- */

/* A 1x1 layer of one place adds up in another order: dots.c. */
static bool can_multiply(const conv_call *c)
{
    return c->activation != CONV_LOGISTIC && !gemm_conv_is_dots(c);
}

static bool can_add(const layer_call *s)
{
    return s->activation != CONV_LOGISTIC && gemm_shortcut_is_equal(s);
}

/* Whether the code below can run this chain. */
static bool can_run(const chain *l)
{
    const conv_call *d = l->depth;
    return d->size > 1 && d->stride <= 2 && d->activation != CONV_LOGISTIC &&
           can_multiply(l->project) && (!l->expand || can_multiply(l->expand)) &&
           (!l->shortcut || can_add(l->shortcut));
}

/* Whether each element of this layer alone is one sum over k, from the first to the last. */
static bool adds_in_order(const conv_call *c, const gemm_ukernel *u)
{
    return packed_prefers_lanes(c, u) || packed_adds_in_order(c, u);
}

/* ---- bands ---- */

/* Floats of a group. Groups are not whole halves of pages apart, because their lines would compete
   for one set of L1. */
static size_t apart(size_t floats)
{
    return floats % (PAGE / 2) ? (floats + LINE - 1) / LINE * LINE : floats + LINE;
}

static void set_rows(chain *l, int rows)
{
    const conv_call *d = l->depth;
    const int vl = l->u->vl;
    l->rows = rows;
    l->bands = ceil_div(d->out_h, rows);
    l->groups = ceil_div(d->c, vl);
    l->out_groups = ceil_div(l->project->n, vl);
    l->wide_rows = (rows - 1) * d->stride + d->size;
    l->pitch = max_int(d->pad + d->w, (d->out_w - 1) * d->stride + d->size) * vl;
    l->wide_ld = apart((size_t)l->wide_rows * (size_t)l->pitch);
    l->deep_ld = apart((size_t)rows * (size_t)d->out_w * (size_t)vl);
}

/* The most places of a product. */
static size_t most_places(const chain *l)
{
    return (size_t)max_int(l->wide_rows * l->depth->w, l->rows * l->depth->out_w);
}

static size_t scratch_bytes(const chain *l)
{
    const size_t floats = l->wide_ld * l->groups + l->deep_ld * (l->groups + l->out_groups);
    return floats * sizeof(float) + 2 * most_places(l) * sizeof(int);
}

/* Into how many chunks an image is cut. Two for each thread, so that a thread which another program
   disturbs takes one less, unless the chunks would have less than MANY_ROWS. */
static int chunks_for(int out_h, int threads)
{
    enum { MANY_ROWS = 16 };
    return threads > 1 && out_h >= 2 * MANY_ROWS * threads ? 2 * threads : threads;
}

/* As many groups of rows as fit in half of L2, in bands of equal height. */
static void choose_rows(chain *l, int share)
{
    const size_t room = gemm_find_caches()->l2 / 2;
    const int least = min_int(GROUP, l->depth->out_h);
    int rows = least;
    for (set_rows(l, rows); rows < share; rows += GROUP) {
        set_rows(l, min_int(rows + GROUP, share));
        if (scratch_bytes(l) > room) break;
    }
    set_rows(l, rows < share ? even_step(share, rows, least) : share);
}

/* Whether a chunk of rows would compute too many wide rows twice. */
static bool prefers_phases(const chain *l, int threads)
{
    enum { LEAST_ROWS = 16 };
    const int out_h = l->depth->out_h;
    return threads > 1 && ceil_div(out_h, chunks_for(out_h, threads)) < LEAST_ROWS;
}

/* Sets the rows of a band, and whether there are phases instead, with all rows. False: the scratch
   is too small. */
static bool cut(chain *l, int rows, int threads)
{
    const int out_h = l->depth->out_h;
    l->by_phases = !rows && prefers_phases(l, threads);
    if (l->by_phases) set_rows(l, out_h);
    else if (rows) set_rows(l, min_int(rows, out_h));
    else choose_rows(l, ceil_div(out_h, chunks_for(out_h, threads)));
    if (!l->by_phases) return scratch_bytes(l) <= GEMM_SCRATCH_BYTES;
    chain strip = *l;
    strip.groups = strip.out_groups = l->u->nr / l->u->vl;
    return scratch_bytes(&strip) <= GEMM_SCRATCH_BYTES;
}

/* ---- one band ---- */

/* A thread's scratch. */
typedef struct parts {
    float *wide, *deep, *narrow;        /* narrow: the output in lanes */
    int *at_wide, *at_deep;             /* where a place of a product goes: gemm_lanes */
} parts;

static parts cut_scratch(const chain *l, void *scratch)
{
    const int w = l->depth->w, vl = l->u->vl, gap = l->pitch - w * vl;
    const int places = (int)most_places(l);
    parts s = {.wide = scratch};
    s.deep = s.wide + l->wide_ld * l->groups;
    s.narrow = s.deep + l->deep_ld * l->groups;
    s.at_wide = (int *)(s.narrow + l->deep_ld * l->out_groups);
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

/* Rows y .. y + rows - 1 of the map go to wide row `at` and on. */
static void bring_rows(const chain *l, const parts *s, int image, int y, int rows, int at)
{
    const conv_call *e = l->expand, *d = l->depth;
    const size_t area = (size_t)d->h * d->w, row = (size_t)y * d->w;
    float *const to = s->wide + (size_t)at * l->pitch + (size_t)d->pad * l->u->vl;
    if (e) {
        const gemm_lanes product = {
            .places = rows * e->w, .channels = e->n, .K = e->c,
            .a = e->input + image * e->c * area + row, .a_ld = area,
            .b = l->expand_w, .scale = e->scale, .shift = e->shift,
            .slope = packed_slope(e->activation),
            .c = to, .c_ld = l->wide_ld, .at = s->at_wide,
        };
        l->u->lanes(&product);
        return;
    }
    const float *from = d->input + image * d->c * area + row;
    for (int i = 0; i < rows; ++i) {
        l->u->to_lanes(d->w, d->c, from + i * d->w, area, to + i * l->pitch, l->wide_ld);
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
    gemm_lanes_depthwise g = {
        .size = d->size, .stride = d->stride, .rows = rows, .out_w = d->out_w, .pitch = l->pitch,
        .slope = packed_slope(d->activation),
    };
    for (int i = 0; i < l->groups; ++i) {
        g.channels = min_int(vl, d->c - i * vl);
        g.src = s->wide + i * l->wide_ld;
        g.weights = l->depth_w + (size_t)i * d->size * d->size * vl;
        g.scale = d->scale ? d->scale + i * vl : NULL;
        g.shift = d->shift + i * vl;
        g.y = s->deep + i * l->deep_ld;
        l->u->lanes_depthwise(&g);
    }
}

/* Places of some output channels, the first of which begins at output + at. */
static void add_shortcut(const chain *l, size_t at, int places, int channels, size_t area)
{
    const layer_call *s = l->shortcut;
    for (int i = 0; i < channels; ++i, at += area) {
        l->u->add_scaled(places, s->alpha, l->output + at, s->beta, s->input[1].data + at,
                         packed_slope(s->activation), l->output + at);
    }
}

/* Output channels first .. first + channels - 1, `places` from place `from` of an image on. Place
   0 of deep is that place. */
static void project(const chain *l, const parts *s, int image, int first, int channels, int from,
                    int places)
{
    const conv_call *p = l->project;
    const size_t area = (size_t)p->h * p->w, at = (image * p->n + first) * area + from;
    const gemm_lanes product = {
        .places = places, .channels = channels, .K = p->c,
        .source = GEMM_LANES, .a = s->deep, .a_ld = l->deep_ld,
        .b = l->project_w + (size_t)first * p->c,
        .scale = p->scale ? p->scale + first : NULL, .shift = p->shift + first,
        .slope = packed_slope(p->activation),
        .c = s->narrow, .c_ld = l->deep_ld, .at = s->at_deep,
    };
    l->u->lanes(&product);
    l->u->from_lanes(places, channels, s->narrow, l->deep_ld, l->output + at, area);
    if (l->shortcut) add_shortcut(l, at, places, channels, area);
}

static void run_chunk(void *arg, int chunk, void *scratch)
{
    const chain *l = arg;
    const conv_call *d = l->depth;
    const int chunks = ceil_div(l->bands, l->step), image = chunk / chunks;
    const int begin = chunk % chunks * l->step, end = min_int(l->bands, begin + l->step);
    const parts s = cut_scratch(l, scratch);
    clear_sides(l, &s);
    int held = 0;                       /* the row of the map behind those in wide */
    for (int band = begin, before = 0; band < end; ++band) {
        const int y = band * l->rows, rows = min_int(l->rows, d->out_h - y);
        const int first = y * d->stride - d->pad, needed = (rows - 1) * d->stride + d->size;
        const int kept = band > begin ? max_int(0, held - first) : 0;
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
    l->step = ceil_div(l->bands, chunks_for(l->depth->out_h, threads));
    return gemm_parallel(threads, l->depth->batch * ceil_div(l->bands, l->step), run_chunk, l);
}

/* ---- phases ---- */

/*
 * Where a thread would get few rows, the threads share channels. First a chunk is a strip of wide
 * channels: it is expanded for the whole map, and filtered to the deep map, which all threads
 * share. Then a chunk is a strip of output channels for some of the places.
 */
typedef struct phases {
    const chain *l;
    float *deep;
    int image, pieces;          /* pieces: of the places of an output strip */
} phases;

/* Layers and weights of inner channels first .. first + channels - 1 of an image. */
typedef struct part {
    conv_call expand, depth;
} part;

static void cut_part(chain *l, part *p, int image, int first, int channels)
{
    conv_call *const d = &p->depth, *const e = &p->expand;
    const size_t area = (size_t)l->depth->h * l->depth->w;
    *d = *l->depth;
    if (d->scale) d->scale += first;
    d->shift += first;
    if (!l->expand) d->input += (image * d->c + first) * area;
    l->depth_w += (size_t)first * d->size * d->size;
    if (l->expand) {
        *e = *l->expand;
        if (e->scale) e->scale += first;
        e->shift += first;
        e->input += image * e->c * area;
        e->n = channels;
        l->expand_w += (size_t)first * e->c;
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
    const int first = chunk * l.u->nr;
    cut_part(&l, &of_strip, p->image, first, min_int(l.u->nr, l.depth->c - first));
    parts s = cut_scratch(&l, scratch);
    s.deep = p->deep + first / l.u->vl * l.deep_ld;
    clear_sides(&l, &s);
    fill_wide(&l, &s, 0, -l.depth->pad, l.wide_rows, 0);
    filter_rows(&l, &s, l.depth->out_h);
}

static void project_piece(void *arg, int chunk, void *scratch)
{
    const phases *p = arg;
    chain l = *p->l;
    const int places = l.project->h * l.project->w, nr = l.u->nr;
    const int step = even_step(places, ceil_div(places, p->pieces), l.u->mr);
    const int first = chunk / p->pieces * nr, from = chunk % p->pieces * step;
    if (from >= places) return;
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
    const int strips = ceil_div(l->project->n, l->u->nr);
    packed_workspace *w = packed_take_workspace(l->deep_ld * l->groups);
    if (!w) return -1;
    phases p = {.l = l, .deep = w->data, .pieces = strips % threads ? threads : 1};
    int status = 0;
    for (; p.image < l->depth->batch && !status; ++p.image) {
        status = gemm_parallel(threads, ceil_div(l->depth->c, l->u->nr), filter_strip, &p);
        if (!status) status = gemm_parallel(threads, strips * p.pieces, project_piece, &p);
    }
    packed_give_workspace(w);
    return status;
}

/* ---- the row of the table ---- */

/* False: there is no memory. */
static bool run_chain(chain *l, const conv_call *calls, int count, const gemm_context *context)
{
    packed_lanes *own[MOST] = {NULL};
    const float *w[MOST] = {NULL};
    bool done = true;
    for (int i = 0; i < count && done; ++i) {
        gemm_kept *kept = context->chain_kept ? context->chain_kept[i] : NULL;
        w[i] = packed_arrange(&calls[i], l->u, kept, &own[i]);
        done = w[i];
    }
    l->expand_w = w[0], l->depth_w = w[count - 2], l->project_w = w[count - 1];
    done = done && !(l->by_phases ? run_phases : run_bands)(l, context->threads);
    for (int i = 0; i < count; ++i) packed_free_lanes(own[i]);
    return done;
}

gemm_status packed_chain_by(const conv_call *calls, int count, const layer_call *shortcut,
                            int rows, const gemm_context *context)
{
    chain l = {.expand = count == 3 ? calls : NULL, .depth = calls + count - 2,
               .project = calls + count - 1, .shortcut = shortcut, .u = context->isa};
    if (!can_run(&l)) return GEMM_DECLINED;
    if (!adds_in_order(l.project, l.u)) return GEMM_DECLINED;
    if (l.expand && !adds_in_order(l.expand, l.u)) return GEMM_DECLINED;
    if (!cut(&l, rows, context->threads)) return GEMM_DECLINED;
    l.output = shortcut ? shortcut->output : l.project->output;
    if (!run_chain(&l, calls, count, context)) return GEMM_DECLINED;
    strcpy(context->note->algorithm, "chain");
    return GEMM_DONE;
}

gemm_status gemm_packed_chain(const conv_call *calls, int count, const layer_call *shortcut,
                              const gemm_context *context, const void *params)
{
    (void)params;
    return packed_chain_by(calls, count, shortcut, 0, context);
}
