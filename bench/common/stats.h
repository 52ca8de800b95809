/* SPDX-License-Identifier: MIT */
/*
 * The statistics of the benchmarks: medians, intervals, a rank test and a bootstrap of the ratio of
 * two medians. Nothing here assumes a normal distribution, because times have a minimum, a long
 * tail and steps where the clock rate changed.
 *
 * Values must be finite. Without memory, or with too few values, a result is NAN, so that every
 * comparison with a limit fails.
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
    bool exact;         /* counted over all arrangements; false: the normal approximation */
} stats_test;

/* Two times that were measured one after the other. The pairs of a cluster share noise (the same
   start of the programs). Strata must not be mixed (images). Both are numbered from 0. A NAN is a
   time that was not taken: the other one counts alone. */
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

/* The confidence interval of the median, between two order statistics. They are chosen by the
   binomial distribution, so it holds for any continuous distribution. NAN if n is too small. */
stats_interval stats_median_interval(const double *sorted, size_t n, double level);

/* median(b) / median(a). With several strata: the geometric mean of their ratios. */
double stats_ratio(const stats_pair *pairs, size_t n);

/*
 * Percentile bootstrap of stats_ratio. It draws whole clusters, then pairs within each stratum of a
 * drawn cluster, because noise that a cluster shares must widen the interval. The interval holds
 * stats_ratio itself: it is widened where the percentiles of few samples miss it. Sorts `pairs` by
 * cluster and stratum. The same seed gives the same interval.
 */
stats_interval stats_ratio_interval(stats_pair *pairs, size_t n, double level, size_t resamples,
                                    uint64_t seed);

/* Wilcoxon's signed-rank test: V is the rank sum of the positive differences. Zeros are dropped.
   Exact up to 50 differences, also with ties. Above that: the normal approximation, corrected for
   ties and continuity. */
stats_test stats_signed_rank(const double *d, size_t n);

#endif
