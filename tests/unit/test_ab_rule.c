/*
 * The rule of bench/ab/ab_verdict.c on simulated machines: how often it calls equal sides "faster"
 * or "slower", and whether it sees a true difference.
 *
 * The noise is like that of shared machines. It is autocorrelated, it drifts, and it has a long
 * tail. Each process has an offset of a percent or two for as long as it lives.
 */
#include "ab/ab.h"

#include "support/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 32, ROUNDS = 8, RUNS = 200 };

typedef struct machine {
    const char *name;
    double process;         /* spread of the offset of a process */
    double memory;          /* part of the noise that is left at the next image */
    double noise;           /* its spread */
    double drift;           /* how much slower it is at the end */
    double tail;            /* part of the samples that are disturbed */
} machine;

static double uniform(rng *random) { return ((double)rng_next(random) + 0.5) / 0x1p32; }

static double normal(rng *random)
{
    return sqrt(-2 * log(uniform(random))) * cos(2 * acos(-1) * uniform(random));
}

static void simulate(const machine *m, double truth, stats_pair *pairs, rng *random)
{
    double noise = 0, process[2] = {0, 0};
    for (size_t i = 0; i < PAIRS; i++) {
        double t[2];
        const int first = rng_below(random, 2);
        if (i % (PAIRS / ROUNDS) == 0)
            for (int side = 0; side < 2; side++) process[side] = m->process * normal(random);
        for (int k = 0; k < 2; k++) {
            const int side = k ? !first : first;
            noise = m->memory * noise + sqrt(1 - m->memory * m->memory) * m->noise * normal(random);
            t[side] = exp(noise + process[side] + m->drift * (double)i / PAIRS);
            if (uniform(random) < m->tail) t[side] *= 1 + 0.5 * uniform(random);
        }
        pairs[i] = (stats_pair){t[0], truth * t[1], i / (PAIRS / ROUNDS), 0};
    }
}

/* How many of RUNS runs got the verdict. */
static int count_verdicts(const machine *m, double truth, const char *verdict, uint64_t seed)
{
    ab_verdict_rule rule = ab_rule;
    rng random = rng_make(seed, 0);
    int count = 0;
    rule.resamples = 400;   /* enough to count verdicts by */
    for (int i = 0; i < RUNS; i++) {
        stats_pair pairs[PAIRS];
        ab_result r = {0};
        simulate(m, truth, pairs, &random);
        ab_judge(&r, pairs, PAIRS, &rule, (uint64_t)i);
        count += !strcmp(r.verdict, verdict);
    }
    return count;
}

/* B takes `usual` of A's time, in the last round `last`. Both drift up by `drift`. */
static const char *verdict_of(double usual, double last, double drift)
{
    stats_pair pairs[PAIRS];
    static ab_result r;
    for (size_t i = 0; i < PAIRS; i++) {
        const size_t round = i / (PAIRS / ROUNDS);
        const double a = 1 + drift * (double)i / PAIRS + 1e-4 * (double)(i % 3);
        pairs[i] = (stats_pair){a, a * (round == ROUNDS - 1 ? last : usual), round, 0};
    }
    ab_judge(&r, pairs, PAIRS, &ab_rule, 1);
    return r.why[0] ? r.why : r.verdict;
}

/* Each of the four conditions alone must prevent a verdict. */
static void test_reasons(void)
{
    const struct { double usual, last, drift; const char *want; } cases[] = {
        {0.8, 0.8, 0, "faster"},
        {1.25, 1.25, 0, "slower"},
        {1.0, 1.0, 0, "the interval of the ratio contains 1"},
        {0.8, 2.0, 0, "the rounds do not agree: p is not under 0.05"},
        {0.95, 0.95, 1, "Mann-Whitney p is not under 0.05"},
        {0.995, 0.995, 0, "the difference is under 1%"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = verdict_of(cases[i].usual, cases[i].last, cases[i].drift);
        if (!strcmp(got, cases[i].want)) report_pass(cases[i].want);
        else report_fail(cases[i].want, "%s", got);
    }
}

int main(void)
{
    static const machine machines[] = {
        {"quiet", 0, 0, 0.005, 0, 0},
        {"processes differ by 2%", 0.02, 0, 0.005, 0, 0},
        {"noise that lasts", 0.005, 0.9, 0.10, 0, 0.02},
        {"drift of 30%", 0.005, 0.5, 0.02, 0.3, 0.02},
        {"long tail", 0.01, 0.3, 0.05, 0.05, 0.2}};
    const uint64_t seed = 42;
    test_reasons();
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const machine *m = &machines[i];
        const int wrong = RUNS - count_verdicts(m, 1, "no difference shown", seed);
        const int twice = count_verdicts(m, 0.5, "faster", seed);
        const int slower = count_verdicts(m, 1.5, "slower", seed);
        /* The limit of the rule is one wrong verdict in twenty. */
        if (wrong > RUNS / 20 || twice < RUNS * 19 / 20 || slower < RUNS * 19 / 20)
            report_fail(m->name, "of %d, control called different %d, 2x seen %d, 1.5x slower %d; "
                        "seed %llu", RUNS, wrong, twice, slower, (unsigned long long)seed);
        else
            report_pass(m->name);
    }
    const int small = count_verdicts(&machines[0], 0.95, "faster", seed);
    const int tiny = RUNS - count_verdicts(&machines[0], 0.997, "no difference shown", seed);
    if (small < RUNS * 19 / 20 || tiny > 0)
        report_fail("small-differences", "of %d, 5%% seen %d, 0.3%% called %d", RUNS, small, tiny);
    else
        report_pass("small-differences");
    return report_status();
}
