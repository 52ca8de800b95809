/* SPDX-License-Identifier: MIT */
/*
 * Forward passes of whole networks, side by side: by default the hook, the hook without Winograd,
 * and Darknet's im2col, each with the row of GEMM_IMPL.
 *
 *   bench_detect [--rows LIST] [--threads N,N...] [--rounds N] IMAGE CFG[=WEIGHTS]...
 *   bench_detect --serve --threads N IMAGE CFG[=WEIGHTS]
 *
 * The image is decoded and scaled before. In every round the contestants take turns, so that a
 * change of the machine's speed hits all of them. The figures are medians over the rounds with the
 * middle half behind them. In the same run the raw outputs are compared with those of the first
 * contestant: one that differs by more than its rounding allows is WRONG, and the times are void.
 * --rows: rows by name, with a comma between two of them. Behind a row may stand how it convolves:
 * ":direct" or ":im2col". Each has a network of its own, in memory as it would get it. A library
 * that is missing is left out. Of a row on a device the table has launches, waits and bytes too.
 * --serve: one contestant among other programs (bench/peers). The environment says which one. Each
 * line of standard input is a command, and is answered by a line:
 *   machine      the machine, as JSON
 *   input FILE   "done"; FILE has the network's input: floats, channel by channel
 *   raw FILE     "done"; FILE has the raw outputs of a pass: floats, layer by layer
 *   turn N       milliseconds of a pass, the mean of N
 *   first        milliseconds of reading the network and of a pass, and the most KiB that the
 *                process had in memory. To be asked before any other pass
 */
#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "darknet.h"
#include "cl/device/counts.h"
#include "cl/device/device.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/stats.h"
#include "detect/outputs.h"
#include "detect/subject.h"
#include "driver/driver.h"
#include "driver/settings.h"
#include "util/clock.h"
#include "util/number.h"

enum { MAX_ROUNDS = 1000, MAX_THREAD_COUNTS = 8, MOST = 16 };
static const double TOLERANCE = 1e-4;

/* One that takes turns: a row and how it convolves. */
typedef struct contestant {
    const char *name;           /* as in --rows */
    const gemm_variant *row;
    gemm_conv_mode mode;
    /* of the present network */
    subject subject;
    gemm_cl_counts counts;      /* of one pass */
    int passes;                 /* in a turn */
    double ms[MAX_ROUNDS];      /* of a pass, in each round */
} contestant;

static contestant contestants[MOST];
static int contestant_count;
static int rounds = 15;
static int thread_counts[MAX_THREAD_COUNTS] = {1, 2}, counts = 2;
static bool serves;
static bool launched;           /* one of them has used the device */

static void set(const contestant *c, int threads)
{
    gemm_set_variant(c->row);
    gemm_set_conv(c->mode);
    gemm_set_threads(threads);
}

static void pass(const contestant *c, int threads)
{
    set(c, threads);
    network_predict(c->subject.net, c->subject.input.data);
}

static double turn(const contestant *c, int threads, int passes)
{
    set(c, threads);
    return subject_turn(&c->subject, passes);
}

/* ---- who takes part ---- */

static void add(char *name, const gemm_variant *row, gemm_conv_mode mode)
{
    const char *why = gemm_is_reference(row) ? gemm_unusable(row) : NULL;
    if (why) {
        printf("%s: SKIP %s\n", name, why);
        return;
    }
    if (contestant_count == MOST) {
        fprintf(stderr, "bench_detect: --rows: more than %d rows\n", MOST);
        exit(2);
    }
    contestants[contestant_count++] = (contestant){.name = name, .row = row, .mode = mode};
}

/* One item of --rows. */
static void add_named(char *name)
{
    static const struct { const char *word; gemm_conv_mode mode; } ways[] = {
        {"", GEMM_HOOK}, {":direct", GEMM_DIRECT}, {":im2col", GEMM_IM2COL}};
    const char *way = name + strcspn(name, ":");
    char row[64];
    snprintf(row, sizeof row, "%.*s", (int)(way - name), name);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        if (!gemm_find(row) || strcmp(way, ways[i].word)) continue;
        add(name, gemm_find(row), ways[i].mode);
        return;
    }
    fprintf(stderr, "bench_detect: --rows '%s': a row of gemm-bench --list is needed, and behind "
                    "it nothing, :direct or :im2col\n", name);
    exit(2);
}

/* The row that the environment names, in each of the modes. */
static void add_default(void)
{
    add("hook", gemm_chosen(), GEMM_HOOK);
    add("direct", gemm_chosen(), GEMM_DIRECT);
    add("im2col", gemm_chosen(), GEMM_IM2COL);
}

/* Contestants with the same row share a network. Without weights all networks get the same ones. */
static void make_subjects(const char *argument, image picture)
{
    for (int i = 0; i < contestant_count; ++i) {
        contestant *c = &contestants[i];
        int same = 0;
        while (contestants[same].row != c->row) ++same;
        gemm_set_variant(c->row);
        srand(1);
        c->subject = same < i ? contestants[same].subject : subject_make(argument, picture);
    }
}

static void free_subjects(void)
{
    for (int i = 0; i < contestant_count; ++i) {
        int same = 0;
        while (contestants[same].row != contestants[i].row) ++same;
        if (same == i) subject_free(&contestants[i].subject);
    }
}

/* ---- results ---- */

/* How far the outputs are from those of the first contestant, relative to their largest; infinite
   for NaN. */
static double difference(const contestant *c)
{
    size_t n;
    pass(&contestants[0], thread_counts[0]);
    float *expected = outputs_copy(contestants[0].subject.net, &n);
    pass(c, thread_counts[0]);
    float *actual = outputs_copy(c->subject.net, &n);
    const double d = outputs_difference(actual, expected, n) / outputs_largest(expected, n);
    free(expected);
    free(actual);
    return d;
}

