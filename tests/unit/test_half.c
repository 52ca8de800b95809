/* SPDX-License-Identifier: MIT */
/*
 * The rows packed_bf16 and packed_fp16. The reference is exact on operands that this test rounds to
 * 16 bits by itself, in double precision. The bound is then that of single precision, or of sums of
 * 16 bits: a product of operands that are rounded otherwise exceeds the former. Each set of
 * micro-kernels of this processor is tested.
 *
 *   multiply    random sizes, transposes, leading dimensions and ALPHA; NaN between the rows, guard
 *               pages; 1 to 3 threads give the same bits
 *   conv        random convolutions, the same; with a pool, groups, strides and a batch
 *   pool        the bits of the convolution alone, and then the maxima, in blocks too
 *   chain       random chains give the bits of their layers one by one, with and without a plan
 *   kept        the weights are kept in 16 bits, serve the next call, and go with the plan
 *   range       fp16: operands that it has no numbers for are multiplied in single precision
 *   no-memory   each of the aligned allocations fails in turn: the output is right or unchanged
 *
 *   test_half [--isa NAME] [--cases N] [--seed N] [--case I]
 */
#include "check/check.h"
#include "check/conv_check.h"
#include "driver/driver.h"
#include "packed/half/half.h"
#include "packed/isa/pairs.h"
#include "support/cases.h"
#include "support/failing_memory.h"
#include "support/product.h"
#include "support/rounded.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3 };

static test_options options;
static int ran;                 /* the cases of a test that went in pairs, and all chains */

/* ---- the reference ---- */

static gemm_format format;      /* of the micro-kernels that are tested, and its name */
static const char *format_name;

static float rounded(float x) { return rounded_half(format, x); }

static void round_all(float *x, size_t n)
{
    for (size_t i = 0; i < n; ++i) x[i] = rounded(x[i]);
}

/* ---- multiply ---- */

/* A multiply, the same with rounded operands, and its reference. */
typedef struct multiply {
    const gemm_pairs *p;
    product of;
    gemm_call exact;
    gemm_oracle oracle;
} multiply;

/* Sizes next to those of tiles, and others. */
static int draw_size(rng *r, int most)
{
    static const int near[] = {2, 3, 4, 7, 8, 9, 15, 16, 17, 18, 31, 32, 33, 47, 48, 49, 63, 64, 65,
                               96, 97, 143, 144, 145, 169};
    return rng_below(r, 2) ? near[rng_below(r, sizeof near / sizeof *near)]
                           : 2 + rng_below(r, most);
}

static float *copy_of(const guarded *m)
{
    const size_t floats = (size_t)(m->rows - 1) * (size_t)m->ld + (size_t)m->columns;
    float *copy = malloc(floats * sizeof *copy);
    if (!copy) abort();
    memcpy(copy, m->data, floats * sizeof *copy);
    return copy;
}

/* M and K are above 16 and N above 1, so that no other way is taken. */
static void draw_sizes(gemm_call *c, rng *r)
{
    const bool deep = !rng_below(r, 8);
    c->TA = rng_below(r, 2);
    c->TB = rng_below(r, 2);
    do {                        /* the row's own limits */
        c->M = draw_size(r, deep ? 40 : 200);
        c->N = draw_size(r, deep ? 60 : 300);
        c->K = deep ? 1 + rng_below(r, 5000) : draw_size(r, 400);
    } while (c->M <= 16 || c->N <= 2 || c->K <= 16);
    c->ALPHA = rng_below(r, 2) ? 1 : rng_float(r) * 3;
}

/* The operands of the copy are rounded. */
static multiply make_multiply(const gemm_pairs *p, rng *r)
{
    multiply q = {.p = p};
    draw_sizes(&q.of.call, r);
    product_draw(&q.of, r);
    float *const a = copy_of(&q.of.A), *const b = copy_of(&q.of.B);
    round_all(a, (size_t)(q.of.A.rows - 1) * (size_t)q.of.A.ld + (size_t)q.of.A.columns);
    round_all(b, (size_t)(q.of.B.rows - 1) * (size_t)q.of.B.ld + (size_t)q.of.B.columns);
    q.exact = q.of.call;
    q.exact.A = a;
    q.exact.B = b;
    if (gemm_oracle_make(&q.oracle, &q.exact)) abort();
    return q;
}

