/*
 * From samples to a verdict.
 *
 * The verdict is faster or slower only when all of these hold:
 *   - The bootstrap interval of the ratio does not contain 1.
 *   - The p of the Mann-Whitney test is under the limit.
 *   - The p of the Wilcoxon test over the rounds is under the limit. When A equals B, every round
 *     is a fair coin, whatever the noise does within it. So this test alone keeps wrong verdicts
 *     under the limit on a machine whose speed drifts.
 *   - The difference is large enough (--least).
 * It is void when the detections differ. There is none when the run did not finish.
 */
#include "ab/ab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const ab_verdict_rule ab_rule = {.level = 0.95, .p = 0.05, .least = 0.01, .resamples = 4000};

/* The times of one side. The caller frees them. NULL without memory. */
static double *column(const stats_pair *pairs, size_t n, int side)
{
    double *v = malloc((n + 1) * sizeof *v);
    for (size_t i = 0; v && i < n; i++) v[i] = side ? pairs[i].b : pairs[i].a;
    return v;
}

static void describe(ab_column *c, const stats_pair *pairs, size_t n, int side, double level)
{
    double *v = column(pairs, n, side);
    *c = (ab_column){n, NAN, NAN, NAN, {NAN, NAN}};
    if (v && n) {
        c->mad = stats_mad(v, n);
        c->median = stats_median(v, n);
        c->min = v[0];
        c->interval = stats_median_interval(v, n, level);
    }
    free(v);
}

/* Mann-Whitney over all images: each time is divided by the median of both sides for its image,
   because images take different times. */
static stats_test rank_sides(const stats_pair *pairs, size_t n)
{
    stats_test t = {NAN, NAN, false};
    double *v = malloc((4 * n + 1) * sizeof *v);
    if (!v) return t;
    double *a = v, *b = v + n, *both = v + 2 * n;
    for (size_t i = 0; i < n; i++) {
        size_t m = 0;
        for (size_t j = 0; j < n; j++) {
            if (pairs[j].stratum != pairs[i].stratum) continue;
            both[m++] = pairs[j].a;
            both[m++] = pairs[j].b;
        }
        const double scale = stats_median(both, m);
        a[i] = pairs[i].a / scale;
        b[i] = pairs[i].b / scale;
    }
    t = stats_mann_whitney(a, n, b, n);
    free(v);
    return t;
}

/* Wilcoxon over the logarithm of each round's ratio. `pairs` is sorted by round. */
static stats_test rank_rounds(const stats_pair *pairs, size_t n)
{
    stats_test t = {NAN, NAN, false};
    double *logs = malloc((n + 1) * sizeof *logs);
    size_t rounds = 0;
    if (!logs) return t;
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && pairs[j].cluster == pairs[i].cluster; j++) continue;
        logs[rounds++] = log(stats_ratio(pairs + i, j - i));
    }
    t = stats_signed_rank(logs, rounds);
    free(logs);
    return t;
}

static void decide(ab_result *r, const ab_verdict_rule *rule)
{
    const bool below = r->ratio_interval.high < 1, above = r->ratio_interval.low > 1;
    r->verdict = "no difference shown";
    if (isnan(r->ratio_interval.low))
        snprintf(r->why, sizeof r->why, "too few samples for an interval");
    else if (!below && !above)
        snprintf(r->why, sizeof r->why, "the interval of the ratio contains 1");
    else if (!(r->mann_whitney.p < rule->p))
        snprintf(r->why, sizeof r->why, "Mann-Whitney p is not under %g", rule->p);
    else if (!(r->rounds.p < rule->p))
        snprintf(r->why, sizeof r->why, "the rounds do not agree: p is not under %g", rule->p);
    else if (!(fabs(r->ratio - 1) >= rule->least))
        snprintf(r->why, sizeof r->why, "the difference is under %g%%", 100 * rule->least);
    else
        r->verdict = below ? "faster" : "slower";
}

void ab_judge(ab_result *r, stats_pair *pairs, size_t n, const ab_verdict_rule *rule, uint64_t seed)
{
    describe(&r->side[0], pairs, n, 0, rule->level);
    describe(&r->side[1], pairs, n, 1, rule->level);
    r->ratio = stats_ratio(pairs, n);
    r->ratio_interval = stats_ratio_interval(pairs, n, rule->level, rule->resamples, seed);
    r->mann_whitney = rank_sides(pairs, n);
    r->rounds = rank_rounds(pairs, n);
    r->why[0] = 0;
    decide(r, rule);
}

/* The complete measured pairs of a run, by one of the two times. Returns their number. */
static size_t collect(const ab_run *run, bool wall, stats_pair *pairs)
{
    size_t n = 0;
    for (size_t i = 0; i + 1 < run->count; i++) {
        const ab_sample *x = &run->samples[i], *y = x + 1;
        if (x->phase != AB_MEASURED || x->position != 0 || y->pair != x->pair) continue;
        const ab_sample *a = x->side == 0 ? x : y, *b = x->side == 0 ? y : x;
        pairs[n++] = (stats_pair){wall ? a->wall : a->inner, wall ? b->wall : b->inner,
                                  (size_t)x->round, x->image};
    }
    return n;
}

static double first_median(const ab_run *run, bool wall, int side)
{
    double *v = malloc((run->count + 1) * sizeof *v), median = NAN;
    size_t n = 0;
    for (size_t i = 0; v && i < run->count; i++)
        if (run->samples[i].phase == AB_FIRST && run->samples[i].side == side)
            v[n++] = wall ? run->samples[i].wall : run->samples[i].inner;
    if (v) median = stats_median(v, n);
    free(v);
    return median;
}

static void judge_run(const ab_run *run, bool wall, stats_pair *pairs, ab_result *r)
{
    ab_verdict_rule rule = ab_rule;
    rule.least = run->o->least;
    *r = (ab_result){.key = wall ? "wall" : "predicted", .title = "wall time of the image"};
    if (run->o->speed) r->title = wall ? "wall time of the process" : "one forward pass";
    else if (!wall) r->title = "\"Predicted in\"";
    ab_judge(r, pairs, collect(run, wall, pairs), &rule, run->o->seed);
    r->first[0] = first_median(run, wall, 0);
    r->first[1] = first_median(run, wall, 1);
    if (run->problem[0]) {
        r->verdict = "none";
        snprintf(r->why, sizeof r->why, "the run did not finish");
    } else if (run->compared[DIFFERENT] + run->compared[INCOMPARABLE] > 0) {
        r->verdict = "void";
        snprintf(r->why, sizeof r->why, "the detections of A and B differ");
    }
}

bool ab_summarise(const ab_run *run, ab_result results[2])
{
    stats_pair *pairs = malloc((run->count + 1) * sizeof *pairs);
    if (!pairs) return false;
    judge_run(run, false, pairs, &results[0]);
    judge_run(run, true, pairs, &results[1]);
    free(pairs);
    return true;
}
