/* SPDX-License-Identifier: MIT */
/*
 * An earlier run to compare with: see baseline.h.
 *
 * gemm-bench writes each result of --json as one line, and each sample in it as a number with the
 * round that it is of. So a line at a time is enough to read, and a line without samples is none.
 */
#include "gemm-bench/baseline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    char *impl, *cache;
    int threads, TA, TB, M, N, K;
    double *seconds, *rounds;
    size_t samples;
} entry;

struct baseline {
    entry *entries;
    size_t count;
};

/* What stands behind "key": in the line, or NULL. */
static const char *value_of(const char *line, const char *key)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\": ", key);
    const char *at = strstr(line, pattern);
    return at ? at + strlen(pattern) : NULL;
}

static int whole_of(const char *line, const char *key)
{
    const char *at = value_of(line, key);
    return at ? atoi(at) : -1;
}

/* The text behind a key. NULL without it, or without memory. */
static char *text_of(const char *line, const char *key)
{
    const char *at = value_of(line, key);
    if (!at || *at != '"') return NULL;
    return strndup(at + 1, strcspn(at + 1, "\""));
}

/* The numbers of an array, *count of them. NULL without it, or without memory. */
static double *numbers_of(const char *line, const char *key, size_t *count)
{
    const char *at = value_of(line, key);
    *count = 0;
    if (!at || *at != '[') return NULL;
    double *numbers = malloc((strlen(at) / 2 + 1) * sizeof *numbers);
    for (char *end; numbers; at = end) {
        const double x = strtod(++at, &end);
        if (end == at || !isfinite(x)) break;
        numbers[(*count)++] = x;
        if (*end != ',') break;
    }
    return numbers;
}

static void free_entry(entry *e)
{
    free(e->impl);
    free(e->cache);
    free(e->seconds);
    free(e->rounds);
}

/* False where the line is no result with samples. */
static bool read_entry(const char *line, entry *e)
{
    size_t rounds;
    *e = (entry){.impl = text_of(line, "impl"), .cache = text_of(line, "cache"),
                 .threads = whole_of(line, "threads"), .TA = whole_of(line, "TA"),
                 .TB = whole_of(line, "TB"), .M = whole_of(line, "M"), .N = whole_of(line, "N"),
                 .K = whole_of(line, "K")};
    e->seconds = numbers_of(line, "sample_s", &e->samples);
    e->rounds = numbers_of(line, "sample_rounds", &rounds);
    if (e->impl && e->cache && e->samples && e->samples == rounds) return true;
    free_entry(e);
    return false;
}

static bool add_entry(baseline *b, entry *e)
{
    entry *more = realloc(b->entries, (b->count + 1) * sizeof *more);
    if (!more) return false;
    b->entries = more;
    b->entries[b->count++] = *e;
    return true;
}

baseline *baseline_read(const char *file, char *error, size_t size)
{
    FILE *f = fopen(file, "r");
    baseline *b = calloc(1, sizeof *b);
    char *line = NULL;
    size_t room = 0;
    entry e;
    errno = f ? 0 : errno;
    while (f && b && getline(&line, &room, f) > 0)
        if (read_entry(line, &e) && !add_entry(b, &e)) free_entry(&e);
    const int failure = errno;
    if (f) fclose(f);
    free(line);
    if (b && b->count) return b;
    if (failure) snprintf(error, size, "%s", strerror(failure));
    else snprintf(error, size, "it has no result with samples, as gemm-bench --json writes them");
    baseline_free(b);
    return NULL;
}

static const entry *find(const baseline *b, const results_row *r)
{
    for (size_t i = 0; i < b->count; ++i) {
        const entry *e = &b->entries[i];
        const shape *s = &r->shape;
        if (!strcmp(e->impl, r->impl) && !strcmp(e->cache, r->cache) && e->threads == r->threads &&
            e->TA == s->TA && e->TB == s->TB && e->M == s->M && e->N == s->N && e->K == s->K)
            return e;
    }
    return NULL;
}

void baseline_compare(const baseline *b, results_row *r, uint64_t seed)
{
    const entry *e = find(b, r);
    if (!e || !r->sample_s || isnan(r->median_s)) return;
    /* The rounds of one run are none of the other. */
    const size_t n = e->samples, m = (size_t)r->samples;
    stats_pair *pairs = malloc((n + m) * sizeof *pairs);
    if (!pairs) return;
    size_t first = 0;
    for (size_t i = 0; i < n; ++i) {
        pairs[i] = (stats_pair){e->seconds[i], NAN, (size_t)e->rounds[i], 0};
        if (pairs[i].cluster >= first) first = pairs[i].cluster + 1;
    }
    for (size_t i = 0; i < m; ++i)
        pairs[n + i] = (stats_pair){NAN, r->sample_s[i], first + (size_t)r->sample_rounds[i], 0};
    r->baseline_s = r->median_s / stats_ratio(pairs, n + m);
    if (n >= 6 && m >= 6) r->baseline = stats_ratio_interval(pairs, n + m, 0.95, 1000, seed);
    free(pairs);
}

void baseline_free(baseline *b)
{
    for (size_t i = 0; b && i < b->count; ++i) free_entry(&b->entries[i]);
    if (b) free(b->entries);
    free(b);
}
