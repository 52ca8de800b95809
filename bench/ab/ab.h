/* SPDX-License-Identifier: MIT */
/*
 * The A/B harness: what its parts share.
 *
 *   ab.c: options -> ab_run.c: runs two programs, takes samples, writes a CSV row for each
 *                 -> ab_verdict.c: figures and a verdict from the samples, and when to stop
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
#include "common/output.h"
#include "common/process.h"
#include "common/random.h"
#include "common/stats.h"

enum { AB_SETTINGS = 64, AB_IMAGES = 256, AB_LABEL = 512, AB_LOOKS = 5,
       AB_PASSES = 3 };               /* in one `darknet speed` */

/* Exit statuses. 128 + signal: interrupted. */
enum { AB_DONE = 0, AB_FAILED = 1, AB_USAGE = 2, AB_SLOWER = 3, AB_VOID = 4 };

typedef struct ab_options {
    const char *row[2];             /* GEMM_IMPL, or NULL: the environment decides */
    const char *bin[2];
    const char *name_of[2];         /* what the report calls it, or NULL */
    char *settings[2][AB_SETTINGS + 1]; /* NAME=value, GEMM_IMPL among them */
    const char *cfg, *weights;
    const char *images[AB_IMAGES];
    size_t image_count;
    const char *out, *name;         /* OUT/NAME.csv, .md, .json */
    int n;                          /* samples a side and an image up to a look, 0: default */
    int rounds, warmup;             /* rounds: up to a look */
    int looks;                      /* at most so many: 1 to AB_LOOKS */
    bool control;                   /* A against A before */
    double idle, timeout;           /* seconds */
    double least;                   /* smallest difference with a verdict: 0.01 is 1% */
    uint64_t seed;
    bool speed, fail_if_slower;
    bool check;                     /* judge the options and end */
} ab_options;

/* The phases behind AB_MEASURED: each side runs once, to see that it can; then A against A. */
typedef enum ab_phase { AB_FIRST, AB_WARM, AB_MEASURED, AB_TRIAL, AB_CONTROL_WARM,
                        AB_CONTROL } ab_phase;

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
    int rounds_done, looks_done;
    int pairs_done, pairs_most;         /* pairs_most: if it goes on to the limit */
    bool in_control;                    /* both sides are A */
    bool answered[2];                   /* A, B: has given a time */
    bool unstarted;                     /* the side that failed has never given one */
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

typedef struct ab_verdict_rule {
    double level, p, critical;      /* of one look; critical: |z| of a normal variable at p */
    double least;                   /* the smallest difference with a verdict */
    size_t resamples;
} ab_verdict_rule;

/* The rule where the samples are looked at up to `looks` times, 1 to AB_LOOKS, each time after
   equally many rounds. `least` is 1%. */
ab_verdict_rule ab_rule(int looks);

typedef struct ab_column {
    size_t n;
    double median, min, mad;
    stats_interval interval;
} ab_column;

typedef struct ab_control {             /* A against A, as B is against A */
    size_t n;                           /* pairs; 0: there was none */
    double ratio, p;                    /* p: over the rounds */
    stats_interval interval;
    bool differs;
    double spread;                      /* standard deviation of log(ratio of a round) */
} ab_control;

typedef struct ab_result {              /* of one of the two times: inner or wall */
    const char *key, *title;
    ab_column side[2];
    double first[2];                    /* median of the first images */
    double ratio;                       /* B's time over A's */
    stats_interval ratio_interval;
    stats_test rounds;
    ab_control control;
    const char *verdict;                /* faster, slower, no difference shown, too noisy, void,
                                           none */
    char why[256];
    bool stands;                        /* more rounds are not needed */
} ab_result;

/* Ratio, interval, tests and verdict of n pairs, beside result->control. Sorts `pairs`. */
void ab_judge(ab_result *result, stats_pair *pairs, size_t n, const ab_verdict_rule *rule,
              uint64_t seed);

/* What n pairs of A and A say. Sorts `pairs`. */
ab_control ab_judge_control(stats_pair *pairs, size_t n, size_t resamples, uint64_t seed);

/* The smallest difference, as a part of A's time, that `rounds` rounds show in 4 of 5 runs when
   the rounds vary by `spread`. */
double ab_smallest(double spread, int rounds, const ab_verdict_rule *rule);

/* Whether the name of the weights says that they are untrained. */
bool ab_untrained(const ab_options *o);

/* Both times of a run. False without memory. */
bool ab_summarise(const ab_run *run, ab_result results[2]);

/* One line on standard error for each time: what the control shows, and what the rounds can tell
   apart. False without memory. */
bool ab_announce(const ab_run *run);

/* Prints the Markdown; writes it and the JSON to OUT/NAME.md and .json. False with a message when
   one of them cannot be written. */
bool ab_report(ab_run *run, const ab_result results[2]);

#endif
