/*
 * Samples to a verdict.
 *
 * A verdict of faster or slower is given only where four things agree:
 *   - the bootstrap interval of the ratio leaves out 1;
 *   - Mann and Whitney's p is under the limit;
 *   - so is Wilcoxon's over the rounds. In a control every round is a fair coin, whatever the noise
 *     within it does, so this alone keeps wrong verdicts under the limit on a machine that drifts;
 *   - the difference is large enough to matter.
 * It is void where the detections differ, and there is none where the run did not finish.
 */
#include "ab/ab.h"

#include "common/json.h"
#include "common/machine.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const ab_verdict_rule ab_rule = {.level = 0.95, .p = 0.05, .least = 0.01, .resamples = 4000};

/* ---- from pairs to a verdict ---- */

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

/* Times over the median of both sides for their image, so that images of different size can be
   ranked together. */
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

/* Signed ranks over the logarithm of each round's ratio. `pairs` is in order of rounds. */
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
    if (!below && !above)
        snprintf(r->why, sizeof r->why, "the interval of the ratio holds 1");
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

/* The measured pairs of a run that are complete, by one of the measures. */
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

bool ab_summarise(const ab_run *run, ab_result results[2])
{
    ab_verdict_rule rule = ab_rule;
    stats_pair *pairs = malloc((run->count + 1) * sizeof *pairs);
    if (!pairs) return false;
    rule.least = run->o->least;
    for (int wall = 0; wall < 2; wall++) {
        ab_result *r = &results[wall];
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
    free(pairs);
    return true;
}

/* ---- writing ---- */

static void machine_line(char *text, size_t size)
{
    machine m;
    machine_read(&m);
    snprintf(text, size, "%s, %d cores, %s", m.cpu, m.cores, m.os);
}

static void today(char *text, size_t size)
{
    const time_t now = time(NULL);
    strftime(text, size, "%Y-%m-%d %H:%M:%S UTC", gmtime(&now));
}

bool ab_untrained(const ab_options *o)
{
    static const char ending[] = "-untrained.weights";
    const size_t n = o->weights ? strlen(o->weights) : 0, m = sizeof ending - 1;
    return n >= m && !strcmp(o->weights + n - m, ending);
}

/* Seconds as milliseconds with four figures, "-" where there are none. */
static const char *ms(double seconds, char text[32])
{
    if (isnan(seconds)) return strcpy(text, "-");
    const double v = 1000 * seconds;
    snprintf(text, 32, "%.*f", v < 10 ? 3 : v < 100 ? 2 : v < 1000 ? 1 : 0, v);
    return text;
}

static const char *p_text(double p, char text[32])
{
    if (isnan(p)) return strcpy(text, "-");
    if (p < 1e-4) return strcpy(text, "< 0.0001");
    snprintf(text, 32, "= %.4f", p);
    return text;
}

static void markdown_result(FILE *f, const ab_run *run, const ab_result *r)
{
    char t[6][32];
    fprintf(f, "\n## %s\n\n"
               "| ms | n | median | 95%% interval | min | MAD | first |\n"
               "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n", r->title);
    for (int side = 0; side < 2; side++) {
        const ab_column *c = &r->side[side];
        fprintf(f, "| %c: %s | %zu | %s | %s to %s | %s | %s | %s |\n", 'A' + side,
                run->label[side], c->n, ms(c->median, t[0]), ms(c->interval.low, t[1]),
                ms(c->interval.high, t[2]), ms(c->min, t[3]), ms(c->mad, t[4]),
                ms(r->first[side], t[5]));
    }
    fprintf(f, "\nB takes %.3f of A's time (95%% interval %.3f to %.3f), a speed-up of %.3f (%.3f to "
               "%.3f). Mann-Whitney p %s; over %d rounds p %s.\n\nVerdict: **%s**%s%s%s\n",
            r->ratio, r->ratio_interval.low, r->ratio_interval.high, 1 / r->ratio,
            1 / r->ratio_interval.high, 1 / r->ratio_interval.low,
            p_text(r->mann_whitney.p, t[0]), run->rounds_done, p_text(r->rounds.p, t[1]),
            r->verdict, r->why[0] ? " (" : "", r->why, r->why[0] ? ")" : "");
}

static void markdown_detections(FILE *f, const ab_run *run)
{
    const long *c = run->compared;
    const long all = c[SAME] + c[WITHIN] + c[BORDERLINE] + c[DIFFERENT] + c[INCOMPARABLE];
    if (run->o->speed) {
        fprintf(f, "\nResults: not compared, since `darknet speed` prints none (its input is all "
                   "zeros); GEMM_CHECK=1 checks every call.\n");
        return;
    }
    fprintf(f, "\nDetections: %ld pairs compared, %ld the same to the byte, %ld within %g points and "
               "%d pixels", all, c[SAME], c[WITHIN], run->o->points, compare_default.reach);
    if (c[BORDERLINE])
        fprintf(f, ", %ld with a label at the threshold on one side (drawings not compared)",
                c[BORDERLINE]);
    fprintf(f, ", **%ld different**.\n", c[DIFFERENT] + c[INCOMPARABLE]);
    if (run->difference[0]) fprintf(f, "First difference: %s\n", run->difference);
}

static double median_load(const ab_run *run, int side)
{
    double *v = run->rounds_done ? malloc((size_t)run->rounds_done * sizeof *v) : NULL;
    if (!v) return NAN;
    memcpy(v, run->load[side], (size_t)run->rounds_done * sizeof *v);
    const double median = stats_median(v, (size_t)run->rounds_done);
    free(v);
    return median;
}

static void markdown_settings(FILE *f, const ab_run *run)
{
    const ab_options *o = run->o;
    char machine[1024], date[64];
    machine_line(machine, sizeof machine);
    today(date, sizeof date);
    fprintf(f, "# A/B: %s against %s\n\n", run->label[0], run->label[1]);
    if (run->problem[0]) fprintf(f, "**The run did not finish:** %s\n\n", run->problem);
    if (ab_untrained(o))
        fprintf(f, "**The weights are untrained** (%s): times hold, detections mean nothing.\n\n",
                o->weights);
    fprintf(f, "- network: %s%s%s\n", o->cfg, o->speed ? " (`darknet speed`, " : ", ",
            o->speed ? "no weights)" : o->weights);
    if (o->speed)
        fprintf(f, "- order: %d pairs of processes, %d passes each, in random order\n", o->n, o->tics);
    else
        fprintf(f, "- order: %d pairs an image, %zu image%s, %d rounds of fresh processes, %d warm-up "
                   "pair%s a round thrown away, idle %g ms, the waiting process %s\n", o->n,
                o->image_count, o->image_count == 1 ? "" : "s", o->rounds, o->warmup,
                o->warmup == 1 ? "" : "s", 1000 * o->idle, o->pause ? "stopped" : "left running");
    fprintf(f, "- machine: %s\n- date: %s\n- seed: %llu (order and bootstrap)\n", machine, date,
            (unsigned long long)o->seed);
}

static void write_markdown(FILE *f, const ab_run *run, const ab_result results[2])
{
    char t[2][32];
    markdown_settings(f, run);
    for (int i = 0; i < 2; i++) markdown_result(f, run, &results[i]);
    markdown_detections(f, run);
    if (!run->o->speed)
        fprintf(f, "\nStart of the process to its first prompt, median: A %s ms, B %s ms.\n",
                ms(median_load(run, 0), t[0]), ms(median_load(run, 1), t[1]));
    fprintf(f, "\n\"faster\" and \"slower\" (of B) are said only where the interval of the ratio leaves "
               "out 1, both p are under %g and the difference is at least %g%%.\n", ab_rule.p,
            100 * run->o->least);
}

static void json_result(FILE *f, const ab_result *r)
{
    static const char *const side_keys[] = {"n", "median_s", "low_s", "high_s", "min_s", "mad_s",
                                            "first_s"};
    static const char *const keys[] = {"ratio", "ratio_low", "ratio_high", "mann_whitney_u",
                                       "mann_whitney_p", "rounds_p"};
    fprintf(f, "    \"%s\": {\n", r->key);
    for (int s = 0; s < 2; s++) {
        const ab_column *c = &r->side[s];
        const double v[] = {(double)c->n, c->median, c->interval.low, c->interval.high, c->min,
                            c->mad, r->first[s]};
        fprintf(f, "      \"%c\": {", 'a' + s);
        json_numbers(f, 7, side_keys, v);
        fprintf(f, "},\n");
    }
    const double v[] = {r->ratio, r->ratio_interval.low, r->ratio_interval.high,
                        r->mann_whitney.statistic, r->mann_whitney.p, r->rounds.p};
    fprintf(f, "      ");
    json_numbers(f, 6, keys, v);
    fprintf(f, ",\n      ");
    json_field(f, "verdict", r->verdict);
    fprintf(f, ", ");
    json_field(f, "why", r->why);
    fprintf(f, "\n    }");
}

static void write_json(FILE *f, const ab_run *run, const ab_result results[2])
{
    const ab_options *o = run->o;
    const long *c = run->compared;
    char machine[1024], date[64];
    machine_line(machine, sizeof machine);
    today(date, sizeof date);
    const char *const fields[][2] = {
        {"a", run->label[0]}, {"b", run->label[1]}, {"cfg", o->cfg},
        {"weights", o->weights ? o->weights : ""}, {"mode", o->speed ? "speed" : "detect"},
        {"machine", machine}, {"date", date}, {"problem", run->problem},
        {"difference", run->difference}};
    fprintf(f, "{\n");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        fprintf(f, "  ");
        json_field(f, fields[i][0], fields[i][1]);
        fprintf(f, ",\n");
    }
    fprintf(f, "  \"images\": [");
    for (size_t i = 0; !o->speed && i < o->image_count; i++) {
        if (i) fputs(", ", f);
        json_string(f, o->images[i]);
    }
    fprintf(f, "],\n  \"untrained\": %s, \"seed\": %llu, \"n\": %d, \"rounds\": %d, "
               "\"idle_ms\": %g,\n", ab_untrained(o) ? "true" : "false", (unsigned long long)o->seed,
            o->n, run->rounds_done, 1000 * o->idle);
    fprintf(f, "  \"detections\": {\"same\": %ld, \"within\": %ld, \"borderline\": %ld, "
               "\"different\": %ld},\n  \"results\": {\n", c[SAME], c[WITHIN], c[BORDERLINE],
            c[DIFFERENT] + c[INCOMPARABLE]);
    json_result(f, &results[0]);
    fprintf(f, ",\n");
    json_result(f, &results[1]);
    fprintf(f, "\n  }\n}\n");
}

typedef void writer(FILE *, const ab_run *, const ab_result[2]);

static bool write_file(ab_run *run, const ab_result results[2], const char *ending, writer *write)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s.%s", run->o->out, run->o->name, ending) >= PATH_MAX)
        return false;
    FILE *f = fopen(path, "w");
    if (f) {
        write(f, run, results);
        const bool bad = ferror(f);
        if (!fclose(f) && !bad) return true;
    }
    fprintf(stderr, "ab: cannot write %s: %s\n", path, strerror(errno));
    return false;
}

bool ab_report(ab_run *run, const ab_result results[2])
{
    write_markdown(stdout, run, results);
    bool good = !fflush(stdout);
    good &= write_file(run, results, "md", write_markdown);
    good &= write_file(run, results, "json", write_json);
    return good;
}
