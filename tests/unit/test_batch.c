/* SPDX-License-Identifier: MIT */
/*
 * A batch of at least as many images as threads: each thread takes images of its own through the
 * network (src/hook/batch.h). Their outputs have the bits of one image at a time, and plans keep no
 * more memory than before.
 *
 *   test_batch CFG...
 *
 * The program promises to read only boxes, so chains that follow each other are one call.
 * Each network runs with 8 images, under packed and packed_bf16, by 2, 3, 8 and 9 threads. With 9
 * it stays whole. The others must end at the first layer that no row takes. Where all is prepared,
 * images have lent plans, and a pass keeps nothing of them. A network that shares the weights
 * (src/hook/share.h) keeps nothing that the other has.
 */
#include "driver/driver.h"
#include "hook/batch.h"
#include "hook/share.h"
#include "support/heap.h"
#include "support/network.h"
#include "support/report.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IMAGES = 8, SEED = 5 };

/* The cfg with room for all images. */
static network *load(const char *cfg)
{
    char path[] = "/tmp/test_batch-XXXXXX", line[4096];
    FILE *from = fopen(cfg, "r"), *to = fdopen(mkstemp(path), "w");
    if (!from || !to) {
        fprintf(stderr, "test_batch: %s cannot be copied to %s\n", cfg, path);
        exit(2);
    }
    while (fgets(line, sizeof line, from)) {
        if (!strncmp(line, "batch=", 6) || !strncmp(line, "subdivisions=", 13)) continue;
        fputs(line, to);
        if (!strncmp(line, "[net", 4)) fprintf(to, "batch=%d\n", IMAGES);
    }
    fclose(from);
    fclose(to);
    network *net = network_make(path, SEED);
    unlink(path);
    return net;
}

/* All outputs that a program reads, of an image. Returns how many floats. */
static size_t copy_outputs(const network *net, int image, float *to)
{
    size_t n = 0;
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        const size_t outputs = (size_t)l->outputs;
        if (!network_is_output(net, i)) continue;
        if (to) memcpy(to + n, l->output + (size_t)image * outputs, outputs * sizeof *to);
        n += outputs;
    }
    return n;
}

/* Up to the first layer that no row takes: how many layers ran, in calls from layer 0 on, or in one
   call at once. */
static int run_layers(const network *net, float *input, bool at_once)
{
    network pass = *net;
    int last = 0;
    pass.input = input;
    pass.train = 0;
    pass.delta = NULL;
    for (pass.index = 0; pass.index < net->n; pass.index = last + 1) {
        last = hook_take(pass, net->layers[pass.index].output);
        if (at_once || last < 0) break;
        pass.input = net->layers[last].output;
    }
    return at_once ? last + 1 : pass.index;
}

static void judge(network *net, const char *name, int threads, float *input, const float *right)
{
    char test[256];
    const size_t n = copy_outputs(net, 0, NULL), kept = gemm_planned_bytes();
    float *got = malloc(n * sizeof *got);
    int wrong = 0;
    snprintf(test, sizeof test, "%s, %d threads", name, threads);
    gemm_set_threads(threads);
    set_batch_network(net, 1);
    const int end = run_layers(net, input, false);
    set_batch_network(net, IMAGES);
    const int apart = run_layers(net, input, true);
    const bool as_wanted = threads > IMAGES ? apart < end : apart == end;
    for (int pass = 0; pass < 2; ++pass) {
        network_predict(net, input);
        for (int i = 0; got && i < IMAGES; ++i) {
            copy_outputs(net, i, got);
            wrong += threads <= IMAGES && memcmp(got, right + (size_t)i * n, n * sizeof *got);
        }
    }
    report_that(test, got && !wrong && as_wanted && gemm_planned_bytes() <= kept + (kept >> 6),
                "%d images have other bits; %d layers ran at once, of %d; %zu bytes are kept, "
                "before %zu", wrong, apart, end, gemm_planned_bytes(), kept);
    free(got);
}

/* ---- which plans an image has ---- */

static atomic_int on_lent, wrong_slots;     /* images, layers */

static int take(hook_net net, float *output)
{
    const hook_image *one = hook_present;
    bool lent = true;
    for (int i = 0; !net.index && i < net.n; ++i) {
        if (!one->slots[i]) continue;
        lent = lent && one->slots[i] == &one->lent[i];
        atomic_fetch_add(&wrong_slots, net.layers[i].plan != one->slots[i]);
    }
    atomic_fetch_add(&on_lent, !net.index && lent);
    return hook_take(net, output);
}

