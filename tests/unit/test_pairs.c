/* SPDX-License-Identifier: MIT */
/*
 * The micro-kernels of packed_bf16 and packed_fp16 alone: each set of this processor.
 *
 *   rounding    both conversions, of all kinds of floats, before a guard page
 *   nchwc       products in nchwc, of rows and of nchwc, with several blocks of K; NaN behind the
 *               last channel, also on the stack, where zeroes of the weights would hide a number
 *
 *   test_pairs [--isa NAME] [--cases N] [--seed N] [--case I]
 */
#include "packed/isa/pairs.h"
#include "support/cases.h"
#include "support/rounded.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static gemm_format format;      /* of the micro-kernels that are tested */

static float rounded(float x) { return rounded_half(format, x); }

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
    if (format != GEMM_FP16) return from_bits(upper);
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
                wrong = "rows() is not rounded_half()";
    }
    for (int odd = 0; odd < 2; ++odd) {
        const float *x = long_one.data + odd;
        const int count = 2 * n - odd;
        p->along(count, x, to);
        for (int i = 0; i < 2 * n; ++i)
            if (!same_half(i < count ? x[i] : 0, to[i / 2], i % 2))
                wrong = "along() is not rounded_half()";
    }
    guarded_free(&low);
    guarded_free(&high);
    guarded_free(&long_one);
    guarded_free(&pairs);
    return wrong;
}

static void test_rounding(const gemm_pairs *p, const char *name, const test_options *o)
{
    rng r = rng_make(o->seed, 1);
    const char *wrong = NULL;
    for (int n = 1; n <= 100 && !wrong; ++n) wrong = judge_rounding(p, n, &r);
    report_judged(name, wrong);
}

/* ---- products in nchwc ---- */

static guarded draw_matrix(int rows, int columns, rng *r)
{
    guarded m = guarded_make(rows, columns, columns + rng_below(r, 3) * rng_below(r, 20),
                             rng_below(r, 2) ? AT_END : AT_START, 4 * rng_below(r, 5));
    guarded_fill(&m, r);
    return m;
}

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

static const char *judge_nchwc(void *subject, rng *r, int number, char *text)
{
    const gemm_pairs *p = subject;
    product q = draw_product(p, r);
    const gemm_nchwc l = q.call;
    (void)number;
    snprintf(text, JUDGE_TEXT, "%d places of %s, %d channels, K %d, slope %g", l.places,
             l.source == GEMM_ROWS ? "rows" : "nchwc", l.channels, l.K, (double)l.slope);
    fill_stack_with_nan();
    p->nchwc(&l);
    const char *wrong = judge_product(&q);
    free_product(&q);
    return wrong;
}

/* ---- main ---- */

static void test_all(const gemm_pairs *p, const test_options *o)
{
    char name[64], repeat[64];
    if (!p->supported()) {
        report_skip_machine(p->name, "this processor has no %s", p->name);
        return;
    }
    format = p->format;
    snprintf(name, sizeof name, "rounding-%s", p->name);
    test_rounding(p, name, o);
    snprintf(name, sizeof name, "nchwc-%s", p->name);
    snprintf(repeat, sizeof repeat, "test_pairs --isa %s", p->name);
    if (p->nchwc)
        judge_cases(&(random_cases){.name = name, .repeat = repeat, .stream = 400000,
                                    .count = o->cases, .judge = judge_nchwc, .subject = (void *)p},
                    o);
}

int main(int argc, char **argv)
{
    test_options o = {.cases = 75, .seed = 1, .only_case = -1};
    o = options_read(argc, argv, o, "--isa, --cases, --seed, --case", NULL);
    printf("# seed %llu, %d cases\n", (unsigned long long)o.seed, o.cases);
    bool known = !o.isa;
    for (const gemm_pairs *const *p = gemm_pairs_all; *p; ++p) {
        if (o.isa && strcmp(o.isa, (*p)->name)) continue;
        known = true;
        test_all(*p, &o);
    }
    if (!known) return fprintf(stderr, "--isa %s: there are no such micro-kernels\n", o.isa), 2;
    return report_status();
}
