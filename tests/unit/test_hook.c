/* SPDX-License-Identifier: MIT */
/*
 * Darknet's way to a row that offers layers: src/hook/.
 *
 *   test_hook CFG ADDED ROUTES CHAIN
 *
 * A row of this test counts what `packed` computes. For every layer of the network the row must be
 * asked, unless Darknet's own code has to run. The output must be that of Darknet's own code from
 * the same input, to the bit where nothing is rounded. The same row takes a convolution and the
 * maxpool behind it as one call. In the network ADDED `packed` takes a convolution and the shortcut
 * behind it as one call, twice. In the network ROUTES, a batch of one image, inputs of routes lie
 * in the routes' outputs.
 *
 * CFG, ADDED and CHAIN are also changed between two passes, in each layer by turns, and changed
 * back. The outputs are then those of Darknet's own code, whatever layers went together before.
 * CHAIN also by a program that promises to read only boxes: then the output between two chains is
 * not written.
 */
#include "check/layer_check.h"
#include "driver/driver.h"
#include "hook/pjreddie.h"
#include "packed/chain/chain.h"
#include "packed/packed.h"
#include "support/network.h"
#include "support/report.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 17, KINDS = LAYER_KINDS };

/* ---- The row ---- */

static int asked[KINDS];        /* calls of each kind */
static int pooled;              /* convolutions with their maxpool */
static double worst_ratio;      /* of layers, see gemm_error */
static bool takes_pool;

static float *allocate(size_t n)
{
    float *v = malloc(n * sizeof *v);
    if (!v) exit(2);
    return v;
}

/* `packed`; of a convolution with its maxpool, one behind the other. */
static gemm_status run_kind(const gemm_op *op, const gemm_context *context, const void *params)
{
    if (op->kind == GEMM_CONVOLUTION && op->conv->pool) {
        const conv_call *c = op->conv;
        if (!takes_pool) return GEMM_DECLINED;
        float *whole = allocate((size_t)(c->batch * c->n * gemm_conv_places(c)));
        const gemm_status status = gemm_conv_then_pool(gemm_packed_run, params, c, whole, context);
        free(whole);
        ++pooled;
        return status;
    }
    const gemm_status status = gemm_packed_run(op, context, params);
    if (op->kind == GEMM_LAYER) {
        ++asked[op->layer->kind];
        worst_ratio = fmax(worst_ratio, gemm_layer_compare(op->layer).ratio);
    }
    return status;
}

static const gemm_variant LAYERS = {
    .name = "layers", .multiply = gemm_packed, .run = run_kind, .kinds = GEMM_CONVS | GEMM_LAYERS};

/* ---- Layer by layer ---- */

static size_t outputs(const layer *l)
{
    return (size_t)l->outputs * (size_t)l->batch;
}

/* What a pass does not write keeps this value. */
static void mark_outputs(network *net, float value)
{
    for (int i = 0; i < net->n; ++i)
        for (size_t k = 0; k < outputs(&net->layers[i]); ++k) net->layers[i].output[k] = value;
}

static size_t all_outputs(const network *net)
{
    size_t n = 0;
    for (int i = 0; i < net->n; ++i) n += outputs(&net->layers[i]);
    return n;
}

/* Copies of outputs. The caller frees them. */
static float *copy_output(const layer *l)
{
    float *copy = allocate(outputs(l));
    return memcpy(copy, l->output, outputs(l) * sizeof *copy);
}

static float *copy_outputs(const network *net)
{
    float *const all = allocate(all_outputs(net));
    size_t at = 0;
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        memcpy(all + at, l->output, outputs(l) * sizeof *all);
        at += outputs(l);
    }
    return all;
}

/* The output of layer i from the present outputs before it, in fresh memory. It holds NaN first. */
static float *forward_one(network *net, int i, gemm_conv_mode mode)
{
    layer *l = &net->layers[i];
    network state = *net;
    state.index = i;
    state.n = i + 1;            /* no layer behind it goes in the same call */
    if (i) state.input = net->layers[i - 1].output;
    gemm_set_conv(mode);
    for (size_t k = 0; k < outputs(l); ++k) l->output[k] = NAN;
    hook_forward(net, &state);
    return copy_output(l);
}

static int kind_of(const layer *l)
{
    switch ((int)l->type) {
    case MAXPOOL: return LAYER_MAXPOOL;
    case AVGPOOL: return LAYER_AVGPOOL;
    case UPSAMPLE: return l->reverse ? KINDS : LAYER_UPSAMPLE;
    case ROUTE: return LAYER_ROUTE;
    case SHORTCUT: return LAYER_SHORTCUT;
    case YOLO: return LAYER_YOLO;
    }
    return KINDS;
}

