/* SPDX-License-Identifier: MIT */
/*
 * Whole networks with the convolution hook on and off (GEMM_CONV=im2col), row `packed` or another.
 *
 *   test_conv_networks [--row NAME] [--winograd] [--resize | --train] CFG...
 *
 * Plain: the raw outputs of every output layer must agree. What Winograd's algorithm computes in
 * between under `packed` is compared with the reference in double precision: all such layers, two
 * filters of each.
 * A row that rounds beyond single precision is off by more after each layer. So it is compared with
 * itself: the first pass compares all its layers with the reference like that, one by one, and in
 * the second pass outputs stay on the device.
 * --winograd: a network must have such a layer. --resize: also after other sizes and batches, back
 * and forth. --train: weights after some steps with inference in between must be the same to the
 * bit, because the hook has no part in training. Each network runs in a process of its own: some of
 * Darknet's cfgs do not run on a CPU at all, which is a SKIP.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/conv_check.h"
#include "darknet.h"
#include "driver/driver.h"
#include "hook/hook.h"
#include "support/heap.h"
#include "support/network.h"
#include "support/report.h"
#include "util/winograd.h"

enum { SEED = 11, MESSAGE = 200 };

/* Relative to the largest output. */
static const double TOLERANCE = 1e-4;

/* Of Darknet's network.h. */
int resize_network(network *net, int w, int h);

/* ---- the row, and one that judges what it computes ---- */

/* Layers that were judged, those of them by Winograd, and the worst of their ratios: see
   gemm_error. */
typedef struct judgement {
    int layers, winograd;
    double ratio;
} judgement;

static judgement judged;

static const gemm_variant *row;
static gemm_variant judging;    /* `row` with run_judged */

/* Some filters of a group of the first image, others in each layer. */
static conv_call some_filters(const conv_call *c)
{
    enum { FILTERS = 2 };
    const int group = judged.layers % c->groups, filters = c->n / c->groups;
    const int n = filters < FILTERS ? filters : FILTERS;
    const int first = group * filters + judged.layers * 13 % (filters - n + 1);
    conv_call some = *c;
    some.batch = some.groups = 1;
    some.c = c->c / c->groups;
    some.n = n;
    some.input += (size_t)group * (size_t)(some.c * c->h * c->w);
    some.weights += (size_t)first * (size_t)gemm_conv_taps(c);
    some.shift += first;
    if (some.scale) some.scale += first;
    some.output += (size_t)first * (size_t)gemm_conv_outputs(c);
    return some;
}

static gemm_status run_judged(const gemm_op *op, const gemm_context *context, const void *params)
{
    const gemm_status status = row->run(op, context, params);
    const gemm_transform *t = context->note->transform;
    const bool computed = status == GEMM_DONE && !context->foresees;
    if (op->kind != GEMM_CONVOLUTION || !computed || !(t || row->rounding)) return status;
    const conv_call *c = op->conv;
    const conv_call some = some_filters(c);
    gemm_error worst = {.ratio = INFINITY};
    gemm_host_read(c->input, (size_t)(c->c * c->h * c->w) * sizeof(float));
    gemm_host_read(c->output, (size_t)(c->n * gemm_conv_outputs(c)) * sizeof(float));
    if (gemm_conv_compare_rounded(&some, t, row->rounding, &worst)) abort();
    judged.ratio = fmax(judged.ratio, worst.ratio);
    ++judged.layers;
    judged.winograd += t != NULL;
    return status;
}

/* How a network runs. */
typedef struct pass {
    const gemm_variant *row;
    gemm_conv_mode mode;
} pass;

/* The pass whose outputs are expected, and the pass that is tested. */
static pass expected_pass(void)
{
    return row->rounding ? (pass){&judging, GEMM_HOOK} : (pass){row, GEMM_IM2COL};
}

static pass tested_pass(void)
{
    return (pass){gemm_leaves_outputs(row) ? row : &judging, GEMM_HOOK};
}

