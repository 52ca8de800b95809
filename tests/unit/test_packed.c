/* SPDX-License-Identifier: MIT */
/*
 * What is particular to the row `packed`: each instruction set of this processor, thread counts 1
 * to 8, every alignment, guard pages on both sides; and its two seams, with a source of B and an
 * epilogue of the test's own.
 *
 *   test_packed [--seed S] [--cases N] [--case I] [--isa NAME] [--threads N] [--brief yes]
 *
 * --brief leaves out what takes minutes under valgrind. --threads 1 leaves out the comparison of 1
 * to 8 threads, which takes minutes under qemu. A case depends on the seed and its number alone. A
 * failure prints the command that repeats it.
 */
#include "check/check.h"
#include "driver/driver.h"
#include "packed/gemm/loops.h"
#include "packed/gemm/plan.h"
#include "packed/packed.h"
#include "util/caches.h"
#include "util/ints.h"
#include "util/threads.h"
#include "support/cases.h"
#include "support/isas.h"
#include "support/product.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OFFSETS = 16, MOST_THREADS = 8 };

static bool brief;              /* an option of this program's own */

typedef struct problem {
    product of;
    int threads;
    enum { ANY, TINY, LARGE } expects;      /* TINY: the row has to decline it */
} problem;

/* ---- random problems ---- */

/* Thin, around the tile's side, around a block's edge, a prime or so, Darknet's 169. */
static int pick_size(rng *r, int tile, int block)
{
    switch (rng_below(r, 6)) {
    case 0: return 1 + rng_below(r, 3);
    case 1: return tile - 1 + rng_below(r, 3);
    case 2: return tile * (1 + rng_below(r, 3)) + rng_below(r, 3);
    case 3: return 1 + rng_below(r, 2 * tile);
    case 4: return rng_below(r, 4) ? 31 + rng_below(r, 140) : block - 1 + rng_below(r, 3);
    default: return 169;
    }
}

/* So few multiplications the row leaves to the driver, which runs Darknet's own loops: with C as
   one vector to which rows are added, 64 of them, else 2000. So too outer products narrower than
   three vectors. */
static bool is_tiny(const gemm_ukernel *u, const gemm_call *c)
{
    const bool adds_rows = c->M == 1 ? !c->TB : c->N == 1 && c->TA && c->ldc == 1;
    if (c->K == 1 && !c->TB && c->N < 3 * u->vl) return true;
    return (double)c->M * c->N * c->K <= (adds_rows ? 64 : 2000);
}

/* Every 50th may be tiny. */
static void pick_sizes(gemm_call *c, const gemm_ukernel *u, rng *r, int number)
{
    do {
        c->M = pick_size(r, u->mr, u->mc);
        c->N = pick_size(r, rng_below(r, 2) ? u->nr : u->wide, 4 * u->wide);
        c->K = pick_size(r, 8, u->kc);
    } while (number % 50 && is_tiny(u, c));
}

static problem make_random(const gemm_ukernel *u, rng *r, int number)
{
    static const float alphas[] = {1, 1, -0.5f, 2.5f, 0};
    problem p = {.threads = 1 + number % MOST_THREADS};
    gemm_call *c = &p.of.call;
    c->TA = number / 8 & 1;
    c->TB = number / 16 & 1;
    pick_sizes(c, u, r, number);
    c->ALPHA = alphas[rng_below(r, 5)];
    if (number % 41 == 40) {            /* an outer product beyond the caches */
        c->M = 150 + rng_below(r, 50);
        c->N = 32 * 1024 / c->M + 1 + rng_below(r, 2 * u->nr);
        c->K = 1;
    }
    if (number % 41 == 39) {            /* a row of several pieces, in several turns */
        c->TB = 0;
        c->M = 1;
        c->N = 16 * 1024 + 1 + rng_below(r, 4 * u->nr);
        c->K = 1 + rng_below(r, 3 * GEMM_ADD_ROWS);
    }
    if (number % 41 == 38) { /* few panels, strips of different widths, several blocks of K */
        c->M = u->mr + 1 + rng_below(r, 4 * u->mr);
        c->N = u->wide + 1 + rng_below(r, 2 * u->wide);
        c->K = 2 * u->kc + rng_below(r, 2 * u->kc);
    }
    if (number % 41 == 37) {    /* wide strips that are copied, a last one narrow and of whole
                                   vectors, several blocks of K */
        c->TA = c->TB = 0;
        c->M = u->mr + 1 + rng_below(r, u->wide_rows - u->mr);
        c->N = u->wide + u->vl * (1 + rng_below(r, u->nr / u->vl));
        c->K = 2 * u->kc + rng_below(r, 2 * u->kc);
        c->ldb = round_up(c->N + rng_below(r, 17), PAGE);
    }
    product_draw(&p.of, r);
    return p;
}

