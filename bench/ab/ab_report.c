/* SPDX-License-Identifier: MIT */
/* What the A/B harness leaves: Markdown for a reader, JSON for a program. */
#include "ab/ab.h"

#include "common/json.h"
#include "common/machine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool ab_untrained(const ab_options *o)
{
    static const char ending[] = "-untrained.weights";
    const size_t n = o->weights ? strlen(o->weights) : 0, m = sizeof ending - 1;
    return n >= m && !strcmp(o->weights + n - m, ending);
}

static void machine_line(char *text, size_t size)
{
    machine m;
    machine_read(&m);
    snprintf(text, size, "%s, %d core%s, %s, %s", m.cpu, m.cores, m.cores == 1 ? "" : "s", m.caches,
             m.os);
}

static void today(char *text, size_t size)
{
    const time_t now = time(NULL);
    strftime(text, size, "%Y-%m-%d %H:%M:%S UTC", gmtime(&now));
}

/* Seconds as milliseconds with four digits, "-" for NAN. */
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

static const char *interval_text(const stats_interval *i, char text[64])
{
    char t[2][32];
    if (isnan(i->low)) return strcpy(text, "-");
    snprintf(text, 64, "%s to %s", ms(i->low, t[0]), ms(i->high, t[1]));
    return text;
}

static void markdown_ratio(FILE *f, const ab_result *r)
{
    const stats_interval *i = &r->ratio_interval;
    if (!r->side[0].n) return;
    fprintf(f, "\nB takes %.3f of A's time", r->ratio);
    if (!isnan(i->low)) fprintf(f, " (95%% interval %.3f to %.3f)", i->low, i->high);
    fprintf(f, ", a speed-up of %.3f", 1 / r->ratio);
    if (!isnan(i->low)) fprintf(f, " (%.3f to %.3f)", 1 / i->high, 1 / i->low);
    fputc('.', f);
}

/* The smallest difference that so many rounds show, as a percentage. */
static double smallest(const ab_run *run, const ab_result *r, int rounds)
{
    ab_verdict_rule rule = ab_rule(run->o->looks);
    rule.least = run->o->least;
    return 100 * ab_smallest(r->control.spread, rounds, &rule);
}

static void markdown_control(FILE *f, const ab_run *run, const ab_result *r)
{
    const ab_control *c = &r->control;
    char t[32];
    if (!c->n) return;
    fprintf(f, "\nControl, A against A: %.3f (95%% interval %.3f to %.3f), over the rounds p %s: "
               "%s. %d rounds can tell a difference of %.1f%% apart, in 4 of 5 runs.\n",
            c->ratio, c->interval.low, c->interval.high, p_text(c->p, t),
            c->differs ? "**A differs from itself**" : "no difference shown", run->rounds_done,
            smallest(run, r, run->rounds_done));
}

static void markdown_result(FILE *f, const ab_run *run, const ab_result *r)
{
    char t[4][32], interval[64];
    fprintf(f, "\n## %s\n\n"
               "| ms | n | median | 95%% interval | min | MAD | first |\n"
               "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n", r->title);
    for (int side = 0; side < 2; side++) {
        const ab_column *c = &r->side[side];
        fprintf(f, "| %c: %s | %zu | %s | %s | %s | %s | %s |\n", 'A' + side, run->label[side],
                c->n, ms(c->median, t[0]), interval_text(&c->interval, interval), ms(c->min, t[1]),
                ms(c->mad, t[2]), ms(r->first[side], t[3]));
    }
    markdown_ratio(f, r);
    fprintf(f, " Over %d rounds p %s.\n", run->rounds_done, p_text(r->rounds.p, t[0]));
    markdown_control(f, run, r);
    fprintf(f, "\nVerdict: **%s**%s%s%s\n", r->verdict, r->why[0] ? " (" : "", r->why,
            r->why[0] ? ")" : "");
}