static bool is_right(const contestant *c)
{
    const double d = difference(c);
    const double most = TOLERANCE + fmax(gemm_network_rounding(c->row),
                                         gemm_network_rounding(contestants[0].row));
    if (d <= most) return true;
    printf("%s WRONG: %s is %.3g away from %s, and %.3g is allowed\n", c->subject.name, c->name, d,
           contestants[0].name, most);
    return false;
}

/* ---- the table ---- */

/* The median of v with the middle half behind it. Sorts v. */
static void print_figure(double *v, int digits)
{
    const double median = stats_median(v, (size_t)rounds);
    printf(" %.*f (%.*f-%.*f) |", digits, median, digits, stats_quantile(v, (size_t)rounds, .25),
           digits, stats_quantile(v, (size_t)rounds, .75));
}

static void print_row(const contestant *c, int threads)
{
    double ms[MAX_ROUNDS], ratios[MAX_ROUNDS];
    /* Of each round's pair, so that a slow minute does not count for one of the two alone. */
    for (int i = 0; i < rounds; ++i) ratios[i] = contestants[0].ms[i] / c->ms[i];
    memcpy(ms, c->ms, sizeof ms);
    printf("| %s | %d | %s |", c->subject.name, threads, c->name);
    print_figure(ms, 3);
    print_figure(ratios, 2);
    if (c->counts.launches)
        printf(" %.3f | %lu | %lu | %.2f |\n", c->counts.kernel_ms, c->counts.launches,
               c->counts.waits, (double)c->counts.bytes * 1e-6);
    else
        printf(" | | | |\n");
    fflush(stdout);
}

static void count_pass(contestant *c, int threads)
{
    pass(c, threads);
    gemm_cl_count(true);
    pass(c, threads);
    c->counts = gemm_cl_counted();
    launched |= c->counts.launches > 0;
    gemm_cl_count(false);
}

static void time_contestants(int threads)
{
    gemm_set_prepare_first(true);       /* no later pass prepares a part */
    for (int i = 0; i < contestant_count; ++i) {
        contestant *c = &contestants[i];
        count_pass(c, threads);
        c->passes = (int)fmax(1, SUBJECT_TURN_MS / turn(c, threads, 1));
    }
    for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < contestant_count; ++i) {
            /* nobody always follows another */
            contestant *c = &contestants[(i + round) % contestant_count];
            c->ms[round] = turn(c, threads, c->passes);
        }
    for (int i = 0; i < contestant_count; ++i) print_row(&contestants[i], threads);
}

static bool measure(void)
{
    for (int i = 1; i < contestant_count; ++i)
        if (!is_right(&contestants[i])) return false;
    for (int i = 0; i < counts; ++i) time_contestants(thread_counts[i]);
    return true;
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

static void print_first(const subject *s)
{
    struct rusage used;
    const double start = gemm_now_ms();
    network_predict(s->net, s->input.data);
    const double ms = s->load_ms + gemm_now_ms() - start;
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
        network_predict(s->net, s->input.data);
        float *values = outputs_raw_copy(s->net, &n);
        write_floats(command + 4, values, n);
        free(values);
    } else if (!strncmp(command, "turn ", 5) && gemm_parse_int(command + 5, 1, 1000000, &passes)) {
        gemm_set_prepare_first(true);
        printf("%.6f\n", subject_turn(s, passes));
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

static char *rows;              /* of --rows, or NULL */

/* Returns the index of the first argument that is no option. */
static int read_options(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; ++i) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(option, "--rows"))
            ++i, rows = argv[i];
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
    fputs("usage: bench_detect [--rows ROW[:direct|:im2col],...] [--threads N,N...] [--rounds N]"
          " IMAGE CFG[=WEIGHTS]...\n"
          "       bench_detect --serve --threads N IMAGE CFG[=WEIGHTS]\n", stderr);
    exit(2);
}

static void print_heading(void)
{
    printf("Forward passes of one image, outputs read by the CPU: median ms of %d rounds (middle "
           "half), and the time of %s over that of the row; of one pass on a device: ms in "
           "kernels, launches, waits, MB copied\n\n"
           "| network | threads | row | ms | %s / row | kernels | launches | waits | MB |\n"
           "|---|---|---|---|---|---|---|---|---|\n", rounds, contestants[0].name,
           contestants[0].name);
}

static int run_server(char *argument, image picture)
{
    const subject s = subject_make(argument, picture);
    gemm_set_threads(thread_counts[0]);
    return serve(&s);
}

/* Else glibc takes the memory of a network from its heap once a picture was freed, and calloc
   writes all of it. */
static void fix_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

int main(int argc, char **argv)
{
    int i = read_options(argc, argv);
    for (int j = i; j < argc; ++j) subject_check("bench_detect", argv[j]);
    if (!rows) add_default();
    for (char *name; rows && (name = strsep(&rows, ","));) add_named(name);
    if (!contestant_count) return 1;
    gemm_wait_for_compilers();
    hook_reads_boxes();         /* and what they read, which is between no chains */
    /* Darknet prints every network it reads. A server's client wants its errors. */
    if (!serves && !freopen("/dev/null", "w", stderr)) return 2;
    fix_heap();
    const image picture = load_image_color(argv[i++], 0, 0);
    bool right = true;
    if (serves) return run_server(argv[i], picture);
    print_heading();
    for (; i < argc; ++i) {
        make_subjects(argv[i], picture);
        right = measure() && right;
        free_subjects();
    }
    if (launched) printf("\ndevice: %s\n", gemm_cl_describe());
    return !right;
}
