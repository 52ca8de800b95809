/* SPDX-License-Identifier: MIT */
/*
 * The micro-kernels of packed_int8 alone: each set of this processor, so all of them agree to the
 * bit.
 *
 *   rounding    quads of all kinds of floats: 1 to 4 channels, before a guard page
 *   tile        whole numbers: tails of rows, columns and K; all at their limits, up to the
 *               largest K
 *   pooled      maxima of four sums of a tile, with scales of both signs
 *   nchwc       the same for places by channels: tails of both, before guard pages
 *
 *   test_quads [--isa NAME] [--seed N]
 */
#include "int8/scales.h"
#include "packed/isa/quads.h"
#include "support/operands.h"
#include "support/options.h"
#include "support/report.h"
#include "support/rounded.h"

#include <math.h>
#include <string.h>

static int byte_of(gemm_quad q, int i, bool offset)
{
    const int byte = (int)(q >> 8 * i & 255);
    return offset ? byte - 128 : byte < 128 ? byte : byte - 256;
}

/* ---- rounding ---- */

/* Ties, limits, and what is no number. */
static float any_input(rng *r)
{
    static const float special[] = {0, .5f, 1.5f, 2.5f, 126.5f, 126.49999f, 127, 127.5f, 1e10f,
                                    1e-40f, INFINITY, NAN, 3e38f, .49999997f};
    const float x = rng_below(r, 3) ? rng_float(r) * 140
                                    : special[rng_below(r, sizeof special / sizeof *special)];
    return rng_below(r, 2) ? x : -x;
}

static const char *judge_rounding(const gemm_quads *q, int n, int rows, float inverse, int zero,
                                  rng *r)
{
    guarded x = guarded_make(rows, n, n, AT_END, 0), to = guarded_make(1, n, n, AT_END, 0);
    gemm_quad *quads = (gemm_quad *)to.data;
    const char *wrong = NULL;
    for (int i = 0; i < rows * n; ++i) x.data[i] = any_input(r);
    q->quantize(n, rows, x.data, (size_t)n, inverse, zero, quads);
    for (int j = 0; j < n && !wrong; ++j)
        for (int i = 0; i < rows; ++i)
            if (byte_of(quads[j], i, q->offset) - zero !=
                rounded_byte(x.data[i * n + j], inverse, zero))
                wrong = "a byte is not the rounded number";
    guarded_free(&x);
    guarded_free(&to);
    return wrong;
}

/* Places of vl floats become planes of quads, before guard pages. */
static const char *judge_rounding_nchwc(const gemm_quads *q, int places, int vl, int zero, rng *r)
{
    const int planes = vl / 4, n = places * vl;
    guarded x = guarded_make(1, n, n, AT_END, 0);
    guarded to = guarded_make(planes, places, places + 3, AT_END, 0);
    gemm_quad *quads = (gemm_quad *)to.data;
    const char *wrong = NULL;
    for (int i = 0; i < n; ++i) x.data[i] = any_input(r);
    guarded_fill_nan(&to);
    q->quantize_nchwc(places, vl, x.data, .9f, zero, quads, (size_t)places + 3);
    for (int i = 0; i < n && !wrong; ++i)
        if (byte_of(quads[i % vl / 4 * (places + 3) + i / vl], i % 4, q->offset) - zero !=
            rounded_byte(x.data[i], .9f, zero))
            wrong = "a byte of a place is not the rounded number";
    if (!guarded_padding_intact(&to)) wrong = "writes behind a plane";
    guarded_free(&x);
    guarded_free(&to);
    return wrong;
}

static void test_rounding(const gemm_quads *q, const char *name, uint64_t seed)
{
    rng r = rng_make(seed, 1);
    const char *wrong = NULL;
    for (int n = 1; n <= 70 && !wrong; ++n)
        for (int rows = 1; rows <= 4 && !wrong; ++rows)
            wrong = judge_rounding(q, n, rows, n % 3 ? 1 : 7.3f, draw_zero(&r), &r);
    for (int places = 1; places <= 50 && !wrong; ++places)
        for (int vl = 4; vl <= GEMM_QUADS_MOST_VL && !wrong; vl *= 2)
            wrong = judge_rounding_nchwc(q, places, vl, draw_zero(&r), &r);
    report_judged(name, wrong);
}

/* ---- tiles ---- */

/* How the bytes of a tile are drawn. */
typedef enum drawn { RANDOM, SAME_SIGN, OTHER_SIGN, MIXED_SIGNS } drawn;