static void markdown_detections(FILE *f, const ab_run *run)
{
    const long *c = run->compared;
    const long all = c[SAME] + c[WITHIN] + c[BORDERLINE] + c[DIFFERENT] + c[INCOMPARABLE];
    if (run->o->speed) {
        fprintf(f, "\nResults: not compared, because `darknet speed` prints none (its input is all "
                   "zeros). GEMM_CHECK=1 checks every call.\n");
        return;
    }
    fprintf(f, "\nDetections: %ld pairs compared, %ld the same to the byte, %ld within %g points "
               "and %d pixels", all, c[SAME], c[WITHIN], compare_default.points,
            compare_default.reach);
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

/* That were measured, if every round finished. */
static int pairs_an_image(const ab_run *run)
{
    return run->looks_done ? run->o->n * run->looks_done : run->o->n;
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
        fprintf(f, "**The weights are untrained** (%s): the times are right, the detections mean "
                   "nothing.\n\n",
                o->weights);
    fprintf(f, "- network: %s%s%s\n", o->cfg, o->speed ? " (`darknet speed`, " : ", ",
            o->speed ? "no weights)" : o->weights);
    if (o->speed)
        fprintf(f, "- order: %d pairs of processes, %d passes each, in random order\n",
                run->rounds_done, AB_PASSES);
    else
        fprintf(f, "- order: pairs an image: %d, images: %zu, rounds of fresh processes: %d, "
                   "warm-up pairs a round: %d, idle %g ms, the process that waits is "
                   "stopped\n",
                pairs_an_image(run), o->image_count, run->rounds_done, o->warmup, 1000 * o->idle);
    fprintf(f, "- looks at the samples: %d of at most %d, each after %d rounds\n",
            run->looks_done, o->looks, o->rounds);
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
    fprintf(f, "\nB is called faster or slower only if the interval of the ratio does not contain "
               "1, p over the rounds is under %.2g and the difference is at least %g%%. With up to "
               "%d look%s this keeps the chance of a wrong verdict at 5%% (Pocock 1977).\n",
            ab_rule(run->o->looks).p, 100 * run->o->least, run->o->looks,
            run->o->looks == 1 ? "" : "s");
}

static void json_control(FILE *f, const ab_run *run, const ab_result *r)
{
    static const char *const keys[] = {"n", "ratio", "ratio_low", "ratio_high", "rounds_p",
                                       "smallest_percent"};
    const ab_control *c = &r->control;
    if (!c->n) return;
    const double v[] = {(double)c->n, c->ratio, c->interval.low, c->interval.high, c->p,
                        smallest(run, r, run->rounds_done)};
    fprintf(f, ",\n      \"control\": {");
    json_numbers(f, 6, keys, v);
    fprintf(f, ", \"differs\": %s}", c->differs ? "true" : "false");
}

static void json_result(FILE *f, const ab_run *run, const ab_result *r)
{
    static const char *const side_keys[] = {"n", "median_s", "low_s", "high_s", "min_s", "mad_s",
                                            "first_s"};
    static const char *const keys[] = {"ratio", "ratio_low", "ratio_high", "rounds_p"};
    fprintf(f, "    \"%s\": {\n", r->key);
    for (int s = 0; s < 2; s++) {
        const ab_column *c = &r->side[s];
        const double v[] = {(double)c->n, c->median, c->interval.low, c->interval.high, c->min,
                            c->mad, r->first[s]};
        fprintf(f, "      \"%c\": {", 'a' + s);
        json_numbers(f, 7, side_keys, v);
        fprintf(f, "},\n");
    }
    const double v[] = {r->ratio, r->ratio_interval.low, r->ratio_interval.high, r->rounds.p};
    fprintf(f, "      ");
    json_numbers(f, 4, keys, v);
    json_control(f, run, r);
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
               "\"looks\": %d, \"most_looks\": %d, \"idle_ms\": %g,\n",
            ab_untrained(o) ? "true" : "false", (unsigned long long)o->seed, pairs_an_image(run),
            run->rounds_done, run->looks_done, o->looks, 1000 * o->idle);
    fprintf(f, "  \"detections\": {\"same\": %ld, \"within\": %ld, \"borderline\": %ld, "
               "\"different\": %ld},\n  \"results\": {\n", c[SAME], c[WITHIN], c[BORDERLINE],
            c[DIFFERENT] + c[INCOMPARABLE]);
    json_result(f, run, &results[0]);
    fprintf(f, ",\n");
    json_result(f, run, &results[1]);
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