static void free_multiply(multiply *q)
{
    free((float *)q->exact.A);
    free((float *)q->exact.B);
    gemm_oracle_free(&q->oracle);
    product_free(&q->of);
}

static gemm_context context_of(const gemm_pairs *p, int threads, gemm_kept *kept, gemm_note *note)
{
    gemm_clear_note(note);
    return (gemm_context){.threads = threads, .isa = p->base, .kept = kept, .note = note};
}

static gemm_status run_multiply(void *op, int threads, gemm_kept *kept, gemm_note *note)
{
    const multiply *q = op;
    const gemm_context context = context_of(q->p, threads, kept, note);
    const gemm_half_params params = {q->p->format, q->p};
    return gemm_half(&q->of.call, &context, &params);
}

/* C is compared with the exact product of the rounded operands. */
static const char *wrong_multiply(void *op, const gemm_note *note)
{
    const multiply *q = op;
    (void)note;
    if (!guarded_padding_intact(&q->of.C)) return "writes between the rows of C";
    return gemm_oracle_compare_rounded(&q->oracle, &q->exact, &q->p->sums).ratio <= 1
         ? NULL : "above the bound";
}

static const char *judge_multiply(void *subject, rng *r, int number, char *text)
{
    multiply q = make_multiply(subject, r);
    float *const before = copy_of(&q.of.C);
    const judged j = {.op = &q, .output = q.of.call.C, .before = before, .run = run_multiply,
                      .bytes = product_floats(&q.of.call) * sizeof(float),
                      .wrong = wrong_multiply};
    gemm_note note;
    bool declined;
    const char *wrong = judge_threads(&j, THREADS, &declined, &note);
    (void)number;
    product_text(&q.of.call, text);
    free(before);
    free_multiply(&q);
    return declined ? "declined" : wrong;
}

/* ---- convolutions ---- */

/* A convolution, and the same with rounded input and weights. */
typedef struct layer {
    const gemm_pairs *p;
    conv_call call, exact;
    bool direct;                /* Winograd's algorithm is not asked */
} layer;

static size_t inputs_of(const conv_call *c)
{
    return (size_t)(c->batch * c->c * c->h * c->w);
}

static layer make_layer(const gemm_pairs *p, const conv_shape *s, conv_activation activation,
                        bool pool, rng *r)
{
    layer l = {p, conv_shape_make(s, activation), conv_shape_make(s, activation), false};
    rng again = *r;
    conv_shape_fill(&l.call, r);
    conv_shape_fill(&l.exact, &again);
    round_all((float *)l.exact.input, inputs_of(&l.call));
    round_all((float *)l.exact.weights, (size_t)s->n * (size_t)gemm_conv_taps(&l.call));
    if (pool && l.call.out_h % 2 == 0 && l.call.out_w % 2 == 0) conv_shape_pool(&l.call);
    l.exact.pool = l.call.pool;
    return l;
}

static void free_layer(layer *l)
{
    conv_shape_free(&l->call);
    conv_shape_free(&l->exact);
}

static bool is_in_pairs(const gemm_note *note)
{
    const char *end = strstr(note->algorithm, "; ");
    return end && !strcmp(end + 2, format_name);
}

/* The output has to be that of the way that ran. */
static const char *wrong_layer(void *op, const gemm_note *note)
{
    const layer *l = op;
    gemm_error worst = {.ratio = -1};
    conv_call reference = is_in_pairs(note) ? l->exact : l->call;
    reference.output = l->call.output;
    const gemm_rounding *sums = is_in_pairs(note) ? &l->p->sums : NULL;
    if (gemm_conv_compare_rounded(&reference, note->transform, sums, &worst)) abort();
    return worst.ratio <= 1 ? NULL : "above the bound";
}

static gemm_status run_layer(void *op, int threads, gemm_kept *kept, gemm_note *note)
{
    const layer *l = op;
    gemm_context context = context_of(l->p, threads, kept, note);
    const gemm_half_params params = {format, l->p};
    context.direct = l->direct;
    return gemm_half_conv(&l->call, &context, &params);
}

static judged judge_of(layer *l)
{
    return (judged){l, l->call.output, conv_outputs(&l->call) * sizeof(float), NULL, run_layer,
                    is_in_pairs, wrong_layer};
}

