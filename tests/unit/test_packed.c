/* SPDX-License-Identifier: MIT */
/*
 * What is particular to the row `packed`: each instruction set of this processor, thread counts 1
 * to 8, every alignment, guard pages on both sides; callers at once, fork, memory; and its two
 * seams, with a source of B and an epilogue of the test's own.
 *
 *   test_packed [--seed S] [--cases N] [--case I] [--isa NAME] [--brief yes]
 *               [--without fork|callers|threads]...
 *
 * --brief leaves out what takes minutes under valgrind. --without fork leaves out the fork, which
 * qemu-user does not survive. --without callers leaves out all callers at once, forks and memory,
 * and --without threads the comparison of 1 to 8 threads. These take minutes under qemu. A case
 * depends on the seed and its number alone. A failure prints the command that repeats it.
 */
#include "check/check.h"
#include "driver/driver.h"
#include "packed/gemm/loops.h"
#include "packed/gemm/plan.h"
#include "packed/packed.h"
#include "util/caches.h"
#include "util/ints.h"
#include "util/threads.h"
#include "support/float_modes.h"
#include "support/heap.h"
#include "support/operands.h"
#include "support/options.h"
#include "support/report.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OFFSETS = 16, MOST_THREADS = 8 };

/* The options of this program's own. */
static bool brief, no_fork, no_callers, no_threads;

typedef struct problem {
    gemm_call call;
    int threads;
    enum { ANY, TINY, LARGE } expects;      /* TINY: the row has to decline it */
    guarded A, B, C;
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

/* Rows are a multiple of `unit` floats apart. */
static guarded make_operand(rng *r, int rows, int columns, int unit, int *ld)
{
    static const int padding[] = {0, 0, 1, 5, 16};
    *ld = round_up(columns + padding[rng_below(r, 5)], unit);
    const int side = rng_below(r, 2) ? AT_END : AT_START;
    const int offset = rng_below(r, 2) ? 4 * rng_below(r, OFFSETS) : 0;
    guarded g = guarded_make(rows, columns, *ld, side, offset);
    guarded_fill(&g, r);
    return g;
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
    gemm_call *c = &p.call;
    c->TA = number / 8 & 1;
    c->TB = number / 16 & 1;
    int b_unit = 1;
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
        b_unit = PAGE;
    }
    p.A = make_operand(r, c->TA ? c->K : c->M, c->TA ? c->M : c->K, 1, &c->lda);
    p.B = make_operand(r, c->TB ? c->N : c->K, c->TB ? c->K : c->N, b_unit, &c->ldb);
    p.C = make_operand(r, c->M, c->N, 1, &c->ldc);
    c->A = p.A.data, c->B = p.B.data, c->C = p.C.data;
    return p;
}

/* The operands of the call. A leading dimension of 0 becomes the least. `side` of a guard page, and
   bytes of A, B and C between them and it. */
static void place_operands(problem *p, int side, const int offset[3], rng *r)
{
    gemm_call *c = &p->call;
    if (!c->lda) c->lda = c->TA ? c->M : c->K;
    if (!c->ldb) c->ldb = c->TB ? c->K : c->N;
    if (!c->ldc) c->ldc = c->N;
    p->A = guarded_make(c->TA ? c->K : c->M, c->TA ? c->M : c->K, c->lda, side, offset[0]);
    p->B = guarded_make(c->TB ? c->N : c->K, c->TB ? c->K : c->N, c->ldb, side, offset[1]);
    p->C = guarded_make(c->M, c->N, c->ldc, side, offset[2]);
    guarded_fill(&p->A, r);
    guarded_fill(&p->B, r);
    guarded_fill(&p->C, r);
    c->A = p->A.data, c->B = p->B.data, c->C = p->C.data;
}

static const int NO_OFFSET[3];

