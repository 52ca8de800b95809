/*
 * Packed gemm, in the manner of Goto and BLIS, for matrices of Darknet's shapes: few rows (M = 16
 * .. 1024), and B from 173056 columns by 27 rows to 169 columns by 4608.
 *
 *   loop 5   threads: C is cut into rectangles, each a whole multiply of its own; no barriers
 *   loop 4   for ic in steps of mc    a block of A's rows, or all: see first_place()
 *   loop 3     for pc in steps of kc    a block of K: a packed block of A, mc x kc, stays in L2
 *   loop 2       for jr in steps of nr    a strip of B, kc x nr, in L2 or L1
 *   loop 1         for ir in steps of mr    a panel of A, mr x kc, in L1
 *                    the micro-kernel: an mr x nr tile of C in registers, kc steps of k
 *
 *            kc                    nr                     nr
 *      +-----------+           +------+               +------+
 *   mr |  panel  ->|   times   |strip |   kc    =     | tile |  mr
 *      +-----------+           |  |   |               +------+
 *   mc |           |           |  v   |               |      |
 *      +-----------+           +------+               +------+
 *
 * What is unlike the textbook, and why:
 *
 * - B is packed a strip ahead of its use, by the micro-kernel: while the panels run over one strip,
 *   every few steps they copy a row of the next one to the other of two buffers, or transpose a
 *   block where B lies by columns, and fetch as much of the one behind it to L2. Spread so thin, stores
 *   and shuffles hide behind the FMAs, and most of the loads; all at once, or in the first panel's
 *   kernel, they would not. Without the copy, rows of B are far apart (169 * 4096 bytes: one L1 set),
 *   and each panel would miss them again. The first strip by rows is read where it lies, and so are
 *   strips that few panels share: for them a copy costs more than reading L2 again, see stays(). A strip
 *   that the kernel cannot copy (made from an image, or of columns that are few or short) is packed before.
 * - Rows of whole lines that begin behind a line, as Darknet's do, are cut so that strips begin at
 *   lines: a vector of B or C is then one access to L1 instead of two.
 * - Where A has few rows, memory is the limit, and it sends long pieces of a row faster than short ones:
 *   strips are then u->wide columns, several tiles side by side, and a large B leaves L3 to C.
 * - A is packed only when its panels are used often enough (or lie badly) to pay for it. The
 *   micro-kernel takes scalars of A, at any stride.
 * - Where N is no multiple of a vector, the columns behind the last whole one are a rest: a tile's rows
 *   of A meet them with vectors along k, which are full, while A is in L1 for the last strip.
 * - C is read and written once per block of K: a tile is fetched, a row at a time, while the one
 *   before it is multiplied.
 *
 * Memory: a block of A and two strips of B a thread, GEMM_SCRATCH_BYTES, kept between calls.
 *
 * Source: Goto, van de Geijn, "Anatomy of high-performance matrix multiplication", 2008; Van Zee,
 * van de Geijn, "BLIS", 2015.
 */
#include "packed/packed.h"

#include "util/ints.h"
#include "util/threads.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

/* A step of at most `most`, a multiple of `unit`, that cuts n into equal parts. */
static int even_step(int n, int most, int unit)
{
    const int parts = ceil_div(n, most);
    return ceil_div(ceil_div(n, parts), unit) * unit;
}

/* Of a block with few rows: see first_place(). */
static int longest_kc(const gemm_ukernel *u) { return u->kc + u->kc / 2; }

/* ---- packing ---- */

/* A block of A as the micro-kernel reads it: panel n begins at a + n * panel. */
typedef struct a_block {
    const float *a;
    size_t panel, row, step;
} a_block;

/*
 * Panels of mr rows, element (i, p) of a panel at [p * mr + i]. By columns (a_row = 1) a few of
 * them are copied to all panels before the next few: each column is on another page.
 */
