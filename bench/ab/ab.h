/*
 * The A/B harness: what its parts share.
 *
 *   ab.c  options -> ab_run.c  two programs, samples, a CSV row each
 *                 -> ab_summary.c  samples to figures, verdict, Markdown and JSON
 */
#ifndef AB_H
#define AB_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/compare.h"
#include "common/process.h"
#include "common/stats.h"

enum { AB_SETTINGS = 64, AB_IMAGES = 256 };

/* Exit statuses. 128 + signal: interrupted. */
enum { AB_DONE = 0, AB_FAILED = 1, AB_USAGE = 2, AB_SLOWER = 3, AB_VOID = 4 };

typedef struct ab_options {
    const char *row[2];             /* GEMM_IMPL, or NULL: as the environment has it */
    const char *bin[2];
    char *settings[2][AB_SETTINGS + 1]; /* NAME=value, GEMM_IMPL among them */
    const char *cfg, *weights;
    const char *images[AB_IMAGES];
    size_t image_count;
    const char *out, *name;         /* OUT/NAME.csv, .md, .json */
    int n;                          /* samples a side and an image, 0: default */
    int rounds, warmup, tics;
    double idle, timeout;           /* seconds */
    double least;                   /* the smallest difference worth a verdict: 0.01 is 1% */
    double points;                  /* tolerance of a percentage */
    uint64_t seed;
    bool speed, pause, fail_if_slower;
} ab_options;

typedef enum ab_phase { AB_FIRST, AB_WARM, AB_MEASURED } ab_phase;

typedef struct ab_sample {
    ab_phase phase;
    int round, pair, side, position;    /* position 0: the first of its pair */
    size_t image, labels;
    double inner, wall;                 /* what Darknet says; what the harness sees */
    double at;                          /* seconds since the start */
} ab_sample;

typedef struct ab_image {
    const char *path;
    unsigned char *drawing[2];          /* the last ones compared, */
    size_t length[2];
    sameness known;                     /* and what came of it */
} ab_image;

typedef struct ab_run {
    const ab_options *o;
    char dir[PATH_MAX], work[2][PATH_MAX];
    char bin[2][PATH_MAX], cfg[PATH_MAX], weights[PATH_MAX], paths[AB_IMAGES][PATH_MAX];
    char label[2][512];
    process child[2];
    ab_image images[AB_IMAGES];
    ab_sample *samples;
    size_t count, room;
    double *load[2];                    /* seconds to the first prompt, one a round */
    int rounds_done, pairs_done, pairs_all;
    long compared[INCOMPARABLE + 1];    /* pairs by sameness */
    char difference[512];               /* the first one, in words */
    char problem[4096];                 /* why the run ended early, or "" */
    char csv_path[PATH_MAX];
    FILE *csv;
    uint64_t random;
    double start;
} ab_run;

extern volatile sig_atomic_t ab_stop;   /* the signal that asked for the end, or 0 */

/* Measures; false where it ended early, with run->problem set. Leaves no process behind. */
bool ab_measure(ab_run *run);

typedef struct ab_column {
    size_t n;
    double median, min, mad;
    stats_interval interval;
} ab_column;

typedef struct ab_result {              /* one of the two measures */
    const char *key, *title;
    ab_column side[2];
    double first[2];                    /* median of the first images */
    double ratio;                       /* B's time over A's */
    stats_interval ratio_interval;
    stats_test mann_whitney, rounds;
    const char *verdict;                /* faster, slower, no difference shown, void, none */
    char why[256];
} ab_result;

typedef struct ab_verdict_rule {
    double level, p, least;
    size_t resamples;
} ab_verdict_rule;

extern const ab_verdict_rule ab_rule;

/* Ratio, interval, tests and verdict of pairs; `pairs` is put in another order. */
void ab_judge(ab_result *result, stats_pair *pairs, size_t n, const ab_verdict_rule *rule,
              uint64_t seed);

/* Does the name of the weights say that nothing was learnt? */
bool ab_untrained(const ab_options *o);

/* Both measures of a run. */
bool ab_summarise(const ab_run *run, ab_result results[2]);

/* Writes OUT/NAME.md and .json and prints the Markdown; false with run->problem on failure. */
bool ab_report(ab_run *run, const ab_result results[2]);

#endif