static const int NO_OFFSET[3];

/* Leaves NaN in the caller's scratch: what is read there must have been written. */
static void spoil(void *arg, int chunk, void *scratch)
{
    (void)arg, (void)chunk;
    memset(scratch, 0xff, GEMM_SCRATCH_BYTES);
}

/* The row on these micro-kernels, NULL for those of GEMM_ISA. */
static gemm_status run_packed(const gemm_call *c, const gemm_ukernel *u)
{
    gemm_note note;
    gemm_context context = gemm_make_context(&note);
    if (u) context.isa = u;
    return gemm_packed(c, &context, NULL);
}

/* NULL, or what is wrong. The row must decline tiny calls, and no others, with C untouched. */
static const char *run_and_judge(const gemm_ukernel *u, problem *p, char *why, size_t size)
{
    gemm_oracle oracle;
    const gemm_call *c = &p->of.call;
    gemm_call zero = *c;
    const bool tiny = is_tiny(u, c);
    if (p->expects && tiny != (p->expects == TINY)) return "the test contradicts itself";
    if (tiny) zero.ALPHA = 0;
    if (gemm_oracle_make(&oracle, &zero)) return "no memory for the reference";
    gemm_set_threads(p->threads);
    if (gemm_parallel(1, 1, spoil, NULL)) return "no memory for scratch";
    const gemm_status status = run_packed(c, u);
    const gemm_error worst = gemm_oracle_compare(&oracle, c);
    gemm_oracle_free(&oracle);
    if (status != (tiny ? GEMM_DECLINED : GEMM_DONE)) return tiny ? "not declined" : "declined";
    if (tiny && !(worst.difference == 0)) return "declined, but C has changed";
    if (!guarded_padding_intact(&p->of.C)) return "it wrote between the rows of C";
    if (worst.ratio <= 1) return NULL;
    snprintf(why, size, "C[%d][%d] is off by %g, %.3g times the bound", worst.row, worst.column,
             worst.difference, worst.ratio);
    return why;
}

/* A kind of problems: number n of them. */
typedef struct kind {
    const char *name;
    problem (*make)(const gemm_ukernel *, rng *, int n);
    const gemm_ukernel *u;
    uint64_t stream;
} kind;

static const char *judge_kind(void *of, rng *r, int number, char *text)
{
    static char why[160];
    const kind *k = of;
    problem p = k->make(k->u, r, number);
    const char *wrong = run_and_judge(k->u, &p, why, sizeof why);
    product_text(&p.of.call, text);
    product_free(&p.of);
    return wrong;
}

static void test_kind(kind k, const test_options *o, int count)
{
    char name[48], repeat[48];
    snprintf(name, sizeof name, "packed %s%s", k.u->name, k.name);
    snprintf(repeat, sizeof repeat, "test_packed --isa %s", k.u->name);
    judge_cases(&(random_cases){.name = name, .repeat = repeat, .stream = k.stream, .count = count,
                                .judge = judge_kind, .subject = &k}, o);
}

