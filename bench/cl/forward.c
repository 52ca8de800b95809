/* SPDX-License-Identifier: MIT */
/*
 * Forward passes: stock, OpenBLAS by im2col, packed, cl by im2col, cl by layers, cl_direct, hybrid
 * and auto.
 * OpenBLAS is the baseline of the paper (Wang, Shi, Wen, 2018). Without it the others go on.
 *
 * The networks have Darknet's first weights. Rows that run on the CPU have a network of their own,
 * in memory of calloc. In each round the contestants take turns. A turn is one pass that is not
 * timed, because the caches hold another network, and then passes for some 50 ms. Outputs are
 * compared with those of packed, and times of wrong outputs are void.
 */
#include "cl/forward.h"

#include "cl/device/counts.h"
#include "common/random.h"
#include "common/stats.h"
#include "detect/outputs.h"
#include "detect/subject.h"
#include "driver/driver.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darknet.h"

enum { MOST_ROUNDS = 9, SEED = 5, LONG_MS = 500 };
static const double TURN_MS = 50;
static const double TOLERANCE = 1e-4;   /* of the largest output, as in bench_detect */

typedef struct contestant {
    const char *name, *row;
    gemm_conv_mode mode;
} contestant;

static const contestant contestants[] = {
    {"stock", "stock", GEMM_IM2COL}, {"openblas by im2col", "openblas", GEMM_IM2COL},
    {"packed", "packed", GEMM_HOOK},
    {"cl by im2col", "cl", GEMM_IM2COL}, {"cl by layers", "cl", GEMM_HOOK},
    {"cl_direct", "cl_direct", GEMM_HOOK},
    {"hybrid", "hybrid", GEMM_HOOK}, {"auto", "auto", GEMM_HOOK}};
enum { CONTESTANTS = sizeof contestants / sizeof *contestants, OPENBLAS = 1, PACKED = 2,
       FIRST_CL = 3 };

static network *make_network(const char *cfg, const char *row)
{
    gemm_set_variant(gemm_find(row));
    srand(SEED);
    network *net = parse_network_cfg((char *)cfg);
    set_batch_network(net, 1);
    subject_settle_batch_norm(net);
    return net;
}

typedef struct networks {
    network *nets[2];           /* of the rows on the CPU, of the others */
    float *input;
} networks;

static network *net_of(const networks *s, int who)
{
    return s->nets[who >= FIRST_CL];
}

static void pass(const networks *s, int who)
{
    gemm_set_variant(gemm_find(contestants[who].row));
    gemm_set_conv(contestants[who].mode);
    network_predict(net_of(s, who), s->input);
}

/* Milliseconds of a pass. One of a slow contestant is enough. */
static double turn(const networks *s, int who)
{
    double start = gemm_now_ms();
    pass(s, who);
    const double once = gemm_now_ms() - start;
    if (once > LONG_MS) return once;
    const int passes = once < TURN_MS ? (int)(TURN_MS / once) : 1;
    start = gemm_now_ms();
    for (int i = 0; i < passes; ++i) pass(s, who);
    return (gemm_now_ms() - start) / passes;
}

static gemm_cl_counts count_pass(const networks *s, int who)
{
    pass(s, who);
    gemm_cl_count(true);
    pass(s, who);
    const gemm_cl_counts c = gemm_cl_counted();
    gemm_cl_count(false);
    return c;
}

/* How far the outputs are from those of packed, relative to the largest. */
static double difference(const networks *s, int who)
{
    size_t n;
    pass(s, PACKED);
    float *expected = outputs_copy(net_of(s, PACKED), &n);
    pass(s, who);
    float *actual = outputs_copy(net_of(s, who), &n);
    const double d = outputs_difference(actual, expected, n) / outputs_largest(expected, n);
    free(expected);
    free(actual);
    return d;
}

/* NULL, or why this contestant cannot run here: other people's library may be missing. */
static const char *missing(int who)
{
    const gemm_variant *row = gemm_find(contestants[who].row);
    return row->reference ? gemm_unusable(row) : NULL;
}

