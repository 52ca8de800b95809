/* SPDX-License-Identifier: MIT */
/*
 * The packed gemm, in the manner of Goto and BLIS, for matrices of Darknet's shapes: A has few rows
 * (M = 16 .. 1024), and B has from 173056 columns by 27 rows to 169 columns by 4608 rows.
 *
 *   LOOP 5   threads: rectangles of C, without a barrier (cut.c)
 *   LOOP 4   ic in steps of mc: a block of rows of A
 *   LOOP 3   pc in steps of kc: a block of K; the block of A, mc x kc, stays in L2
 *   LOOP 2   jr in steps of nr: a strip of B, kc x nr, in L2 or L1
 *   LOOP 1   ir in steps of mr: a panel of A, mr x kc, in L1
 *            the micro-kernel: an mr x nr tile of C in registers, kc steps
 *
 *            kc                    nr                     nr
 *      +-----------+           +------+               +------+
 *   mr |  panel  ->|   times   |strip |   kc    =     | tile |  mr
 *      +-----------+           |  |   |               +------+
 *   mc |           |           |  v   |               |      |
 *      +-----------+           +------+               +------+
 *
 * Differences from the textbook:
 * - B is packed one strip ahead of its use, by the micro-kernel (strip.h). A strip that few rows of
 *   A use is not packed at all, because a copy costs more than reading it from L2 again.
 * - A is packed only if enough strips use the copy (plan.c). The micro-kernel reads scalars of A at
 *   any stride.
 * - With few rows, memory is the limit. Strips are then several tiles wide, and a large B is kept
 *   out of L3.
 * - Loop 1 is in the micro-kernel where it can be: over whole panels and whole vectors
 *   (gemm_multiply_kernels.panels). And over all rows (gemm_sweep) where K and the rows are one
 *   block each, the tiles end in an epilogue, and panels are not faster. A 1x1 layer of few
 *   channels is such a case.
 * - The N % tail_unit tail columns are multiplied with vectors along K (plan.c).
 * - C is read and written once for each block of K. Its next tile is fetched while the present one
 *   is computed.
 *
 * Memory: two strips of B, and a block of A or the tail columns, in PACKED_SCRATCH_BYTES of each
 * thread.
 *
 * Source: Goto, van de Geijn, "Anatomy of high-performance matrix multiplication", 2008; Van Zee,
 * van de Geijn, "BLIS", 2015.
 */
#include "packed/gemm/loops.h"

#include "packed/gemm/plan.h"
#include "packed/gemm/strip.h"
#include "util/ints.h"
#include "util/threads.h"

/* A block of A as the micro-kernel reads it: panel n begins at a + n * panel. Its element
   (i, p) is at [i * row + p * step]. */
typedef struct a_block {
    const float *a;
    size_t panel, row, step;
} a_block;

/*
 * Copies a block of A to panels of mr rows. Columns (a_row = 1) are each on another page, so a few
 * of them are copied to all panels before the next few.
 */
static a_block pack_a(const packed_walk *w, int ic, int mc, int pc, int kc)
{
    enum { COLUMNS = 16 };
    const packed_job *job = w->plan->job;
    const gemm_ukernel *u = w->plan->u;
    const bool by_columns = job->a_row == 1;
    const int step = by_columns ? COLUMNS : kc;
    float *const to = w->scratch.a;
    for (int p = 0; p < kc; p += step) {
        const float *a = job->A + ic * job->a_row + (pc + p) * job->a_step;
        for (int ir = 0; ir < mc; ir += u->mr) {
            (by_columns ? u->pack.copy : u->pack.transpose)(
                a + ir * job->a_row, by_columns ? job->a_step : job->a_row,
                min_int(u->mr, mc - ir), min_int(step, kc - p), to + ir * kc + p * u->mr, u->mr);
        }
    }
    return (a_block){to, (size_t)u->mr * kc, 1, u->mr};
}

