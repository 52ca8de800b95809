/* SPDX-License-Identifier: MIT */
/*
 * A multiply with operands of 16 bits. A is rounded to pairs once, before the threads begin. B is
 * rounded strip by strip, where `packed` would copy it.
 */
#include "packed/half/half.h"

#include "packed/gemm/loops.h"
#include "packed/packed.h"
#include "util/ints.h"
#include "util/threads.h"
#include "util/workspace.h"

#include <string.h>

/*
 * 8 binary digits, rounded to nearest, are off by u / (1 + u) of an element at most, u = 2^-8. So a
 * product is off by less than 2 u. An element below 2^-126 becomes 0, and so may a sum.
 */
const gemm_rounding gemm_half_bf16_rounding = {
    .product = 0x1p-7, .a = 0x1p-126, .b = 0x1p-126, .sum = 0x1p-126};

/*
 * The same with 11 digits. An element below 2^-14 is off by half of 2^-24.
 */
gemm_rounding gemm_half_fp16_rounding = {.product = 0x1p-10, .a = 0x1p-25, .b = 0x1p-25};

/* Where this processor may have sums of 16 bits, these round too. */
__attribute__((constructor)) static void allow_short_sums(void)
{
    for (const gemm_pairs *const *p = gemm_pairs_all; *p; ++p) {
        if ((*p)->format != GEMM_FP16 || !(*p)->most_product || !(*p)->supported()) continue;
        gemm_half_fp16_rounding.product = 0x1p-10 + (*p)->sums.product;
        gemm_half_fp16_rounding.sum = (*p)->sums.sum;
    }
}

const char *gemm_half_fp16_unusable(const void *params)
{
    (void)params;
    for (const gemm_pairs *const *p = gemm_pairs_all; *p; ++p)
        if ((*p)->format == GEMM_FP16 && *p != &gemm_pairs_portable_fp16 && (*p)->supported())
            return NULL;
    return "this processor has no fp16 instructions of arm64 (Armv8.2 multiplies in fp16)";
}

const gemm_half_params gemm_half_bf16 = {.format = GEMM_BF16},
                       gemm_half_fp16 = {.format = GEMM_FP16};

const gemm_pairs *packed_half_pairs(const gemm_half_params *params, const gemm_ukernel *u)
{
    return params->pairs ? params->pairs : gemm_pairs_find(params->format, u);
}

/* ---- A ---- */

/* A as pairs: lines of rows of A, or of pairs of columns where A is transposed. */
typedef struct pairs_of_a {
    const gemm_call *c;
    const gemm_pairs *kernels;
    gemm_pair *pairs;
    size_t ld;
    int lines, step;            /* of them, and in a chunk */
} pairs_of_a;

static void round_line(const pairs_of_a *a, int i)
{
    const gemm_call *c = a->c;
    const float *from = c->A + (size_t)i * (size_t)c->lda * (c->TA ? 2 : 1);
    if (c->TA) {
        a->kernels->rows(c->M, from, 2 * i + 1 < c->K ? from + c->lda : NULL,
                         a->pairs + (size_t)i * a->ld);
    } else {
        a->kernels->along(c->K, from, a->pairs + (size_t)i * a->ld);
    }
}

static void round_lines(void *job, int chunk, void *scratch)
{
    (void)scratch;
    const pairs_of_a *a = job;
    const int end = min_int(a->lines, (chunk + 1) * a->step);
    for (int i = chunk * a->step; i < end; ++i) round_line(a, i);
}

/* Lines are an odd number of cache lines apart, so that those of a panel are in different sets of
   L1. */
static pairs_of_a plan_a(const gemm_call *c, const gemm_pairs *kernels)
{
    const int K = ceil_div(c->K, 2);
    return (pairs_of_a){.c = c, .kernels = kernels, .lines = c->TA ? K : c->M,
                        .ld = round_up_odd(c->TA ? c->M : K, LINE_FLOATS)};
}

static int make_a(pairs_of_a *a, int threads)
{
    enum { CHUNK = 16 * 1024 };     /* floats: fewer are rounded before a worker could help */
    a->step = max_int(1, (int)(CHUNK / a->ld));
    return gemm_parallel(threads, ceil_div(a->lines, a->step), round_lines, a);
}

/* The panels of a processor that wants A so. */
typedef struct panels_of_a {
    const pairs_of_a *a;
    gemm_pair *panels;
    int K;                      /* pairs */
} panels_of_a;

static void arrange_chunk(void *job, int chunk, void *scratch)
{
    (void)scratch;
    const panels_of_a *j = job;
    const gemm_call *c = j->a->c;
    const int mr = j->a->kernels->mr, i = chunk * mr;
    const size_t row = c->TA ? 1 : j->a->ld, step = c->TA ? j->a->ld : 1;
    j->a->kernels->panel(min_int(mr, c->M - i), j->K, j->a->pairs + i * row, row, step,
                         j->panels + (size_t)i * j->K);
}

