/* SPDX-License-Identifier: MIT */
/*
 * What the driver does around a row: Darknet's own functions reach it, BETA is settled once, stock
 * runs what a row declines, and a row that fails ends the program, or leaves a layer to the caller.
 * Layers without weights are traced and checked as multiplies are. Plans of layers: test_plans.c.
 */
#include "check/check.h"
#include "check/reference.h"
#include "common/random.h"
#include "driver/driver.h"
#include "support/child.h"
#include "support/report.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Darknet's src/gemm.c, which patch 0001 changes. */
typedef void darknet_gemm(int M, int N, int K, float ALPHA, float *A, int lda, float *B, int ldb,
                          float *C, int ldc);
darknet_gemm gemm_nn, gemm_nt, gemm_tn, gemm_tt;
void gemm_cpu(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,
              int ldb, float BETA, float *C, int ldc);

enum { M = 33, N = 40, K = 35, SIDE = 40 };

typedef struct operands {
    float A[SIDE * SIDE], B[SIDE * SIDE], C[SIDE * SIDE];
} operands;

/* Fills the operands and returns the call on them. All leading dimensions are SIDE. */
static gemm_call make_call(operands *o, int TA, int TB, float ALPHA)
{
    rng r = rng_make(5, (uint64_t)(2 * TA + TB));
    for (int i = 0; i < SIDE * SIDE; ++i) {
        o->A[i] = rng_float(&r);
        o->B[i] = rng_float(&r);
        o->C[i] = rng_float(&r);
    }
    return (gemm_call){TA, TB, M, N, K, ALPHA, o->A, SIDE, o->B, SIDE, o->C, SIDE};
}

/* What a call must leave, before it runs; and how far it is from that, afterwards. */
static gemm_oracle make_oracle(const gemm_call *c)
{
    gemm_oracle oracle;
    if (gemm_oracle_make(&oracle, c)) _exit(2);
    return oracle;
}

static gemm_error judge_call(gemm_oracle *oracle, const gemm_call *c)
{
    const gemm_error worst = gemm_oracle_compare(oracle, c);
    gemm_oracle_free(oracle);
    return worst;
}

/* ---- Darknet's functions ---- */

/* What gemm_cpu must do to C before it adds the product, elements of `from` to `to`. */
static void apply_beta(float BETA, const float *from, float *to)
{
    for (int i = 0; i < SIDE * SIDE; ++i) to[i] = BETA == 0 ? 0 : BETA * from[i];
}

static darknet_gemm *const FUNCTIONS[2][2] = {{gemm_nn, gemm_nt}, {gemm_tn, gemm_tt}};

/* One call of gemm_cpu, or with a BETA of 1 of gemm_nn and so on. Returns whether C is right, else
   prints what is not. */
static bool one_call(int TA, int TB, bool cpu, float BETA)
{
    static operands o, before;
    gemm_call c = make_call(&o, TA, TB, 1.5f), expected = c;
    if (BETA == 0) o.C[SIDE + 3] = NAN;
    apply_beta(BETA, o.C, before.C);
    expected.C = before.C;
    gemm_oracle oracle = make_oracle(&expected);
    if (cpu) gemm_cpu(TA, TB, M, N, K, c.ALPHA, o.A, SIDE, o.B, SIDE, BETA, o.C, SIDE);
    else FUNCTIONS[TA][TB](M, N, K, c.ALPHA, o.A, SIDE, o.B, SIDE, o.C, SIDE);
    const gemm_error worst = judge_call(&oracle, &c);
    if (worst.ratio <= 1) return true;
    printf("TA=%d TB=%d %s BETA %g: off by %g; ", TA, TB, cpu ? "gemm_cpu" : "itself", (double)BETA,
           worst.difference);
    return false;
}

/* 16 calls, in a child, because the trace is opened once a program. */
static int call_darknet(void *trace)
{
    setenv("GEMM_IMPL", "packed", 1);
    setenv("GEMM_TRACE", trace, 1);
    bool right = true;
    for (int call = 0; call < 16; ++call) {
        static const float betas[] = {1, 1, 0, 0.5f};
        if (!one_call(call >> 1 & 1, call & 1, call >= 4, betas[call / 4])) right = false;
    }
    return !right;
}