/* ---- networks ---- */

/* Fills the outputs of all convolutions and connected layers with NaN, so that a layer which reads
   what an earlier pass left there is found. */
static void forget_outputs(network *net)
{
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (l->type == CONVOLUTIONAL || l->type == CONNECTED)
            memset(l->output, 0xff, (size_t)l->outputs * (size_t)l->batch * sizeof *l->output);
    }
}

static float *predict(network *net, pass p, const float *input, size_t *count)
{
    gemm_set_variant(p.row);
    gemm_set_conv(p.mode);
    forget_outputs(net);
    network_predict(net, (float *)input);
    *count = 0;
    float *values = NULL;
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (!network_is_output(net, i) || !l->output) continue;
        const size_t n = (size_t)l->outputs * (size_t)l->batch;
        values = realloc(values, (*count + n) * sizeof *values);
        memcpy(values + *count, l->output, n * sizeof *values);
        *count += n;
    }
    return values;
}

/* A workspace as large as the layers need which the hook does not take, and no larger. */
static bool has_workspace(const network *net, const char *when, char *why)
{
    size_t needed = 0;
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (!convolution_hooked(*l, *net) && l->workspace_size > needed) needed = l->workspace_size;
    }
    if (net->workspace_size == needed) return true;
    snprintf(why, MESSAGE, "%s: a workspace of %zu bytes, not %zu", when, net->workspace_size,
             needed);
    return false;
}

/* Outputs of the tested pass against the expected ones: true when they agree, else says why.
   `reached` becomes true once the expected pass ran. */
static bool agrees(network *net, const char *when, bool *reached, char *why)
{
    size_t n, hooked;
    rng r = rng_make(SEED, 2);
    float *input = malloc((size_t)net->inputs * (size_t)net->batch * sizeof *input);
    network_fill(input, (size_t)net->inputs * (size_t)net->batch, &r);
    float *expected = predict(net, expected_pass(), input, &n);
    *reached = true;
    const bool workspace = has_workspace(net, when, why);
    float *actual = predict(net, tested_pass(), input, &hooked);
    double worst = n == hooked ? 0 : INFINITY, size = 0;
    for (size_t i = 0; i < n && n == hooked; ++i) {
        if (!isfinite(expected[i])) { /* Darknet's own, as yolo9000's softmax without weights */
            if (isfinite(actual[i])) worst = INFINITY;
            continue;
        }
        const double d = fabs((double)expected[i] - (double)actual[i]);
        worst = isfinite(d) ? fmax(worst, d) : INFINITY;
        size = fmax(size, fabs((double)expected[i]));
    }
    free(input);
    free(expected);
    free(actual);
    if (!workspace) return false;
    if (!(judged.ratio <= 1)) {
        snprintf(why, MESSAGE, "%s: a layer is off by %g times the bound", when, judged.ratio);
        return false;
    }
    if (n && size > 0 && worst <= TOLERANCE * size) return true;
    snprintf(why, MESSAGE, "%s: the outputs are %g apart, the largest is %g", when, worst, size);
    return false;
}

/* The hook alone has only the workspace of the layers that it does not take. */
static bool hook_takes_no_workspace(network *net, char *why)
{
    size_t n;
    float *input = calloc((size_t)net->inputs * (size_t)net->batch, sizeof *input);
    free(predict(net, tested_pass(), input, &n));
    free(input);
    return has_workspace(net, "with the hook", why);
}

static bool has_convolution(const network *net)
{
    for (int i = 0; i < net->n; ++i)
        if (net->layers[i].type == CONVOLUTIONAL) return true;
    return false;
}

static bool check_plain(const char *cfg, bool *reached, char *why)
{
    network *net = network_make(cfg, SEED);
    set_batch_network(net, 1);
    if (!has_convolution(net)) {
        snprintf(why, MESSAGE, "it has no convolution");
        return false;
    }
    const bool early = net->workspace_size > 0;
    if (!agrees(net, "as it is", reached, why)) return false;
    if (early) snprintf(why, MESSAGE, "there is a workspace before the first pass");
    return !early;
}

