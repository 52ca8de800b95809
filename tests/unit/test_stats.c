/* SPDX-License-Identifier: MIT */
/*
 * bench/common/stats.c against SciPy 1.17.1 (st is scipy.stats, np is numpy). Next to each expected
 * figure is the call that gave it. The bootstrap draws other random numbers than SciPy's, so its
 * interval is compared within the Monte Carlo error. Everything else is compared to rounding.
 */
#include "common/random.h"
#include "common/stats.h"

#include "support/report.h"

#include <math.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void near(int line, const char *what, double got, double want, double within)
{
    char name[256];
    snprintf(name, sizeof name, "stats-%d-%s", line, what);
    report_that(name, fabs(got - want) <= within, "%.17g, not %.17g", got, want);
}
#define NEAR(got, want) near(__LINE__, #got, (got), (want), 1e-12)
#define WITHIN(got, want, tolerance) near(__LINE__, #got, (got), (want), (tolerance))

static void test_order_statistics(void)
{
    const double F[] = {4.1, 2.7, 3.3, 8.9, 5.0, 1.2, 7.7};
    double v[7];
    memcpy(v, F, sizeof v);
    NEAR(stats_median(v, 6), 3.7);              /* np.median(F[:6]) */
    memcpy(v, F, sizeof v);
    NEAR(stats_median(v, 7), 4.1);              /* np.median(F) */
    NEAR(v[0], 1.2);                            /* sorted in place */
    NEAR(v[6], 8.9);
    NEAR(stats_quantile(v, 7, 0.05), 1.65);     /* np.quantile(F, [.05, .25, .9]) */
    NEAR(stats_quantile(v, 7, 0.25), 3.0);
    NEAR(stats_quantile(v, 7, 0.9), 8.18);
    NEAR(stats_quantile(v, 7, 1), 8.9);
    NEAR(stats_mad(F, 7), 1.4);                 /* st.median_abs_deviation(F) */
    NEAR(isnan(stats_median(v, 0)), 1);
    NEAR(isnan(stats_mad(v, 0)), 1);
}

/* st.quantile_test(x, q=..., p=.5).confidence_interval(.95) for x = 1..n */
static void test_median_interval(void)
{
    const struct { size_t n; double low, high; } want[] = {
        {6, 1, 6}, {10, 2, 9}, {11, 2, 10}, {30, 10, 21}};
    double x[30];
    for (size_t i = 0; i < COUNT(x); i++) x[i] = (double)i + 1;
    for (size_t i = 0; i < COUNT(want); i++) {
        const stats_interval got = stats_median_interval(x, want[i].n, 0.95);
        NEAR(got.low, want[i].low);
        NEAR(got.high, want[i].high);
    }
    /* The range of 5 values misses the median in 2 of 32 cases, so no 95% interval exists. */
    NEAR(isnan(stats_median_interval(x, 5, 0.95).low), 1);
}

static void test_signed_rank(void)
{
    /* st.wilcoxon(d, alternative='greater').statistic; st.wilcoxon(d, method='exact').pvalue */
    const double d[] = {0.1, -0.2, 0.3, 0.4, 0.55, -0.05, 0.7, 0.8};
    stats_test t = stats_signed_rank(d, COUNT(d));
    NEAR(t.statistic, 32);
    NEAR(t.p, 0.0546875);

    /* the same, method=st.PermutationMethod(n_resamples=10**6), zeros taken out */
    const double ties[] = {1, 1, -1, 2, 2, 3, -2, 4, 0, 5};
    t = stats_signed_rank(ties, COUNT(ties));
    NEAR(t.statistic, 38);
    NEAR(t.p, 0.08203125);
    NEAR(t.exact, 1);

    /* st.wilcoxon(e, correction=True, method='asymptotic'), e = 37i mod 101 - 38 */
    double e[60];
    for (int i = 0; i < 60; i++) e[i] = (37 * i) % 101 - 38;
    t = stats_signed_rank(e, COUNT(e));
    NEAR(t.statistic, 1280.5);
    NEAR(t.p, 0.0072066777489340535);
    NEAR(t.exact, 0);

    /* Eight rounds of one sign: 2 of 256 arrangements. */
    const double all[] = {1, 2, 3, 4, 5, 6, 7, 8};
    NEAR(stats_signed_rank(all, 8).p, 2.0 / 256);
}

static void fill(stats_pair *pairs, size_t n, size_t cluster_size)
{
    for (size_t i = 0; i < n; i++)
        pairs[i] = (stats_pair){0.40 + 0.001 * (double)((i * 13) % 29),
                                0.36 + 0.0015 * (double)((i * 17) % 23), i / cluster_size, 0};
}