/* Calls on both sides of each limit under which the row declines. */
enum { LIMITS = 15 };
static problem make_limit(const gemm_ukernel *u, rng *r, int n)
{
    const int narrow = 3 * u->vl;
    const struct { gemm_call call; bool declined; } calls[LIMITS] = {
        {{.M = 10, .N = 10, .K = 20}, true},
        {{.M = 10, .N = 10, .K = 20, .TA = 1, .TB = 1}, true},
        {{.M = 23, .N = 29, .K = 3}, false},
        {{.M = 23, .N = 29, .K = 3, .TA = 1, .TB = 1}, false},
        {{.M = 1, .N = 8, .K = 8}, true},
        {{.M = 1, .N = 13, .K = 5}, false},
        {{.M = 1, .N = 100, .K = 20, .TB = 1}, true},
        {{.M = 1, .N = 87, .K = 23, .TB = 1}, false},
        {{.M = 8, .N = 1, .K = 8, .TA = 1, .ldc = 1}, true},
        {{.M = 13, .N = 1, .K = 5, .TA = 1, .ldc = 1}, false},
        {{.M = 13, .N = 1, .K = 5, .TA = 1, .ldc = 2}, true},
        {{.M = 87, .N = 1, .K = 23, .TA = 1, .ldc = 2}, false},
        {{.M = 1000, .N = narrow - 1, .K = 1}, true},
        {{.M = 1000, .N = narrow, .K = 1}, false},
        {{.M = 1000, .N = narrow - 1, .K = 1, .TB = 1}, false},
    };
    problem p = {.of.call = calls[n].call, .threads = 1 + n % 2,
                 .expects = calls[n].declined ? TINY : LARGE};
    p.of.call.ALPHA = 1;
    product_place(&p.of, AT_END, NO_OFFSET, r);
    return p;
}

/* Each of A, B and C in turn at every offset of 0, 4 .. 60 bytes from either guard page. */
enum { ALL_OFFSETS = 2 * OFFSETS * 3 };
static problem make_offset(const gemm_ukernel *u, rng *r, int n)
{
    int offset[3] = {0};
    problem p = {
        .of.call = {.M = u->mr + 1, .N = u->nr + 1 + rng_below(r, u->nr), .K = 61, .ALPHA = 1},
        .threads = 1, .expects = LARGE};
    offset[n / (2 * OFFSETS)] = 4 * (n / 2 % OFFSETS);
    product_place(&p.of, n & 1 ? AT_END : AT_START, offset, r);
    return p;
}

/* So many tiles share A, and its rows or columns are so far apart, that it is packed: in more than
   one block of rows and of K, the last of them a little shorter. */
static problem make_packed_a(const gemm_ukernel *u, rng *r, int TA)
{
    problem p = {.of.call = {.TA = TA, .M = u->mc + u->mr + 1, .N = 17 * u->nr + 1,
                             .K = 2 * u->kc - 1, .ALPHA = 1, .lda = 1024},
                 .threads = 1};
    product_place(&p.of, AT_END, NO_OFFSET, r);
    return p;
}

/* Every count of columns behind the whole vectors, between guard pages: B by rows, in whole strips
   or one vector more or less, and by columns; K of one block or several, and no multiple of a
   vector. 16 * tail_unit of them. */
static problem make_along_k(const gemm_ukernel *u, rng *r, int n)
{
    enum { PANELS = 9, LEAST_K = 128 };
    const int tail = n / 16, columns = u->nr + (1 + n / 4 % 4) * u->tail_unit;
    problem p = {.threads = 1};
    p.of.call = (gemm_call){.TB = n & 1, .N = columns + tail, .ALPHA = n % 3 ? 1 : -.5f};
    p.of.call.M = PANELS * u->mr + rng_below(r, u->mr);
    p.of.call.K = n & 2 ? 2 * u->kc + rng_below(r, 2 * u->vl) : LEAST_K + rng_below(r, u->vl);
    product_draw(&p.of, r);
    return p;
}

/* Rows of whole lines, long enough that strips begin at lines wherever B begins: few panels and
   many, rows near each other and pages apart, and any number of columns in the last strip. */
enum { ALL_LINES = 3 * 2 * OFFSETS };
static problem make_lines(const gemm_ukernel *u, rng *r, int n)
{
    enum { LINE = 16, FAR = 1024 };
    const int rows[] = {u->mr - 1, 3 * u->mr + 1, 17 * u->mr}, whole = n & 1 ? FAR : LINE;
    const int side = rng_below(r, 2) ? AT_END : AT_START;
    problem p = {.threads = 1 + n % 3};
    gemm_call *c = &p.of.call;
    *c = (gemm_call){.M = rows[n / 2 / OFFSETS], .N = 33 * u->wide + rng_below(r, 2 * u->nr),
                     .ALPHA = 1};
    c->K = 20 + rng_below(r, 80);
    c->ldb = round_up(c->N, whole);
    product_place(&p.of, side, (int[]){0, 4 * (n / 2 % OFFSETS), 4 * rng_below(r, OFFSETS)}, r);
    return p;
}

