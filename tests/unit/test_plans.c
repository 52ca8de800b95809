/* SPDX-License-Identifier: MIT */
/*
 * Plans of layers: what the driver keeps for a layer, and that Darknet drops it.
 *
 *   test_plans [--row NAME] PLANS_CFG RESIZE_CFG
 *   test_plans --decisions CHAIN_CFG CFG...
 *
 * A row of this test keeps a copy of the weights and computes with the copy. So a plan that should
 * have been dropped gives wrong outputs. The test changes weights by every function of Darknet that
 * does so. The outputs must then be those without plans, which GEMM_CONV=im2col gives. The same is
 * done with `packed`, whatever it keeps. With --row it is done with that row, and nothing else.
 *
 * --decisions counts what `packed` decides in each pass of a network: nothing from the third on,
 * until a setting changes. CHAIN_CFG has chains with a shortcut: how they run is kept too.
 */
#include "driver/driver.h"
#include "support/child.h"
#include "support/network.h"
#include "support/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEED = 23, OTHER_SEED = 24, LAYERS = 10 };

/* Relative to the largest output. */
static const double TOLERANCE = 1e-4;

/* Of Darknet's own headers, which do not compile without warnings. */
int resize_network(network *net, int w, int h);
void load_weights_upto(network *net, char *filename, int start, int cutoff);
void update_network(network *net);
void denormalize_convolutional_layer(layer l);
void denormalize_connected_layer(layer l);
void swap_binary(layer *l);

/* ---- The row ---- */

typedef struct copy {
    const float *of;
    float weights[];
} copy;

static int alive, copies;       /* copies that are not freed, and all that were made */
static size_t room;             /* of the last call; SIZE_MAX: nothing can be kept */
static float scale;             /* of the first filter, in the last call */

static void free_copy(void *data)
{
    --alive;
    free(data);
}

static copy *copy_weights(const conv_call *c, gemm_kept *kept)
{
    const size_t n = (size_t)c->n * (size_t)(c->c / c->groups * c->size * c->size);
    copy *made = malloc(sizeof *made + n * sizeof *made->weights);
    if (!made) exit(2);
    made->of = c->weights;
    memcpy(made->weights, c->weights, n * sizeof *made->weights);
    *kept = (gemm_kept){.data = made, .bytes = sizeof *made + n * sizeof *made->weights,
                        .free = free_copy, .room = kept->room};
    ++alive;
    ++copies;
    return made;
}

/* `packed`, with the copy that was made at the first call. */
static gemm_status run_conv(const gemm_op *op, const gemm_context *context, const void *params)
{
    const conv_call *c = op->conv;
    gemm_kept *kept = context->kept;
    conv_call call = *c;
    const gemm_op own_op = {GEMM_CONVOLUTION, {.conv = &call}};
    room = kept ? kept->room : SIZE_MAX;
    scale = c->scale ? c->scale[0] : 0;
    if (c->pool) return GEMM_DECLINED;
    if (kept && !kept->data && kept->room > 0) copy_weights(c, kept);
    if (kept && kept->data) call.weights = ((copy *)kept->data)->weights;
    gemm_context own = *context;
    own.kept = NULL;
    return gemm_find("packed")->run(&own_op, &own, params);
}

static gemm_status run(const gemm_call *c, const gemm_context *context, const void *params)
{
    return gemm_find("packed")->multiply(c, context, params);
}

static const gemm_variant KEEPING = {.name = "keeping", .multiply = run, .run = run_conv,
                                     .kinds = GEMM_CONVS};
static const gemm_variant OTHER = {.name = "other", .multiply = run, .run = run_conv,
                                   .kinds = GEMM_CONVS};

/* ---- The driver alone ---- */

enum { CHANNELS = 2, SIDE = 6, FILTERS = 3, TAPS = 9, WEIGHTS = FILTERS * CHANNELS * TAPS };

typedef struct problem {
    float input[2 * CHANNELS * SIDE * SIDE], output[2 * FILTERS * SIDE * SIDE];
    float weights[2 * WEIGHTS];
    float biases[2 * FILTERS], mean[2 * FILTERS], variance[2 * FILTERS], scales[2 * FILTERS];
    conv_call call;
    conv_norm norm;
} problem;

