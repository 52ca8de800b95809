/* SPDX-License-Identifier: MIT */
/*
 * The plan of a job.
 *
 *   loop 5   C is cut into rectangles: cut.c.
 *   kc       A panel of A (mr x kc) stays in L1 and a strip of B (kc x nr) in L1 or L2. If A is not
 *            packed, or has few rows, kc may be half as long again as the micro-kernel's file says:
 *            C is then read and written less often.
 *   mc       A block of A (mc x kc) stays in L2. An A that is not packed needs no mc if L3 delivers
 *            it in time, see gemm_ukernel.a_home. All rows then share one strip of B.
 *
 * kc, and tail columns along K, change the order in which the products of an element are added, and
 * so its last bits. They are decided from the whole job, before it is cut into rectangles.
 */
#include "packed/gemm/plan.h"

#include "util/ints.h"

#include <assert.h>
#include <limits.h>

int packed_threads(int M, int N, int K, int threads)
{
    enum { TOO_SMALL = 500000 };    /* so few products are computed before a worker could help */
    assert(threads >= 1);
    return (double)M * N * K < TOO_SMALL ? 1 : threads;
}

bool packed_adds_alike(int K, const gemm_ukernel *u)
{
    return !u->reproducible || K <= GEMM_SAME_KC;
}

int packed_longest_kc(const gemm_ukernel *u)
{
    return u->kc + u->kc / 2;
}

/*
 * Packing A costs as much as reading it a few times, so it pays only if many strips of B use the
 * copy. `columns` are those of the strips.
 * - A by rows that may come from L3 is packed only if its rows are a multiple of half a page apart.
 *   The lines of a panel then compete for few sets of L1.
 * - Where A has to be near, a panel in one piece is fetched in time, and rows are not: each begins
 *   with a miss of L1. With several blocks of K each begins on another page too.
 * - A by columns is packed sooner if its columns are whole pages apart. All lines of a panel then
 *   compete for one set.
 */
static bool should_pack_a(const packed_job *job, const gemm_ukernel *u, int columns)
{
    const int strips = ceil_div(columns, u->nr);
    if (job->a_panel) return false;
    const int many = job->K > packed_longest_kc(u) ? 8 : 16;
    if (job->a_step == 1 && u->a_home != GEMM_A_IN_L3) return strips >= many;
    if (job->a_step == 1) return strips >= 16 && job->a_row % (PAGE / 2) == 0;
    return strips >= (job->a_step % PAGE == 0 ? 8 : 64);
}

/*
 * A packed block of A has mc x kc elements at most; with fewer rows than mc, kc may be larger.
 * Where A by columns is not packed, a panel uses half a cache line of each column. The next panel
 * uses the other half. If the columns are pages apart, few of these lines stay in L2 until then,
 * so kc is smaller. Reproducible kernels have no such choice.
 */
static int choose_kc(const packed_job *job, const gemm_ukernel *u, bool packs_a)
{
    int most = packed_longest_kc(u);
    if (u->reproducible) return even_step(job->K, GEMM_SAME_KC, u->k_unit);
    if (packs_a) {
        const int mc = even_step(job->M, u->mc, u->mr);
        most = min_int(most, u->mc * u->kc / mc / u->k_unit * u->k_unit);
    } else if (job->a_step % PAGE == 0) {
        most = min_int(most, u->kc / 2);
    }
    return even_step(job->K, most, u->k_unit);
}

/*
 * The N % tail_unit tail columns do not fill a vector. They are multiplied with vectors along K,
 * which are full. This reads rows of A as vectors, and it pays only if some panels share the
 * transposed columns and K is long.
 */
static int choose_tail(const packed_job *job, const gemm_ukernel *u)
{
    enum { LEAST_PANELS = 8, LEAST_K = 128 };
    const int tail = job->N % u->tail_unit;
    if (u->reproducible) return 0;
    if (job->a_panel || job->a_step != 1 || job->N < u->tail_unit || tail > u->tail_most) return 0;
    return job->M < LEAST_PANELS * u->mr || job->K < LEAST_K ? 0 : tail;
}

/* If B is large and few panels read it, memory is the limit. */
static bool is_bound_by_b(const packed_job *job, const gemm_ukernel *u)
{
    enum { LARGE = 2 * 1024 * 1024, FEW_READERS = 16 };
    return job->B.rows && job->M <= FEW_READERS * u->mr && (double)job->K * job->N >= LARGE;
}

/*
 * Memory sends a long piece of a row faster than a short one. So while a group of strips is
 * multiplied, the next group is fetched row by row. Half of L2 holds both groups. The first strips
 * come without a fetch, so there should be many groups. What passes L3 may leave L2 too soon.
 */
