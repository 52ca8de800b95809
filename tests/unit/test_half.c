/* SPDX-License-Identifier: MIT */
/*
 * The rows packed_bf16 and packed_fp16. The reference is exact on operands that this test rounds to
 * 16 bits by itself, in double precision. The bound is then that of single precision, or of sums of
 * 16 bits: a product of operands that are rounded otherwise exceeds the former. Each set of
 * micro-kernels of this processor is tested.
 *
 *   rounding    both conversions, of all kinds of floats, before a guard page
 *   multiply    random sizes, transposes, leading dimensions and ALPHA; NaN between the rows, guard
 *               pages; 1 to 3 threads give the same bits
 *   nchwc       products in nchwc, of rows and of nchwc, with several blocks of K; NaN behind the
 *               last channel, also on the stack, where zeroes of the weights would hide a number
 *   conv        random convolutions, the same; with a pool, groups, strides and a batch
 *   pool        the bits of the convolution alone, and then the maxima, in pairs too
 *   chain       random chains give the bits of their layers one by one, with and without a plan
 *   kept        the weights are kept in 16 bits, serve the next call, and go with the plan
 *   range       fp16: operands that it has no numbers for are multiplied in single precision
 *   no-memory   each of the aligned allocations fails in turn: the output is right or unchanged
 *
 *   test_half [--isa NAME] [--cases N] [--seed N]
 */
#include "check/check.h"
#include "check/conv_check.h"
#include "driver/driver.h"
#include "packed/half/half.h"
#include "packed/isa/pairs.h"
#include "support/conv_shape.h"
#include "support/failing_memory.h"
#include "support/operands.h"
#include "support/options.h"
#include "support/report.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3 };

static int cases = 300, seed = 1;

/* ---- the reference ---- */

static gemm_format format;      /* of the micro-kernels that are tested */

/* A multiple of a power of two, ties to even. */
static float multiple(float x, int power)
{
    return (float)ldexp(nearbyint(ldexp(x, -power)), power);
}

/* To 8 binary digits, or to 11. */
static float rounded(float x)
{
    int exponent;
    if (!isfinite(x)) return x;
    frexp(x, &exponent);
    if (format == GEMM_BF16) {
        return fabsf(x) < FLT_MIN ? copysignf(0, x) : multiple(x, exponent - 8);
    }
    if (fabsf(x) >= 65520) return copysignf(INFINITY, x);
    return copysignf(multiple(x, exponent < -13 ? -24 : exponent - 11), x);
}