/* Every array is twice as long as the call needs, so that a second one begins in the middle. */
static problem *problem_make(void)
{
    static problem p;
    rng r = rng_make(SEED, 0);
    network_fill(p.input, sizeof p.input / sizeof *p.input, &r);
    network_fill(p.weights, sizeof p.weights / sizeof *p.weights, &r);
    float *const four[] = {p.biases, p.mean, p.variance, p.scales};
    for (int i = 0; i < 4; ++i) network_fill(four[i], 2 * FILTERS, &r);
    p.call = (conv_call){.batch = 1, .groups = 1, .c = CHANNELS, .h = SIDE, .w = SIDE, .n = FILTERS,
                         .size = 3, .stride = 1, .pad = 1, .out_h = SIDE, .out_w = SIDE,
                         .input = p.input, .weights = p.weights, .shift = p.biases,
                         .output = p.output};
    p.norm = (conv_norm){p.mean, p.variance, p.scales};
    return &p;
}

/* A change of the call, and whether the plan has to go. */
typedef struct change {
    const char *name;
    void (*apply)(problem *);
    bool drops;
} change;

static void change_nothing(problem *p) { (void)p; }
static void change_output(problem *p) { p->call.output += FILTERS * SIDE * SIDE; }
static void change_input(problem *p) { p->call.input += CHANNELS * SIDE * SIDE; }
static void change_batch(problem *p) { p->call.batch = 2; }
static void change_row(problem *p) { (void)p; gemm_set_variant(&OTHER); }
static void change_height(problem *p) { p->call.h = p->call.out_h = SIDE - 1; }
static void change_width(problem *p) { p->call.w = p->call.out_w = SIDE - 1; }
static void change_filters(problem *p) { p->call.n = FILTERS - 1; }
static void change_channels(problem *p) { p->call.c = CHANNELS - 1; }
static void change_weights(problem *p) { p->call.weights += WEIGHTS; }
static void change_biases(problem *p) { p->call.shift += FILTERS; }
static void change_mean(problem *p) { p->norm.mean += FILTERS; }
static void change_variance(problem *p) { p->norm.variance += FILTERS; }
static void change_scales(problem *p) { p->norm.scales += FILTERS; }

static void change_size(problem *p)
{
    p->call.size = 1;
    p->call.pad = 0;
}

static void change_stride(problem *p)
{
    p->call.stride = 2;
    p->call.out_h = p->call.out_w = SIDE / 2;
}

static void change_groups(problem *p)
{
    p->call.groups = 2;
    p->call.n = 2;
}

static const change CHANGES[] = {
    {"nothing", change_nothing, false}, {"output", change_output, false},
    {"input", change_input, false},     {"batch", change_batch, false},
    {"row", change_row, true},          {"height", change_height, true},
    {"width", change_width, true},      {"filters", change_filters, true},
    {"channels", change_channels, true}, {"size", change_size, true},
    {"stride", change_stride, true},    {"groups", change_groups, true},
    {"weights", change_weights, true},  {"biases", change_biases, true},
    {"mean", change_mean, true},        {"variance", change_variance, true},
    {"scales", change_scales, true},
};

/* Two calls with one slot and a change in between. */
static void test_change(const change *c)
{
    char name[64];
    snprintf(name, sizeof name, "change-%s", c->name);
    problem *p = problem_make();
    gemm_plan *slot = NULL;
    gemm_set_variant(&KEEPING);
    copies = 0;
    gemm_conv(&p->call, &p->norm, &slot);
    const size_t bytes = gemm_planned_bytes();
    c->apply(p);
    gemm_conv(&p->call, &p->norm, &slot);
    const bool kept = copies == 1 && alive == 1, made = copies == 2 && alive == 1;
    gemm_plan_drop(&slot);
    const bool left = slot || alive || gemm_planned_bytes();
    report_that(name, bytes >= WEIGHTS * sizeof(float) && (c->drops ? made : kept) && !left,
                "%zu bytes are counted, %d copies of the weights were made, %d are left", bytes,
                copies, alive);
}

