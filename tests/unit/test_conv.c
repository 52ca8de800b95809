/* SPDX-License-Identifier: MIT */
/*
 * Every row that offers convolutions, over random geometry. `packed` is tested with every
 * instruction set of this processor, `cl` with both memory policies. The output is compared with
 * the reference in double precision and with Darknet's own layer (im2col, row stock, batch norm and
 * activation). Guard pages lie before or behind every array. The output holds NaN before the call.
 *
 * For each instruction set there are more tests: Winograd's algorithm over random geometry, also
 * where `packed` would not choose it; bands of split rows (strides from 2 on) with many channels;
 * few channels, also where `packed` would not choose their way; layers in nchwc; the bits of the
 * output do not depend on the number of threads; activations and maxima are Darknet's for
 * infinities, NaN, zeroes and denormals.
 *
 *   test_conv [--seed S] [--cases N] [--row NAME] [--case I] [--threads N]
 *
 * A case depends on the seed and its number alone. A failure prints the command that repeats it.
 * A row on a device runs a fifth of the cases, because each size of filter is a program to compile.
 */
#include "check/conv_check.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "hook/pjreddie.h"
#include "packed/packed.h"
#include "support/activated.h"
#include "support/conv_shape.h"
#include "support/float_modes.h"
#include "support/heap.h"
#include "support/judge.h"
#include "support/operands.h"
#include "support/options.h"
#include "support/report.h"
#include "util/winograd.h"

#include "darknet.h"

/* Darknet's activation functions. Here they are compiled without -Ofast, so NaN and infinity
   count. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "activations.h"
#pragma GCC diagnostic pop

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of Darknet's layers, whose own headers do not compile without warnings. */
layer make_convolutional_layer(int batch, int h, int w, int c, int n, int groups, int size,
                               int stride, int padding, ACTIVATION activation, int batch_normalize,
                               int binary, int xnor, int adam);
layer make_connected_layer(int batch, int inputs, int outputs, ACTIVATION activation,
                           int batch_normalize, int adam);

enum { MOST_THREADS = 8 };

/* The params of a row that may decline. */
static const char NOT_EVERY_CALL;

/* The calls that conv_by_way has computed, and where. */
static int forced_runs;
static const gemm_ukernel *forced_isa;

typedef void draw_function(conv_call *, rng *, int number);

/* A case: the call with its arrays, and Darknet's batch norm, from which scale and shift are
   made. */
typedef struct problem {
    draw_function *draw;
    int number;
    conv_call call;
    conv_norm norm;
    bool normalized;
    gemm_conv_mode mode;
    int threads;
    guarded input, weights, output, biases, mean, variance, scales;
} problem;

static const int CHANNELS[] = {1,  2,  3,  4,  5,  7,  8,  9,  13, 16,
                               17, 24, 31, 32, 33, 47, 48, 64, 67, 70};
static const int SIDES[] = {1, 2, 3, 4, 5, 7, 8, 13, 15, 16, 17, 19, 26, 31, 32, 48, 49, 53};
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define PICK(r, of) (of)[rng_below(r, (int)COUNT(of))]

/* A filter of 3x3 and stride 1. With K of 130 tail columns are multiplied along K. 70 filters are
   more than a block of them, and some maps are larger than a strip of tiles. */
static void draw_winograd(conv_call *c, rng *r, int number)
{
    static const int channels[] = {1, 2, 3, 5, 7, 8, 13, 16, 31, 64, 70, 130};
    static const int sides[] = {1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 16, 26, 31, 48, 53, 80};
    c->batch = 1 + number % 2;
    c->size = 3;
    c->stride = c->groups = 1;
    c->c = PICK(r, channels);
    c->n = PICK(r, channels);
    do {
        c->pad = rng_below(r, 3);
        c->h = PICK(r, sides);
        c->w = PICK(r, sides);
        c->out_h = conv_places(c->h, c);
        c->out_w = conv_places(c->w, c);
    } while (c->out_h < 1 || c->out_w < 1);
}

/*
 * Strides from 2 on, and at least 8 bands with every instruction set: a band has 192 places or
 * less, or 1/16 of the rows. Narrow maps, whose strips hold many rows, are high. A group alone has
 * so many channels that strips are packed.
 */
static void draw_polyphase(conv_call *c, rng *r, int number)
{
    enum { PLACES = 192, BANDS = 8 };
    static const int channels[] = {5, 6, 7, 8, 13, 16, 31, 64, 70}, many[] = {33, 47, 64, 70};
    static const int filters[] = {1, 2, 3, 3, 5, 7, 8, 13, 16, 31, 64, 70};
    static const int widths[] = {9, 16, 17, 31, 33, 47, 64, 97, 130};
    c->batch = 1 + number % 2;
    c->stride = 2 + rng_below(r, 3) * rng_below(r, 2);
    c->groups = 1 + rng_below(r, 4) / 3;
    c->size = c->stride + rng_below(r, 6);
    c->pad = rng_below(r, 4);
    c->c = c->groups > 1 ? c->groups * PICK(r, channels) : PICK(r, many);
    c->n = c->groups * PICK(r, filters);
    c->w = PICK(r, widths);
    c->out_w = conv_places(c->w, c);
    const int band = (PLACES + c->out_w - 1) / c->out_w;
    c->out_h = (BANDS - 1) * band + 1 + rng_below(r, 12);
    c->h = (c->out_h - 1) * c->stride + c->size - 2 * c->pad + rng_below(r, 2);
}

/* What runs in nchwc on forced_isa: 1x1 with two blocks of K. */
static void draw_nchwc(conv_call *c, rng *r, int number)
{
    static const int filters[] = {1, 3, 8, 24, 47, 70, 130};
    static const int sides[] = {1, 2, 3, 5, 7, 10, 13, 14, 15};
    const int half = forced_isa->kc / 2;
    c->batch = 1 + number % 2;
    c->groups = c->stride = c->size = 1;
    c->pad = 0;
    c->c = 3 * half + 1 + rng_below(r, half);
    c->n = PICK(r, filters);
    c->h = c->out_h = PICK(r, sides);
    c->w = c->out_w = 1 + PICK(r, sides);
}