static a_block pack_a(const packed_job *job, const gemm_ukernel *u, int ic, int mc, int pc, int kc,
                      float *dst)
{
    enum { COLUMNS = 16 };
    const bool by_columns = job->a_row == 1;
    const int step = by_columns ? COLUMNS : kc;
    for (int p = 0; p < kc; p += step) {
        const float *a = job->A + ic * job->a_row + (pc + p) * job->a_step;
        for (int ir = 0; ir < mc; ir += u->mr) {
            (by_columns ? u->copy : u->transpose)(
                a + ir * job->a_row, by_columns ? job->a_step : job->a_row,
                min_int(u->mr, mc - ir), min_int(step, kc - p), dst + ir * kc + p * u->mr, u->mr);
        }
    }
    return (a_block){dst, (size_t)u->mr * kc, 1, u->mr};
}

enum { PAGE = 4096 / sizeof(float) };

/*
 * Packing A pays when many strips share it. By rows it does at all only when they are a multiple of
 * half a page apart, and the lines of a panel compete for few sets of L1; by columns it does sooner
 * when the steps of k are a page apart, and all compete for one set.
 */
static bool should_pack_a(const packed_job *job, const gemm_ukernel *u, int columns)
{
    const int tiles = ceil_div(columns, u->nr);
    if (job->a_step == 1) return tiles >= 16 && job->a_row % (PAGE / 2) == 0;
    return tiles >= (job->a_step % PAGE == 0 ? 8 : 64);
}

/* ---- the loops ---- */

typedef struct rectangle {
    int i0, i1, j0, j1;
    bool upwards;               /* its panels from the last to the first: see packed_run() */
} rectangle;

/* A rectangle of C and where loops 4 to 2 are in it. As a struct, since the work on one strip
   includes bringing later ones nearer. */
typedef struct place {
    const packed_job *job;
    const gemm_ukernel *u;
    rectangle r;                    /* without the rest */
    int rest;                       /* columns from r.j1 on, which the last strip's tiles do */
    bool packs_a;
    int mc_step, kc_step, nr;       /* nr: the columns of a strip */
    int lead;                       /* by so many the first strip is narrower */
    bool once;                      /* B is read once, and large: L3 does better with C alone */
    bool over;                      /* no strip is left; what follows is that of the last */
    int ic, mc, pc, kc, jr, nc;     /* mc, kc, nc: the sizes of this step, smaller at the ends */
} place;

/* A last strip of one vector has too few accumulators to hide the FMA's latency: it gets another from
   the strip before, unless that must be whole to be transposed by the micro-kernel. */
static void settle(place *s)
{
    const int columns = s->r.j1 - s->jr, vl = s->u->vl;
    const int most = s->jr == s->r.j0 ? s->nr - s->lead : s->nr;
    s->mc = min_int(s->mc_step, s->r.i1 - s->ic);
    s->kc = min_int(s->kc_step, s->job->K - s->pc);
    s->nc = min_int(most, columns);
    if (s->nr == 3 * vl && columns == s->nr + vl && !s->job->B.columns) s->nc -= vl;
}

/* A rest reads rows of A, and pays when some panels share its transposed columns. That is asked of the
   whole job: another number of threads should not change the order of sums. */
static int rest_of(const place *s)
{
    enum { LEAST_PANELS = 8, LEAST_K = 128 };
    const packed_job *job = s->job;
    const int unit = s->u->rest_unit, rest = job->N % unit;
    if (s->packs_a || job->a_step != 1 || s->r.j1 < job->N || s->r.j1 - s->r.j0 < unit) return 0;
    if (job->M < LEAST_PANELS * s->u->mr || job->K < LEAST_K || rest > s->u->rest_most) return 0;
    return rest;
}

enum { LINE = 64 / sizeof(float) };

/* Darknet's large matrices begin 16 bytes behind a line. Where rows of B, or of C when B lies by columns,
   are whole lines and long, a narrower first strip lets the others begin where lines do. An image is cut
   at whole vectors only. */
static int lead_of(const place *s)
{
    enum { MANY_STRIPS = 32 };
    const packed_b *B = &s->job->B;
    const float *row = B->rows ? B->rows : s->job->C;
    const size_t ld = B->rows ? B->ld : s->job->ldc;
    if (!B->rows && !B->columns) return 0;
    if (ld % LINE || s->nr % LINE || s->r.j1 - s->r.j0 < MANY_STRIPS * s->nr) return 0;
    return (uintptr_t)(row + s->r.j0) / sizeof(float) % LINE;
}

