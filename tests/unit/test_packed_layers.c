/* SPDX-License-Identifier: MIT */
/*
 * The layers without weights of `packed`, with every instruction set of this processor, over random
 * geometry. They are compared with the reference in double precision. Where each rounding is known
 * they must have the bits of plain loops in Darknet's order, and of Darknet's own functions. Guard
 * pages lie before or behind every array. The output holds NaN before the call.
 *
 * For each instruction set there are two more tests: 1 to 8 threads give the same bits, and
 * activations are right at the ends of the range.
 *
 *   test_packed_layers [--seed S] [--cases N] [--case I] [--isa NAME | --row NAME]
 *
 * With --row the random layers run on that row instead, in memory of malloc and of gemm_host_alloc.
 * An OpenCL row runs under both memory policies.
 *
 * A case depends on the seed and its number alone. A failure prints the command that repeats it.
 */
#include "check/layer_check.h"
#include "cl/configure.h"
#include "driver/driver.h"
#include "packed/packed.h"
#include "support/activated.h"
#include "support/cases.h"
#include "support/float_modes.h"
#include "support/isas.h"
#include "util/threads.h"

#include "darknet.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Of Darknet's own headers, which do not compile without warnings. */
void forward_maxpool_layer(const layer l, network net);
void forward_route_layer(const layer l, network net);
void upsample_cpu(float *in, int w, int h, int c, int batch, int stride, int forward, float scale,
                  float *out);
void shortcut_cpu(int batch, int w1, int h1, int c1, float *add, int w2, int h2, int c2, float s1,
                  float s2, float *out);
void activate_array(float *x, const int n, const ACTIVATION a);

enum { MOST_THREADS = 8, MOST_INPUTS = 5 };

static const char *const KINDS[] = {"maxpool", "avgpool", "upsample", "route", "shortcut", "yolo"};

/* A case: the call with its arrays. */
typedef struct problem {
    layer_call call;
    layer_input inputs[MOST_INPUTS];
    guarded in[MOST_INPUTS], output;
    int threads;
    bool ends;                  /* NaN, infinities and zeroes of both signs among the input */
} problem;

/* ---- random layers ---- */

static const int SIDES[] = {1,  2,  3,  4,  5,  7,  8,  11, 13, 15, 16, 17, 19,
                            23, 26, 29, 31, 32, 33, 37, 41, 47, 52, 53, 67, 70};
static const float ENDS[] = {NAN,      -NAN,    INFINITY, -INFINITY, 0,       -0.0f,
                             -FLT_MAX, FLT_MAX, 1e-40f,   -1e-40f,   FLT_MIN, 1};
#define COUNT(array) (sizeof(array) / sizeof *(array))
_Static_assert(COUNT(KINDS) == LAYER_KINDS, "layers of each kind are drawn");
#define PICK(r, of) (of)[rng_below(r, (int)COUNT(of))]

static size_t output_size(const layer_call *c)
{
    return (size_t)c->out_c * (size_t)c->out_h * (size_t)c->out_w;
}

static size_t output_bytes(const layer_call *c)
{
    return (size_t)c->batch * output_size(c) * sizeof(float);
}

/* The inputs of a shortcut: one is some times as high and wide as the other, or nearly. */
static void draw_sizes(layer_call *c, rng *r)
{
    const int times = 1 + rng_below(r, 3), h = c->h, w = c->w;
    const bool larger = rng_below(r, 2);
    c->out_c = 1 + rng_below(r, 2 * c->c);
    c->h = times * h + rng_below(r, times < h && times < w ? times : 1);
    c->w = times * w + rng_below(r, times < h && times < w ? times : 1);
    if (!larger) return;
    c->out_h = c->h, c->out_w = c->w;
    c->h = h, c->w = w;
}

/* In turn: 2x2 / 2 and 2x2 / 1 as in yolov3-tiny; 5, 9 or 13 / 1 as in spp; any; windows larger
   than the image; maps so wide that a channel has several bands. */
