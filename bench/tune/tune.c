/* SPDX-License-Identifier: MIT */
/*
 * Fills the tuning table of `auto` with the shapes of whole networks.
 *
 *   tune [--rounds N] IMAGE CFG[=WEIGHTS]...
 *
 * For each network:
 *   0. A forward pass under `cl` measures the forms of each shape on the device (cl/tune/tune.h).
 *      Whole passes with these forms and without them take turns. Without them stays, unless the
 *      forms are faster.
 *   1. A forward pass under `auto` measures every shape, a line on stderr for each.
 *   2. Whole passes take turns: the mix of the fastest row of each shape, and each row alone. A row
 *      that leaves results on a device is cheap only beside itself, and the first step cannot see
 *      that.
 *   3. If a row alone is faster than the mix, all shapes of the network get this row. A shape that
 *      an earlier network has too changes for both.
 *
 * Each contestant works on memory as it gets it from gemm_host_alloc in a process of its own. So
 * there are two copies of a network where a device shares memory.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darknet.h"
#include "auto/auto.h"
#include "cl/configure.h"
#include "common/stats.h"
#include "detect/subject.h"
#include "driver/driver.h"
#include "tune/turns.h"
#include "util/budget.h"
#include "util/clock.h"
#include "util/number.h"

enum { MAX_ROUNDS = 1000, MOST = GEMM_CANDIDATES + 1 };
static const double HOPELESS = 3;       /* times the mix: no turns */

static int rounds = 9;

/* The mix, or a row alone. */
typedef struct contestant {
    const gemm_variant *row;    /* `auto` is the mix */
    const subject *on;
    int passes;                 /* in a turn */
    double ms[MAX_ROUNDS];
    bool hopeless;
} contestant;

/* ---- the networks ---- */

/* Darknet prints every network that it reads. */
static subject make_silently(const char *argument, image picture)
{
    const int saved = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    char *copy = strdup(argument);
    if (saved < 0 || nowhere < 0 || !copy) {
        perror("tune");
        exit(1);
    }
    dup2(nowhere, STDERR_FILENO);
    const subject s = subject_make(copy, picture);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(nowhere);
    return s;
}

/* ---- whole passes ---- */

static double turn(const contestant *c, int passes)
{
    gemm_set_variant(c->row);
    return subject_turn(c->on, passes);
}

/* The contestants of a network; returns how many. The mix is the first one. */
static int find_contestants(contestant *list, const subject *plain, const subject *shared)
{
    const gemm_variant *mix = gemm_find("auto");
    int count = 0;
    list[count++] = (contestant){.row = mix, .on = gemm_auto_uses_device() ? shared : plain};
    for (size_t i = 0; i < gemm_variant_count && count < MOST; ++i) {
        const gemm_variant *v = &gemm_variants[i];
        if ((v->kinds & GEMM_CONVS) && !gemm_auto_unfit(v))
            list[count++] = (contestant){.row = v, .on = gemm_is_on_device(v) ? shared : plain};
    }
    return count;
}

static void time_passes(contestant *list, int count)
{
    for (int i = 0; i < count; ++i) {
        contestant *c = &list[i];
        turn(c, 1);
        c->ms[0] = turn(c, 1);
        c->passes = c->ms[0] < SUBJECT_TURN_MS ? (int)(SUBJECT_TURN_MS / c->ms[0]) : 1;
        c->hopeless = c->ms[0] > HOPELESS * list[0].ms[0];
    }
    for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < count; ++i) {
            contestant *c = &list[(i + round) % count];   /* nobody always follows another */
            if (!c->hopeless) c->ms[round] = turn(c, c->passes);
        }
}

/* The median over the rounds of the time relative to the mix, so that a slow round hits both. */
static double relative_time(const contestant *c, const contestant *mix)
{
    double ratios[MAX_ROUNDS];
    if (c->hopeless) return c->ms[0] / mix->ms[0];
    for (int i = 0; i < rounds; ++i) ratios[i] = c->ms[i] / mix->ms[i];
    return stats_median(ratios, (size_t)rounds);
}

static void print_result(const subject *s, const contestant *list, const double *ratios, int count,
                         int winner)
{
    double mix[MAX_ROUNDS];
    memcpy(mix, list[0].ms, sizeof mix);
    printf("%s: mix %.3f ms", s->name, stats_median(mix, (size_t)rounds));
    for (int i = 1; i < count; ++i)
        printf(", %s %.2f of it%s", list[i].row->name, ratios[i],
               list[i].hopeless ? " (one pass)" : "");
    printf(": %s\n", winner ? list[winner].row->name : "mix");
    for (int i = 1; i < count; ++i)
        if (list[i].row->in_auto == GEMM_IN_AUTO_FIRST)
            printf("%s: tuned takes %.2f of the time without a table (%s)\n", s->name,
                   ratios[winner] / ratios[i], list[i].row->name);
    fflush(stdout);
}

