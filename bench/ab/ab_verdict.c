/* SPDX-License-Identifier: MIT */
/*
 * From samples to a verdict, and when to stop.
 *
 * The verdict is faster or slower only when all of these hold:
 *   - The bootstrap interval of the ratio does not contain 1.
 *   - The p of the Wilcoxon test over the rounds is under the limit. When A equals B, every round
 *     is a fair coin, whatever the noise does within it. So this test alone keeps wrong verdicts
 *     under the limit on a machine whose speed drifts.
 *   - The difference is large enough (--least).
 *   - Where the control calls A different from A: the two intervals do not meet.
 * It is "too noisy" where the interval of the control is wide and holds the ratio that was found.
 * It is void when the detections differ. There is none when the run did not finish.
 *
 * A run looks at its samples several times and stops at the first look with a verdict. Each look
 * is one more chance of a wrong verdict, so the limit of a look is lower than that of the run. The
 * limits are Pocock's: "Group sequential methods in the design and analysis of clinical trials",
 * Biometrika 64 (1977), 191-199. They hold whichever look is the last one. The interval has the
 * level of a look too, so it is a repeated confidence interval (Jennison and Turnbull, "Interim
 * analyses: the repeated confidence interval approach", J. R. Stat. Soc. B 51 (1989), 305-361).
 * So a run may also stop when the whole interval is nearer to 1 than --least.
 */
#include "ab/ab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

ab_verdict_rule ab_rule(int looks)
{
    /* Pocock's critical values of a normal variable for 1 to 5 looks: 5% in all. */
    static const double critical[AB_LOOKS] = {1.960, 2.178, 2.289, 2.361, 2.413};
    const double z = critical[looks - 1], p = erfc(z / sqrt(2));
    return (ab_verdict_rule){.level = 1 - p, .p = p, .critical = z, .least = 0.01,
                             .resamples = 4000};
}

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

/* The logarithm of each round's ratio; `pairs` is sorted by round. Returns the number of rounds. */
static size_t round_logs(const stats_pair *pairs, size_t n, double *logs)
{
    size_t rounds = 0;
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && pairs[j].cluster == pairs[i].cluster; j++) continue;
        logs[rounds++] = log(stats_ratio(pairs + i, j - i));
    }
    return rounds;
}

/* Wilcoxon over the rounds. */
static stats_test rank_rounds(const stats_pair *pairs, size_t n)
{
    stats_test t = {NAN, NAN, false};
    double *logs = malloc((n + 1) * sizeof *logs);
    if (!logs) return t;
    t = stats_signed_rank(logs, round_logs(pairs, n, logs));
    free(logs);
    return t;
}

static double spread_of_rounds(const stats_pair *pairs, size_t n)
{
    double *logs = malloc((n + 1) * sizeof *logs), sum = 0, squares = 0;
    if (!logs) return NAN;
    const size_t rounds = round_logs(pairs, n, logs);
    for (size_t i = 0; i < rounds; i++) sum += logs[i];
    for (size_t i = 0; i < rounds; i++) squares += pow(logs[i] - sum / (double)rounds, 2);
    free(logs);
    return rounds < 2 ? NAN : sqrt(squares / (double)(rounds - 1));
}

ab_control ab_judge_control(stats_pair *pairs, size_t n, size_t resamples, uint64_t seed)
{
    const ab_verdict_rule rule = ab_rule(1);
    ab_control c = {.n = n, .ratio = stats_ratio(pairs, n)};
    c.interval = stats_ratio_interval(pairs, n, rule.level, resamples, seed);
    c.p = rank_rounds(pairs, n).p;
    c.differs = (c.interval.low > 1 || c.interval.high < 1) && c.p < rule.p;
    c.spread = spread_of_rounds(pairs, n);
    return c;
}

double ab_smallest(double spread, int rounds, const ab_verdict_rule *rule)
{
    /* 0.8416: 4 runs in 5. A median of normal values varies sqrt(pi / 2) times as a mean does. */
    const double z = rule->critical + 0.8416;
    return fmax(rule->least, expm1(z * sqrt(acos(-1) / 2) * spread / sqrt(rounds)));
}

static bool control_shows_as_much(const ab_result *r)
{
    return r->control.n && r->control.differs &&
           r->ratio_interval.low <= r->control.interval.high &&
           r->control.interval.low <= r->ratio_interval.high;
}

/* A against A alone varies by more than a fifth, and as far as this ratio or farther. */
static bool is_too_noisy(const ab_result *r)
{
    const stats_interval *c = &r->control.interval;
    const double far = fmax(r->ratio, 1 / r->ratio);
    return r->control.n && c->high > 1.2 * c->low && fmax(c->high, 1 / c->low) >= far;
}

