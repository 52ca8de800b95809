/* SPDX-License-Identifier: MIT */
/*
 * Darknet's training under every variant. From the same weights, with the same data and a few
 * steps, the weights must end where they end with stock. Forward passes call gemm NN and NT.
 * Backward passes call TN, NT and NN with BETA 0 and 1. With --forward only inference runs, and the
 * outputs must be those of stock.
 *
 *   test_training [--forward] CFG...
 *
 * Every row runs in a process of its own, because a library of other people may crash there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "darknet.h"
#include "common/random.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "support/child.h"
#include "support/network.h"
#include "support/report.h"

enum { ITERATIONS = 4, SEED = 7 };

/* Relative to the largest number that stock ends with. */
static const double TOLERANCE = 1e-4;

typedef struct numbers {
    float *values;
    size_t count;
} numbers;

typedef numbers (*experiment)(network *);

static void append(numbers *w, const float *values, int n)
{
    if (!values) return;
    w->values = realloc(w->values, (w->count + (size_t)n) * sizeof(float));
    memcpy(w->values + w->count, values, (size_t)n * sizeof(float));
    w->count += (size_t)n;
}

/* The layer's own weights, and those of the layers inside a recurrent one. */
static void append_layer(numbers *w, const layer *l)
{
    const layer *inner[] = {l->input_layer, l->self_layer, l->output_layer, l->wz, l->uz, l->wr,
                            l->ur,          l->wh,         l->uh,           l->wf, l->uf, l->wi,
                            l->ui,          l->wo,         l->uo,           l->wg, l->ug};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; ++i)
        if (inner[i]) append_layer(w, inner[i]);
    if (l->type == CONVOLUTIONAL || l->type == DECONVOLUTIONAL)
        append(w, l->weights, l->nweights);
    if (l->type == LOCAL)
        append(w, l->weights, l->size * l->size * l->c * l->n * l->out_h * l->out_w);
    if (l->type == CONNECTED) append(w, l->weights, l->inputs * l->outputs);
}

static void fill(float *v, int n, rng *r)
{
    for (int i = 0; i < n; ++i) v[i] = rng_float(r);
}

static numbers all_weights(network *net)
{
    numbers w = {0};
    for (int i = 0; i < net->n; ++i) append_layer(&w, &net->layers[i]);
    return w;
}

static numbers train(network *net)
{
    rng r = rng_make(SEED, 0);
    for (int i = 0; i < ITERATIONS; ++i) {
        fill(net->input, net->inputs * net->batch, &r);
        memset(net->truth, 0, (size_t)(net->truths * net->batch) * sizeof(float));
        for (int b = 0; b < net->batch; ++b)
            net->truth[b * net->truths + rng_below(&r, net->truths)] = 1;
        train_network_datum(net);
    }
    return all_weights(net);
}

/* Untrained variances are 0, and batch norm then multiplies by a million. That is more than rows of
   16 bits can hold. */
static void set_variances(layer *l, void *data)
{
    (void)data;
    const int n = l->type == CONVOLUTIONAL && l->batch_normalize ? l->n : 0;
    for (int k = 0; k < n; ++k) l->rolling_variance[k] = 1;
}

static numbers forward(network *net)
{
    rng r = rng_make(SEED, 0);
    numbers outputs = {0};
    network_visit(net, set_variances, NULL);
    fill(net->input, net->inputs * net->batch, &r);
    network_predict(net, net->input);
    append(&outputs, net->output, net->outputs * net->batch);
    return outputs;
}

static numbers run(experiment e, const char *cfg, const gemm_variant *v)
{
    gemm_set_variant(v);
    network_seed(SEED);
    network *net = parse_network_cfg((char *)cfg);
    numbers n = e(net);
    free_network(net);
    return n;
}

/* One row on one network. */
typedef struct job {
    experiment e;
    const char *cfg;
    const gemm_variant *row;
    const numbers *stock;
} job;

enum { RIGHT, WRONG, UNUSABLE };

/* Returns one of the three, and prints why it is not RIGHT. For child_run. */
static int run_job(void *data)
{
    const job *j = data;
    if (!freopen("/dev/null", "w", stderr)) return WRONG;   /* Darknet prints its networks there */
    const char *reason = gemm_unusable(j->row);
    if (reason) {
        puts(reason);
        return UNUSABLE;
    }
    numbers w = run(j->e, j->cfg, j->row);
    double size = 0, worst = w.count == j->stock->count ? 0 : INFINITY;
    for (size_t i = 0; i < w.count && worst < INFINITY; ++i) {
        const double d = fabs((double)w.values[i] - (double)j->stock->values[i]);
        worst = d > worst || isnan(d) ? d : worst;
        size = fmax(size, fabs((double)j->stock->values[i]));
    }
    free(w.values);
    if (worst <= (TOLERANCE + gemm_network_rounding(j->row)) * size) return RIGHT;
    printf("the numbers end %g away from those of stock, whose largest is %g\n", worst, size);
    return WRONG;
}

static void report_job(const job *j, child_result r)
{
    char name[160];
    snprintf(name, sizeof name, "%s %s %s", j->e == train ? "train" : "forward", j->cfg,
             j->row->name);
    r.output[strcspn(r.output, "\n")] = '\0';
    const char *killed = child_signal(&r);
    if (killed && gemm_is_reference(j->row))
        report_skip_machine(name, "%s died: %s", j->row->origin, killed);
    else if (killed) report_fail(name, "%s", killed);
    else if (child_exit(&r) == RIGHT) report_pass(name);
    else if (child_exit(&r) == UNUSABLE) report_unusable(name, r.output);
    else report_fail(name, "%s", r.output);
}

/* Without this, a training that left all weights as they were would pass. */
static bool learns(const char *cfg, const numbers *trained)
{
    numbers first = run(all_weights, cfg, gemm_find("stock"));
    const bool changed = first.count == trained->count &&
                         memcmp(first.values, trained->values, first.count * sizeof(float));
    free(first.values);
    return changed;
}

static void grow(layer *l, void *data)
{
    size_t *most = data;
    if (l->workspace_size > *most) *most = l->workspace_size;
}

/* The convolutions inside of a recurrent layer use the network's workspace too. */
static void test_workspace(const char *cfg)
{
    char name[160];
    snprintf(name, sizeof name, "workspace %s", cfg);
    gemm_set_variant(gemm_find("packed"));
    network *net = parse_network_cfg((char *)cfg);
    free(train(net).values);
    size_t most = 0;
    network_visit(net, grow, &most);
    report_that(name, net->workspace_size >= most, "%zu bytes, and a layer needs %zu",
                net->workspace_size, most);
    free_network(net);
}

static void test_network(experiment e, const char *cfg)
{
    numbers stock = run(e, cfg, gemm_find("stock"));
    if (e == train && !learns(cfg, &stock)) report_fail(cfg, "training changed no weight");
    for (size_t i = 0; i < gemm_variant_count; ++i) {
        /* The rows of the paper's search run as cl_local does, and they are many. */
        const gemm_device *device = gemm_variants[i].device;
        if (device && device->unusable == gemm_cl_limits) continue;
        /* See test_gemm. */
        if (gemm_is_reference(&gemm_variants[i]) && gemm_variants[i].rounding) continue;
        job j = {e, cfg, &gemm_variants[i], &stock};
        report_job(&j, child_run(run_job, &j));
    }
    free(stock.values);
    if (e == train) test_workspace(cfg);
}

int main(int argc, char **argv)
{
    experiment e = train;
    if (!freopen("/dev/null", "w", stderr)) return 2;
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--forward")) e = forward;
        else test_network(e, argv[i]);
    }
    return report_status();
}