/*
 * st.bootstrap((a, b), lambda x, y, axis: np.median(y, axis=axis) / np.median(x, axis=axis),
 *              paired=True, n_resamples=200000, method='percentile')
 */
static void test_ratio(void)
{
    stats_pair pairs[30];
    fill(pairs, 30, 30);
    NEAR(stats_ratio(pairs, 30), 0.9105199516324062);
    const stats_interval one = stats_ratio_interval(pairs, 30, 0.95, 20000, 1);
    WITHIN(one.low, 0.8945783132530118, 5e-4);
    WITHIN(one.high, 0.9295261239368164, 5e-4);
    const stats_interval again = stats_ratio_interval(pairs, 30, 0.95, 20000, 1);
    NEAR(again.low, one.low);
    NEAR(again.high, one.high);
    NEAR(isnan(stats_ratio_interval(pairs, 1, 0.95, 100, 1).low), 1);

    /* Strata: a second image with ten times the time must not move the ratio or widen it. */
    stats_pair two[60];
    fill(two, 30, 30);
    fill(two + 30, 30, 30);
    for (int i = 30; i < 60; i++) two[i].a *= 10, two[i].b *= 10, two[i].stratum = 1;
    NEAR(stats_ratio(two, 60), 0.9105199516324062);
    const stats_interval both = stats_ratio_interval(two, 60, 0.95, 20000, 1);
    NEAR(both.high - both.low < one.high - one.low, 1);
}

/* Noise that the pairs of a cluster share must widen the interval. */
static void test_clusters(void)
{
    stats_pair pairs[40];
    for (size_t i = 0; i < 40; i++) {
        const double shared = 0.9 + 0.2 * (double)(i / 10) / 3;
        pairs[i] = (stats_pair){1, shared * (1 + 0.001 * (double)(i % 10)), i / 10, 0};
    }
    const stats_interval clustered = stats_ratio_interval(pairs, 40, 0.95, 4000, 7);
    NEAR(clustered.low < 0.95 && clustered.high > 1.05, 1);
    for (size_t i = 0; i < 40; i++) pairs[i].cluster = 0;
    const stats_interval alone = stats_ratio_interval(pairs, 40, 0.95, 4000, 7);
    NEAR(alone.high - alone.low < 0.8 * (clustered.high - clustered.low), 1);
}

/* Unequal numbers of times: the ratio is that of all of them, and lies in its interval. Only pairs
   with both times would say another ratio. */
static void test_unequal(void)
{
    stats_pair pairs[15];
    for (size_t i = 0; i < 15; i++)
        pairs[i] = (stats_pair){1 + 0.001 * (double)i, i < 6 ? 1 + 0.05 * (double)i : NAN, i / 3,
                                0};
    NEAR(stats_ratio(pairs, 15), 1.125 / 1.007);
    const stats_interval all = stats_ratio_interval(pairs, 15, 0.95, 4000, 1);
    NEAR(all.low <= 1.125 / 1.007 && all.high >= 1.125 / 1.007, 1);
    NEAR(all.high <= 1.25 / 1.0 && all.low >= 1.0 / 1.014, 1);
    for (size_t i = 0; i < 15; i++) pairs[i].b = NAN;
    NEAR(isnan(stats_ratio(pairs, 15)), 1);
    NEAR(isnan(stats_ratio_interval(pairs, 15, 0.95, 100, 1).low), 1);
}

/* One resample is one point, and here it is another one than the ratio. */
static void test_contains_itself(void)
{
    int missed = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        stats_pair pairs[7];
        for (size_t i = 0; i < 7; i++) pairs[i] = (stats_pair){1, 1 + 0.1 * (double)i, i, 0};
        const stats_interval one = stats_ratio_interval(pairs, 7, 0.95, 1, seed);
        NEAR(one.low <= 1.3 && one.high >= 1.3, 1);
        missed += one.low < one.high;
    }
    NEAR(missed > 0, 1);
}

/* What the bootstrap draws with. */
static void test_random(void)
{
    rng random = rng_make(0, 0);
    double sum = 0;
    size_t seen[6] = {0};
    for (int i = 0; i < 6000; i++) seen[rng_below(&random, 6)]++;
    for (int i = 0; i < 6; i++) WITHIN((double)seen[i], 1000, 150);
    for (int i = 0; i < 6000; i++) sum += (double)rng_float(&random);
    WITHIN(sum / 6000, 0, 0.03);
    rng other = rng_make(0, 1), again = rng_make(0, 1);
    NEAR(rng_next(&other) == rng_next(&again), 1);
    NEAR(rng_next(&other) != rng_next(&random), 1);
}

int main(void)
{
    test_order_statistics();
    test_median_interval();
    test_signed_rank();
    test_ratio();
    test_clusters();
    test_unequal();
    test_contains_itself();
    test_random();
    return report_status();
}