/* So few panels leave the memory that B and C come from no time: see gemm_ukernel.wide. */
enum { FEW_PANELS = 8 };

/* So few panels read a strip from L2 as fast as they would from a copy. */
enum { FEW_READERS = 16 };

/* Lines fetched as non-temporal do not go to L3 when L2 gives them up; on AMD's processors, where they
   stay in L2 until then. Others hold them in L1 alone, which is too small. */
static bool can_pass_l3(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("amd");
#else
    return false;
#endif
}

/* B is large, and few panels read it: by the time that it is read again, L3 would have lost it. */
static bool is_read_once(const packed_job *job, const gemm_ukernel *u)
{
    enum { LARGE = 2 * 1024 * 1024 };
    if (!job->B.rows || job->M > FEW_READERS * u->mr) return false;
    return (double)job->K * job->N >= LARGE && can_pass_l3();
}

/*
 * A block of A that is packed has mc x kc at most, as the micro-kernel's file says; with fewer rows
 * kc may be half as long again, since C is then read and written less often. A that is not packed
 * comes from L3 for each strip where steps are long enough (see mc_in_place): all rows then share one
 * strip of B, which is packed once; and always where B costs more than a copy. By columns a panel is
 * half a line of each step of k, and the next panel the other half: where the lines are pages apart,
 * few of them stay in L2 until then.
 */
static place first_place(const packed_job *job, const gemm_ukernel *u, rectangle r)
{
    const int rows = r.i1 - r.i0;
    place s = {.job = job, .u = u, .r = r, .ic = r.i0, .jr = r.j0};
    s.packs_a = should_pack_a(job, u, r.j1 - r.j0);
    const int mc = s.packs_a ? u->mc : job->B.rows ? u->mc_in_place : INT_MAX;
    s.mc_step = even_step(rows, mc, u->mr);
    const int kc = s.packs_a ? u->mc * u->kc / s.mc_step / 4 * 4
                 : job->a_step % PAGE == 0 ? u->kc / 2 : INT_MAX;
    s.kc_step = even_step(job->K, min_int(longest_kc(u), kc), 4);
    s.nr = job->B.rows && rows <= FEW_PANELS * u->mr ? u->wide : u->nr;
    s.rest = rest_of(&s);
    s.r.j1 -= s.rest;
    s.lead = lead_of(&s);
    s.once = is_read_once(job, u);
    settle(&s);
    return s;
}

static a_block block_of_a(const place *s, float *packed)
{
    const packed_job *job = s->job;
    if (s->packs_a) return pack_a(job, s->u, s->ic, s->mc, s->pc, s->kc, packed);
    return (a_block){job->A + s->ic * job->a_row + s->pc * job->a_step, s->u->mr * job->a_row,
                     job->a_row, job->a_step};
}

/* Loop 2, then 3, then 4. */
static place following(const place *before)
{
    place s = *before;
    if (s.jr + s.nc < s.r.j1) {
        s.jr += s.nc;
    } else if (s.pc + s.kc < s.job->K) {
        s.jr = s.r.j0;
        s.pc += s.kc;
    } else if (s.ic + s.mc < s.r.i1) {
        s.jr = s.r.j0;
        s.pc = 0;
        s.ic += s.mc;
    } else {
        s.over = true;
        return s;
    }
    settle(&s);
    return s;
}

/* Where a strip begins, in a B that lies in memory. */
static const float *source_of(const place *s)
{
    const packed_b *B = &s->job->B;
    return B->rows ? B->rows + s->pc * B->ld + s->jr : B->columns + s->jr * B->ld + s->pc;
}

/* A strip that the micro-kernel, which reads whole vectors, can read where it lies. */
static bool is_plain(const place *s)
{
    return s->job->B.rows && s->jr + ceil_div(s->nc, s->u->vl) * s->u->vl <= s->job->N;
}

static void pack_strip(const place *s, float *strip)
{
    const packed_b *B = &s->job->B;
    if (B->rows) {
        s->u->copy(source_of(s), B->ld, s->nc, s->kc, strip, s->nr);
    } else if (B->columns) {
        s->u->transpose(source_of(s), B->ld, s->nc, s->kc, strip, s->nr);
    } else {
        B->pack(B, s->u, s->pc, s->kc, s->jr, s->nc, strip);
    }
}