static void test_without_slot(void)
{
    problem *p = problem_make();
    gemm_plan *slot = NULL;
    gemm_plan_drop(&slot);      /* is allowed */
    gemm_set_variant(&KEEPING);
    const bool done = gemm_conv(&p->call, &p->norm, NULL);
    report_that("without-slot", done && room == SIZE_MAX && !alive && !gemm_planned_bytes(),
                "room for %zu bytes, %d copies", room, alive);
}

/* The second layer finds room only once the first one is gone. */
static void test_limit(void)
{
    problem *p = problem_make();
    gemm_plan *first = NULL, *second = NULL;
    const size_t norm = 2 * (size_t)p->call.n * sizeof(float);
    const size_t most = sizeof(copy) + WEIGHTS * sizeof(float), limit = most + norm;
    gemm_set_variant(&KEEPING);
    gemm_set_plan_limit(limit);
    gemm_conv(&p->call, &p->norm, &first);
    const size_t whole = room;
    gemm_conv(&p->call, &p->norm, &second);
    const size_t none = room, bytes = gemm_planned_bytes();
    gemm_plan_drop(&first);
    gemm_conv(&p->call, &p->norm, &second);
    const size_t again = room;
    gemm_plan_drop(&second);
    gemm_set_plan_limit(SIZE_MAX);
    const bool right = whole == most && none == 0 && bytes == limit && again == most;
    report_that("limit", right && !gemm_planned_bytes(),
                "of %zu bytes, room for %zu, then %zu with %zu kept, then %zu", limit, whole, none,
                bytes, again);
}

/* Batch norm is folded at the first call of a plan, and at each call without one. */
static void test_norm(void)
{
    problem *p = problem_make();
    gemm_plan *slot = NULL;
    gemm_set_variant(&KEEPING);
    gemm_conv(&p->call, &p->norm, &slot);
    const float first = scale;
    p->scales[0] *= 2;
    gemm_conv(&p->call, &p->norm, &slot);
    const float kept = scale;
    gemm_conv(&p->call, &p->norm, NULL);
    const bool without = fabsf(scale - 2 * first) <= 1e-6f * first;
    gemm_plan_drop(&slot);
    gemm_conv(&p->call, &p->norm, &slot);
    const bool dropped = fabsf(scale - 2 * first) <= 1e-6f * first;
    gemm_plan_drop(&slot);
    report_that("norm-folded-once", kept == first && without && dropped, "%g, then %g; %d %d",
                (double)first, (double)kept, without, dropped);
}

/* *data: whether it is a weight. */
static int forget_to_drop(void *data)
{
    problem *p = problem_make();
    gemm_plan *slot = NULL;
    const bool weight = *(const bool *)data;
    setenv("GEMM_CHECK", "1", 1);
    gemm_set_variant(&KEEPING);
    gemm_conv(&p->call, &p->norm, &slot);
    gemm_conv(&p->call, &p->norm, &slot);
    puts("unchanged");
    fflush(stdout);
    if (weight) p->weights[1] += 1;
    else p->variance[1] += 1;
    gemm_conv(&p->call, &p->norm, &slot);
    return 0;
}

/* In a child, and first: the environment is read once. */
static void test_check(const char *what, bool weight)
{
    char line[200];
    const child_result r = child_run(forget_to_drop, &weight);
    snprintf(line, sizeof line, "unchanged\ngemm: GEMM_CHECK: the %s of a layer with 3 filters "
             "3x3/1 changed, and its plan was not dropped\n", what);
    report_that(what, child_exit(&r) == 1 && !strncmp(r.output, line, strlen(line)),
                "status %d, it printed: %s", child_exit(&r), r.output);
}

/* ---- Darknet ---- */

/* Variances so small that .00001 and .000001, which Darknet adds to them, differ in the result. */
static void small_variance(layer *l, void *data)
{
    (void)data;
    for (int i = 0; l->batch_normalize && i < l->out_c; ++i) {
        l->rolling_variance[i] *= 1e-6f;
        l->scales[i] *= 1e-3f;
    }
}

static network *make(const char *cfg, int seed)
{
    network *net = network_make(cfg, seed);
    network_visit(net, small_variance, NULL);
    return net;
}

