/* Three printers over one list of columns. */
#include "common/results.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const results_width *width_of(const results_head *h, int threads)
{
    for (int i = 0; i < h->width_count; ++i)
        if (h->widths[i].threads == threads) return &h->widths[i];
    return NULL;
}

double results_bandwidth(const results_head *h, int threads)
{
    const results_width *w = width_of(h, threads);
    if (!w) return -1;
    return fmax(w->bandwidth.read_gbs, w->bandwidth.triad_gbs);
}

/* The most threads that a row of this run may use. */
static int widest(const results_head *h)
{
    return h->width_count ? h->widths[h->width_count - 1].threads : 0;
}

/* ---- columns ---- */

typedef struct column {
    const char *name;
    const char *text;           /* a string, or NULL: then the number */
    double number;
    int decimals;
    bool known;
} column;

enum { COLUMNS = 22 };

static column number(const char *name, double value, int decimals, bool known)
{
    return (column){.name = name, .number = value, .decimals = decimals, .known = known};
}

static column string(const char *name, const char *text)
{
    return (column){.name = name, .text = text, .known = text[0] != '\0'};
}

static double percent(double part, double whole)
{
    return 100 * part / whole;
}

static void columns_of(const results *r, const results_row *x, column *c)
{
    const bool timed = x->median_s > 0;
    const double gflops = 1e-9 * x->flops / x->median_s;
    const double gbs = 1e-9 * x->bytes / x->median_s;
    const double bandwidth = results_bandwidth(r->head, x->threads);
    const column all[COLUMNS] = {
        string("impl", x->impl),
        number("TA", x->shape.TA, 0, true),
        number("TB", x->shape.TB, 0, true),
        number("M", x->shape.M, 0, true),
        number("N", x->shape.N, 0, true),
        number("K", x->shape.K, 0, true),
        number("threads", x->threads, 0, true),
        number("median_ms", 1e3 * x->median_s, 9, timed),
        number("min_ms", 1e3 * x->min_s, 9, timed),
        number("gflops", gflops, 6, timed),
        number("peak_percent", percent(x->peak_s, x->median_s), 2, timed && x->peak_s > 0),
        number("bandwidth_percent", percent(gbs, bandwidth), 2, timed && bandwidth > 0),
        number("mad_ms", 1e3 * x->mad_s, 9, timed),
        number("samples", x->samples, 0, true),
        number("first_ms", 1e3 * x->first_s, 9, x->first_s >= 0),
        number("cycles", x->cycles, 0, timed && x->cycles > 0),
        number("speedup", x->base_s / x->median_s, 4, timed && x->base_s > 0),
        number("calls", (double)x->shape.calls, 0, true),
        string("cache", x->cache),
        string("ran", x->ran),
        string("status", x->status),
        string("reason", x->text),
    };
    memcpy(c, all, sizeof(all));
}

/* ---- JSON and CSV ---- */

static void json_string(FILE *out, const char *s)
{
    fputc('"', out);
    for (; *s; ++s) {
        if (*s == '"' || *s == '\\') fprintf(out, "\\%c", *s);
        else if ((unsigned char)*s < 32) fprintf(out, "\\u%04x", (unsigned)*s);
        else fputc(*s, out);
    }
    fputc('"', out);
}

static void json_pair(FILE *out, const char *name, const char *value, const char *end)
{
    fprintf(out, "  \"%s\": ", name);
    json_string(out, value);
    fputs(end, out);
}

static void json_columns(FILE *out, const column *c, int count)
{
    for (int i = 0; i < count; ++i) {
        fprintf(out, "%s\"%s\": ", i ? ", " : "", c[i].name);
        if (!c[i].known) fputs("null", out);
        else if (c[i].text) json_string(out, c[i].text);
        else fprintf(out, "%.*f", c[i].decimals, c[i].number);
    }
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
        fprintf(out, ", \"read_gbs\": %.2f, \"triad_gbs\": %.2f}", w->bandwidth.read_gbs,
                w->bandwidth.triad_gbs);
    }
    fputs("\n  ],\n", out);
}