static bool agrees(int kind, size_t n, const float *expected, const float *actual)
{
    if (kind == LAYER_MAXPOOL || kind == LAYER_ROUTE || kind == LAYER_UPSAMPLE)
        return !memcmp(expected, actual, n * sizeof *actual);
    bool right = true;
    for (size_t i = 0; i < n; ++i) {
        const double e = expected[i];
        right = right && fabs(actual[i] - e) <= 1e-6 * (1 + fabs(e));
    }
    return right;
}

static void test_layer(network *net, int i)
{
    const layer *l = &net->layers[i];
    const int kind = kind_of(l);
    char name[64];
    snprintf(name, sizeof name, "layer-%d", i);
    memset(asked, 0, sizeof asked);
    worst_ratio = 0;
    float *expected = forward_one(net, i, GEMM_IM2COL);
    int calls = 0, right = 0;
    for (int k = 0; k < KINDS; ++k) calls += asked[k];
    float *actual = forward_one(net, i, GEMM_HOOK);
    for (int k = 0; k < KINDS; ++k) right += k == kind ? asked[k] == 1 : asked[k] == 0;
    if (calls) report_fail(name, "the row was asked with GEMM_CONV=im2col");
    else if (right != KINDS) report_fail(name, "the row was not asked once for kind %d", kind);
    else if (!(worst_ratio <= 1))
        report_fail(name, "the row computes it wrong: %g times the bound", worst_ratio);
    else if (!agrees(kind, outputs(l), expected, actual))
        report_fail(name, "the output is not that of Darknet's own code");
    else report_pass(name);
    free(expected);
    free(actual);
}

static void test_layers(network *net)
{
    int kinds[KINDS + 1] = {0};
    for (int i = 0; i < net->n; ++i) {
        ++kinds[kind_of(&net->layers[i])];
        if (net->layers[i].type != CONVOLUTIONAL) test_layer(net, i);
        else free(forward_one(net, i, GEMM_HOOK));
    }
    for (int k = 0; k < KINDS; ++k)
        if (!kinds[k]) report_fail("kinds", "the cfg has no layer of kind %d", k);
}

/* Backward follows a pass with deltas, and a pass in training. Neither is the row's. */
static void test_training(network *net)
{
    gemm_set_conv(GEMM_HOOK);
    memset(asked, 0, sizeof asked);
    pooled = 0;
    takes_pool = true;
    net->delta = allocate((size_t)(net->inputs * net->batch));
    forward_network(net);
    free(net->delta);
    net->delta = NULL;
    network state = *net;
    state.train = 1;
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        state.index = i;
        state.input = i ? net->layers[i - 1].output : net->input;
        if (l->type != YOLO) hook_forward(net, &state); /* in training it needs boxes */
    }
    int calls = pooled;
    for (int k = 0; k < KINDS; ++k) calls += asked[k];
    report_that("training", !calls, "the row was asked %d times", calls);
}

/* ---- Convolutions with their maxpool ---- */

/* The last output and that of layer 11, which both pooled layers lead to, after a whole pass. */
static float *predict(network *net, bool pool, size_t *n)
{
    const layer *one = &net->layers[11], *last = &net->layers[net->n - 1];
    if (pool != takes_pool) weights_changed(net);   /* what the row takes is kept with the plans */
    takes_pool = pool;
    pooled = 0;
    gemm_set_conv(GEMM_HOOK);
    network_predict(net, net->input);
    *n = outputs(one) + outputs(last);
    float *all = allocate(*n);
    memcpy(all, one->output, outputs(one) * sizeof *all);
    memcpy(all + outputs(one), last->output, outputs(last) * sizeof *all);
    return all;
}

static bool is_untouched(const layer *l)
{
    for (size_t i = 0; i < outputs(l); ++i)
        if (!isnan(l->output[i])) return false;
    return true;
}

/* Layers 0 and 2 of the cfg, and no other, become one call with the maxpool behind them. */
static void test_pool(network *net)
{
    size_t n;
    float *expected = predict(net, false, &n);
    report_that("pool-declined", !pooled, "%d calls were pooled", pooled);
    mark_outputs(net, NAN);
    float *actual = predict(net, true, &n);
    report_that("pool-calls", pooled == 2, "%d calls were pooled, not 2", pooled);
    int untouched = 0;
    for (int i = 0; i < net->n; ++i) untouched += is_untouched(&net->layers[i]) ? i + 1 : 0;
    report_that("pool-layers", untouched == 1 + 3, "not layers 0 and 2 are unwritten");
    report_that("pool-output", !memcmp(expected, actual, n * sizeof *actual), "other outputs");
    free(actual);
    net->layers[0].truth = 1;
    weights_changed(net);
    free(predict(net, true, &n));
    report_that("pool-truth", pooled == 1, "%d calls were pooled, not 1", pooled);
    free(expected);
}

