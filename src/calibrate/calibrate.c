/* SPDX-License-Identifier: MIT */
/*
 * Calibration for 8 bits: see calibrate.h.
 *
 * Of each layer a histogram of all inputs is kept, and some points of the output. The histogram
 * offers steps: percentiles, and the least squared error. The points tell which of them is best for
 * the output. The first layer and those before a detector stay in single precision, as in other
 * projects, because their error reaches the boxes at once. In a search they get steps too, because
 * then the error of the network's outputs is measured.
 */
#include "calibrate/calibrate.h"

#include "calibrate/histogram.h"
#include "calibrate/points.h"
#include "int8/layer.h"
#include "int8/scales.h"
#include "op/op.h"
#include "util/file.h"
#include "util/forked.h"
#include "util/started.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const double gemm_least_snr = 36, gemm_least_snr_at_boxes = 40;

/* The channels of a picture; the error of a search that also stands for NaN. */
enum { PICTURE_CHANNELS = 3, MOST_ERROR = 999 };

typedef struct layer {
    struct layer *next;
    gemm_scale scale;
    long pictures;
    const char *stays;          /* why in single precision, or NULL */
    const char *rule;           /* the same where no error of outputs is measured */
    gemm_points *points;        /* NULL where the layer stays */
    gemm_histogram input;
} layer;

/* In a search `outputs` are those of the network, floats in the order in which they are computed. A
   run in single precision keeps them, and one in 8 bits compares its own with them. */
