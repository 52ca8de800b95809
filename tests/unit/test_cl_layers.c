/* SPDX-License-Identifier: MIT */
/*
 * Whole networks under `cl`, whose layers leave their outputs on the device.
 *
 *   test_cl_layers CFG COUNTED...
 *   test_cl_layers --only CASE CFG
 *   test_cl_layers --launches MOST CFG      a pass takes so many at most, and none of cl_fill
 *
 * The first form and the third one need the OpenCL layer of tests/support/layer_fail.c. It counts
 * waits and launches, and makes calls fail. CFG is a small network with layers that `cl` takes and
 * layers that it does not take. Under both memory policies its outputs must be those of Darknet's
 * own code, layer by layer:
 *
 * - after several passes, and by turns with another network
 * - after a change of weights, after a resize, and after the CPU wrote into outputs
 * - with GEMM_IMPL changed between two passes, in two threads, and after a fork
 * - where `cl` begins a pass and `packed` ends it, or the other way, behind each layer in turn
 *
 * Then each third call of OpenCL fails in turn: the outputs must be right, or the program must end
 * and say why. The first pass, which builds kernels and keeps weights, gets fewer of them.
 *
 * COUNTED are networks whose layers `cl` takes all: a pass waits once for each output that Darknet
 * reads, and copies no more than input and outputs.
 */
#include "cl/device/counts.h"
#include "cl/device/device.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "support/child.h"
#include "support/cl_cases.h"
#include "support/network.h"
#include "support/report.h"
#include "util/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEED = 31 };

/* Relative to the largest output of the layer. */
static const double TOLERANCE = 1e-4;

/* Of Darknet's own headers, which do not compile without warnings. */
int resize_network(network *net, int w, int h);

/* ---- passes ---- */

static float *make_input(const network *net, int number)
{
    const size_t n = (size_t)net->inputs * (size_t)net->batch;
    float *input = malloc(n * sizeof *input);
    rng r = rng_make(SEED, (uint64_t)number);
    if (!input) exit(2);
    network_fill(input, n, &r);
    return input;
}

/* A recurrent layer begins anew with each pass. */
static void begin_anew(network *net)
{
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (l->type == CRNN) memset(l->state, 0, (size_t)(l->hidden * l->batch) * sizeof(float));
    }
}

static void predict_by(network *net, const gemm_variant *row, gemm_conv_mode mode,
                       const float *input)
{
    begin_anew(net);
    gemm_set_variant(row);
    gemm_set_conv(mode);
    network_predict(net, (float *)input);
}

static void predict(network *net, const char *row, gemm_conv_mode mode, const float *input)
{
    predict_by(net, gemm_find(row), mode, input);
}

static size_t outputs(const layer *l)
{
    return l->type == COST || !l->output ? 0 : (size_t)l->outputs * (size_t)l->batch;
}

/* The outputs of all layers, one behind the other. The caller frees them. */
static float *copy_outputs(const network *net)
{
    size_t n = 0;
    for (int i = 0; i < net->n; ++i) n += outputs(&net->layers[i]);
    float *all = malloc(n * sizeof *all), *to = all;
    if (!all) exit(2);
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        output_to_cpu(*l);
        memcpy(to, l->output, outputs(l) * sizeof *to);
        to += outputs(l);
    }
    return all;
}

/* A convolution that may be one call with the maxpool behind it. Its output is not written then.
   The maxpool's output shows whether it is right. */
static bool may_be_pooled(const network *net, int i)
{
    const layer *l = &net->layers[i];
    return l->type == CONVOLUTIONAL && i + 1 < net->n && l[1].type == MAXPOOL && l[1].size == 2 &&
           l[1].stride == 2;
}

/* The layer whose outputs differ, or -1. */
static int different_layer(const network *net, const float *expected, const float *actual)
{
    for (int i = 0; i < net->n; ++i) {
        double worst = 0, size = 0;
        const size_t n = outputs(&net->layers[i]);
        for (size_t k = 0; k < n; ++k) {
            const double d = fabs((double)expected[k] - (double)actual[k]);
            worst = isfinite(d) ? fmax(worst, d) : INFINITY;
            size = fmax(size, fabs((double)expected[k]));
        }
        if (!(worst <= TOLERANCE * size) && !may_be_pooled(net, i)) return i;
        expected += n;
        actual += n;
    }
    return -1;
}

/* Whether a pass under `cl` gives what Darknet's own code gives: the layer that differs, or -1.
   `fail_at` is NULL, or the call of OpenCL that fails in the pass. */