static void draw_maxpool(layer_call *c, rng *r, int turn)
{
    static const int spp[] = {5, 9, 13};
    if (turn == 2 || turn >= 4) c->batch = 1, c->c = c->out_c = 1 + rng_below(r, 3);
    c->size = 2;
    c->stride = turn == 0 ? 2 : 1;
    c->pad = 1;
    if (turn == 2) c->size = PICK(r, spp), c->pad = c->size - 1;
    if (turn >= 3) {
        c->size = 1 + rng_below(r, turn == 4 ? 90 : 7);
        c->stride = 1 + rng_below(r, 4);
        c->pad = rng_below(r, 2 * c->size + 1);
    }
    if (turn == 5) {
        c->c = c->out_c = 1;
        c->size = 1 + rng_below(r, 4);
        c->h = 90 + rng_below(r, 100);
        c->w = 150 + rng_below(r, 150);
    }
    c->out_h = (c->h + c->pad - c->size) / c->stride + 1;
    c->out_w = (c->w + c->pad - c->size) / c->stride + 1;
    if (c->h + c->pad < c->size || c->w + c->pad < c->size) {
        c->pad = c->size;
        c->out_h = c->h / c->stride + 1;
        c->out_w = c->w / c->stride + 1;
    }
}

static void draw_geometry(layer_call *c, rng *r, int number)
{
    static const int anchors[] = {1, 3, 5};
    c->batch = 1 + rng_below(r, 3);
    c->c = 1 + rng_below(r, 20);
    c->h = PICK(r, SIDES);
    c->w = rng_below(r, 2) ? c->h : PICK(r, SIDES);
    c->alpha = c->beta = 1;
    c->inputs = 1;
    if (c->kind == LAYER_YOLO) {
        c->anchors = PICK(r, anchors);
        c->c = c->anchors * (5 + rng_below(r, 9));
    }
    c->out_c = c->c, c->out_h = c->h, c->out_w = c->w;
    if (c->kind == LAYER_MAXPOOL) draw_maxpool(c, r, number / 6 % 6);
    if (c->kind == LAYER_AVGPOOL) c->out_h = c->out_w = 1;
    if (c->kind == LAYER_UPSAMPLE) {
        c->stride = 1 + rng_below(r, 4);
        c->out_h *= c->stride;
        c->out_w *= c->stride;
        if (rng_below(r, 2)) c->alpha = rng_float(r);
    }
    if (c->kind == LAYER_SHORTCUT) {
        if (number % 24 == 10) {                        /* a row has several blocks */
            c->h = c->out_h = 1 + rng_below(r, 8);
            c->w = c->out_w = 4097 + rng_below(r, 99);
        }
        c->activation = (conv_activation)rng_below(r, CONV_ACTIVATIONS);
        c->inputs = 2;
        if (rng_below(r, 2)) c->alpha = rng_float(r), c->beta = rng_float(r);
        if (rng_below(r, 2)) draw_sizes(c, r);
    }
}

/* Into n floats, at random places. */
static void place_ends(float *x, int n, rng *r)
{
    for (int i = 0; i <= n / 4; ++i) x[rng_below(r, n)] = PICK(r, ENDS);
}

static guarded array(int n, rng *r)
{
    static const int offsets[] = {0, 0, 4, 16, 36};
    guarded g = guarded_make(1, n, n, rng_below(r, 2) ? AT_END : AT_START, PICK(r, offsets));
    guarded_fill(&g, r);
    return g;
}

/* The inputs of a route have channels of their own. Values are large enough for all of a
   logistic. */
static void draw_inputs(problem *p, rng *r)
{
    layer_call *c = &p->call;
    if (c->kind == LAYER_ROUTE) {
        c->inputs = 1 + rng_below(r, MOST_INPUTS);
        c->out_c = 0;
    }
    for (int i = 0; i < c->inputs; ++i) {
        const int channels = i && c->kind == LAYER_ROUTE ? 1 + rng_below(r, 20) : c->c;
        const bool first = c->kind == LAYER_SHORTCUT && !i;
        const int size = first ? (int)output_size(c) : channels * c->h * c->w;
        if (c->kind == LAYER_ROUTE) c->out_c += channels;
        p->in[i] = array(c->batch * size, r);
        const float scale = c->kind == LAYER_YOLO ? 20 : 1;
        for (int k = 0; k < c->batch * size; ++k) p->in[i].data[k] *= scale;
        if (p->ends) place_ends(p->in[i].data, c->batch * size, r);
        p->inputs[i] = (layer_input){p->in[i].data, size};
    }
}

