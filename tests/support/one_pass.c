/* SPDX-License-Identifier: MIT */
/*
 * One pass through a network with drawn weights, on a processor whose caches and units are always
 * the same. So what is decided depends on sizes, settings and instruction set alone.
 *
 *   one_pass CFG
 *
 * GEMM_TRACE gets the decisions. tests/system/test_decisions.sh compares them.
 */
#include "support/network.h"
#include "util/caches.h"
#include "util/cpu.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEED = 3 };

/* These two stand before the functions of libdarknet.so. */
const gemm_caches *gemm_find_caches(void)
{
    static const gemm_caches usual = {.l1 = 32 * 1024, .l2 = 1024 * 1024};
    return &usual;
}

int gemm_unit_floats(void)
{
    return 8;
}

int main(int argc, char **argv)
{
    if (argc != 2 || !freopen("/dev/null", "w", stderr)) return 2;
    network *net = network_make(argv[1], SEED);
    set_batch_network(net, 1);
    float *input = calloc((size_t)net->inputs, sizeof *input);
    rng r = rng_make(SEED, 1);
    network_fill(input, (size_t)net->inputs, &r);
    network_predict(net, input);
    return 0;
}