static void round_all(float *x, size_t n)
{
    for (size_t i = 0; i < n; ++i) x[i] = rounded(x[i]);
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A half of a pair as a float. */
static float half_of(gemm_pair pair, int which)
{
    const uint32_t upper = which ? pair & 0xffff0000u : pair << 16;
    if (format == GEMM_BF16) return from_bits(upper);
    const int exponent = upper >> 26 & 31, digits = upper >> 16 & 0x3ff;
    const double magnitude = exponent == 31 ? digits ? NAN : INFINITY
                           : exponent ? ldexp(1024 + digits, exponent - 25) : ldexp(digits, -24);
    return copysignf((float)magnitude, from_bits(upper));
}

static bool same_half(float x, gemm_pair pair, int which)
{
    const float half = half_of(pair, which), expected = rounded(x);
    return isnan(expected) ? isnan(half) : half == expected && signbit(half) == signbit(expected);
}

/* ---- rounding ---- */

/* Any bits; many are ties, denormals, infinite or NaN, or next to these. */
static float any_float(rng *r)
{
    static const uint32_t special[] = {0, 1, 0x007fffff, 0x00800000, 0x3f808000, 0x3f818000,
                                       0x3f807fff, 0x3f808001, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff,
                                       0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff, 0x00ffffff,
                                       0x477fe000, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001,
                                       0x33800000, 0x33c00000, 0x387fe000, 0x387fffff, 0x38800000,
                                       0x3f801000, 0x3f803000, 0x3f801001, 0x38fff000, 0x37802000};
    const uint32_t bits = rng_next(r);
    if (rng_below(r, 4) == 0) return from_bits(bits);
    if (rng_below(r, 3) == 0)           /* near the numbers of fp16 */
        return from_bits((bits & 0x807fffff) | (uint32_t)(100 + rng_below(r, 45)) << 23);
    return from_bits(special[bits % (sizeof special / sizeof *special)] | (bits & 0x80000000));
}

static void fill_with_any(guarded *m, rng *r)
{
    for (int i = 0; i < m->columns; ++i) m->data[i] = any_float(r);
}

/* NULL, or what is wrong with n pairs. */
static const char *judge_rounding(const gemm_pairs *p, int n, rng *r)
{
    guarded low = guarded_make(1, n, n, AT_END, 0), high = guarded_make(1, n, n, AT_END, 0);
    guarded long_one = guarded_make(1, 2 * n, 2 * n, AT_END, 0);
    guarded pairs = guarded_make(1, n, n, AT_END, 0);
    gemm_pair *const to = (gemm_pair *)pairs.data;
    const char *wrong = NULL;
    fill_with_any(&low, r);
    fill_with_any(&high, r);
    fill_with_any(&long_one, r);
    for (int both = 0; both < 2; ++both) {
        p->rows(n, low.data, both ? high.data : NULL, to);
        for (int j = 0; j < n; ++j)
            if (!same_half(low.data[j], to[j], 0) || !same_half(both ? high.data[j] : 0, to[j], 1))
                wrong = "rows";
    }
    for (int odd = 0; odd < 2; ++odd) {
        const float *x = long_one.data + odd;
        const int count = 2 * n - odd;
        p->along(count, x, to);
        for (int i = 0; i < 2 * n; ++i)
            if (!same_half(i < count ? x[i] : 0, to[i / 2], i % 2)) wrong = "along";
    }
    guarded_free(&low);
    guarded_free(&high);
    guarded_free(&long_one);
    guarded_free(&pairs);
    return wrong;
}

static void test_rounding(const gemm_pairs *p, const char *name)
{
    rng r = rng_make((uint64_t)seed, 1);
    const char *wrong = NULL;
    for (int n = 1; n <= 100 && !wrong; ++n) wrong = judge_rounding(p, n, &r);
    report_judged(name, wrong);
}

/* ---- multiply ---- */

typedef struct problem {
    gemm_call call;
    guarded A, B, C, exact_a, exact_b, before;
} problem;

/* Sizes next to those of tiles, and others. */
static int draw_size(rng *r, int most)
{
    static const int near[] = {2, 3, 4, 7, 8, 9, 15, 16, 17, 18, 31, 32, 33, 47, 48, 49, 63, 64, 65,
                               96, 97, 143, 144, 145, 169};
    return rng_below(r, 2) ? near[rng_below(r, sizeof near / sizeof *near)]
                           : 2 + rng_below(r, most);
}

static guarded draw_matrix(int rows, int columns, rng *r)
{
    guarded m = guarded_make(rows, columns, columns + rng_below(r, 3) * rng_below(r, 20),
                             rng_below(r, 2) ? AT_END : AT_START, 4 * rng_below(r, 5));
    guarded_fill(&m, r);
    return m;
}

static guarded copy_of(const guarded *m)
{
    guarded copy = guarded_make(m->rows, m->columns, m->ld, UNGUARDED, 0);
    for (int i = 0; i < m->rows; ++i)
        memcpy(copy.data + (size_t)i * (size_t)m->ld, m->data + (size_t)i * (size_t)m->ld,
               (size_t)m->columns * sizeof(float));
    return copy;
}

/* M and K are above 16 and N above 1, so that no other way is taken. */
static problem draw_problem(rng *r)
{
    problem p = {.call = {.TA = rng_below(r, 2), .TB = rng_below(r, 2)}};
    gemm_call *c = &p.call;
    const bool deep = !rng_below(r, 8);
    do {                        /* the row's own limits */
        c->M = draw_size(r, deep ? 40 : 200);
        c->N = draw_size(r, deep ? 60 : 300);
        c->K = deep ? 1 + rng_below(r, 5000) : draw_size(r, 400);
    } while (c->M <= 16 || c->N <= 2 || c->K <= 16);
    c->ALPHA = rng_below(r, 2) ? 1 : rng_float(r) * 3;
    p.A = c->TA ? draw_matrix(c->K, c->M, r) : draw_matrix(c->M, c->K, r);
    p.B = c->TB ? draw_matrix(c->N, c->K, r) : draw_matrix(c->K, c->N, r);
    p.C = draw_matrix(c->M, c->N, r);
    p.exact_a = copy_of(&p.A);
    p.exact_b = copy_of(&p.B);
    p.before = copy_of(&p.C);
    for (int i = 0; i < p.A.rows; ++i)
        round_all(p.exact_a.data + (size_t)i * (size_t)p.A.ld, (size_t)p.A.columns);
    for (int i = 0; i < p.B.rows; ++i)
        round_all(p.exact_b.data + (size_t)i * (size_t)p.B.ld, (size_t)p.B.columns);
    c->A = p.A.data, c->lda = p.A.ld;
    c->B = p.B.data, c->ldb = p.B.ld;
    c->C = p.C.data, c->ldc = p.C.ld;
    return p;
}

static void free_problem(problem *p)
{
    guarded *const all[] = {&p->A, &p->B, &p->C, &p->exact_a, &p->exact_b, &p->before};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) guarded_free(all[i]);
}