/* Few channels, strides 1 to 4, and several bands where the image is large. Most outputs get even
   sides, because those may be pooled. */
static void draw_band(conv_call *c, rng *r, int number)
{
    static const int filters[] = {1, 2, 3, 8, 24, 47, 70}, channels[] = {1, 2, 3, 3, 4, 7, 33};
    static const int sides[] = {1, 2, 3, 6, 9, 18, 32, 47, 97, 150};
    c->batch = 1 + number % 2;
    c->groups = 1;
    c->stride = 1 + number / 2 % 4;
    c->c = PICK(r, channels);
    c->n = PICK(r, filters);
    do {
        c->size = 2 + rng_below(r, 6);
        c->pad = rng_below(r, 4);
        c->h = PICK(r, sides);
        c->w = PICK(r, sides);
        if (rng_below(r, 4)) {
            c->h += c->stride * (conv_places(c->h, c) & 1);
            c->w += c->stride * (conv_places(c->w, c) & 1);
        }
        c->out_h = conv_places(c->h, c);
        c->out_w = conv_places(c->w, c);
    } while (c->out_h < 1 || c->out_w < 1);
}

/*
 * Kinds in turn: dense, dense of the same size, grouped, depthwise with few large or many small
 * channels, 1x1, every second place of 31 x 31, and filters as large as the image. In the 31 x 31
 * whole vectors of pairs end one float behind the image. A filter of 1x1 over an image of 1x1 is a
 * connected layer.
 */
static void draw_geometry(conv_call *c, rng *r, int number)
{
    const int kind = number % 7;
    c->batch = 1 + rng_below(r, 3);
    c->size = 1 + rng_below(r, 7);
    c->stride = 1 + rng_below(r, 4);
    c->pad = rng_below(r, 4);
    c->c = PICK(r, CHANNELS);
    c->n = PICK(r, CHANNELS);
    c->groups = 1;
    if (kind == 1 || (kind == 3 && rng_below(r, 2))) c->pad = c->size / 2;
    if (kind == 2) {
        c->groups = 1 + rng_below(r, 8);
        c->c = c->groups * (1 + rng_below(r, 8));
        c->n = c->groups * (1 + rng_below(r, 8));
    } else if (kind == 3) {
        c->groups = c->c;
        c->n = c->c * (1 + rng_below(r, 4) / 3);
    } else if (kind == 4) {
        c->size = c->stride = 1;
        c->pad = 0;
    } else if (kind == 5) {
        c->stride = 2;
        c->pad = c->size / 2;
    }
    if (kind == 6) {
        c->size = rng_below(r, 2) ? 1 : 1 + rng_below(r, 5);
        c->groups = 1 + rng_below(r, 6) / 4;
        c->c *= c->groups * (rng_below(r, 2) ? 1 : 13);
        c->n *= c->groups;
        c->pad = 0;
    }
    do {
        c->h = kind == 6 ? c->size : kind == 5 ? 31 : PICK(r, SIDES);
        c->w = kind == 6 ? c->size : kind == 5 ? 31 : PICK(r, SIDES);
        if (kind == 3 && c->c < 4) c->h += 97, c->w += 101; /* more rows than a band has */
        c->out_h = conv_places(c->h, c);
        c->out_w = conv_places(c->w, c);
    } while (c->out_h < 1 || c->out_w < 1);
}

static guarded array(int n, rng *r)
{
    static const int offsets[] = {0, 0, 4, 16, 36};
    guarded g = guarded_make(1, n, n, rng_below(r, 2) ? AT_END : AT_START, PICK(r, offsets));
    guarded_fill(&g, r);
    return g;
}

/* A larger one takes minutes where a processor is emulated. */
static bool is_too_large(const conv_call *c)
{
    const double most = 4e8;    /* multiplications */
    return (double)c->batch * c->n * (c->c / c->groups) * c->size * c->size * c->out_h *
               c->out_w > most;
}

static problem problem_make(draw_function *draw, uint64_t seed, int number)
{
    rng r = rng_make(seed, (uint64_t)number);
    problem p = {.draw = draw, .number = number, .normalized = rng_below(&r, 2),
                 .threads = 1 + rng_below(&r, 3)};
    conv_call *c = &p.call;
    do {
        draw(c, &r, number);
    } while (is_too_large(c));
    c->activation = rng_below(&r, 3) ? (conv_activation)rng_below(&r, CONV_RELU + 1)
                                     : (conv_activation)rng_below(&r, CONV_ACTIVATIONS);
    c->pool = c->out_h % 2 == 0 && c->out_w % 2 == 0 && rng_below(&r, 2);
    p.mode = rng_below(&r, 2) ? GEMM_HOOK : GEMM_DIRECT;
    p.input = array(c->batch * c->c * c->h * c->w, &r);
    p.weights = array(c->n * (c->c / c->groups) * c->size * c->size, &r);
    p.output = array((int)conv_outputs(c), &r);
    p.biases = array(c->n, &r);
    p.mean = array(c->n, &r);
    p.variance = array(c->n, &r);
    p.scales = array(c->n, &r);
    for (int i = 0; i < c->n; ++i) p.variance.data[i] = .1f + fabsf(p.variance.data[i]);
    c->input = p.input.data;
    c->weights = p.weights.data;
    c->output = p.output.data;
    c->shift = p.biases.data;
    p.norm = (conv_norm){p.mean.data, p.variance.data, p.scales.data};
    return p;
}

static void problem_free(problem *p)
{
    guarded *all[] = {&p->input, &p->weights,  &p->output, &p->biases,
                      &p->mean,  &p->variance, &p->scales};
    for (size_t i = 0; i < COUNT(all); ++i) guarded_free(all[i]);
}

/* Whether pjreddie's Darknet has it. */
static bool darknet_has(conv_activation a)
{
    return a <= CONV_LOGISTIC || a == CONV_ELU;
}