/* call.input points into the problem. */
static void problem_make(problem *p, rng *r, int number)
{
    *p = (problem){.threads = 1 + rng_below(r, 4)};
    layer_call *c = &p->call;
    c->kind = (layer_kind)(number % (int)COUNT(KINDS));
    draw_geometry(c, r, number);
    p->ends = rng_below(r, 3) == 0 &&
              (c->kind == LAYER_MAXPOOL || c->kind == LAYER_ROUTE || c->kind == LAYER_YOLO);
    draw_inputs(p, r);
    p->output = array(c->batch * (int)output_size(c), r);
    c->input = p->inputs;
    c->output = p->output.data;
}

static void problem_free(problem *p)
{
    for (int i = 0; i < p->call.inputs; ++i) guarded_free(&p->in[i]);
    guarded_free(&p->output);
}

static gemm_status run_on_isa(const layer_call *c, const gemm_ukernel *u, int threads)
{
    gemm_note note;
    gemm_context context = gemm_make_context(&note);
    context.threads = threads;
    context.isa = u;
    return gemm_packed_layer(c, &context, NULL);
}

/* What computes the layers: `packed` with micro-kernels, or a row of the table. */
typedef struct runner {
    const gemm_ukernel *isa;
    const gemm_variant *row;    /* or NULL */
    bool shared;                /* the arrays are copied to memory of gemm_host_alloc */
    const char *name, *option;  /* in messages; on the command line */
} runner;

static float *share(const float *from, size_t count)
{
    float *p = gemm_host_alloc(count, sizeof *p);
    if (!p) abort();
    memcpy(p, from, count * sizeof *p);
    return p;
}

/* Twice, because the second time finds what the first one left on a device. */
static gemm_status run_shared(const problem *p, const gemm_variant *row)
{
    gemm_note note;
    layer_call c = p->call;
    layer_input in[MOST_INPUTS];
    const size_t batch = (size_t)c.batch, bytes = output_bytes(&c);
    gemm_set_variant(row);
    for (int i = 0; i < c.inputs; ++i)
        in[i] = (layer_input){share(c.input[i].data, batch * (size_t)c.input[i].size),
                              c.input[i].size};
    c.input = in;
    c.output = share(p->call.output, bytes / sizeof(float));
    bool done = gemm_layer_run(row, &c, &note);
    gemm_host_write(c.output, bytes);
    memcpy(c.output, p->call.output, bytes);
    done = done && gemm_layer_run(row, &c, &note);
    gemm_host_read(c.output, bytes);
    memcpy(p->call.output, c.output, bytes);
    for (int i = 0; i < c.inputs; ++i) gemm_host_free((float *)in[i].data);
    gemm_host_free(c.output);
    return done ? GEMM_DONE : GEMM_DECLINED;
}

static gemm_status run_problem(const runner *r, const problem *p)
{
    gemm_note note;
    if (!r->row) return run_on_isa(&p->call, r->isa, p->threads);
    if (r->shared) return run_shared(p, r->row);
    return gemm_layer_run(r->row, &p->call, &note) ? GEMM_DONE : GEMM_DECLINED;
}

/* ---- plain loops, in Darknet's order ---- */

static float max_at(const layer_call *c, int channel, int y, int x)
{
    const float *image = c->input[0].data + (size_t)channel * (size_t)(c->h * c->w);
    float max = -FLT_MAX;
    for (int i = 0; i < c->size * c->size; ++i) {
        const int row = y * c->stride - c->pad / 2 + i / c->size;
        const int column = x * c->stride - c->pad / 2 + i % c->size;
        if (row < 0 || row >= c->h || column < 0 || column >= c->w) continue;
        const float value = image[row * c->w + column];
        max = value > max ? value : max;
    }
    return max;
}

static float routed_at(const layer_call *c, int image, int at)
{
    const layer_input *in = c->input;
    for (; at >= in->size; ++in) at -= in->size;
    return in->data[image * in->size + at];
}