static void free_problem(problem *p)
{
    guarded_free(&p->A);
    guarded_free(&p->B);
    guarded_free(&p->C);
}

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
    gemm_call zero = p->call;
    const bool tiny = is_tiny(u, &p->call);
    if (p->expects && tiny != (p->expects == TINY)) return "the test contradicts itself";
    if (tiny) zero.ALPHA = 0;
    if (gemm_oracle_make(&oracle, &zero)) return "no memory for the reference";
    gemm_set_threads(p->threads);
    if (gemm_parallel(1, 1, spoil, NULL)) return "no memory for scratch";
    const gemm_status status = run_packed(&p->call, u);
    const gemm_error worst = gemm_oracle_compare(&oracle, &p->call);
    gemm_oracle_free(&oracle);
    if (status != (tiny ? GEMM_DECLINED : GEMM_DONE)) return tiny ? "not declined" : "declined";
    if (tiny && !(worst.difference == 0)) return "declined, but C has changed";
    if (!guarded_padding_intact(&p->C)) return "it wrote between the rows of C";
    if (worst.ratio <= 1) return NULL;
    snprintf(why, size, "C[%d][%d] is off by %g, %.3g times the bound", worst.row, worst.column,
             worst.difference, worst.ratio);
    return why;
}

/* Problem n of a kind. */
typedef problem make_function(const gemm_ukernel *, rng *, int n);

/* `count` problems of a kind, whose random numbers are those of `stream` and the next ones; of
   stream 0 perhaps one alone. */
static void test_kind(const gemm_ukernel *u, const test_options *o, const char *kind,
                      make_function *make, uint64_t stream, int count)
{
    char name[48], why[160], option[32] = "";
    snprintf(name, sizeof name, "packed %s%s", u->name, kind);
    for (int n = 0; n < count; ++n) {
        if (!stream && o->only_case >= 0 && n != o->only_case) continue;
        rng r = rng_make(o->seed, stream + (uint64_t)n);
        problem p = make(u, &r, n);
        const gemm_call c = p.call;
        const char *wrong = run_and_judge(u, &p, why, sizeof why);
        free_problem(&p);
        if (!wrong) continue;
        if (!stream) snprintf(option, sizeof option, " --case %d", n);
        report_fail(name, "%s; number %d: TA=%d TB=%d M=%d N=%d K=%d lda=%d ldb=%d ldc=%d ALPHA=%g "
                    "threads=%d; repeat with: test_packed --seed %llu --isa %s%s", wrong, n, c.TA,
                    c.TB, c.M, c.N, c.K, c.lda, c.ldb, c.ldc, (double)c.ALPHA, p.threads,
                    (unsigned long long)o->seed, u->name, option);
        return;
    }
    report_pass(name);
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
    problem p = {.call = calls[n].call, .threads = 1 + n % 2,
                 .expects = calls[n].declined ? TINY : LARGE};
    p.call.ALPHA = 1;
    place_operands(&p, AT_END, NO_OFFSET, r);
    return p;
}

/* Each of A, B and C in turn at every offset of 0, 4 .. 60 bytes from either guard page. */
enum { ALL_OFFSETS = 2 * OFFSETS * 3 };
static problem make_offset(const gemm_ukernel *u, rng *r, int n)
{
    int offset[3] = {0};
    problem p = {
        .call = {.M = u->mr + 1, .N = u->nr + 1 + rng_below(r, u->nr), .K = 61, .ALPHA = 1},
        .threads = 1, .expects = LARGE};
    offset[n / (2 * OFFSETS)] = 4 * (n / 2 % OFFSETS);
    place_operands(&p, n & 1 ? AT_END : AT_START, offset, r);
    return p;
}

/* So many tiles share A, and its rows or columns are so far apart, that it is packed: in more than
   one block of rows and of K, the last of them a little shorter. */