static int wrong_layer_when(network *net, int number, const char *fail_at)
{
    float *input = make_input(net, number);
    setenv("CL_FAIL_FIRST_ARG", "1", 1);
    if (fail_at) setenv("CL_FAIL_AT", fail_at, 1);
    predict(net, "cl", GEMM_HOOK, input);
    float *actual = copy_outputs(net);
    unsetenv("CL_FAIL_AT");
    predict(net, "packed", GEMM_IM2COL, input);
    float *expected = copy_outputs(net);
    const int wrong = different_layer(net, expected, actual);
    free(input);
    free(actual);
    free(expected);
    return wrong;
}

static int wrong_layer(network *net, int number)
{
    return wrong_layer_when(net, number, NULL);
}

/* A pass that leaves all outputs but the last on the device. */
static void leave_outputs(network *net, int number)
{
    float *input = make_input(net, number);
    predict(net, "cl", GEMM_HOOK, input);
    free(input);
}

/* Darknet does not free the layers inside of a recurrent one. The last has the output of the whole,
   which is freed already. */
static void free_inner_layers(const layer *l)
{
    l->output_layer->output = NULL;
    l->output_layer->delta = NULL;
    free_layer(*l->input_layer);
    free_layer(*l->self_layer);
    free_layer(*l->output_layer);
}

static void end_network(network *net)
{
    enum { MOST = 4 };
    layer recurrent[MOST];
    int count = 0;
    for (int i = 0; i < net->n && count < MOST; ++i)
        if (net->layers[i].type == CRNN) recurrent[count++] = net->layers[i];
    gemm_host_free(net->workspace);
    free_network(net);
    while (count) free_inner_layers(&recurrent[--count]);
}

/* ---- one network, or two ---- */

static int several_passes(network *net, network *other)
{
    int wrong = -1;
    (void)other;
    for (int i = 0; i < 3 && wrong < 0; ++i) {
        leave_outputs(net, 100 + i);
        wrong = wrong_layer(net, i);
    }
    return wrong;
}

static int by_turns(network *net, network *other)
{
    int wrong = -1;
    for (int i = 0; i < 2 && wrong < 0; ++i) {
        leave_outputs(net, i);
        wrong = wrong_layer(other, i);
        leave_outputs(other, i);
        if (wrong < 0) wrong = wrong_layer(net, i);
    }
    return wrong;
}

static void change_weights(layer *l, void *data)
{
    (void)data;
    const int count = l->type == CONNECTED ? l->inputs * l->outputs : l->nweights;
    for (int i = 0; i < count; ++i) l->weights[i] *= -.5f;
    l->biases[0] += .25f;
}

static int other_weights(network *net, network *other)
{
    (void)other;
    leave_outputs(net, 0);
    network_visit(net, change_weights, NULL);
    weights_changed(net);
    return wrong_layer(net, 0);
}

static int other_size(network *net, network *other)
{
    static const int sizes[][2] = {{60, 52}, {44, 52}, {44, 36}};
    int wrong = -1;
    (void)other;
    for (int i = 0; i < 3 && wrong < 0; ++i) {
        leave_outputs(net, i);
        resize_network(net, sizes[i][0], sizes[i][1]);
        wrong = wrong_layer(net, i);
    }
    return wrong;
}

/* The CPU overwrites every output, after telling. */
static int overwritten(network *net, network *other)
{
    (void)other;
    leave_outputs(net, 0);
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        gemm_host_write(l->output, outputs(l) * sizeof *l->output);
        for (size_t k = 0; k < outputs(l); ++k) l->output[k] = 1e9f;
    }
    return wrong_layer(net, 0);
}

static int other_rows(network *net, network *other)
{
    float *input = make_input(net, 0);
    (void)other;
    leave_outputs(net, 1);
    predict(net, "packed", GEMM_HOOK, input);
    predict(net, "cl", GEMM_HOOK, input);
    predict(net, "cl", GEMM_IM2COL, input);
    free(input);
    return wrong_layer(net, 0);
}

/* The layer that is wrong after a pass, or -1. */
static int wrong_after(network *net, const gemm_variant *row, gemm_conv_mode mode,
                       const float *input, const float *expected)
{
    predict_by(net, row, mode, input);
    float *actual = copy_outputs(net);
    const int wrong = different_layer(net, expected, actual);
    free(actual);
    return wrong;
}