static a_block block_of_a(const packed_walk *w, int ic, int pc)
{
    const packed_plan *plan = w->plan;
    const packed_job *job = plan->job;
    if (plan->packs_a) {
        return pack_a(w, ic, min_int(plan->mc, w->r.i1 - ic), pc, min_int(plan->kc, job->K - pc));
    }
    const int mr = plan->u->mr;
    const size_t panel = job->a_panel ? job->a_panel : mr * job->a_row;
    return (a_block){job->A + ic / mr * panel + pc * job->a_step, panel, job->a_row, job->a_step};
}

/* If K ends with this strip, the tiles from row i on finish their sums. */
static void set_epilogue(const packed_job *job, const packed_strip *s, int i, gemm_tile *t)
{
    const packed_epilogue *e = &job->epilogue;
    if (s->pc + s->kc == job->K && e->shift) {
        t->shift = e->shift + i;
        t->scale = e->scale ? e->scale + i : NULL;
        t->slope = e->slope;
    }
}

/* The tail columns of `rows` rows from row i on. The tile, which is theirs or a part of theirs, is
   finished and may change. */
static void multiply_tail(const packed_job *job, const gemm_ukernel *u, const packed_strip *s,
                          int i, int rows, gemm_tile *t)
{
    t->rows = rows;
    t->tail_a = job->A + i * job->a_row + s->pc;
    t->c = job->C + i * job->ldc + s->jr;
    set_epilogue(job, s, i, t);
    u->gemm.along_k(t);
}

/* Whether the micro-kernel can run over all whole panels by itself. It copies rows of nr floats, so
   it does not take a narrow strip of a plan with wide strips. */
static bool are_plain(const gemm_ukernel *u, const packed_strip *s, const gemm_tile *t)
{
    return u->gemm.panels && s->kc >= GEMM_LEAST_PANELS_KC && s->nc <= u->nr &&
           s->nc % u->vl == 0 && t->moves->width <= u->nr;
}

/* Adds the shortcut to a complete part of C. */
static void add_shortcut(const packed_job *job, const gemm_ukernel *u, int i, int rows, int j,
                         int cols)
{
    const packed_epilogue *e = &job->epilogue;
    size_t at = i * job->ldc + j;
    for (; rows > 0 && cols > 0; --rows, at += job->ldc) {
        float *const y = job->C + at;
        u->layers.add_scaled(cols, 1, y, 1, e->shortcut + at, e->shortcut_slope, y);
    }
}

/* What is left to do with `rows` rows of the strip and of the tail, if they are complete. `added`:
   the tiles have the shortcut, and the tail has not. */
static void finish(const packed_job *job, const gemm_ukernel *u, const packed_strip *s, int i,
                   int rows, int tail, bool added)
{
    const packed_epilogue *e = &job->epilogue;
    if (s->pc + s->kc < job->K) return;
    if (e->shortcut && added) add_shortcut(job, u, i, rows, s->jr + s->nc, tail);
    else if (e->shortcut) add_shortcut(job, u, i, rows, s->jr, s->nc + tail);
    if (e->finish)
        e->finish(e, i, rows, s->jr, s->nc + tail, job->C + i * job->ldc + s->jr, job->ldc);
}

/* LOOP 1: all panels of the block of A. a_next and c_next are what the tile after a tile needs: at
   the end that is the first tile of the next strip. */