/* As Darknet's shortcut_cpu, whose second sizes are those of the output. */
static float shortcut_at(const layer_call *c, int image, int at)
{
    const int area = c->out_h * c->out_w, k = at / area, y = at % area / c->out_w;
    const int x = at % c->out_w, sample = c->out_w / c->w > 1 ? c->out_w / c->w : 1;
    const int stride = c->w / c->out_w > 1 ? c->w / c->out_w : 1;
    const float first = c->input[0].data[image * (int)output_size(c) + at];
    float sum = first;
    if (k < c->c && y % sample == 0 && x % sample == 0 && y / sample < c->h && x / sample < c->w) {
        const int row = (image * c->c + k) * c->h + y / sample * stride;
        const float a = c->alpha * first;
        const float b = c->beta * c->input[1].data[row * c->w + x / sample * stride];
        sum = a + b;
    }
    return c->activation == CONV_RELU ? sum * (float)(sum > 0) : sum;
}

/* Whether these loops and the row give the same bits. */
static bool is_exact(const layer_call *c)
{
    return c->kind == LAYER_MAXPOOL || c->kind == LAYER_UPSAMPLE || c->kind == LAYER_ROUTE ||
           (c->kind == LAYER_SHORTCUT &&
            (c->activation == CONV_LINEAR || c->activation == CONV_RELU));
}

static float plain_at(const layer_call *c, int at)
{
    const int size = (int)output_size(c), area = c->out_h * c->out_w;
    const int channel = at / area, y = at % area / c->out_w, x = at % c->out_w;
    switch (c->kind) {
    case LAYER_MAXPOOL:
        return max_at(c, channel, y, x);
    case LAYER_UPSAMPLE:
        return c->alpha *
               c->input[0].data[(channel * c->h + y / c->stride) * c->w + x / c->stride];
    case LAYER_ROUTE:
        return routed_at(c, at / size, at % size);
    case LAYER_SHORTCUT:
        return shortcut_at(c, at / size, at % size);
    default:
        return NAN;
    }
}

/* Equal to the bit, but that instruction sets without denormals may take one for zero. */
static bool is_same(float x, float expected, float least)
{
    const bool tiny = least > FLT_TRUE_MIN && fabsf(x) < least && fabsf(expected) < least;
    return tiny || !memcmp(&x, &expected, sizeof x);
}

/* The first place that is not the same, or -1. */
static int first_difference(const layer_call *c, float least)
{
    for (int at = 0; at < c->batch * (int)output_size(c); ++at) {
        if (!is_same(c->output[at], plain_at(c, at), least)) return at;
    }
    return -1;
}

/* ---- Darknet's own functions ---- */

static void darknet_maxpool(const layer_call *c, float *output)
{
    const size_t count = (size_t)c->batch * output_size(c);
    const layer l = {.batch = c->batch, .c = c->c, .h = c->h, .w = c->w, .out_h = c->out_h,
                     .out_w = c->out_w, .size = c->size, .stride = c->stride, .pad = c->pad,
                     .output = output, .indexes = malloc(count * sizeof(int))};
    const network net = {.input = (float *)c->input[0].data};
    forward_maxpool_layer(l, net);
    free(l.indexes);
}

static void darknet_route(const layer_call *c, float *output)
{
    layer layers[MOST_INPUTS] = {0};
    int indexes[MOST_INPUTS], sizes[MOST_INPUTS];
    for (int i = 0; i < c->inputs; ++i) {
        layers[i].output = (float *)c->input[i].data;
        indexes[i] = i;
        sizes[i] = c->input[i].size;
    }
    const layer l = {.n = c->inputs, .batch = c->batch, .outputs = (int)output_size(c),
                     .input_layers = indexes, .input_sizes = sizes, .output = output};
    const network net = {.layers = layers};
    forward_route_layer(l, net);
}

static void darknet_shortcut(const layer_call *c, float *output)
{
    const ACTIVATION a = c->activation == CONV_RELU ? RELU : LINEAR;
    memcpy(output, c->input[0].data, output_bytes(c));
    shortcut_cpu(c->batch, c->w, c->h, c->c, (float *)c->input[1].data, c->out_w, c->out_h,
                 c->out_c, c->alpha, c->beta, output);
    activate_array(output, c->batch * (int)output_size(c), a);
}