/* Darknet's own code runs every layer, after a pass that left other outputs on the device. */
static int without_hook(network *net, network *other)
{
    network *const nets[] = {net, other};
    int wrong = -1;
    for (int i = 0; i < 2 && wrong < 0; ++i) {
        float *input = make_input(nets[i], 0);
        predict(nets[i], "packed", GEMM_IM2COL, input);
        float *expected = copy_outputs(nets[i]);
        leave_outputs(nets[i], 1);
        wrong = wrong_after(nets[i], gemm_find("cl"), GEMM_IM2COL, input, expected);
        free(input);
        free(expected);
    }
    return wrong;
}

/* A network whose blocks a later one gets again, at the same addresses. */
static int freed(network *net, network *other)
{
    (void)net;
    leave_outputs(other, 0);
    network *third = network_make("tests/unit/cfg/plans.cfg", SEED + 2);
    leave_outputs(third, 0);
    end_network(third);
    third = network_make("tests/unit/cfg/plans.cfg", SEED + 3);
    const int wrong = wrong_layer(third, 1);
    end_network(third);
    return wrong < 0 ? wrong_layer(other, 1) : wrong;
}

/* A network, its input, and passes in a thread. */
typedef struct worker {
    pthread_t thread;
    network *net;
    float *input;
} worker;

static void *predict_often(void *data)
{
    const worker *w = data;
    for (int i = 0; i < 5; ++i) {
        begin_anew(w->net);
        network_predict(w->net, w->input);
    }
    return NULL;
}

/* Two threads, each with a network of its own. */
static int in_threads(network *net, network *other)
{
    worker w[2] = {{.net = net}, {.net = other}};
    int wrong = -1;
    gemm_set_variant(gemm_find("cl"));
    gemm_set_conv(GEMM_HOOK);
    for (int i = 0; i < 2; ++i) {
        w[i].input = make_input(w[i].net, i);
        if (pthread_create(&w[i].thread, NULL, predict_often, &w[i])) abort();
    }
    for (int i = 0; i < 2; ++i) pthread_join(w[i].thread, NULL);
    for (int i = 0; i < 2; ++i) {
        float *actual = copy_outputs(w[i].net);
        predict(w[i].net, "packed", GEMM_IM2COL, w[i].input);
        float *expected = copy_outputs(w[i].net);
        if (wrong < 0) wrong = different_layer(w[i].net, expected, actual);
        free(actual);
        free(expected);
        free(w[i].input);
    }
    return wrong;
}

/* The shortcuts get another factor: an argument of a launch in the middle of the pass. */
static int other_factor(network *net, network *other)
{
    (void)other;
    leave_outputs(net, 0);
    for (int i = 0; i < net->n; ++i)
        if (net->layers[i].type == SHORTCUT) net->layers[i].alpha = 2;
    return wrong_layer(net, 0);
}

/* A child cannot use the device. It frees what it has, and ends. */
static int after_fork(network *net, network *other)
{
    int status = 0;
    (void)other;
    leave_outputs(net, 0);
    const pid_t child = fork();
    if (child == 0) {
        free_network(net);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status) return net->n;
    return wrong_layer(net, 0);
}

/* What Darknet reads after a pass is the CPU's: the last output, and those of yolo layers. */
static int after_pass(network *net, network *other)
{
    bool last = true;
    (void)other;
    leave_outputs(net, 0);
    for (int i = net->n - 1; i >= 0; --i) {
        const layer *l = &net->layers[i];
        const size_t bytes = outputs(l) * sizeof(float);
        if (!bytes || !(last || l->type == YOLO)) continue;
        last = false;
        float *seen = malloc(bytes);
        if (!seen) exit(2);
        memcpy(seen, l->output, bytes);
        output_to_cpu(*l);
        const bool same = !memcmp(seen, l->output, bytes);
        free(seen);
        if (!same) return i;
    }
    return -1;
}

static const struct {
    const char *name;
    int (*run)(network *, network *);   /* the layer that differs, or -1 */
} CASES[] = {{"passes", several_passes}, {"turns", by_turns},       {"weights", other_weights},
             {"resize", other_size},     {"written", overwritten},  {"rows", other_rows},
             {"freed", freed},           {"factor", other_factor},  {"fork", after_fork},
             {"threads", in_threads},    {"im2col", without_hook},
             {"after-pass", after_pass}};

