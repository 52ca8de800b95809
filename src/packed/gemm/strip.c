/* SPDX-License-Identifier: MIT */
/* How strips of B get near: see strip.h. */
#include "packed/gemm/strip.h"

#include "util/caches.h"
#include "util/ints.h"
#include "util/threads.h"

#include <assert.h>

/* ---- where strips are ---- */

/* The columns of the strip at jr. A last strip of one vector has too few accumulators to hide the
   latency of the FMA. It gets another vector from the strip before. */
static int width_at(const packed_walk *w, int jr)
{
    const packed_plan *plan = w->plan;
    const int columns = w->r.j1 - jr, vl = plan->u->vl;
    const bool leaves_one = plan->nr == 3 * vl && columns == 4 * vl && !plan->job->B.strips;
    return min_int(leaves_one ? plan->nr - vl : plan->nr, columns);
}

packed_strip packed_strip_at(const packed_walk *w, int ic, int pc, int jr)
{
    const packed_plan *plan = w->plan;
    return (packed_strip){
        .ic = ic, .mc = min_int(plan->mc, w->r.i1 - ic),
        .pc = pc, .kc = min_int(plan->kc, plan->job->K - pc),
        .jr = jr, .nc = width_at(w, jr),
    };
}

/* Moves on to the next strip of loop 2, or else of loop 3, or else of loop 4. */
static void move_on(const packed_walk *w, packed_strip *s)
{
    if (s->nc == 0) return;
    if (s->jr + s->nc < w->r.j1) {
        s->jr += s->nc;
        s->nc = width_at(w, s->jr);
    } else if (s->pc + s->kc < w->plan->job->K) {
        *s = packed_strip_at(w, s->ic, s->pc + s->kc, w->r.j0);
    } else if (s->ic + s->mc < w->r.i1) {
        *s = packed_strip_at(w, s->ic + s->mc, 0, w->r.j0);
    } else {
        s->nc = 0;
    }
}

packed_walk packed_begin(const packed_plan *plan, packed_rectangle r, void *scratch)
{
    const packed_job *job = plan->job;
    const size_t strip = (size_t)plan->kc * plan->nr;
    const size_t tail = plan->tail * round_up(plan->kc, plan->u->vl);
    packed_walk w = {.plan = plan, .r = r};
    w.scratch.strip = scratch;
    w.scratch.next_strip = w.scratch.strip + strip;
    w.scratch.tail = w.scratch.next_strip + strip;
    w.scratch.a = w.scratch.tail + tail;
    assert((2 * strip + tail + (plan->packs_a ? (size_t)plan->mc * plan->kc : 0)) * sizeof(float) <=
           PACKED_SCRATCH_BYTES);
    if (r.j1 == plan->grid.columns) w.tail = plan->tail;
    w.next = packed_strip_at(&w, r.i0, 0, r.j0);
    move_on(&w, &w.next);
    w.fetched = w.next;
    move_on(&w, &w.fetched);
    if (job->B.rows && plan->kc < FEW_STEPS) move_on(&w, &w.fetched);
    return w;
}

/* Where a strip begins in a B that lies in memory. */
static const float *source_of(const packed_walk *w, const packed_strip *s)
{
    const packed_b *B = &w->plan->job->B;
    if (B->strips) return B->strips + (size_t)s->jr * w->plan->job->K + s->pc * B->ld;
    return B->rows ? B->rows + s->pc * B->ld + s->jr : B->columns + s->jr * B->ld + s->pc;
}

/* ---- packing all at once ---- */

/* Whether the micro-kernel, which reads whole vectors, can read the strip where it lies. */
static bool is_plain(const packed_walk *w, const packed_strip *s)
{
    const packed_job *job = w->plan->job;
    const int vl = w->plan->u->vl;
    if (job->B.strips) return true;
    return job->B.rows && s->jr + ceil_div(s->nc, vl) * vl <= job->N;
}

/*
 * Whether the strip is read where it lies, from L2. With few rows of A this is best. There are two
 * exceptions:
 * - Its rows are pages apart, so they compete for one set of L1.
 * - Too many of its rows compete for the same sets of L2. Half of the lines of a set may be theirs.
 *   Rows are `apart` floats apart or a multiple of that. The strip then needs as many lines of each
 *   set as L2 has if it holds kc * apart floats.
 */
static bool stays(const packed_walk *w, const packed_strip *s)
{
    enum { SOME_ROWS = 32 };
    const packed_plan *plan = w->plan;
    const size_t ld = plan->job->B.ld, apart = ld & -ld;        /* the power of two in ld */
    if (!is_plain(w, s)) return false;
    if (s->mc <= plan->u->mr || plan->job->B.strips) return true;
    return s->mc < SOME_ROWS && apart < PAGE &&
           s->kc * sizeof(float) * apart <= gemm_find_caches()->l2 / 2;
}

