/* SPDX-License-Identifier: MIT */
/*
 * Calibration for 8 bits: where to clip distributions that are known, what the output of a layer
 * loses, which way to clip is kept, and the file.
 *
 *   percentile    of numbers in order
 *   least error   of a Laplace distribution: 9.89 times its width, as R. Banner et al. computed it
 *                 ("Post training 4-bit quantization", 2019, table of ACIQ). Of others: the clip
 *                 that a search on the numbers themselves finds
 *   range         values that grow, shrink, are tiny, huge or no numbers
 *   snr           the whole output, by separate loops in double precision
 *   method        rare outliers that nothing reads: a percentile. Outliers that matter: the error
 *   same weights  layers of other geometry that share one line
 *   file          each kind of layer, read back; a folder that is not there; a child of fork
 *   search        steps for layers that a file without one keeps in single precision; outputs that
 *                 are equal, off, no number, fewer and more; a second process
 */
#include "calibrate/calibrate.h"
#include "calibrate/histogram.h"
#include "calibrate/points.h"
#include "common/random.h"
#include "int8/scales.h"
#include "support/conv_shape.h"
#include "support/report.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void *get(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) abort();
    return p;
}

static gemm_histogram *histogram_of(const float *x, size_t n)
{
    gemm_histogram *h = get(sizeof *h);
    if (!gemm_histogram_add(h, x, n)) abort();
    return h;
}

static bool is_near(double x, double expected, double tolerance)
{
    return fabs(x - expected) <= tolerance * fabs(expected);
}

/* ---- percentile ---- */

static void test_percentile(void)
{
    enum { N = 10000 };
    float *x = get(N * sizeof *x);
    for (int i = 0; i < N; ++i) x[i] = i % 2 ? (float)(i + 1) : -(float)(i + 1);
    gemm_histogram *h = histogram_of(x, N);
    const double width = 16384. / GEMM_BINS;
    const char *wrong = NULL;
    if (fabs(gemm_histogram_percentile(h, .999) - 9990) > width) wrong = "99.9 %";
    if (fabs(gemm_histogram_percentile(h, .5) - 5000) > width) wrong = "50 %";
    if (gemm_histogram_percentile(h, 1) != N) wrong = "100 %";
    report_judged("percentile", wrong);
    free(h);
    free(x);
}

/* ---- least error ---- */

/* The mean of the squared errors, of the numbers themselves. */
static double error_of(const float *x, int n, double clip)
{
    const double step = clip / GEMM_INT8_MOST;
    double sum = 0;
    for (int i = 0; i < n; ++i) {
        const double size = fabs((double)x[i]);
        const double number = floor(size / step + .5);
        const double error = size - step * (number < GEMM_INT8_MOST ? number : GEMM_INT8_MOST);
        sum += error * error;
    }
    return sum / n;
}

/* Whether no clip of a search is better by more than 2 %. */
static bool is_best(const float *x, int n, double clip, double most)
{
    const double error = error_of(x, n, clip);
    for (double other = most; other > most / 30; other *= .97)
        if (error > 1.02 * error_of(x, n, other)) return false;
    return true;
}

/* The quantiles of distributions, so no luck is in them. */
static float uniform(double part)
{
    return (float)(2 * part - 1);
}

static float laplace(double part)
{
    return (float)(part < .5 ? log(2 * part) : -log(2 - 2 * part));
}

static float rectified(double part)
{
    return part < .5 ? 0 : laplace(part);
}

/* 1 of 5000 is 20 times as large as the others may be. */
static float with_outliers(double part)
{
    return part > .9998 ? 20 : uniform(part);
}

static void test_least_error(const char *name, float quantile(double), double expected)
{
    enum { N = 200000 };
    float *x = get(N * sizeof *x);
    for (int i = 0; i < N; ++i) x[i] = quantile((i + .5) / N);
    gemm_histogram *h = histogram_of(x, N);
    const double clip = gemm_histogram_least_error(h);
    if (!is_best(x, N, clip, h->most))
        report_fail(name, "another clip than %g has less error", clip);
    else if (!is_near(clip, expected, .06))
        report_fail(name, "the clip is %g, expected %g", clip, expected);
    else
        report_pass(name);
    free(h);
    free(x);
}

