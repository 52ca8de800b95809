/* SPDX-License-Identifier: MIT */
/* Three printers over one list of columns. */
#include "common/results.h"

#include "common/json.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

static const results_width *width_of(const results_head *h, int threads)
{
    for (int i = 0; i < h->width_count; ++i)
        if (h->widths[i].threads == threads) return &h->widths[i];
    return NULL;
}

/* GB/s that so many threads reach at best, or NAN. */
static double best_bandwidth(const results_head *h, int threads)
{
    const results_width *w = width_of(h, threads);
    const double gbs = w ? fmax(w->bandwidth.read_gbs, w->bandwidth.triad_gbs) : NAN;
    return gbs > 0 ? gbs : NAN;
}

/* ---- columns ---- */

typedef struct column {
    const char *name;
    const char *text;           /* or NULL: then the number */
    double number;              /* NAN: not known */
} column;

enum {
    IMPL, TA, TB, M, N, K, THREADS, MEDIAN, MIN, GFLOPS, PEAK, BANDWIDTH, MAD, SAMPLES, FIRST,
    CYCLES, SPEEDUP, CALLS, CACHE, RAN, STATUS, REASON, COLUMNS
};

static void columns_of(const results_head *h, const results_row *x, column *c)
{
    const double gflops = 1e-9 * x->flops / x->median_s;
    const double gbs = 1e-9 * x->bytes / x->median_s;
    const column all[COLUMNS] = {
        [IMPL] = {"impl", x->impl, 0},
        [TA] = {"TA", NULL, x->shape.TA},
        [TB] = {"TB", NULL, x->shape.TB},
        [M] = {"M", NULL, x->shape.M},
        [N] = {"N", NULL, x->shape.N},
        [K] = {"K", NULL, x->shape.K},
        [THREADS] = {"threads", NULL, x->threads},
        [MEDIAN] = {"median_ms", NULL, 1e3 * x->median_s},
        [MIN] = {"min_ms", NULL, 1e3 * x->min_s},
        [GFLOPS] = {"gflops", NULL, gflops},
        [PEAK] = {"peak_percent", NULL, 100 * x->peak_s / x->median_s},
        [BANDWIDTH] = {"bandwidth_percent", NULL, 100 * gbs / best_bandwidth(h, x->threads)},
        [MAD] = {"mad_ms", NULL, 1e3 * x->mad_s},
        [SAMPLES] = {"samples", NULL, x->samples},
        [FIRST] = {"first_ms", NULL, 1e3 * x->first_s},
        [CYCLES] = {"cycles", NULL, x->cycles},
        [SPEEDUP] = {"speedup", NULL, x->base_s / x->median_s},
        [CALLS] = {"calls", NULL, (double)x->shape.calls},
        [CACHE] = {"cache", x->cache, 0},
        [RAN] = {"ran", x->ran, 0},
        [STATUS] = {"status", x->status, 0},
        [REASON] = {"reason", x->text, 0},
    };
    memcpy(c, all, sizeof(all));
}

/* ---- JSON and CSV ---- */

static void json_column(FILE *out, const column *c)
{
    if (!c->text) json_number(out, c->name, c->number);
    else if (*c->text) json_field(out, c->name, c->text);
    else fprintf(out, "\"%s\": null", c->name);
}

/* The columns from..to-1 with a comma between two of them. */
static void json_columns(FILE *out, const column *c, int from, int to)
{
    for (int i = from; i < to; ++i) {
        if (i > from) fputs(", ", out);
        json_column(out, &c[i]);
    }
}

/* Seconds with all their digits, and the round of each. */
static void json_samples(FILE *out, const results_row *x)
{
    if (!x->sample_s) return;
    fputs(", \"sample_s\": [", out);
    for (int i = 0; i < x->samples; ++i) fprintf(out, "%s%.9g", i ? ", " : "", x->sample_s[i]);
    fputs("], \"sample_rounds\": [", out);
    for (int i = 0; i < x->samples; ++i) fprintf(out, "%s%d", i ? ", " : "", x->sample_rounds[i]);
    fputc(']', out);
}

static void json_widths(FILE *out, const results_head *h)
{
    fputs("  \"machine_peaks\": [", out);
    for (int i = 0; i < h->width_count; ++i) {
        const results_width *w = &h->widths[i];
        fprintf(out, "%s\n    {\"threads\": %d", i ? "," : "", w->threads);
        for (size_t isa = 0; isa < peak_isa_count; ++isa)
            if (w->gflops[isa] > 0)
                fprintf(out, ", \"%s_gflops\": %.1f", peak_isas[isa].name, w->gflops[isa]);
        if (w->bandwidth.read_gbs > 0)
            fprintf(out, ", \"read_gbs\": %.2f, \"triad_gbs\": %.2f", w->bandwidth.read_gbs,
                    w->bandwidth.triad_gbs);
        fputc('}', out);
    }
    fputs("\n  ],\n", out);
}