static problem make_packed_a(const gemm_ukernel *u, rng *r, int TA)
{
    problem p = {.call = {.TA = TA, .M = u->mc + u->mr + 1, .N = 17 * u->nr + 1,
                          .K = 2 * u->kc - 1, .ALPHA = 1, .lda = 1024},
                 .threads = 1};
    place_operands(&p, AT_END, NO_OFFSET, r);
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
    gemm_call *c = &p.call;
    *c = (gemm_call){.TB = n & 1,
                     .M = PANELS * u->mr + rng_below(r, u->mr),
                     .N = columns + tail,
                     .K = n & 2 ? 2 * u->kc + rng_below(r, 2 * u->vl)
                                : LEAST_K + rng_below(r, u->vl),
                     .ALPHA = n % 3 ? 1 : -.5f};
    p.A = make_operand(r, c->M, c->K, 1, &c->lda);
    p.B = make_operand(r, c->TB ? c->N : c->K, c->TB ? c->K : c->N, 1, &c->ldb);
    p.C = make_operand(r, c->M, c->N, 1, &c->ldc);
    c->A = p.A.data, c->B = p.B.data, c->C = p.C.data;
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
    p.call = (gemm_call){.M = rows[n / 2 / OFFSETS], .N = 33 * u->wide + rng_below(r, 2 * u->nr),
                         .K = 20 + rng_below(r, 80), .ALPHA = 1};
    p.call.ldb = round_up(p.call.N, whole);
    place_operands(&p, side, (int[]){0, 4 * (n / 2 % OFFSETS), 4 * rng_below(r, OFFSETS)}, r);
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

/* Multiplies on 1 to MOST_THREADS threads. Returns the first number of threads whose result differs
   from one thread's in any bit, 0 when there is none, or -1 when a call is declined. */
static int threads_that_differ(const gemm_ukernel *u, const gemm_call *c, size_t elements)
{
    float *const before = malloc(elements * sizeof *before), *const one =
                                                                 malloc(elements * sizeof *one);
    if (!before || !one) exit(2);
    memcpy(before, c->C, elements * sizeof *before);
    int wrong = 0;
    for (int threads = 1; threads <= MOST_THREADS && !wrong; ++threads) {
        memcpy(c->C, before, elements * sizeof *before);
        gemm_set_threads(threads);
        if (run_packed(c, u) != GEMM_DONE) wrong = -1;
        else if (threads == 1) memcpy(one, c->C, elements * sizeof *one);
        else if (memcmp(one, c->C, elements * sizeof *one)) wrong = threads;
    }
    free(before);
    free(one);
    return wrong;
}

/* The result must not depend on the number of threads, to the bit. */
static void test_threads(const gemm_ukernel *u, const test_options *o)
{
    char name[48];
    snprintf(name, sizeof name, "packed %s threads", u->name);
    shape shapes[16];
    const int count = shapes_to_cut(u, shapes);
    int failures = 0;
    for (int n = 0; n < 4 * count; ++n) {
        const shape s = shapes[n / 4];
        rng r = rng_make(o->seed, 5000000 + (uint64_t)n);
        problem p = {.call = {.TA = n & 1, .TB = n >> 1 & 1, .M = s.M, .N = s.N, .K = s.K,
                              .ALPHA = 1.5f}};
        const int width = p.call.TA ? s.M : s.K;
        p.call.lda = s.lda > width ? s.lda : 0;
        place_operands(&p, AT_END, NO_OFFSET, &r);
        const gemm_call c = p.call;
        const int wrong = is_tiny(u, &c) ? -1 : threads_that_differ(u, &c, (size_t)c.M * c.N);
        free_problem(&p);
        if (!wrong) continue;
        ++failures;
        report_fail(
            name,
            "%d threads and 1 thread differ (-1: declined); TA=%d TB=%d M=%d N=%d K=%d lda=%d",
            wrong, c.TA, c.TB, c.M, c.N, c.K, c.lda);
    }
    if (!failures) report_pass(name);
}

/* Under each mode of the host, with denormal products: the bits of 1, 2 and 3 threads are equal.
   NEON of armv7 has one mode. */
static void test_modes(const gemm_ukernel *u, const test_options *o)
{
    enum { SIZE = 150, LEAST = 1000, THREADS = 3 };
    static float A[SIZE * SIZE], B[SIZE * SIZE], C[SIZE * SIZE], one[SIZE * SIZE];
    const gemm_call c = {0, 0, SIZE, SIZE, SIZE, 1.5f, A, SIZE, B, SIZE, C, SIZE};
    rng r = rng_make(o->seed, 6000000);
    int unlike = 0;
    char name[48], wrong[80] = "";
    for (int i = 0; i < SIZE * SIZE; ++i) {
        A[i] = 1e-20f * rng_float(&r);
        B[i] = 1e-19f * rng_float(&r);
    }
    for (int mode = 0; mode < FLOAT_MODES; ++mode) {
        float_mode_set(mode);
        for (int threads = 1; threads <= THREADS; ++threads) {
            memset(C, 0, sizeof C);
            gemm_set_threads(threads);
            if (run_packed(&c, u) != GEMM_DONE) snprintf(wrong, sizeof wrong, "declined");
            if (threads > 1 && memcmp(C, one, sizeof C))
                snprintf(wrong, sizeof wrong, "%d threads and 1 thread differ, %s", threads,
                         float_mode_names[mode]);
            if (threads > 1) continue;
            for (int i = 0; mode != NEAREST && i < SIZE * SIZE; ++i) unlike += C[i] != one[i];
            memcpy(one, C, sizeof one);
        }
    }
    float_mode_set(NEAREST);
    const bool has_modes = float_mode_least(u->name) == FLT_TRUE_MIN;
    if (has_modes && unlike < LEAST && !*wrong)
        snprintf(wrong, sizeof wrong, "the modes give the same bits");
    snprintf(name, sizeof name, "packed %s modes of the host", u->name);
    report_judged(name, *wrong ? wrong : NULL);
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
    enum { SIDE = 1300, LINE = 16, ROUNDS_OF_GRIDS = 400, HUGE_K = 1 << 20 };
    char name[48];
    unsigned char *cover = malloc(SIDE * SIDE);
    if (!cover) exit(2);
    snprintf(name, sizeof name, "packed %s grid", u->name);
    for (int n = 0; n < ROUNDS_OF_GRIDS; ++n) {
        rng r = rng_make(o->seed, 6000000 + (uint64_t)n);
        const int M = 1 + rng_below(&r, n & 1 ? SIDE : 3 * u->mr);
        const int columns = 1 + rng_below(&r, n & 2 ? SIDE : 3 * u->nr);
        const int threads = 1 + rng_below(&r, n & 4 ? 64 : 4);
        packed_grid g = packed_cut(M, columns, 0, HUGE_K, u, threads);
        g.shift = rng_below(&r, u->nr < LINE ? u->nr : LINE);
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
        report_fail(name, "M=%d columns=%d threads=%d shift=%d: %d rectangles of %d rows; element "
                    "%ld is not in one of them (-1: all are), higher %d", M, columns, threads,
                    g.shift, g.chunks, most_rows, at, higher);
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
    const bool right = c->l2 >= 64 << 10 && c->l2 <= 64 << 20;
    if (right) report_pass("packed caches");
    else report_fail("packed caches", "L2 %zu bytes", c->l2);
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

/* B is made up while it is packed, C is NaN before, and each element is finished exactly once. The
   numbers are small integers: the result is exact. */
static void test_seams(const gemm_ukernel *u)
{
    static float A[SEAM_M * SEAM_K], C[SEAM_M * SEAM_N], scale[SEAM_M];
    char name[48];
    snprintf(name, sizeof name, "packed %s seams", u->name);
    for (int i = 0; i < SEAM_M; ++i) {
        scale[i] = (float)(i % 3 + 2);
        for (int p = 0; p < SEAM_K; ++p) A[i * SEAM_K + p] = seam_a(i, p);
    }
    for (int i = 0; i < SEAM_M * SEAM_N; ++i) C[i] = NAN;
    const packed_job job = {
        .M = SEAM_M, .N = SEAM_N, .K = SEAM_K, .A = A, .a_row = SEAM_K, .a_step = 1,
        .B = {.pack = pack_computed}, .C = C, .ldc = SEAM_N,
        .epilogue = {.alpha = 1, .overwrite = true, .finish = finish_scaled, .data = scale},
    };
    if (packed_run(&job, u, 3)) {
        report_fail(name, "declined");
        return;
    }
    for (int i = 0; i < SEAM_M; ++i) {
        for (int j = 0; j < SEAM_N; ++j) {
            float sum = 0;
            for (int p = 0; p < SEAM_K; ++p) sum += seam_a(i, p) * seam_b(p, j);
            const float expected = sum * scale[i] + (float)j;
            if (C[i * SEAM_N + j] == expected) continue;
            report_fail(name, "C[%d][%d] is %g, not %g", i, j, (double)C[i * SEAM_N + j],
                        (double)expected);
            return;
        }
    }
    report_pass(name);
}

/* C = f(scale * (C + alpha AB) + shift), over several blocks of K; exact as above. */
static void test_shift(const gemm_ukernel *u)
{
    static float A[SEAM_M * SEAM_K], C[SEAM_M * SEAM_N], scale[SEAM_M], shift[SEAM_M];
    char name[48];
    snprintf(name, sizeof name, "packed %s shift", u->name);
    for (int i = 0; i < SEAM_M; ++i) {
        scale[i] = (float)(i % 3 + 2);
        shift[i] = (float)(i * 5);
        for (int p = 0; p < SEAM_K; ++p) A[i * SEAM_K + p] = seam_a(i, p);
    }
    for (int i = 0; i < SEAM_M * SEAM_N; ++i) C[i] = (float)(i % 101);
    const packed_job job = {
        .M = SEAM_M, .N = SEAM_N, .K = SEAM_K, .A = A, .a_row = SEAM_K, .a_step = 1,
        .B = {.pack = pack_computed}, .C = C, .ldc = SEAM_N,
        .epilogue = {.alpha = 2, .scale = scale, .shift = shift, .slope = .5f},
    };
    if (packed_run(&job, u, 3)) {
        report_fail(name, "declined");
        return;
    }
    for (int i = 0; i < SEAM_M * SEAM_N; ++i) {
        float sum = 0;
        for (int p = 0; p < SEAM_K; ++p) sum += seam_a(i / SEAM_N, p) * seam_b(p, i % SEAM_N);
        const float x = scale[i / SEAM_N] * ((float)(i % 101) + 2 * sum) + shift[i / SEAM_N];
        if (C[i] == (x > 0 ? x : .5f * x)) continue;
        report_fail(name, "C[%d][%d] is %g, from %g", i / SEAM_N, i % SEAM_N, (double)C[i],
                    (double)x);
        return;
    }
    report_pass(name);
}

/* An A that stays in L2 at any price: blocks of its rows, with B made up once for each of them. */
static void test_blocks_of_rows(const gemm_ukernel *u)
{
    enum { N = 33 };
    gemm_ukernel in_l2 = *u;
    const int K = u->kc * 2, M = u->mc + (int)(gemm_find_caches()->l2 / sizeof(float)) / u->kc + 1;
    float *A = malloc(sizeof *A * M * K), *C = malloc(sizeof *C * M * N);
    char name[48];
    snprintf(name, sizeof name, "packed %s blocks of rows", u->name);
    in_l2.a_home = GEMM_A_ONLY_IN_L2;
    for (int i = 0; i < M; ++i)
        for (int p = 0; p < K; ++p) A[i * K + p] = seam_a(i, p);
    for (int i = 0; i < M * N; ++i) C[i] = NAN;
    const packed_job job = {
        .M = M, .N = N, .K = K, .A = A, .a_row = (size_t)K, .a_step = 1,
        .B = {.pack = pack_computed}, .C = C, .ldc = N,
        .epilogue = {.alpha = 1, .overwrite = true},
    };
    const packed_plan plan = packed_make_plan(&job, &in_l2, 1);
    int wrong = packed_run_as(&job, &plan, 1) ? 0 : M * N;
    for (int i = 0; i < M * N && wrong == M * N; ++i) {
        float sum = 0;
        for (int p = 0; p < K; ++p) sum += seam_a(i / N, p) * seam_b(p, i % N);
        if (C[i] != sum) wrong = i;
    }
    if (plan.mc >= M) report_fail(name, "one block of %d rows", M);
    else if (wrong < M * N)
        report_fail(name, "C[%d][%d] is %g", wrong / N, wrong % N, (double)C[wrong]);
    else report_pass(name);
    free(A);
    free(C);
}

/* ---- workers ---- */

/* Threads that are in a job at the same time. */
typedef struct meeting {
    atomic_int wanted;          /* each waits for so many; 0 once one has waited too long */
    atomic_int inside, most;
} meeting;

static void meet(void *arg, int chunk, void *scratch)
{
    (void)chunk, (void)scratch;
    meeting *m = arg;
    const int inside = atomic_fetch_add(&m->inside, 1) + 1;
    int most = atomic_load(&m->most);
    while (inside > most && !atomic_compare_exchange_weak(&m->most, &most, inside));
    for (int i = 0; atomic_load(&m->most) < atomic_load(&m->wanted); ++i) {
        usleep(1000);
        if (i == 5000) atomic_store(&m->wanted, 0);
    }
    usleep(1000);
    atomic_fetch_sub(&m->inside, 1);
}

/* How many threads a job of `threads` has. */
static int threads_that_meet(int threads, int chunks)
{
    meeting m = {.wanted = threads};
    return gemm_parallel(threads, chunks, meet, &m) ? -1 : atomic_load(&m.most);
}

/* As many as asked for: also after a job that had more. */
static void test_workers(void)
{
    const int all = threads_that_meet(MOST_THREADS, MOST_THREADS), two = threads_that_meet(2, 20);
    if (all == MOST_THREADS && two == 2) report_pass("packed workers");
    else
        report_fail("packed workers", "%d threads took part where %d were wanted, %d for 2", all,
                    MOST_THREADS, two);
}

/* A task beside a job of its caller: how many threads met in each. */
typedef struct pair {
    pthread_t caller;
    meeting in_task, beside;
    bool elsewhere, nested, failed;     /* the task ran on a worker, it began a task, no memory */
} pair;

static void nothing(void *arg)
{
    (void)arg;
}

static void meet_in_task(void *arg)
{
    pair *p = arg;
    p->elsewhere = !pthread_equal(pthread_self(), p->caller);
    p->nested = gemm_begin_beside(4, 0, nothing, NULL);
    if (gemm_parallel(4, 20, meet, &p->in_task)) p->failed = true;
}

/* Of four threads one has the task, and one is the caller. Helpers are in the caller's job. When it
   has none, all workers are in that of the task. */
static void test_task(const char *name, int in_task, int beside)
{
    pair p = {.caller = pthread_self(), .in_task = {.wanted = in_task},
              .beside = {.wanted = beside}};
    if (!gemm_begin_beside(4, 1, meet_in_task, &p)) {
        report_fail(name, "no worker for the task");
        return;
    }
    const bool nested = gemm_begin_beside(4, 0, nothing, NULL);
    const bool failed = beside > 0 && gemm_parallel(beside, 20, meet, &p.beside);
    while (atomic_load(&p.in_task.most) < atomic_load(&p.in_task.wanted)) usleep(1000);
    gemm_end_beside();
    const int met = atomic_load(&p.in_task.most), besides = atomic_load(&p.beside.most);
    if (p.elsewhere && !p.nested && !nested && !p.failed && !failed && met >= in_task &&
        besides == beside)
        report_pass(name);
    else
        report_fail(name, "%d threads in the task, %d beside it; elsewhere %d, nested %d %d, "
                    "failed %d %d", met, besides, p.elsewhere, p.nested, nested, p.failed, failed);
}

static void begin_in_job(void *begun, int chunk, void *scratch)
{
    (void)chunk, (void)scratch;
    if (!gemm_begin_beside(4, 1, nothing, NULL)) return;
    gemm_end_beside();
    *(bool *)begun = true;
}

/* Without a worker no task begins: while a job has them all, and where there is one thread. */
static void test_no_task(void)
{
    bool begun = false;
    if (gemm_parallel(2, 2, begin_in_job, &begun)) begun = true;
    if (begun || gemm_begin_beside(1, 0, nothing, NULL))
        report_fail("packed no task", "a task began without a free worker");
    else
        report_pass("packed no task");
}

/* ---- callers at once, fork, memory ---- */

enum { BIG = 200, ROUNDS = 40 };

typedef struct caller {
    pthread_t thread;
    float A[BIG * BIG], B[BIG * BIG], C[BIG * BIG], expected[BIG * BIG];
    bool wrong;
} caller;

static void multiply(caller *c, float *to)
{
    const gemm_call call = {0, 0, BIG, BIG, BIG, 1, c->A, BIG, c->B, BIG, to, BIG};
    memset(to, 0, sizeof c->C);
    if (run_packed(&call, NULL) != GEMM_DONE) c->wrong = true;
}

/* Expects what one thread computes: a different number of threads must not change a bit. */
static caller *make_caller(uint64_t seed, uint64_t stream)
{
    caller *c = calloc(1, sizeof *c);
    if (!c) exit(2);
    rng r = rng_make(seed, 2000000 + stream);
    for (int i = 0; i < BIG * BIG; ++i) {
        c->A[i] = rng_float(&r);
        c->B[i] = rng_float(&r);
    }
    gemm_set_threads(1);
    multiply(c, c->expected);
    return c;
}

static void *call_often(void *arg)
{
    caller *c = arg;
    for (int i = 0; i < ROUNDS && !c->wrong; ++i) {
        multiply(c, c->C);
        if (memcmp(c->C, c->expected, sizeof c->C)) c->wrong = true;
    }
    return NULL;
}

static void test_callers_at_once(const test_options *o)
{
    enum { CALLERS = 4 };
    caller *callers[CALLERS];
    bool wrong = false;
    for (int i = 0; i < CALLERS; ++i) callers[i] = make_caller(o->seed, (uint64_t)i);
    gemm_set_threads(3);
    for (int i = 0; i < CALLERS; ++i) {
        if (pthread_create(&callers[i]->thread, NULL, call_often, callers[i])) exit(2);
    }
    for (int i = 0; i < CALLERS; ++i) {
        pthread_join(callers[i]->thread, NULL);
        wrong |= callers[i]->wrong;
        free(callers[i]);
    }
    if (wrong) report_fail("packed four callers", "a result differs from one thread's");
    else report_pass("packed four callers");
}

/* Waits for a child: true when it multiplied as its parent did. */
static bool child_was_right(pid_t child)
{
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* The child must start workers of its own, and so must a child of the child; the parent goes on. */
static void test_fork(const test_options *o)
{
    caller *c = make_caller(o->seed, 100);
    gemm_set_threads(3);
    call_often(c);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);              /* ends a hang */
        call_often(c);
        if (threads_that_meet(3, 3) != 3) c->wrong = true;
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            alarm(60);
            call_often(c);
            _exit(c->wrong);
        }
        _exit(c->wrong || !child_was_right(grandchild));
    }
    const bool right = child_was_right(child);
    call_often(c);
    if (!right || c->wrong)
        report_fail("packed fork", "wrong in the %s", right ? "parent" : "child");
    else report_pass("packed fork");
    free(c);
}

static long peak_kib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static void call_changing_shapes(float *A, float *B, float *C, rng *r, int calls)
{
    for (int i = 0; i < calls; ++i) {
        const int M = 1 + rng_below(r, 40), N = 1 + rng_below(r, BIG), K = 1 + rng_below(r, BIG);
        const gemm_call call = {i & 1, i >> 1 & 1, M, N, K, 1, A, BIG, B, BIG, C, BIG};
        gemm_set_threads(1 + i % 4);
        run_packed(&call, NULL);
    }
}

/* Peak memory and what malloc has given out, before and after. */
static void test_memory(const test_options *o)
{
    enum { MOST_KIB = 1024 };
    float *A = calloc(3 * BIG * BIG, sizeof *A), *B = A + BIG * BIG, *C = B + BIG * BIG;
    if (!A) exit(2);
    rng r = rng_make(o->seed, 3000000);
    call_changing_shapes(A, B, C, &r, 1000);
    const long peak = peak_kib();
    const size_t given = heap_given();
    call_changing_shapes(A, B, C, &r, 10000);
    const long grown = peak_kib() - peak;
    const size_t leaked = heap_given() - given;
    free(A);
    if (grown > MOST_KIB || leaked) {
        report_fail("packed memory", "10,000 calls: %ld KiB more, %zu bytes kept", grown, leaked);
    } else {
        report_pass("packed memory");
    }
}

static void *call_once(void *arg)
{
    caller *c = arg;
    multiply(c, c->C);
    return NULL;
}

/* Callers that come and go leave nothing behind. */
static void test_short_lived_callers(const test_options *o)
{
    caller *c = make_caller(o->seed, 200);
    gemm_set_threads(2);
    size_t given = 0;
    for (int i = 0; i < 200; ++i) {
        if (pthread_create(&c->thread, NULL, call_once, c)) exit(2);
        pthread_join(c->thread, NULL);
        if (i == 20) given = heap_given();
    }
    const size_t now = heap_given();
    free(c);
    if (now > given)
        report_fail("packed short-lived callers", "180 threads left %zu bytes", now - given);
    else report_pass("packed short-lived callers");
}

static void test_callers(const test_options *o)
{
    test_callers_at_once(o);
    if (no_fork) report_skip_machine("packed fork", "left out by --without fork");
    else test_fork(o);
    test_memory(o);
    test_short_lived_callers(o);
}

static bool is_isa(const char *name)
{
    return !strcmp(name, "avx512") || !strcmp(name, "avx2") || !strcmp(name, "neon") ||
           !strcmp(name, "neon32_fma") || !strcmp(name, "neon32") || !strcmp(name, "generic");
}

static bool take_own(const char *option, const char *value)
{
    bool *const without = !strcmp(value, "fork") ? &no_fork
                        : !strcmp(value, "callers") ? &no_callers
                        : !strcmp(value, "threads") ? &no_threads : NULL;
    if (!strcmp(option, "--without") && without) return *without = true;
    if (strcmp(option, "--brief")) return false;
    brief = !strcmp(value, "yes");
    return brief || !strcmp(value, "no");
}

static bool is_built(const char *isa)
{
    const gemm_ukernel *const *u = gemm_ukernels;
    while (*u && strcmp(isa, (*u)->name)) ++u;
    return *u;
}

int main(int argc, char **argv)
{
    test_options o = {.seed = (uint64_t)time(NULL) & INT_MAX, .cases = 1500, .only_case = -1};
    o = options_read(argc, argv, o, "--seed, --cases, --case, --isa, --brief yes or no, "
                     "--without fork, callers or threads", take_own);
    if (o.only_case >= o.cases) o.cases = o.only_case + 1;
    if (o.isa && !is_isa(o.isa)) return fprintf(stderr, "--isa %s is no name\n", o.isa), 2;
    printf("test_packed: seed %llu\n", (unsigned long long)o.seed);
    if (o.isa && !is_built(o.isa)) report_fail(o.isa, "this build does not have it");
    for (const gemm_ukernel *const *u = gemm_ukernels; *u; ++u) {
        if (o.isa && strcmp(o.isa, (*u)->name)) continue;
        if (!(*u)->supported()) {
            report_skip_machine((*u)->name, "this processor does not have it");
            continue;
        }
        test_kind(*u, &o, "", make_random, 0, o.cases);
        if (o.only_case >= 0) continue;
        test_kind(*u, &o, " declines", make_limit, 6000000, LIMITS);
        if (!brief) test_kind(*u, &o, " offsets", make_offset, 1000000, ALL_OFFSETS);
        if (!brief) test_kind(*u, &o, " packs A", make_packed_a, 2000000, 2);
        if (!brief) test_kind(*u, &o, " lines", make_lines, 4000000, ALL_LINES);
        if (!brief) test_kind(*u, &o, " along K", make_along_k, 3000000, 16 * (*u)->tail_unit);
        if (!brief) test_panels(*u);
        test_dots(*u, &o);
        if (!brief && !no_threads) test_threads(*u, &o);
        if (!brief) test_modes(*u, &o);
        if (!brief) test_grid(*u, &o);
        test_seams(*u);
        test_blocks_of_rows(*u);
        test_shift(*u);
    }
    if (o.only_case < 0 && !brief) {
        test_caches();
        test_workers();
        test_task("packed task", 2, 2);
        test_task("packed task alone", 3, 0);
        test_no_task();
        if (no_threads) report_skip_machine("packed threads", "left out by --without threads");
        if (no_callers) report_skip_machine("packed callers", "left out by --without callers");
        else test_callers(&o);
    }
    return report_status();
}