/* Whether the trace has one line of packed for each of the 16 calls, with its TA and TB. */
static bool trace_is_right(const char *path, char *line, int size)
{
    FILE *trace = fopen(path, "r");
    bool right = trace && fgets(line, size, trace);
    for (int call = 0; right && call < 16; ++call) {
        char expected[64];
        snprintf(expected, sizeof expected, "packed,%d,%d,%d,%d,%d,", call >> 1 & 1, call & 1, M, N,
                 K);
        right = fgets(line, size, trace) && !strncmp(line, expected, strlen(expected));
    }
    if (right && fgets(line, size, trace)) right = false;       /* one more */
    if (trace) fclose(trace);
    return right;
}

/* Runs the body in a child, with the name of an empty file for its trace. */
static child_result run_traced(int (*body)(void *), char *path)
{
    const int file = mkstemp(path);
    if (file < 0) exit(2);
    close(file);
    return child_run(body, path);
}

static void test_darknet_functions(void)
{
    char path[] = "/tmp/test_driver.XXXXXX", line[256] = "no line";
    const child_result r = run_traced(call_darknet, path);
    const bool right = trace_is_right(path, line, sizeof line);
    report_that("darknet-functions", child_exit(&r) == 0, "%s", r.output);
    report_that("darknet-functions-trace", right, "not the 16 calls; it ends with: %s", line);
    unlink(path);
}

/* ---- A row that declines, and a row that fails ---- */

static gemm_status decline(const gemm_call *c, const gemm_context *context, const void *params)
{
    (void)c, (void)params;
    strcpy(context->note->ran, "the row");      /* the note must not survive */
    return GEMM_DECLINED;
}

static gemm_status fail_now(const gemm_context *context)
{
    strcpy(context->note->reason, "the device is gone");
    return GEMM_FAILED;
}

static gemm_status fail(const gemm_call *c, const gemm_context *context, const void *params)
{
    (void)params;
    c->C[0] = 0;
    return fail_now(context);
}

static gemm_status fail_op(const gemm_op *op, const gemm_context *context, const void *params)
{
    (void)params;
    (op->kind == GEMM_LAYER ? op->layer->output : op->conv->output)[0] = 0;
    return fail_now(context);
}

/* Rows that touch nothing. With INT_MAX channels and so on, no row may read anything. `params`:
   what they say. NULL: declined. */
static gemm_status say(const gemm_op *op, const gemm_context *context, const void *params)
{
    (void)op, (void)context;
    return params ? GEMM_DONE : GEMM_DECLINED;
}

static const gemm_variant DECLINING = {
    .name = "declining", .multiply = decline, .run = say, .kinds = GEMM_CONVS | GEMM_LAYERS};
static const gemm_variant FAILING = {
    .name = "failing", .multiply = fail, .run = fail_op, .kinds = GEMM_CONVS | GEMM_LAYERS};

static conv_call make_conv(operands *o)
{
    make_call(o, 0, 0, 1);
    return (conv_call){.batch = 1, .groups = 1, .c = 2, .h = 5, .w = 6, .n = 3, .size = 3,
                       .stride = 1, .pad = 1, .out_h = 5, .out_w = 6, .input = o->A,
                       .weights = o->B, .shift = o->B + 100, .output = o->C};
}

static void test_declined(void)
{
    static operands o;
    const conv_call conv = make_conv(&o);
    const gemm_call c = make_call(&o, 0, 0, 1);
    gemm_oracle oracle = make_oracle(&c);
    gemm_note note;
    const gemm_variant *ran = gemm_run(&DECLINING, &c, &note);
    const gemm_error worst = judge_call(&oracle, &c);
    report_that("declined", ran == gemm_stock_row() && !*note.ran && worst.ratio <= 1,
                "%s ran, the note says '%s', off by %g", ran->name, note.ran, worst.difference);
    report_that("declined-conv", !gemm_conv_run(&DECLINING, &conv, NULL, NULL),
                "it says that the row ran");
}

/* ---- Layers without weights ---- */

/* A route of an input of 24 floats and one of 12. */
static layer_call make_layer(operands *o, layer_input input[2])
{
    make_call(o, 0, 0, 1);
    input[0] = (layer_input){o->A, 24};
    input[1] = (layer_input){o->B, 12};
    return (layer_call){.kind = LAYER_ROUTE, .batch = 2, .c = 2, .h = 3, .w = 4, .out_c = 3,
                        .out_h = 3, .out_w = 4, .inputs = 2, .input = input, .output = o->C};
}

