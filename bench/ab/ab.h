/*
 * The A/B harness: what its parts share.
 *
 *   ab.c: options -> ab_run.c: runs two programs, takes samples, writes a CSV row for each
 *                 -> ab_verdict.c: figures and a verdict from the samples
 *                 -> ab_report.c: Markdown and JSON
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
#include "common/random.h"
#include "common/stats.h"

enum { AB_SETTINGS = 64, AB_IMAGES = 256, AB_LABEL = 512 };

/* Exit statuses. 128 + signal: interrupted. */
enum { AB_DONE = 0, AB_FAILED = 1, AB_USAGE = 2, AB_SLOWER = 3, AB_VOID = 4 };

typedef struct ab_options {
    const char *row[2];             /* GEMM_IMPL, or NULL: the environment decides */
    const char *bin[2];
    char *settings[2][AB_SETTINGS + 1]; /* NAME=value, GEMM_IMPL among them */
    const char *cfg, *weights;
    const char *images[AB_IMAGES];
    size_t image_count;
    const char *out, *name;         /* OUT/NAME.csv, .md, .json */
    int n;                          /* samples a side and an image, 0: default */
    int rounds, warmup, tics;
    double idle, timeout;           /* seconds */
    double least;                   /* smallest difference with a verdict: 0.01 is 1% */
    double points;                  /* tolerance of a percentage */
    uint64_t seed;
    bool speed, pause, fail_if_slower;
} ab_options;

typedef enum ab_phase { AB_FIRST, AB_WARM, AB_MEASURED } ab_phase;

typedef struct ab_sample {
    ab_phase phase;
    int round, pair, side, position;    /* position 0: the first of its pair */
    size_t image, labels;
    double inner, wall;                 /* seconds: by Darknet, and by the harness */
    double at;                          /* seconds since the start */
} ab_sample;

typedef struct ab_image {
    const char *path;
    unsigned char *drawing[2];          /* the last ones that were compared */
    size_t length[2];
    sameness known;                     /* the result of that */
} ab_image;

typedef struct ab_run {
    const ab_options *o;
    char dir[PATH_MAX], work[2][PATH_MAX];
    char bin[2][PATH_MAX], cfg[PATH_MAX], weights[PATH_MAX], paths[AB_IMAGES][PATH_MAX];
    char label[2][AB_LABEL];
    process child[2];
    ab_image images[AB_IMAGES];
    ab_sample *samples;
    size_t count, room;
    double *load[2];                    /* seconds to the first prompt, of each round */
    int rounds_done, pairs_done, pairs_all;
    long compared[INCOMPARABLE + 1];    /* pairs by sameness */
    char difference[512];               /* the first difference, in words */
    char problem[4096];                 /* why the run ended early, or "" */
    char csv_path[PATH_MAX];
    FILE *csv;
    rng random;
    double start;
} ab_run;

extern volatile sig_atomic_t ab_stop;   /* the signal that came, or 0 */

/* Measures. False when it ended early, with run->problem set. Leaves no process behind. */
bool ab_measure(ab_run *run);

typedef struct ab_column {
    size_t n;
    double median, min, mad;
    stats_interval interval;
} ab_column;

typedef struct ab_result {              /* of one of the two times: inner or wall */
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

/* Ratio, interval, tests and verdict of n pairs. Sorts `pairs`. */
void ab_judge(ab_result *result, stats_pair *pairs, size_t n, const ab_verdict_rule *rule,
              uint64_t seed);

/* Whether the name of the weights says that they are untrained. */
bool ab_untrained(const ab_options *o);

/* Both times of a run. False without memory. */
bool ab_summarise(const ab_run *run, ab_result results[2]);

/* Prints the Markdown; writes it and the JSON to OUT/NAME.md and .json. False with a message when
   one of them cannot be written. */
bool ab_report(ab_run *run, const ab_result results[2]);

#endif
