/* SPDX-License-Identifier: MIT */
/*
 * The row packed_int8. Whole numbers are compared with sums of this test's own, and layers with a
 * reference that rounds by itself: each float must be the same one. Each set of micro-kernels of
 * this processor is tested, so all of them agree to the bit.
 *
 *   rounding    quads of all kinds of floats: 1 to 4 channels, before a guard page
 *   tile        whole numbers: tails of rows, columns and K; all at their limits, up to the
 *               largest K
 *   nchwc       the same for places by channels: tails of both, before guard pages
 *   conv        random convolutions: strides, groups, a batch, with a pool and without; 1 to 3
 *               threads give the same bits
 *   chain       random chains whose first layer goes in 8 bits, by bands and phases: the bits of
 *               the layers one by one, from the kept weights too; which chains are declined
 *   extremes    a layer whose inputs and weights are all at their limits
 *   single      what has no scale, or a logistic does not go in 8 bits
 *   kept        the weights are kept in 8 bits, serve the next call, and go with the plan
 *   no-memory   each of the aligned allocations fails in turn: the layer is declined, or goes in
 *               single precision; a chain is declined
 *   check       GEMM_CHECK's comparison takes what is right, and sees a sum that is off by 1
 *   scales      the file is read as it was written; lines that are malformed are refused
 *
 *   test_int8 [--isa NAME] [--cases N] [--seed N]
 */
#include "check/int8_check.h"
#include "int8/scales.h"
#include "packed/chain/chain.h"
#include "packed/packed.h"
#include "packed/isa/quads.h"
#include "support/conv_shape.h"
#include "support/failing_memory.h"
#include "support/operands.h"
#include "support/options.h"
#include "support/report.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, MANY_THREADS = 8 };

static int cases = 200, seed = 1;

static void *get(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) abort();
    return p;
}

/* ---- rounding ---- */

/* The byte of x less `zero`. The float product is what is rounded, so it is one here too. */
static int rounded(float x, float inverse, int zero)
{
    const float y = x * inverse;
    const double byte = (double)y + zero;
    if (!(byte < 127)) return 127 - zero;       /* NaN too */
    return (byte > -128 ? (int)nearbyint(byte) : -128) - zero;
}

static int byte_of(gemm_quad q, int i, bool offset)
{
    const int byte = (int)(q >> 8 * i & 255);
    return offset ? byte - 128 : byte < 128 ? byte : byte - 256;
}

/* A byte of 0: none, one of the limits, or any. */
static int draw_zero(rng *r)
{
    static const int zeros[] = {0, 0, -128, 127};
    return rng_below(r, 2) ? zeros[rng_below(r, 4)] : rng_below(r, 256) - 128;
}

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
                rounded(x.data[i * n + j], inverse, zero))
                wrong = "a byte is not the rounded number";
    guarded_free(&x);
    guarded_free(&to);
    return wrong;
}