/* Right for a route. With params the last float is wrong. */
static gemm_status route(const gemm_op *op, const gemm_context *context, const void *params)
{
    const layer_call *c = op->layer;
    (void)context;
    float *to = c->output;
    for (int image = 0; image < c->batch; ++image)
        for (int i = 0; i < c->inputs; to += c->input[i++].size)
            memcpy(to, c->input[i].data + image * c->input[i].size,
                   (size_t)c->input[i].size * sizeof *to);
    if (params) to[-1] += 1e-5f;
    return GEMM_DONE;
}

static const gemm_variant ROUTING = {.name = "routing", .multiply = decline, .run = route,
                                     .kinds = GEMM_LAYERS};
static const gemm_variant WRONG = {
    .name = "wrong", .multiply = decline, .run = route, .kinds = GEMM_LAYERS, .params = &ROUTING};

/* Only a row that offers layers is asked, and not with GEMM_CONV=im2col. */
static void test_layer(void)
{
    static operands o;
    layer_input input[2];
    const layer_call c = make_layer(&o, input);
    layer_call empty = c;
    empty.out_w = 0;
    gemm_set_variant(&ROUTING);
    const bool done = gemm_layer(&c) && o.C[0] == o.A[0] && o.C[71] == o.B[23];
    const bool refused = !gemm_layer(&empty);
    gemm_set_conv(GEMM_IM2COL);
    const bool off = !gemm_layer(&c);
    gemm_set_conv(GEMM_DIRECT);
    const bool direct = gemm_layer(&c);
    gemm_set_conv(GEMM_HOOK);
    gemm_set_variant(&DECLINING);
    const bool declined = !gemm_layer(&c);
    gemm_set_variant(gemm_stock_row());
    const bool none = !gemm_layer(&c);
    report_that("layer", done && refused && off && direct && declined && none,
                "%d %d %d %d %d %d", done, refused, off, direct, declined, none);
}

static bool runs_route(const gemm_variant *row)
{
    static operands o;
    layer_input input[2];
    const layer_call c = make_layer(&o, input);
    gemm_set_variant(row);
    return gemm_layer(&c);
}

/* In a child, as call_darknet. */
static int trace_layer(void *trace)
{
    setenv("GEMM_TRACE", trace, 1);
    return !runs_route(&ROUTING);
}

/* M, N, K and GFLOP/s are 0. */
static void test_layer_trace(void)
{
    char path[] = "/tmp/test_driver.XXXXXX", line[256] = "no line";
    const child_result r = run_traced(trace_layer, path);
    FILE *trace = fopen(path, "r");
    int end = 0;
    const bool read = trace && fgets(line, sizeof line, trace) && fgets(line, sizeof line, trace);
    if (read)
        sscanf(line,
               "routing,0,0,0,0,0,%*f,0.000,,0,0,0,route 4x3x2 to 4x3x3 batch 2,,,its only way,0%n",
               &end);
    report_that("layer-trace", child_exit(&r) == 0 && end > 0 && line[end] == '\n',
                "status %d, the trace ends with: %s", child_exit(&r), line);
    if (trace) fclose(trace);
    unlink(path);
}

static int check_layer(void *row)
{
    setenv("GEMM_CHECK", "1", 1);
    return !runs_route(row);
}

static void test_layer_check(void)
{
    const child_result right = child_run(check_layer, (void *)&ROUTING);
    const child_result wrong = child_run(check_layer, (void *)&WRONG);
    const char *line = "gemm: GEMM_CHECK: wrong is wrong for route 4x3x2 to 4x3x3 batch 2: image 1 "
                       "output 35 is off by ";
    const bool said = !strncmp(wrong.output, line, strlen(line));
    report_that("layer-check", child_exit(&right) == 0 && child_exit(&wrong) == 1 && said,
                "status %d and %d, it printed: %s", child_exit(&right), child_exit(&wrong),
                wrong.output);
}

/* A handler of atexit: the row of the program is failing, and stock runs. */
static void multiply_at_exit(void)
{
    static operands o;
    const gemm_call c = make_call(&o, 0, 0, 1);
    gemm_oracle oracle = make_oracle(&c);
    gemm_dispatch(&c);
    const gemm_error worst = judge_call(&oracle, &c);
    const bool offered = gemm_conv_offered();
    printf("handler: %s\n", worst.ratio <= 1 && !offered ? "right" : "wrong");
    fflush(stdout);
}