static int draw_byte(drawn how, bool of_a, rng *r)
{
    switch (how) {
    case RANDOM: return rng_below(r, 255) - 127;
    case SAME_SIGN: return -127;
    case OTHER_SIGN: return of_a ? -127 : 127;
    case MIXED_SIGNS: break;
    }
    return rng_below(r, 2) ? 127 : -127;
}

/* The byte of 0 that makes sums large. */
static int zero_for(drawn how, rng *r)
{
    return how == RANDOM ? draw_zero(r) : how == SAME_SIGN ? 127 : how == OTHER_SIGN ? -128 : 0;
}

/* `count` quads of K / 4 rows; *sum of lane i gets the sum of its bytes. */
static void draw_quads(guarded *m, drawn how, bool of_a, bool offset, rng *r)
{
    for (int i = 0; i < m->columns; ++i) {
        gemm_quad quad = 0;
        for (int k = 0; k < 4; ++k)
            quad |= (gemm_quad)((draw_byte(how, of_a, r) + (offset ? 128 : 0)) & 255) << 8 * k;
        memcpy(&m->data[i], &quad, sizeof quad);
    }
}

static gemm_quad quad_at(const guarded *m, int i)
{
    gemm_quad quad;
    memcpy(&quad, &m->data[i], sizeof quad);
    return quad;
}

/* Quads along K: those of `m` from `first` on, `step` apart. */
typedef struct lane {
    const guarded *m;
    int first, step;
} lane;

/* What sums start at: quads.h. */
static int32_t start_of(const gemm_quads *q, lane weights, int quads, int zero)
{
    int32_t sum = 0;
    for (int p = 0; p < quads; ++p)
        for (int k = 0; k < 4; ++k)
            sum += byte_of(quad_at(weights.m, weights.first + p * weights.step), k, false);
    return -((q->offset ? 128 : 0) + zero) * sum;
}

static long long exact_sum(const gemm_quads *q, lane weights, lane image, int quads, int zero)
{
    long long sum = 0;
    for (int p = 0; p < quads; ++p) {
        const gemm_quad w = quad_at(weights.m, weights.first + p * weights.step);
        const gemm_quad x = quad_at(image.m, image.first + p * image.step);
        for (int k = 0; k < 4; ++k)
            sum += byte_of(w, k, false) * (byte_of(x, k, q->offset) - zero);
    }
    return sum;
}

/* The operands of a tile. */
typedef struct tile_operands {
    guarded a, b;
    int zero;
    int32_t start[GEMM_QUADS_MOST_MR];
    float scale[GEMM_QUADS_MOST_MR], shift[GEMM_QUADS_MOST_MR];
    size_t at[2][GEMM_INT8_MOST_K / 4 + GEMM_QUADS_AHEAD];
} tile_operands;

/* `below` is vl columns behind `at`. */
static gemm_quads_tile draw_tile(tile_operands *o, const gemm_quads *q, int quads, drawn how,
                                 rng *r)
{
    *o = (tile_operands){.a = guarded_make(1, quads * q->mr, quads * q->mr, AT_END, 0),
                         .b = guarded_make(1, quads * q->nr, quads * q->nr, AT_END, 0),
                         .zero = zero_for(how, r)};
    draw_quads(&o->a, how, true, false, r);
    draw_quads(&o->b, how, false, q->offset, r);
    for (int p = 0; p < quads + GEMM_QUADS_AHEAD; ++p)
        o->at[0][p] = (size_t)p * q->nr, o->at[1][p] = o->at[0][p] + (size_t)q->vl;
    for (int i = 0; i < q->mr; ++i) {
        o->start[i] = start_of(q, (lane){&o->a, i, q->mr}, quads, o->zero);
        o->scale[i] = rng_float(r), o->shift[i] = rng_float(r) * 1000;
    }
    return (gemm_quads_tile){.quads = quads, .a = (gemm_quad *)o->a.data,
                             .b = (gemm_quad *)o->b.data, .at = o->at[0], .start = o->start,
                             .scale = o->scale, .shift = o->shift, .slope = .1f};
}

static long long sum_at(const tile_operands *o, const gemm_quads *q, int quads, int i, int j)
{
    return exact_sum(q, (lane){&o->a, i, q->mr}, (lane){&o->b, j, q->nr}, quads, o->zero);
}

static void free_tile(tile_operands *o)
{
    guarded_free(&o->a);
    guarded_free(&o->b);
}

