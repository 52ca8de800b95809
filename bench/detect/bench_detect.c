/* SPDX-License-Identifier: MIT */
/*
 * Forward passes of whole networks, side by side: the hook, the hook without Winograd, and
 * Darknet's im2col through the gemm of the same row.
 *
 *   bench_detect [--threads N,N...] [--rounds N] [--profile] IMAGE CFG[=WEIGHTS]...
 *   bench_detect --serve --threads N IMAGE CFG[=WEIGHTS]
 *
 * The image is decoded and scaled before. In every round the contestants take turns, so that a
 * change of the machine's speed hits all of them. The figures are medians over the rounds with the
 * middle half behind them. In the same run the raw outputs are compared with those of im2col: a row
 * that differs by more than its rounding allows is WRONG, and its times are void.
 * --profile: the share of each kind of layer in the pass of the hook instead.
 * --serve: one contestant among other programs (bench/peers). The environment says which one. Each
 * line of standard input is a command, and is answered by a line:
 *   machine      the machine, as JSON
 *   input FILE   "done"; FILE has the network's input: floats, channel by channel
 *   raw FILE     "done"; FILE has the raw outputs of a pass: floats, layer by layer
 *   turn N       milliseconds of a pass, the mean of N
 *   first        milliseconds from the start of reading the network to the end of a pass, and the
 *                most KiB that the process had in memory. To be asked before any other pass
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "darknet.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/stats.h"
#include "util/clock.h"
#include "detect/outputs.h"
#include "detect/subject.h"
#include "driver/driver.h"
#include "driver/settings.h"
#include "hook/hook.h"
#include "util/clock.h"
#include "util/number.h"

char *get_layer_string(LAYER_TYPE);     /* of Darknet's network.h */

enum { MAX_ROUNDS = 1000, MAX_THREAD_COUNTS = 8 };
static const double TOLERANCE = 1e-4;

typedef enum contestant { HOOK, DIRECT, IM2COL, CONTESTANTS, AS_SET } contestant;

static const gemm_conv_mode modes[CONTESTANTS] = {GEMM_HOOK, GEMM_DIRECT, GEMM_IM2COL};

static int rounds = 15;
static int thread_counts[MAX_THREAD_COUNTS] = {1, 2}, counts = 2;
static bool profiles, serves;

static void pass(const subject *s, contestant who, int threads)
{
    if (who != AS_SET) gemm_set_conv(modes[who]);
    gemm_set_threads(threads);
    network_predict(s->net, s->input.data);
}

/* ---- times ---- */

/* Milliseconds of a pass in a turn of several. */
static double turn(const subject *s, contestant who, int threads, int passes)
{
    if (who != AS_SET) gemm_set_conv(modes[who]);
    gemm_set_threads(threads);
    return subject_turn(s, passes);
}

typedef struct figure {
    double median, low, high;   /* low, high: the ends of the middle half */
} figure;

/* Sorts v. */
static figure figure_of(double *v, int n)
{
    const double median = stats_median(v, (size_t)n);
    return (figure){median, stats_quantile(v, (size_t)n, .25), stats_quantile(v, (size_t)n, .75)};
}

static void print_ms(const double *ms)
{
    double copy[MAX_ROUNDS];
    memcpy(copy, ms, (size_t)rounds * sizeof *copy);
    const figure f = figure_of(copy, rounds);
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

/* The largest difference relative to the largest value of b; infinite for NaN. */
static double difference(const float *a, const float *b, size_t n)
{
    return outputs_difference(a, b, n) / outputs_largest(b, n);
}

static double hook_difference(const subject *s)
{
    size_t n;
    pass(s, IM2COL, thread_counts[0]);
    float *expected = outputs_copy(s->net, &n);
    pass(s, HOOK, thread_counts[0]);
    float *actual = outputs_copy(s->net, &n);
    const double d = difference(actual, expected, n);
    free(expected);
    free(actual);
    return d;
}

/* ---- the table ---- */

static void time_subject(const subject *s, int threads)
{
    double ms[CONTESTANTS][MAX_ROUNDS];
    int passes[CONTESTANTS];
    for (int who = 0; who < CONTESTANTS; ++who) {
        const double once = turn(s, who, threads, 1);
        passes[who] = (int)fmax(1, SUBJECT_TURN_MS / once);
    }
    for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < CONTESTANTS; ++i) {
            const contestant who = (i + round) % CONTESTANTS;   /* nobody always follows another */
            ms[who][round] = turn(s, who, threads, passes[who]);
        }

    printf("%-24s %2d", s->name, threads);
    for (int who = 0; who < CONTESTANTS; ++who) print_ms(ms[who]);
    print_ratio(ms[HOOK], ms[DIRECT]);
    print_ratio(ms[HOOK], ms[IM2COL]);
    putchar('\n');
    fflush(stdout);
}

