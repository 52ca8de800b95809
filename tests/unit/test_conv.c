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
 * output do not depend on the number of threads.
 *
 *   test_conv [--seed S] [--cases N] [--row NAME] [--case I] [--threads N]
 *
 * A case depends on the seed and its number alone. A failure prints the command that repeats it.
 * A row on a device runs a fifth of the cases, because each size of filter is a program to compile.
 */
#include "check/conv_check.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "packed/packed.h"
#include "support/cases.h"
#include "support/network.h"

#include "darknet.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of Darknet's layers, whose own headers do not compile without warnings. */
layer make_convolutional_layer(int batch, int h, int w, int c, int n, int groups, int size,
                               int stride, int padding, ACTIVATION activation, int batch_normalize,
                               int binary, int xnor, int adam);

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
    guarded mean, variance;
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

/* A larger one takes minutes where a processor is emulated. */
static bool is_too_large(const conv_call *c)
{
    const double most = 4e8;    /* multiplications */
    return (double)c->batch * c->n * (c->c / c->groups) * c->size * c->size * c->out_h *
               c->out_w > most;
}

static problem problem_make(draw_function *draw, rng *r, int number)
{
    problem p = {.draw = draw, .number = number, .normalized = rng_below(r, 2),
                 .threads = 1 + rng_below(r, 3)};
    conv_call d = {0};
    do {
        draw(&d, r, number);
    } while (is_too_large(&d));
    const conv_shape s = {"", d.batch, d.groups, d.c, d.h, d.w, d.n, d.size, d.stride, d.pad};
    p.call = conv_shape_make(&s, (conv_activation)rng_below(r, rng_below(r, 3) ? CONV_RELU + 1
                                                                               : CONV_ACTIVATIONS));
    conv_call *c = &p.call;
    if (c->out_h % 2 == 0 && c->out_w % 2 == 0 && rng_below(r, 2)) conv_shape_pool(c);
    conv_shape_fill(c, r);
    p.mode = rng_below(r, 2) ? GEMM_HOOK : GEMM_DIRECT;
    p.mean = guarded_make(1, c->n, c->n, AT_END, 0);
    p.variance = guarded_make(1, c->n, c->n, AT_START, 0);
    guarded_fill(&p.mean, r);
    guarded_fill(&p.variance, r);
    for (int i = 0; i < c->n; ++i) p.variance.data[i] = .1f + fabsf(p.variance.data[i]);
    p.norm = (conv_norm){p.mean.data, p.variance.data, c->scale};
    c->scale = NULL;
    return p;
}

static void problem_free(problem *p)
{
    conv_shape_free(&p->call);
    guarded_free(&p->mean);
    guarded_free(&p->variance);
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

/* How far Darknet's own output is from the reference. */
static gemm_error darknet_error(const problem *p, const conv_call *folded)
{
    gemm_set_variant(gemm_find("stock"));
    layer l = darknet_layer(p);
    network net = {.input = (float *)p->call.input};
    network_run_layer(&l, &net);
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
    memset(folded->output, 0xff, bytes);
    gemm_clear_note(note);
    *declined = gemm_is_on_device(v) ? !gemm_conv_run(v, folded, NULL, note)
                             : !gemm_conv(&p->call, p->normalized ? &p->norm : NULL, NULL);
    memcpy(first, folded->output, bytes);
    for (int i = 0; i < 2 && !gemm_is_on_device(v) && !*declined && !wrong; ++i) {
        memset(folded->output, 0xff, bytes);
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

/* Random cases of a row. */
typedef struct row_cases {
    const gemm_variant *row;
    draw_function *draw;
} row_cases;

static const char *judge_case_of(void *of, rng *r, int number, char *text)
{
    static char why[160];
    const row_cases *c = of;
    problem p = problem_make(c->draw, r, number);
    const char *wrong = run_and_judge(c->row, &p, why, sizeof why);
    judge_text(&p.call, text);
    snprintf(text + strlen(text), JUDGE_TEXT - strlen(text), ", %d threads", p.threads);
    problem_free(&p);
    return wrong;
}

static void judge_row(const gemm_variant *v, draw_function *draw, const test_options *o)
{
    char repeat[64];
    row_cases of = {v, draw};
    const char *reason = gemm_unusable(v);
    snprintf(repeat, sizeof repeat, "test_conv --row %s", v->name);
    if (reason) report_unusable(v->name, reason);
    else
        judge_cases(&(random_cases){.name = v->name, .repeat = repeat, .judge = judge_case_of,
                                    .count = gemm_is_on_device(v) ? (o->cases + 4) / 5 : o->cases,
                                    .subject = &of}, o);
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
static const char *judge_shape(const conv_shape *s, bool pool, const gemm_ukernel *u, int most)
{
    gemm_note note;
    bool declined;
    rng r = rng_make(7, 0);
    threaded t = {conv_shape_make(s, CONV_LEAKY), u};
    conv_shape_fill(&t.call, &r);
    if (pool) conv_shape_pool(&t.call);
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
        const char *wrong = judge_shape(s, pool, u, most);
        report_judged(name, wrong);
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
    if (o->threads > 1) test_threads(u, o->threads);
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
    return report_status();
}
