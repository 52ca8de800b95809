/*
 * Three layers as one: 1x1 (expand), depthwise, 1x1 (project). The first may be missing.
 *
 *     input -> expand -> | wide rows | -> depthwise -> | deep rows | -> project -> output
 *
 * A band is some rows of the output. The rows of the two inner maps that it needs lie in the
 * thread's scratch. There they are used again while they are near, and no inner map is ever
 * written whole. The depthwise filter of the next band needs a few wide rows of this one, which
 * move to the front. Only the first band of a chunk computes all of its wide rows.
 *
 * An element of the output is the same sum in the same order as in the layers one by one: see
 * adds_in_order. So the bits are the same, however bands and chunks are cut.
 */
#include "packed/chain.h"

#include "packed/job.h"
#include "packed/loops.h"
#include "packed/packed.h"
#include "packed/plan.h"
#include "util/caches.h"
#include "util/ints.h"
#include "util/threads.h"

#include <string.h>

enum { GROUP = GEMM_DEPTHWISE_ROWS };

typedef struct chain {
    const conv_call *expand;    /* NULL: the depthwise layer reads the input */
    const conv_call *depth, *project;
    const gemm_ukernel *u;
    int rows;                   /* of the output in a band */
    int bands;                  /* in an image */
    int step;                   /* bands in a chunk */
    size_t wide_ld, deep_ld;    /* floats of a channel in scratch */
} chain;

/* Rows from .. to - 1 of a map. */
typedef struct stretch {
    int from, to;
} stretch;

/* ---- which layers ---- */

/* A 1x1 layer of one place adds up in another order: dots.c. */
static bool can_multiply(const conv_call *c)
{
    return c->activation != CONV_LOGISTIC && !gemm_conv_is_dots(c);
}

/* Whether the code below can run this chain. */
static bool can_run(const chain *l)
{
    const conv_call *d = l->depth;
    return d->size > 1 && d->stride <= 2 && d->activation != CONV_LOGISTIC &&
           can_multiply(l->project) && (!l->expand || can_multiply(l->expand));
}

/* ---- the products ---- */

/* `places` columns of a 1x1 layer. */
static packed_job make_job(const conv_call *c, const float *B, size_t ldb, int places, float *C,
                           size_t ldc)
{
    return (packed_job){
        .M = c->n, .N = places, .K = c->c,
        .A = c->weights, .a_row = c->c, .a_step = 1,
        .B = {.rows = B, .ld = ldb},
        .C = C, .ldc = ldc,
        .epilogue = {.alpha = 1, .overwrite = true, .scale = c->scale, .shift = c->shift,
                     .slope = packed_slope(c->activation)},
    };
}

/* Whether each element is one sum over k, from the first to the last. */
static bool adds_in_order(const conv_call *c, const gemm_ukernel *u, int places)
{
    const packed_job job = make_job(c, c->input, places, places, NULL, places);
    const packed_plan plan = packed_make_plan(&job, u, 1);
    return plan.kc >= c->c && plan.rest == 0;
}

/* ---- bands ---- */

/* The wide rows under these rows of the depthwise layer's output. */
static stretch rows_under(const conv_call *d, int y0, int y1)
{
    const int from = max_int(0, min_int(d->h, y0 * d->stride - d->pad));
    const int to = min_int(d->h, (y1 - 1) * d->stride - d->pad + d->size);
    return (stretch){from, max_int(from, to)};
}

static int most_wide_rows(const conv_call *d, int rows)
{
    return min_int(d->h, (rows - 1) * d->stride + d->size);
}

/* Floats of a channel. Channels are not whole halves of pages apart, because their lines would
   compete for one set of L1. */
static size_t pitch_of(int floats)
{
    return floats % (PAGE / 2) ? (size_t)floats : (size_t)floats + LINE;
}

static void set_rows(chain *l, int rows)
{
    const conv_call *d = l->depth;
    l->rows = rows;
    l->bands = ceil_div(d->out_h, rows);
    l->wide_ld = l->expand ? pitch_of(most_wide_rows(d, rows) * d->w) : 0;
    l->deep_ld = pitch_of(rows * d->out_w);
}