/* NULL, or what is wrong with dot products of n floats. Each row must have the bits that it has
   alone, because a thread takes any number of rows. NaN lies between the rows. */
static const char *judge_dots(const gemm_ukernel *u, int n, rng *r)
{
    const int ld = n + n % 3;
    guarded x = guarded_make(1, n, n, AT_END, 0);
    guarded m = guarded_make(GEMM_DOT_ROWS, n, ld, AT_END, 0);
    float alone[GEMM_DOT_ROWS], together[GEMM_DOT_ROWS];
    bool finite = true, same = true;
    guarded_fill(&x, r);
    guarded_fill(&m, r);
    for (int i = 0; i < GEMM_DOT_ROWS; ++i) {
        u->skinny.dots(1, n, x.data, m.data + i * ld, (size_t)ld, &alone[i]);
        finite = finite && isfinite(alone[i]);
    }
    for (int rows = 1; rows <= GEMM_DOT_ROWS; ++rows) {
        u->skinny.dots(rows, n, x.data, m.data, (size_t)ld, together);
        same = same && !memcmp(together, alone, (size_t)rows * sizeof *alone);
    }
    guarded_free(&x);
    guarded_free(&m);
    return !finite ? "padding was read" : !same ? "the bits depend on the number of rows" : NULL;
}

static void test_dots(const gemm_ukernel *u, const test_options *o)
{
    enum { LONGEST = 100 };
    char name[48];
    rng r = rng_make(o->seed, 5000000);
    snprintf(name, sizeof name, "packed %s dots", u->name);
    for (int n = 1; n <= LONGEST; ++n) {
        const char *wrong = judge_dots(u, n, &r);
        if (!wrong) continue;
        report_fail(name, "%s; %d floats", wrong, n);
        return;
    }
    report_pass(name);
}

/* Copies and transposes panels of every width, of rows near each other and apart: what they hold,
   the zeroes behind, and no more. */
static void test_panels(const gemm_ukernel *u)
{
    enum { MOST_KC = 137, LD = 151, END = 2 };
    static float src[LD * LD], dst[(MOST_KC + END) * LD];
    static const int steps[] = {1, 7, 9, 64, 70, MOST_KC};
    char name[48];
    snprintf(name, sizeof name, "packed %s panels", u->name);
    for (int i = 0; i < LD * LD; ++i) src[i] = (float)(i + 1);
    for (int which = 0; which < 8 * u->nr * 6; ++which) {
        const bool by_copy = which & 1;
        const int width = which & 2 ? u->mr : u->nr, kc = steps[which / 8 % 6],
                  n = which / 48 % width + 1;
        const int ld = which & 4 ? LD : kc > n ? kc : n;
        for (int i = 0; i < (MOST_KC + END) * LD; ++i) dst[i] = -1;
        (by_copy ? u->pack.copy : u->pack.transpose)(src, ld, n, kc, dst, width);
        for (int at = 0; at < (kc + END) * width; ++at) {
            const int p = at / width, i = at % width;
            const float expected = p >= kc   ? -1
                                   : i >= n  ? 0
                                   : by_copy ? src[p * ld + i]
                                             : src[i * ld + p];
            if (dst[at] == expected) continue;
            report_fail(name, "%s of %d by %d, ld %d, %d wide: [%d][%d] is %g",
                        by_copy ? "copy" : "transpose", kc, n, ld, width, p, i, (double)dst[at]);
            return;
        }
    }
    report_pass(name);
}

/* ---- the number of threads ---- */

/* M, N, K and lda - K (or lda - M when A is transposed). lda 0: rows of A lie without padding. */
typedef struct shape {
    int M, N, K, lda;
} shape;

/*
 * Calls that any number of threads could cut into parts for which another plan looks better than
 * for the whole. A is packed or not. K is one block or several. Tail columns would be alone in a
 * part. Rows are cut, or columns. There are one row, one column and an outer product too.
 */