static int keeps(const layer *l, hook_net net)
{
    return convolution_hooked(*l, net);
}

/* Returns how many images had lent plans. -1: an image had other slots than its layers. */
static int run_apart(const network *net, float *input)
{
    hook_net pass = *net;
    pass.input = input;
    pass.index = pass.train = 0;
    pass.delta = NULL;
    atomic_store(&on_lent, 0);
    atomic_store(&wrong_slots, 0);
    const int last = hook_apart(pass, take, keeps);
    return last < 0 ? 0 : atomic_load(&wrong_slots) ? -1 : atomic_load(&on_lent);
}

/* The least growth of the heap in some passes: threads take memory of their own now and then. */
static size_t grown_least(const network *net, float *input)
{
    size_t least = SIZE_MAX;
    for (int i = 0; i < 4; ++i) {
        const size_t given = heap_given();
        for (int pass = 0; pass < 3; ++pass) run_apart(net, input);
        const size_t now = heap_given(), grown = now > given ? now - given : 0;
        if (grown < least) least = grown;
    }
    return least;
}

/* The first images prepare the plans. With the end that a pass finds, one image has none lent. */
static void test_lent(network *net, const char *name, float *input)
{
    enum { FIRST = 2, CACHED = 4096 };  /* by malloc */
    char test[256];
    snprintf(test, sizeof test, "%s, lent plans", name);
    gemm_set_threads(2);
    set_batch_network(net, IMAGES);
    weights_changed(net);
    const int fresh = run_apart(net, input), again = run_apart(net, input);
    const size_t grown = grown_least(net, input);
    layer *last = &net->layers[net->n - 1];
    last->batch = 1;
    const int unequal = run_apart(net, input);
    last->batch = IMAGES;
    report_that(test, fresh >= IMAGES - FIRST && again >= IMAGES - 1 && grown < CACHED &&
                          !unequal && !hook_present,
                "%d and %d images on lent plans, %d where a layer has another batch; the heap grew "
                "by %zu bytes; or an image is left behind",
                fresh, again, unequal, grown);
}

typedef struct pass {
    network *net;
    float *input;
} pass;

static void predict(void *data, int image)
{
    const pass *p = data;
    (void)image;
    network_predict(p->net, p->input);
}

static void test_share(network *net, const char *name, float *input, const float *right)
{
    char test[256];
    network *share = share_network(net);
    size_t before, now, n = copy_outputs(net, 0, NULL);
    float *got = malloc(n * sizeof *got);
    pass own = {net, input}, other = {share, input};
    int passes = 0;
    snprintf(test, sizeof test, "%s, a share", name);
    while (share && passes < 3 && !lend_plans(share, net)) {
        ++passes;
        gemm_images_apart(1, 1, predict, &own);
    }
    before = gemm_planned_bytes();
    if (share && passes < 3) gemm_images_apart(1, 1, predict, &other);
    now = gemm_planned_bytes();
    if (share) copy_outputs(share, 0, got);
    report_that(test, share && before == now && !memcmp(got, right, n * sizeof *got),
                "%zu bytes are kept, before %zu; or it has other bits", now, before);
    if (share) free_share(share);
    free(got);
}

static void test(const char *cfg, const char *variant)
{
    static const int threads[] = {2, 3, IMAGES, IMAGES + 1};
    char name[200];
    network *net = load(cfg);
    const size_t n = copy_outputs(net, 0, NULL);
    float *input = malloc((size_t)(IMAGES * net->inputs) * sizeof *input);
    float *right = malloc(IMAGES * n * sizeof *right);
    rng r = rng_make(SEED, 1);
    gemm_set_variant(gemm_find(variant));
    gemm_set_threads(1);
    network_fill(input, (size_t)(IMAGES * net->inputs), &r);
    set_batch_network(net, 1);
    for (int i = 0; i < IMAGES; ++i) {
        network_predict(net, input + (size_t)i * (size_t)net->inputs);
        copy_outputs(net, 0, right + (size_t)i * n);
    }
    snprintf(name, sizeof name, "%s %s", cfg, variant);
    test_share(net, name, input, right);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; ++i)
        judge(net, name, threads[i], input, right);
    test_lent(net, name, input);
    free(input);
    free(right);
    free_network(net);
}

int main(int argc, char **argv)
{
    gemm_set_prepare_first(true);
    hook_reads_boxes();
    for (int i = 1; i < argc; ++i) {
        test(argv[i], "packed");
        test(argv[i], "packed_bf16");
    }
    return report_status();
}