static bool has_rest(const place *s) { return s->rest && s->jr + s->nc == s->r.j1; }

static size_t rest_ld(const place *s) { return ceil_div(s->kc, s->u->vl) * s->u->vl; }

/* The rest behind the last strip, by columns. room: for a strip. */
static void pack_rest(const place *s, float *columns, float *room)
{
    const packed_b *B = &s->job->B;
    const gemm_ukernel *u = s->u;
    const float *rows = room;
    size_t ld = u->nr;
    if (B->columns) {
        u->copy(source_of(s) + s->nc * B->ld, B->ld, s->kc, s->rest, columns, rest_ld(s));
        return;
    }
    if (B->rows) {
        rows = source_of(s) + s->nc, ld = B->ld;
    } else {
        B->pack(B, u, s->pc, s->kc, s->r.j1, s->rest, room);
    }
    u->transpose(rows, ld, s->kc, s->rest, columns, rest_ld(s));
}

/*
 * A strip by rows that few panels read is best read where it lies, from L2. Not so when its rows are
 * pages apart, in the same sets of L1, or when many of them are in the same sets of L2: 4 at most, where it
 * has 1024 sets of lines.
 */
static bool stays(const place *next, int panels)
{
    enum { IN_L2 = 4 * 1024 * LINE };
    const size_t ld = next->job->B.ld, apart = ld & -ld;    /* the power of two in it */
    if (!is_plain(next)) return false;
    return panels == 1 || (panels <= FEW_READERS && apart < PAGE && next->kc * apart <= IN_L2);
}

/* Strips of so few steps are over before memory answers for the next but one; columns are so short that
   they are transposed faster all at once. */
enum { FEW_STEPS = 64 };

/* Whether the tiles of the strip at s, in so many panels, copy the next one in a step's time for each
   piece. */
static bool copies(const place *s, const place *next, int panels, int pieces, int steps)
{
    if (pieces > steps) return false;
    return s->job->B.rows ? !stays(next, panels) : next->nc == next->nr && next->kc >= FEW_STEPS;
}

/*
 * What the tiles of the strip at s do for later ones: copy the next to `to`, and fetch another. Returns
 * whether the next is copied. By columns only whole tiles do so.
 */
static bool plan_moves(const place *s, const place *next, const place *fetched, float *to,
                       gemm_moves *moves)
{
    const packed_b *B = &s->job->B;
    const gemm_ukernel *u = s->u;
    const bool by_columns = B->columns;
    const int panels = by_columns ? s->mc / u->mr : ceil_div(s->mc, u->mr);
    *moves = (gemm_moves){.ld = B->ld, .width = s->nr};
    if (!(B->rows || by_columns) || next->over) return false;
    if (by_columns && (s->nc < s->nr || panels == 0)) return false;
    moves->by_columns = by_columns;
    moves->kc = next->kc;
    moves->left = by_columns ? s->nr / u->block * ceil_div(next->kc, u->block) : next->kc;
    const int steps = panels * ceil_div(s->nc, u->nr) * s->kc;
    moves->every = steps > moves->left ? steps / moves->left : 1;
    const bool copied = copies(s, next, panels, moves->left, steps);
    if (copied) {
        moves->copy = source_of(next);
        moves->cols = next->nc;
        moves->to = to;
    }
    if (!fetched->over) moves->fetch = source_of(fetched);
    moves->once = s->once;
    return copied;
}