static const char *judge_conv(void *subject, rng *r, int number, char *text)
{
    static const conv_activation activations[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU,
                                                  CONV_SWISH};
    const conv_shape s = judge_draw_shape(r, true, 120);
    const conv_activation drawn = activations[rng_below(r, 4)];
    const bool pools = !rng_below(r, 4);
    layer l = make_layer(subject, &s, pools && drawn > CONV_RELU ? CONV_LEAKY : drawn, pools, r);
    const judged j = judge_of(&l);
    gemm_note note;
    bool declined;
    const char *wrong = judge_threads(&j, THREADS, &declined, &note);
    (void)number;
    if (declined && !l.call.pool) wrong = "declined";
    ran += !declined && is_in_pairs(&note);
    judge_text(&l.call, text);
    free_layer(&l);
    return wrong;
}

/* ---- convolutions with a pool ---- */

/* The larger one; of -0 and 0, and where one is NaN, the first one. */
static float larger(float a, float b) { return b > a ? b : a; }

/* The maxima of 2x2 blocks of the output of `from`, whose sizes are those of `to`. */
static void pool_output(const conv_call *from, const conv_call *to)
{
    const int w = from->out_w;
    for (int plane = 0; plane < from->batch * from->n; ++plane) {
        const float *x = from->output + (size_t)plane * gemm_conv_places(from);
        float *y = to->output + (size_t)plane * gemm_conv_outputs(to);
        for (int i = 0; i < gemm_conv_outputs(to); ++i) {
            const float *top = x + (size_t)(i / (w / 2) * 2) * w + i % (w / 2) * 2;
            float m = larger(-FLT_MAX, top[0]);
            m = larger(m, top[1]);
            m = larger(m, top[w]);
            y[i] = larger(m, top[w + 1]);
        }
    }
}

/* Some have several blocks of channels, bands and parts of the filters. */
static conv_shape draw_pooled(rng *r)
{
    conv_shape s = {.batch = rng_below(r, 4) ? 1 : 2, .groups = rng_below(r, 4) ? 1 : 2, .size = 3,
                    .stride = 1, .pad = 1};
    if (!rng_below(r, 6)) s.size = 5, s.pad = 2;
    if (!rng_below(r, 6)) s.pad = s.size - 1;
    s.c = s.groups * (5 + rng_below(r, rng_below(r, 3) ? 70 : 200));
    s.n = s.groups * (33 + rng_below(r, rng_below(r, 3) ? 60 : 180));
    s.h = 2 + 2 * rng_below(r, 10);
    s.w = 2 + 2 * rng_below(r, rng_below(r, 8) ? 16 : 60);
    return s;
}

/* *pairs: the layer went in pairs, pooled and alone. */
static const char *judge_pool(layer *l, bool *pairs)
{
    const judged pooled = judge_of(l);
    float *const expected = malloc(pooled.bytes), *const alone = malloc(4 * pooled.bytes);
    layer unpooled = *l;
    gemm_note note, other;
    const char *wrong = NULL;
    if (!expected || !alone) abort();
    unpooled.call.pool = false;
    unpooled.call.output = alone;
    const judged whole = judge_of(&unpooled);
    if (judge_run(&whole, 1, NULL, &other)) abort();
    pool_output(&unpooled.call, &l->call);
    memcpy(expected, l->call.output, pooled.bytes);
    for (int threads = 1; threads <= THREADS && !wrong; ++threads) {
        const gemm_status status = judge_run(&pooled, threads, NULL, &note);
        *pairs = status == GEMM_DONE && is_in_pairs(&note) && is_in_pairs(&other);
        if (*pairs && memcmp(expected, l->call.output, pooled.bytes)) wrong = "other bits";
    }
    free(expected);
    free(alone);
    return wrong;
}

static const char *judge_pooled(void *subject, rng *r, int number, char *text)
{
    const conv_shape s = draw_pooled(r);
    layer l = make_layer(subject, &s, number % 2 ? CONV_LEAKY : CONV_LINEAR, true, r);
    bool pairs = false;
    l.direct = number % 3;
    const char *wrong = l.call.pool ? judge_pool(&l, &pairs) : NULL;
    ran += pairs || !l.p->blocks;       /* without blocks, pairs do not pool */
    judge_text(&l.call, text);
    free_layer(&l);
    return wrong;
}

/* ---- chains ---- */