static int shapes_to_cut(const gemm_ukernel *u, shape *shapes)
{
    enum { FAR = 1024 };
    const int tail = u->tail_most, unit = u->tail_unit;
    const shape all[] = {
        {256, 1000, 1024, 0},
        {250, 1003, 1029, 0},
        {u->mc, 16 * u->nr + 1, 4 * u->kc + 3, 5 * FAR},
        {2 * u->mc + 3, 65 * u->nr + 1, 2 * u->kc - 1, 3 * FAR},
        {9 * u->mr, 20 * u->nr + tail, 2 * u->kc + 5, FAR},
        {9 * u->mr, 44 * u->nr + tail, 2 * u->kc + 5, FAR},
        {3 * u->mr, 12 * u->nr, 2 * u->kc + 1, FAR},
        {8 * u->mr, (32 * u->mr / unit + 9) * unit + tail, 300, 0},
        {9 * u->mr, (36 * u->mr / unit + 6) * unit + 1, 300, 0},
        {200 * u->mr + 1, u->nr + tail, 2 * u->kc + 9, 0},
        {1, 5003, 211, 0},
        {5003, 1, 211, 0},
        {1, 211, 5003, 0},
        {1201, 803, 1, 0},
    };
    memcpy(shapes, all, sizeof all);
    return (int)(sizeof all / sizeof *all);
}

/* A multiply on these micro-kernels. */
typedef struct threaded {
    const gemm_call *call;
    const gemm_ukernel *u;
} threaded;

static gemm_status run_threaded(void *op, int threads, gemm_kept *kept, gemm_note *note)
{
    const threaded *t = op;
    (void)kept, (void)note;
    gemm_set_threads(threads);
    return run_packed(t->call, t->u);
}

/* Shape number / 4, with these transposes. */
static const char *judge_shape(void *isa, rng *r, int number, char *text)
{
    shape shapes[16];
    shapes_to_cut(isa, shapes);
    const shape s = shapes[number / 4];
    product p = {.call = {.TA = number & 1, .TB = number >> 1 & 1, .M = s.M, .N = s.N, .K = s.K,
                          .ALPHA = 1.5f}};
    const int width = p.call.TA ? s.M : s.K;
    p.call.lda = s.lda > width ? s.lda : 0;
    product_place(&p, AT_END, NO_OFFSET, r);
    product_text(&p.call, text);
    const size_t bytes = product_floats(&p.call) * sizeof(float);
    float *const before = malloc(bytes);
    if (!before) abort();
    memcpy(before, p.C.data, bytes);
    threaded t = {&p.call, isa};
    const judged j = {.op = &t, .output = p.C.data, .bytes = bytes, .before = before,
                      .run = run_threaded};
    gemm_note note;
    bool declined;
    const char *wrong = judge_threads(&j, MOST_THREADS, &declined, &note);
    free(before);
    product_free(&p);
    return declined ? "declined" : wrong;
}

/* The result must not depend on the number of threads, to the bit. */
static void test_threads(const gemm_ukernel *u, const test_options *o)
{
    char name[48];
    shape shapes[16];
    snprintf(name, sizeof name, "packed %s threads", u->name);
    judge_cases(&(random_cases){.name = name, .repeat = "test_packed", .stream = 5000000,
                                .count = 4 * shapes_to_cut(u, shapes), .judge = judge_shape,
                                .subject = (void *)u}, o);
}

/* The first element that is not in exactly one rectangle of C, or -1. `cover` has M * columns
   bytes. */
static long wrongly_covered(const packed_grid *g, unsigned char *cover)
{
    memset(cover, 0, (size_t)g->M * (size_t)g->columns);
    for (int chunk = 0; chunk < g->chunks; ++chunk) {
        const packed_rectangle r = packed_get_rectangle(g, chunk);
        for (int i = r.i0; i < r.i1; ++i) {
            for (int j = r.j0; j < r.j1; ++j) ++cover[(long)i * g->columns + j];
        }
    }
    for (long at = 0; at < (long)g->M * g->columns; ++at) {
        if (cover[at] != 1) return at;
    }
    return -1;
}

/* Rectangles cover C once, for a C that is high, wide and small; none has more rows than the
   first, for which the plan is made; and there is work for more than half of the threads. */