/* Loop 1: all panels of a block of A times one strip of B, and the rest if that is behind it. */
static void multiply_strip(const place *s, const a_block *A, const float *b, size_t b_row,
                           const float *rest_b, gemm_moves *moves)
{
    const packed_job *job = s->job;
    const packed_epilogue *epilogue = &job->epilogue;
    const bool last = s->pc + s->kc == job->K;
    const int next_jr = s->jr + s->nc < s->r.j1 ? s->jr + s->nc : s->r.j0;
    const int panels = ceil_div(s->mc, s->u->mr);
    const int first = s->r.upwards ? panels - 1 : 0, way = s->r.upwards ? -1 : 1;
    gemm_tile t = {
        .cols = s->nc, .kc = s->kc,
        .a_row = A->row, .a_step = A->step,
        .b = b, .b_row = b_row,
        .moves = moves,
        .c_row = job->ldc,
        .alpha = epilogue->alpha,
        .add = !(epilogue->overwrite && s->pc == 0),
    };
    if (has_rest(s)) {
        t.rest = s->rest;
        t.rest_b = rest_b;
        t.rest_ld = rest_ld(s);
    }
    for (int n = 1, panel = first, next; n <= panels; ++n, panel = next) {
        const int i = s->ic + panel * s->u->mr;
        next = n < panels ? panel + way : first;
        t.rows = min_int(s->u->mr, s->ic + s->mc - i);
        t.a = A->a + panel * A->panel;
        t.a_next = A->a + next * A->panel;
        t.c = job->C + i * job->ldc + s->jr;
        t.c_next = job->C + (s->ic + next * s->u->mr) * job->ldc + (n < panels ? s->jr : next_jr);
        if (last && epilogue->shift) {
            t.shift = epilogue->shift + i;
            t.scale = epilogue->scale ? epilogue->scale + i : NULL;
            t.slope = epilogue->slope;
        }
        s->u->tile(&t);
        if (t.rest) s->u->rest(&t);
        if (last && epilogue->finish) {
            epilogue->finish(epilogue, i, t.rows, s->jr, s->nc + t.rest, t.c, job->ldc);
        }
    }
}

/* Loops 4 to 2: C[i0..i1, j0..j1], all of K. The two strip buffers take turns. Behind them is a block
   of A or, where A is not packed, the rest of B. */
static void multiply_rectangle(const packed_job *job, const gemm_ukernel *u, rectangle r,
                               float *scratch)
{
    enum { PLACES = 4 };
    place at[PLACES] = {first_place(job, u, r)};
    for (int n = 1; n < PLACES; ++n) at[n] = following(&at[n - 1]);
    const size_t strip_size = (size_t)at->kc_step * at->nr;
    const int ahead = job->B.rows && at->kc_step < FEW_STEPS ? 3 : 2;
    float *strip = scratch, *other = strip + strip_size, *behind = other + strip_size;
    a_block A;
    bool copied = false;
    for (int n = 0; !at[n % PLACES].over; ++n) {
        place *const s = &at[n % PLACES], *const next = &at[(n + 1) % PLACES];
        if (s->jr == r.j0) A = block_of_a(s, behind);
        const bool in_place = !copied && is_plain(s);
        if (!copied && !in_place) pack_strip(s, strip);
        if (has_rest(s)) pack_rest(s, behind, other);

        gemm_moves moves;
        copied = plan_moves(s, next, &at[(n + ahead) % PLACES], other, &moves);
        multiply_strip(s, &A, in_place ? source_of(s) : strip,
                       in_place ? job->B.ld : (size_t)s->nr, behind, &moves);
        float *const swap = strip;
        strip = other, other = swap;
        *s = following(&at[(n + PLACES - 1) % PLACES]);
    }
}

/* ---- loop 5: threads ---- */

typedef struct grid {
    const packed_job *job;
    const gemm_ukernel *u;
    int m_step, n_step, across;     /* chunk c is the rectangle (c / across, c % across) */
} grid;

static void multiply_chunk(void *arg, int chunk, void *scratch)
{
    const grid *g = arg;
    const packed_job *job = g->job;
    const int row = chunk / g->across, column = chunk % g->across;
    rectangle r = {.i0 = row * g->m_step, .j0 = column * g->n_step};
    r.i1 = min_int(r.i0 + g->m_step, job->M);
    r.j1 = min_int(r.j0 + g->n_step, job->N);
    r.upwards = row % 2 == 0 && r.i1 < job->M;
    multiply_rectangle(job, g->u, r, scratch);
}

/* A call smaller than this is done before a worker could help. */
static int worthwhile_threads(int M, int N, int K, int threads)
{
    return (double)M * N * K < 500e3 ? 1 : threads;
}