static size_t scratch_floats(const chain *l)
{
    return (l->wide_ld + l->deep_ld) * (size_t)l->depth->c;
}

static gemm_depthwise make_depthwise(const conv_call *d, const gemm_ukernel *u)
{
    gemm_depthwise g = {.h = d->h, .w = d->w, .out_h = d->out_h, .out_w = d->out_w,
                        .size = d->size, .pad = d->pad, .stride = d->stride, .filters = 1,
                        .slope = packed_slope(d->activation)};
    g.pitch = gemm_depthwise_pitch(&g, u->vl);
    return g;
}

static bool fits(const chain *l)
{
    const gemm_depthwise g = make_depthwise(l->depth, l->u);
    return 2 * gemm_depthwise_floats(&g, l->rows) * sizeof(float) <= PACKED_SCRATCH_BYTES &&
           scratch_floats(l) * sizeof(float) <= GEMM_SCRATCH_BYTES - PACKED_SCRATCH_BYTES;
}

/* Into how many chunks an image is cut. Two for each thread, so that a thread which another program
   disturbs takes one less, unless the chunks would have less than LEAST_ROWS. */
enum { LEAST_ROWS = 16 };
static int chunks_for(int out_h, int threads)
{
    return threads > 1 && out_h >= 2 * LEAST_ROWS * threads ? 2 * threads : threads;
}

/* Bytes for a band. One thread alone gets enough of L3, and many rows make long products. Several
   threads share L3, so their bands stay in L2. */
static size_t room_for(int threads)
{
    enum { MEGABYTE = 1024 * 1024 };
    const size_t l2 = gemm_find_caches()->l2;
    return threads > 1 ? l2 / 2 : l2 / 4 * 3 > MEGABYTE ? l2 / 4 * 3 : MEGABYTE;
}

/*
 * The rows of a band: as many groups of rows as there is room for. False: the chain does not pay.
 * A chunk of less than LEAST_ROWS would compute too many wide rows twice.
 */
static bool choose_rows(chain *l, int threads)
{
    const size_t room = room_for(threads);
    const int out_h = l->depth->out_h, share = ceil_div(out_h, chunks_for(out_h, threads));
    if (threads > 1 && share < LEAST_ROWS) return false;
    int rows = min_int(GROUP, out_h);
    for (set_rows(l, rows); rows < share; rows += GROUP) {
        set_rows(l, min_int(rows + GROUP, share));
        if (scratch_floats(l) * sizeof(float) > room || !fits(l)) break;
    }
    set_rows(l, rows < share ? even_step(share, rows, min_int(GROUP, out_h)) : share);
    return fits(l);
}

/* Whether the products of both 1x1 layers are added in order: in the whole layer, and in each
   number of rows that a band computes. With more rows than 2 * rest_unit the tail columns of fewer
   rows come again. */
static bool all_in_order(const chain *l)
{
    const conv_call *e = l->expand, *p = l->project;
    const int most = e ? min_int(most_wide_rows(l->depth, l->rows), 2 * l->u->rest_unit) : 0;
    const int last = p->h - (l->bands - 1) * l->rows;
    bool right = adds_in_order(p, l->u, p->h * p->w) && adds_in_order(p, l->u, l->rows * p->w) &&
                 adds_in_order(p, l->u, last * p->w);
    for (int i = 1; i <= most && right; ++i) right = adds_in_order(e, l->u, i * e->w);
    return right && (!e || adds_in_order(e, l->u, e->h * e->w));
}

/* ---- one band ---- */

static void expand_rows(const chain *l, int image, stretch rows, float *to, void *scratch)
{
    const conv_call *e = l->expand;
    const size_t area = (size_t)e->h * e->w;
    const float *input = e->input + image * e->c * area + (size_t)rows.from * e->w;
    const packed_job job =
        make_job(e, input, area, (rows.to - rows.from) * e->w, to, l->wide_ld);
    if (job.N > 0) packed_run_here(&job, l->u, scratch);
}