static void json_versions(FILE *out, const results_head *h)
{
    const machine *m = &h->machine;
    const char *const build[][2] = {{"compiler", m->compiler}, {"flags", m->flags},
                                    {"commit", m->commit}, {"libc", m->libc}};
    fputs("  \"versions\": {", out);
    for (int i = 0; i < 4; ++i) {
        if (i) fputs(", ", out);
        json_field(out, build[i][0], build[i][1]);
    }
    for (int i = 0; i < h->version_count; ++i) {
        fputs(", ", out);
        json_field(out, h->versions[i].name, h->versions[i].version);
    }
    fputs("},\n", out);
}

static void json_begin(FILE *out, const results_head *h)
{
    const int widest = h->widths[h->width_count - 1].threads;
    fputs("{\n  ", out);
    machine_json(out, &h->machine);
    fputs(",\n", out);
    fprintf(out, "  \"peak_isa\": \"%s\",\n  ", peak_isas[h->peak_isa].name);
    const double gflops = width_of(h, widest)->gflops[h->peak_isa];
    json_number(out, "peak_gflops", gflops > 0 ? gflops : NAN);
    fputs(",\n  ", out);
    json_number(out, "bandwidth_gbs", best_bandwidth(h, widest));
    fputs(",\n", out);
    json_widths(out, h);
    fputs("  ", out);
    json_field(out, "time", h->time);
    fputs(",\n  ", out);
    json_field(out, "shapes", h->shapes);
    fprintf(out, ",\n  \"seed\": %llu,\n  ", (unsigned long long)h->seed);
    json_field(out, "memory", h->memory);
    fputs(",\n", out);
    json_versions(out, h);
    fputs("  \"results\": [", out);
}

/* Quoted when the value needs it: a reason may hold commas. */
static void csv_string(FILE *out, const char *s)
{
    if (!strpbrk(s, ",\"\n")) {
        fputs(s, out);
        return;
    }
    fputc('"', out);
    for (; *s; ++s) {
        if (*s == '"') fputc('"', out);
        fputc(*s, out);
    }
    fputc('"', out);
}

static void csv_names(FILE *out, const column *c)
{
    for (int i = 0; i < COLUMNS; ++i) fprintf(out, "%s%s", i ? "," : "", c[i].name);
    fputc('\n', out);
}

static void csv_row(FILE *out, const column *c)
{
    for (int i = 0; i < COLUMNS; ++i) {
        if (i) fputc(',', out);
        if (c[i].text) csv_string(out, c[i].text);
        else if (isfinite(c[i].number)) fprintf(out, "%.9g", c[i].number);
    }
    fputc('\n', out);
}

/* ---- text: Markdown, with columns that also line up on a terminal ---- */

static void text_head(FILE *out, const results_head *h)
{
    const machine *m = &h->machine;
    fprintf(out, "- machine: %s, %d core%s, %s, %.1f GiB\n", m->cpu, m->cores,
            m->cores == 1 ? "" : "s", m->caches, m->memory_gib);
    fprintf(out, "- system: %s, libc %s, load %.2f\n", m->os, m->libc, m->load);
    fprintf(out, "- compiler: %s: %s\n", m->compiler, m->flags);
    fprintf(out, "- commit: %s\n", m->commit);
    for (int i = 0; i < h->version_count; ++i)
        fprintf(out, "- %s: %s\n", h->versions[i].name, h->versions[i].version);
    fprintf(out, "- run: %s, shapes %s, seed %llu, memory of %s\n", h->time, h->shapes,
            (unsigned long long)h->seed, h->memory);
    for (int i = 0; i < h->width_count; ++i) {
        const results_width *w = &h->widths[i];
        if (w->bandwidth.read_gbs <= 0) continue;
        fprintf(out, "- peak of %d thread%s:", w->threads, w->threads == 1 ? "" : "s");
        for (size_t isa = 0; isa < peak_isa_count; ++isa)
            if (w->gflops[isa] > 0)
                fprintf(out, " %s %.1f GFLOP/s,", peak_isas[isa].name, w->gflops[isa]);
        fprintf(out, " memory read %.1f GB/s, triad %.1f GB/s\n", w->bandwidth.read_gbs,
                w->bandwidth.triad_gbs);
    }
    fprintf(out, "- %%peak: of the %s peak, measured again beside each call\n",
            peak_isas[h->peak_isa].name);
    fputs("- %mem: of the larger bandwidth, with A, B and C moved once\n"
          "- ran: another row or kernel did the work\n"
          "- declined: the row never does such transposes, and stock ran; this counts in no\n"
          "  speed-up and no total\n", out);
}

static void text_columns(FILE *out, const results_head *h)
{
    fprintf(out, "\n| %-*s | threads | cache | median ms |    min ms | mad %% |  first ms |"
                 "  GFLOP/s | %%peak |  %%mem | speed-up |   95%% interval | remark |\n|",
            h->label_width, "impl");
    for (int i = 0; i < h->label_width + 2; ++i) putc('-', out);
    fputs("|--------:|-------|----------:|----------:|------:|----------:|---------:|------:|"
          "------:|---------:|---------------:|--------|\n", out);
}