/* All channels are above 16, and those that the last layer reads are an even number. */
static links draw_links(rng *r)
{
    static const conv_activation activations[LINKS] = {CONV_LEAKY, CONV_LEAKY, CONV_LINEAR};
    static const layer_call sum = {.alpha = 1, .beta = 1};
    const int in = 17 + rng_below(r, 60), deep = 18 + 2 * rng_below(r, 60);
    const int size = rng_below(r, 2) ? 3 : 5, stride = 1 + rng_below(r, 2);
    const int h = size + rng_below(r, 24), w = size + rng_below(r, 24);
    const conv_shape shapes[LINKS] = {
        {"", 1, 1, in, h, w, deep, 1, 1, 0},
        {"", 1, deep, deep, h, w, deep, size, stride, size / 2},
        {"", 1, 1, deep, 0, 0, 17 + rng_below(r, 60), 1, 1, 0}};
    return links_make(shapes, activations, rng_below(r, 3) == 0, &sum, r);
}

/* Else its products in nchwc, and so chains of few channels, stay in single precision. */
static bool has_chains(const gemm_pairs *p) { return p->nchwc != NULL; }

/* The output of the chain one by one goes to `expected`. */
static bool run_links(const gemm_pairs *p, links *l)
{
    for (int i = l->first; i < LINKS; ++i) {
        gemm_note note;
        const gemm_context context = context_of(p, 1, NULL, &note);
        const gemm_half_params params = {p->format, p};
        const conv_call c = links_alone(l, i);
        if (gemm_half_conv(&c, &context, &params) != GEMM_DONE) return false;
        if (i != 1 && is_in_pairs(&note) != has_chains(p)) return false;
    }
    links_expect(l, p->base);
    return true;
}

/* *done: whether the chain was not declined. Some are, because their layers alone add in another
   order. */
static const char *judge_chain(const gemm_pairs *p, links *l, bool *done)
{
    gemm_kept kept[LINKS] = {{.room = 1 << 22}, {.room = 1 << 22}, {.room = 1 << 22}};
    gemm_kept *const slots[LINKS] = {&kept[0], &kept[1], &kept[2]};
    const char *wrong = run_links(p, l) ? NULL : "a layer alone is not as in a chain";
    conv_call calls[LINKS];
    const layer_call *shortcut = links_calls(l, calls);
    for (int turn = 0; turn < 2 * THREADS && !wrong; ++turn) {
        gemm_note note;
        gemm_context context = context_of(p, 1 + turn / 2, NULL, &note);
        const gemm_half_params params = {p->format, p};
        context.chain_kept = turn % 2 ? slots : NULL;
        links_clear(l);
        const gemm_status status = gemm_half_chain(calls + l->first, LINKS - l->first, shortcut,
                                                   &context, &params);
        if (turn == 0) *done = status == GEMM_DONE;
        if (!*done && status == GEMM_DECLINED && links_untouched(l)) continue;
        if (status != GEMM_DONE || is_in_pairs(&note) != has_chains(p))
            wrong = "not as one by one";
        else if (!links_right(l))
            wrong = turn % 2 ? "other bits with a plan" : "other bits than one by one";
        if (turn % 2 && has_chains(p) && (!kept[0].data || !kept[1].data))
            wrong = "weights are not kept";
    }
    for (int i = 0; i < LINKS; ++i) gemm_drop_kept(&kept[i]);
    return wrong;
}

static const char *judge_links(void *subject, rng *r, int number, char *text)
{
    links l = draw_links(r);
    char depthwise[JUDGE_TEXT], last[JUDGE_TEXT];
    bool done = false;
    const char *wrong = judge_chain(subject, &l, &done);
    (void)number;
    ran += done;
    snprintf(text, JUDGE_TEXT, "%d channels, %.80s, %.80s%s", l.first ? 0 : l.calls[0].c,
             judge_text(&l.calls[1], depthwise), judge_text(&l.calls[2], last),
             l.adds ? ", shortcut" : "");
    links_free(&l);
    return wrong;
}

/* ---- kept, no-memory ---- */

/* An odd number of channels would leave too much of a block empty. */
static const conv_shape SHAPE = {"kept", 1, 1, 65, 20, 22, 40, 3, 2, 1},
                        BLOCKS = {"blocks", 1, 1, 63, 20, 22, 40, 3, 2, 1};