/* All cases, or only the one that is called `only`. */
static void test_cases(const char *cfg, char policy, const char *only)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; ++i) {
        char name[64];
        if (only && strcmp(only, CASES[i].name)) continue;
        snprintf(name, sizeof name, "cl-layers-%s-%s", CASES[i].name, cl_policy_name(policy));
        gemm_set_variant(gemm_find("cl"));
        gemm_cl_force_memory(policy);
        network *net = network_make(cfg, SEED);
        network *other = network_make("tests/unit/cfg/plans.cfg", SEED + 1);
        const int wrong = CASES[i].run(net, other);
        report_right(name, wrong < 0, "the output of layer %d is wrong", wrong);
        end_network(net);
        end_network(other);
        gemm_cl_force_memory(0);
    }
}

/* ---- waits ---- */

static const atomic_int *layer_counts;  /* of cl_open_counts */

/* The outputs that Darknet reads after a pass, and their bytes with those of the input. */
static int read_outputs(const network *net, size_t *bytes)
{
    int n = 0;
    bool last = true;
    *bytes = (size_t)net->inputs * (size_t)net->batch * sizeof(float);
    for (int i = net->n - 1; i >= 0; --i) {
        const layer *l = &net->layers[i];
        if (l->type == COST) continue;
        if (last || l->type == YOLO) {
            *bytes += outputs(l) * sizeof(float);
            ++n;
        }
        last = false;
    }
    return n;
}

/* The second pass of a network whose layers are all taken. */
static void test_waits(const char *cfg, char policy)
{
    char name[96];
    const char *base = strrchr(cfg, '/');
    snprintf(name, sizeof name, "cl-layers-waits-%s-%s", base ? base + 1 : cfg,
             cl_policy_name(policy));
    gemm_set_variant(gemm_find("cl"));
    gemm_cl_force_memory(policy);
    network *net = network_make(cfg, SEED);
    set_batch_network(net, 1);
    gemm_cl_count(true);        /* from here on launches have times, for which the device waits */
    leave_outputs(net, 0);
    gemm_cl_count(true);
    const int waits = layer_counts[0], launches = layer_counts[1];
    leave_outputs(net, 1);
    const int more_waits = layer_counts[0] - waits, more_launches = layer_counts[1] - launches;
    const gemm_cl_counts c = gemm_cl_counted();
    size_t bytes;
    const int allowed = read_outputs(net, &bytes);
    if (more_waits > allowed || more_waits < 1)
        report_fail(name, "%d waits instead of %d", more_waits, allowed);
    else if ((int)c.waits != more_waits || (int)c.launches != more_launches || !(c.kernel_ms > 0))
        report_fail(name, "%lu waits and %lu launches in %g ms are counted, not %d and %d", c.waits,
                    c.launches, c.kernel_ms, more_waits, more_launches);
    else if (c.bytes > bytes || !c.bytes)
        report_fail(name, "%zu bytes are copied, more than %zu", c.bytes, bytes);
    else
        report_pass(name);
    gemm_cl_count(false);
    end_network(net);
    gemm_cl_force_memory(0);
}

/* ---- launches ---- */

/* The second pass of a network, on a device that shares its memory: at most so many launches, and
   no image of the taps. */
static void test_launches(const char *cfg, int most)
{
    gemm_set_variant(gemm_find("cl"));
    network *net = network_make(cfg, SEED);
    set_batch_network(net, 1);
    leave_outputs(net, 0);
    const int launches = layer_counts[1], fills = layer_counts[2];
    leave_outputs(net, 1);
    const int more = layer_counts[1] - launches, filled = layer_counts[2] - fills;
    report_right("cl-layers-launches", more <= most && more >= 1 && !filled,
                 "%d launches, at most %d are allowed; %d of cl_fill", more, most, filled);
    end_network(net);
}

/* ---- failures ---- */

enum { RIGHT = 10, WRONG, NO_FAULT = 13 };      /* 13: fewer calls were made */

typedef struct fault {
    const char *cfg;
    char policy;
    int passes;                 /* before it; the first pass keeps the weights */
    int at;
} fault;

static network *fault_net;

static void end_fault_net(void)
{
    if (fault_net) end_network(fault_net);
    fault_net = NULL;
}

static void begin_faults(const fault *f)
{
    gemm_set_variant(gemm_find("cl"));
    gemm_cl_force_memory(f->policy);
    fault_net = network_make(f->cfg, SEED);
    if (atexit(end_fault_net)) abort();
    for (int i = 0; i < f->passes; ++i) leave_outputs(fault_net, 1);
    fprintf(stderr, "BEGIN\n");         /* Darknet printed the network */
}

