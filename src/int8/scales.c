/* SPDX-License-Identifier: MIT */
/* The file of scales: see scales.h. */
#include "int8/scales.h"

#include "util/number.h"
#include "util/text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { OLD_VERSION = 2, VERSION, LINE_BYTES = 256, WORDS = 9 };

#define REMEDY "; make calibrate makes a new one"

static const char *const methods[] = {
    [GEMM_SCALE_UNKNOWN] = "-",
    [GEMM_SCALE_PERCENTILE] = "percentile",
    [GEMM_SCALE_ERROR] = "error",
    [GEMM_SCALE_RANGE] = "range"};

const char *gemm_scale_method_name(gemm_scale_method m)
{
    return methods[m];
}

uint64_t gemm_scales_fingerprint(const conv_call *c)
{
    const size_t count = (size_t)c->n * (size_t)gemm_conv_taps(c);
    uint64_t all = 1;
    for (size_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &c->weights[i], sizeof bits);
        all = all * 31 + bits;
    }
    return all ? all : 1;
}

const gemm_scale *gemm_scales_find(const gemm_scales *s, uint64_t weights, int M, int K)
{
    for (int i = 0; i < s->count; ++i) {
        const gemm_scale *l = &s->layers[i];
        if (l->weights == weights && l->M == M && l->K == K) return l;
    }
    return NULL;
}

void gemm_scales_free(gemm_scales *s)
{
    free(s->layers);
    *s = (gemm_scales){NULL, 0};
}

/* ---- reading ---- */

/* Where the reader is, and what it says of an error. */
typedef struct reader {
    const char *path;
    int line;
    int layers;                 /* that the first line names; -1: it was not read */
    int version;
    char *why;                  /* GEMM_SCALES_WHY bytes */
} reader;

/* Returns false. */
__attribute__((format(printf, 2, 3)))
static bool refuse(const reader *r, const char *format, ...)
{
    char what[GEMM_SCALES_WHY] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (r->line) snprintf(r->why, GEMM_SCALES_WHY, "%.140s:%d: %.150s", r->path, r->line, what);
    else snprintf(r->why, GEMM_SCALES_WHY, "%.140s: %.150s", r->path, what);
    return false;
}

/* Cuts the line at blanks. Returns the number of its words, which may be above `most`. */
static int cut_words(char *line, char **words, int most)
{
    int count = 0;
    char *rest = NULL;
    for (char *w = strtok_r(line, " \t\r\n", &rest); w; w = strtok_r(NULL, " \t\r\n", &rest)) {
        if (count < most) words[count] = w;
        ++count;
    }
    return count;
}

static bool parse_hash(const char *text, uint64_t *hash)
{
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
    *hash = strtoull(text, NULL, 16);
    return true;
}

static bool parse_scale(const char *text, float *scale)
{
    double value = 0;
    const bool right = !strcmp(text, "fp32") ||
                       gemm_parse_double(text, GEMM_SCALE_LEAST, GEMM_SCALE_MOST, &value);
    *scale = (float)value;
    return right;
}

static bool parse_method(const char *text, gemm_scale_method *method)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        if (strcmp(text, methods[i])) continue;
        *method = (gemm_scale_method)i;
        return true;
    }
    return false;
}

static bool parse_snr(const char *text, float *snr)
{
    double value = NAN;
    const bool right = !strcmp(text, "-") || gemm_parse_double(text, -1000, 1000, &value);
    *snr = (float)value;
    return right;
}

static bool parse_layer(const reader *r, char **words, int count, gemm_scale *l)
{
    if (count != WORDS || strcmp(words[0], "layer"))
        return refuse(r, "allowed is: layer HASH M N K SCALE ZERO METHOD SNR");
    if (!parse_hash(words[1], &l->weights))
        return refuse(r, "HASH '%.40s' is not 16 digits of 0-9 and a-f", words[1]);
    int *const sizes[] = {&l->M, &l->N, &l->K};
    for (int i = 0; i < 3; ++i)
        if (!gemm_parse_int(words[2 + i], 1, INT_MAX, sizes[i]))
            return refuse(r, "%c '%.40s' is no whole number from 1 to %d", "MNK"[i], words[2 + i],
                          INT_MAX);
    if (!parse_scale(words[5], &l->scale))
        return refuse(r, "SCALE '%.40s' is neither fp32 nor a number from %g to %g", words[5],
                      GEMM_SCALE_LEAST, GEMM_SCALE_MOST);
    if (!gemm_parse_int(words[6], -128, 127, &l->zero))
        return refuse(r, "ZERO '%.40s' is no whole number from -128 to 127", words[6]);
    if (!parse_method(words[7], &l->method))
        return refuse(r, "METHOD '%.40s' is none of percentile, error, range, -", words[7]);
    if (!parse_snr(words[8], &l->snr))
        return refuse(r, "SNR '%.40s' is neither - nor a number from -1000 to 1000", words[8]);
    return true;
}