/* Softmax is left out, because it hides differences. */
static const layer *last_layer(const network *net)
{
    const layer *l = &net->layers[net->n - 1];
    while (l->type == COST || l->type == SOFTMAX) --l;
    return l;
}

static size_t outputs(const network *net)
{
    return (size_t)last_layer(net)->outputs * (size_t)net->batch;
}

/* A recurrent layer begins anew with each pass. The caller frees the outputs. */
static float *predict(network *net, gemm_conv_mode mode)
{
    rng r = rng_make(SEED, 2);
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (l->type == CRNN) memset(l->state, 0, (size_t)(l->hidden * l->batch) * sizeof(float));
    }
    network_fill(net->input, (size_t)(net->inputs * net->batch), &r);
    net->train = 0;
    net->delta = NULL;
    gemm_set_conv(mode);
    network_predict(net, net->input);
    const size_t bytes = outputs(net) * sizeof(float);
    float *copied = malloc(bytes);
    if (!copied) exit(2);
    memcpy(copied, last_layer(net)->output, bytes);
    return copied;
}

/* From the outputs with plans to those without, on the same network. */
static double error_of_plans(network *net)
{
    float *planned = predict(net, GEMM_HOOK), *exact = predict(net, GEMM_IM2COL);
    const double d = network_distance(exact, planned, outputs(net));
    free(planned);
    free(exact);
    return d;
}

static char other_weights[32];   /* a file */

static void door_load(network *net) { load_weights(net, other_weights); }
static void door_load_upto(network *net) { load_weights_upto(net, other_weights, 0, 1); }
static void door_rescale(network *net) { rescale_weights(net->layers[0], 2, -.5f); }
static void door_rgbgr(network *net) { rgbgr_weights(net->layers[0]); }
static void door_denormalize(network *net) { denormalize_convolutional_layer(net->layers[0]); }

static layer *first_connected(network *net)
{
    layer *l = net->layers;
    while (l->type != CONNECTED) ++l;
    return l;
}

static void door_denormalize_connected(network *net)
{
    denormalize_connected_layer(*first_connected(net));
}

static void door_load_flipped(network *net)
{
    net->layers[0].flipped = 1;
    load_weights(net, other_weights);
}

static void change_updates(layer *l, void *data)
{
    (void)data;
    l->weight_updates[1] += 1;
    l->bias_updates[0] -= 1;
}

/* What backward leaves, without a forward pass in training. */
static void door_update(network *net)
{
    network_visit(net, change_updates, NULL);
    update_network(net);
}

/* Connected layers lose their batch norm, because one image of one place has no variance. */
static void prepare_training(network *net)
{
    for (int i = 0; i < net->n; ++i)
        if (net->layers[i].type == CONNECTED) net->layers[i].batch_normalize = 0;
    memset(net->truth, 0, (size_t)(net->truths * net->batch) * sizeof(float));
    net->truth[1] = 1;
}

/* Rolling means and variances alone. */
static void door_forward_in_training(network *net)
{
    prepare_training(net);
    net->train = 1;
    forward_network(net);
}

static void door_train(network *net)
{
    prepare_training(net);
    train_network_datum(net);
}

/* The weights change while the others are in their place. */
static void door_swap_binary(network *net)
{
    layer *l = &net->layers[1];
    swap_binary(l);
    for (int i = 0; i < l->nweights; ++i) l->binary_weights[i] = -l->binary_weights[i];
    swap_binary(l);
}

static void change_layer(layer *l, void *data)
{
    (void)data;
    l->weights[1] += .5f;
    l->biases[0] -= .5f;
}

/* As a program does that uses Darknet as a library. */
static void door_outside(network *net)
{
    network_visit(net, change_layer, NULL);
    weights_changed(net);
}

static void change_recurrent(layer *l, void *data)
{
    const network *net = data;
    for (int i = 0; i < net->n; ++i)
        if (l == &net->layers[i]) return;
    change_layer(l, NULL);
}

static void door_outside_recurrent(network *net)
{
    network_visit(net, change_recurrent, net);
    weights_changed(net);
}

typedef struct door {
    const char *name;
    void (*change)(network *);
} door;

