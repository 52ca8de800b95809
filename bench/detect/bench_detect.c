/*
 * Forward passes of whole networks, side by side: the convolution hook, Darknet's im2col through the
 * same row's gemm, and OpenCV's DNN module where it is installed.
 *
 *   bench_detect [--threads N,N...] [--rounds N] [--profile] IMAGE CFG[=WEIGHTS]...
 *
 * The image is decoded and scaled before. In every round the contestants take turns, so that a
 * change of the machine's pace hits all of them; the figures are medians over the rounds, with the
 * spread (middle half) behind them. OpenCV takes part where weights are given. In the same run the
 * raw outputs are compared with those of im2col: a row that differs is WRONG, and its times are void.
 * --profile: the share of each kind of layer in the hook's pass instead.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "darknet.h"
#include "driver/driver.h"
#include "detect/opencv_dnn.h"

char *get_layer_string(LAYER_TYPE);    /* of Darknet's network.h */

enum { MAX_ROUNDS = 1000, MAX_THREAD_COUNTS = 8 };
static const double TOLERANCE = 1e-4;
static const double ROUND_MS = 40;      /* a contestant's turn lasts about this long */

typedef enum contestant { HOOK, IM2COL, OPENCV, CONTESTANTS } contestant;

static int rounds = 15, thread_counts[MAX_THREAD_COUNTS] = {1, 2}, counts = 2;
static bool profiles;

typedef struct subject {
    const char *name;
    network *net;
    void *opencv;               /* NULL: does not take part */
    image input;
} subject;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void pass(const subject *s, contestant who, int threads)
{
    if (who == OPENCV) {
        opencv_dnn_forward(s->opencv, s->input.data, s->input.c, s->input.h, s->input.w, threads);
        return;
    }
    gemm_set_conv(who == HOOK);
    gemm_set_threads(threads);
    network_predict(s->net, s->input.data);
}

/* ---- times ---- */

/* Milliseconds of a pass in a turn of several, once the others' threads are asleep. */
static double turn(const subject *s, contestant who, int threads, int passes)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    pass(s, who, threads);
    const double start = now_ms();
    for (int i = 0; i < passes; ++i) pass(s, who, threads);
    return (now_ms() - start) / passes;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct figure {
    double median, low, high;
} figure;

static figure figure_of(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_size);
    return (figure){v[n / 2], v[n / 4], v[n - 1 - n / 4]};
}

static void print_figure(figure f)
{
    printf("  %8.2f [%7.2f %7.2f]", f.median, f.low, f.high);
}

/* Of each round's pair, so that a slow minute does not count for one of the two alone. */
static void print_ratio(const double *a, const double *b)
{
    double ratios[MAX_ROUNDS];
    for (int i = 0; i < rounds; ++i) ratios[i] = a[i] / b[i];
    const figure f = figure_of(ratios, rounds);
    printf("  %4.2f [%4.2f %4.2f]", f.median, f.low, f.high);
}

/* ---- results ---- */

static bool is_output(const network *net, int i)
{
    const LAYER_TYPE type = net->layers[i].type;
    return type == YOLO || type == REGION || type == DETECTION || i == net->n - 1;
}

static float *outputs_of(const network *net, size_t *count)
{
    *count = 0;
    for (int i = 0; i < net->n; ++i)
        if (is_output(net, i)) *count += (size_t)net->layers[i].outputs;
    float *values = malloc(*count * sizeof *values);
    size_t at = 0;
    for (int i = 0; i < net->n; ++i) {
        if (!is_output(net, i)) continue;
        memcpy(values + at, net->layers[i].output, (size_t)net->layers[i].outputs * sizeof *values);
        at += (size_t)net->layers[i].outputs;
    }
    return values;
}

/* The largest difference relative to the largest value of b; infinite for NaN. */
static double difference(const float *a, const float *b, size_t n)
{
    double worst = 0, size = 0;
    for (size_t i = 0; i < n; ++i) {
        const double d = fabs((double)a[i] - (double)b[i]);
        if (!isfinite(d)) return INFINITY;
        worst = fmax(worst, d);
        size = fmax(size, fabs((double)b[i]));
    }
    return worst / size;
}