static gemm_context context_of(const gemm_pairs *p, int threads, gemm_kept *kept, gemm_note *note)
{
    gemm_clear_note(note);
    return (gemm_context){.threads = threads, .isa = p->base, .kept = kept, .note = note};
}

static void copy_rows(const guarded *from, guarded *to)
{
    for (int i = 0; i < from->rows; ++i)
        memcpy(to->data + (size_t)i * (size_t)to->ld, from->data + (size_t)i * (size_t)from->ld,
               (size_t)from->columns * sizeof(float));
}

static bool same_rows(const guarded *a, const guarded *b)
{
    for (int i = 0; i < a->rows; ++i)
        if (memcmp(a->data + (size_t)i * (size_t)a->ld, b->data + (size_t)i * (size_t)b->ld,
                   (size_t)a->columns * sizeof(float)))
            return false;
    return true;
}

/* Runs the problem; C is then compared with the exact product of the rounded operands. */
static const char *judge_multiply(const gemm_pairs *p, problem *q)
{
    gemm_call exact = q->call;
    exact.A = q->exact_a.data;
    exact.B = q->exact_b.data;
    gemm_oracle oracle;
    if (gemm_oracle_make(&oracle, &exact)) abort();
    guarded first = copy_of(&q->C);
    const char *wrong = NULL;
    for (int threads = 1; threads <= THREADS && !wrong; ++threads) {
        gemm_note note;
        const gemm_context context = context_of(p, threads, NULL, &note);
        const gemm_half_params params = {p->format, p};
        copy_rows(&q->before, &q->C);
        if (gemm_half(&q->call, &context, &params) != GEMM_DONE) wrong = "declined";
        else if (!(gemm_oracle_compare_rounded(&oracle, &exact, &p->sums).ratio <= 1))
            wrong = "above the bound";
        else if (threads == 1) copy_rows(&q->C, &first);
        else if (!same_rows(&q->C, &first)) wrong = "other bits with more threads";
        if (!guarded_padding_intact(&q->C)) wrong = "writes between the rows of C";
    }
    guarded_free(&first);
    gemm_oracle_free(&oracle);
    return wrong;
}

static void test_multiply(const gemm_pairs *p, const char *name)
{
    for (int i = 0; i < cases; ++i) {
        rng r = rng_make((uint64_t)seed, 1000 + (uint64_t)i);
        problem q = draw_problem(&r);
        const gemm_call c = q.call;
        const char *wrong = judge_multiply(p, &q);
        free_problem(&q);
        if (!wrong) continue;
        report_fail(name, "case %d of seed %d: TA %d TB %d M %d N %d K %d: %s", i, seed, c.TA, c.TB,
                    c.M, c.N, c.K, wrong);
        return;
    }
    report_pass(name);
}

/* ---- products in nchwc ---- */

/* A product in nchwc of places in any order. What lies behind the last channel of A is NaN. */
typedef struct product {
    gemm_nchwc call;
    int vl, *at;
    guarded a, weights, b, shift, scale, c;
} product;

/* Where element (i, k) of A is. */
static size_t place_of(const product *q, int i, int k)
{
    const gemm_nchwc *l = &q->call;
    return l->source == GEMM_ROWS ? (size_t)k * l->a_ld + (size_t)i
                                  : (size_t)(k / q->vl) * l->a_ld + (size_t)(i * q->vl + k % q->vl);
}