static const door DOORS[] = {
    {"load", door_load},
    {"load-upto", door_load_upto},
    {"load-flipped", door_load_flipped},
    {"update", door_update},
    {"forward-in-training", door_forward_in_training},
    {"train", door_train},
    {"rescale", door_rescale},
    {"rgbgr", door_rgbgr},
    {"denormalize", door_denormalize},
    {"denormalize-connected", door_denormalize_connected},
    {"swap-binary", door_swap_binary},
    {"outside", door_outside},
    {"outside-recurrent", door_outside_recurrent},
};

static void test_door(const char *cfg, const door *d, const gemm_variant *row)
{
    char name[64];
    snprintf(name, sizeof name, "door-%s-%s", d->name, row->name);
    gemm_set_variant(row);
    network *net = make(cfg, SEED);
    const double before = error_of_plans(net);
    float *old = predict(net, GEMM_HOOK);
    const int planned = alive;
    d->change(net);
    float *now = predict(net, GEMM_HOOK);
    const double changed = network_distance(old, now, outputs(net));
    const double after = error_of_plans(net);
    free(old);
    free(now);
    free_network(net);
    const bool right = before <= TOLERANCE && after <= TOLERANCE && changed > 10 * TOLERANCE &&
                       (row != &KEEPING || planned == LAYERS) && !alive && !gemm_planned_bytes();
    report_that(name, right, "wrong by %g of the largest output, before by %g; it changes by %g; "
                "%d layers have a plan, %d outlive the network, %zu bytes", after, before, changed,
                planned, alive, gemm_planned_bytes());
}

/* Two networks by turns, each with its own weights. */
static void test_two(const char *cfg)
{
    network *one = make(cfg, SEED), *two = make(cfg, OTHER_SEED);
    double worst = 0;
    for (int turn = 0; turn < 3; ++turn)
        worst = fmax(worst, fmax(error_of_plans(one), error_of_plans(two)));
    float *a = predict(one, GEMM_HOOK), *b = predict(two, GEMM_HOOK);
    const double apart = network_distance(a, b, outputs(one));
    copies = 0;
    free(predict(one, GEMM_HOOK));
    free(predict(two, GEMM_HOOK));
    report_that("two-networks", worst <= TOLERANCE && apart > 10 * TOLERANCE && !copies,
                "wrong by %g, %g apart, %d copies", worst, apart, copies);
    free(a);
    free(b);
    free_network(one);
    free_network(two);
}

/* Each network probably lies where the one before it lay. */
static void test_made_again(const char *cfg)
{
    double worst = 0;
    size_t left = 0;
    for (int i = 0; i < 6; ++i) {
        network *net = make(cfg, SEED + i);
        worst = fmax(worst, error_of_plans(net));
        free_network(net);
        left += gemm_planned_bytes() + (size_t)alive;
    }
    report_that("made-again", worst <= TOLERANCE && !left, "wrong by %g, %zu bytes are left", worst,
                left);
}

static void test_door_resize(const char *cfg)
{
    static const int sizes[][2] = {{44, 36}, {60, 52}, {44, 52}, {44, 36}};
    network *net = make(cfg, SEED);
    double worst = 0;
    int kept = 0;
    set_batch_network(net, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        resize_network(net, sizes[i][0], sizes[i][1]);
        kept += alive;          /* a plan of the size before */
        worst = fmax(worst, error_of_plans(net));
    }
    free_network(net);
    report_that("resize", worst <= TOLERANCE && !kept && !alive, "wrong by %g, %d plans are kept",
                worst, kept);
}

static void test_doors(const char *cfg, const gemm_variant *row)
{
    strcpy(other_weights, "/tmp/test_plans.XXXXXX");
    const int file = mkstemp(other_weights);
    if (file < 0) exit(2);
    close(file);
    network *net = make(cfg, OTHER_SEED);
    save_weights(net, other_weights);
    free_network(net);
    for (size_t i = 0; i < sizeof DOORS / sizeof *DOORS; ++i) test_door(cfg, &DOORS[i], row);
    unlink(other_weights);
}

/* Those of one pass. */
static unsigned decide(network *net)
{
    const unsigned before = gemm_decisions();
    network_predict(net, net->input);
    return gemm_decisions() - before;
}

