/* SPDX-License-Identifier: MIT */
/*
 * Statistics of times: see stats.h.
 *
 * The rank test counts arrangements by the shift algorithm (Streitberg and Roehmel). The number of
 * ways to reach a rank sum is a coefficient of a polynomial, and each value multiplies it by one
 * factor. Ranks are stored doubled: then the midrank of a tie is a whole number, so ties are exact.
 */
#include "common/stats.h"

#include "common/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_LIMIT = 50 };      /* values: at most 50 * 25 * 2550 additions */

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

double stats_quantile(const double *sorted, size_t n, double q)
{
    if (n == 0) return NAN;
    const double at = q * (double)(n - 1);
    const size_t below = (size_t)at;
    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double stats_median(double *v, size_t n)
{
    if (n == 0) return NAN;
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double stats_mad(const double *v, size_t n)
{
    double *away = n ? malloc(n * sizeof *away) : NULL;
    if (!away) return NAN;
    memcpy(away, v, n * sizeof *away);
    const double middle = stats_median(away, n);
    for (size_t i = 0; i < n; i++) away[i] = fabs(away[i] - middle);
    const double mad = stats_median(away, n);
    free(away);
    return mad;
}

stats_interval stats_median_interval(const double *sorted, size_t n, double level)
{
    /* The k-th values from both ends enclose the median, unless fewer than k of the n values lie on
       one side of it. The chance of that is a tail of the binomial distribution for 1/2. */
    const double allowed = (1 - level) / 2;
    double tail = 0;
    size_t k = 0;
    while (k < n / 2) {
        const double x = (double)k, m = (double)n;
        tail += exp(lgamma(m + 1) - lgamma(x + 1) - lgamma(m - x + 1) - m * log(2));
        if (!(tail <= allowed)) break;
        k++;
    }
    if (k == 0) return (stats_interval){NAN, NAN};
    return (stats_interval){sorted[k - 1], sorted[n - k]};
}

/* ---- the ratio of medians ---- */

typedef struct group {          /* the pairs of one stratum in one cluster */
    size_t from, count;
} group;

typedef struct bootstrap {
    const stats_pair *pairs;
    group *groups;              /* clusters x strata */
    size_t clusters, strata;
    double *a, *b;              /* buffers for one drawn stratum */
} bootstrap;

static size_t count_of(const stats_pair *pairs, size_t n, bool cluster)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t id = cluster ? pairs[i].cluster : pairs[i].stratum;
        if (id >= most) most = id + 1;
    }
    return most;
}

/* median(b) / median(a). Sorts both; NAN where one has no value. */
static double ratio_of(double *a, size_t na, double *b, size_t nb)
{
    return stats_median(b, nb) / stats_median(a, na);
}

double stats_ratio(const stats_pair *pairs, size_t n)
{
    double *room = n ? malloc(2 * n * sizeof *room) : NULL;
    if (!room) return NAN;
    const size_t strata = count_of(pairs, n, false);
    double logs = 0;
    size_t used = 0;
    for (size_t s = 0; s < strata; s++) {
        size_t na = 0, nb = 0;
        for (size_t i = 0; i < n; i++) {
            if (pairs[i].stratum != s) continue;
            if (!isnan(pairs[i].a)) room[na++] = pairs[i].a;
            if (!isnan(pairs[i].b)) room[n + nb++] = pairs[i].b;
        }
        if (na + nb == 0) continue;
        logs += log(ratio_of(room, na, room + n, nb));
        used++;
    }
    free(room);
    return exp(logs / (double)used);
}

static int by_group(const void *x, const void *y)
{
    const stats_pair *a = x, *b = y;
    if (a->cluster != b->cluster) return a->cluster < b->cluster ? -1 : 1;
    return (a->stratum > b->stratum) - (a->stratum < b->stratum);
}

/* The ratio of one resample. `chosen` holds the drawn clusters. NAN where a side has no time. */
static double draw_ratio(const bootstrap *bs, const size_t *chosen, rng *random)
{
    double logs = 0;
    size_t used = 0;
    for (size_t s = 0; s < bs->strata; s++) {
        size_t na = 0, nb = 0;
        for (size_t c = 0; c < bs->clusters; c++) {
            const group *g = &bs->groups[chosen[c] * bs->strata + s];
            for (size_t i = 0; i < g->count; i++) {
                const stats_pair *p = &bs->pairs[g->from + rng_below(random, (int)g->count)];
                if (!isnan(p->a)) bs->a[na++] = p->a;
                if (!isnan(p->b)) bs->b[nb++] = p->b;
            }
        }
        if (na + nb == 0) continue;
        logs += log(ratio_of(bs->a, na, bs->b, nb));
        used++;
    }
    return exp(logs / (double)used);
}