static int choose_run(const packed_plan *plan)
{
    enum { COLUMNS = 192, LEAST_GROUPS = 8 };
    const packed_job *job = plan->job;
    const gemm_ukernel *u = plan->u;
    const size_t l2 = gemm_find_caches()->l2, group_column = 2 * plan->kc * sizeof(float);
    if (!is_bound_by_b(job, u) || plan->passes_l3) return 1;
    if (plan->nr != u->nr || plan->kc < FEW_STEPS) return 1;
    const int columns = min_int(COLUMNS, (int)(l2 / 2 / group_column));
    return max_int(1, min_int(columns, plan->grid.n_step / LEAST_GROUPS) / plan->nr);
}

static bool stays_in_l2(const packed_job *job, const gemm_ukernel *u)
{
    const bool packed_by_caller = !job->B.rows && !job->B.strips;
    return u->a_home == GEMM_A_ONLY_IN_L2 || (u->a_home == GEMM_A_IN_L2 && !packed_by_caller);
}

/* The most rows of a block of A. An A that is not packed leaves a quarter of L2 to B and C. */
static int most_mc(const packed_plan *plan)
{
    const packed_job *job = plan->job;
    const gemm_ukernel *u = plan->u;
    if (plan->packs_a) return even_step(job->M, u->mc, u->mr);
    if (!stays_in_l2(job, u)) return INT_MAX;
    const size_t row = plan->kc * sizeof *job->A;
    return max_int(u->mc, (int)(gemm_find_caches()->l2 / 4 * 3 / row)) / u->mr * u->mr;
}

/*
 * Panels copy a strip and fetch the next one between their steps. A sweep reads a strip where it
 * lies, and fetches the next one at its last tile. So panels are faster
 * - where enough rows share the copy, and a tile is long beside its beginning and its end, or the
 *   rows of B compete for few sets of L1,
 * - and with some rows where B comes from far. A strip of many steps takes long to copy.
 */
static bool prefers_panels(const packed_plan *plan, int rows)
{
    enum { MANY_ROWS = 48, LONG_TILE = 24 * 1024, FEW_SETS = 256, LONG_ROW = 1024,
           MANY_STEPS = 256 };
    const packed_job *job = plan->job;
    const gemm_ukernel *u = plan->u;
    if (!u->gemm.panels || job->K < GEMM_LEAST_PANELS_KC) return false;
    const bool is_long = (double)job->K * u->mr * u->nr >= LONG_TILE;
    const bool collides = job->B.rows && job->B.ld % FEW_SETS == 0;
    if (rows >= MANY_ROWS && (is_long || collides)) return true;
    return rows > u->mr && plan->grid.n_step >= LONG_ROW && job->K <= MANY_STEPS;
}

/* If K and the rows are one block each, and the tiles are finished and never added to. */
static bool should_sweep(const packed_plan *plan, int rows)
{
    const packed_job *job = plan->job;
    const packed_epilogue *e = &job->epilogue;
    if (!e->shift || !e->overwrite || e->alpha != 1 || job->B.columns) return false;
    return plan->kc >= job->K && plan->mc >= rows && !plan->packs_a && !job->a_panel &&
           job->a_step == 1 && plan->tail == 0 && !prefers_panels(plan, rows);
}

/* All that depends on the rectangles. */
static packed_plan cut_plan(const packed_job *job, const gemm_ukernel *u, int kc, int tail,
                            int threads)
{
    packed_plan plan = {.job = job, .u = u, .kc = kc, .tail = tail};
    plan.grid = packed_cut(job->M, job->N - plan.tail, plan.tail, job->K, u,
                           packed_threads(job->M, job->N, job->K, threads));

    const packed_rectangle largest = packed_get_rectangle(&plan.grid, 0);
    plan.packs_a = should_pack_a(job, u, plan.grid.n_step);
    plan.mc = even_step(largest.i1, most_mc(&plan), u->mr);
    const bool wide = job->B.rows && largest.i1 <= u->wide_rows && largest.j1 > u->nr;
    plan.nr = job->B.strips ? (int)job->B.ld : wide ? u->wide : u->nr;
    plan.sweeps = should_sweep(&plan, largest.i1);
    if (plan.sweeps && !job->B.strips) plan.nr = u->nr;
    /* L3 would have lost B before it is read again. */
    plan.passes_l3 = is_bound_by_b(job, u) && gemm_find_caches()->passes_l3;
    plan.run = choose_run(&plan);
    return plan;
}

packed_plan packed_make_plan(const packed_job *job, const gemm_ukernel *u, int threads)
{
    const int kc = choose_kc(job, u, should_pack_a(job, u, job->N));
    return cut_plan(job, u, kc, choose_tail(job, u), threads);
}

packed_plan packed_make_part(const packed_job *part, const packed_plan *whole)
{
    const gemm_ukernel *u = whole->u;
    return cut_plan(part, u, whole->kc, whole->tail ? part->N % u->tail_unit : 0, 1);
}