static bool check_resize(const char *cfg, bool *reached, char *why)
{
    network *net = network_make(cfg, SEED);
    const int w = net->w, h = net->h;
    set_batch_network(net, 1);
    if (!agrees(net, "as it is", reached, why)) return false;
    const size_t slack = net->workspace_size / 2; /* a driver takes memory of its own */
    resize_network(net, w, h);
    const size_t given = heap_given();
    set_batch_network(net, 2);
    resize_network(net, w + 64, h - 32);
    if (!hook_takes_no_workspace(net, why)) return false;
    if (!agrees(net, "larger, batch 2", reached, why)) return false;
    set_batch_network(net, 1);
    if (!agrees(net, "larger, batch 1", reached, why)) return false;
    resize_network(net, 96, 64);
    if (!agrees(net, "small", reached, why)) return false;
    resize_network(net, w, h);
    size_t now = heap_given();
    for (int i = 0; i < 100 && now > given + slack; ++i) {      /* a driver's thread frees later */
        usleep(20000);
        now = heap_given();
    }
    if (now <= given + slack) return agrees(net, "its own size again", reached, why);
    snprintf(why, MESSAGE, "%zu bytes more are taken at its own size again", now - given);
    return false;
}

/* A step of training begins with deltas of 0, whatever is left in them. */
static void spoil_deltas(network *net)
{
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        for (int k = 0; l->delta && k < l->outputs * l->batch; ++k) l->delta[k] = NAN;
    }
}

/* The gradient of the input, not in training: backward reads what forward kept in the layers. */
static float *gradient(network *net)
{
    float *delta = calloc((size_t)net->inputs * (size_t)net->batch, sizeof *delta);
    spoil_deltas(net);
    net->train = 0;
    net->delta = delta;
    forward_network(net);
    backward_network(net);
    net->delta = NULL;
    return delta;
}

/* All weights after steps of training with inference in between, and the gradient then. */
static float *train(const char *cfg, bool hook, size_t *count)
{
    network *net = network_make(cfg, SEED);
    rng r = rng_make(SEED, 3);
    float *input = malloc((size_t)net->inputs * (size_t)net->batch * sizeof *input),
          *weights = NULL;
    gemm_set_conv(hook ? GEMM_HOOK : GEMM_IM2COL);
    for (int step = 0; step < 4; ++step) {
        network_fill(input, (size_t)net->inputs * (size_t)net->batch, &r);
        if (step % 2) network_predict(net, input);
        memcpy(net->input, input, (size_t)net->inputs * (size_t)net->batch * sizeof *input);
        memset(net->truth, 0, (size_t)net->truths * (size_t)net->batch * sizeof(float));
        for (int b = 0; b < net->batch; ++b) net->truth[b * net->truths + step % net->truths] = 1;
        spoil_deltas(net);
        train_network_datum(net);
    }
    *count = 0;
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (l->type != CONVOLUTIONAL) continue;
        weights = realloc(weights, (*count + (size_t)l->nweights) * sizeof *weights);
        memcpy(weights + *count, l->weights, (size_t)l->nweights * sizeof *weights);
        *count += (size_t)l->nweights;
    }
    free(input);
    const size_t inputs = (size_t)net->inputs * (size_t)net->batch;
    float *delta = gradient(net);
    weights = realloc(weights, (*count + inputs) * sizeof *weights);
    memcpy(weights + *count, delta, inputs * sizeof *weights);
    *count += inputs;
    free(delta);
    return weights;
}