static stats_interval run_bootstrap(bootstrap *bs, double *drawn, size_t *chosen, double level,
                                    size_t resamples, uint64_t seed)
{
    rng random = rng_make(seed, 0);
    size_t n = 0;
    for (size_t r = 0; r < resamples; r++) {
        for (size_t c = 0; c < bs->clusters; c++)
            chosen[c] = (size_t)rng_below(&random, (int)bs->clusters);
        drawn[n] = draw_ratio(bs, chosen, &random);
        n += !isnan(drawn[n]);
    }
    qsort(drawn, n, sizeof *drawn, by_value);
    return (stats_interval){stats_quantile(drawn, n, (1 - level) / 2),
                            stats_quantile(drawn, n, (1 + level) / 2)};
}

stats_interval stats_ratio_interval(stats_pair *pairs, size_t n, double level, size_t resamples,
                                    uint64_t seed)
{
    stats_interval out = {NAN, NAN};
    if (n < 2 || resamples == 0) return out;
    qsort(pairs, n, sizeof *pairs, by_group);
    bootstrap bs = {.pairs = pairs,
                    .clusters = count_of(pairs, n, true),
                    .strata = count_of(pairs, n, false)};
    bs.groups = calloc(bs.clusters * bs.strata, sizeof *bs.groups);
    /* The largest cluster may be drawn every time. */
    bs.a = malloc(n * bs.clusters * sizeof *bs.a);
    bs.b = malloc(n * bs.clusters * sizeof *bs.b);
    double *drawn = malloc(resamples * sizeof *drawn);
    size_t *chosen = malloc(bs.clusters * sizeof *chosen);
    if (bs.groups && bs.a && bs.b && drawn && chosen) {
        for (size_t i = n; i-- > 0;) {
            group *g = &bs.groups[pairs[i].cluster * bs.strata + pairs[i].stratum];
            g->from = i;
            g->count++;
        }
        const double ratio = stats_ratio(pairs, n);
        out = run_bootstrap(&bs, drawn, chosen, level, resamples, seed);
        if (out.low > ratio) out.low = ratio;
        if (out.high < ratio) out.high = ratio;
    }
    free(bs.groups);
    free(bs.a);
    free(bs.b);
    free(drawn);
    free(chosen);
    return out;
}

/* ---- the rank test ---- */

typedef struct ranked {
    double value;
    size_t from;                /* index before sorting */
    size_t rank2;               /* twice its midrank */
} ranked;

static int by_ranked(const void *x, const void *y)
{
    const double a = ((const ranked *)x)->value, b = ((const ranked *)y)->value;
    return (a > b) - (a < b);
}

/* Sorts and ranks; returns the sum of t^3 - t over groups of t equal values. */
static double rank_all(ranked *v, size_t n)
{
    double ties = 0;
    qsort(v, n, sizeof *v, by_ranked);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && v[j].value == v[i].value; j++) continue;
        for (size_t k = i; k < j; k++) v[k].rank2 = i + j + 1;
        const double t = (double)(j - i);
        ties += t * t * t - t;
    }
    return ties;
}

/* Twice the smaller tail, at `at`, of a distribution that is given as counts. */
static double two_sided(const double *ways, size_t size, size_t at)
{
    double low = 0, high = 0, all = 0;
    for (size_t s = 0; s < size; s++) {
        all += ways[s];
        if (s <= at) low += ways[s];
        if (s >= at) high += ways[s];
    }
    return fmin(1, 2 * fmin(low, high) / all);
}

static double normal_two_sided(double distance, double variance)
{
    if (!(variance > 0)) return 1;
    return erfc(fmax(0, fabs(distance) - 0.5) / sqrt(2 * variance));
}

/* Two-sided p of the doubled sum `at` of positive ranks, when every sign is a fair coin. */
static double signed_rank_p(const ranked *v, size_t n, size_t at)
{
    const size_t size = n * (n + 1) + 1;
    double *ways = calloc(size, sizeof *ways);
    if (!ways) return NAN;
    ways[0] = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t s = size; s-- > v[i].rank2;) ways[s] += ways[s - v[i].rank2];
    const double p = two_sided(ways, size, at);
    free(ways);
    return p;
}

stats_test stats_signed_rank(const double *d, size_t n)
{
    stats_test t = {NAN, NAN, false};
    ranked *v = n ? malloc(n * sizeof *v) : NULL;
    if (!v) return t;
    size_t m = 0, sum2 = 0;
    for (size_t i = 0; i < n; i++)
        if (d[i] != 0) v[m++] = (ranked){fabs(d[i]), i, 0};
    const double ties = rank_all(v, m);
    for (size_t i = 0; i < m; i++)
        if (d[v[i].from] > 0) sum2 += v[i].rank2;
    const double x = (double)m;
    t.statistic = (double)sum2 / 2;
    t.exact = m <= EXACT_LIMIT;
    if (t.exact)
        t.p = signed_rank_p(v, m, sum2);
    else
        t.p = normal_two_sided(t.statistic - x * (x + 1) / 4,
                               x * (x + 1) * (2 * x + 1) / 24 - ties / 48);
    free(v);
    return t;
}