/* A row that decides does so once a layer. */
static void test_decided_once(const char *cfg)
{
    network *net = network_make(cfg, SEED);
    gemm_set_conv(GEMM_HOOK);
    const unsigned first = decide(net), second = decide(net), third = decide(net);
    report_that("decided-once", first && !third, "%u, %u and %u decisions in a pass", first,
                second, third);
    free_network(net);
}

/* The doors and a resize with any row. */
static int test_row(const gemm_variant *row, const char *cfg, const char *resized)
{
    const char *why = gemm_unusable(row);
    if (why) {
        report_unusable(row->name, why);
        return report_status();
    }
    if (!freopen("/dev/null", "w", stderr)) return 2;
    test_doors(cfg, row);
    gemm_set_variant(row);
    test_door_resize(resized);
    test_decided_once(cfg);
    return report_status();
}

/* ---- decisions ---- */

/* What is wrong, or NULL: decisions of passes 3 to 5, or none where there must be some. */
static const char *decides_again(network *net)
{
    if (!decide(net)) return "the first pass decides nothing";
    decide(net);
    for (int pass = 3; pass <= 5; ++pass)
        if (decide(net)) return "a later pass decides again";
    gemm_set_threads(3);
    if (!decide(net)) return "other threads, and no decision";
    return decide(net) ? "the second pass after a change decides again" : NULL;
}

static void test_decisions(const char *cfg)
{
    gemm_set_variant(gemm_find("packed"));
    gemm_set_threads(2);
    network *net = network_make(cfg, SEED);
    set_batch_network(net, 1);  /* of many images each runs in one thread */
    report_judged(cfg, decides_again(net));
    free_network(net);
}

/* Of the layers: those that run with others behind them, as the hook found out. */
typedef struct fused {
    int chains, shortcuts;
} fused;

static fused count_fused(const network *net)
{
    fused count = {0, 0};
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (l->type != CONVOLUTIONAL) continue;
        const gemm_step s = gemm_plan_step(l->plan);
        count.chains += s.convs > 1;
        count.shortcuts += s.convs > 1 && s.layers > s.convs;
    }
    return count;
}

static void test_steps(const char *cfg)
{
    gemm_set_variant(gemm_find("packed"));
    network *net = network_make(cfg, SEED);
    network_predict(net, net->input);
    const fused found = count_fused(net);
    network_predict(net, net->input);
    const fused again = count_fused(net);
    gemm_set_variant(gemm_find("stock"));
    const fused other = count_fused(net);
    gemm_set_variant(gemm_find("packed"));
    weights_changed(net);
    const fused changed = count_fused(net);
    const bool kept = again.chains == found.chains && again.shortcuts == found.shortcuts;
    const bool made = found.chains >= 2 && found.shortcuts;
    report_that("steps", made && kept && !other.chains && !changed.chains,
                "%d chains and %d shortcuts, then %d; another row %d, changed %d", found.chains,
                found.shortcuts, again.chains, other.chains, changed.chains);
    free_network(net);
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "--decisions")) {
        if (!freopen("/dev/null", "w", stderr)) return 2;
        test_steps(argv[2]);
        for (int i = 2; i < argc; ++i) test_decisions(argv[i]);
        return report_status();
    }
    const bool one = argc == 5 && !strcmp(argv[1], "--row") && gemm_find(argv[2]);
    if (argc != 3 && !one) {
        fprintf(stderr, "test_plans: [--row NAME] and two cfgs are needed\n");
        return 2;
    }
    if (one) return test_row(gemm_find(argv[2]), argv[3], argv[4]);
    test_check("batch norm", false);
    test_check("weights", true);
    if (!freopen("/dev/null", "w", stderr)) return 2;   /* Darknet prints its networks there */
    for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; ++i) test_change(&CHANGES[i]);
    test_without_slot();
    test_limit();
    test_norm();
    test_doors(argv[1], gemm_find("packed"));
    test_doors(argv[1], &KEEPING);
    test_two(argv[1]);
    test_made_again(argv[1]);
    test_door_resize(argv[2]);
    return report_status();
}