static void test_grid(const gemm_ukernel *u, const test_options *o)
{
    enum { SIDE = 1300, ROUNDS_OF_GRIDS = 400, HUGE_K = 1 << 20 };
    char name[48];
    unsigned char *cover = malloc(SIDE * SIDE);
    if (!cover) exit(2);
    snprintf(name, sizeof name, "packed %s grid", u->name);
    for (int n = 0; n < ROUNDS_OF_GRIDS; ++n) {
        rng r = rng_make(o->seed, 6000000 + (uint64_t)n);
        const int M = 1 + rng_below(&r, n & 1 ? SIDE : 3 * u->mr);
        const int columns = 1 + rng_below(&r, n & 2 ? SIDE : 3 * u->nr);
        const int threads = 1 + rng_below(&r, n & 4 ? 64 : 4);
        const packed_grid g = packed_cut(M, columns, 0, HUGE_K, u, threads);
        const int tiles = (M + u->mr - 1) / u->mr * ((columns + u->nr - 1) / u->nr);
        const int most_rows = packed_get_rectangle(&g, 0).i1;
        const long at = wrongly_covered(&g, cover);
        bool higher = false;
        for (int chunk = 0; chunk < g.chunks; ++chunk) {
            const packed_rectangle part = packed_get_rectangle(&g, chunk);
            higher |= part.i1 - part.i0 > most_rows;
        }
        const bool too_few = threads > 1 && tiles >= 2 * threads && g.chunks <= threads / 2;
        if (at < 0 && !higher && !too_few && (threads > 1 || g.chunks == 1)) continue;
        report_fail(name, "M=%d columns=%d threads=%d: %d rectangles of %d rows; element %ld is "
                    "not in one of them (-1: all are), higher %d", M, columns, threads, g.chunks,
                    most_rows, at, higher);
        free(cover);
        return;
    }
    free(cover);
    report_pass(name);
}

/* A size that some processor has: a wrong unit is far from it. */
static void test_caches(void)
{
    const gemm_caches *c = gemm_find_caches();
    report_that("packed caches", c->l2 >= 64 << 10 && c->l2 <= 64 << 20, "L2 %zu bytes", c->l2);
}

/* ---- the seams ---- */

/* Whoever has the last columns has a rest. */
enum { SEAM_M = 79, SEAM_N = 409, SEAM_K = 1000 };

static float seam_a(int i, int p) { return (float)((i * 7 + p * 3) % 11) - 5; }
static float seam_b(int p, int j) { return (float)((p * 5 + j * 2) % 13) - 6; }

static void pack_computed(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                          float *strip)
{
    (void)b;
    for (int p = 0; p < kc; ++p) {
        for (int j = 0; j < u->nr; ++j) {
            strip[p * u->nr + j] = j < nc ? seam_b(p0 + p, j0 + j) : 0;
        }
    }
}

static void finish_scaled(const packed_epilogue *e, int i0, int rows, int j0, int cols, float *c,
                          size_t ldc)
{
    const float *scale = e->data;
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < cols; ++j) {
            c[i * ldc + j] = c[i * ldc + j] * scale[i0 + i] + (float)(j0 + j);
        }
    }
}

/*
 * B is made up while it is packed, in several blocks of K. The numbers are small integers: the
 * result is exact.
 *   FINISH   C is NaN before. An epilogue of the test's own finishes each element once
 *   SHIFT    C is f(scale * (C + alpha AB) + shift)
 *   BLOCKS   A stays in L2 at any price, in blocks of its rows. B is made up once for each of them
 */
typedef enum seam { FINISH, SHIFT, BLOCKS } seam;

static float scale_of(int i) { return (float)(i % 3 + 2); }

static float expected_at(seam of, int K, int N, int at)
{
    const int i = at / N, j = at % N;
    float sum = 0;
    for (int p = 0; p < K; ++p) sum += seam_a(i, p) * seam_b(p, j);
    const float x = scale_of(i) * ((float)(at % 101) + 2 * sum) + (float)(i * 5);
    return of == FINISH ? sum * scale_of(i) + (float)j
         : of == SHIFT ? x > 0 ? x : .5f * x : sum;
}