void packed_run_here(const packed_job *job, const gemm_ukernel *u, void *scratch)
{
    multiply_rectangle(job, u, (rectangle){.i1 = job->M, .j1 = job->N}, scratch);
}

/*
 * Wide C is cut by columns, else by rows: a thread's rectangle reads its own part of B, or of A, and
 * shares the other, the smaller one. Below each other two rectangles go through their panels away from
 * where they meet: the processor fetches C ahead, panels beyond the last, and those would be lines that
 * the neighbour writes, which took up to a quarter of its time where the two cores have no L3 in common.
 */
int packed_run(const packed_job *job, const gemm_ukernel *u, int threads)
{
    assert((u->mc * u->kc + 2 * u->wide * longest_kc(u)) * sizeof(float) <= GEMM_SCRATCH_BYTES);
    threads = worthwhile_threads(job->M, job->N, job->K, threads);
    grid g = {job, u, job->M, job->N, 1};
    if (job->N / 4 >= job->M) {
        g.n_step = even_step(job->N, ceil_div(job->N, threads), u->nr);
        g.across = ceil_div(job->N, g.n_step);
    } else {
        g.m_step = even_step(job->M, ceil_div(job->M, threads), u->mr);
    }
    return gemm_parallel(threads, ceil_div(job->M, g.m_step) * g.across, multiply_chunk, &g);
}

/* ---- M = 1 or N = 1: a vector times a matrix, each element of which is used once ---- */

/* y[j] += alpha * sum over p of x[p] * m(p, j): m by rows of n (`across`) or by rows of K. */
typedef struct thin {
    const gemm_ukernel *u;
    int n, K;
    float alpha;
    const float *x, *m;
    size_t x_step, ld;
    bool across;
    float *y;
    size_t y_step;
    int n_step;                 /* chunk c is columns c * n_step and up */
} thin;

enum { PIECE = 16 * 1024 };     /* floats of y that stay in L2 while rows of m pass by */

/* Where one piece takes several turns: the sum is kept apart from y, which is rounded once. */
static bool needs_sum(const thin *t)
{
    return t->across && t->K > GEMM_ADD_ROWS;
}

static void add_rows_of(const thin *t, int j0, int j1, float *sum)
{
    const float one = 1;
    for (int j = j0; j < j1; j += PIECE) {
        const int n = min_int(PIECE, j1 - j);
        float *to = needs_sum(t) ? memset(sum, 0, n * sizeof *sum) : t->y + j;
        for (int p = 0; p < t->K; p += GEMM_ADD_ROWS) {
            const int rows = min_int(GEMM_ADD_ROWS, t->K - p);
            float x[GEMM_ADD_ROWS];
            for (int q = 0; q < rows; ++q) x[q] = t->alpha * t->x[(p + q) * t->x_step];
            t->u->add_rows(rows, n, x, t->m + p * t->ld + j, t->ld, to);
        }
        if (to == sum) t->u->add_rows(1, n, &one, sum, 0, t->y + j);
    }
}

static void multiply_thin(void *arg, int chunk, void *scratch)
{
    const thin *t = arg;
    const int j0 = chunk * t->n_step, j1 = min_int(j0 + t->n_step, t->n);
    if (t->across) {
        add_rows_of(t, j0, j1, scratch);
        return;
    }
    for (int j = j0; j < j1; ++j) {
        t->y[j * t->y_step] += t->alpha * t->u->dot(t->K, t->x, t->m + j * t->ld);
    }
}

/* C as a row, or as a column. The steps of A and B are those of k. */
static thin make_thin(const gemm_call *c, const gemm_ukernel *u)
{
    const size_t a_step = c->TA ? c->lda : 1, b_step = c->TB ? 1 : c->ldb;
    thin t = {.u = u, .K = c->K, .alpha = c->ALPHA};
    if (c->M == 1) {
        t.n = c->N, t.x = c->A, t.x_step = a_step, t.m = c->B, t.ld = c->ldb;
        t.across = !c->TB, t.y = c->C, t.y_step = 1;
    } else {
        t.n = c->M, t.x = c->B, t.x_step = b_step, t.m = c->A, t.ld = c->lda;
        t.across = c->TA, t.y = c->C, t.y_step = c->ldc;
    }
    return t;
}