/* ---- range ---- */

static uint64_t count_of(const gemm_histogram *h)
{
    uint64_t sum = 0;
    for (int i = 0; i < GEMM_BINS; ++i) sum += h->bins[i];
    return sum;
}

static void test_range(void)
{
    static const float grows[] = {0, 1e-42f, -1e-20f, 1, -2, 3, 4, -100, 1e10f, -FLT_MAX};
    static const float bad[] = {1, NAN, INFINITY, -INFINITY};
    enum { N = sizeof grows / sizeof *grows };
    gemm_histogram *up = get(sizeof *up), *down = get(sizeof *down);
    gemm_histogram *at_once = histogram_of(grows, N);
    const char *wrong = NULL;
    for (int i = 0; i < N; ++i) {
        gemm_histogram_add(up, &grows[i], 1);
        gemm_histogram_add(down, &grows[N - 1 - i], 1);
        if (count_of(up) != (uint64_t)i + 1) wrong = "a value is lost";
        if (!(up->range > up->most)) wrong = "the range does not hold the largest value";
    }
    if (memcmp(up, at_once, sizeof *up)) wrong = "other bins where values grow";
    if (memcmp(down, at_once, sizeof *down)) wrong = "other bins where values shrink";
    for (int i = 1; i < 4; ++i) {
        const float pair[] = {bad[0], bad[i]};
        if (gemm_histogram_add(down, pair, 2)) wrong = "a value that is not finite is taken";
    }
    if (memcmp(down, up, sizeof *up)) wrong = "something of a refused array is counted";
    report_judged("range", wrong);
    free(up);
    free(down);
    free(at_once);
}

/* ---- layers ---- */

static conv_call make_conv(const conv_shape *s, conv_activation activation, uint64_t seed)
{
    conv_call c = conv_shape_make(s, activation);
    rng r = rng_make(seed, 0);
    conv_shape_fill(&c, &r);
    return c;
}

static size_t inputs_of(const conv_call *c)
{
    return (size_t)(c->batch * c->c * c->h * c->w);
}

static double round_clipped(double x, double step, int zero)
{
    const double byte = nearbyint(x / step) + zero;
    return step * ((byte > 127 ? 127 : byte < -128 ? -128 : byte) - zero);
}

/* An output of a layer with one group; with a step above 0: in 8 bits. */
static double output_of(const conv_call *c, int image, int filter, int oy, int ox, double step,
                        int zero)
{
    const int taps = c->c * c->size * c->size;
    const float *weights = c->weights + filter * taps;
    double most = 0, sum = 0;
    for (int i = 0; i < taps; ++i) most = fmax(most, fabs((double)weights[i]));
    for (int k = 0; k < c->c; ++k) {
        for (int i = 0; i < c->size * c->size; ++i) {
            const int y = oy * c->stride - c->pad + i / c->size;
            const int x = ox * c->stride - c->pad + i % c->size;
            if (y < 0 || y >= c->h || x < 0 || x >= c->w) continue;
            const double in = c->input[((image * c->c + k) * c->h + y) * c->w + x];
            const double w = weights[k * c->size * c->size + i];
            sum += step > 0 ? round_clipped(in, step, zero) * round_clipped(w, most / 127, 0)
                            : in * w;
        }
    }
    const double z = (c->scale ? c->scale[filter] : 1) * sum + c->shift[filter];
    return c->activation == CONV_LEAKY ? (z > 0 ? z : .1 * z) : z;
}