static void json_begin(FILE *out, const results_head *h)
{
    const machine *m = &h->machine;
    fputs("{\n  \"machine\": {\"cpu\": ", out);
    json_string(out, m->cpu);
    fprintf(out, ", \"cores\": %d, \"caches\": ", m->cores);
    json_string(out, m->caches);
    fprintf(out, ", \"memory_gib\": %.1f, \"load\": %.2f, \"os\": ", m->memory_gib, m->load);
    json_string(out, m->os);
    fputs("},\n", out);
    fprintf(out, "  \"peak_isa\": \"%s\",\n", peak_isas[h->peak_isa].name);
    fprintf(out, "  \"peak_gflops\": %.1f,\n", width_of(h, widest(h))->gflops[h->peak_isa]);
    fprintf(out, "  \"bandwidth_gbs\": %.2f,\n", results_bandwidth(h, widest(h)));
    json_widths(out, h);
    json_pair(out, "time", h->time, ",\n");
    json_pair(out, "shapes", h->shapes, ",\n");
    fprintf(out, "  \"seed\": %llu,\n", (unsigned long long)h->seed);
    fputs("  \"versions\": {", out);
    const char *build[][2] = {{"compiler", m->compiler}, {"flags", m->flags},
                              {"commit", m->commit}, {"libc", m->libc}};
    for (int i = 0; i < 4 + h->version_count; ++i) {
        fprintf(out, "%s\"%s\": ", i ? ", " : "", i < 4 ? build[i][0] : h->versions[i - 4].name);
        json_string(out, i < 4 ? build[i][1] : h->versions[i - 4].version);
    }
    fputs("},\n  \"results\": [", out);
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

static void csv_row(FILE *out, const column *c, bool names)
{
    for (int i = 0; i < COLUMNS; ++i) {
        if (i) fputc(',', out);
        if (names) fputs(c[i].name, out);
        else if (c[i].known && c[i].text) csv_string(out, c[i].text);
        else if (c[i].known) fprintf(out, "%.*f", c[i].decimals, c[i].number);
    }
    fputc('\n', out);
}

/* ---- text ---- */

static void text_head(FILE *out, const results_head *h)
{
    const machine *m = &h->machine;
    fprintf(out, "machine    %s, %d core%s, %s, %.1f GiB\n", m->cpu, m->cores,
            m->cores == 1 ? "" : "s", m->caches, m->memory_gib);
    fprintf(out, "system     %s, libc %s, load %.2f\n", m->os, m->libc, m->load);
    fprintf(out, "compiler   %s: %s\n", m->compiler, m->flags);
    fprintf(out, "commit     %s\n", m->commit);
    for (int i = 0; i < h->version_count; ++i)
        fprintf(out, "%-10s %s\n", h->versions[i].name, h->versions[i].version);
    fprintf(out, "run        %s, shapes %s, seed %llu\n", h->time, h->shapes,
            (unsigned long long)h->seed);
    for (int i = 0; i < h->width_count; ++i) {
        const results_width *w = &h->widths[i];
        fprintf(out, "peak       %d thread%s:", w->threads, w->threads == 1 ? "" : "s");
        for (size_t isa = 0; isa < peak_isa_count; ++isa)
            if (w->gflops[isa] > 0)
                fprintf(out, " %s %.1f%s", peak_isas[isa].name, w->gflops[isa],
                        (int)isa == h->peak_isa ? "*," : ",");
        fprintf(out, " GFLOP/s; read %.1f, triad %.1f GB/s\n", w->bandwidth.read_gbs,
                w->bandwidth.triad_gbs);
    }
    fputs("           * the best before the run; %peak: of that beside each call; %mem: A, B, C moved\n"
          "           once, of the larger bandwidth\n", out);
}

/* Milliseconds from a tenth of a microsecond to minutes: four digits that mean something. */
static void text_ms(FILE *out, double ms, bool known)
{
    if (known) fprintf(out, " %10.4g", ms);
    else fprintf(out, " %10s", "-");
}

static void text_number(FILE *out, int width, int decimals, double value, bool known)
{
    if (known) fprintf(out, " %*.*f", width, decimals, value);
    else fprintf(out, " %*s", width, "-");
}

static void text_columns(FILE *out, const results_head *h)
{
    fprintf(out, "  %-*s %2s %4s %10s %10s %6s %10s %8s %6s %6s %8s\n", h->label_width, "impl", "th", "", "median ms",
            "min ms", "mad %", "first ms", "GFLOP/s", "%peak", "%mem", "speed-up");
}

static void text_row(const results *r, const results_row *x)
{
    FILE *out = r->out;
    column c[COLUMNS];
    columns_of(r, x, c);
    fprintf(out, "  %-*s %2d %4s", r->head->label_width, x->impl, x->threads, x->cache);
    if (x->median_s <= 0) {
        fprintf(out, " %s: %s\n", x->status, x->text);
        return;
    }
    text_ms(out, c[7].number, true);
    text_ms(out, c[8].number, true);
    text_number(out, 6, 1, percent(x->mad_s, x->median_s), x->mad_s >= 0);
    text_ms(out, c[14].number, c[14].known);
    text_number(out, 8, 2, c[9].number, true);
    text_number(out, 6, 1, c[10].number, c[10].known);
    text_number(out, 6, 1, c[11].number, c[11].known);
    text_number(out, 8, 2, c[16].number, c[16].known);
    if (x->ran[0]) fprintf(out, "  ran %s", x->ran);
    fputc('\n', out);
}

static void text_result(results *r, const results_row *x)
{
    const shape *s = &x->shape;
    if (r->results == 0 || memcmp(&r->block, s, sizeof(*s))) {
        fprintf(r->out, "\n%c%c  M %d  N %d  K %d", s->TA ? 'T' : 'N', s->TB ? 'T' : 'N', s->M,
                s->N, s->K);
        if (s->calls > 1) fprintf(r->out, "  (%ld calls)", s->calls);
        fputc('\n', r->out);
        text_columns(r->out, r->head);
        r->block = *s;
    }
    text_row(r, x);
}

/* ---- the three together ---- */

/* What is measured is worth seeing at once; and a full disk is to be noticed with its reason. */
static void flush_out(results *r)
{
    if (r->error) return;
    errno = 0;
    if (fflush(r->out) || ferror(r->out)) r->error = errno ? errno : EIO;
}

void results_begin(results *r, FILE *out, results_format format, const results_head *h)
{
    *r = (results){.out = out, .format = format, .head = h};
    column c[COLUMNS];
    const results_row none = {.impl = "", .cache = "", .status = "", .text = "",
                             .ran = ""};
    columns_of(r, &none, c);
    if (format == RESULTS_JSON) {
        json_begin(out, h);
    } else {
        text_head(format == RESULTS_CSV ? stderr : out, h);
        if (format == RESULTS_CSV) csv_row(out, c, true);
    }
    flush_out(r);
}

void results_add(results *r, const results_row *x)
{
    column c[COLUMNS];
    columns_of(r, x, c);
    if (r->format == RESULTS_CSV) {
        csv_row(r->out, c, false);
    } else if (r->format == RESULTS_JSON) {
        fprintf(r->out, "%s\n    {", r->results ? "," : "");
        json_columns(r->out, c, COLUMNS);
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
        fputs("\nTotal, each shape as often as it is called\n", r->out);
        text_columns(r->out, r->head);
    }
    r->results = 0;
}

void results_total(results *r, const results_row *x, long calls, int shapes, int of)
{
    if (r->format == RESULTS_TEXT) {
        results_row row = *x;
        char note[64];
        if (shapes < of) {
            row.median_s = -1;
            row.status = "incomplete";
            snprintf(note, sizeof(note), "%d of %d shapes measured", shapes, of);
            row.text = note;
        }
        text_row(r, &row);
    } else if (r->format == RESULTS_JSON) {
        column c[COLUMNS];
        columns_of(r, x, c);
        fprintf(r->out, "%s\n    {", r->results ? "," : "");
        const column some[] = {c[0], c[6], c[7], c[8], c[9], c[10], c[11], c[16], c[18]};
        json_columns(r->out, some, sizeof(some) / sizeof(some[0]));
        fprintf(r->out, ", \"calls\": %ld, \"shapes\": %d, \"of_shapes\": %d}", calls, shapes, of);
    }
    ++r->results;
}

int results_end(results *r, bool complete)
{
    if (r->format == RESULTS_JSON)
        fprintf(r->out, "\n  ],\n  \"complete\": %s\n}\n", complete ? "true" : "false");
    if (r->format == RESULTS_TEXT && !complete) fputs("\nInterrupted: the rest is missing.\n", r->out);
    flush_out(r);
    return r->error;
}