/* Vectors that the kernels cannot step through: the tiles can. */
static bool is_thin(const thin *t)
{
    return t->across ? t->y_step == 1 : t->x_step == 1;
}

/* ---- calls that none of this suits ---- */

/* So few multiplications Darknet's own loops are done with before those here are set up, for which there is
   least where rows are added to a row. A narrow outer product has nothing to fill vectors with. */
static bool is_tiny(const gemm_call *c, const gemm_ukernel *u)
{
    enum { TINY = 2000, TINY_ACROSS = 64 };
    const bool across = c->M == 1 ? !c->TB : c->N == 1 && c->TA;
    if (c->K == 1 && !c->TB && c->N < 3 * u->vl) return true;
    return (double)c->M * c->N * c->K <= (across ? TINY_ACROSS : TINY);
}

/* K = 1: C is read and written once, and row after row suits so little work, and memory, better than
   tiles do. */
typedef struct outer {
    const gemm_call *call;
    const gemm_ukernel *u;
} outer;

enum { OUTER_ROWS = 16 };

static void multiply_outer(void *arg, int chunk, void *scratch)
{
    (void)scratch;
    const outer *o = arg;
    const gemm_call *c = o->call;
    const int end = min_int((chunk + 1) * OUTER_ROWS, c->M);
    for (int i = chunk * OUTER_ROWS; i < end; ++i) {
        const float x = c->ALPHA * c->A[(size_t)i * (c->TA ? 1 : c->lda)];
        o->u->add_rows(1, c->N, &x, c->B, 0, c->C + (size_t)i * c->ldc);
    }
}

/* ---- the row of the table ---- */

const gemm_ukernel *const gemm_ukernels[] = {
#if defined(__x86_64__)
    &gemm_ukernel_avx512,
    &gemm_ukernel_avx2,
#elif defined(__aarch64__)
    &gemm_ukernel_neon,
#endif
    &gemm_ukernel_generic,
    NULL,
};

const gemm_ukernel *gemm_ukernel_find(const char *name)
{
    for (const gemm_ukernel *const *u = gemm_ukernels; *u; ++u) {
        if ((!name || !strcmp(name, (*u)->name)) && (*u)->supported()) return *u;
    }
    return NULL;
}

static packed_job make_job(const gemm_call *c)
{
    packed_job job = {
        .M = c->M, .N = c->N, .K = c->K,
        .A = c->A,
        .a_row = c->TA ? 1 : c->lda,
        .a_step = c->TA ? c->lda : 1,
        .B = {.ld = c->ldb},
        .C = c->C,
        .ldc = c->ldc,
        .epilogue = {.alpha = c->ALPHA},
    };
    if (c->TB) {
        job.B.columns = c->B;
    } else {
        job.B.rows = c->B;
    }
    return job;
}

/* The status of a job that did or did not find memory. */
static gemm_status status_of(int no_memory)
{
    return no_memory ? GEMM_DECLINED : GEMM_DONE;
}

gemm_status gemm_packed(const gemm_call *c, const gemm_context *context, const void *params)
{
    (void)params;
    const gemm_ukernel *u = context->isa;
    if (is_tiny(c, u)) return GEMM_DECLINED;
    const int threads = worthwhile_threads(c->M, c->N, c->K, context->threads);
    if (c->K == 1 && !c->TB) {
        outer o = {c, u};
        return status_of(gemm_parallel(threads, ceil_div(c->M, OUTER_ROWS), multiply_outer, &o));
    }
    if (c->M == 1 || c->N == 1) {
        thin t = make_thin(c, u);
        if (is_thin(&t)) {
            t.n_step = threads == 1 ? t.n : even_step(t.n, ceil_div(t.n, threads), u->vl);
            if (t.n_step >= t.n && !needs_sum(&t)) {
                multiply_thin(&t, 0, NULL);
                return GEMM_DONE;
            }
            return status_of(gemm_parallel(threads, ceil_div(t.n, t.n_step), multiply_thin, &t));
        }
    }
    const packed_job job = make_job(c);
    return status_of(packed_run(&job, u, threads));
}