static void judge_kept_of(const gemm_pairs *p, const conv_shape *s, int unit, const char *name)
{
    rng r = rng_make(7, 0);
    layer l = make_layer(p, s, CONV_LEAKY, false, &r);
    const judged j = judge_of(&l);
    const int filters = (s->n + unit - 1) / unit * unit;
    const size_t pairs = (size_t)filters * (size_t)((s->c + 1) / 2) * 9 * sizeof(gemm_pair);
    report_judged(name, judge_kept(&j, l.call.weights, (size_t)(s->n * s->c) * 9, pairs,
                                   3 * CACHE_LINE));
    free_layer(&l);
}

static void test_kept(const gemm_pairs *p, const char *name)
{
    judge_kept_of(p, &SHAPE, p->panel ? p->mr : 1, name);
}

static void test_kept_blocks(const gemm_pairs *p, const char *name)
{
    if (p->blocks) judge_kept_of(p, &BLOCKS, p->base->vl, name);
}

/* ---- range ---- */

/* One large operand, in a weight or in the input. Where fp16 has no number
   for it, the layer is right in single precision; else it goes in pairs. */
static const char *judge_operand(const gemm_pairs *p, float x, bool in_weights)
{
    rng r = rng_make(7, 0);
    layer l = make_layer(p, &SHAPE, CONV_LINEAR, false, &r);
    const judged j = judge_of(&l);
    const bool fits = fabsf(x) < (p->most_product ? 1000 : 65520);
    const char *wrong = NULL;
    gemm_kept kept = {.room = 1 << 20};
    if (in_weights) {
        ((float *)l.call.weights)[100] = x;
        ((float *)l.exact.weights)[100] = rounded(x);
    } else {
        ((float *)l.call.input)[1000] = x;
        ((float *)l.exact.input)[1000] = rounded(x);
    }
    for (int turn = 0; turn < 2 && !wrong; ++turn) {
        gemm_note note;
        if (judge_run(&j, 1 + turn, &kept, &note) != GEMM_DONE) wrong = "not done";
        else if (is_in_pairs(&note) != fits) wrong = fits ? "not in pairs" : "in pairs";
        else wrong = wrong_layer(&l, &note);
    }
    gemm_drop_kept(&kept);
    free_layer(&l);
    return wrong;
}

/* A multiply with 2 threads, whose sums may round so; NULL: not beyond single precision. */
static const char *judge_call(const gemm_pairs *p, const gemm_call *call, const gemm_rounding *sums)
{
    const gemm_half_params params = {p->format, p};
    gemm_note note;
    gemm_oracle oracle;
    const gemm_context context = context_of(p, 2, NULL, &note);
    if (gemm_oracle_make(&oracle, call)) abort();
    const char *wrong = gemm_half(call, &context, &params) != GEMM_DONE ? "not done" : NULL;
    if (!wrong && !(gemm_oracle_compare_rounded(&oracle, call, sums).ratio <= 1))
        wrong = "above the bound";
    gemm_oracle_free(&oracle);
    return wrong;
}

/* The same of a multiply, with both transposes: in single precision where it does not fit. */
static const char *judge_large(const gemm_pairs *p, float x, bool in_a, bool transposed)
{
    enum { SIZE = 24 };
    float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE] = {0};
    for (int i = 0; i < SIZE * SIZE; ++i) a[i] = (float)(i % 5), b[i] = 0x1p-3f;
    (in_a ? a : b)[SIZE * SIZE - 1] = x;
    const gemm_call call = {.TA = transposed, .TB = transposed, .M = SIZE, .N = SIZE, .K = SIZE,
                            .ALPHA = 1, .A = a, .lda = SIZE, .B = b, .ldb = SIZE, .C = c,
                            .ldc = SIZE};
    return judge_call(p, &call, fabsf(x) < 1000 ? &p->sums : NULL);
}

/* The largest products for which sums are in 16 bits, all of one sign: none becomes infinite. */
static const char *judge_sums(const gemm_pairs *p, float a, float b)
{
    enum { M = 17, N = 24, K = 301 };
    float A[M * K], B[K * N], C[M * N] = {0};
    for (int i = 0; i < M * K; ++i) A[i] = a;
    for (int i = 0; i < K * N; ++i) B[i] = b;
    const gemm_call call = {.M = M, .N = N, .K = K, .ALPHA = 1, .A = A, .lda = K, .B = B, .ldb = N,
                            .C = C, .ldc = N};
    return judge_call(p, &call, &p->sums);
}

