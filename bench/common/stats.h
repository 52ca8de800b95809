/*
 * The statistics of the benchmarks: medians, intervals that assume no distribution, rank tests and a
 * bootstrap of the ratio of two medians. Nothing here assumes that times are normal: they are not
 * (they have a floor, a long tail, and steps where the clock rate changed).
 *
 * Where memory runs out, or where there are too few values, a result is NAN, so that a comparison
 * with a limit fails. Values must be finite.
 */
#ifndef STATS_H
#define STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct stats_interval {
    double low, high;
} stats_interval;

typedef struct stats_test {
    double statistic;
    double p;           /* two-sided */
    bool exact;         /* counted over all arrangements; else the normal approximation */
} stats_test;

/* Two times of one moment. Clusters are what noise is shared in (one start of the programs), strata
   are what must not be mixed (images). Both count from 0. */
typedef struct stats_pair {
    double a, b;
    size_t cluster, stratum;
} stats_pair;

/* The median; sorts v. */
double stats_median(double *v, size_t n);

/* The median distance from the median, not scaled to a standard deviation. */
double stats_mad(const double *v, size_t n);

/* The quantile q of a sorted array, linear between neighbours (type 7 of Hyndman and Fan). */
double stats_quantile(const double *sorted, size_t n, double q);

/* The interval of the median between two order statistics, chosen by the binomial distribution so
   that it holds for any continuous distribution. NAN where n is too small for the level. */
stats_interval stats_median_interval(const double *sorted, size_t n, double level);

/* median(b) / median(a); with several strata the geometric mean of their ratios. */
double stats_ratio(const stats_pair *pairs, size_t n);

/*
 * Percentile bootstrap of stats_ratio: draws whole clusters, then pairs within the stratum of each
 * drawn cluster, so that noise shared by a cluster is not mistaken for knowledge. `pairs` is put in
 * order of cluster and stratum. The same seed gives the same interval.
 */
stats_interval stats_ratio_interval(stats_pair *pairs, size_t n, double level, size_t resamples,
                                    uint64_t seed);

/* Mann and Whitney's U of a over b. Exact, ties too, up to 50 values in all; above that the normal
   approximation with the corrections for ties and continuity. */
stats_test stats_mann_whitney(const double *a, size_t na, const double *b, size_t nb);

/* Wilcoxon's signed ranks: V, the rank sum of the positive differences. Zeros are dropped. Exact up
   to 50 differences. */
stats_test stats_signed_rank(const double *d, size_t n);

/* The next number of a small generator (splitmix64), and one from 0 to below-1. */
uint64_t stats_random(uint64_t *state);
size_t stats_random_below(uint64_t *state, size_t below);

#endif