/* Strips of K rows, whose first half are pairs and whose others are 0. */
static void arrange_weights(const gemm_pairs *p, const product *q, int nr)
{
    const gemm_nchwc *l = &q->call;
    const int vl = q->vl;
    gemm_pair row[GEMM_PAIRS_MOST_K];
    gemm_pair *strip = (gemm_pair *)q->b.data;
    memset(strip, 0, (size_t)q->b.columns * sizeof *strip);
    for (int n = 0; n < l->channels; n += nr) {
        const int left = l->channels - n, whole = (left + vl - 1) / vl * vl;
        const int columns = whole < nr ? whole : nr;
        for (int j = 0; j < columns && j < left; ++j) {
            p->along(l->K, q->weights.data + (size_t)(n + j) * (size_t)q->weights.ld, row);
            for (int k = 0; k < (l->K + 1) / 2; ++k) strip[k * columns + j] = row[k];
        }
        strip += l->K * columns;
    }
}

static product draw_product(const gemm_pairs *p, rng *r)
{
    static const float slopes[] = {1, .1f, 0};
    const gemm_ukernel *u = gemm_pairs_ukernel(p);
    product q = {.vl = u->vl};
    gemm_nchwc *l = &q.call;
    l->source = rng_below(r, 2) ? GEMM_NCHWC : GEMM_ROWS;
    l->places = 1 + rng_below(r, rng_below(r, 4) ? 40 : 200);
    l->channels = 1 + rng_below(r, 130);
    l->K = 1 + rng_below(r, rng_below(r, 6) ? 100 : GEMM_PAIRS_MOST_K);
    l->K += l->source == GEMM_NCHWC && l->K % 2;
    const int groups = (l->channels + q.vl - 1) / q.vl, deep = (l->K + q.vl - 1) / q.vl;
    q.a = l->source == GEMM_ROWS ? draw_matrix(l->K, l->places, r)
                                 : draw_matrix(deep, l->places * q.vl, r);
    q.weights = draw_matrix(l->channels, l->K, r);
    q.b = guarded_make(1, l->K * groups * q.vl, l->K * groups * q.vl, AT_END, 0);
    q.shift = draw_matrix(1, l->channels, r);
    q.scale = draw_matrix(1, l->channels, r);
    q.c = guarded_make(groups, l->places * q.vl, l->places * q.vl + q.vl, AT_END, 0);
    l->a = q.a.data, l->a_ld = (size_t)q.a.ld;
    l->b = q.b.data;
    l->shift = q.shift.data, l->scale = rng_below(r, 2) ? q.scale.data : NULL;
    l->slope = slopes[rng_below(r, 3)];
    l->c = q.c.data, l->c_ld = (size_t)q.c.ld;
    l->at = q.at = malloc((size_t)l->places * sizeof *q.at);
    if (!q.at) abort();
    for (int i = 0; i < l->places; ++i) q.at[i] = (l->places - 1 - i) * q.vl;
    for (int k = l->K; l->source == GEMM_NCHWC && k < deep * q.vl; ++k)
        for (int i = 0; i < l->places; ++i) q.a.data[place_of(&q, i, k)] = NAN;
    guarded_fill_nan(&q.c);
    arrange_weights(p, &q, u->nr);
    return q;
}

static void free_product(product *q)
{
    guarded *const all[] = {&q->a, &q->weights, &q->b, &q->shift, &q->scale, &q->c};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) guarded_free(all[i]);
    free(q->at);
}

/* Each step of K, the scale and the shift round once, to 2^-24 of what is there at most. A sum of
   pairs may flush what is below FLT_MIN. */
static bool element_is_right(const product *q, int i, int n)
{
    const gemm_nchwc *l = &q->call;
    const double scale = l->scale ? l->scale[n] : 1;
    double sum = 0, sizes = 0;
    for (int k = 0; k < l->K; ++k) {
        const double x = (double)rounded(l->a[place_of(q, i, k)]) *
                         rounded(q->weights.data[(size_t)n * (size_t)q->weights.ld + (size_t)k]);
        sum += x;
        sizes += fabs(x);
    }
    const double y = scale * sum + l->shift[n], most = fabs(scale) * sizes + fabs(l->shift[n]);
    const double bound = (l->K + 4) * .5 * FLT_EPSILON * most + l->K * FLT_MIN;
    const double found = l->c[(size_t)(n / q->vl) * l->c_ld + (size_t)(l->at[i] + n % q->vl)];
    return fabs(found - (y > 0 ? y : l->slope * y)) <= bound;
}

static const char *judge_product(const product *q)
{
    for (int i = 0; i < q->call.places; ++i)
        for (int n = 0; n < q->call.channels; ++n)
            if (!element_is_right(q, i, n)) return "above the bound";
    return guarded_padding_intact(&q->c) ? NULL : "writes between the groups of C";
}