static void test_rounding(const gemm_quads *q, const char *name)
{
    rng r = rng_make((uint64_t)seed, 1);
    const char *wrong = NULL;
    for (int n = 1; n <= 70 && !wrong; ++n)
        for (int rows = 1; rows <= 4 && !wrong; ++rows)
            wrong = judge_rounding(q, n, rows, n % 3 ? 1 : 7.3f, draw_zero(&r), &r);
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

static float finished(float slope, long long sum, float scale, float shift)
{
    volatile float y = (float)sum;      /* each operation rounds */
    y = y * scale;
    y = y + shift;
    return y > 0 ? y : slope * y;
}

/* Both forms of the output. */
static const char *judge_tile(const gemm_quads *q, int quads, int rows, int cols, drawn how,
                              rng *r)
{
    guarded a = guarded_make(1, quads * q->mr, quads * q->mr, AT_END, 0);
    guarded b = guarded_make(1, quads * q->nr, quads * q->nr, AT_END, 0);
    guarded c = guarded_make(rows, cols, cols + 5, AT_END, 0);
    guarded s = guarded_make(rows, cols, cols + 5, AT_END, 0);
    int32_t start[GEMM_QUADS_MOST_MR] = {0};
    float scale[GEMM_QUADS_MOST_MR], shift[GEMM_QUADS_MOST_MR];
    const int zero = zero_for(how, r);
    const char *wrong = NULL;
    draw_quads(&a, how, true, false, r);
    draw_quads(&b, how, false, q->offset, r);
    for (int i = 0; i < q->mr; ++i) {
        start[i] = start_of(q, (lane){&a, i, q->mr}, quads, zero);
        scale[i] = rng_float(r), shift[i] = rng_float(r) * 1000;
    }
    gemm_quads_tile t = {
        .quads = quads, .a = (gemm_quad *)a.data, .b = (gemm_quad *)b.data, .rows = rows,
        .cols = cols, .start = start, .scale = scale, .shift = shift, .slope = .1f, .c = c.data,
        .ldc = (size_t)c.ld};
    guarded_fill_nan(&c);
    guarded_fill_nan(&s);
    q->tile(&t);
    t.sums = (int32_t *)s.data;
    q->tile(&t);
    for (int i = 0; i < rows && !wrong; ++i) {
        for (int j = 0; j < cols && !wrong; ++j) {
            const long long sum =
                exact_sum(q, (lane){&a, i, q->mr}, (lane){&b, j, q->nr}, quads, zero);
            const float y = finished(.1f, sum, scale[i], shift[i]);
            if ((int32_t)quad_at(&s, i * s.ld + j) != sum) wrong = "a sum is wrong";
            else if (c.data[i * c.ld + j] != y) wrong = "a float is wrong";
        }
    }
    if (!guarded_padding_intact(&c) || !guarded_padding_intact(&s)) wrong = "writes between rows";
    guarded_free(&a);
    guarded_free(&b);
    guarded_free(&c);
    guarded_free(&s);
    return wrong;
}

static void test_tile(const gemm_quads *q, const char *name)
{
    static const int depths[] = {1, 2, 3, 7, 16, 65};
    rng r = rng_make((uint64_t)seed, 2);
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
    if (wrong) report_fail(name, "%d rows, %d columns, %d quads: %s", rows, cols, quads, wrong);
    else report_pass(name);
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
    int *const at = get((size_t)places * sizeof *at);
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
    free(at);
    return wrong;
}

static void test_nchwc(const gemm_quads *q, const char *name)
{
    static const int depths[] = {1, 2, 3, 7, 16, 65};
    rng r = rng_make((uint64_t)seed, 3);
    const char *wrong = NULL;
    int places = 0, channels = 0, quads = 0;
    for (places = 1; places <= 2 * q->mr + 1 && !wrong; ++places) {
        for (channels = 1; channels <= 2 * q->nr + 1 && !wrong; channels += 1 + channels / 8) {
            const int group = (1 + rng_below(&r, 2)) * q->vl;
            quads = depths[rng_below(&r, 6)];
            wrong = judge_nchwc(q, places, channels, quads, group, (drawn)rng_below(&r, 4), &r);
        }
    }
    if (wrong)
        report_fail(name, "%d places, up to %d channels, %d quads: %s", places - 1, channels, quads,
                    wrong);
    else report_pass(name);
}

/* ---- layers ---- */

typedef struct layer {
    const gemm_quads *q;
    conv_call call;
    gemm_scale scale;
    float *single;              /* NULL: it has to be in 8 bits. Else it may also be this */
    rng *r;                     /* which outputs of a large layer are compared */
} layer;

/* Some inputs are beyond the range. */
static layer make_layer(const gemm_quads *q, const conv_call *c, rng *r)
{
    return (layer){q, *c, {.M = c->n, .K = c->c / c->groups * c->size * c->size,
                           .scale = .9f / 127, .zero = draw_zero(r)}, NULL, r};
}

static layer draw_layer(const gemm_quads *q, const conv_shape *s, conv_activation activation,
                        rng *r)
{
    conv_call c = conv_shape_make(s, activation);
    conv_shape_fill(&c, r);
    return make_layer(q, &c, r);
}

static gemm_status run_layer(void *op, int threads, gemm_kept *kept, gemm_note *note)
{
    const layer *l = op;
    const gemm_context context = {.threads = threads, .isa = l->q->base, .kept = kept,
                                  .scale = &l->scale, .note = note};
    return gemm_int8_conv(&l->call, &context, l->q);
}

static float step_of(const layer *l, int filter)
{
    const float *w = l->call.weights + (size_t)filter * (size_t)l->scale.K;
    float most = 0;
    for (int i = 0; i < l->scale.K; ++i) most = fmaxf(most, fabsf(w[i]));
    return most;
}

/* One output by a direct sum. */
static float exact_output(const layer *l, int image, int filter, int y, int x)
{
    const conv_call *c = &l->call;
    const int channels = c->c / c->groups, first = filter / (c->n / c->groups) * channels;
    const float most = step_of(l, filter), inverse = most > 0 ? 127 / most : 0;
    const float *w = c->weights + (size_t)filter * (size_t)l->scale.K;
    long long sum = 0;
    for (int k = 0; k < channels; ++k) {
        const float *plane = c->input + (size_t)((image * c->c + first + k) * c->h * c->w);
        for (int dy = 0; dy < c->size; ++dy) {
            for (int dx = 0; dx < c->size; ++dx, ++w) {
                const int row = y * c->stride + dy - c->pad, column = x * c->stride + dx - c->pad;
                if (row < 0 || row >= c->h || column < 0 || column >= c->w) continue;
                sum += rounded(plane[row * c->w + column], 1 / l->scale.scale,
                               l->scale.zero) *
                       rounded(*w, inverse, 0);
            }
        }
    }
    volatile float scale = most / 127;
    scale = scale * l->scale.scale;
    if (c->scale) scale = scale * c->scale[filter];
    const float slope = c->activation == CONV_LEAKY ? .1f : c->activation == CONV_RELU ? 0 : 1;
    return finished(slope, sum, scale, c->shift[filter]);
}

/* The maximum of a block, as conv_call defines it. */
static float exact_maximum(const layer *l, int image, int filter, int y, int x)
{
    float most = -FLT_MAX;
    for (int i = 0; i < 4; ++i) {
        const float one = exact_output(l, image, filter, 2 * y + i / 2, 2 * x + i % 2);
        most = one > most ? one : most;
    }
    return most;
}

/* All outputs of a small layer are compared, else some of them. */
static const char *wrong_layer(void *op, const gemm_note *note)
{
    const layer *l = op;
    const conv_call *c = &l->call;
    const int all = (int)conv_outputs(c), outputs = gemm_conv_outputs(c);
    const int count = all < 400 ? all : 400, width = c->out_w / (c->pool ? 2 : 1);
    if (!note->scale && l->single)
        return memcmp(c->output, l->single, (size_t)all * sizeof(float))
             ? "not as in single precision" : NULL;
    if (note->scale != &l->scale) return "not in 8 bits";
    for (int i = 0; i < count; ++i) {
        const int at = all == count ? i : rng_below(l->r, all), place = at % outputs;
        const int filter = at / outputs % c->n, image = at / outputs / c->n;
        const float y = (c->pool ? exact_maximum : exact_output)(l, image, filter, place / width,
                                                                 place % width);
        if (memcmp(&c->output[at], &y, sizeof y)) return "an output is another float";
    }
    return NULL;
}

static bool is_in_8_bits(const gemm_note *note) { return note->scale; }

static judged judge_of(layer *l)
{
    return (judged){l, l->call.output, conv_outputs(&l->call) * sizeof(float), run_layer,
                    is_in_8_bits, wrong_layer};
}

static const char *judge_layer(layer *l)
{
    const judged j = judge_of(l);
    gemm_note note;
    bool declined;
    const char *wrong = judge_threads(&j, THREADS, &declined, &note);
    return declined ? "declined" : wrong;
}

/* The output gets whole blocks for a pool. */
static void make_even(conv_shape *s)
{
    if ((s->h + 2 * s->pad - s->size) / s->stride % 2 == 0) s->h += s->stride;
    if ((s->w + 2 * s->pad - s->size) / s->stride % 2 == 0) s->w += s->stride;
}

static void test_conv(const gemm_quads *q, const char *name)
{
    static const conv_activation activations[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU};
    const char *wrong = NULL;
    for (int i = 0; i < cases && !wrong; ++i) {
        rng r = rng_make((uint64_t)seed, 100000 + (uint64_t)i);
        conv_shape s = judge_draw_shape(&r, false, 300);
        char text[JUDGE_TEXT];
        if (i % 2) make_even(&s);
        layer l = draw_layer(q, &s, activations[rng_below(&r, 3)], &r);
        if (rng_below(&r, 4) == 0) l.call.scale = NULL;
        l.call.pool = i % 2;
        wrong = judge_layer(&l);
        if (wrong)
            report_fail(name, "case %d of seed %d: %s: %s", i, seed, judge_text(&l.call, text),
                        wrong);
        conv_shape_free(&l.call);
    }
    if (!wrong) report_pass(name);
}

/* ---- chains ---- */

/* A chain with the scale of each layer. Only the first one has one. */
typedef struct chain {
    links l;
    layer layers[LINKS];
    const gemm_scale *scales[LINKS];
} chain;

static void make_chain(chain *x, const gemm_quads *q, rng *r)
{
    static const conv_activation activations[] = {CONV_LINEAR, CONV_LEAKY, CONV_RELU};
    static const int sizes[] = {3, 3, 5};
    static const layer_call shortcut = {.alpha = 1, .beta = .5f, .activation = CONV_LEAKY};
    const int batch = 1 + rng_below(r, 2), size = sizes[rng_below(r, 3)];
    const bool deep = rng_below(r, 4) == 0;     /* many threads then go by phases */
    const int stride = 1 + rng_below(r, 2), h = 4 + rng_below(r, deep ? 8 : 20);
    const int w = 4 + rng_below(r, deep ? 8 : 40), most = deep ? 400 : 60;
    const int in = 17 + rng_below(r, most), wide = 17 + rng_below(r, 2 * most);
    const conv_shape shapes[LINKS] = {
        {"expand", batch, 1, in, h, w, wide, 1, 1, 0},
        {"depthwise", batch, wide, wide, h, w, wide, size, stride, size / 2},
        {"project", batch, 1, wide, 0, 0, 5 + rng_below(r, most), 1, 1, 0}};
    conv_activation drawn[LINKS];
    for (int i = 0; i < LINKS; ++i) drawn[i] = activations[rng_below(r, 3)];
    x->l = links_make(shapes, drawn, 0, &shortcut, r);
    for (int i = 0; i < LINKS; ++i) {
        x->layers[i] = make_layer(q, &x->l.calls[i], r);
        x->scales[i] = &x->layers[i].scale;
    }
    x->layers[1].scale.scale = x->layers[2].scale.scale = 0;
}

/* Layer after layer. */
static const char *run_one_by_one(chain *x)
{
    for (int i = 0; i < LINKS; ++i) {
        layer alone = x->layers[i];
        alone.call = links_alone(&x->l, i);
        const judged j = judge_of(&alone);
        gemm_note note;
        if (judge_run(&j, 1, NULL, &note)) return "a layer alone declined";
        if (is_in_8_bits(&note) != (i == 0)) return "not the first layer alone goes in 8 bits";
    }
    links_expect(&x->l, x->layers[0].q->base);
    return NULL;
}

/* Counts the chains that ran. */
static const char *judge_chain(chain *x, rng *r, int *ran)
{
    const gemm_quads *q = x->layers[0].q;
    gemm_kept kept[LINKS] = {{.room = SIZE_MAX}, {.room = SIZE_MAX}, {.room = SIZE_MAX}};
    gemm_kept *each[LINKS] = {&kept[0], &kept[1], &kept[2]};
    conv_call calls[LINKS];
    gemm_note note;
    gemm_context context = {.isa = q->base, .note = &note, .chain_scales = x->scales};
    const char *wrong = run_one_by_one(x);
    const layer_call *shortcut = links_calls(&x->l, calls);
    const judged first = judge_of(&x->layers[0]);
    for (int turn = 0; turn < 4 && !wrong; ++turn) {
        if (turn == 2) gemm_drop_kept(each[0]);     /* what the layer alone keeps is of no use */
        if (turn == 2 && judge_run(&first, 1, each[0], &note)) wrong = "declined alone";
        gemm_clear_note(&note);
        links_clear(&x->l);
        context.threads = turn % 2 ? 1 : 1 + rng_below(r, MANY_THREADS);
        context.chain_kept = turn ? each : NULL;
        const gemm_status status = gemm_int8_chain(calls, LINKS, shortcut, &context, q);
        *ran += status == GEMM_DONE;
        if (status == GEMM_DONE && !links_right(&x->l))
            wrong = "the bits are not those of the layers";
        else if (status == GEMM_DONE && strcmp(note.algorithm, "chain; int8"))
            wrong = "not in 8 bits";
        else if (status != GEMM_DONE && !links_untouched(&x->l)) wrong = "declined, and wrote";
    }
    for (int i = 0; i < LINKS; ++i) gemm_drop_kept(&kept[i]);
    return wrong;
}

/* Another layer in 8 bits, or two layers: declined. None: as under `packed`. */
static const char *judge_declined(chain *x)
{
    const gemm_quads *q = x->layers[0].q;
    conv_call calls[LINKS];
    gemm_note note;
    gemm_context context = {.threads = 1, .isa = q->base, .note = &note,
                            .chain_scales = x->scales};
    const char *wrong = NULL;
    x->l.adds = false;
    links_calls(&x->l, calls);
    calls[1].input = x->l.calls[0].output;
    x->layers[2].scale.scale = .01f;
    gemm_clear_note(&note);
    if (calls[2].n > 16 && gemm_int8_chain(calls, 3, NULL, &context, q) != GEMM_DECLINED)
        wrong = "it ran with the last layer in 8 bits";
    context.chain_scales = x->scales + 1;
    if (calls[2].n > 16 && gemm_int8_chain(calls + 1, 2, NULL, &context, q) != GEMM_DECLINED)
        wrong = "two layers ran in 8 bits";
    context.chain_scales = x->scales;
    x->layers[0].scale.scale = x->layers[2].scale.scale = 0;
    gemm_clear_note(&note);
    const gemm_status status = gemm_int8_chain(calls, 3, NULL, &context, q);
    if (status == GEMM_DONE && strcmp(note.algorithm, "chain"))
        wrong = "it ran in 8 bits without a scale";
    return wrong;
}

/* The micro-kernels with those for floats of this processor that have the widest vectors: an
   AVX-512 without VNNI has such. */
static gemm_quads beside_wide_floats(const gemm_quads *q)
{
    gemm_quads mixed = *q;
    for (int i = 0; gemm_ukernels[i]; ++i) {
        const gemm_ukernel *u = gemm_ukernels[i];
        if (u->supported() && u->vl % q->vl == 0 && u->vl > mixed.base->vl) mixed.base = u;
    }
    return mixed;
}

static void test_chain(const gemm_quads *q, const char *name)
{
    const gemm_quads mixed = beside_wide_floats(q);
    const char *wrong = NULL;
    const int count = cases < 40 ? cases : 40;
    int ran = 0, i = 0;
    for (; i < count && !wrong; ++i) {
        rng r = rng_make((uint64_t)seed, 200000 + (uint64_t)i);
        chain x;
        make_chain(&x, i % 2 ? &mixed : q, &r);
        wrong = judge_chain(&x, &r, &ran);
        if (!wrong) wrong = judge_declined(&x);
        links_free(&x.l);
    }
    if (!wrong && ran < count) wrong = "nearly all chains were declined";
    if (wrong) report_fail(name, "case %d of seed %d: %s", i - 1, seed, wrong);
    else report_pass(name);
}

/* Each product is 127 * 128, with one sign and then with the other. */
static void test_extremes(const gemm_quads *q, const char *name)
{
    const conv_shape s = {"extremes", 1, 1, 1024, 4, 5, 16, 3, 1, 1};
    rng r = rng_make(7, 0);
    const char *wrong = NULL;
    for (int sign = -1; sign <= 1 && !wrong; sign += 2) {
        layer l = draw_layer(q, &s, CONV_LINEAR, &r);
        l.scale.zero = 0;
        float *input = (float *)l.call.input, *w = (float *)l.call.weights;
        for (int i = 0; i < s.c * s.h * s.w; ++i) input[i] = -5;
        for (int i = 0; i < s.n * s.c * 9; ++i) w[i] = (float)sign * 3;
        wrong = judge_layer(&l);
        conv_shape_free(&l.call);
    }
    report_judged(name, wrong);
}

/* ---- what stays in single precision ---- */

static const conv_shape SHAPE = {"kept", 1, 1, 66, 20, 22, 41, 3, 2, 1};

static void test_single(const gemm_quads *q, const char *name)
{
    static const conv_shape picture = {"picture", 1, 1, 3, 20, 22, 40, 3, 1, 1},
                            depthwise = {"depthwise", 1, 40, 40, 20, 22, 40, 3, 1, 1},
                            narrow = {"narrow", 1, 1, 16, 20, 22, 40, 1, 1, 0};
    rng r = rng_make(7, 0);
    gemm_note note;
    const char *wrong = NULL;
    const conv_shape *const shapes[] = {&SHAPE, &SHAPE, &picture, &depthwise, &narrow};
    for (int i = 0; i < 5 && !wrong; ++i) {
        layer l = draw_layer(q, shapes[i], i == 1 ? CONV_LOGISTIC : CONV_LEAKY, &r);
        const judged j = judge_of(&l);
        if (i == 0) l.scale.scale = 0;
        const gemm_status status = judge_run(&j, 1, NULL, &note);
        if (note.scale || !strcmp(note.algorithm, "int8")) wrong = "went in 8 bits";
        else if (status != GEMM_DONE || judge_untouched(&j)) wrong = "declined";
        conv_shape_free(&l.call);
    }
    report_judged(name, wrong);
}

/* ---- kept, no-memory ---- */

static void test_kept(const gemm_quads *q, const char *name)
{
    rng r = rng_make(7, 0);
    layer l = draw_layer(q, &SHAPE, CONV_LEAKY, &r);
    const judged j = judge_of(&l);
    const size_t rows = (size_t)(SHAPE.n + q->mr - 1) / (size_t)q->mr * (size_t)q->mr;
    report_judged(name, judge_kept(&j, l.call.weights, (size_t)SHAPE.n * 66 * 9,
                                   rows * (8 + (66 + 2) * 9), 2 * CACHE_LINE));
    conv_shape_free(&l.call);
}

static const char *judge_layer_without_memory(const gemm_quads *q, rng *r)
{
    layer l = draw_layer(q, &SHAPE, CONV_LEAKY, r), single = l;
    const judged j = judge_of(&l), as_single = judge_of(&single);
    gemm_note note;
    l.single = get(j.bytes);
    single.scale.scale = 0;
    const char *wrong = judge_run(&as_single, 1, NULL, &note) ? "single precision declined" : NULL;
    memcpy(l.single, l.call.output, j.bytes);
    if (!wrong) wrong = judge_no_memory(&j);
    free(l.single);
    conv_shape_free(&l.call);
    return wrong;
}

static gemm_status run_chain(void *op, int threads, gemm_kept *kept, gemm_note *note)
{
    chain *x = op;
    (void)kept;
    const gemm_quads *q = x->layers[0].q;
    const gemm_context context = {.threads = threads, .isa = q->base, .note = note,
                                  .chain_scales = x->scales};
    conv_call calls[LINKS];
    const layer_call *shortcut = links_calls(&x->l, calls);
    return gemm_int8_chain(calls, LINKS, shortcut, &context, q);
}

static bool is_chain_in_8_bits(const gemm_note *note)
{
    return !strcmp(note->algorithm, "chain; int8");
}

static const char *wrong_chain(void *op, const gemm_note *note)
{
    const chain *x = op;
    if (!is_chain_in_8_bits(note)) return "a chain ran without memory";
    return links_right(&x->l) ? NULL : "the bits are not those of the layers";
}

static const char *judge_chain_without_memory(const gemm_quads *q, rng *r)
{
    chain x;
    make_chain(&x, q, r);
    const judged j = {&x, x.l.output.data, conv_outputs(&x.l.calls[2]) * sizeof(float), run_chain,
                      is_chain_in_8_bits, wrong_chain};
    const char *wrong = run_one_by_one(&x);
    if (!wrong) wrong = judge_no_memory(&j);
    links_free(&x.l);
    return wrong;
}

static void test_no_memory(const gemm_quads *q, const char *name)
{
    rng r = rng_make(7, 0);
    const char *wrong = judge_layer_without_memory(q, &r);
    report_judged(name, wrong ? wrong : judge_chain_without_memory(q, &r));
}

/* ---- GEMM_CHECK ---- */

static double check_ratio(const layer *l)
{
    gemm_error worst;
    if (gemm_int8_compare(&l->call, l->scale.scale, l->scale.zero, &worst)) abort();
    return worst.ratio;
}

static void test_check(const gemm_quads *q, const char *name)
{
    static const conv_shape shapes[] = {{"3x3", 2, 1, 66, 12, 13, 20, 3, 2, 1},
                                        {"groups", 1, 3, 33, 9, 10, 18, 3, 1, 0},
                                        {"1x1", 1, 1, 200, 6, 7, 30, 1, 1, 0},
                                        {"pool", 2, 1, 66, 8, 10, 20, 3, 1, 1}};
    rng r = rng_make(7, 0);
    const char *wrong = NULL;
    for (int i = 0; i < 4 && !wrong; ++i) {
        layer l = draw_layer(q, &shapes[i], i ? CONV_LEAKY : CONV_LINEAR, &r);
        l.call.pool = i == 3;
        const judged j = judge_of(&l);
        gemm_note note;
        if (judge_run(&j, 1, NULL, &note) || !note.scale) wrong = "not in 8 bits";
        else if (!(check_ratio(&l) <= 1)) wrong = "what is right is called wrong";
        const int at = (int)conv_outputs(&l.call) / 2;
        const int filter = at / gemm_conv_outputs(&l.call) % l.call.n;
        const float step = step_of(&l, filter) / 127 * l.scale.scale * l.call.scale[filter];
        l.call.output[at] += l.call.output[at] > 0 || !i ? step : .1f * step;
        if (!wrong && check_ratio(&l) <= 1) wrong = "a sum that is off by 1 is called right";
        conv_shape_free(&l.call);
    }
    report_judged(name, wrong);
}

/* ---- the file of scales ---- */

/* Whether the text is read; `why` as gemm_scales_parse sets it. */
static bool parse_text(const char *text, gemm_scales *s, char *why)
{
    FILE *f = tmpfile();
    if (!f || fputs(text, f) < 0) abort();
    rewind(f);
    const bool right = gemm_scales_parse(f, "x.int8", s, why);
    fclose(f);
    return right;
}

static const char *judge_written(void)
{
    gemm_scale layers[] = {{0x0123456789abcdef, 16, 173056, 27, 0, 0, GEMM_SCALE_UNKNOWN, NAN},
                           {~UINT64_C(0), 1024, 169, 4608, .0123456789f, -128, GEMM_SCALE_ERROR,
                             31.4f},
                           {1, 8, 1, 5, 1e-30f, 127, GEMM_SCALE_PERCENTILE, -3}};
    const gemm_scales written = {layers, 3};
    gemm_scales read;
    char why[GEMM_SCALES_WHY], text[1024] = "";
    FILE *f = tmpfile();
    if (!f || !gemm_scales_write(f, &written)) abort();
    rewind(f);
    if (fread(text, 1, sizeof text - 1, f) == 0) abort();
    fclose(f);
    if (strncmp(text, "gemm-int8 2 3\n", 14)) return "another head is written";
    if (!strstr(text, "layer 0123456789abcdef 16 173056 27 fp32 0 - -\n"))
        return "written otherwise";
    if (!parse_text(text, &read, why)) return "what was written is refused";
    const char *wrong = read.count == 3 ? NULL : "another number of layers";
    for (int i = 0; i < 3 && !wrong; ++i) {
        const gemm_scale *a = &layers[i], *b = gemm_scales_find(&read, a->weights, a->M, a->K);
        if (!b || b->N != a->N || b->scale != a->scale || b->zero != a->zero ||
            b->method != a->method)
            wrong = "another layer is read";
        else if (isnan(a->snr) ? !isnan(b->snr) : a->snr != b->snr) wrong = "another SNR is read";
    }
    if (gemm_scales_find(&read, 1, 8, 6) || gemm_scales_find(&read, 2, 8, 5))
        wrong = "a layer is found that is not there";
    gemm_scales_free(&read);
    return wrong;
}

static void test_bad_scales(void)
{
    static const struct bad {
        const char *name, *text, *why;
    } bad[] = {
        {"empty", "# nothing\n\n", "x.int8: the first line has to be: gemm-int8 2 LAYERS; make"},
        {"head", "gemm-int8\n", "x.int8:1: the first line has to be: gemm-int8 2 LAYERS; make ca"},
        {"older", "gemm-int8 1\n", "x.int8:1: the version is '1', allowed is 2; make calibrate m"},
        {"newer", "gemm-int8 3 1\n", "x.int8:1: the version is '3', allowed is 2; make calibrat"},
        {"count", "gemm-int8 2 -1\n", "x.int8:1: LAYERS '-1' is no whole number from 0 to 2147"},
        {"no-count", "gemm-int8 2\n", "x.int8:1: the first line has to be: gemm-int8 2 LAYERS"},
        {"longer", "gemm-int8 2 0\nlayer 0123456789abcdef 1 2 3 0.5 0 - -\n",
         "x.int8: it has 1 layers, and its first line names 0: it is longer; make calibrate makes"},
        {"words", "gemm-int8 2 1\nlayer 0123456789abcdef 1 2 3 .5 0 -\n",
         "x.int8:2: allowed is: layer HASH M N K SCALE ZERO METHOD SNR"},
        {"more-words", "gemm-int8 2 1\nlayer 0123456789abcdef 1 2 3 0.5 0 - - -\n", "x.int8:2: al"},
        {"hash", "gemm-int8 2 1\n\n# c\nlayer 0123456789abcdeX 1 2 3 0.5 0 - -\n", "x.int8:4: HAS"},
        {"short-hash", "gemm-int8 2 1\nlayer 123 1 2 3 0.5 0 - -\n", "x.int8:2: HASH '123' is not"},
        {"filters", "gemm-int8 2 1\nlayer 0123456789abcdef 0 2 3 0.5 0 - -\n", "x.int8:2: M '0' i"},
        {"taps", "gemm-int8 2 1\nlayer 0123456789abcdef 1 2 3x 0.5 0 - -\n", "x.int8:2: K '3x' is"},
        {"zero", "gemm-int8 2 1\nlayer 0123456789abcdef 1 2 3 0 0 - -\n", "x.int8:2: SCALE '0' is"},
        {"below", "gemm-int8 2 1\nlayer 0123456789abcdef 1 2 3 -1 0 - -\n", "x.int8:2: SCALE '-1'"},
        {"nan", "gemm-int8 2 1\nlayer 0123456789abcdef 1 2 3 nan 0 - -\n", "x.int8:2: SCALE 'nan'"},
        {"zero-point", "gemm-int8 2 1\nlayer 0123456789abcdef 1 2 3 0.5 -129 - -\n",
         "x.int8:2: ZERO '-129' is no whole number from -128 to 127"},
        {"method", "gemm-int8 2 1\nlayer 0123456789abcdef 1 2 3 0.5 0 best -\n",
         "x.int8:2: METHOD 'best' is none of percentile, error, -"},
        {"snr", "gemm-int8 2 1\nlayer 0123456789abcdef 1 2 3 0.5 0 - high\n", "x.int8:2: SNR 'hig"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char name[64], why[GEMM_SCALES_WHY] = "";
        gemm_scales s;
        snprintf(name, sizeof name, "scales-bad-%s", bad[i].name);
        if (parse_text(bad[i].text, &s, why)) report_fail(name, "it is taken");
        else if (strncmp(why, bad[i].why, strlen(bad[i].why)))
            report_fail(name, "it says: %s", why);
        else report_pass(name);
    }
}

/* Cut behind any of its bytes a file is refused, and says that it is cut once it has its head. */
static const char *judge_cut(void)
{
    static const char whole[] = "gemm-int8 2 2\n# c\nlayer 0123456789abcdef 1 2 3 0.5 -3 - 36.5\n"
                                "layer 0123456789abcdee 1 2 3 fp32 0 - -\n";
    const size_t head = sizeof "gemm-int8 2 2\n" - 1;
    char text[sizeof whole], why[GEMM_SCALES_WHY];
    gemm_scales s;
    for (size_t n = 0; n < sizeof whole - 1; ++n) {
        memcpy(text, whole, n);
        text[n] = '\0';
        if (parse_text(text, &s, why)) return gemm_scales_free(&s), "a cut file is taken";
        if (!strstr(why, "; make calibrate makes a new one")) return "no command is named";
        if (n >= head && !strstr(why, "cut")) return "it does not say that the file is cut";
        if (n == head + 4 && strcmp(why, "x.int8: it has 0 layers, and its first line names 2: it "
                                         "is cut; make calibrate makes a new one"))
            return "it says something else behind the head";
    }
    if (!parse_text(whole, &s, why)) return "the whole file is refused";
    gemm_scales_free(&s);
    return NULL;
}

static void test_long_line(void)
{
    char text[600] = "gemm-int8 2 0\n", why[GEMM_SCALES_WHY] = "";
    gemm_scales s;
    memset(text + strlen(text), '#', 500);
    const bool taken = parse_text(text, &s, why);
    report_judged("scales-bad-long", taken ? "it is taken"
                  : strstr(why, "x.int8:2: the line has more than 254") ? NULL : why);
}

/* ---- main ---- */

static void test_all(const gemm_quads *q)
{
    static const struct test {
        const char *name;
        void (*run)(const gemm_quads *, const char *name);
    } tests[] = {{"rounding", test_rounding}, {"tile", test_tile}, {"nchwc", test_nchwc},
                 {"conv", test_conv}, {"chain", test_chain},
                 {"extremes", test_extremes}, {"single", test_single}, {"kept", test_kept},
                 {"no-memory", test_no_memory}, {"check", test_check}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
        char name[64];
        snprintf(name, sizeof name, "%s-%s", tests[i].name, q->name);
        if (q->supported()) tests[i].run(q, name);
        else report_skip_machine(name, "this processor has no %s", q->name);
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
    for (const gemm_quads *const *q = gemm_quads_all; *q; ++q) {
        if (o.isa && strcmp(o.isa, (*q)->name)) continue;
        known = true;
        test_all(*q);
    }
    if (!known) return fprintf(stderr, "--isa %s: there are no such micro-kernels\n", o.isa), 2;
    report_judged("scales", judge_written());
    test_bad_scales();
    report_judged("scales-cut", judge_cut());
    test_long_line();
    return report_status();
}