/* ---- the forms of cl ---- */

/* Whole passes of `cl` in turns. Returns the median over the rounds of the time with forms, as a
   part of that without them. */
static double compare_forms(const subject *s)
{
    double ratios[MAX_ROUNDS], ms[2];
    gemm_cl_set_tuning(GEMM_CL_TUNED);
    const double once = subject_turn(s, 1);
    const int passes = once < SUBJECT_TURN_MS ? (int)(SUBJECT_TURN_MS / once) : 1;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < 2; ++i) {
            const int tuned = (i + round) % 2;      /* neither always follows the other */
            gemm_cl_set_tuning(tuned ? GEMM_CL_TUNED : GEMM_CL_UNTUNED);
            ms[tuned] = subject_turn(s, passes);    /* its plans change in the pass without clock */
        }
        ratios[round] = ms[1] / ms[0];
    }
    gemm_cl_set_tuning(GEMM_CL_TUNED);
    return stats_median(ratios, (size_t)rounds);
}

/* Measures the forms of the network in the order of its layers. */
static void tune_forms(const subject *s)
{
    enum { UNTUNED, TUNED, BOTH };
    const gemm_variant *cl = gemm_find("cl");
    if (gemm_unusable(cl)) return;
    gemm_set_variant(cl);
    gemm_cl_set_tuning(GEMM_CL_MEASURES);
    network_predict(s->net, s->input.data);
    const double ms[BOTH] = {1, compare_forms(s)};
    const bool kept = gemm_decide(ms, BOTH, 0) == TUNED;
    const int count = gemm_cl_settle_forms(kept);
    printf("%s: cl with %d tuned forms %.2f of cl without: %s\n", s->name, count, ms[TUNED],
           kept ? "tuned" : "untuned");
    fflush(stdout);
}

/* Gives all shapes of the network to this row. */
static void record(const gemm_variant *row, const subject *s)
{
    gemm_set_variant(gemm_find("auto"));
    gemm_auto_record(row);
    network_predict(s->net, s->input.data);
    gemm_auto_record(NULL);
}

static void tune(const char *argument, image picture)
{
    contestant *list = calloc(MOST, sizeof *list);
    double ratios[MOST];
    if (!list) exit(1);
    gemm_auto_measure(true);
    gemm_set_prepare_first(true);       /* no later pass prepares a part */
    gemm_set_variant(gemm_find("packed"));
    const subject plain = make_silently(argument, picture);
    const gemm_variant *mix = gemm_find("auto");
    gemm_set_variant(mix);
    const bool shares = gemm_auto_uses_device();
    subject shared = plain;
    if (shares) shared = make_silently(argument, picture);
    if (shares) tune_forms(&shared);
    gemm_set_variant(mix);
    network_predict(shared.net, shared.input.data);
    gemm_auto_measure(false);
    const int count = find_contestants(list, &plain, &shared);
    time_passes(list, count);
    for (int i = 0; i < count; ++i) ratios[i] = relative_time(&list[i], &list[0]);
    const int winner = gemm_decide(ratios, count, 0);      /* ratios[0], of the mix, is 1 */
    if (winner) record(list[winner].row, list[winner].on);
    print_result(&plain, list, ratios, count, winner);
    free(list);
}

/* ---- the program ---- */

static _Noreturn void usage(void)
{
    fputs("usage: tune [--rounds N] IMAGE CFG[=WEIGHTS]...\n", stderr);
    exit(2);
}

int main(int argc, char **argv)
{
    int i = 1;
    if (argc > 2 && !strcmp(argv[1], "--rounds")) {
        if (!gemm_parse_int(argv[2], 1, MAX_ROUNDS, &rounds)) {
            fprintf(stderr, "tune: --rounds '%s': a whole number from 1 to %d is needed\n", argv[2],
                    MAX_ROUNDS);
            return 2;
        }
        i = 3;
    }
    if (argc - i < 2 || argv[i][0] == '-') usage();
    for (int j = i; j < argc; ++j) subject_check("tune", argv[j]);
    const image picture = load_image_color(argv[i++], 0, 0);
    gemm_chosen();              /* reads the environment, while stderr is open */
    gemm_wait_for_compilers();
    gemm_budget_set(INFINITY, gemm_now_ms);
    gemm_auto_set_mode(GEMM_AUTO_ANEW);
    gemm_cl_set_tuning(GEMM_CL_TUNED);
    for (; i < argc; ++i) tune(argv[i], picture);
    return !gemm_tuning_is_kept();
}