static bool check_train(const char *cfg, bool *reached, char *why)
{
    size_t n, same;
    float *expected = train(cfg, false, &n);
    *reached = true;
    float *actual = train(cfg, true, &same);
    bool equal = n && n == same && !memcmp(expected, actual, n * sizeof *actual);
    if (!equal) snprintf(why, MESSAGE, "the hook changed what training makes of the weights");
    for (size_t i = 0; equal && i < n; ++i) {
        equal = isfinite(expected[i]);
        if (!equal)
            snprintf(why, MESSAGE, "deltas of the step before are in the weights or the gradient");
    }
    free(expected);
    free(actual);
    return equal;
}

typedef bool (*check)(const char *cfg, bool *reached, char *why);

typedef struct verdict {
    bool reached, passed;
    judgement judged;
    char why[MESSAGE];
} verdict;

/* The check in a child, which may crash or exit. */
static verdict run(check c, const char *cfg)
{
    verdict v = {0};
    int ends[2];
    if (pipe(ends)) return v;
    const pid_t child = fork();
    if (!child) {
        static verdict mine;
        mine.passed = c(cfg, &mine.reached, mine.why);
        mine.judged = judged;
        _exit(write(ends[1], &mine, sizeof mine) != sizeof mine);
    }
    close(ends[1]);
    if (read(ends[0], &v, sizeof v) != sizeof v) {
        v = (verdict){0}; /* it crashed, or Darknet ended it */
    }
    close(ends[0]);
    waitpid(child, NULL, 0);
    return v;
}

/* Whether the network runs without the hook at all. */
static bool only_im2col(const char *cfg, bool *reached, char *why)
{
    (void)why;
    size_t n;
    network *net = network_make(cfg, SEED);
    set_batch_network(net, 1);
    float *input = calloc((size_t)net->inputs, sizeof *input);
    free(predict(net, (pass){row, GEMM_IM2COL}, input, &n));
    return *reached = true;
}

/* False: no such row, or it has no convolution. */
static bool set_row(const char *name)
{
    row = gemm_find(name);
    if (!row || !(row->kinds & GEMM_CONVS)) return false;
    judging = *row;
    judging.run = run_judged;
    gemm_set_variant(row);
    return true;
}

int main(int argc, char **argv)
{
    check c = check_plain;
    const char *kind = "hook";
    if (!freopen("/dev/null", "w", stderr)) return 2; /* Darknet prints every network it reads */
    bool wants_winograd = false;
    int winograd_layers = 0;
    set_row("packed");
    for (int i = 1; i < argc; ++i) {
        char name[160];
        if (!strcmp(argv[i], "--row") && i + 1 < argc) {
            if (!set_row(argv[++i])) return 2;
            continue;
        }
        if (!strcmp(argv[i], "--resize"))
            c = check_resize, kind = "hook-resize";
        else if (!strcmp(argv[i], "--train"))
            c = check_train, kind = "hook-train";
        else if (!strcmp(argv[i], "--winograd"))
            wants_winograd = true;
        if (argv[i][0] == '-') continue;
        const bool other = strcmp(row->name, "packed");
        snprintf(name, sizeof name, "%s%s%s-%s", kind, other ? "-" : "", other ? row->name : "",
                 strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i]);
        /* An OpenCL compiler keeps memory, and other sizes may need other kernels. */
        if (c == check_resize && gemm_is_on_device(row)) run(c, argv[i]);
        verdict v = run(c, argv[i]);
        winograd_layers += v.judged.winograd;
        if (v.passed)
            report_pass(name);
        else if (!v.reached && *v.why)
            printf("# %s is no test of the hook: %s\n", name, v.why);
        else if (!v.reached && !run(only_im2col, argv[i]).reached)
            report_skip(name, "Darknet cannot run it on a CPU");
        else
            report_fail(name, "%s", *v.why ? v.why : "it crashed or ended");
    }
    if (wants_winograd && !winograd_layers)
        report_fail("hook-winograd", "no network has a layer by Winograd");
    else if (wants_winograd)
        report_pass("hook-winograd");
    return report_status();
}