static bool measure(const subject *s)
{
    const double d = hook_difference(s);
    const double most = TOLERANCE + gemm_network_rounding(gemm_chosen());
    if (!(d <= most)) {
        printf("%-24s WRONG: the hook is %.3g away from im2col, and %.3g is allowed\n", s->name, d,
               most);
        return false;
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
        const double start = gemm_now_ms();
        forward_layer(l, net);
        output_to_cpu(l);       /* a device waits for nothing before */
        const double took = gemm_now_ms() - start;
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

static double convolution_flop(const layer *l)
{
    return 2. * l->n * l->size * l->size * l->c / l->groups * l->out_h * l->out_w;
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
        if (l->type == CONVOLUTIONAL) flop += convolution_flop(l);
    }
    printf("    %-24s %3d  %9.3f ms  %5.1f%%", mine, n, sum, 100 * sum / total);
    if (flop > 0) printf("  %7.1f GFLOP/s", flop / sum * 1e-6);
    putchar('\n');
}

static void profile(const subject *s, int threads)
{
    network *net = s->net;
    double *ms = outputs_alloc((size_t)net->n * sizeof *ms), total = 0;
    for (int i = 0; i < net->n; ++i) ms[i] = INFINITY;
    gemm_set_conv(GEMM_HOOK);
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

/* ---- --serve ---- */

static void write_floats(const char *path, const float *values, size_t n)
{
    FILE *file = fopen(path, "wb");
    const bool written = file && fwrite(values, sizeof *values, n, file) == n;
    if ((file && fclose(file)) || !written) {
        fprintf(stderr, "bench_detect: cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    puts("done");
}

static void print_machine(void)
{
    machine m;
    machine_read(&m);
    putchar('{');
    machine_json(stdout, &m);
    fputs(", ", stdout);
    json_field(stdout, "commit", m.commit);
    puts("}");
}

static double begun_ms;         /* before the network was read */

static void print_first(const subject *s)
{
    struct rusage used;
    pass(s, AS_SET, thread_counts[0]);
    const double ms = gemm_now_ms() - begun_ms;
    getrusage(RUSAGE_SELF, &used);
    printf("%.6f %ld\n", ms, used.ru_maxrss);
}

/* Returns whether it is a command. */
static bool answer(const subject *s, const char *command)
{
    int passes;
    if (!strcmp(command, "machine")) {
        print_machine();
    } else if (!strncmp(command, "input ", 6)) {
        const image i = s->input;
        write_floats(command + 6, i.data, (size_t)i.c * (size_t)i.h * (size_t)i.w);
    } else if (!strncmp(command, "raw ", 4)) {
        size_t n;
        pass(s, AS_SET, thread_counts[0]);
        float *values = outputs_raw_copy(s->net, &n);
        write_floats(command + 4, values, n);
        free(values);
    } else if (!strncmp(command, "turn ", 5) && gemm_parse_int(command + 5, 1, 1000000, &passes)) {
        printf("%.6f\n", turn(s, AS_SET, thread_counts[0], passes));
    } else if (!strcmp(command, "first")) {
        print_first(s);
    } else {
        return false;
    }
    fflush(stdout);
    return true;
}

/* Until the end of standard input. Returns the status of the program. */
static int serve(const subject *s)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (answer(s, line)) continue;
        fprintf(stderr, "bench_detect: '%s' is none of 'machine', 'input FILE', 'raw FILE', "
                        "'turn N' and 'first'\n", line);
        return 2;
    }
    return 0;
}

/* ---- the program ---- */

static _Noreturn void bad_number(const char *option, const char *text, int most, int room)
{
    if (room == 1)
        fprintf(stderr, "bench_detect: %s '%s': a whole number from 1 to %d is needed\n", option,
                text, most);
    else
        fprintf(stderr, "bench_detect: %s '%s': up to %d whole numbers from 1 to %d are needed\n",
                option, text, room, most);
    exit(2);
}

/* Reads up to `room` numbers with a comma between two of them and returns how many there are. */
static int read_numbers(const char *option, const char *text, int most, int *values, int room)
{
    char copy[128];
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
        bad_number(option, text, most, room);
    int n = 0;
    char *rest = copy;
    for (char *number; (number = strsep(&rest, ","));)
        if (n == room || !gemm_parse_int(number, 1, most, &values[n++]))
            bad_number(option, text, most, room);
    return n;
}

/* Returns the index of the first argument that is no option. */
static int read_options(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; ++i) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(option, "--profile")) profiles = true;
        else if (!strcmp(option, "--serve")) serves = true;
        else if (!strcmp(option, "--threads"))
            ++i, counts = read_numbers(option, value, GEMM_MAX_THREADS, thread_counts,
                                       MAX_THREAD_COUNTS);
        else if (!strcmp(option, "--rounds"))
            ++i, read_numbers(option, value, MAX_ROUNDS, &rounds, 1);
        else break;
    }
    const bool one = argc - i == 2 && counts == 1;
    if (argc - i >= 2 && argv[i][0] != '-' && (!serves || one)) return i;
    fputs("usage: bench_detect [--threads N,N...] [--rounds N] [--profile]"
          " IMAGE CFG[=WEIGHTS]...\n"
          "       bench_detect --serve --threads N IMAGE CFG[=WEIGHTS]\n", stderr);
    exit(2);
}

static void print_heading(void)
{
    if (profiles) return;
    printf("%-24s %2s  %8s %17s  %8s %17s  %8s %17s  %-18s %s\n", "forward pass, ms", "th",
           "hook", "middle half", "direct", "middle half", "im2col", "middle half", "hook/direct",
           "hook/im2col");
}

int main(int argc, char **argv)
{
    int i = read_options(argc, argv);
    for (int j = i; j < argc; ++j) subject_check("bench_detect", argv[j]);
    /* Darknet prints every network it reads. A server's client wants its errors. */
    if (!serves && !freopen("/dev/null", "w", stderr)) return 2;
    const image picture = load_image_color(argv[i++], 0, 0);
    bool right = true;
    if (serves) {
        begun_ms = gemm_now_ms();
        const subject s = subject_make(argv[i], picture);
        return serve(&s);
    }
    print_heading();
    for (; i < argc; ++i) {
        subject s = subject_make(argv[i], picture);
        for (int t = 0; profiles && t < counts; ++t) profile(&s, thread_counts[t]);
        if (!profiles) right = measure(&s) && right;
        subject_free(&s);
    }
    return !right;
}