/* Darknet's own layer, with the case's numbers. Linear, where Darknet lacks the activation. */
static layer darknet_layer(const problem *p)
{
    static const ACTIVATION names[CONV_ACTIVATIONS] = {
        [CONV_LINEAR] = LINEAR, [CONV_LEAKY] = LEAKY, [CONV_RELU] = RELU,
        [CONV_LOGISTIC] = LOGISTIC, [CONV_ELU] = ELU};
    const conv_call *c = &p->call;
    const ACTIVATION a = darknet_has(c->activation) ? names[c->activation] : LINEAR;
    layer l =
        make_convolutional_layer(c->batch, c->h, c->w, c->c, c->n, c->groups, c->size, c->stride,
                                 c->pad, a, p->normalized, 0, 0, 0);
    memcpy(l.weights, c->weights, (size_t)l.nweights * sizeof(float));
    memcpy(l.biases, c->shift, (size_t)c->n * sizeof(float));
    if (p->normalized) {
        memcpy(l.scales, p->norm.scales, (size_t)c->n * sizeof(float));
        memcpy(l.rolling_mean, p->norm.mean, (size_t)c->n * sizeof(float));
        memcpy(l.rolling_variance, p->norm.variance, (size_t)c->n * sizeof(float));
    }
    return l;
}

/* A pass of a network of this layer alone. */
static void pass(layer *l, network *net)
{
    net->n = 1;
    net->layers = l;
    hook_forward(net, net);
}

/* How far Darknet's own output is from the reference. */
static gemm_error darknet_error(const problem *p, const conv_call *folded)
{
    gemm_set_variant(gemm_find("stock"));
    layer l = darknet_layer(p);
    network net = {.input = (float *)p->call.input};
    pass(&l, &net);
    conv_call theirs = *folded;
    theirs.pool = false;
    if (!darknet_has(theirs.activation)) theirs.activation = CONV_LINEAR;
    gemm_error worst = {.ratio = INFINITY};
    theirs.output = l.output;
    gemm_conv_compare(&theirs, NULL, &worst);
    gemm_host_free(net.workspace);
    free_layer(l);
    return worst;
}

/* Darknet subtracts the mean and adds the bias one after the other: where they nearly cancel, it
   loses what a folded shift keeps. */
static bool is_near(const problem *p, const conv_call *folded, gemm_error e)
{
    const int i = e.row;
    const double parts =
        p->normalized ? fabs((double)p->norm.mean[i] * folded->scale[i]) + fabsf(p->call.shift[i])
                      : 0;
    return e.ratio <= 4 || e.difference <= 8 * FLT_EPSILON * parts;
}

/* The call as the driver folds it, in double precision: what the row had to compute. */
static conv_call fold(const problem *p, float *scale, float *shift)
{
    conv_call folded = p->call;
    for (int i = 0; p->normalized && i < folded.n; ++i) {
        const double s = p->norm.scales[i] / (sqrt((double)p->norm.variance[i]) + .000001);
        scale[i] = (float)s;
        shift[i] = (float)(p->call.shift[i] - p->norm.mean[i] * s);
    }
    if (p->normalized) {
        folded.scale = scale;
        folded.shift = shift;
    }
    return folded;
}

/* Runs the case as Darknet does, and twice with a plan: each time the same bits. The rows of a
   device, which are slow here, keep nothing in a plan and run once. NULL, or what is wrong. A row
   may decline what it is not made for. */
static const char *run_thrice(const gemm_variant *v, problem *p, const conv_call *folded,
                              bool *declined, gemm_note *note)
{
    gemm_plan *plan = NULL;
    const char *wrong = NULL;
    const size_t bytes = conv_outputs(folded) * sizeof(float);
    float *first = malloc(bytes);
    if (!first) abort();
    guarded_fill_nan(&p->output);
    gemm_clear_note(note);
    *declined = gemm_is_on_device(v) ? !gemm_conv_run(v, folded, NULL, note)
                             : !gemm_conv(&p->call, p->normalized ? &p->norm : NULL, NULL);
    memcpy(first, folded->output, bytes);
    for (int i = 0; i < 2 && !gemm_is_on_device(v) && !*declined && !wrong; ++i) {
        guarded_fill_nan(&p->output);
        if (!gemm_conv_run(v, folded, &plan, note))
            wrong = "it declined with a plan";
        else if (memcmp(first, folded->output, bytes))
            wrong = "a plan changes the bits";
    }
    gemm_plan_drop(&plan);
    free(first);
    return !wrong && gemm_planned_bytes() ? "the dropped plan is still counted" : wrong;
}

/* Whether B, as an image, may have more rows than a device's images. OpenCL promises 8192. */
static bool may_be_too_high(const gemm_variant *v, const conv_call *c)
{
    const bool image = !strncmp(v->name, "cl_image", strlen("cl_image")) ||
                       !strncmp(v->name, "cl_half", strlen("cl_half"));
    return image && c->batch * c->c * c->size * c->size > 8192;
}

/* Whether this case comes for the first time. Darknet's own layer is the same for all rows. */
static bool is_first(draw_function *draw, int number)
{
    static struct seen_case {
        draw_function *draw;
        int number;
    } *seen;
    static size_t count, room;
    for (size_t i = 0; i < count; ++i)
        if (seen[i].draw == draw && seen[i].number == number) return false;
    if (count == room) {
        room = room ? 2 * room : 64;
        seen = realloc(seen, room * sizeof *seen);
        if (!seen) abort();
    }
    seen[count++] = (struct seen_case){draw, number};
    return true;
}

/* NULL, or what is wrong. */
static const char *run_and_judge(const gemm_variant *v, problem *p, char *why, size_t size)
{
    float scale[512], shift[512];
    bool declined;
    gemm_note note;
    const conv_call *c = &p->call;
    gemm_set_variant(v);
    gemm_set_threads(p->threads);
    gemm_set_conv(p->mode);
    const conv_call folded = fold(p, scale, shift);
    const char *wrong = run_thrice(v, p, &folded, &declined, &note);
    gemm_set_conv(GEMM_HOOK);
    const bool may_decline = v->params == &NOT_EVERY_CALL || c->pool || may_be_too_high(v, c);
    if (declined) return may_decline ? NULL : "it declined";
    if (wrong) return wrong;
    gemm_error worst;
    if (gemm_conv_compare_rounded(&folded, note.transform, v->rounding, &worst))
        return "no memory for the reference";
    if (!(worst.ratio <= 1)) {
        snprintf(why, size, "image %d filter %d at %d is off by %g, %.3g times the bound",
                 worst.image, worst.row, worst.column, worst.difference, worst.ratio);
        return why;
    }
    /* Darknet reads a 1x1 convolution as if it had neither stride nor padding. */
    if (c->size == 1 && (c->stride != 1 || c->pad)) return NULL;
    if (!is_first(p->draw, p->number)) return NULL;
    const gemm_error theirs = darknet_error(p, &folded);
    if (!is_near(p, &folded, theirs)) {
        snprintf(why, size, "Darknet's own layer is %.3g times the bound away", theirs.ratio);
        return why;
    }
    return NULL;
}