static void multiply_panels(const packed_walk *w, const packed_strip *s, const a_block *A,
                            gemm_tile *t)
{
    enum { NEAR_PANELS = 8 };   /* so few that their rows of A are near for the tail columns, and
                                   those of C for `finish` */
    const packed_job *job = w->plan->job;
    const gemm_ukernel *u = w->plan->u;
    const int next_jr = s->jr + s->nc < w->r.j1 ? s->jr + s->nc : w->r.j0;
    const int panels = ceil_div(s->mc, u->mr), whole = s->mc / u->mr;
    const int first = w->r.upwards ? panels - 1 : 0, way = w->r.upwards ? -1 : 1;
    const bool plain = are_plain(u, s, t);
    const packed_epilogue *e = &job->epilogue;
    const bool adds = e->shortcut && s->kc == job->K && u->gemm.panels_add;
    for (int left = panels, panel = first, next, count; left; left -= count, panel = next) {
        const bool by_panels = plain && panel < whole;
        const int i = s->ic + panel * u->mr;
        count = !by_panels ? 1 : w->r.upwards ? panel + 1 : whole - panel;
        if (t->tail || e->finish || (e->shortcut && !adds)) count = min_int(count, NEAR_PANELS);
        next = left > count ? panel + way * count : first;
        t->rows = min_int(u->mr, s->ic + s->mc - i);
        t->a = A->a + panel * A->panel;
        t->a_next = A->a + next * A->panel;
        t->c = job->C + i * job->ldc + s->jr;
        t->c_next = job->C + (s->ic + next * u->mr) * job->ldc + (left > count ? s->jr : next_jr);
        set_epilogue(job, s, i, t);
        if (adds && by_panels) {
            t->shortcut = e->shortcut + (t->c - job->C);
            t->shortcut_next = e->shortcut + (t->c_next - job->C);
            t->shortcut_slope = e->shortcut_slope;
        }
        if (by_panels) u->gemm.panels(t, count, way, way * (ptrdiff_t)A->panel);
        else u->gemm.tile(t);
        const int lowest = s->ic + (w->r.upwards ? panel - count + 1 : panel) * u->mr;
        const int rows = by_panels ? count * u->mr : t->rows;
        if (t->tail) multiply_tail(job, u, s, lowest, rows, t);
        finish(job, u, s, lowest, rows, t->tail, adds && by_panels);
    }
}

/* One strip of B times the block of A. Meanwhile the tiles bring later strips nearer. */
static void multiply_strip(packed_walk *w, const packed_strip *s, const a_block *A)
{
    const packed_job *job = w->plan->job;
    const packed_b_strip b = packed_bring(w, s);
    gemm_moves moves = packed_plan_moves(w, s);
    const bool copies = moves.copy;
    gemm_tile t = {
        .cols = s->nc, .kc = s->kc,
        .a_row = A->row, .a_step = A->step,
        .b = b.b, .b_row = b.row,
        .moves = &moves,
        .c_row = job->ldc,
        .alpha = job->epilogue.alpha,
        .add = !(job->epilogue.overwrite && s->pc == 0),
    };
    if (packed_has_tail(w, s)) {
        t.tail = w->tail;
        t.tail_a_row = job->a_row;
        t.tail_b = w->scratch.tail;
        t.tail_ld = packed_tail_ld(w, s);
    }
    multiply_panels(w, s, A, &t);
    packed_turn(w, copies);
}

/* LOOPS 4, 3 and 2: one rectangle of C. */
static void multiply_rectangle(const packed_plan *plan, packed_rectangle r, void *scratch)
{
    packed_walk w = packed_begin(plan, r, scratch);
    for (int ic = r.i0; ic < r.i1; ic += plan->mc) {                    /* LOOP 4 */
        for (int pc = 0; pc < plan->job->K; pc += plan->kc) {           /* LOOP 3 */
            const a_block A = block_of_a(&w, ic, pc);
            for (int jr = r.j0, nc; jr < r.j1; jr += nc) {              /* LOOP 2 */
                const packed_strip s = packed_strip_at(&w, ic, pc, jr);
                multiply_strip(&w, &s, &A);
                nc = s.nc;
            }
        }
    }
}

/* ---- sweeps ---- */

/* Rows of B so far apart compete for one or two sets of L1. */
static bool rows_collide(const packed_b *B)
{
    return B->rows && B->ld % (PAGE / 2) == 0;
}

/* Copies some columns of B, and fetches as many behind them to L2. */
static void copy_columns(const packed_job *job, const gemm_ukernel *u, int j, int columns,
                         float *to)
{
    const float *row = job->B.rows + j;
    const int most = min_int(u->wide, job->N - j - columns);
    for (int p = 0; p < job->K; ++p, row += job->B.ld) {
        for (int i = LINE_FLOATS - 1; i < most; i += LINE_FLOATS)
            __builtin_prefetch(row + columns + i, 0, 2);
    }
    u->pack.copy(job->B.rows + j, job->B.ld, columns, job->K, to, u->wide);
}