static void pack_strip(const packed_walk *w, const packed_strip *s)
{
    const packed_plan *plan = w->plan;
    const packed_b *B = &plan->job->B;
    float *const to = w->scratch.strip;
    if (B->rows) {
        plan->u->pack.copy(source_of(w, s), B->ld, s->nc, s->kc, to, plan->nr);
    } else if (B->columns) {
        plan->u->pack.transpose(source_of(w, s), B->ld, s->nc, s->kc, to, plan->nr);
    } else {
        B->pack(B, plan->u, s->pc, s->kc, s->jr, s->nc, to);
    }
}

bool packed_has_tail(const packed_walk *w, const packed_strip *s)
{
    return w->tail && s->jr + s->nc == w->r.j1;
}

size_t packed_tail_ld(const packed_walk *w, const packed_strip *s)
{
    return round_up(s->kc, w->plan->u->vl);
}

/* The tail columns go to scratch.tail by columns. A B that the caller packs goes through
   scratch.next_strip, which is free at this time. */
static void pack_tail(const packed_walk *w, const packed_strip *s)
{
    const packed_b *B = &w->plan->job->B;
    const gemm_ukernel *u = w->plan->u;
    const size_t ld = packed_tail_ld(w, s);
    if (B->columns) {
        u->pack.copy(source_of(w, s) + s->nc * B->ld, B->ld, s->kc, w->tail, w->scratch.tail, ld);
    } else if (B->rows) {
        u->pack.transpose(source_of(w, s) + s->nc, B->ld, s->kc, w->tail, w->scratch.tail, ld);
    } else {
        B->pack(B, u, s->pc, s->kc, w->r.j1, w->tail, w->scratch.next_strip);
        u->pack.transpose(w->scratch.next_strip, u->nr, s->kc, w->tail, w->scratch.tail, ld);
    }
}

packed_b_strip packed_bring(const packed_walk *w, const packed_strip *s)
{
    if (packed_has_tail(w, s)) pack_tail(w, s);
    if (!w->copied && stays(w, s)) return (packed_b_strip){source_of(w, s), w->plan->job->B.ld};
    if (!w->copied) pack_strip(w, s);
    return (packed_b_strip){w->scratch.strip, w->plan->nr};
}

/* ---- what the micro-kernel copies and fetches ---- */

/* Spreads the pieces evenly over `steps` steps of K. Returns false if there are more pieces. */
static bool spread(gemm_moves *m, int pieces, int steps)
{
    m->left = pieces;
    m->every = max_int(1, steps / pieces);
    return pieces <= steps;
}

static void move_rows(const packed_walk *w, const packed_strip *s, gemm_moves *m)
{
    const packed_strip *next = &w->next;
    const gemm_ukernel *u = w->plan->u;
    const int panels = ceil_div(s->mc, u->mr), tiles = panels * ceil_div(s->nc, u->nr);
    if (!spread(m, next->kc, tiles * s->kc) || stays(w, next)) return;
    m->copy = source_of(w, next);
    m->cols = next->nc;
}

/* The strips of a rectangle are groups of plan->run. A piece of this strip fetches a part of a row
   of the next group. Returns false if that is not a whole group: then strips are fetched alone. */
static bool fetch_group(const packed_walk *w, const packed_strip *s, gemm_moves *m)
{
    const packed_plan *plan = w->plan;
    const int run = plan->run, nr = plan->nr;
    const int strip = (s->jr - w->r.j0) / nr, piece = strip % run * s->kc;
    const int j = w->r.j0 + (strip / run + 1) * run * nr;
    if (run == 1 || j + run * nr > w->r.j1) return false;
    m->fetch = plan->job->B.rows + (s->pc + piece / run) * m->ld + j + piece % run * nr;
    m->run = run;
    m->ahead = run - piece % run;
    return true;
}

/* A B of strips is read where it lies. Its next strip is fetched, or after the last one what the
   caller names. */
static void fetch_strip(const packed_walk *w, const packed_strip *s, gemm_moves *m)
{
    const packed_plan *plan = w->plan;
    const packed_strip *next = &w->next;
    const int rows = next->nc ? next->kc : plan->kc;
    m->fetch = next->nc ? source_of(w, next) : plan->job->B.after;
    if (m->fetch) (void)spread(m, rows, ceil_div(s->mc, plan->u->mr) * s->kc);
}

gemm_moves packed_plan_moves(const packed_walk *w, const packed_strip *s)
{
    const packed_plan *plan = w->plan;
    const packed_b *B = &plan->job->B;
    gemm_moves m = {.ld = B->ld, .width = plan->nr, .to = w->scratch.next_strip,
                    .run = 1, .ahead = 1, .once = plan->passes_l3};
    if (B->strips) {
        fetch_strip(w, s, &m);
        return m;
    }
    if (w->next.nc == 0 || !B->rows) return m;
    move_rows(w, s, &m);
    if (m.left && w->fetched.nc && !fetch_group(w, s, &m)) m.fetch = source_of(w, &w->fetched);
    return m;
}

void packed_turn(packed_walk *w, bool copied)
{
    float *const used = w->scratch.strip;
    w->scratch.strip = w->scratch.next_strip;
    w->scratch.next_strip = used;
    w->copied = copied;
    move_on(w, &w->next);
    move_on(w, &w->fetched);
}
