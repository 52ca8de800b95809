/* SPDX-License-Identifier: MIT */
/*
 * The way `implicit` (product.c) with the maxpool of 2x2 that follows. A chunk is a band of whole
 * rows of the output and some filters. Its part of the product goes to scratch, stays in L2, and is
 * pooled from there:
 *
 *     filter i0      | row y | row y+1 | ... |    ->    output of i0:  | row y/2 | ... |
 *     filter i0+1    | row y | row y+1 | ... |
 *     ...
 *
 * So the output before the pool, which has four times as many floats, never goes to memory.
 *
 * Bits: a part adds the products of an element as the whole does (packed_make_part). For that,
 * bands begin at whole vectors, and filters at whole panels.
 */
#include "packed/conv/product.h"
#include "packed/conv/way.h"
#include "packed/gemm/loops.h"
#include "packed/packed.h"
#include "util/ints.h"
#include "util/threads.h"

typedef struct pooled {
    packed_layer l;
    packed_plan whole;          /* of a product before the pool */
    int rows, bands;            /* of the output in a band; bands of an output */
    int filters, groups;        /* in a chunk; such groups of filters, of a product */
    size_t ld;                  /* floats from filter to filter in scratch */
    int threads;
    bool shifted;               /* as in implicit */
} pooled;

/* Where a part lies in a thread's scratch: behind that of the product. */
enum { AT = PACKED_SCRATCH_BYTES / sizeof(float),
       ROOM = (GEMM_SCRATCH_BYTES - PACKED_SCRATCH_BYTES) / sizeof(float) };

/* A few strips, so that A is not read for one alone. An even number of rows, and whole vectors, but
   for the last band. */
static int rows_of_band(const conv_call *c, const gemm_ukernel *u)
{
    enum { STRIPS = 4 };
    const int unit = max_int(u->vl, u->tail_unit);
    int rows = 2;
    while (rows < c->out_h && (rows * c->out_w % unit || rows * c->out_w < STRIPS * u->nr))
        rows += 2;
    return rows;
}

/* Into how many groups the filters go: those that take the least time, as in cut.c. To pack B
   takes as long as two panels. */
static void group_filters(pooled *w, int products, int count)
{
    const int mr = w->l.u->mr;
    double least = 0;
    for (int groups = 1; groups == 1 || count / groups >= mr; groups *= 2) {
        const int filters = even_step(count, ceil_div(count, groups), mr);
        const double turns = ceil_div(products * w->bands * groups, w->threads);
        const double time = turns * (filters + 2 * mr);
        if (filters * w->ld > ROOM || (least > 0 && time >= least)) continue;
        least = time;
        w->filters = filters;
        w->groups = ceil_div(count, filters);
    }
}

/* Rows of maxima from the rows of a part. */
static void pool_part(const pooled *w, const packed_part *part, const float *sums, float *output)
{
    const conv_call *c = w->l.c;
    const size_t width = c->out_w;
    for (int i = 0; i < part->rows; ++i, sums += w->ld, output += gemm_conv_outputs(c)) {
        const float *row = sums;
        float *to = output;
        for (; row < sums + part->columns; row += 2 * width, to += width / 2)
            w->l.u->layers.max_pairs(c->out_w / 2, row, row + width, to);
    }
}

static void run_chunk(void *arg, int index, void *scratch)
{
    const pooled *w = arg;
    const conv_call *c = w->l.c;
    const int count = c->n / c->groups, group = index % w->groups;
    const int band = index / w->groups % w->bands, product = index / w->groups / w->bands;
    const int y = band * w->rows, rows = min_int(w->rows, c->out_h - y);
    const packed_part part = {group * w->filters, min_int(w->filters, count - group * w->filters),
                              y * c->out_w, rows * c->out_w};
    packed_channels source;
    packed_job job = packed_product(&w->l, &source, product);
    packed_take_part(&job, &source, w->l.u, part);
    job.C = (float *)scratch + AT;
    job.ldc = w->ld;
    const packed_plan plan = packed_make_part(&job, &w->whole);
    packed_run_here(&job, &plan, scratch);
    pool_part(w, &part, job.C,
              c->output + ((size_t)product * count + part.i0) * gemm_conv_outputs(c) +
                  (size_t)y / 2 * (c->out_w / 2));
}

/* Polyphase is faster with strides, and does not pool. */
static const char *plan_pooled(const conv_call *c, const gemm_context *context,
                               packed_choice *choice)
{
    if (!c->pool) return "no pool";
    conv_call alone = *c;
    alone.pool = false;
    packed_choice other = {.asked = false};
    if (!packed_way_polyphase.plan(&alone, context, &other)) return "polyphase";
    packed_channels source;
    pooled w = {.l = packed_plan_layer(c, context->isa), .rows = rows_of_band(c, context->isa),
                .threads = packed_product_threads(c, context->threads),
                .shifted = packed_has_shifts(c) && !gemm_conv_is_pointwise(c)};
    const packed_job job = packed_product(&w.l, &source, 0);
    w.whole = packed_make_plan(&job, context->isa, 1);
    w.bands = ceil_div(c->out_h, w.rows);
    w.ld = round_up_odd(w.rows * c->out_w, LINE_FLOATS);
    group_filters(&w, c->batch * c->groups, c->n / c->groups);
    if (!w.filters) return "no room in scratch";
    packed_put(choice, &w, sizeof w);
    return NULL;
}

static int run_pooled(const conv_call *c, const layer_call *shortcut,
                      const packed_choice *choice, const gemm_context *context)
{
    (void)shortcut, (void)context;
    pooled w;
    packed_get(choice, &w, sizeof w);
    packed_shifts *const shifts = w.shifted ? packed_take_shifts(c, w.l.u) : NULL;
    w.l.c = c;
    w.l.shifts = shifts;
    const int no_memory = gemm_parallel(w.threads, c->batch * c->groups * w.bands * w.groups,
                                        run_chunk, &w);
    packed_give_shifts(shifts);
    return no_memory;
}

const packed_way packed_way_pooled = {"implicit", false, false, plan_pooled, run_pooled};