static double hook_difference(const subject *s)
{
    size_t n;
    pass(s, IM2COL, thread_counts[0]);
    float *expected = outputs_of(s->net, &n);
    pass(s, HOOK, thread_counts[0]);
    float *actual = outputs_of(s->net, &n);
    const double d = difference(actual, expected, n);
    free(expected);
    free(actual);
    return d;
}

/* OpenCV computes the same network when the last convolution before each [yolo] agrees. */
static double opencv_difference(const subject *s)
{
    double worst = INFINITY;
    pass(s, IM2COL, thread_counts[0]);
    pass(s, OPENCV, thread_counts[0]);
    for (int i = 1; i < s->net->n; ++i) {
        if (s->net->layers[i].type != YOLO) continue;
        const layer l = s->net->layers[i - 1];
        char name[32];
        snprintf(name, sizeof name, "conv_%d", i - 1);
        float *values = malloc((size_t)l.outputs * sizeof *values);
        const bool same = opencv_dnn_output(s->opencv, name, values, l.outputs) == l.outputs;
        const double d = same ? difference(values, l.output, (size_t)l.outputs) : INFINITY;
        worst = isinf(worst) ? d : fmax(worst, d);
        free(values);
        if (isinf(d)) return d;
    }
    return worst;
}

/* ---- the table ---- */

static void time_subject(const subject *s, int threads)
{
    double ms[CONTESTANTS][MAX_ROUNDS];
    int passes[CONTESTANTS];
    const int last = s->opencv ? OPENCV : IM2COL;
    for (int who = 0; who <= last; ++who) {
        const double once = turn(s, who, threads, 1);
        passes[who] = (int)fmax(1, ROUND_MS / once);
    }
    for (int round = 0; round < rounds; ++round)
        for (int who = 0; who <= last; ++who) ms[who][round] = turn(s, who, threads, passes[who]);

    printf("%-24s %2d", s->name, threads);
    for (int who = IM2COL; who <= last; ++who) {
        double copy[MAX_ROUNDS];
        memcpy(copy, ms[who], sizeof copy);
        if (who == IM2COL) {
            memcpy(copy, ms[HOOK], sizeof copy);
            print_figure(figure_of(copy, rounds));
            memcpy(copy, ms[who], sizeof copy);
        }
        print_figure(figure_of(copy, rounds));
        print_ratio(ms[HOOK], ms[who]);
    }
    putchar('\n');
    fflush(stdout);
}

static bool measure(const subject *s)
{
    const double d = hook_difference(s);
    if (!(d <= TOLERANCE)) {
        printf("%-24s WRONG: the hook is %.3g away from im2col\n", s->name, d);
        return false;
    }
    if (s->opencv) {
        const double o = opencv_difference(s);
        if (!(o <= 1e-2)) {
            printf("%-24s WRONG: OpenCV is %.3g away from Darknet\n", s->name, o);
            return false;
        }
    }
    for (int i = 0; i < counts; ++i) time_subject(s, thread_counts[i]);
    return true;
}

/* ---- --profile ---- */

/* forward_network, with a clock around each layer: keeps each layer's fastest time. */
static void time_layers(network *netp, double *ms)
{
    network net = *netp;
    net.train = 0;
    net.delta = 0;
    for (int i = 0; i < net.n; ++i) {
        layer l = net.layers[i];
        net.index = i;
        const double start = now_ms();
        l.forward(l, net);
        const double took = now_ms() - start;
        if (took < ms[i]) ms[i] = took;
        net.input = l.output;
    }
}

static const char *kind_of(const layer *l, char *text, size_t size)
{
    if (l->type == CONVOLUTIONAL) {
        snprintf(text, size, "conv %dx%d/%d%s", l->size, l->size, l->stride,
                 l->groups == 1 ? "" : l->groups == l->c ? " depthwise" : " grouped");
        return text;
    }
    return get_layer_string(l->type);
}

