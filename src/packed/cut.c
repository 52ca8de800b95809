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
 * Each rectangle reads its rows of A anew, and reads or packs its columns of B anew. This takes
 * about as long as one more strip and two more panels, so the cost of a rectangle is
 *
 *     (rows + 2 mr) * (columns + nr)
 *
 * The grid with the least time is taken. It is a row for a wide C, a column for a high C, and with
 * many threads it is often both.
 */
#include "packed/cut.h"

#include "util/ints.h"

#include <assert.h>
#include <math.h>

static packed_grid make_grid(int M, int columns, const gemm_ukernel *u, int down, int across)
{
    packed_grid g = {.M = M, .columns = columns};
    g.m_step = even_step(M, ceil_div(M, down), u->mr);
    g.n_step = even_step(columns, ceil_div(columns, across), u->nr);
    g.across = ceil_div(columns, g.n_step);
    g.chunks = g.across * ceil_div(M, g.m_step);
    return g;
}

/*
 * The time that a grid takes, in units of the cost. Threads of equal speed take turns of one
 * rectangle each. At the end, others wait for a part of a rectangle.
 */
static double time_of(const packed_grid *g, const gemm_ukernel *u, int threads)
{
    const double wait = .15;
    const double cost = ((double)g->m_step + 2 * u->mr) * ((double)g->n_step + u->nr);
    return (ceil_div(g->chunks, threads) + wait) * cost;
}

/* The best grid of about `count` rectangles, if it is better than *best. The cost is least where
   rows : columns = 2 mr : nr. */
static void improve(packed_grid *best, int count, const gemm_ukernel *u, int threads)
{
    const int M = best->M, columns = best->columns;
    const int side = (int)sqrt((double)M * u->nr / ((double)columns * 2 * u->mr) * count);
    const int downs[] = {1, side, side + 1, count};
    for (int i = 0; i < 4; ++i) {
        if (downs[i] < 1 || downs[i] > count) continue;
        const packed_grid g = make_grid(M, columns, u, downs[i], count / downs[i]);
        if (time_of(&g, u, threads) < time_of(best, u, threads)) *best = g;
    }
}

packed_grid packed_cut(int M, int columns, int K, const gemm_ukernel *u, int threads)
{
    enum { MOST_EACH = 4 };
    const double least = 500000;    /* products in a rectangle, if there are more than threads */
    assert(threads >= 1);
    packed_grid g = make_grid(M, columns, u, 1, 1);
    if (threads == 1) return g;
    improve(&g, threads, u, threads);
    for (int each = 2; each <= MOST_EACH; each *= 2) {
        if ((double)M * columns * K < least * each * threads) break;
        improve(&g, each * threads, u, threads);
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
    r.j0 = column ? column * g->n_step - g->shift : 0;
    r.j1 = column + steps < g->across ? (column + steps) * g->n_step - g->shift : g->columns;
    r.upwards = chunk / g->across % 2 == 0 && r.i1 < g->M;
    return r;
}
