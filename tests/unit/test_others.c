/* SPDX-License-Identifier: MIT */
/*
 * Networks of AlexeyAB's Darknet in the patched one: the rules that its cfgs bring, and what they
 * have besides.
 *
 *   test_others CFG
 *
 * CFG has each kind of layer. test_conv_networks compares its outputs with those of Darknet's own
 * loops, and tests/system/test_published.sh whole networks with AlexeyAB's Darknet.
 */
#include "driver/driver.h"
#include "support/child.h"
#include "support/network.h"
#include "support/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEED = 23 };

static const char *cfg;

/* ---- batch norm ---- */

static network *predict(const char *file, float *input)
{
    network *net = network_make(file, SEED);
    rng r = rng_make(SEED, 3);
    set_batch_network(net, 1);
    network_fill(input, (size_t)net->inputs, &r);
    network_predict(net, input);
    return net;
}

/* The first layer has linear sums of 3x3x3 numbers: the double result of one of its outputs, with
   1e-5 inside of the root or 1e-6 outside. */
static double first_output(const layer *l, const float *input, bool inside)
{
    double sum = 0;
    for (int c = 0; c < l->c; ++c)
        for (int i = 0; i < 9; ++i)
            sum += l->weights[c * 9 + i] * input[(c * l->h + i / 3) * l->w + i % 3];
    const double v = l->rolling_variance[0], root = inside ? sqrt(v + 1e-5) : sqrt(v) + 1e-6;
    return (sum - l->rolling_mean[0]) / root * l->scales[0] + l->biases[0];
}

static void write_cfg(const char *path, const char *darknet)
{
    FILE *file = fopen(path, "w");
    if (!file) exit(2);
    fprintf(file, "[net]\nwidth=8\nheight=8\nchannels=3\n%s\n[convolutional]\nfilters=4\nsize=3\n"
                  "pad=1\nbatch_normalize=1\nactivation=linear\n", darknet);
    fclose(file);
}

/* The variance is changed too, so that a row that keeps the old one is wrong. */
static void test_norm(const char *name, const char *darknet, bool inside)
{
    char path[] = "/tmp/test_others.XXXXXX";
    float input[3 * 8 * 8];
    close(mkstemp(path));
    write_cfg(path, darknet);
    network *net = predict(path, input);
    const layer *l = &net->layers[0];
    double worst = 0;
    for (int pass = 0; pass < 2; ++pass) {
        l->rolling_variance[0] = pass ? 1e-4f : 1e-3f;
        weights_changed(net);
        network_predict(net, input);
        const double right = first_output(l, input, inside);
        worst = fmax(worst, fabs(l->output[l->out_w + 1] - right) / fabs(right));
    }
    unlink(path);
    free_network(net);
    report_that(name, worst < 1e-5, "the difference is %g", worst);
}

/* ---- boxes ---- */

/* Two boxes with an IoU of 0.6, whose centers are apart by 0.16 of the diagonal around both. */
static float second_prob(float beta)
{
    float prob[2] = {.9f, .8f};
    detection d[2] = {{.bbox = {.5f, .5f, .4f, .4f}, .objectness = 1, .prob = &prob[0]},
                      {.bbox = {.6f, .5f, .4f, .4f}, .objectness = 1, .prob = &prob[1]}};
    d[0].beta_nms = d[1].beta_nms = beta;
    do_nms_sort(d, 2, 1, .5f);
    return d[0].prob[0] < d[1].prob[0] ? d[0].prob[0] : d[1].prob[0];
}

static void test_nms(void)
{
    const float plain = second_prob(0), greedy = second_prob(.6f), flat = second_prob(9);
    report_that("nms", !plain && greedy > 0 && !flat, "%g %g %g", plain, greedy, flat);
}

static void test_picture(void)
{
    network net = {.w = 4, .h = 4};
    image picture = make_image(8, 2, 1);
    for (int i = 0; i < 16; ++i) picture.data[i] = 1;
    const image barred = network_picture(&net, picture);
    net.stretched = 1;
    const image filled = network_picture(&net, picture);
    report_that("picture", barred.data[0] == .5f && filled.data[0] == 1 && filled.data[15] == 1,
                "%g %g %g", barred.data[0], filled.data[0], filled.data[15]);
}

/* ---- CFG ---- */

/* What is saved is what was loaded, and the layer that shares weights has them without a file. */
static void test_weights(void)
{
    char path[] = "/tmp/test_others.XXXXXX";
    close(mkstemp(path));
    network *net = network_make(cfg, SEED), *other = network_make(cfg, SEED + 1);
    save_weights(net, path);
    load_weights(other, path);
    int wrong = -1, shared = 0;
    for (int i = 0; i < net->n; ++i) {
        const layer *a = &net->layers[i], *b = &other->layers[i];
        if (a->type != CONVOLUTIONAL) continue;
        if (a->shares) a = &net->layers[a->shares - 1], ++shared;
        if (memcmp(a->weights, b->weights, (size_t)a->nweights * sizeof(float))) wrong = i;
    }
    unlink(path);
    report_that("weights", wrong < 0 && shared && !other->partial, "layer %d, %d shared", wrong,
                shared);
}

static int train(void *unused)
{
    (void)unused;
    backward_network(network_make(cfg, SEED));
    return 0;
}

static void test_training(void)
{
    const child_result r = child_run(train, NULL);
    report_that("training", child_exit(&r) == 1 && strstr(r.output, "mish is for inference alone"),
                "status %d", child_exit(&r));
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    cfg = argv[1];
    gemm_set_variant(gemm_find("packed"));
    test_training();
    test_norm("norm-alexeyab", "darknet=alexeyab", true);
    test_norm("norm-by-option", "mosaic=1", true);
    test_norm("norm-pjreddie", "mosaic=1\ndarknet=pjreddie", false);
    test_norm("norm-plain", "", false);
    test_nms();
    test_picture();
    test_weights();
    return report_status();
}