static void say_too_noisy(ab_result *r)
{
    r->verdict = "too noisy";
    snprintf(r->why, sizeof r->why, "repeat on a quiet machine: A against A alone is anywhere from "
                                    "%.3f to %.3f", r->control.interval.low,
             r->control.interval.high);
}

static void decide(ab_result *r, const ab_verdict_rule *rule)
{
    const stats_interval *i = &r->ratio_interval;
    const bool below = i->high < 1, above = i->low > 1;
    r->verdict = "no difference shown";
    r->stands = i->low > 1 - rule->least && i->high < 1 + rule->least;
    if (isnan(i->low))
        snprintf(r->why, sizeof r->why, "too few samples for an interval");
    else if (r->stands)
        snprintf(r->why, sizeof r->why, "the interval is within %g%% of 1", 100 * rule->least);
    else if (!below && !above)
        snprintf(r->why, sizeof r->why, "the interval of the ratio contains 1");
    else if (!(r->rounds.p < rule->p))
        snprintf(r->why, sizeof r->why, "the rounds do not agree: p is not under %.2g", rule->p);
    else if (!(fabs(r->ratio - 1) >= rule->least))
        snprintf(r->why, sizeof r->why, "the difference is under %g%%", 100 * rule->least);
    else if (control_shows_as_much(r))
        snprintf(r->why, sizeof r->why, "A against A differs as much");
    else if (is_too_noisy(r))
        say_too_noisy(r);
    else {
        r->verdict = below ? "faster" : "slower";
        r->stands = true;
    }
}

void ab_judge(ab_result *r, stats_pair *pairs, size_t n, const ab_verdict_rule *rule, uint64_t seed)
{
    describe(&r->side[0], pairs, n, 0, rule->level);
    describe(&r->side[1], pairs, n, 1, rule->level);
    r->ratio = stats_ratio(pairs, n);
    r->ratio_interval = stats_ratio_interval(pairs, n, rule->level, rule->resamples, seed);
    r->rounds = rank_rounds(pairs, n);
    r->why[0] = 0;
    decide(r, rule);
}

/* The complete pairs of a phase, by one of the two times. Returns their number. */
static size_t collect(const ab_run *run, ab_phase phase, bool wall, stats_pair *pairs)
{
    size_t n = 0;
    for (size_t i = 0; i + 1 < run->count; i++) {
        const ab_sample *x = &run->samples[i], *y = x + 1;
        if (x->phase != phase || x->position != 0 || y->pair != x->pair) continue;
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

static ab_control judge_control(const ab_run *run, bool wall, stats_pair *pairs)
{
    const size_t n = collect(run, AB_CONTROL, wall, pairs);
    if (!n) return (ab_control){0};
    return ab_judge_control(pairs, n, ab_rule(1).resamples, run->o->seed);
}

static const char *title_of(const ab_run *run, bool wall)
{
    if (run->o->speed) return wall ? "wall time of the process" : "one forward pass";
    return wall ? "wall time of the image" : "\"Predicted in\"";
}

static void judge_run(const ab_run *run, bool wall, stats_pair *pairs, ab_result *r)
{
    ab_verdict_rule rule = ab_rule(run->o->looks);
    rule.least = run->o->least;
    *r = (ab_result){.key = wall ? "wall" : "predicted", .title = title_of(run, wall)};
    r->control = judge_control(run, wall, pairs);
    ab_judge(r, pairs, collect(run, AB_MEASURED, wall, pairs), &rule, run->o->seed);
    r->first[0] = first_median(run, wall, 0);
    r->first[1] = first_median(run, wall, 1);
    if (run->problem[0]) {
        r->verdict = "none";
        snprintf(r->why, sizeof r->why, "the run did not finish");
    } else if (run->compared[DIFFERENT] + run->compared[INCOMPARABLE] > 0) {
        r->verdict = "void";
        r->stands = true;
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

bool ab_announce(const ab_run *run)
{
    const ab_options *o = run->o;
    stats_pair *pairs = malloc((run->count + 1) * sizeof *pairs);
    ab_verdict_rule rule = ab_rule(o->looks);
    if (!pairs) return false;
    rule.least = o->least;
    for (int wall = 0; wall < 2; wall++) {
        const ab_control c = judge_control(run, wall, pairs);
        fprintf(stderr, "ab: %s: A against A %.3f (%.3f to %.3f)%s; "
                        "%d rounds can tell a difference of %.1f%% apart",
                title_of(run, wall), c.ratio, c.interval.low, c.interval.high,
                c.differs ? ", which should be 1" : "", o->rounds,
                100 * ab_smallest(c.spread, o->rounds, &rule));
        if (o->looks > 1)
            fprintf(stderr, ", %d rounds %.1f%%", o->rounds * o->looks,
                    100 * ab_smallest(c.spread, o->rounds * o->looks, &rule));
        fputc('\n', stderr);
    }
    free(pairs);
    return true;
}