static void judge_row(const gemm_variant *v, draw_function *draw, const test_options *o)
{
    char why[160], text[JUDGE_TEXT];
    const int cases = gemm_is_on_device(v) ? (o->cases + 4) / 5 : o->cases;
    const int first = o->only_case < 0 ? 0 : o->only_case;
    const int last = o->only_case < 0 ? cases : o->only_case + 1;
    const char *reason = gemm_unusable(v);
    if (reason) {
        report_unusable(v->name, reason);
        return;
    }
    for (int number = first; number < last; ++number) {
        problem p = problem_make(draw, o->seed, number);
        const char *wrong = run_and_judge(v, &p, why, sizeof why);
        if (wrong)
            report_fail(v->name,
                        "%s (%s, %d threads; repeat: test_conv --row %s --seed %llu --case %d)",
                        wrong, judge_text(&p.call, text), p.threads, v->name,
                        (unsigned long long)o->seed, number);
        problem_free(&p);
        if (wrong) return;
    }
    report_pass(v->name);
}

/* An output of no place is Darknet's to refuse. */
static void judge_empty(void)
{
    float one = 1, untouched = 7;
    const conv_call c = {.batch = 1,
                         .groups = 1,
                         .c = 1,
                         .h = 1,
                         .w = 1,
                         .n = 1,
                         .size = 3,
                         .stride = 1,
                         .pad = 0,
                         .out_h = -1,
                         .out_w = -1,
                         .input = &one,
                         .weights = &one,
                         .shift = &one,
                         .output = &untouched};
    gemm_set_variant(gemm_find("packed"));
    if (gemm_conv(&c, NULL, NULL) || untouched != 7)
        report_fail("empty-output", "it was not refused");
    else
        report_pass("empty-output");
}

static gemm_status decline(const gemm_op *op, const gemm_context *context, const void *params)
{
    (void)op, (void)context, (void)params;
    return GEMM_DECLINED;
}

/* A row that declines, one that offers nothing, and the hook switched off: Darknet's way each. */
static void judge_declined(void)
{
    gemm_variant declines = *gemm_find("packed");
    declines.run = decline;
    problem p = problem_make(draw_geometry, 1, 0);
    gemm_set_variant(&declines);
    const bool declined = !gemm_conv(&p.call, NULL, NULL);
    gemm_set_variant(gemm_find("stock"));
    const bool none = !gemm_conv_offered() && !gemm_conv(&p.call, NULL, NULL);
    gemm_set_variant(gemm_find("packed"));
    gemm_set_conv(GEMM_IM2COL);
    const bool off = !gemm_conv_offered() && !gemm_conv(&p.call, NULL, NULL);
    gemm_set_conv(GEMM_HOOK);
    if (declined && none && off)
        report_pass("declined");
    else
        report_fail("declined", "declines %d, offers none %d, off %d: each must be 1", declined,
                    none, off);
    problem_free(&p);
}

/* Darknet's layer with the hook and without: what the hook has to decline, or to do besides. */
typedef struct hook_case {
    const char *name;
    ACTIVATION activation;
    int size, stride, pad, groups, xnor;
    bool delta, declines; /* a delta is wanted; the row declines */
} hook_case;

static const hook_case HOOK_CASES[] = {
    {"leaky", LEAKY, 3, 1, 1, 2, 0, false, false},
    {"relu", RELU, 3, 1, 1, 1, 0, false, false},
    {"ramp", RAMP, 3, 2, 1, 1, 0, false, false},
    {"elu", ELU, 1, 1, 0, 1, 0, false, false},
    {"1x1 stride 2", LEAKY, 1, 2, 0, 1, 0, false, false},
    {"1x1 pad 1", LEAKY, 1, 1, 1, 1, 0, false, false},
    {"xnor", LEAKY, 3, 1, 1, 1, 1, false, false},
    {"delta wanted", LEAKY, 3, 1, 1, 1, 0, true, false},
    {"declined", LEAKY, 3, 1, 1, 1, 0, false, true},
};

/* How far x is from `expected`, relative to the largest of these. */
static double distance(const float *x, const float *expected, int n)
{
    double worst = 0, size = 0;
    for (int i = 0; i < n; ++i) {
        const double d = fabs((double)x[i] - (double)expected[i]);
        worst = d <= worst ? worst : d;
        size = fmax(size, fabs((double)expected[i]));
    }
    return worst / size;
}

static void judge_hook_case(const hook_case *h)
{
    enum { BATCH = 2, SIDE = 13, C = 6, N = 8, PLACES = BATCH * C * (SIDE + 2) * (SIDE + 2) };
    float input[PLACES]; /* with what Darknet reads behind the image under a padded 1x1 */
    char name[48];
    rng r = rng_make(1, 0);
    for (int i = 0; i < PLACES; ++i) input[i] = rng_float(&r);
    layer l = make_convolutional_layer(BATCH, SIDE, SIDE, C, N, h->groups, h->size, h->stride,
                                       h->pad, h->activation, 1, 0, h->xnor, 0);
    for (int i = 0; i < N; ++i) {
        l.rolling_mean[i] = l.biases[i] = rng_float(&r);
        l.rolling_variance[i] = 1.5f + rng_float(&r);
    }
    gemm_variant row = *gemm_find("packed");
    if (h->declines) row.run = decline;
    /* a workspace that another layer got, too small for this one */
    network net = {.input = input,
                   .delta = h->delta ? input : NULL,
                   .workspace = malloc(sizeof(float)),
                   .workspace_size = sizeof(float)};
    const int n = l.outputs * BATCH;
    const size_t bytes = (size_t)n * sizeof(float);
    float *expected = malloc(2 * bytes);
    gemm_set_variant(gemm_find("stock"));
    pass(&l, &net);
    memcpy(expected, l.output, bytes);
    memcpy(expected + n, l.x, bytes); /* which backward reads */
    gemm_set_variant(&row);
    pass(&l, &net);
    memset(l.output, 0xff, bytes);
    memset(l.x, 0xff, bytes);
    const size_t given = heap_given();
    pass(&l, &net);
    const size_t kept = heap_given() - given;
    const double off = distance(l.output, expected, n),
                 x_off = h->delta ? distance(l.x, expected + n, n) : 0;
    free(expected);
    free_layer(l);
    gemm_host_free(net.workspace);
    snprintf(name, sizeof name, "hook-%s", h->name);
    if (off <= 1e-5 && x_off <= 1e-5 && !kept)
        report_pass(name);
    else
        report_fail(name, "off by %g, its x by %g, %zu bytes kept", off, x_off, kept);
}