/* ---- sizes that no row may see ---- */

/* A member of a call and a value for it that makes no layer. */
typedef struct bad_member {
    const char *name;
    size_t at;                  /* of an int in the call */
    int value;
} bad_member;

#define CONV_MEMBER(member, value) {#member "=" #value, offsetof(conv_call, member), value}
#define LAYER_MEMBER(member, value) {#member "=" #value, offsetof(layer_call, member), value}

static const bad_member conv_members[] = {
    CONV_MEMBER(batch, 0), CONV_MEMBER(batch, -1), CONV_MEMBER(batch, INT_MAX),
    CONV_MEMBER(groups, 0), CONV_MEMBER(groups, -1), CONV_MEMBER(groups, 3),
    CONV_MEMBER(c, 0), CONV_MEMBER(c, -4), CONV_MEMBER(c, INT_MAX),
    CONV_MEMBER(h, 0), CONV_MEMBER(h, -6), CONV_MEMBER(h, INT_MAX),
    CONV_MEMBER(w, 0), CONV_MEMBER(w, -6), CONV_MEMBER(w, INT_MAX),
    CONV_MEMBER(n, 0), CONV_MEMBER(n, -4), CONV_MEMBER(n, INT_MAX - 3),
    CONV_MEMBER(size, 0), CONV_MEMBER(size, -3), CONV_MEMBER(size, 9), CONV_MEMBER(size, INT_MAX),
    CONV_MEMBER(stride, 0), CONV_MEMBER(stride, -1), CONV_MEMBER(stride, INT_MIN),
    CONV_MEMBER(pad, -1), CONV_MEMBER(pad, INT_MAX), CONV_MEMBER(pad, INT_MIN),
    CONV_MEMBER(out_h, 0), CONV_MEMBER(out_h, 7), CONV_MEMBER(out_h, INT_MAX),
    CONV_MEMBER(out_w, 0), CONV_MEMBER(out_w, 5),
};

static const bad_member layer_members[] = {
    LAYER_MEMBER(kind, -1), LAYER_MEMBER(kind, LAYER_KINDS),
    LAYER_MEMBER(batch, 0), LAYER_MEMBER(batch, INT_MAX), LAYER_MEMBER(c, 0),
    LAYER_MEMBER(c, INT_MAX), LAYER_MEMBER(h, 0), LAYER_MEMBER(w, -6), LAYER_MEMBER(out_c, 0),
    LAYER_MEMBER(out_h, 0), LAYER_MEMBER(out_w, INT_MAX), LAYER_MEMBER(inputs, 0),
    LAYER_MEMBER(inputs, -1),
};

/* Of one kind of layer, or those that another kind needs. */
static const struct {
    layer_kind kind;
    bad_member member;
} kind_members[] = {
    {LAYER_MAXPOOL, LAYER_MEMBER(size, 0)},    {LAYER_MAXPOOL, LAYER_MEMBER(size, -2)},
    {LAYER_MAXPOOL, LAYER_MEMBER(size, INT_MAX)}, {LAYER_MAXPOOL, LAYER_MEMBER(stride, 0)},
    {LAYER_MAXPOOL, LAYER_MEMBER(stride, -1)}, {LAYER_MAXPOOL, LAYER_MEMBER(pad, -1)},
    {LAYER_MAXPOOL, LAYER_MEMBER(pad, INT_MAX)},  {LAYER_MAXPOOL, LAYER_MEMBER(out_h, 4)},
    {LAYER_UPSAMPLE, LAYER_MEMBER(stride, 0)}, {LAYER_UPSAMPLE, LAYER_MEMBER(stride, -2)},
    {LAYER_UPSAMPLE, LAYER_MEMBER(stride, INT_MAX)}, {LAYER_AVGPOOL, LAYER_MEMBER(out_w, 2)},
    {LAYER_YOLO, LAYER_MEMBER(anchors, 0)},    {LAYER_YOLO, LAYER_MEMBER(anchors, 5)},
    {LAYER_SHORTCUT, LAYER_MEMBER(inputs, 1)}, {LAYER_SHORTCUT, LAYER_MEMBER(out_c, 7)},
    {LAYER_ROUTE, LAYER_MEMBER(out_c, 13)},
};