/* Both forms of the output. */
static const char *judge_tile(const gemm_quads *q, int quads, int rows, int cols, drawn how,
                              rng *r)
{
    static tile_operands o;
    guarded c = guarded_make(rows, cols, cols + 5, AT_END, 0);
    guarded s = guarded_make(rows, cols, cols + 5, AT_END, 0);
    const char *wrong = NULL;
    gemm_quads_tile t = draw_tile(&o, q, quads, how, r);
    t.rows = rows, t.cols = cols, t.c = c.data, t.ldc = (size_t)c.ld;
    guarded_fill_nan(&c);
    guarded_fill_nan(&s);
    q->tile(&t);
    t.sums = (int32_t *)s.data;
    q->tile(&t);
    for (int i = 0; i < rows && !wrong; ++i) {
        for (int j = 0; j < cols && !wrong; ++j) {
            const long long sum = sum_at(&o, q, quads, i, j);
            const float y = finished(.1f, sum, o.scale[i], o.shift[i]);
            if ((int32_t)quad_at(&s, i * s.ld + j) != sum) wrong = "a sum is wrong";
            else if (c.data[i * c.ld + j] != y) wrong = "a float is wrong";
        }
    }
    if (!guarded_padding_intact(&c) || !guarded_padding_intact(&s)) wrong = "writes between rows";
    free_tile(&o);
    guarded_free(&c);
    guarded_free(&s);
    return wrong;
}

/* The maximum of two columns from `at` and two from `below`. */
static float maximum_of(const tile_operands *o, const gemm_quads *q, int quads, int i, int j)
{
    float most = -INFINITY;
    for (int k = 0; k < 4; ++k)
        most = fmaxf(most, finished(.1f, sum_at(o, q, quads, i, j + k / 2 * q->vl + k % 2),
                                    o->scale[i], o->shift[i]));
    return most;
}

static const char *judge_pooled(const gemm_quads *q, int quads, int rows, int outputs, drawn how,
                                rng *r)
{
    static tile_operands o;
    guarded c = guarded_make(rows, outputs, outputs + 5, AT_END, 0);
    const char *wrong = NULL;
    gemm_quads_tile t = draw_tile(&o, q, quads, how, r);
    t.rows = rows, t.cols = 2 * outputs, t.c = c.data, t.ldc = (size_t)c.ld, t.below = o.at[1];
    guarded_fill_nan(&c);
    q->tile(&t);
    for (int i = 0; i < rows && !wrong; ++i)
        for (int j = 0; j < outputs && !wrong; ++j)
            if (c.data[i * c.ld + j] != maximum_of(&o, q, quads, i, 2 * j))
                wrong = "a maximum is wrong";
    if (!guarded_padding_intact(&c)) wrong = "writes between rows";
    free_tile(&o);
    guarded_free(&c);
    return wrong;
}

static void test_pooled(const gemm_quads *q, const char *name, uint64_t seed)
{
    rng r = rng_make(seed, 4);
    const char *wrong = NULL;
    int rows = 0, outputs = 0, quads = 0;
    for (rows = 1; rows <= q->mr && !wrong; ++rows) {
        for (outputs = 1; outputs <= q->vl / 2 && !wrong; ++outputs) {
            quads = 1 + rng_below(&r, 40);
            wrong = judge_pooled(q, quads, rows, outputs, (drawn)rng_below(&r, 4), &r);
        }
    }
    report_that(name, !wrong, "%d rows, %d outputs, %d quads: %s", rows - 1, outputs - 1, quads,
                wrong);
}

static void test_tile(const gemm_quads *q, const char *name, uint64_t seed)
{
    static const int depths[] = {1, 2, 3, 7, 16, 65};
    rng r = rng_make(seed, 2);
    const char *wrong = NULL;
    int rows = 0, cols = 0, quads = 0;
    for (rows = 1; rows <= q->mr && !wrong; ++rows) {
        for (cols = 1; cols <= q->nr && !wrong; ++cols) {
            quads = depths[(rows + cols) % 6];
            wrong = judge_tile(q, quads, rows, cols, (drawn)((rows + cols) % 4), &r);
        }
    }
    for (drawn how = RANDOM; how <= MIXED_SIGNS && !wrong; ++how) {
        rows = 2, cols = 3, quads = GEMM_INT8_MOST_K / 4;
        wrong = judge_tile(q, quads, rows, cols, how, &r);
    }
    report_that(name, !wrong, "%d rows, %d columns, %d quads: %s", rows, cols, quads, wrong);
}

/* ---- nchwc ---- */