static size_t panel_floats(const gemm_call *c, const gemm_pairs *p)
{
    return p->panel ? (size_t)ceil_div(c->M, p->mr) * p->mr * ceil_div(c->K, 2) : 0;
}

/* ---- B ---- */

/* The source of a packed_b: op(B) of a call. */
typedef struct rounded_b {
    const gemm_call *c;
    const gemm_pairs *kernels;
} rounded_b;

/* `rows` rows of floats, ld apart, become pairs of a strip. */
static void round_rows(const gemm_pairs *kernels, const float *from, size_t ld, int rows,
                       int nc, int nr, gemm_pair *strip)
{
    for (int p = 0; p < rows; p += 2, from += 2 * ld, strip += nr) {
        kernels->rows(nc, from, p + 1 < rows ? from + ld : NULL, strip);
        if (nc < nr) memset(strip + nc, 0, (size_t)(nr - nc) * sizeof *strip);
    }
}

static void round_by_rows(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0, int nc,
                          float *strip)
{
    const rounded_b *s = b->source;
    const gemm_call *c = s->c;
    const size_t ld = (size_t)c->ldb;
    round_rows(s->kernels, c->B + 2 * (size_t)p0 * ld + j0, ld, min_int(2 * kc, c->K - 2 * p0), nc,
               u->nr, (gemm_pair *)strip);
}

/* Some columns are transposed, then they are rounded as rows are. */
static void round_by_columns(const packed_b *b, const gemm_ukernel *u, int p0, int kc, int j0,
                             int nc, float *strip)
{
    enum { ROWS = 32, MOST_NR = 48 };
    _Alignas(CACHE_LINE) float rows[ROWS * MOST_NR];
    const rounded_b *s = b->source;
    const gemm_call *c = s->c;
    const int end = min_int(2 * (p0 + kc), c->K);
    for (int p = 2 * p0; p < end; p += ROWS, strip += ROWS / 2 * u->nr) {
        const int count = min_int(ROWS, end - p);
        u->pack.transpose(c->B + (size_t)j0 * (size_t)c->ldb + p, (size_t)c->ldb, nc, count, rows,
                          u->nr);
        round_rows(s->kernels, rows, (size_t)u->nr, count, nc, u->nr, (gemm_pair *)strip);
    }
}

/* ---- the row of the table ---- */

/* Whether all operands have finite halves. */
static bool fits(const gemm_call *c, const gemm_pairs *p, int threads)
{
    if (p->format != GEMM_FP16) return true;
    const float a = packed_half_largest(c->A, c->TA ? c->K : c->M, c->TA ? c->M : c->K,
                                        (size_t)c->lda, threads);
    const float b = packed_half_largest(c->B, c->TB ? c->N : c->K, c->TB ? c->K : c->N,
                                        (size_t)c->ldb, threads);
    return packed_half_fits(p, a, b);
}

/* Few rows of A, or steps of K, are multiplied in the time that it takes to round B. */
static bool gains_nothing(const gemm_call *c)
{
    enum { FEW = 16 };
    return c->M <= FEW || c->K <= FEW || packed_skinny_way(c) != NOT_SKINNY;
}

gemm_status gemm_half(const gemm_call *c, const gemm_context *context, const void *params)
{
    const gemm_pairs *p = packed_half_pairs(params, context->isa);
    if (gains_nothing(c) || !fits(c, p, context->threads)) return gemm_packed(c, context, NULL);
    if (context->timed) gemm_weigh_before(context->note, "in 16 bits: many rows and steps");
    pairs_of_a a = plan_a(c, p);
    gemm_workspace *w = gemm_take_workspace((size_t)a.lines * a.ld + panel_floats(c, p));
    if (!w) return GEMM_DECLINED;
    a.pairs = (gemm_pair *)w->data;
    const rounded_b b = {c, p};
    packed_job job = {
        .M = c->M, .N = c->N, .K = ceil_div(c->K, 2),
        .A = w->data, .a_row = c->TA ? 1 : a.ld, .a_step = c->TA ? a.ld : 1,
        .B = {.pack = c->TB ? round_by_columns : round_by_rows, .source = &b},
        .C = c->C, .ldc = (size_t)c->ldc,
        .epilogue = {.alpha = c->ALPHA},
    };
    panels_of_a panels = {&a, a.pairs + (size_t)a.lines * a.ld, job.K};
    if (p->panel) {
        job.A = (const float *)panels.panels;
        job.a_panel = (size_t)p->mr * job.K;
        job.a_row = 1;
        job.a_step = p->mr;
    }
    const int no_memory = make_a(&a, context->threads) ||
                          (p->panel && gemm_parallel(context->threads, ceil_div(c->M, p->mr),
                                                     arrange_chunk, &panels)) ||
                          packed_run(&job, gemm_pairs_ukernel(p), context->threads);
    gemm_give_workspace(w);
    return no_memory ? GEMM_DECLINED : GEMM_DONE;
}