/* A connected layer. `calls`: of the row in a pass. */
typedef struct connected_case {
    const char *name;
    ACTIVATION activation;
    int batch, normalized;
    LAYER_TYPE of;              /* the layer of the network that it is, or that it is inside of */
    gemm_conv_mode mode;
    bool delta, declines;
    int calls;
} connected_case;

static const connected_case CONNECTED_CASES[] = {
    {"leaky", LEAKY, 1, 1, CONNECTED, GEMM_HOOK, false, false, 1},
    {"relu", RELU, 1, 0, CONNECTED, GEMM_DIRECT, false, false, 1},
    {"logistic", LOGISTIC, 1, 1, CONNECTED, GEMM_HOOK, false, false, 1},
    {"linear", LINEAR, 1, 0, CONNECTED, GEMM_HOOK, false, false, 1},
    {"tanh", TANH, 1, 1, CONNECTED, GEMM_HOOK, false, false, 1},
    {"batch 2", LEAKY, 2, 1, CONNECTED, GEMM_HOOK, false, false, 0},
    {"inside of rnn", LEAKY, 1, 1, RNN, GEMM_HOOK, false, false, 0},
    {"im2col", LEAKY, 1, 1, CONNECTED, GEMM_IM2COL, false, false, 0},
    {"delta wanted", LEAKY, 1, 1, CONNECTED, GEMM_HOOK, true, false, 0},
    {"declined", LEAKY, 1, 1, CONNECTED, GEMM_HOOK, false, true, 1},
};

static int connected_calls;
static bool connected_declines;

static gemm_status run_connected(const gemm_op *op, const gemm_context *context,
                                 const void *params)
{
    ++connected_calls;
    return connected_declines ? GEMM_DECLINED : gemm_packed_conv(op->conv, context, params);
}

static void judge_connected_case(const connected_case *h)
{
    enum { INPUTS = 131, OUTPUTS = 37, MOST = 2 };
    float input[MOST * INPUTS], expected[MOST * OUTPUTS];
    char name[48];
    rng r = rng_make(1, 0);
    for (int i = 0; i < MOST * INPUTS; ++i) input[i] = rng_float(&r);
    layer l = make_connected_layer(h->batch, INPUTS, OUTPUTS, h->activation, h->normalized, 0);
    for (int i = 0; i < OUTPUTS; ++i) {
        l.biases[i] = rng_float(&r);
        if (!h->normalized) continue;
        l.rolling_mean[i] = rng_float(&r);
        l.rolling_variance[i] = 1.5f + rng_float(&r);
    }
    gemm_variant row = *gemm_find("packed");
    layer whole = l;
    whole.type = h->of;
    network net = {.input = input, .delta = h->delta ? input : NULL};
    const int n = OUTPUTS * h->batch;
    gemm_set_variant(gemm_find("stock"));
    pass(&whole, &net);
    memcpy(expected, l.output, (size_t)n * sizeof(float));
    memset(l.output, 0xff, (size_t)n * sizeof(float));
    row.run = run_connected;
    connected_declines = h->declines;
    connected_calls = 0;
    gemm_set_variant(&row);
    gemm_set_conv(h->mode);
    pass(&whole, &net);
    gemm_set_conv(GEMM_HOOK);
    const double off = distance(l.output, expected, n);
    free_layer(l);
    snprintf(name, sizeof name, "connected-%s", h->name);
    if (off <= 1e-5 && connected_calls == h->calls)
        report_pass(name);
    else
        report_fail(name, "off by %g, the row was asked %d times, not %d", off, connected_calls,
                    h->calls);
}

/* ---- `packed` on one instruction set ---- */

/* As gemm_packed_conv, but `params` is the instruction set. */
static gemm_status conv_on_isa(const gemm_op *op, const gemm_context *context, const void *params)
{
    gemm_context own = *context;
    own.isa = params;
    return gemm_packed_conv(op->conv, &own, NULL);
}

static bool run_on_isa(const conv_call *c, const gemm_ukernel *u, int threads, gemm_note *note)
{
    gemm_context context = gemm_make_context(note);
    context.threads = threads;
    const gemm_op op = {GEMM_CONVOLUTION, {.conv = c}};
    return conv_on_isa(&op, &context, u) == GEMM_DONE;
}

/* ---- the number of threads ---- */

/* Large enough that threads share them. K of 1024, 1536 and 4608 lets A be packed. The 1x1 has
   blocks of A whose kc depends on their rows. N of 169 has tail columns. Six products are fewer
   than 4 for each of two threads. */