/* `decimals` digits behind the point, or (-1) four digits that mean something. */
static void text_number(FILE *out, int width, int decimals, double value)
{
    if (!isfinite(value)) fprintf(out, " %*s |", width, "-");
    else if (decimals < 0) fprintf(out, " %*.4g |", width, value);
    else fprintf(out, " %*.*f |", width, decimals, value);
}

static void text_row(const results *r, const results_row *x)
{
    FILE *out = r->out;
    column c[COLUMNS];
    columns_of(r->head, x, c);
    fprintf(out, "| %-*s | %7d | %5s |", r->head->label_width, x->impl, x->threads, x->cache);
    text_number(out, 9, -1, c[MEDIAN].number);
    text_number(out, 9, -1, c[MIN].number);
    text_number(out, 5, 1, 100 * x->mad_s / x->median_s);
    text_number(out, 9, -1, c[FIRST].number);
    text_number(out, 8, 2, c[GFLOPS].number);
    text_number(out, 5, 1, c[PEAK].number);
    text_number(out, 5, 1, c[BANDWIDTH].number);
    text_number(out, 8, 2, c[SPEEDUP].number);
    if (x->speedup.low > 0) fprintf(out, " %5.2f to %5.2f |", x->speedup.low, x->speedup.high);
    else fprintf(out, " %14s |", "-");
    if (isnan(x->median_s)) fprintf(out, " %s: %s", x->status, x->text);
    else if (strcmp(x->status, "ok")) fprintf(out, " %s:", x->status);
    if (*x->ran) fprintf(out, " ran %s", x->ran);
    fputs(" |\n", out);
}

static void text_result(results *r, const results_row *x)
{
    const shape *s = &x->shape;
    if (r->results == 0 || memcmp(&r->block, s, sizeof(*s))) {
        fprintf(r->out, "\n## %c%c, M %d, N %d, K %d", s->TA ? 'T' : 'N', s->TB ? 'T' : 'N', s->M,
                s->N, s->K);
        if (s->calls > 1) fprintf(r->out, " (%ld calls)", s->calls);
        fputc('\n', r->out);
        text_columns(r->out, r->head);
        r->block = *s;
    }
    text_row(r, x);
}

/* ---- the three together ---- */

/* Shows at once what was measured, and notices a full disk while errno has the reason. */
static void flush_out(results *r)
{
    if (r->error) return;
    errno = 0;
    if (fflush(r->out) || ferror(r->out)) r->error = errno ? errno : EIO;
    if (r->error == EPIPE) {            /* `| head`: nobody reads on */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
}

void results_begin(results *r, FILE *out, results_format format, const results_head *h)
{
    *r = (results){.out = out, .format = format, .head = h};
    column c[COLUMNS];
    columns_of(h, &(results_row){.impl = ""}, c);
    if (format == RESULTS_JSON) {
        json_begin(out, h);
    } else {
        text_head(format == RESULTS_CSV ? stderr : out, h);
        if (format == RESULTS_CSV) csv_names(out, c);
    }
    flush_out(r);
}

void results_add(results *r, const results_row *x)
{
    column c[COLUMNS];
    columns_of(r->head, x, c);
    if (r->format == RESULTS_CSV) {
        csv_row(r->out, c);
    } else if (r->format == RESULTS_JSON) {
        fprintf(r->out, "%s\n    {", r->results ? "," : "");
        json_columns(r->out, c, IMPL, COLUMNS);
        json_samples(r->out, x);
        fputc('}', r->out);
    } else {
        text_result(r, x);
    }
    ++r->results;
    flush_out(r);
}

void results_totals_begin(results *r)
{
    if (r->format == RESULTS_JSON) fputs("\n  ],\n  \"totals\": [", r->out);
    if (r->format == RESULTS_TEXT) {
        fputs("\n## Total, each shape as often as it is called\n", r->out);
        text_columns(r->out, r->head);
    }
    r->results = 0;
}

void results_total(results *r, const results_row *x, long calls, int shapes, int of)
{
    if (r->format == RESULTS_TEXT) {
        char note[64];
        results_row row = *x;
        snprintf(note, sizeof(note), "%d of %d shapes measured", shapes, of);
        row.text = note;
        text_row(r, &row);
    } else if (r->format == RESULTS_JSON) {
        column c[COLUMNS];
        columns_of(r->head, x, c);
        const column some[] = {c[IMPL], c[THREADS], c[MEDIAN], c[MIN], c[GFLOPS], c[PEAK],
                               c[BANDWIDTH], c[SPEEDUP], c[CACHE]};
        fprintf(r->out, "%s\n    {", r->results ? "," : "");
        json_columns(r->out, some, 0, sizeof(some) / sizeof(some[0]));
        fprintf(r->out, ", \"calls\": %ld, \"shapes\": %d, \"of_shapes\": %d}", calls, shapes, of);
    }
    ++r->results;
}

int results_end(results *r, bool complete)
{
    if (r->format == RESULTS_JSON)
        fprintf(r->out, "\n  ],\n  \"complete\": %s\n}\n", complete ? "true" : "false");
    if (r->format == RESULTS_TEXT && !complete)
        fputs("\nInterrupted: the rest is missing.\n", r->out);
    flush_out(r);
    return r->error;
}