/* A valid layer of each kind. */
static layer_call valid_layer(layer_kind kind, operands *o, layer_input input[2])
{
    layer_call c = {.kind = kind, .batch = 1, .c = 12, .h = 6, .w = 6, .out_c = 12, .out_h = 6,
                    .out_w = 6, .size = 2, .stride = 1, .pad = 1, .anchors = 2, .alpha = 1,
                    .beta = 1, .inputs = kind == LAYER_SHORTCUT ? 2 : 1, .input = input,
                    .output = o->C};
    input[0] = input[1] = (layer_input){o->A, c.c * c.h * c.w};
    if (kind == LAYER_AVGPOOL) c.out_h = c.out_w = 1;
    return c;
}

static void set_member(void *call, const bad_member *m)
{
    memcpy((char *)call + m->at, &m->value, sizeof m->value);
}

static void judge(const char *what, const bad_member *m, bool right)
{
    char name[100];
    snprintf(name, sizeof name, "sizes: %s with %s", what, m->name);
    report_judged(name, right ? NULL : "the row saw it, or did not see what is right");
}

static const gemm_variant COMPUTING = {.name = "computing", .multiply = decline, .run = say,
                                       .kinds = GEMM_ALL_KINDS, .params = ""};

static bool runs_conv(const conv_call *c)
{
    return gemm_conv_run(&COMPUTING, c, NULL, NULL) || gemm_conv(c, NULL, NULL);
}

/* The convolution as a depthwise one, and a 1x1 convolution behind it. */
static bool runs_chain(const conv_call *c)
{
    conv_call calls[2] = {*c, *c};
    if (c->groups == 2) calls[0].groups = 4;
    calls[1].groups = calls[1].size = 1;
    calls[1].pad = 0;
    return gemm_conv_chain(calls, (const conv_norm *[2]){NULL}, 2, (gemm_plan **[2]){NULL}, NULL);
}

/* Of this height, 6 places wide. */
static conv_call valid_conv(operands *o, int h)
{
    return (conv_call){.batch = 1, .groups = 1, .c = 4, .h = h, .w = 6, .n = 4, .size = 3,
                       .stride = 1, .pad = 1, .out_h = h, .out_w = 6, .input = o->A,
                       .weights = o->B, .shift = o->B, .output = o->C};
}

static void test_invalid_convs(operands *o)
{
    conv_call valid = valid_conv(o, 6);
    valid.groups = 2;
    const bad_member none = {"nothing wrong", 0, 0};
    judge("convolution", &none, runs_conv(&valid));
    judge("chain", &none, runs_chain(&valid));
    conv_call plain = valid;
    plain.groups = 1;
    report_judged("chain: no depthwise layer", runs_chain(&plain) ? "the row got it" : NULL);
    for (size_t i = 0; i < sizeof conv_members / sizeof *conv_members; ++i) {
        conv_call c = valid;
        set_member(&c, &conv_members[i]);
        judge("convolution", &conv_members[i], !runs_conv(&c) && !runs_chain(&c));
    }
    conv_call large = valid;
    large.h = large.w = large.out_h = large.out_w = 1 << 16;
    judge("convolution", &(bad_member){"2^32 places", 0, 0}, !runs_conv(&large));
    large.h = large.w = large.out_h = large.out_w = 1 << 14;
    large.n = 8;
    judge("convolution", &(bad_member){"2^28 places of 8 filters", 0, 0}, !runs_conv(&large));
}

static bool runs_layer(const layer_call *c)
{
    return gemm_layer_run(&COMPUTING, c, NULL) || gemm_layer(c);
}

static void test_invalid_layers(operands *o)
{
    const bad_member none = {"nothing wrong", 0, 0};
    layer_input input[2];
    for (int kind = 0; kind < LAYER_KINDS; ++kind) {
        const layer_call valid = valid_layer((layer_kind)kind, o, input);
        judge("layer", &none, runs_layer(&valid));
        for (size_t i = 0; i < sizeof layer_members / sizeof *layer_members; ++i) {
            layer_call c = valid;
            set_member(&c, &layer_members[i]);
            judge("layer", &layer_members[i], !runs_layer(&c));
        }
    }
    for (size_t i = 0; i < sizeof kind_members / sizeof *kind_members; ++i) {
        layer_call c = valid_layer(kind_members[i].kind, o, input);
        set_member(&c, &kind_members[i].member);
        judge("layer", &kind_members[i].member, !runs_layer(&c));
    }
}