/* ---- Convolutions with their shortcut ---- */

static bool adds;               /* the row takes them as one call */
static int added;               /* such calls that were done */

/* A way that adds, whatever the processor. */
static gemm_context on_adding_way(const gemm_context *given)
{
    gemm_context context = *given;
    context.way = "implicit";
    return context;
}

static gemm_status run_packed(const gemm_op *op, const gemm_context *given, const void *params)
{
    const gemm_context context = on_adding_way(given);
    const bool chain = op->kind == GEMM_CHAIN;
    if (op->kind == GEMM_LAYER) return gemm_packed_run(op, given, params);
    if (chain && (!adds || op->chain->count != 1)) return GEMM_DECLINED;
    const gemm_status status = gemm_packed_run(op, &context, params);
    added += chain && status == GEMM_DONE;
    return status;
}

/* A pass in outputs that hold NaN. Returns the last output. */
static float *pass_with(network *net, bool add)
{
    if (add != adds) weights_changed(net);
    adds = add;
    added = 0;
    mark_outputs(net, NAN);
    gemm_set_conv(GEMM_HOOK);
    network_predict(net, net->input);
    return copy_output(&net->layers[net->n - 1]);
}

/* Layers 1 and 3 of the cfg, and no other, become one call with the shortcut behind them: in the
   first pass, and in the second one by the step that was kept. */
static void test_added(network *net)
{
    static gemm_variant row;        /* plans name it */
    const layer *last = &net->layers[net->n - 1];
    row = *gemm_find("packed");
    row.name = "adds", row.run = run_packed;
    gemm_set_variant(&row);
    float *expected = pass_with(net, false);
    for (int turn = 1; turn <= 2; ++turn) {
        float *actual = pass_with(net, true);
        int untouched = 0;
        char name[32];
        snprintf(name, sizeof name, "added-pass-%d", turn);
        for (int i = 0; i < net->n; ++i)
            if (net->layers[i].type == CONVOLUTIONAL && is_untouched(&net->layers[i]))
                untouched += 1 << i;
        if (added != 2) report_fail(name, "%d calls added a shortcut, not 2", added);
        else if (untouched != (1 << 1) + (1 << 3))
            report_fail(name, "not convolutions 1 and 3 are unwritten, but a sum of %d", untouched);
        else if (is_untouched(last) ||
                 memcmp(expected, actual, outputs(last) * sizeof *actual))
            report_fail(name, "other outputs than layer by layer");
        else report_pass(name);
        free(actual);
    }
    free(expected);
}

static network *make_filled(const char *cfg)
{
    network *net = network_make(cfg, SEED);
    rng r = rng_make(SEED, 2);
    network_fill(net->input, (size_t)(net->inputs * net->batch), &r);
    return net;
}

/* ---- Inputs that lie in the output of a route ---- */

/* Of Darknet's own headers, which do not compile without warnings. */
int resize_network(network *net, int w, int h);

/* The outputs of all layers after a pass. What is not written is NaN. */
static float *pass_all(network *net)
{
    mark_outputs(net, NAN);
    gemm_set_variant(&LAYERS);
    gemm_set_conv(GEMM_HOOK);
    memset(asked, 0, sizeof asked);
    network_predict(net, net->input);
    return copy_outputs(net);
}

static int count_placed(const network *net)
{
    int count = 0;
    for (int i = 0; i < net->n; ++i) count += net->layers[i].placed;
    return count;
}

/* Routes that copy: at least one input does not lie in their output. */
static int count_copying(const network *net)
{
    int count = 0;
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (l->type != ROUTE) continue;
        const float *at = l->output;
        int k = 0;
        for (; k < l->n && net->layers[l->input_layers[k]].output == at; ++k)
            at += l->input_sizes[k];
        count += k < l->n;
    }
    return count;
}

/* Of the cfg: outputs that lie in a route's, and routes that copy nevertheless. */
enum { PLACED = 10, COPYING = 2 };