static bool add_layer(const reader *r, gemm_scales *s, const gemm_scale *l)
{
    gemm_scale *more = realloc(s->layers, ((size_t)s->count + 1) * sizeof *more);
    if (!more) return refuse(r, "there is no memory for it");
    s->layers = more;
    s->layers[s->count++] = *l;
    return true;
}

static bool lacks_head(const reader *r)
{
    return refuse(r, "the first line has to be: gemm-int8 %d LAYERS" REMEDY, VERSION);
}

/* The first line. That of version 1 had no LAYERS. */
static bool parse_head(reader *r, char **words, int count)
{
    if (count < 2 || strcmp(words[0], "gemm-int8")) return lacks_head(r);
    if (!gemm_parse_int(words[1], OLD_VERSION, VERSION, &r->version))
        return refuse(r, "the version is '%.40s', allowed are %d and %d" REMEDY, words[1],
                      OLD_VERSION, VERSION);
    if (count != 3) return lacks_head(r);
    return gemm_parse_int(words[2], 0, INT_MAX, &r->layers) ||
           refuse(r, "LAYERS '%.40s' is no whole number from 0 to %d", words[2], INT_MAX);
}

static bool parse_line(reader *r, char *line, gemm_scales *s)
{
    char *words[WORDS];
    gemm_scale l;
    const int count = cut_words(line, words, WORDS);
    if (!count || *words[0] == '#') return true;
    if (r->layers < 0) return parse_head(r, words, count);
    l.by_noise = r->version == OLD_VERSION;
    return parse_layer(r, words, count, &l) && add_layer(r, s, &l);
}

/* A file that was cut at the end of a line has fewer layers than its first line names. */
static bool has_all(const reader *r, const gemm_scales *s)
{
    if (r->layers < 0) return lacks_head(r);
    return s->count == r->layers ||
           refuse(r, "it has %d layers, and its first line names %d: it is %s" REMEDY, s->count,
                  r->layers, s->count < r->layers ? "cut" : "longer");
}

static bool parse(FILE *f, reader *r, gemm_scales *s)
{
    char line[LINE_BYTES];
    while (r->line < INT_MAX && fgets(line, sizeof line, f)) {
        const size_t end = strcspn(line, "\n");
        ++r->line;
        if (end == sizeof line - 1)
            return refuse(r, "the line has more than %d characters", LINE_BYTES - 2);
        if (!line[end]) return refuse(r, "the line has no end: the file is cut" REMEDY);
        if (!parse_line(r, line, s)) return false;
    }
    r->line = 0;
    if (ferror(f)) return refuse(r, "%s", strerror(errno));
    return has_all(r, s);
}

bool gemm_scales_parse(FILE *f, const char *path, gemm_scales *s, char why[GEMM_SCALES_WHY])
{
    reader r = {path, 0, -1, 0, why};
    *s = (gemm_scales){NULL, 0};
    if (parse(f, &r, s)) return true;
    gemm_scales_free(s);
    return false;
}

bool gemm_scales_read(const char *path, gemm_scales *s, char why[GEMM_SCALES_WHY])
{
    const reader r = {path, 0, -1, 0, why};
    *s = (gemm_scales){NULL, 0};
    FILE *f = fopen(path, "re");
    if (!f) return refuse(&r, "%s", strerror(errno));
    const bool right = gemm_scales_parse(f, path, s, why);
    fclose(f);
    return right;
}

/* ---- writing ---- */

static bool write_layer(FILE *f, const gemm_scale *l)
{
    char scale[32] = "fp32", snr[32] = "-";
    if (l->scale > 0) snprintf(scale, sizeof scale, "%.9g", (double)l->scale);
    if (!isnan(l->snr)) snprintf(snr, sizeof snr, "%.1f", (double)l->snr);
    return fprintf(f, "layer %016llx %d %d %d %s %d %s %s\n", (unsigned long long)l->weights,
                   l->M, l->N, l->K, scale, l->zero, methods[l->method], snr) > 0;
}

bool gemm_scales_write(FILE *f, const gemm_scales *s)
{
    const locale_t host = gemm_begin_point();
    bool right = fprintf(f, "gemm-int8 %d %d\n", VERSION, s->count) > 0;
    for (int i = 0; right && i < s->count; ++i) right = write_layer(f, &s->layers[i]);
    gemm_end_point(host);
    return right;
}