static double snr_of(const conv_call *c, double step, int zero)
{
    double signal = 0, noise = 0;
    for (int i = 0; i < c->batch * c->n * c->out_h * c->out_w; ++i) {
        const int x = i % c->out_w, y = i / c->out_w % c->out_h;
        const int filter = i / c->out_w / c->out_h % c->n, image = i / c->out_w / c->out_h / c->n;
        const double exact = output_of(c, image, filter, y, x, 0, 0);
        const double error = output_of(c, image, filter, y, x, step, zero) - exact;
        signal += exact * exact;
        noise += error * error;
    }
    return 10 * log10(signal / noise);
}

/* So few points that all of them are taken. */
static void test_snr(void)
{
    static const conv_shape shapes[] = {{"snr-1x1", 1, 1, 40, 5, 6, 17, 1, 1, 0},
                                        {"snr-3x3", 1, 1, 20, 7, 6, 9, 3, 1, 1},
                                        {"snr-3x3/2", 2, 1, 11, 9, 9, 12, 3, 2, 1},
                                        {"snr-dots", 1, 1, 90, 1, 1, 33, 1, 1, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        conv_call c = make_conv(&shapes[i], i % 2 ? CONV_LINEAR : CONV_LEAKY, 100 + i);
        gemm_points *p = gemm_points_make(&c);
        if (!p) abort();
        gemm_points_add(p, &c);
        const char *wrong = NULL;
        for (double clip = .3; clip < 5; clip *= 2) {
            const int zero = clip < 1 ? 0 : clip < 2 ? -128 : 40;
            const double snr = gemm_points_snr(p, (float)(clip / 127), zero);
            if (fabs(snr - snr_of(&c, clip / 127, zero)) > .05)
                wrong = "it is not that of the output";
        }
        report_judged(shapes[i].name, wrong);
        gemm_points_free(p);
        conv_shape_free(&c);
    }
}

/* ---- the file ---- */

static char folder[] = "/tmp/test_calibration.XXXXXX", path[96];

/* The layers of the file. */
static gemm_scales read_file(void)
{
    gemm_scales s;
    char why[GEMM_SCALES_WHY];
    if (!gemm_scales_read(path, &s, why)) printf("# %s\n", why);
    return s;
}

/* Writes the file, and no table into what a person reads. NULL, or why not. */
static const char *write_file_of(int64_t run_began)
{
    fflush(stderr);
    const int own = dup(STDERR_FILENO);
    if (own < 0 || !freopen("/dev/null", "w", stderr)) abort();
    const char *why = gemm_calibration_write(path, run_began);
    fflush(stderr);
    dup2(own, STDERR_FILENO);
    close(own);
    return why;
}

static const char *write_file(void)
{
    return write_file_of(INT64_MAX);
}

/* Returns the fingerprint of the weights. */
static uint64_t add(const conv_shape *s, conv_activation activation, bool norm, uint64_t seed)
{
    conv_call c = make_conv(s, activation, seed);
    const uint64_t weights = gemm_scales_fingerprint(&c);
    gemm_calibration_add(&c, norm, true);
    conv_shape_free(&c);
    return weights;
}

static const conv_shape middle = {"", 1, 1, 16, 12, 12, 24, 3, 1, 1};

/* What is wrong with a line of a layer like `middle`, or of one that stays; or NULL. */
static const char *judge_line(const gemm_scale *l, bool stays)
{
    if (stays != !(l->scale > 0)) return "a layer of the wrong kind stays";
    if (stays) return l->method == GEMM_SCALE_UNKNOWN ? NULL : "a layer that stays has a method";
    if (l->method == GEMM_SCALE_UNKNOWN) return "a layer has no method";
    /* Uniform from -1 to 1. */
    if (!is_near((double)l->scale, 1 / 127., .02)) return "the scale is not that of the input";
    return (double)l->snr >= gemm_least_snr && l->snr < 60 ? NULL : "the signal to noise is odd";
}

static void test_file(void)
{
    static const conv_shape picture = {"", 1, 1, 3, 12, 12, 8, 3, 1, 1};
    static const conv_shape boxes = {"", 1, 1, 17, 12, 12, 18, 1, 1, 0};
    static const conv_shape narrow = {"", 1, 1, 16, 12, 12, 18, 1, 1, 0};
    static const conv_shape depthwise = {"", 1, 8, 8, 12, 12, 8, 3, 1, 1};
    static const conv_shape groups = {"", 1, 2, 8, 12, 12, 8, 3, 1, 1};
    static const bool stays[] = {true, false, true, true, false, true, false, true};
    enum { LAYERS = sizeof stays / sizeof *stays };
    const char *wrong = NULL;
    uint64_t second = 0;
    for (int i = 0; i < 2; ++i) {       /* two pictures */
        add(&picture, CONV_LEAKY, true, 1);
        second = add(&middle, CONV_LEAKY, true, 2);
        add(&depthwise, CONV_LEAKY, true, 3);
        add(&groups, CONV_LEAKY, true, 4);
        add(&middle, CONV_LINEAR, true, 5);
        add(&boxes, CONV_LINEAR, false, 6);
        add(&boxes, CONV_LEAKY, false, 7);
        add(&narrow, CONV_LEAKY, true, 8);
    }
    if (write_file()) wrong = "it is not written";
    gemm_scales s = read_file();
    if (s.count != LAYERS) wrong = "it has not one line for each layer";
    for (int i = 0; i < LAYERS && !wrong; ++i) wrong = judge_line(&s.layers[i], stays[i]);
    const gemm_scale *l = wrong ? NULL : &s.layers[1];
    if (l && (l->weights != second || l->M != 24 || l->N != 144 || l->K != 144))
        wrong = "fingerprint and sizes are others";
    report_judged("file", wrong);
    gemm_scales_free(&s);
    report_judged("file-is-alone", !unlink(path) && !rmdir(folder) ? NULL
                                                                   : "something lies beside it");
    if (mkdir(folder, 0700)) abort();
    report_judged("file-forgets", write_file() ? NULL : "layers of an earlier file are kept");
}

static void test_other_files(void)
{
    char before[sizeof path];
    const char *wrong = NULL;
    strcpy(before, path);
    add(&middle, CONV_LEAKY, true, 1);
    strcpy(path, "/tmp/test_calibration/is/not/there");
    if (!gemm_calibration_begin(path, false)) wrong = "it is called writable";
    if (!write_file()) wrong = "it is called written";
    if (!gemm_calibration_begin("", false)) wrong = "no name is called writable";
    report_judged("no-folder", wrong);
    strcpy(path, before);

    add(&middle, CONV_LEAKY, true, 1);
    const pid_t child = fork();
    if (child == 0) _exit(gemm_calibration_write(path, 0) || !access(path, F_OK));
    int status = 1;
    waitpid(child, &status, 0);
    wrong = status ? "the child writes" : write_file() ? "the parent does not" : NULL;
    report_judged("child-of-fork", wrong);
}

/* Whether the file has this layer alone. */
static bool has_layer(uint64_t weights)
{
    gemm_scales s = read_file();
    const bool has = s.count == 1 && s.layers[0].weights == weights;
    gemm_scales_free(&s);
    return has;
}

/* A child of fork writes after its parent. Another process, whose run began later, replaces it. */
static void test_two_processes(void)
{
    char first[64];
    const char *wrong = NULL;
    const uint64_t own = add(&middle, CONV_LEAKY, true, 1);
    if (write_file()) wrong = "the parent's is not written";
    const pid_t child = fork();
    if (child == 0) {
        add(&middle, CONV_LEAKY, true, 2);
        _exit(write_file_of(0) != NULL);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status || !has_layer(own)) wrong = "the child's replaces the parent's";
    snprintf(first, sizeof first, "%.60s", path);
    snprintf(path, sizeof path, "%s.%ld", first, (long)child);
    conv_call c = make_conv(&middle, CONV_LEAKY, 2);
    if (!has_layer(gemm_scales_fingerprint(&c))) wrong = "the child's is not beside it";
    conv_shape_free(&c);
    unlink(path);
    strcpy(path, first);
    const uint64_t later = add(&middle, CONV_LEAKY, true, 3);
    if (write_file() || !has_layer(later)) wrong = "that of an older run stays";
    report_judged("two-processes", wrong);
    unlink(path);
}

/* ---- method ---- */

/* The line of the layer alone. */
static gemm_scale calibrate_alone(const conv_call *c)
{
    gemm_calibration_add(c, true, true);
    if (write_file()) printf("# no file\n");
    gemm_scales s = read_file();
    const gemm_scale line = s.count == 1 ? s.layers[0] : (gemm_scale){.M = 0};
    gemm_scales_free(&s);
    unlink(path);
    return line;
}

/* A layer of 1x1 over so many channels and places. One of 12800 inputs is `outlier`, the others
   are from -1 to 1. */
static void judge_method(const char *name, int channels, int side, float outlier,
                         gemm_scale_method expected)
{
    const conv_shape s = {"", 1, 1, channels, side, side, 17, 1, 1, 0};
    conv_call c = make_conv(&s, CONV_LINEAR, 9);
    float *input = (float *)c.input;
    for (size_t i = 77; i < inputs_of(&c); i += 12800) input[i] = outlier;
    const gemm_scale l = calibrate_alone(&c);
    report_that(name, l.method == expected, "'%s' is taken, with scale %g and %g dB",
                gemm_scale_method_name(l.method), (double)l.scale, (double)l.snr);
    conv_shape_free(&c);
}

/* Inputs behind a leaky activation: all bytes are used, for 3 dB more than with the same range in
   both directions. */
static void test_one_side(void)
{
    conv_call c = make_conv(&middle, CONV_LINEAR, 9);
    float *input = (float *)c.input, most = 0;
    for (size_t i = 0; i < inputs_of(&c); ++i) {
        if (input[i] < 0) input[i] *= .1f;
        most = fmaxf(most, input[i]);
    }
    const gemm_scale l = calibrate_alone(&c);
    gemm_points *p = gemm_points_make(&c);
    if (!p) abort();
    gemm_points_add(p, &c);
    const char *wrong = NULL;
    if (!is_near((double)l.scale, 1.1 * (double)most / 255, .02)) wrong = "the step is another";
    else if (abs(l.zero - (-128 + 23)) > 1) wrong = "the byte of 0 is another";
    else if ((double)l.snr < gemm_points_snr(p, most / 127, 0) + 2) wrong = "it is not better";
    report_judged("one-side", wrong);
    gemm_points_free(p);
    conv_shape_free(&c);
}

/* What stays because of its noise has its signal to noise in the file. Half of the inputs of one
   channel are 40, and count for nothing; the others are below .01. */
static void test_noise(void)
{
    static const conv_shape s = {"", 1, 1, 17, 8, 8, 24, 1, 1, 0};
    conv_call c = make_conv(&s, CONV_LINEAR, 5);
    float *input = (float *)c.input, *weights = (float *)c.weights;
    for (size_t i = 0; i < inputs_of(&c); ++i) input[i] = i >= 64 ? .01f * input[i] : i % 2 * 40;
    for (int i = 0; i < 24; ++i) weights[i * 17] *= 1e-4f;
    memset((float *)c.shift, 0, 24 * sizeof(float));
    const gemm_scale l = calibrate_alone(&c);
    const char *wrong = NULL;
    if (l.M != 24 || l.scale > 0 || l.method != GEMM_SCALE_UNKNOWN) wrong = "it does not stay";
    else if (!((double)l.snr < gemm_least_snr)) wrong = "its signal to noise is not there";
    report_judged("noise", wrong);
    conv_shape_free(&c);
}

/* Whether the file, with its table, has this text. */
static bool file_has(const char *text)
{
    char line[256];
    bool found = false;
    FILE *f = fopen(path, "r");
    while (f && !found && fgets(line, sizeof line, f)) found = strstr(line, text);
    if (f) fclose(f);
    return found;
}

/* The same noise is too much where boxes follow, and not where another layer does. Some inputs are
   beyond 1, so the steps are wide. */
static void test_at_boxes(void)
{
    static const conv_shape s = {"", 1, 1, 16, 12, 12, 24, 3, 1, 1};
    static const conv_shape last = {"", 1, 1, 24, 12, 12, 18, 1, 1, 0};
    const char *wrong = NULL;
    for (int at_boxes = 0; at_boxes < 2; ++at_boxes) {
        conv_call c = make_conv(&s, CONV_LINEAR, 9);
        float *input = (float *)c.input;
        for (size_t i = 7; i < inputs_of(&c); i += 100) input[i] *= 3;
        gemm_calibration_add(&c, true, true);
        add(&last, at_boxes ? CONV_LINEAR : CONV_LEAKY, !at_boxes, 10);
        if (write_file()) wrong = "it is not written";
        gemm_scales read = read_file();
        const gemm_scale *l = read.count == 2 ? &read.layers[0] : NULL;
        if (!l || (double)l->snr < gemm_least_snr || (double)l->snr > gemm_least_snr_at_boxes)
            wrong = "its signal to noise is not between the bounds";
        else if (at_boxes == (l->scale > 0)) wrong = "another bound decides";
        else if (at_boxes != file_has("too much noise before boxes")) wrong = "another reason";
        gemm_scales_free(&read);
        unlink(path);
        conv_shape_free(&c);
    }
    report_judged("at-boxes", wrong);
}

/* Layers with the same weights have one line. Where one of them is grouped, all of them stay: its
   columns are longer than those of the first one. */
static void test_same_weights(void)
{
    static const conv_shape shapes[] = {{"", 1, 1, 32, 12, 12, 24, 1, 1, 0},
                                        {"", 1, 2, 64, 12, 12, 24, 1, 1, 0}};
    for (int i = 0; i < 2; ++i) {
        conv_call c = make_conv(&shapes[i], CONV_LEAKY, 9);
        for (int w = 0; w < 24 * 32; ++w) ((float *)c.weights)[w] = .25f;
        gemm_calibration_add(&c, true, true);
        conv_shape_free(&c);
    }
    const char *wrong = write_file() ? "it is not written" : NULL;
    gemm_scales s = read_file();
    if (s.count != 1) wrong = "it has not one line";
    else if (s.layers[0].scale > 0) wrong = "it does not stay";
    report_judged("same-weights", wrong);
    gemm_scales_free(&s);
    unlink(path);
}

/* ---- search ---- */

static const conv_shape of_boxes = {"", 1, 1, 16, 12, 12, 18, 1, 1, 0};

/* Layers of boxes: output i is i + 1, but the last one is `last`. */
static void pass(int count, float last)
{
    for (int k = 0; k < count; ++k) {
        conv_call c = make_conv(&of_boxes, CONV_LINEAR, 6);
        const size_t n = conv_outputs(&c);
        for (size_t i = 0; i < n; ++i) c.output[i] = (float)(i + 1);
        c.output[n - 1] = last;
        gemm_calibration_add(&c, false, true);
        conv_shape_free(&c);
    }
}

/* What a run in 8 bits says of its error, in millionths. */
static long error_of_run(const char *search, int passes, float last)
{
    char said[96] = "";
    long error = -100;
    if (gemm_calibration_begin(search, true)) return error;
    pass(passes, last);
    fflush(stderr);
    const int own = dup(STDERR_FILENO);
    snprintf(path, sizeof path, "%.60serror", search);
    if (own < 0 || !freopen(path, "w", stderr)) abort();
    const char *why = gemm_calibration_write(search, 0);
    fflush(stderr);
    dup2(own, STDERR_FILENO);
    close(own);
    FILE *f = fopen(path, "r");
    if (why || (f && fgets(said, sizeof said, f) &&
                sscanf(said, "gemm: GEMM_CALIBRATE: error %ld millionths", &error) != 1))
        error = -200;
    if (f) fclose(f);
    unlink(path);
    return error;
}

/* Both files have a step for each layer but the depthwise one. `wide` clips nothing. */
static const char *judge_steps(const char *search)
{
    static const char *const names[] = {"steps", "wide"};
    const char *wrong = NULL;
    for (int i = 0; i < 2; ++i) {
        snprintf(path, sizeof path, "%.60s%s", search, names[i]);
        gemm_scales s = read_file();
        if (s.count != 4) wrong = "it has not one line for each layer";
        for (int k = 0; k < s.count; ++k)
            if ((s.layers[k].scale > 0) != (k > 0)) wrong = "a layer of the wrong kind stays";
        if (!wrong && i != (s.layers[1].method == GEMM_SCALE_RANGE)) wrong = "another clip";
        if (!wrong && i && !is_near((double)s.layers[1].scale, 50 * 1.02 / 255, .02))
            wrong = "an input is clipped";
        gemm_scales_free(&s);
        unlink(path);
    }
    return wrong;
}

static void test_search(void)
{
    static const conv_shape depthwise = {"", 1, 8, 8, 12, 12, 8, 3, 1, 1};
    static const conv_shape picture = {"", 1, 1, 3, 12, 12, 8, 3, 1, 1};
    static const struct run {
        int passes;
        float last;
        long error;
    } runs[] = {{2, 2592, 0}, {2, 2592 - 259.2f, 100000}, {2, NAN, 999000000},
                {1, 2592, -100}, {3, 2592, -100}};
    char before[sizeof path], search[64], name[96];
    strcpy(before, path);
    snprintf(search, sizeof search, "%.50s/", folder);
    const char *wrong = gemm_calibration_begin(search, false);
    add(&depthwise, CONV_LEAKY, true, 1);
    conv_call c = make_conv(&middle, CONV_LEAKY, 2);
    ((float *)c.input)[5] = 50;
    gemm_calibration_add(&c, true, true);
    conv_shape_free(&c);
    add(&picture, CONV_LEAKY, true, 1);
    pass(2, 2592);
    if (!wrong) wrong = gemm_calibration_write(search, 0);
    report_judged("search-steps", wrong ? wrong : judge_steps(search));
    for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i) {
        snprintf(name, sizeof name, "search-%d-%g", runs[i].passes, (double)runs[i].last);
        const long error = error_of_run(search, runs[i].passes, runs[i].last);
        report_that(name, labs(error - runs[i].error) < 9, "%ld", error);
    }
    report_judged("search-second", gemm_calibration_begin(search, false) ? "refused" : NULL);
    pass(1, 2592);
    if (write_file()) abort();
    gemm_scales s = read_file();
    report_judged("search-second-stays", s.count == 1 && !(s.layers[0].scale > 0)
                                         ? NULL : "a layer without an error has a step");
    gemm_scales_free(&s);
    unlink(path);
    snprintf(name, sizeof name, "%soutputs", search);
    unlink(name);
    report_judged("search-nothing", gemm_calibration_begin(search, true) ? NULL : "taken");
    strcpy(path, before);
}

int main(void)
{
    if (!mkdtemp(folder)) abort();
    snprintf(path, sizeof path, "%s/net.int8", folder);
    test_percentile();
    test_least_error("uniform", uniform, 1);
    test_least_error("laplace", laplace, 9.89);
    test_least_error("rectified", rectified, 9.89);
    test_least_error("outliers", with_outliers, 20);
    test_range();
    test_snr();
    test_file();
    test_other_files();
    test_two_processes();
    judge_method("method-percentile", 17, 100, 1000, GEMM_SCALE_PERCENTILE);
    judge_method("method-error", 400, 8, 3, GEMM_SCALE_ERROR);
    test_one_side();
    test_noise();
    test_at_boxes();
    test_same_weights();
    test_search();
    rmdir(folder);
    return report_status();
}