/* A pass of this network with its outputs placed, and one with outputs of their own. */
static void expect_same_outputs(network *net, const char *name)
{
    float *const placed = pass_all(net);
    const int copying = count_copying(net), copied = asked[LAYER_ROUTE];
    separate_outputs(net);
    float *const separate = pass_all(net);
    const int routes = count_copying(net), all = asked[LAYER_ROUTE];
    place_outputs(net);
    if (copying != COPYING || copied != COPYING || all != routes)
        report_fail(name, "%d of %d routes copy, but the row was asked for %d of %d", copying,
                    routes, copied, all);
    else if (memcmp(placed, separate, all_outputs(net) * sizeof *placed))
        report_fail(name, "other outputs");
    else report_pass(name);
    free(placed);
    free(separate);
}

/* place_outputs leaves the network as it is now. */
static void expect_none(network *net, const char *name)
{
    place_outputs(net);
    report_that(name, !count_placed(net), "%d outputs are placed", count_placed(net));
    separate_outputs(net);
}

static void test_routes(const char *cfg)
{
    static const int sizes[][2] = {{44, 52}, {36, 28}};
    gemm_set_variant(&LAYERS);
    gemm_set_conv(GEMM_HOOK);
    network *net = network_make(cfg, SEED);
    rng r = rng_make(SEED, 3);
    network_fill(net->input, (size_t)net->inputs, &r);
    report_that("routes-placed", count_placed(net) == PLACED, "%d outputs are placed",
                count_placed(net));
    expect_same_outputs(net, "routes");
    for (int i = 0; i < 2; ++i) {
        resize_network(net, sizes[i][0], sizes[i][1]);
        network_fill(net->input, (size_t)net->inputs, &r);
        expect_same_outputs(net, i ? "routes-resized-back" : "routes-resized");
    }
    separate_outputs(net);
    gemm_set_variant(gemm_find("stock"));
    expect_none(net, "routes-of-stock");
    gemm_set_variant(&LAYERS);
    const LAYER_TYPE type = net->layers[0].type;
    net->layers[0].type = DROPOUT;
    expect_none(net, "routes-and-dropout");
    net->layers[0].type = type;
    set_batch_network(net, 2);
    place_outputs(net);
    report_that("routes-of-two-images", !count_placed(net), "outputs are placed");
    set_batch_network(net, 1);
    place_outputs(net);
    free_network(net);
}

/* ---- A network that changes between two passes ---- */

layer make_route_layer(int batch, int n, int *input_layers, int *input_size);

static layer *made;             /* what a change made: a route; NULL: nothing */
static float *fresh;            /* weights that it made */

/* Each changes layer i, and returns false where that means nothing. */
typedef struct change {
    const char *name;
    bool (*apply)(network *, int i);
} change;

static bool change_count(network *net, int i)
{
    net->n = i + 1;
    return true;
}

static bool change_truth(network *net, int i)
{
    net->layers[i].truth = 1;
    return true;
}

static bool change_stop(network *net, int i)
{
    net->layers[i].stopbackward = 1;
    return true;
}

/* No row applies ELU. */
static bool change_activation(network *net, int i)
{
    layer *l = &net->layers[i];
    if (l->type != CONVOLUTIONAL && l->type != SHORTCUT) return false;
    l->activation = l->activation == ELU ? LINEAR : ELU;
    return true;
}

static bool change_one_batch(network *net, int i)
{
    return --net->layers[i].batch > 0;
}

static bool change_weights(network *net, int i)
{
    layer *l = &net->layers[i];
    if (l->type != CONVOLUTIONAL) return false;
    fresh = allocate((size_t)l->nweights);
    for (int k = 0; k < l->nweights; ++k) fresh[k] = -l->weights[k];
    l->weights = fresh;
    return true;
}

/* The next layer with as large an output as layer i, or 0. */
static int as_large(const network *net, int i, int from)
{
    const layer *l = &net->layers[i];
    for (int k = from; k < net->n; ++k)
        if (net->layers[k].outputs == l->outputs && net->layers[k].out_c == l->out_c &&
            net->layers[k].type != DROPOUT)
            return k;
    return 0;
}

static bool change_outputs(network *net, int i)
{
    const int other = as_large(net, i, i + 1);
    float *const output = net->layers[i].output;
    net->layers[i].output = net->layers[other].output;
    net->layers[other].output = output;
    return other > 0;
}

/* A later layer becomes a route that reads layer i. */
static bool change_layer(network *net, int i)
{
    const layer *l = &net->layers[i];
    const int other = as_large(net, i, i + 2);
    if (!other) return false;
    int *number = malloc(sizeof *number), *size = malloc(sizeof *size);
    if (!number || !size) exit(2);
    *number = i, *size = l->outputs;
    made = &net->layers[other];
    *made = make_route_layer(l->batch, 1, number, size);
    made->out_w = l->out_w, made->out_h = l->out_h, made->out_c = l->out_c;
    return true;
}

