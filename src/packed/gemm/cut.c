/* SPDX-License-Identifier: MIT */
/*
 * The rectangles of C.
 *
 * C is cut into a grid of equal steps. There are up to four steps for each thread, and a free
 * thread takes the next rectangle. So a thread that another program disturbs takes fewer of them.
 * If the grid has one row or one column, the first rectangles are two steps:
 *
 *     2 threads      +-------+-------+---+---+---+---+
 *                    |   0   |   1   | 2 | 3 | 4 | 5 |
 *                    +-------+-------+---+---+---+---+
 *
 * The small ones at the end let all threads finish at about the same time.
 *
 * Each rectangle brings its columns of B near anew, which takes about as long as two panels. It
 * also reads its rows of A anew, which takes about as long as a quarter of a strip. So the cost of
 * a rectangle is
 *
 *     (rows + 2 mr) * (columns + nr / 4)
 *
 * The grid with the least time is taken. It is a row for a wide C, a column for a high C, and with
 * many threads it is often both.
 */
#include "packed/gemm/plan.h"

#include "util/ints.h"

#include <assert.h>
#include <math.h>

/* What is cut, and for whom. */
typedef struct cut_job {
    int M, columns, tail;
    const gemm_ukernel *u;
    int threads;
} cut_job;

static packed_grid make_grid(const cut_job *job, int down, int across)
{
    packed_grid g = {.M = job->M, .columns = job->columns};
    g.m_step = even_step(g.M, ceil_div(g.M, down), job->u->mr);
    g.n_step = even_step(g.columns, ceil_div(g.columns, across), job->u->nr);
    g.across = ceil_div(g.columns, g.n_step);
    g.chunks = g.across * ceil_div(g.M, g.m_step);
    return g;
}

/* Of the largest rectangle. The tail belongs to the last step. */
static double cost_of(const packed_grid *g, const cut_job *job)
{
    const int last = g->columns - (g->across - 1) * g->n_step + job->tail;
    const int columns = g->across == 1 ? last : max_int(last, g->n_step);
    return (g->m_step + 2. * job->u->mr) * (columns + job->u->nr / 4.);
}

/* At the end, others wait for a thread that was disturbed: for such a part of its rectangle. With
   more threads it is more likely that one of them was. */
static double wait_of(int threads)
{
    double wait = .1;
    for (; threads >= 8; threads /= 2) wait += .05;
    return wait;
}

/* The time that a grid takes, in units of the cost. Threads of equal speed take turns of one
   rectangle each. If the last turn leaves threads free, a late one takes no part in it. */
static double time_of(const packed_grid *g, const cut_job *job)
{
    const double turns = (double)g->chunks / job->threads;
    const double least = fmax(1, turns) + wait_of(job->threads);
    return fmax(ceil(turns), least) * cost_of(g, job);
}

static void improve(packed_grid *best, const cut_job *job, int down, int across)
{
    const packed_grid g = make_grid(job, down, across);
    if (time_of(&g, job) < time_of(best, job)) *best = g;
}

/* Tries all grids of about `count` rectangles. */
static void improve_by(packed_grid *best, const cut_job *job, int count)
{
    for (int few = 1; few <= count / few; ++few) {
        improve(best, job, few, count / few);
        improve(best, job, count / few, few);
    }
}

packed_grid packed_cut(int M, int columns, int tail, int K, const gemm_ukernel *u, int threads)
{
    enum { MOST_EACH = 4 };
    const double least = 500000;    /* products in a rectangle, if there are more than threads */
    const cut_job job = {M, columns, tail, u, threads};
    assert(threads >= 1);
    packed_grid g = make_grid(&job, 1, 1);
    if (threads == 1) return g;
    improve_by(&g, &job, threads);
    for (int each = 2; each <= MOST_EACH; each *= 2) {
        if ((double)M * columns * K < least * each * threads) break;
        improve_by(&g, &job, each * threads);
    }
    const bool line = g.across == 1 || g.across == g.chunks;
    if (line && g.chunks >= MOST_EACH * threads) {
        g.doubles = threads;
        g.chunks -= threads;
    }
    return g;
}

/*
 * Two rectangles below each other go through their panels away from where they meet. The reason:
 * the processor prefetches C a few panels beyond the last one. These lines would belong to the
 * neighbour, who writes to them.
 */
packed_rectangle packed_get_rectangle(const packed_grid *g, int chunk)
{
    const int steps = chunk < g->doubles ? 2 : 1;
    const int first = chunk < g->doubles ? 2 * chunk : chunk + g->doubles;
    const int row = first / g->across, column = first % g->across;
    packed_rectangle r = {.i0 = row * g->m_step};
    r.i1 = min_int(r.i0 + steps * g->m_step, g->M);
    r.j0 = column * g->n_step;
    r.j1 = column + steps < g->across ? (column + steps) * g->n_step : g->columns;
    r.upwards = chunk / g->across % 2 == 0 && r.i1 < g->M;
    return r;
}