/* Where Darknet, which is compiled with -Ofast, has to give the same values: an FMA changes sums of
   rounded products, and NaN, infinity and the sign of zero do not count there. */
static bool is_darknets(const problem *p)
{
    const layer_call *c = &p->call;
    return is_exact(c) && !p->ends && (c->kind != LAYER_SHORTCUT || c->alpha == 1);
}

static bool equals_darknet(const layer_call *c)
{
    float *theirs = malloc(output_bytes(c));
    if (!theirs) abort();
    gemm_set_variant(gemm_find("stock"));
    if (c->kind == LAYER_MAXPOOL) darknet_maxpool(c, theirs);
    if (c->kind == LAYER_ROUTE) darknet_route(c, theirs);
    if (c->kind == LAYER_SHORTCUT) darknet_shortcut(c, theirs);
    if (c->kind == LAYER_UPSAMPLE)
        upsample_cpu((float *)c->input[0].data, c->w, c->h, c->c, c->batch, c->stride, 1, c->alpha,
                     theirs);
    bool same = true;
    for (size_t i = 0; i < output_bytes(c) / sizeof *theirs; ++i)
        same = same && theirs[i] == c->output[i];
    free(theirs);
    return same;
}

/* ---- one case ---- */

/* NULL, or what is wrong. */
static const char *run_and_judge(const runner *r, problem *p, char *why, size_t size)
{
    const layer_call *c = &p->call;
    guarded_fill_nan(&p->output);
    if (run_problem(r, p) != GEMM_DONE) return "it declined";
    const gemm_error worst = gemm_layer_compare(c);
    if (!(worst.ratio <= 1)) {
        snprintf(why, size, "image %d output %d is off by %g, %.3g times the bound", worst.image,
                 worst.column, worst.difference, worst.ratio);
        return why;
    }
    const float least = r->isa ? float_mode_least(r->isa->name) : FLT_TRUE_MIN;
    const int at = is_exact(c) ? first_difference(c, least) : -1;
    if (at >= 0) {
        snprintf(why, size, "output %d is %a, plain loops give %a", at, (double)c->output[at],
                 (double)plain_at(c, at));
        return why;
    }
    if (is_darknets(p) && !equals_darknet(c)) return "Darknet's own function gives other values";
    return NULL;
}

static const char *judge_random(void *of, rng *random, int number, char *text)
{
    static char why[160];
    problem p;
    problem_make(&p, random, number);
    const layer_call *c = &p.call;
    const char *wrong = run_and_judge(of, &p, why, sizeof why);
    snprintf(text, JUDGE_TEXT, "%s: %d of %dx%dx%d, size %d stride %d pad %d activation %d "
             "inputs %d, %d threads", KINDS[c->kind], c->batch, c->w, c->h, c->c, c->size,
             c->stride, c->pad, (int)c->activation, c->inputs, p.threads);
    problem_free(&p);
    return wrong;
}

static void test_random(const runner *r, const test_options *o)
{
    char name[64], repeat[64];
    snprintf(name, sizeof name, "layers, %s", r->name);
    snprintf(repeat, sizeof repeat, "test_packed_layers %s", r->option);
    judge_cases(&(random_cases){.name = name, .repeat = repeat, .count = o->cases,
                                .judge = judge_random, .subject = (void *)r}, o);
}

/* ---- threads ---- */