/* What a kernel finds on its stack, and should not multiply by, is NaN in any format. Weights
   behind the last channel are 0, which would hide other numbers. */
static void __attribute__((noinline)) fill_stack_with_nan(void)
{
    enum { BYTES = 512 * 1024 };
    unsigned char bytes[BYTES];
    memset(bytes, 0xff, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

static void test_nchwc(const gemm_pairs *p, const char *name)
{
    if (!p->nchwc) return;
    for (int i = 0; i < (cases < 20 ? 3 : cases / 4); ++i) {
        rng r = rng_make((uint64_t)seed, 400000 + (uint64_t)i);
        product q = draw_product(p, &r);
        const gemm_nchwc l = q.call;
        fill_stack_with_nan();
        p->nchwc(&l);
        const char *wrong = judge_product(&q);
        free_product(&q);
        if (!wrong) continue;
        report_fail(name, "case %d of seed %d: %d places of %s, %d channels, K %d, slope %g: %s", i,
                    seed, l.places, l.source == GEMM_ROWS ? "rows" : "nchwc", l.channels, l.K,
                    (double)l.slope, wrong);
        return;
    }
    report_pass(name);
}

/* ---- convolutions ---- */

/* A convolution, and the same with rounded input and weights. */
typedef struct layer {
    const gemm_pairs *p;
    conv_call call, exact;
    bool direct;                /* Winograd's algorithm is not asked */
} layer;

static layer make_layer(const gemm_pairs *p, const conv_shape *s, conv_activation activation,
                        bool pool, rng *r)
{
    layer l = {p, conv_shape_make(s, activation), conv_shape_make(s, activation), false};
    conv_shape_fill(&l.call, r);
    const size_t floats = (size_t)(l.call.output - l.call.input);
    const size_t operands = (size_t)(l.call.scale - l.call.input);
    memcpy((float *)l.exact.input, l.call.input, floats * sizeof(float));
    round_all((float *)l.exact.input, operands);
    l.call.pool = l.exact.pool = pool && l.call.out_h % 2 == 0 && l.call.out_w % 2 == 0;
    return l;
}

static void free_layer(layer *l)
{
    conv_shape_free(&l->call);
    conv_shape_free(&l->exact);
}

static bool is_in_pairs(const gemm_note *note)
{
    return strstr(note->algorithm, format == GEMM_FP16 ? "; fp16" : "; bf16");
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
    return (judged){l, l->call.output, conv_outputs(&l->call) * sizeof(float), run_layer,
                    is_in_pairs, wrong_layer};
}

static void report_layer(const char *name, const layer *l, int i, const char *wrong)
{
    char text[JUDGE_TEXT];
    report_fail(name, "case %d of seed %d: %s: %s", i, seed, judge_text(&l->call, text), wrong);
}

static void test_conv(const gemm_pairs *p, const char *name)
{
    static const conv_activation activations[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU,
                                                  CONV_SWISH};
    int in_pairs = 0;
    const char *wrong = NULL;
    for (int i = 0; i < cases && !wrong; ++i) {
        rng r = rng_make((uint64_t)seed, 100000 + (uint64_t)i);
        const conv_shape s = judge_draw_shape(&r, true, 120);
        const conv_activation drawn = activations[rng_below(&r, 4)];
        const bool pools = !rng_below(&r, 4);
        layer l = make_layer(p, &s, pools && drawn > CONV_RELU ? CONV_LEAKY : drawn, pools, &r);
        const judged j = judge_of(&l);
        gemm_note note;
        bool declined;
        wrong = judge_threads(&j, THREADS, &declined, &note);
        if (declined && !l.call.pool) wrong = "declined";
        in_pairs += !declined && is_in_pairs(&note);
        if (wrong) report_layer(name, &l, i, wrong);
        free_layer(&l);
    }
    if (wrong) return;
    if (in_pairs >= cases / 4) report_pass(name);
    else report_fail(name, "only %d of %d layers ran in pairs", in_pairs, cases);
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

/* Some have several blocks of K, several bands and groups of filters, and columns along K. */
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

static void test_pool(const gemm_pairs *p, const char *name)
{
    const int count = cases < 20 ? 3 : cases / 8;
    int in_pairs = 0;
    const char *wrong = NULL;
    for (int i = 0; i < count && !wrong; ++i) {
        rng r = rng_make((uint64_t)seed, 300000 + (uint64_t)i);
        const conv_shape s = draw_pooled(&r);
        layer l = make_layer(p, &s, i % 2 ? CONV_LEAKY : CONV_LINEAR, true, &r);
        bool pairs = false;
        l.direct = i % 3;
        if (l.call.pool) wrong = judge_pool(&l, &pairs);
        if (wrong) report_layer(name, &l, i, wrong);
        free_layer(&l);
        in_pairs += pairs;
    }
    if (wrong) return;
    if (in_pairs >= count / 4) report_pass(name);
    else report_fail(name, "only %d of %d layers were pooled in pairs", in_pairs, count);
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

static void test_chain(const gemm_pairs *p, const char *name)
{
    int ran = 0;
    const char *wrong = NULL;
    for (int i = 0; i < cases / 3 && !wrong; ++i) {
        rng r = rng_make((uint64_t)seed, 200000 + (uint64_t)i);
        links l = draw_links(&r);
        char depthwise[JUDGE_TEXT], last[JUDGE_TEXT];
        bool done = false;
        wrong = judge_chain(p, &l, &done);
        ran += done;
        if (wrong)
            report_fail(name, "case %d of seed %d: %d channels, %s, %s%s: %s", i, seed,
                        l.first ? 0 : l.calls[0].c, judge_text(&l.calls[1], depthwise),
                        judge_text(&l.calls[2], last), l.adds ? ", shortcut" : "", wrong);
        links_free(&l);
    }
    if (wrong) return;
    if (ran >= cases / 3 / 2) report_pass(name);
    else report_fail(name, "only %d of %d chains ran", ran, cases / 3);
}

/* ---- kept, no-memory ---- */

static const conv_shape SHAPE = {"kept", 1, 1, 65, 20, 22, 40, 3, 2, 1};

static void test_kept(const gemm_pairs *p, const char *name)
{
    rng r = rng_make(7, 0);
    layer l = make_layer(p, &SHAPE, CONV_LEAKY, false, &r);
    const judged j = judge_of(&l);
    const int mr = p->panel ? p->mr : 1, filters = (SHAPE.n + mr - 1) / mr * mr;
    const size_t pairs = (size_t)filters * (65 + 1) / 2 * 9 * sizeof(gemm_pair);
    report_judged(name, judge_kept(&j, l.call.weights, (size_t)SHAPE.n * 65 * 9, pairs,
                                   3 * CACHE_LINE));
    free_layer(&l);
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
    const size_t at = in_weights ? (size_t)(l.call.weights - l.call.input) + 100 : 1000;
    const char *wrong = NULL;
    gemm_kept kept = {.room = 1 << 20};
    ((float *)l.call.input)[at] = x;
    ((float *)l.exact.input)[at] = rounded(x);
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

static void test_no_memory(const gemm_pairs *p, const char *name)
{
    rng r = rng_make(7, 0);
    layer l = make_layer(p, &SHAPE, CONV_LEAKY, false, &r);
    const judged j = judge_of(&l);
    report_judged(name, judge_no_memory(&j));
    free_layer(&l);
}

/* ---- main ---- */

static void test_all(const gemm_pairs *p)
{
    static const struct test {
        const char *name;
        void (*run)(const gemm_pairs *, const char *name);
    } tests[] = {{"rounding", test_rounding}, {"multiply", test_multiply}, {"nchwc", test_nchwc},
                 {"conv", test_conv},
                 {"pool", test_pool}, {"chain", test_chain}, {"kept", test_kept},
                 {"range", test_range_of_fp16}, {"no-memory", test_no_memory}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
        char name[64];
        snprintf(name, sizeof name, "%s-%s", tests[i].name, p->name);
        if (p->supported()) tests[i].run(p, name);
        else report_skip_machine(name, "this processor has no %s", p->name);
    }
}

int main(int argc, char **argv)
{
    const test_options o = options_read(argc, argv, (test_options){.cases = cases, .seed = 1},
                                        "--isa, --cases, --seed", NULL);
    cases = o.cases;
    seed = (int)o.seed;
    printf("# seed %d, %d cases\n", seed, cases);
    bool known = !o.isa;
    for (const gemm_pairs *const *p = gemm_pairs_all; *p; ++p) {
        if (o.isa && strcmp(o.isa, (*p)->name)) continue;
        format = (*p)->format;
        known = true;
        test_all(*p);
    }
    if (!known) return fprintf(stderr, "--isa %s: there are no such micro-kernels\n", o.isa), 2;
    return report_status();
}