static const conv_shape THREAD_SHAPES[] = {
    {"shifts", 1, 1, 64, 53, 53, 70, 3, 1, 1},
    {"shifts, deep", 1, 1, 512, 29, 29, 19, 3, 1, 1},
    {"strips of tiles", 1, 1, 32, 104, 104, 64, 3, 1, 1},
    {"few tiles", 1, 1, 256, 13, 13, 512, 3, 1, 1},
    {"uneven blocks", 1, 1, 64, 14, 14, 83, 3, 1, 1},
    {"strips or phases", 1, 1, 130, 52, 52, 128, 3, 1, 1},
    {"tail columns", 1, 1, 130, 13, 13, 83, 3, 1, 1},
    {"any", 1, 1, 512, 31, 31, 19, 3, 1, 0},
    {"stride 2", 1, 1, 512, 57, 57, 19, 3, 2, 1},
    {"stride 2, few rows", 1, 1, 512, 27, 27, 19, 3, 2, 1},
    {"stride 2, tail columns", 1, 1, 70, 117, 121, 83, 5, 2, 2},
    {"few channels", 2, 1, 3, 97, 91, 23, 3, 1, 1},
    {"few channels, stride 2", 2, 1, 3, 97, 91, 23, 3, 2, 1},
    {"some channels", 1, 1, 29, 60, 96, 32, 5, 1, 2},
    {"1x1", 1, 1, 1536, 28, 28, 256, 1, 1, 0},
    {"1x1, in nchwc", 1, 1, 700, 11, 10, 96, 1, 1, 0},
    {"1x1, wide", 1, 1, 1024, 67, 67, 19, 1, 1, 0},
    {"groups", 1, 2, 1024, 29, 29, 22, 3, 1, 1},
    {"batch", 3, 2, 128, 29, 29, 54, 3, 1, 1},
    {"many groups", 2, 32, 128, 29, 29, 128, 3, 1, 1},
    {"depthwise", 2, 67, 67, 53, 53, 67, 3, 1, 1},
    {"depthwise stride 2", 2, 67, 67, 53, 53, 67, 5, 2, 2},
    {"depthwise, bands", 1, 23, 23, 131, 133, 46, 3, 1, 1},
    {"depthwise, bands, stride 2", 1, 23, 23, 231, 133, 46, 3, 2, 0},
    {"dots", 1, 1, 4001, 1, 1, 301, 1, 1, 0},
    {"dots, two groups", 3, 2, 130, 5, 5, 90, 5, 1, 0},
};

/* The same with maxima of 2x2 blocks, of layers that `packed` pools with every instruction set: by
   bands or by Winograd's algorithm. Fewer than 8 channels or filters are never Winograd's. */
static const conv_shape POOLED_SHAPES[] = {
    {"few channels", 1, 1, 3, 208, 208, 16, 3, 1, 1},
    {"few channels, a batch", 3, 1, 2, 101, 95, 11, 4, 1, 0},
    {"some channels", 1, 1, 23, 48, 96, 31, 5, 1, 2},
    {"few channels, stride 2", 2, 1, 3, 100, 108, 64, 7, 2, 3},
    {"strips of tiles", 1, 1, 32, 104, 104, 64, 3, 1, 1},
    {"few tiles", 1, 1, 256, 14, 14, 512, 3, 1, 1},
    {"strips or phases", 2, 1, 67, 50, 54, 70, 3, 1, 1},
};

static double error_of(const conv_call *c, const gemm_note *note)
{
    gemm_error worst;
    if (gemm_conv_compare(c, note->transform, &worst)) abort();
    return worst.ratio;
}

/* Their products are denormal. */
static void make_tiny(const conv_call *c)
{
    float *input = (float *)c->input, *weights = (float *)c->weights;
    for (size_t i = 0; i < (size_t)c->batch * c->c * c->h * c->w; ++i) input[i] *= 1e-20f;
    for (size_t i = 0; i < (size_t)c->n * gemm_conv_taps(c); ++i) weights[i] *= 1e-19f;
}

typedef struct threaded {
    conv_call call;
    const gemm_ukernel *isa;
} threaded;

static gemm_status run_threaded(void *op, int threads, gemm_kept *kept, gemm_note *note)
{
    const threaded *t = op;
    (void)kept;
    return run_on_isa(&t->call, t->isa, threads, note) ? GEMM_DONE : GEMM_DECLINED;
}

/* A pooled output is compared with the reference. Others have their own tests against it. */
static const char *wrong_threaded(void *op, const gemm_note *note)
{
    const threaded *t = op;
    return t->call.pool && !(error_of(&t->call, note) <= 1) ? "the output is wrong" : NULL;
}

/* NULL, or what is wrong. */
static const char *judge_shape(const conv_shape *s, bool pool, bool tiny, const gemm_ukernel *u,
                               int most)
{
    gemm_note note;
    bool declined;
    rng r = rng_make(7, 0);
    threaded t = {conv_shape_make(s, CONV_LEAKY), u};
    conv_shape_fill(&t.call, &r);
    if (tiny) make_tiny(&t.call);
    t.call.pool = pool;
    const judged j = {.op = &t, .output = t.call.output, .run = run_threaded,
                      .bytes = conv_outputs(&t.call) * sizeof(float), .wrong = wrong_threaded};
    const char *wrong = judge_threads(&j, most, &declined, &note);
    conv_shape_free(&t.call);
    return declined ? "it did not run" : wrong;
}

static void test_threads(const gemm_ukernel *u, int most)
{
    for (size_t i = 0; i < COUNT(THREAD_SHAPES) + COUNT(POOLED_SHAPES); ++i) {
        char name[64];
        const bool pool = i >= COUNT(THREAD_SHAPES);
        const conv_shape *s = pool ? &POOLED_SHAPES[i - COUNT(THREAD_SHAPES)] : &THREAD_SHAPES[i];
        snprintf(name, sizeof name, "threads%s %s, %s", pool ? " pooled" : "", s->name, u->name);
        const char *wrong = judge_shape(s, pool, false, u, most);
        report_judged(name, wrong);
    }
}

/* The same under each mode of the host: Winograd's, a product over the image, few channels, a
   depthwise one. */
static void test_modes(const gemm_ukernel *u)
{
    enum { THREADS = 3 };
    static const conv_shape shapes[] = {
        {"few tiles", 1, 1, 128, 13, 13, 128, 3, 1, 1},
        {"stride 2", 1, 1, 64, 27, 27, 19, 3, 2, 1},
        {"few channels", 1, 1, 3, 97, 91, 23, 3, 1, 1},
        {"1x1", 1, 1, 256, 28, 28, 64, 1, 1, 0},
        {"depthwise", 1, 67, 67, 53, 53, 67, 3, 1, 1},
    };
    for (size_t i = 0; i < COUNT(shapes) * FLOAT_MODES; ++i) {
        const conv_shape *s = &shapes[i / FLOAT_MODES];
        const int mode = (int)(i % FLOAT_MODES);
        char name[80];
        snprintf(name, sizeof name, "host %s: %s, %s", float_mode_names[mode], s->name, u->name);
        float_mode_set(mode);
        const char *wrong = judge_shape(s, false, true, u, THREADS);
        float_mode_set(NEAREST);
        report_judged(name, wrong);
    }
}

