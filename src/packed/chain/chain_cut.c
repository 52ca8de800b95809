/* SPDX-License-Identifier: MIT */
/*
 * How threads share a chain: the way with the lowest estimate. The unit is a multiply-add of one
 * thread.
 *
 *   bands    Each piece computes the wide rows above and below it once more. Many threads have
 *            pieces of few rows, so they compute much of the wide map twice or three times.
 *   phases   A chunk of the first phase is a piece of a strip of nr channels, so larger pieces are
 *            enough. But all threads wait between the phases, and most of the deep map comes from
 *            the caches of other threads.
 *
 * WAIT and TRANSFER were measured, see docs/log/convolution.md.
 */
#include "packed/chain/chain_work.h"

#include "util/ints.h"

static const double WAIT = 300000;      /* of all threads, for the slowest one */
static const double TRANSFER = 40;      /* of an element from another thread's cache */

typedef struct layers {
    const conv_call *expand, *depth, *project;
    const gemm_product_cost *product;
} layers;

/* An element of the output of a 1x1 layer. */
static double element_cost(const layers *l, const conv_call *c)
{
    return l->product->element + l->product->step * c->c;
}

/* The first two layers: some rows of the deep map, some channels. */
static double filter_cost(const layers *l, int rows, int channels)
{
    enum { COPY = 4, TAP = 2 };         /* of an element to nchwc; of a tap, which is loaded too */
    const conv_call *d = l->depth;
    const int wide_rows = min_int((rows - 1) * d->stride + d->size, d->h);
    const double expand = (double)wide_rows * d->w *
                          (l->expand ? element_cost(l, l->expand) : COPY);
    const double filter = (double)rows * d->out_w * d->size * d->size * TAP;
    return channels * (expand + filter);
}

static double project_cost(const layers *l, int places, int channels)
{
    return (double)places * channels * element_cost(l, l->project);
}

/* Two pieces for each thread, so that a thread which another program disturbs takes one less,
   unless the pieces would have less than MANY_ROWS. */
static packed_chain_cut cut_to_bands(const layers *l, int threads, double *cost)
{
    enum { MANY_ROWS = 16 };
    const conv_call *d = l->depth;
    const bool many = threads > 1 && d->out_h >= 2 * MANY_ROWS * threads;
    const packed_chain_cut cut = {.pieces = min_int(many ? 2 * threads : threads, d->out_h)};
    const int rows = ceil_div(d->out_h, cut.pieces);
    *cost = ceil_div(d->batch * cut.pieces, threads) *
            (filter_cost(l, rows, d->c) + project_cost(l, rows * d->out_w, l->project->n));
    return cut;
}

static packed_chain_cut cut_to_phases(const layers *l, const gemm_ukernel *u, int threads,
                                      double *cost)
{
    const conv_call *d = l->depth;
    const int places = gemm_conv_places(d), most = min_int(threads, d->out_h);
    const int strips = ceil_div(d->c, u->nr), out_strips = ceil_div(l->project->n, u->nr);
    packed_chain_cut cut = {.by_phases = true};
    double filter = 0, project = 0;
    for (int pieces = 1; pieces <= most; ++pieces) {
        const double this = ceil_div(strips * pieces, threads) *
                            filter_cost(l, ceil_div(d->out_h, pieces), min_int(u->nr, d->c));
        if (pieces == 1 || this < filter) filter = this, cut.pieces = pieces;
    }
    for (int pieces = 1; pieces <= threads; ++pieces) {
        const int step = even_step(places, ceil_div(places, pieces), u->mr);
        const double this = ceil_div(out_strips * ceil_div(places, step), threads) *
                            project_cost(l, step, min_int(u->nr, l->project->n));
        if (pieces == 1 || this < project) project = this, cut.step = step;
    }
    *cost = d->batch * (filter + project + WAIT + TRANSFER * places * d->c / threads);
    return cut;
}

packed_chain_cut packed_cut_chain(const conv_call *expand, const conv_call *depth,
                                  const conv_call *project, const gemm_ukernel *u, int threads)
{
    const layers l = {expand, depth, project, &u->nchwc.cost};
    double by_bands, by_phases;
    const packed_chain_cut bands = cut_to_bands(&l, threads, &by_bands);
    if (threads == 1) return bands;
    const packed_chain_cut phases = cut_to_phases(&l, u, threads, &by_phases);
    return by_phases < by_bands ? phases : bands;
}