/* Channel j of place i lies at [j / group * c_ld + 2 * i * group + j % group]. */
static const char *judge_nchwc(const gemm_quads *q, int places, int channels, int quads, int group,
                               drawn how, rng *r)
{
    const int vectors = (channels + q->vl - 1) / q->vl, padded = vectors * q->vl;
    const int groups = (channels + group - 1) / group, c_ld = 2 * places * group + 3;
    guarded a = guarded_make(1, quads * places + GEMM_QUADS_SLACK,
                             quads * places + GEMM_QUADS_SLACK, AT_END, 0);
    guarded b = guarded_make(1, quads * padded, quads * padded, AT_END, 0);
    guarded c = guarded_make(groups, 2 * places * group - group, c_ld, AT_END, 0);
    guarded numbers = guarded_make(3, padded, padded, AT_END, 0);
    float *const scale = numbers.data, *const shift = scale + padded;
    int at[GEMM_QUADS_MOST_MR * 3];
    const int zero = zero_for(how, r);
    const char *wrong = NULL;
    draw_quads(&a, how, true, q->offset, r);
    draw_quads(&b, how, false, false, r);
    guarded_fill(&numbers, r);
    for (int j = 0; j < padded; ++j) {
        const lane weights = {&b, j / q->vl * quads * q->vl + j % q->vl, q->vl};
        const int32_t sum = start_of(q, weights, quads, zero);
        memcpy(&shift[padded + j], &sum, sizeof sum);
    }
    for (int i = 0; i < places; ++i) at[i] = 2 * i * group;
    guarded_fill_nan(&c);
    const gemm_quads_nchwc l = {
        .places = places, .channels = channels, .quads = quads, .a = (gemm_quad *)a.data,
        .a_ld = (size_t)places, .b = (gemm_quad *)b.data, .start = (int32_t *)(shift + padded),
        .scale = scale, .shift = shift, .slope = .1f, .c = c.data, .group = group,
        .c_ld = (size_t)c_ld, .at = at};
    q->nchwc(&l);
    for (int j = 0; j < channels && !wrong; ++j) {
        const lane weights = {&b, j / q->vl * quads * q->vl + j % q->vl, q->vl};
        for (int i = 0; i < places && !wrong; ++i) {
            const long long sum = exact_sum(q, weights, (lane){&a, i, places}, quads, zero);
            const float *const out = c.data + j / group * c_ld + at[i];
            const float y = finished(.1f, sum, scale[j], shift[j]);
            if (out[j % group] != y) wrong = "a float is wrong";
            else if (i && !isnan(out[-1])) wrong = "writes between places";
        }
    }
    if (!guarded_padding_intact(&c)) wrong = "writes behind a group";
    guarded *const all[] = {&a, &b, &c, &numbers};
    for (int i = 0; i < 4; ++i) guarded_free(all[i]);
    return wrong;
}

static void test_nchwc(const gemm_quads *q, const char *name, uint64_t seed)
{
    static const int depths[] = {1, 2, 3, 7, 16, 65};
    rng r = rng_make(seed, 3);
    const char *wrong = NULL;
    int places = 0, channels = 0, quads = 0;
    for (places = 1; places <= 2 * q->mr + 1 && !wrong; ++places) {
        for (channels = 1; channels <= 2 * q->nr + 1 && !wrong; channels += 1 + channels / 8) {
            const int group = (1 + rng_below(&r, 2)) * q->vl;
            quads = depths[rng_below(&r, 6)];
            wrong = judge_nchwc(q, places, channels, quads, group, (drawn)rng_below(&r, 4), &r);
        }
    }
    report_that(name, !wrong, "%d places, up to %d channels, %d quads: %s", places - 1, channels,
                quads, wrong);
}

/* ---- main ---- */

static void test_all(const gemm_quads *q, uint64_t seed)
{
    static const struct test {
        const char *name;
        void (*run)(const gemm_quads *, const char *name, uint64_t seed);
    } tests[] = {{"rounding", test_rounding}, {"tile", test_tile},
                 {"pooled", test_pooled}, {"nchwc", test_nchwc}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
        char name[64];
        snprintf(name, sizeof name, "%s-%s", tests[i].name, q->name);
        if (q->supported()) tests[i].run(q, name, seed);
        else report_skip_machine(name, "this processor has no %s", q->name);
    }
}

int main(int argc, char **argv)
{
    const test_options o = options_read(argc, argv, (test_options){.seed = 1}, "--isa, --seed",
                                        NULL);
    printf("# seed %llu\n", (unsigned long long)o.seed);
    bool known = !o.isa;
    for (const gemm_quads *const *q = gemm_quads_all; *q; ++q) {
        if (o.isa && strcmp(o.isa, (*q)->name)) continue;
        known = true;
        test_all(*q, o.seed);
    }
    if (!known) return fprintf(stderr, "--isa %s: there are no such micro-kernels\n", o.isa), 2;
    return report_status();
}