/* ---- activations at the ends of the range ---- */

static const float ENDS[] = {
    INFINITY,     -INFINITY,     NAN, 0,   FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN, 1e-40f, -1e-40f,
    FLT_TRUE_MIN, -FLT_TRUE_MIN, 88,  -88, 90,      -90,      104,     -104,     1,      -1,
};

/* Every way through the code; the last needs more than one block of K. */
static const conv_shape END_SHAPES[] = {
    {"shifts", 1, 1, 5, 13, 51, 65, 3, 1, 1},
    {"any", 1, 1, 5, 13, 51, 65, 3, 1, 0},
    {"stride 2", 1, 1, 33, 131, 51, 5, 3, 2, 1},
    {"few channels", 1, 1, 2, 13, 48, 8, 3, 1, 1},
    {"few channels, stride 2", 1, 1, 2, 131, 51, 5, 3, 2, 1},
    {"1x1", 1, 1, 3, 13, 47, 9, 1, 1, 0},
    {"tail columns", 1, 1, 200, 11, 27, 80, 1, 1, 0},
    {"depthwise", 1, 4, 4, 13, 51, 4, 3, 1, 1},
    {"depthwise stride 2", 1, 4, 4, 13, 51, 4, 3, 2, 1},
    {"blocks of K", 1, 1, 1300, 11, 43, 17, 1, 1, 0},
};

/* The same with maxima of 2x2 blocks. */
static const conv_shape POOLED_END_SHAPES[] = {
    {"few channels", 1, 1, 2, 14, 96, 8, 3, 1, 1},
    {"few channels, stride 2", 1, 1, 2, 27, 95, 8, 3, 2, 1},
};

/* Puts ENDS into one channel from (y, x) = (2, 2) on, 4 apart, because 0 times a neighbour may
   be NaN. */
static void place_ends(float *channel, int h, int w)
{
    enum { FIRST = 2, APART = 4 };
    int n = 0;
    for (int y = FIRST; y < h; y += APART) {
        for (int x = FIRST; x < w; x += APART) channel[y * w + x] = ENDS[n++ % (int)COUNT(ENDS)];
    }
}

/* Only the first channel of a group is not 0, and only the middle tap of a filter is 1. Scales
   are 1 and -1, shifts are +0 and -0, so the activation meets each of ENDS and its negative. A
   shift of -100 makes most maxima negative. */
static void fill_ends(conv_call *c)
{
    float *input = (float *)c->input, *weights = (float *)c->weights;
    float *scale = (float *)c->scale, *shift = (float *)c->shift;
    const int taps = c->size * c->size, channels = c->c / c->groups;
    for (int g = 0; g < c->groups; ++g) place_ends(input + g * channels * c->h * c->w, c->h, c->w);
    for (int i = 0; i < c->n * channels; ++i) weights[i * taps + taps / 2] = 1;
    for (int i = 0; i < c->n; ++i) {
        scale[i] = i & 1 ? -1 : 1;
        shift[i] = i & 4 ? -100 : i & 2 ? -0.0f : 0;
    }
}

static float sum_at(const conv_call *c, int filter, int y, int x)
{
    const int channels = c->c / c->groups, first = filter / (c->n / c->groups) * channels;
    const float *w = c->weights + filter * channels * c->size * c->size;
    float sum = 0;
    for (int k = 0; k < channels; ++k) {
        for (int t = 0; t < c->size * c->size; ++t, ++w) {
            const int row = y * c->stride + t / c->size - c->pad;
            const int column = x * c->stride + t % c->size - c->pad;
            if (row < 0 || row >= c->h || column < 0 || column >= c->w) continue;
            sum += *w * c->input[((first + k) * c->h + row) * c->w + column];
        }
    }
    return sum;
}

static float darknet_activate(float x, conv_activation a)
{
    switch (a) {
    case CONV_LINEAR:
        return linear_activate(x);
    case CONV_LEAKY:
        return leaky_activate(x);
    case CONV_RELU:
        return relu_activate(x);
    case CONV_LOGISTIC:
        return logistic_activate(x);
    default:
        return activated(x, a);
    }
}

/* Equal but for the last digits: Darknet multiplies by .1 and takes exp in double precision. Where
   denormals are zero, its sign may be another. */
static bool same_float(float x, float expected, float least)
{
    if (isnan(expected)) return isnan(x);
    if (expected == 0 && least > FLT_TRUE_MIN) return x == 0;
    if (isinf(expected) || expected == 0) return x == expected && !signbit(x) == !signbit(expected);
    return fabsf(x - expected) <= 4 * FLT_EPSILON * fabsf(expected) + least;
}

/* What Darknet's layer gives there before a maxpool. */
static float end_at(const conv_call *c, int filter, int y, int x)
{
    const float before = c->scale[filter] * sum_at(c, filter, y, x) + c->shift[filter];
    return darknet_activate(before, c->activation);
}

/* Darknet's maxpool of the block (y, x). */
static float pooled_end_at(const conv_call *c, int filter, int y, int x)
{
    float max = -FLT_MAX;
    for (int i = 0; i < 4; ++i) {
        const float end = end_at(c, filter, 2 * y + i / 2, 2 * x + i % 2);
        max = end > max ? end : max;
    }
    return max;
}

/* Whether each output is Darknet's; else says which is not. */
static bool ends_right(const conv_call *c, const gemm_ukernel *u, char *why, size_t size)
{
    /* The others are expected in double precision, which keeps what floats round to zero: x up to
       128, times a factor that is a denormal. */
    const float least =
        c->activation > CONV_LOGISTIC ? 128 * FLT_MIN : float_mode_least(u->name);
    const int unit = c->pool ? 2 : 1, width = c->out_w / unit, area = c->out_h / unit * width;
    for (int i = 0; i < c->n * area; ++i) {
        const int filter = i / area, y = i % area / width, x = i % width;
        const float expected = c->pool ? pooled_end_at(c, filter, y, x) : end_at(c, filter, y, x);
        if (same_float(c->output[i], expected, least)) continue;
        snprintf(why, size, "%g, Darknet's is %g (filter %d at %d, %d)", (double)c->output[i],
                 (double)expected, filter, y, x);
        return false;
    }
    return true;
}