/* A line for the layers of the same kind as layer i, if it is the first of them. */
static void print_kind(const network *net, int i, const double *ms, double total)
{
    char kind[64], other[64];
    double sum = 0, flop = 0;
    int n = 0;
    const char *mine = kind_of(&net->layers[i], kind, sizeof kind);
    for (int j = 0; j < net->n; ++j) {
        const layer *l = &net->layers[j];
        if (strcmp(mine, kind_of(l, other, sizeof other))) continue;
        if (j < i) return;
        sum += ms[j];
        ++n;
        if (l->type == CONVOLUTIONAL)
            flop += 2. * l->n * l->size * l->size * l->c / l->groups * l->out_h * l->out_w;
    }
    printf("    %-24s %3d  %9.3f ms  %5.1f%%", mine, n, sum, 100 * sum / total);
    if (flop > 0) printf("  %7.1f GFLOP/s", flop / sum * 1e-6);
    putchar('\n');
}

static void profile(const subject *s, int threads)
{
    network *net = s->net;
    double *ms = malloc((size_t)net->n * sizeof *ms), total = 0;
    for (int i = 0; i < net->n; ++i) ms[i] = INFINITY;
    gemm_set_conv(true);
    gemm_set_threads(threads);
    pass(s, HOOK, threads);
    float *input = net->input;
    net->input = s->input.data;
    for (int i = 0; i < rounds; ++i) time_layers(net, ms);
    net->input = input;
    for (int i = 0; i < net->n; ++i) total += ms[i];
    printf("%s, %d threads: %.3f ms\n", s->name, threads, total);
    for (int i = 0; i < net->n; ++i) print_kind(net, i, ms, total);
    free(ms);
}

/* ---- the subjects ---- */

/* Darknet's first weights, with a batch norm that passes its input on. */
static void settle_batch_norm(network *net)
{
    for (int i = 0; i < net->n; ++i) {
        layer *l = &net->layers[i];
        if (l->type != CONVOLUTIONAL || !l->batch_normalize) continue;
        for (int f = 0; f < l->n; ++f) l->rolling_variance[f] = 1;
    }
}

static subject subject_make(char *argument, image picture)
{
    char *weights = strchr(argument, '=');
    if (weights) *weights++ = '\0';
    subject s = {.name = strrchr(argument, '/') ? strrchr(argument, '/') + 1 : argument};
    s.net = load_network(argument, weights, 0);
    if (!weights) settle_batch_norm(s.net);
    set_batch_network(s.net, 1);
    s.input = letterbox_image(picture, s.net->w, s.net->h);
    if (weights && opencv_dnn_load) s.opencv = opencv_dnn_load(argument, weights);
    return s;
}

static int read_list(char *text, int *values, int most)
{
    int n = 0;
    for (char *at = strtok(text, ","); at && n < most; at = strtok(NULL, ",")) values[n++] = atoi(at);
    return n;
}

int main(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; ++i) {
        if (!strcmp(argv[i], "--threads") && i + 1 < argc) counts = read_list(argv[++i], thread_counts, MAX_THREAD_COUNTS);
        else if (!strcmp(argv[i], "--rounds") && i + 1 < argc) rounds = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--profile")) profiles = true;
        else break;
    }
    if (argc - i < 2 || argv[i][0] == '-' || rounds < 1 || rounds > MAX_ROUNDS || counts < 1) {
        fprintf(stderr, "usage: bench_detect [--threads N,N...] [--rounds N] [--profile] IMAGE CFG[=WEIGHTS]...\n");
        return 2;
    }
    if (!freopen("/dev/null", "w", stderr)) return 2;   /* Darknet prints every network it reads */
    const image picture = load_image_color(argv[i++], 0, 0);
    bool right = true;
    if (!opencv_dnn_load) puts("SKIP opencv: libopencv-dev was not installed when this was built");
    else printf("OpenCV %s\n", opencv_dnn_version());
    if (!profiles)
        printf("%-24s %2s  %8s %17s  %8s %17s  %-16s  %8s %17s  %s\n", "forward pass, ms", "th", "hook",
               "middle half", "im2col", "middle half", "hook/im2col", "OpenCV", "middle half", "hook/OpenCV");
    for (; i < argc; ++i) {
        subject s = subject_make(argv[i], picture);
        for (int t = 0; profiles && t < counts; ++t) profile(&s, thread_counts[t]);
        if (!profiles) right = measure(&s) && right;
        free_image(s.input);
        if (s.opencv) opencv_dnn_free(s.opencv);
    }
    return !right;
}