/* Large enough that 8 threads share them. The inputs of the route are no multiple of a block. */
static const layer_call LARGE[] = {
    {.kind = LAYER_MAXPOOL, .c = 16, .h = 101, .w = 97, .out_h = 51, .out_w = 49, .size = 2,
     .stride = 2, .pad = 1},
    {.kind = LAYER_MAXPOOL, .c = 130, .h = 13, .w = 13, .out_h = 13, .out_w = 13, .size = 2,
     .stride = 1, .pad = 1},
    {.kind = LAYER_MAXPOOL, .c = 67, .h = 19, .w = 19, .out_h = 19, .out_w = 19, .size = 13,
     .stride = 1, .pad = 12},
    {.kind = LAYER_MAXPOOL, .c = 3, .h = 211, .w = 223, .out_h = 105, .out_w = 111, .size = 3,
     .stride = 2, .pad = 1},
    {.kind = LAYER_AVGPOOL, .c = 1021, .h = 13, .w = 13, .out_h = 1, .out_w = 1},
    {.kind = LAYER_UPSAMPLE, .c = 127, .h = 13, .w = 17, .out_h = 26, .out_w = 34, .stride = 2},
    {.kind = LAYER_ROUTE, .c = 61, .h = 29, .w = 31, .out_h = 29, .out_w = 31, .inputs = 3},
    {.kind = LAYER_SHORTCUT, .c = 61, .h = 29, .w = 31, .out_h = 29, .out_w = 31, .inputs = 2,
     .activation = CONV_LEAKY},
    {.kind = LAYER_SHORTCUT, .c = 61, .h = 29, .w = 31, .out_h = 29, .out_w = 31, .inputs = 2,
     .activation = CONV_LOGISTIC},
    {.kind = LAYER_SHORTCUT, .c = 61, .h = 58, .w = 62, .out_c = 97, .out_h = 29, .out_w = 31,
     .inputs = 2, .activation = CONV_RELU},
    {.kind = LAYER_YOLO, .c = 255, .h = 13, .w = 17, .out_h = 13, .out_w = 17, .anchors = 3},
};

/* Arrays for LARGE[which]. */
static void large_make(problem *p, size_t which)
{
    rng r = rng_make(11, which);
    *p = (problem){.call = LARGE[which]};
    layer_call *c = &p->call;
    c->batch = 2;
    c->alpha = 1, c->beta = -.7f;
    if (!c->inputs) c->inputs = 1;
    if (!c->out_c) c->out_c = c->kind == LAYER_ROUTE ? c->inputs * c->c : c->c;
    for (int i = 0; i < c->inputs; ++i) {
        const bool first = c->kind == LAYER_SHORTCUT && !i;
        const int size = first ? (int)output_size(c) : c->c * c->h * c->w;
        p->in[i] = array(c->batch * size, &r);
        p->inputs[i] = (layer_input){p->in[i].data, size};
    }
    p->output = array(c->batch * (int)output_size(c), &r);
    c->input = p->inputs;
    c->output = p->output.data;
}

typedef struct threaded {
    const layer_call *call;
    const gemm_ukernel *u;
} threaded;

static gemm_status run_threaded(void *op, int threads, gemm_kept *kept, gemm_note *note)
{
    const threaded *t = op;
    (void)kept, (void)note;
    return run_on_isa(t->call, t->u, threads);
}

static void test_threads(const gemm_ukernel *u)
{
    for (size_t i = 0; i < COUNT(LARGE); ++i) {
        char name[64];
        problem p;
        gemm_note note;
        bool declined;
        large_make(&p, i);
        snprintf(name, sizeof name, "threads %zu %s, %s", i, KINDS[p.call.kind], u->name);
        threaded t = {&p.call, u};
        const judged j = {.op = &t, .output = p.output.data, .bytes = output_bytes(&p.call),
                          .run = run_threaded};
        const char *wrong = judge_threads(&j, MOST_THREADS, &declined, &note);
        report_judged(name, declined ? "it did not run" : wrong);
        problem_free(&p);
    }
}

/* ---- activations from the logistic on ---- */

/* The ends of the range, and floats from -110 to 100 in small steps. */
static float activation_input(int i)
{
    const float step = (float)(i / (int)COUNT(ENDS));
    switch (i % 3) {
    case 0: return PICK(&(rng){(uint64_t)i + 1}, ENDS);
    case 1: return -110 + step / 32;
    default: return 100 - step / 31;
    }
}

static bool activation_right(conv_activation a, float x, float y, float least)
{
    const double exact = a == CONV_LOGISTIC ? 1 / (1 + exp(-(double)x)) : activated(x, a);
    const double bound = a == CONV_LOGISTIC ? 3 * FLT_EPSILON * exact + least
                                            : 8 * FLT_EPSILON * fmax(1, fabs(exact));
    return fabs(y - exact) <= bound || y == exact || (isnan(exact) && isnan(y));
}