/* "1.23 |", or an empty cell where the baseline is missing. */
static void print_ratio(double base_ms, double ms)
{
    if (base_ms > 0) printf(" %.2f |", base_ms / ms);
    else printf(" |");
}

static void print_row(const char *cfg, int who, double *ms, int rounds, const double *base_ms,
                      const gemm_cl_counts *c)
{
    const char *base = strrchr(cfg, '/');
    const double median = stats_median(ms, (size_t)rounds);     /* sorts */
    printf("| %s | %s | %.3f (%.3f-%.3f) |", base ? base + 1 : cfg, contestants[who].name, median,
           ms[0], ms[rounds - 1]);
    print_ratio(base_ms[0], median);
    print_ratio(base_ms[OPENBLAS], median);
    if (who < FIRST_CL)
        printf(" | | | |\n");
    else
        printf(" %.3f | %lu | %lu | %.2f |\n", c->kernel_ms, c->launches, c->waits,
               (double)c->bytes * 1e-6);
    fflush(stdout);
}

static bool measure(const char *cfg, const networks *s, int rounds)
{
    double ms[CONTESTANTS][MOST_ROUNDS];
    double base_ms[OPENBLAS + 1] = {0};
    gemm_cl_counts counts[CONTESTANTS];
    for (int who = 0; who < CONTESTANTS; ++who) {
        if (missing(who)) continue;
        for (int i = 0; i < gemm_passes_warm_up(gemm_find(contestants[who].row)); ++i)
            pass(s, who);
        const double d = difference(s, who);
        counts[who] = count_pass(s, who);
        if (d <= TOLERANCE) continue;
        printf("WRONG: %s: the outputs of %s are %g of the largest away from packed: the times are "
               "void\n", cfg, contestants[who].name, d);
        return false;
    }
    for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < CONTESTANTS; ++i) {
            const int who = (i + round) % CONTESTANTS;  /* nobody always follows another */
            if (!missing(who)) ms[who][round] = turn(s, who);
        }
    for (int who = 0; who <= OPENBLAS; ++who)
        if (!missing(who)) base_ms[who] = stats_median(ms[who], (size_t)rounds);
    for (int who = 0; who < CONTESTANTS; ++who)
        if (!missing(who)) print_row(cfg, who, ms[who], rounds, base_ms, &counts[who]);
    return true;
}

bool forward_table(char **cfgs, int count, int rounds)
{
    bool right = true;
    printf("5. forward passes of one image in the CPU's memory, outputs read by the CPU; median ms "
           "of %d rounds (lowest-highest), and how many times faster than stock and than OpenBLAS "
           "by im2col; of one pass: ms in kernels, launches, waits, MB copied\n", rounds);
    if (missing(OPENBLAS)) printf("openblas: SKIP %s\n", missing(OPENBLAS));
    printf("| network | row | ms | stock / row | openblas / row | kernels | launches | waits | MB "
           "|\n|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < count; ++i) {
        rng r = rng_make(SEED, 0);
        networks s = {{make_network(cfgs[i], "packed"), make_network(cfgs[i], "cl")}, NULL};
        const size_t inputs = (size_t)s.nets[0]->inputs;
        s.input = outputs_alloc(inputs * sizeof *s.input);
        for (size_t k = 0; k < inputs; ++k) s.input[k] = .5f + .5f * rng_float(&r);
        right = measure(cfgs[i], &s, rounds) && right;
        for (int n = 0; n < 2; ++n) {
            gemm_host_free(s.nets[n]->workspace);
            free_network(s.nets[n]);
        }
        free(s.input);
    }
    printf("The paper (Wang, Shi, Wen, 2018) has 2.1 over OpenBLAS for the forward passes of "
           "AlexNet and of two Inception networks on an Adreno 330, and 16.39 for the multiply "
           "alone: their figures.\n");
    return right;
}
