/*
 * Darknet's training under every variant: from the same weights, the same data and a few steps, the
 * weights must end where stock's end. Forward passes call gemm NN and NT, backward passes TN, NT and
 * NN with BETA 0 and 1. With --forward, inference alone: the outputs must be stock's.
 *
 *   test_training [--forward] CFG...
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "darknet.h"
#include "driver/driver.h"
#include "support/operands.h"
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
    const layer *inner[] = {l->input_layer, l->self_layer, l->output_layer, l->wz, l->uz, l->wr, l->ur,
                            l->wh, l->uh, l->wf, l->uf, l->wi, l->ui, l->wo, l->uo, l->wg, l->ug};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; ++i)
        if (inner[i]) append_layer(w, inner[i]);
    if (l->type == CONVOLUTIONAL || l->type == DECONVOLUTIONAL)
        append(w, l->weights, l->nweights);
    if (l->type == LOCAL) append(w, l->weights, l->size * l->size * l->c * l->n * l->out_h * l->out_w);
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
        for (int b = 0; b < net->batch; ++b) net->truth[b * net->truths + rng_below(&r, net->truths)] = 1;
        train_network_datum(net);
    }
    return all_weights(net);
}

static numbers forward(network *net)
{
    rng r = rng_make(SEED, 0);
    numbers outputs = {0};
    fill(net->input, net->inputs * net->batch, &r);
    network_predict(net, net->input);
    append(&outputs, net->output, net->outputs * net->batch);
    return outputs;
}

static numbers run(experiment e, const char *cfg, const gemm_variant *v)
{
    gemm_set_variant(v);
    srand(SEED);                /* Darknet draws its first weights from rand() */
    network *net = parse_network_cfg((char *)cfg);
    numbers n = e(net);
    free_network(net);
    return n;
}

static void compare(experiment e, const char *cfg, const gemm_variant *v, const numbers *stock)
{
    char name[128];
    snprintf(name, sizeof name, "%s %s %s", e == train ? "train" : "forward", cfg, v->name);
    const char *reason = gemm_unusable(v);
    if (reason) {
        report_skip(name, "%s", reason);
        return;
    }
    numbers w = run(e, cfg, v);
    double size = 0, worst = 0;
    for (size_t i = 0; i < w.count; ++i) {
        const double d = fabs((double)w.values[i] - (double)stock->values[i]);
        worst = d > worst || isnan(d) ? d : worst;
        size = fmax(size, fabs((double)stock->values[i]));
    }
    if (worst <= TOLERANCE * size)
        report_pass(name);
    else
        report_fail(name, "the numbers end %g away from stock's, whose largest is %g", worst, size);
    free(w.values);
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

int main(int argc, char **argv)
{
    experiment e = train;
    if (!freopen("/dev/null", "w", stderr)) return 2;   /* Darknet prints every network it reads */
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--forward")) {
            e = forward;
            continue;
        }
        numbers stock = run(e, argv[i], gemm_find("stock"));
        if (e == train && !learns(argv[i], &stock)) report_fail(argv[i], "training changed no weight");
        for (size_t j = 0; j < gemm_variant_count; ++j) compare(e, argv[i], &gemm_variants[j], &stock);
        free(stock.values);
    }
    return report_status();
}