static void test_range(const gemm_pairs *p, const char *name)
{
    static const float operands[] = {500, 65504, 65519, 65520, -65520, 1e30f, -FLT_MAX};
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof operands / sizeof *operands && !wrong; ++i) {
        for (int in = 0; in < 2 && !wrong; ++in) {
            wrong = judge_operand(p, operands[i], in);
            if (operands[i] == 65519) continue;     /* is rounded */
            if (!wrong) wrong = judge_large(p, operands[i], in, false);
            if (!wrong) wrong = judge_large(p, operands[i], in, true);
        }
    }
    if (!wrong) wrong = judge_sums(p, 50, 40);
    if (!wrong) wrong = judge_sums(p, 50, 41);
    report_judged(name, wrong);
}

static void test_range_of_fp16(const gemm_pairs *p, const char *name)
{
    if (p->format == GEMM_FP16) test_range(p, name);
}

static void judge_memory_of(const gemm_pairs *p, const conv_shape *s, const char *name)
{
    rng r = rng_make(7, 0);
    layer l = make_layer(p, s, CONV_LEAKY, false, &r);
    const judged j = judge_of(&l);
    report_judged(name, judge_no_memory(&j));
    free_layer(&l);
}

static void test_no_memory(const gemm_pairs *p, const char *name)
{
    judge_memory_of(p, &SHAPE, name);
}

static void test_no_memory_blocks(const gemm_pairs *p, const char *name)
{
    if (p->blocks) judge_memory_of(p, &BLOCKS, name);
}

/* ---- main ---- */

/* So many of the cases, and the part of these that has to run. */
static const struct random_test {
    const char *name;
    judge_case *judge;
    uint64_t stream;
    int one_of, least_one_of;
} random_tests[] = {
    {"multiply", judge_multiply, 1000, 1, INT_MAX}, {"conv", judge_conv, 100000, 1, 4},
    {"pool", judge_pooled, 300000, 8, 4}, {"chain", judge_links, 200000, 3, 2}};

static const struct test {
    const char *name;
    void (*run)(const gemm_pairs *, const char *name);
} tests[] = {{"kept", test_kept}, {"range", test_range_of_fp16}, {"no-memory", test_no_memory},
             {"kept-blocks", test_kept_blocks}, {"no-memory-blocks", test_no_memory_blocks}};

static void test_all(const gemm_pairs *p)
{
    char name[64], repeat[64];
    if (!p->supported()) {
        report_skip_machine(p->name, "this processor has no %s", p->name);
        return;
    }
    snprintf(repeat, sizeof repeat, "test_half --isa %s", p->name);
    for (size_t i = 0; i < sizeof random_tests / sizeof *random_tests; ++i) {
        const struct random_test *t = &random_tests[i];
        const int count = options.cases / t->one_of > 3 ? options.cases / t->one_of : 3;
        snprintf(name, sizeof name, "%s-%s", t->name, p->name);
        ran = 0;
        judge_cases(&(random_cases){name, repeat, t->stream, count, t->judge, (void *)p, &ran,
                                    count / t->least_one_of}, &options);
    }
    for (size_t i = 0; i < sizeof tests / sizeof *tests && options.only_case < 0; ++i) {
        snprintf(name, sizeof name, "%s-%s", tests[i].name, p->name);
        tests[i].run(p, name);
    }
}

int main(int argc, char **argv)
{
    options = options_read(argc, argv, (test_options){.cases = 300, .seed = 1, .only_case = -1},
                           "--isa, --cases, --seed, --case", NULL);
    printf("# seed %llu, %d cases\n", (unsigned long long)options.seed, options.cases);
    bool known = !options.isa;
    for (const gemm_pairs *const *p = gemm_pairs_all; *p; ++p) {
        if (options.isa && strcmp(options.isa, (*p)->name)) continue;
        format = (*p)->format;
        format_name = strrchr((*p)->name, '_') + 1;
        known = true;
        test_all(*p);
    }
    if (!known)
        return fprintf(stderr, "--isa %s: there are no such micro-kernels\n", options.isa), 2;
    return report_status();
}