static const change CHANGED[] = {
    {"count", change_count},     {"truth", change_truth},     {"stopbackward", change_stop},
    {"batch", change_one_batch}, {"weights", change_weights}, {"activation", change_activation},
    {"outputs", change_outputs}, {"layer", change_layer},
};

enum { MARK = -77 };

static int passes = 1;          /* chains that follow each other become one call in the second */

/* The outputs of all layers after the last pass. What is not written is MARK. */
static float *pass_marked(network *net, gemm_conv_mode mode)
{
    gemm_set_conv(mode);
    for (int i = 0; i < passes; ++i) {
        mark_outputs(net, MARK);
        network_predict(net, net->input);
    }
    return copy_outputs(net);
}

/* Runs it with Darknet's own code and with the row. Returns the first layer whose output is wrong,
   or -1. Only outputs that nothing reads may be left out: they are counted. */
static int first_wrong(network *net, int *left_out)
{
    float *const expected = pass_marked(net, GEMM_IM2COL);
    float *const actual = pass_marked(net, GEMM_DIRECT);
    int wrong = -1;
    size_t at = 0;
    *left_out = 0;
    for (int i = 0; i < net->n && wrong < 0; ++i) {
        const layer *l = &net->layers[i];
        const bool is_left = actual[at] == MARK && expected[at] != MARK;
        if (is_left && !l->truth && !network_is_output(net, i)) ++*left_out;
        else if (!(network_distance(expected + at, actual + at, outputs(l)) <= 1e-4)) wrong = i;
        at += outputs(l);
    }
    free(expected);
    free(actual);
    return wrong;
}

static void test_change(network *net, const change *c, const char *cfg)
{
    const int count = net->n;
    const size_t bytes = (size_t)count * sizeof(layer);
    layer *const before = malloc(bytes);
    int changed = -1, back = -1, applied = 0, left_out = 0, i = 0;
    char name[128];
    if (!before) exit(2);
    memcpy(before, net->layers, bytes);
    for (; i < count && changed < 0 && back < 0 && left_out >= 0; ++i) {
        made = NULL, fresh = NULL;
        const bool applies = c->apply(net, i);
        applied += applies;
        if (applies) changed = first_wrong(net, &left_out);
        if (made) free_layer(*made);
        memcpy(net->layers, before, bytes);
        net->n = count;
        if (applies && changed < 0) back = first_wrong(net, &left_out);
        if (!left_out && applies) left_out = -1;
        free(fresh);
    }
    snprintf(name, sizeof name, "changed-%s-%s", c->name, cfg);
    if (changed >= 0) report_fail(name, "layer %d: output %d is wrong", i - 1, changed);
    else if (back >= 0) report_fail(name, "layer %d changed back: output %d", i - 1, back);
    else if (left_out < 0) report_fail(name, "no layers go together behind layer %d", i - 1);
    else if (!applied && net->batch > 1) report_fail(name, "it was never applied");
    else report_pass(name);
    free(before);
}

static void test_changes(network *net, const char *cfg)
{
    int left_out;
    first_wrong(net, &left_out);        /* the first call may decline what the next ones take */
    for (size_t i = 0; i < sizeof CHANGED / sizeof *CHANGED; ++i)
        test_change(net, &CHANGED[i], strrchr(cfg, '/') + 1);
}

/* In CHAIN one output lies between two chains, and is read by these alone. */
static void test_between(network *net)
{
    int before, now;
    passes = 2;
    const int written = first_wrong(net, &before);
    hook_reads_boxes();
    const int wrong = first_wrong(net, &now);
    report_that("between-chains", written < 0 && wrong < 0 && now == before + 1,
                "output %d or %d is wrong, %d are left out, %d before", written, wrong, now,
                before);
    test_changes(net, "/between-chains");
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "test_hook: cfgs are needed: any, shortcuts, routes, chains\n");
        return 2;
    }
    if (!freopen("/dev/null", "w", stderr)) return 2;   /* Darknet prints its network there */
    gemm_set_variant(&LAYERS);
    gemm_set_threads(3);        /* more than images: a batch stays whole */
    network *net = make_filled(argv[1]);
    test_layers(net);
    test_training(net);
    test_pool(net);
    net->layers[0].truth = 0;
    test_changes(net, argv[1]);
    free_network(net);
    net = make_filled(argv[2]);
    test_added(net);
    test_changes(net, argv[2]);
    free_network(net);
    gemm_set_variant(&LAYERS);
    test_routes(argv[3]);
    net = make_filled(argv[4]);
    gemm_set_variant(gemm_find("packed"));
    test_changes(net, argv[4]);
    test_between(net);
    free_network(net);
    return report_status();
}