/* What GEMM_CHECK thinks of values that are not finite. */
static void test_error_ratio(void)
{
    const double large = FLT_MAX, infinite = INFINITY, overflow = large;
    const struct {
        const char *name;
        double expected, bound;
        float actual;
        bool right;
    } cases[] = {
        {"equal, no bound", 3, 0, 3, true},
        {"equal, bound NaN", -large, NAN, -FLT_MAX, true},
        {"expected NaN", NAN, NAN, NAN, true},
        {"expected NaN, finite", NAN, NAN, 1, false},
        {"expected NaN, infinite", NAN, infinite, INFINITY, false},
        {"unexpected NaN", 1, .1, NAN, false},
        {"unexpected NaN, bound infinite", 1, infinite, NAN, false},
        {"unexpected infinity", 1, .1, -INFINITY, false},
        {"expected infinity", infinite, infinite, INFINITY, true},
        {"expected infinity, finite", infinite, infinite, 1, false},
        {"above the largest float", 2 * large, 1, INFINITY, true},
        {"above the largest float, finite", 2 * large, 1, 1, false},
        {"the sum may overflow", -large / 4, overflow, -INFINITY, true},
        {"the sum may overflow, finite", 0, 1e33, 1e34f, false},
        {"bound infinite, right", .5, infinite, .5f, true},
        {"bound infinite, wrong", .5, infinite, .6f, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const double ratio = gemm_error_ratio(cases[i].expected, cases[i].bound, cases[i].actual);
        char name[80];
        snprintf(name, sizeof name, "error-ratio: %s", cases[i].name);
        report_that(name, (ratio <= 1) == cases[i].right, "the ratio is %g", ratio);
    }
}

/* FLT_MAX is infinite in a format of fewer digits, although the product is small. */
static void test_large_operand(void)
{
    const gemm_rounding bf16 = {.product = 0x1p-7};
    float a = 1e-9f, b = FLT_MAX, c = 0;
    const gemm_call call = {0, 0, 1, 1, 1, 1, &a, 1, &b, 1, &c, 1};
    gemm_oracle o;
    if (gemm_oracle_make(&o, &call)) exit(2);
    c = INFINITY;
    const double rounded = gemm_oracle_compare_rounded(&o, &call, &bf16).ratio;
    const double exact = gemm_oracle_compare(&o, &call).ratio;
    gemm_oracle_free(&o);
    report_that("large-operand", !(rounded > 1) && exact > 1,
                "%g times the bound, not rounded %g", rounded, exact);
}

static int run_failing(void *data)
{
    static operands o;
    (void)data;
    const gemm_call c = make_call(&o, 0, 1, 1);
    atexit(multiply_at_exit);
    gemm_set_variant(&FAILING);
    gemm_dispatch(&c);
    return 0;
}

/* Twice: the first failure is said. */
static int run_failing_layers(void *data)
{
    static operands o;
    layer_input input[2];
    const conv_call conv = make_conv(&o);
    const layer_call layer = make_layer(&o, input);
    gemm_set_variant(&FAILING);
    if (*(const bool *)data) return gemm_layer(&layer) || gemm_conv(&conv, NULL, NULL);
    return gemm_conv(&conv, NULL, NULL) || gemm_layer(&layer);
}

static int set_threads(void *data)
{
    gemm_set_threads(*(const int *)data);
    return 0;
}

/* The body must end its process with this status, and these lines and no others. */
static void expect_end(const char *name, int (*body)(void *), void *data, int status,
                       const char *lines)
{
    const child_result r = child_run(body, data);
    report_that(name, child_exit(&r) == status && !strcmp(r.output, lines),
                "status %d, it printed: %s", child_exit(&r), r.output);
}

static void test_deaths(void)
{
    static const int bad_threads[] = {0, -1, 1025};
    bool layer_first = false;
    expect_end("failed", run_failing, NULL, 1,
               "gemm: failing failed for TA=0 TB=1 M=33 N=40 K=35, and C is undefined: "
               "the device is gone\nhandler: right\n");
    expect_end("failed-conv", run_failing_layers, &layer_first, 0,
               "gemm: failing failed for 3x3/1 pad 1 groups 1 batch 1 M=3 N=30 K=18, which is left "
               "to the caller: the device is gone\n");
    layer_first = true;
    expect_end("failed-layer", run_failing_layers, &layer_first, 0,
               "gemm: failing failed for route 4x3x2 to 4x3x3 batch 2, which is left to the "
               "caller: the device is gone\n");
    for (size_t i = 0; i < sizeof bad_threads / sizeof *bad_threads; ++i) {
        char name[64], line[128];
        int threads = bad_threads[i];
        snprintf(name, sizeof name, "set-threads-%d", threads);
        snprintf(line, sizeof line, "gemm: threads=%d is no whole number from 1 to 1024\n",
                 threads);
        expect_end(name, set_threads, &threads, 1, line);
    }
}

/* A good number of threads and the way to compute layers reach the rows. */
static void test_set(void)
{
    gemm_note note;
    gemm_set_threads(3);
    const int threads = gemm_make_context(&note).threads;
    report_that("set-threads-3", threads == 3, "the context says %d", threads);
    gemm_set_conv(GEMM_DIRECT);
    const bool direct = gemm_make_context(&note).direct;
    gemm_set_conv(GEMM_HOOK);
    const bool hook = !gemm_make_context(&note).direct;
    report_that("set-conv", direct && hook, "direct %d, hook %d", direct, hook);
}

/* ---- the product that everything is compared with ---- */

/* A loop without blocks. The sizes lie around those of the blocks, and rows are asked for in two
   parts. Sums in another order differ by far less than a wrong term would. */
static const char *judge_reference(int TA, int TB, int m, int n, int k)
{
    enum { MOST = 600 };
    static float A[MOST * 80], B[MOST * 130];
    static double product[10 * MOST], sizes[10 * MOST];
    rng r = rng_make(9, (uint64_t)(4 * k + 2 * TA + TB));
    for (size_t i = 0; i < sizeof A / sizeof *A; ++i) A[i] = rng_float(&r);
    for (size_t i = 0; i < sizeof B / sizeof *B; ++i) B[i] = rng_float(&r);
    const gemm_call c = {TA, TB, m, n, k, -.5f, A, TA ? m + 3 : k + 2, B, TB ? k + 1 : n + 2, NULL,
                         n};
    for (int i = 0; i < m * n; ++i) product[i] = i, sizes[i] = -i;
    if (gemm_reference_add(&c, 0, m / 2, product, sizes)) return "no memory";
    if (gemm_reference_add(&c, m / 2, m, product, sizes)) return "no memory";
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
            double sum = i * n + j, size = -sum;
            for (int p = 0; p < k; ++p) {
                const double term = (double)c.ALPHA * A[TA ? p * c.lda + i : i * c.lda + p] *
                                    B[TB ? j * c.ldb + p : p * c.ldb + j];
                sum += term;
                size += fabs(term);
            }
            if (!(fabs(product[i * n + j] - sum) <= 1e-10)) return "a product is wrong";
            if (!(fabs(sizes[i * n + j] - size) <= 1e-10)) return "a sum of sizes is wrong";
        }
    }
    return NULL;
}

static void test_reference(void)
{
    static const int sizes[][3] = {{1, 1, 1}, {3, 7, 64}, {10, 513, 65}, {9, 512, 130},
                                   {8, 40, 63}};
    for (int t = 0; t < 4; ++t) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
            const int *s = sizes[i];
            const char *wrong = judge_reference(t & 1, t >> 1, s[0], s[1], s[2]);
            if (!wrong) continue;
            report_fail("reference", "TA=%d TB=%d %d,%d,%d: %s", t & 1, t >> 1, s[0], s[1], s[2],
                        wrong);
            return;
        }
    }
    report_pass("reference");
}

/* The children come first, because the trace and the settings are read once a program. */
int main(void)
{
    static operands o;
    test_reference();
    test_darknet_functions();
    test_deaths();
    test_layer_trace();
    test_layer_check();
    test_error_ratio();
    test_large_operand();
    gemm_set_variant(&COMPUTING);
    test_invalid_convs(&o);
    test_invalid_layers(&o);
    test_declined();
    test_layer();
    test_set();
    return report_status();
}