static void test_activation(const gemm_ukernel *u, conv_activation a)
{
    enum { N = 12 * 7000 + 5 };
    char name[48];
    float *x = malloc(2 * N * sizeof *x), *y = x + N;
    if (!x) abort();
    for (int i = 0; i < N; ++i) x[i] = activation_input(i);
    snprintf(name, sizeof name, "activation %s, %s", activation_name(a), u->name);
    u->layers.activate(a, N, x, y);
    int wrong = 0;
    const float least = float_mode_least(u->name);
    while (wrong < N && activation_right(a, x[wrong], y[wrong], least)) ++wrong;
    if (wrong < N) {
        report_fail(name, "f(%g) is %g, and %g by activated()", (double)x[wrong],
                    (double)y[wrong], (double)activated(x[wrong], a));
    } else {
        u->layers.activate(a, N, x, x);
        report_that(name, !memcmp(x, y, N * sizeof *x), "in place it gives other bits");
    }
    free(x);
}

/* ---- the rows ---- */

/* `packed` and `auto` offer layers, and decline windows of more than a thread's scratch. */
static void test_rows(void)
{
    const int sides = 1200;        /* squared, more floats than GEMM_SCRATCH_BYTES hold */
    problem p;
    float out[1], *image = calloc((size_t)(sides * sides), sizeof *image);
    const layer_input input = {image, sides * sides};
    const layer_call huge = {.kind = LAYER_MAXPOOL, .batch = 1, .c = 1, .h = sides, .w = sides,
                             .out_c = 1, .out_h = 1, .out_w = 1, .size = sides, .stride = 1,
                             .inputs = 1, .input = &input, .output = out};
    large_make(&p, 0);
    gemm_note note;
    const bool offered = gemm_layer_run(gemm_find("packed"), &p.call, &note) && !*note.ran;
    const bool automatic =
        gemm_layer_run(gemm_find("auto"), &p.call, &note) && !strcmp(note.ran, "packed");
    const bool declined = !gemm_layer_run(gemm_find("packed"), &huge, &note);
    report_that("rows", offered && automatic && declined,
                "packed runs %d, auto runs packed %d, declines %d: each must be 1", offered,
                automatic, declined);
    problem_free(&p);
    free(image);
}

/* ---- the command line ---- */

static void judge_isa(const gemm_ukernel *u, const test_options *o)
{
    char option[32];
    snprintf(option, sizeof option, "--isa %s", u->name);
    test_random(&(runner){.isa = u, .name = u->name, .option = option}, o);
    if (o->only_case >= 0) return;
    for (int a = CONV_LOGISTIC; a < CONV_ACTIVATIONS; ++a) test_activation(u, (conv_activation)a);
    test_threads(u);
}

static void judge_row(const test_options *o)
{
    char name[64], option[32];
    const gemm_variant *row = gemm_find(o->row);
    const char *why = gemm_unusable(row), *policies = gemm_is_on_device(row) ? "ud" : "u";
    if (why) {
        report_unusable(row->name, why);
        return;
    }
    snprintf(option, sizeof option, "--row %s", row->name);
    for (int i = 0; policies[i / 2]; ++i) {
        const bool shared = i % 2;
        gemm_cl_force_memory(policies[i / 2]);
        snprintf(name, sizeof name, "%s-%c-%s", row->name, policies[i / 2],
                 shared ? "shared" : "malloc");
        test_random(&(runner){NULL, row, shared, name, option}, o);
        gemm_cl_force_memory(0);
    }
}

int main(int argc, char **argv)
{
    test_options o = {.seed = (uint64_t)time(NULL), .cases = 1200, .only_case = -1};
    o = options_read(argc, argv, o, "--seed, --cases, --case, --isa, --row", NULL);
    printf("# seed %llu, %d cases\n", (unsigned long long)o.seed, o.cases);
    if (o.row && !(gemm_find(o.row) && (gemm_find(o.row)->kinds & GEMM_LAYERS)))
        return fprintf(stderr, "--row %s: it has no layers\n", o.row), 2;
    if (o.row) {
        judge_row(&o);
        _exit(report_status()); /* Oclgrind sometimes aborts when a buffer is released */
    }
    test_isas(&o, judge_isa);
    test_rows();
    return report_status();
}