/* The n-th call from a pass on fails. Returns how it ended, unless the driver ends the program. */
static int pass_with_fault(void *data)
{
    const fault *f = data;
    char at[16];
    snprintf(at, sizeof at, "%d", f->at);
    begin_faults(f);
    const int wrong = wrong_layer_when(fault_net, 0, at);
    end_fault_net();
    setenv("CL_FAIL_AT", at, 1);    /* at exit the layer tells whether so many calls came */
    return wrong < 0 ? RIGHT : WRONG;
}

/* NULL, or what is wrong. */
static const char *judge_fault(const child_result *r)
{
    const char *said = strstr(r->output, "BEGIN\n");
    if (child_exit(r) == NO_FAULT || child_exit(r) == RIGHT) return NULL;
    if (child_exit(r) < 0) return "it crashed";
    if (child_exit(r) == WRONG) return "the output is wrong";
    if (child_exit(r) != 1) return "objects leaked";
    return said && strstr(said, "gemm: ") ? NULL : "it ended without a reason";
}

static void test_faults(const char *cfg, char policy, int passes)
{
    static const char *const names[] = {"first", "second"};
    static const int steps[] = {11, 3};
    char name[64];
    int n = 1, ended = 0, right = 0;
    snprintf(name, sizeof name, "cl-layers-faults-%s-%s", names[passes], cl_policy_name(policy));
    for (;; n += steps[passes]) {
        fault f = {cfg, policy, passes, n};
        const child_result r = child_run(pass_with_fault, &f);
        const char *why = judge_fault(&r);
        if (child_exit(&r) == NO_FAULT) break;
        ended += child_exit(&r) == 1;
        right += child_exit(&r) == RIGHT;
        if (!why) continue;
        const char *said = strstr(r.output, "BEGIN\n");
        report_fail(name, "call %d: %s (status %d): %s", n, why, child_exit(&r),
                    said ? said : r.output);
        return;
    }
    printf("# %s: calls 1 to %d failed in turn: %d passes were right, %d ended the program\n", name,
           n, right, ended);
    report_right(name, right + ended >= 10, "too few: is tests/support/layer_fail.c loaded?");
}

/* A kernel fails after its layer returned. */
static int pass_with_bad_kernel(void *data)
{
    begin_faults(data);
    setenv("CL_FAIL_KERNEL", "1", 1);
    leave_outputs(fault_net, 0);
    return RIGHT;
}

static void test_bad_kernel(const char *cfg, char policy)
{
    char name[64];
    fault f = {.cfg = cfg, .policy = policy};
    snprintf(name, sizeof name, "cl-layers-bad-kernel-%s", cl_policy_name(policy));
    const child_result r = child_run(pass_with_bad_kernel, &f);
    const char *said = strstr(r.output, "BEGIN\n");
    const bool right = said && strstr(said, "gemm: the output of a layer is lost on the OpenCL "
                                            "device: a kernel failed after it was enqueued");
    report_right(name, child_exit(&r) == 1 && right, "status %d: %s", child_exit(&r),
                 said ? said : r.output);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "test_cl_layers: one cfg and more to count in are needed, or --only CASE "
                        "and a cfg, or --launches MOST and a cfg\n");
        return 2;
    }
    const bool counts = argc == 4 && !strcmp(argv[1], "--launches");
    const char *only = argc == 4 && !strcmp(argv[1], "--only") ? argv[2] : NULL;
    for (const char *policy = only || counts ? "" : "ud"; *policy; ++policy) {
        test_bad_kernel(argv[1], *policy);
        for (int passes = 0; passes < 2; ++passes) test_faults(argv[1], *policy, passes);
    }
    if (!freopen("/dev/null", "w", stderr)) return 2;   /* Darknet prints its networks there */
    layer_counts = cl_open_counts();
    gemm_set_variant(gemm_find("cl"));
    const char *why = gemm_unusable(gemm_find("cl"));
    if (why) {
        report_skip("cl-layers", "%s", why);
        return report_status();
    }
    if (counts) test_launches(argv[3], atoi(argv[2]));
    for (const char *policy = counts ? "" : "ud"; *policy; ++policy) {
        test_cases(argv[only ? 3 : 1], *policy, only);
        for (int i = 2; !only && i < argc; ++i) test_waits(argv[i], *policy);
    }
    return report_status();
}