/* Moves to the front what the new stretch has in common with the old one, and computes the rest. */
static void renew_wide(const chain *l, int image, stretch old, stretch new, float *wide,
                       void *scratch)
{
    const size_t w = l->depth->w;
    const int kept = max_int(0, old.to - new.from);
    for (int i = 0; i < l->depth->c && kept; ++i) {
        float *const channel = wide + i * l->wide_ld;
        memmove(channel, channel + (new.from - old.from) * w, kept * w * sizeof *channel);
    }
    expand_rows(l, image, (stretch){new.from + kept, new.to}, wide + kept * w, scratch);
}

/* Rows y0 .. y1 of the depthwise layer. `wide`: channel 0 of its input, from row `first` on. The
   next band is filled before the present one is used, as in convolution.c. */
static void filter_rows(const chain *l, int y0, int y1, const float *wide, size_t ld, int first,
                        float *deep, float *bands)
{
    const conv_call *d = l->depth;
    gemm_depthwise g = make_depthwise(d, l->u);
    const size_t floats = gemm_depthwise_floats(&g, y1 - y0);
    float *band = memset(bands, 0, 2 * floats * sizeof *bands), *other = band + floats;
    g.out_h = y1 - y0;
    for (int i = 0; i <= d->c; ++i) {
        if (i < d->c) {
            g.src = wide + i * ld - (size_t)first * d->w;
            l->u->fill_band(&g, y0, y1, other);
        }
        if (i > 0) {
            const int c = i - 1;
            g.weights = d->weights + c * d->size * d->size;
            g.scale = d->scale ? d->scale + c : NULL;
            g.shift = d->shift + c;
            g.y = deep + c * l->deep_ld;
            l->u->depthwise(&g, band, 0, y1 - y0);
        }
        float *const used = band;
        band = other, other = used;
    }
}

static void run_chunk(void *arg, int chunk, void *scratch)
{
    const chain *l = arg;
    const conv_call *d = l->depth, *p = l->project;
    const int chunks = ceil_div(l->bands, l->step), image = chunk / chunks;
    const int first = chunk % chunks * l->step, end = min_int(l->bands, first + l->step);
    const size_t area = (size_t)d->h * d->w, out_area = (size_t)d->out_h * d->out_w;
    float *const wide = (float *)scratch + PACKED_SCRATCH_BYTES / sizeof(float);
    float *const deep = wide + l->wide_ld * d->c;
    float *const output = p->output + image * p->n * out_area;
    stretch held = {0, 0};
    for (int band = first; band < end; ++band) {
        const int y0 = band * l->rows, y1 = min_int(d->out_h, y0 + l->rows);
        if (l->expand) {
            const stretch needed = rows_under(d, y0, y1);
            renew_wide(l, image, held, needed, wide, scratch);
            held = needed;
            filter_rows(l, y0, y1, wide, l->wide_ld, held.from, deep, scratch);
        } else {
            filter_rows(l, y0, y1, d->input + image * d->c * area, area, 0, deep, scratch);
        }
        const packed_job job = make_job(p, deep, l->deep_ld, (y1 - y0) * d->out_w,
                                        output + (size_t)y0 * d->out_w, out_area);
        packed_run_here(&job, l->u, scratch);
    }
}

/* ---- the row of the table ---- */

gemm_status packed_chain_by(const conv_call *calls, int count, int rows,
                            const gemm_context *context)
{
    chain l = {.expand = count == 3 ? calls : NULL, .depth = calls + count - 2,
               .project = calls + count - 1, .u = context->isa};
    const int threads = context->threads;
    if (!can_run(&l)) return GEMM_DECLINED;
    if (rows) set_rows(&l, min_int(rows, l.depth->out_h));
    if (rows ? !fits(&l) : !choose_rows(&l, threads)) return GEMM_DECLINED;
    if (!all_in_order(&l)) return GEMM_DECLINED;
    l.step = ceil_div(l.bands, chunks_for(l.depth->out_h, threads));
    const int chunks = l.depth->batch * ceil_div(l.bands, l.step);
    if (gemm_parallel(threads, chunks, run_chunk, &l)) return GEMM_DECLINED;
    strcpy(context->note->algorithm, "chain");
    return GEMM_DONE;
}

gemm_status gemm_packed_chain(const conv_call *calls, int count, const gemm_context *context,
                              const void *params)
{
    (void)params;
    return packed_chain_by(calls, count, 0, context);
}