static struct {
    pthread_mutex_t lock;
    layer *first, *last;
    bool child;                 /* of a fork: it takes no part in a search */
    FILE *outputs;              /* NULL: there is no search */
    bool compares, any, lost;   /* any: one came; lost: others than are kept, or not all */
    double error;               /* largest |a - b| over the largest |b|, of a layer and picture */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void after_fork(void)
{
    pthread_mutex_init(&all.lock, NULL);
    all.first = all.last = NULL;
    all.outputs = NULL;
    all.child = true;
}
GEMM_IN_CHILD(after_fork)

/* ---- while the network runs ---- */

static const char boxes[] = "linear without batch norm: boxes";

static bool makes_boxes(const conv_call *c, bool norm)
{
    return c->activation == CONV_LINEAR && !norm && c->groups == 1;
}

/* NULL, or why the layer stays where no error of outputs is measured. */
static const char *judge_rule(const conv_call *c, bool norm)
{
    if (makes_boxes(c, norm)) return boxes;
    if (c->c <= PICTURE_CHANNELS) return "reads the picture";
    return gemm_int8_is_narrow(c) ? "1x1 with few channels" : NULL;
}

/* NULL, or why it stays in single precision, as far as that is known before it runs. */
static const char *judge(const conv_call *c, const char *rule)
{
    const gemm_scale any = {.scale = 1};
    if (c->groups > 1) return c->groups == c->c ? "depthwise" : "groups";
    if (gemm_conv_taps(c) > GEMM_INT8_MOST_K) return "sums that are too long";
    if (!gemm_int8_takes(c, &any, NULL)) return "no kernel for it in 8 bits";
    return all.outputs ? NULL : rule;
}

/* Whether the layer that ran behind this one makes boxes. */
static bool is_at_boxes(const layer *l)
{
    return l->next && l->next->rule == boxes;
}

static void stay(layer *l, const char *why)
{
    l->stays = why;
    gemm_points_free(l->points);
    l->points = NULL;
}

/* NULL without memory. */
static layer *make_layer(const conv_call *c, bool norm, uint64_t weights)
{
    layer *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->scale = (gemm_scale){.weights = weights, .M = c->n, .N = gemm_conv_places(c),
                            .K = gemm_conv_taps(c), .snr = NAN};
    l->rule = judge_rule(c, norm);
    l->stays = judge(c, l->rule);
    if (!l->stays && !(l->points = gemm_points_make(c))) l->stays = "no memory to measure it";
    if (all.last) all.last->next = l;
    else all.first = l;
    return all.last = l;
}

/* Two layers with the same weights are one: the file tells them by their weights. Where one of them
   has to stay, both do. */
static layer *find_layer(const conv_call *c, bool norm, uint64_t weights)
{
    const int M = c->n, K = gemm_conv_taps(c);
    for (layer *l = all.first; l; l = l->next) {
        if (l->scale.weights != weights || l->scale.M != M || l->scale.K != K) continue;
        const char *rule = judge_rule(c, norm), *why = judge(c, rule);
        if (rule) l->rule = rule;
        if (why && !l->stays) stay(l, why);
        return l;
    }
    return make_layer(c, norm, weights);
}

static void add_input(const conv_call *c, bool norm)
{
    const uint64_t weights = gemm_scales_fingerprint(c);
    const size_t floats = (size_t)c->batch * (size_t)c->c * (size_t)c->h * (size_t)c->w;
    layer *l = find_layer(c, norm, weights);
    if (!l) return;
    l->pictures += c->batch;
    if (!gemm_histogram_add(&l->input, c->input, floats)) stay(l, "input that is not finite");
    else if (l->points) gemm_points_add(l->points, c);
}

static double compare(const float *x, size_t n)
{
    double most = 0, error = 0;
    for (size_t i = 0; i < n; ++i) {
        float kept = 0;
        if (fread(&kept, sizeof kept, 1, all.outputs) != 1) all.lost = true;
        const double off = fabs((double)x[i] - (double)kept);
        most = fmax(most, fabs((double)kept));
        error = off <= error ? error : off;     /* NaN stays */
    }
    const double part = error == 0 ? 0 : error / most;
    return part < MOST_ERROR ? part : MOST_ERROR;
}

static void add_outputs(const float *x, size_t n)
{
    all.any = true;
    if (all.compares) all.error = fmax(all.error, compare(x, n));
    else if (fwrite(x, sizeof *x, n, all.outputs) != n) all.lost = true;
}

void gemm_calibration_add(const conv_call *c, bool norm, bool done)
{
    pthread_mutex_lock(&all.lock);
    if (all.outputs && done && makes_boxes(c, norm))
        add_outputs(c->output, (size_t)c->batch * (size_t)c->n * (size_t)gemm_conv_outputs(c));
    if (!all.compares) add_input(c, norm);
    pthread_mutex_unlock(&all.lock);
}

/* ---- the choice ---- */

static void try_step(layer *l, double step, int zero, gemm_scale_method method)
{
    if (!(step >= GEMM_SCALE_LEAST && step <= GEMM_SCALE_MOST)) return;
    const double snr = gemm_points_snr(l->points, (float)step, zero);
    if (l->scale.snr >= snr) return;
    l->scale.snr = (float)snr;
    l->scale.scale = (float)step;
    l->scale.zero = zero;
    l->scale.method = method;
}

/* The same range in both directions; and from the least input to the clip, where that is less. */
static void try_clip(layer *l, double clip, gemm_scale_method method)
{
    const double below = -(double)l->input.least, step = (clip + below) / 255;
    try_step(l, clip / GEMM_INT8_MOST, 0, method);
    if (below < clip) try_step(l, step, (int)lrint(below / step) - 128, method);
}

/* Why a layer with a step stays where no error of outputs is measured. */
static const char *judge_noise(const layer *l)
{
    if (l->rule) return l->rule;
    if (l->scale.snr < gemm_least_snr) return "too much noise";
    const bool enough = !is_at_boxes(l) || l->scale.snr >= gemm_least_snr_at_boxes;
    return enough ? NULL : "too much noise before boxes";
}

static void choose(layer *l, bool searched)
{
    static const double parts[] = {.9999, .9995, .999};
    if (!l->points) return;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        try_clip(l, gemm_histogram_percentile(&l->input, parts[i]), GEMM_SCALE_PERCENTILE);
    try_clip(l, gemm_histogram_least_error(&l->input), GEMM_SCALE_ERROR);
    if (isnan(l->scale.snr)) stay(l, "no step fits its input");
    else if (!searched && judge_noise(l)) stay(l, judge_noise(l));
    if (!l->stays) return;
    l->scale.scale = 0;
    l->scale.zero = 0;
    l->scale.method = GEMM_SCALE_UNKNOWN;
}

/* ---- the table ---- */

/* Each line begins with `before`. */
static void add_table(gemm_text *table, const char *before)
{
    int number = 0, int8 = 0;
    gemm_text_add(table, "%slayer      M       N      K   input to  SNR dB  pictures: %ld\n",
                  before, all.first->pictures);
    for (const layer *l = all.first; l; l = l->next) {
        const gemm_scale *s = &l->scale;
        char snr[32] = "";
        if (!isnan(s->snr)) gemm_append(snr, sizeof snr, "%.1f", (double)s->snr);
        gemm_text_add(table, "%s%5d %6d %7d %6d %10.4g %7s  %s%s\n", before, ++number, s->M, s->N,
                      s->K, (double)l->input.most, *snr ? snr : "-", l->stays ? "fp32: " : "int8: ",
                      l->stays ? l->stays : gemm_scale_method_name(s->method));
        int8 += !l->stays;
    }
    gemm_text_add(table, "%s%d of %d layers in int8\n", before, int8, number);
}

static void print_table(void)
{
    gemm_text table = {0};
    gemm_text_add(&table, "gemm: GEMM_CALIBRATE:\n");
    add_table(&table, "");
    fputs(gemm_text_part(&table), stderr);
    gemm_text_free(&table);
}

/* ---- the file ---- */

static int count_layers(void)
{
    int count = 0;
    for (const layer *l = all.first; l; l = l->next) ++count;
    return count;
}

/* Returns false, with errno set, when that fails. */
static bool write_scales(FILE *f, const void *unused)
{
    (void)unused;
    gemm_text table = {0};
    gemm_scales scales = {calloc((size_t)count_layers(), sizeof *scales.layers), 0};
    if (!scales.layers) return false;
    for (const layer *l = all.first; l; l = l->next) scales.layers[scales.count++] = l->scale;
    add_table(&table, "# ");
    const bool right = gemm_scales_write(f, &scales) && fputs(gemm_text_part(&table), f) >= 0;
    gemm_text_free(&table);
    gemm_scales_free(&scales);
    return right;
}

/* A new file beside `path`, with the rights of any new file. -1, with errno set, when that
   fails. */
static int make_beside(const char *path, gemm_text *name)
{
    gemm_text_add(name, "%s.new-%ld", path, (long)getpid());
    if (gemm_text_whole(name))
        return open(name->at, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    errno = ENOMEM;
    return -1;
}

/* Writes it under another name and renames it, so that no reader sees half of it; or tries whether
   that can be. NULL, or why not. */
static const char *replace(const char *path, bool only_try)
{
    gemm_text temporary = {0};
    const int fd = make_beside(path, &temporary);
    const char *why = NULL;
    if (fd < 0) why = strerror(errno);
    else if (!only_try) why = gemm_fill_and_rename(fd, temporary.at, path, write_scales, NULL);
    else if (close(fd) | unlink(temporary.at)) why = strerror(errno);
    gemm_text_free(&temporary);
    return why;
}

bool gemm_calibration_searches(const char *path)
{
    return *path && path[strlen(path) - 1] == '/';
}

/* Outputs that another process of this run keeps are left alone. They are written without a buffer,
   because a child of fork would write that once more. */
static const char *begin_search(const char *folder, bool compares)
{
    gemm_text path = {0};
    gemm_text_add(&path, "%soutputs", folder);
    const char *whole = gemm_text_whole(&path);
    errno = ENOMEM;
    all.outputs = whole ? fopen(whole, compares ? "re" : "wxe") : NULL;
    const char *why = all.outputs || (!compares && errno == EEXIST) ? NULL : strerror(errno);
    if (all.outputs && !compares) setvbuf(all.outputs, NULL, _IONBF, 0);
    all.compares = compares, all.any = all.lost = false, all.error = 0;
    gemm_text_free(&path);
    return why;
}

/* Whether there were outputs, and all went well. */
static bool end_search(void)
{
    if (!all.outputs) return false;
    const bool more = all.compares && fgetc(all.outputs) != EOF;
    if (fclose(all.outputs) || more) all.lost = true;
    all.outputs = NULL;
    return all.any && !all.lost;
}

const char *gemm_calibration_begin(const char *path, bool compares)
{
    struct stat st;
    if (gemm_calibration_searches(path)) return begin_search(path, compares);
    if (!*path) return "it names no file";
    if (!stat(path, &st) && !S_ISREG(st.st_mode)) return "it is no regular file";
    return replace(path, true);
}

static void forget(void)
{
    for (layer *l = all.first, *next; l; l = next) {
        next = l->next;
        gemm_points_free(l->points);
        free(l);
    }
    all.first = all.last = NULL;
}

/* The file, for a process that has the folder to itself. */
typedef struct target {
    const char *path;
    int64_t began;
} target;

/* What another process of this run wrote is left alone: this one's number is added to the name. */
static const char *replace_older(const void *data)
{
    const target *t = data;
    struct stat st;
    if (stat(t->path, &st) || !gemm_is_later(&st, t->began)) return replace(t->path, false);
    gemm_text name = {0};
    gemm_text_add(&name, "%s.%ld", t->path, (long)getpid());
    const char *whole = gemm_text_whole(&name), *why = strerror(ENOMEM);
    if (whole) why = replace(whole, false);
    if (!why)
        fprintf(stderr, "gemm: GEMM_CALIBRATE: another process wrote %s, so the steps of this one "
                        "are in %s\n", t->path, whole);
    gemm_text_free(&name);
    return why;
}

/* Nothing is clipped: a rare input that is large may be what an object is known by. */
static void widen(layer *l)
{
    if (!l->points) return;
    l->scale.snr = NAN;
    try_clip(l, (double)l->input.most, GEMM_SCALE_RANGE);
}

static const char *write_steps(const target *t)
{
    gemm_text folder = {0};
    const char *end = strrchr(t->path, '/');
    gemm_text_add(&folder, "%.*s", end ? (int)(end + 1 - t->path) : 2, end ? t->path : "./");
    const char *whole = gemm_text_whole(&folder), *why = strerror(ENOMEM);
    if (whole) why = gemm_with_lock(whole, replace_older, t);
    gemm_text_free(&folder);
    return why;
}

/* FOLDER/steps and FOLDER/wide. */
static const char *write_both(const char *folder, int64_t began)
{
    gemm_text steps = {0}, wide = {0};
    gemm_text_add(&steps, "%ssteps", folder);
    gemm_text_add(&wide, "%swide", folder);
    const char *why = strerror(ENOMEM);
    if (gemm_text_whole(&steps) && gemm_text_whole(&wide))
        why = write_steps(&(target){steps.at, began});
    for (layer *l = all.first; l && !why; l = l->next) widen(l);
    if (!why) why = replace(wide.at, false);
    gemm_text_free(&steps);
    gemm_text_free(&wide);
    return why;
}

static const char *write_locked(const char *path, int64_t began)
{
    const bool searched = end_search();
    if (all.compares && searched)
        fprintf(stderr, "gemm: GEMM_CALIBRATE: error %ld millionths\n", lround(all.error * 1e6));
    if (all.compares || !all.first)
        return all.compares || all.child ? NULL : "no convolution ran as a whole layer";
    for (layer *l = all.first; l; l = l->next) choose(l, searched);
    const char *why = gemm_calibration_searches(path) ? write_both(path, began)
                                                      : write_steps(&(target){path, began});
    if (!why && !searched) print_table();
    return why;
}

const char *gemm_calibration_write(const char *path, int64_t began)
{
    pthread_mutex_lock(&all.lock);
    const char *why = write_locked(path, began);
    forget();
    pthread_mutex_unlock(&all.lock);
    return why;
}
