/* SPDX-License-Identifier: MIT */
/*
 * A network that is prepared before its first pass (hook_prepare).
 *
 *   test_prepare CFG
 *
 * All layers of CFG are prepared. Those of yolov3-tiny with many weights are left to the pass.
 */
#include "driver/driver.h"
#include "hook/pjreddie.h"
#include "support/network.h"
#include "support/report.h"

#include <stdlib.h>
#include <string.h>

enum { SEED = 3 };

static const layer *output_of(const network *net)
{
    const layer *l = &net->layers[net->n - 1];
    while (l->type == COST || l->type == SOFTMAX) --l;
    return l;
}

static const float *first_pass(network *net)
{
    rng r = rng_make(SEED, 2);
    network_fill(net->input, (size_t)(net->inputs * net->batch), &r);
    network_predict(net, net->input);
    return output_of(net)->output;
}

/* Whether an output is not as make_network left it. */
static bool is_written(const network *net)
{
    for (int i = 0; i < net->n; ++i)
        for (int k = 0; k < net->layers[i].outputs; ++k)
            if (net->layers[i].output[k] != 0) return true;
    return false;
}

/* A preparation computes nothing, and keeps something. The first pass then has its own bits. In a
   network whose layers are all prepared it decides nothing. */
static void test_prepared(const char *cfg, bool all)
{
    const int now = 1;
    gemm_set_variant(gemm_find("packed"));
    gemm_set_threads(2);
    network *with = network_make(cfg, SEED), *without = network_make(cfg, SEED);
    const size_t before = gemm_planned_bytes();
    hook_prepare(with, &now);
    const bool waits = gemm_planned_bytes() > before;
    hook_prepare(with, NULL);
    const bool keeps = gemm_planned_bytes() > before, writes = is_written(with);
    const unsigned decided = gemm_decisions();
    const float *found = first_pass(with);
    const unsigned again = gemm_decisions() - decided;
    const size_t bytes = (size_t)output_of(with)->outputs * sizeof *found;
    const bool same = !memcmp(first_pass(without), found, bytes);
    const bool right = !waits && keeps && !writes && (!all || !again) && same;
    report_that(all ? "prepared" : "prepared-filters", right,
                "too late %d, kept %d, written %d, %u decisions, same bits %d", waits, keeps,
                writes, again, same);
    free_network(with);
    free_network(without);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: test_prepare CFG\n", stderr);
        return 2;
    }
    if (!freopen("/dev/null", "w", stderr)) return 2;
    test_prepared(argv[1], true);
    test_prepared("cfg/yolov3-tiny.cfg", false);        /* filters that are transformed */
    return report_status();
}