/* Sets s->b and s->b_row for the strip at j, and s->b_next if the strip behind it is not copied. */
static void bring_strip(const packed_plan *plan, packed_rectangle r, int j, float *scratch,
                        gemm_sweep *s)
{
    const packed_job *job = plan->job;
    const packed_b *B = &job->B;
    const gemm_ukernel *u = plan->u;
    const int next = j + s->cols, at = (j - r.j0) % u->wide;
    s->b = scratch;
    s->b_row = u->nr;
    s->b_next = NULL;
    if (B->strips) {
        s->b = B->strips + (size_t)j * job->K;
        s->b_row = B->ld;
        if (next < r.j1) s->b_next = B->strips + (size_t)next * job->K;
    } else if (rows_collide(B)) {
        if (at == 0) copy_columns(job, u, j, min_int(u->wide, r.j1 - j), scratch);
        s->b = scratch + at;
        s->b_row = u->wide;
    } else if (B->rows && j + ceil_div(s->cols, u->vl) * u->vl <= job->N) {
        s->b = B->rows + j;
        s->b_row = B->ld;
        if (next < r.j1) s->b_next = B->rows + next;
    } else if (B->rows) {
        u->pack.copy(B->rows + j, B->ld, s->cols, job->K, scratch, u->nr);
    } else {
        B->pack(B, u, 0, job->K, j, s->cols, scratch);
    }
}

/* Loops 4 to 1 of a rectangle where the plan sweeps. */
static void sweep_rectangle(const packed_plan *plan, packed_rectangle r, void *scratch)
{
    const packed_job *job = plan->job;
    const packed_epilogue *e = &job->epilogue;
    const gemm_ukernel *u = plan->u;
    gemm_sweep s = {
        .rows = r.i1 - r.i0, .kc = job->K,
        .a = job->A + r.i0 * job->a_row, .a_row = job->a_row,
        .c_row = job->ldc,
        .shift = e->shift + r.i0, .scale = e->scale ? e->scale + r.i0 : NULL, .slope = e->slope,
    };
    float *const c = job->C + r.i0 * job->ldc;
    for (int j = r.j0; j < r.j1; j += s.cols) {
        s.cols = min_int(plan->nr, r.j1 - j);
        bring_strip(plan, r, j, scratch, &s);
        s.c = c + j;
        s.c_next = c + (j + s.cols < r.j1 ? j + s.cols : r.j0);
        u->gemm.sweep(&s);
        if (e->shortcut) add_shortcut(job, u, r.i0, s.rows, j, s.cols);
        if (e->finish) e->finish(e, r.i0, s.rows, j, s.cols, s.c, s.c_row);
    }
}

static void run_rectangle(const packed_plan *plan, packed_rectangle r, void *scratch)
{
    if (plan->sweeps) {
        sweep_rectangle(plan, r, scratch);
    } else {
        multiply_rectangle(plan, r, scratch);
    }
}

static void multiply_chunk(void *arg, int chunk, void *scratch)
{
    const packed_plan *plan = arg;
    run_rectangle(plan, packed_get_rectangle(&plan->grid, chunk), scratch);
}

/* LOOP 5: the threads take rectangles. */
int packed_run_as(const packed_job *job, const packed_plan *made, int threads)
{
    packed_plan plan = *made;
    plan.job = job;
    return gemm_parallel(threads, plan.grid.chunks, multiply_chunk, &plan);
}

int packed_run(const packed_job *job, const gemm_ukernel *u, int threads)
{
    packed_plan plan = packed_make_plan(job, u, threads);
    return gemm_parallel(threads, plan.grid.chunks, multiply_chunk, &plan);
}

void packed_run_here(const packed_job *job, const packed_plan *made, void *scratch)
{
    packed_plan plan = *made;
    plan.job = job;
    run_rectangle(&plan, packed_get_rectangle(&plan.grid, 0), scratch);
}