static void judge_ends(const conv_shape *s, bool pool, conv_activation a, const gemm_ukernel *u)
{
    char name[64], why[160] = "it did not run";
    conv_call c = conv_shape_make(s, a);
    c.pool = pool;
    fill_ends(&c);
    gemm_note note;
    const bool right = run_on_isa(&c, u, 1, &note) && ends_right(&c, u, why, sizeof why);
    conv_shape_free(&c);
    snprintf(name, sizeof name, "ends%s of activation %d, %s, %s", pool ? " pooled" : "", (int)a,
             s->name, u->name);
    report_judged(name, right ? NULL : why);
}

static void test_ends(const gemm_ukernel *u)
{
    for (size_t s = 0; s < COUNT(END_SHAPES); ++s) {
        for (int a = CONV_LINEAR; a < CONV_ACTIVATIONS; ++a)
            judge_ends(&END_SHAPES[s], false, (conv_activation)a, u);
    }
    for (size_t s = 0; s < COUNT(POOLED_END_SHAPES); ++s) {
        for (int a = CONV_LINEAR; a <= CONV_RELU; ++a)
            judge_ends(&POOLED_END_SHAPES[s], true, (conv_activation)a, u);
    }
}

/* ---- one way of `packed` on one instruction set, also where it would not be chosen ---- */

static const char *forced_way;

/* As gemm_packed_conv. Declines what cannot go that way. */
static gemm_status conv_by_way(const gemm_op *op, const gemm_context *context, const void *params)
{
    const conv_call *c = op->conv;
    gemm_context own = *context;
    own.isa = forced_isa;
    own.way = forced_way;
    if (gemm_packed_explain(c, &own, params) != GEMM_DONE ||
        strcmp(own.note->algorithm, forced_way) || gemm_packed_conv(c, &own, params) != GEMM_DONE)
        return GEMM_DECLINED;
    ++forced_runs;
    return GEMM_DONE;
}

static void judge_way(const char *way, const gemm_ukernel *u, draw_function *draw, int cases,
                      const test_options *o)
{
    char name[48];
    test_options own = *o;
    gemm_variant v = *gemm_find("packed");
    snprintf(name, sizeof name, "%s, %s", way, u->name);
    forced_isa = u;
    forced_way = way;
    forced_runs = 0;
    v.name = name;
    v.run = conv_by_way;
    v.params = &NOT_EVERY_CALL;
    own.cases = cases;
    judge_row(&v, draw, &own);
    if (forced_runs < cases)
        report_fail(name, "only %d of %d cases ran", forced_runs / 3, cases);
}

static void judge_isa(const gemm_ukernel *u, const char *name, const test_options *o)
{
    enum { LEAST = 16 };        /* these ways decline a fifth to a third, and may decline 2 of 2 */
    const int some = o->cases > 4 * LEAST ? (o->cases + 3) / 4 : LEAST;
    gemm_variant v = *gemm_find("packed");
    v.name = name;
    v.run = conv_on_isa;
    v.params = u;
    if (!u->supported()) {
        report_skip_machine(name, "this processor has no %s", u->name);
        return;
    }
    judge_row(&v, draw_geometry, o);
    if (o->only_case >= 0) return;
    judge_way("winograd2", u, draw_winograd, o->cases, o);
    judge_way("winograd4", u, draw_winograd, o->cases, o);
    judge_way("polyphase", u, draw_polyphase, some, o);
    judge_way("nchwc", u, draw_nchwc, some, o);
    judge_way("banded", u, draw_band, some, o);
    test_ends(u);
    if (o->threads > 1) test_threads(u, o->threads);
    if (o->threads > 1) test_modes(u);
}

/* ---- the command line ---- */

static bool wants(const test_options *o, const char *row)
{
    return !o->row || !strcmp(o->row, row);
}

/* Returns the number of rows judged. */
static int judge_rows(const test_options *o)
{
    int judged = 0;
    for (size_t i = 0; i < gemm_variant_count; ++i) {
        const gemm_variant *v = &gemm_variants[i];
        if ((v->kinds & GEMM_CONVS) && wants(o, v->name)) judge_row(v, draw_geometry, o), ++judged;
    }
    for (const char *policy = "ud"; *policy; ++policy) {
        gemm_variant v = *gemm_find("cl");
        v.name = *policy == 'u' ? "cl-unified" : "cl-discrete";
        if (!wants(o, v.name)) continue;
        gemm_cl_force_memory(*policy);
        judge_row(&v, draw_geometry, o), ++judged;
        gemm_cl_force_memory(0);
    }
    for (const gemm_ukernel *const *u = gemm_ukernels; *u; ++u) {
        char name[32];
        snprintf(name, sizeof name, "packed-%s", (*u)->name);
        if (wants(o, name)) judge_isa(*u, name, o), ++judged;
    }
    return judged;
}

int main(int argc, char **argv)
{
    test_options o = {.seed = (uint64_t)time(NULL), .cases = 300, .only_case = -1,
                      .threads = MOST_THREADS};
    o = options_read(argc, argv, o, "--seed, --cases, --case, --threads, --row", NULL);
    if (!freopen("/dev/null", "w", stderr)) return 2; /* Darknet prints every layer it makes */
    gemm_set_prepare_first(true);       /* all calls of a plan have the same bits */
    printf("# seed %llu, %d cases a row\n", (unsigned long long)o.seed, o.cases);
    if (!judge_rows(&o)) report_fail("rows", "--row %s is no row with convolutions", o.row);
    judge_empty();
    judge_declined();
    for (size_t i = 0; i < COUNT(HOOK_CASES); ++i) judge_hook_case(&HOOK_CASES[i]);
    for (size_t i = 0; i < COUNT(CONNECTED_CASES); ++i) judge_connected_case(&CONNECTED_CASES[i]);
    return report_status();
}