/* The first element that is wrong, -1 for none, or -2 when the job does not run as it should. */
static long run_seam(seam of, const packed_job *job, const gemm_ukernel *u)
{
    gemm_ukernel in_l2 = *u;
    in_l2.a_home = GEMM_A_ONLY_IN_L2;
    if (of == BLOCKS) {
        const packed_plan plan = packed_make_plan(job, &in_l2, 1);
        if (plan.mc >= job->M || packed_run_as(job, &plan, 1)) return -2;
    } else if (packed_run(job, u, 3)) {
        return -2;
    }
    for (int at = 0; at < job->M * job->N; ++at)
        if (job->C[at] != expected_at(of, job->K, job->N, at)) return at;
    return -1;
}

static void test_seam(seam of, const gemm_ukernel *u)
{
    static const char *const names[] = {"seams", "shift", "blocks of rows"};
    char name[48];
    const int rows = u->mc + (int)(gemm_find_caches()->l2 / sizeof(float)) / u->kc + 1;
    const int M = of == BLOCKS ? rows : SEAM_M, N = of == BLOCKS ? 33 : SEAM_N;
    const int K = of == BLOCKS ? 2 * u->kc : SEAM_K;
    float *const A = malloc(sizeof *A * M * K), *const C = malloc(sizeof *C * M * N);
    float *const scale = malloc(2 * sizeof *scale * M), *const shift = scale + M;
    if (!A || !C || !scale) abort();
    for (int i = 0; i < M; ++i) {
        scale[i] = scale_of(i);
        shift[i] = (float)(i * 5);
        for (int p = 0; p < K; ++p) A[i * K + p] = seam_a(i, p);
    }
    for (int i = 0; i < M * N; ++i) C[i] = of == SHIFT ? (float)(i % 101) : NAN;
    const packed_epilogue epilogues[] = {
        {.alpha = 1, .overwrite = true, .finish = finish_scaled, .data = scale},
        {.alpha = 2, .scale = scale, .shift = shift, .slope = .5f},
        {.alpha = 1, .overwrite = true}};
    const packed_job job = {
        .M = M, .N = N, .K = K, .A = A, .a_row = (size_t)K, .a_step = 1,
        .B = {.pack = pack_computed}, .C = C, .ldc = (size_t)N, .epilogue = epilogues[of]};
    const long at = run_seam(of, &job, u);
    snprintf(name, sizeof name, "packed %s %s", u->name, names[of]);
    report_that(name, at == -1, "C[%ld] is %g (-2: it did not run so)", at,
                at >= 0 ? (double)C[at] : 0);
    free(A);
    free(C);
    free(scale);
}

static bool take_own(const char *option, const char *value)
{
    brief = !strcmp(value, "yes");
    return !strcmp(option, "--brief") && (brief || !strcmp(value, "no"));
}

static void test_isa(const gemm_ukernel *u, const test_options *o)
{
    test_kind((kind){"", make_random, u, 0}, o, o->cases);
    if (o->only_case >= 0) return;
    test_kind((kind){" declines", make_limit, u, 6000000}, o, LIMITS);
    test_dots(u, o);
    for (seam of = FINISH; of <= BLOCKS; ++of) test_seam(of, u);
    if (brief) return;
    test_kind((kind){" offsets", make_offset, u, 1000000}, o, ALL_OFFSETS);
    test_kind((kind){" packs A", make_packed_a, u, 2000000}, o, 2);
    test_kind((kind){" lines", make_lines, u, 4000000}, o, ALL_LINES);
    test_kind((kind){" along K", make_along_k, u, 3000000}, o, 16 * u->tail_unit);
    test_panels(u);
    if (o->threads > 1) test_threads(u, o);
    else report_skip_machine("packed threads", "left out by --threads 1");
    test_grid(u, o);
}

int main(int argc, char **argv)
{
    test_options o = {.seed = (uint64_t)time(NULL) & INT_MAX, .cases = 1500, .only_case = -1,
                      .threads = MOST_THREADS};
    o = options_read(argc, argv, o, "--seed, --cases, --case, --isa, --threads, --brief yes or no",
                     take_own);
    printf("test_packed: seed %llu\n", (unsigned long long)o.seed);
    test_isas(&o, test_isa);
    if (o.only_case < 0 && !brief) test_caches();
    return report_status();
}
