/*
 * gemm-bench: times rows of the table on shapes of gemm, side by side.
 *
 * For each shape, in turn: operands and a reference in double precision are made; then, round after
 * round, every row runs a burst of a few calls (measure.c), the rows in a new random order each
 * round, until each has its samples. So whatever disturbs the machine disturbs all rows alike; and the
 * FMA peak that they are compared with, which takes its turn as if it were a row. A row whose result
 * is wrong is dropped and its times with it.
 *
 * A lane is a row with its threads and its state of caches; a row with an environment of its own has
 * a process of its own.
 */
#include "driver/driver.h"
#include "ref/ref.h"
#include "gemm-bench/measure.h"
#include "gemm-bench/options.h"
#include "common/results.h"
#include "common/stats.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct lane {
    bench_row *row;
    int threads;
    bool cold;
    /* on the present shape */
    double *seconds, *cycles;   /* one a sample */
    int *rounds;                /* in which it was taken */
    int samples;
    double first_s, spent_s;
    burst_status status;
    char ran[32], text[200];
    bool done;
    /* over all shapes */
    int shapes_done;
    double total_median_s, total_min_s, total_peak_s;
} lane;

typedef struct bench {
    bench_options options;
    lane *lanes;
    int lane_count;
    double **peaks;             /* GFLOP/s, one a round for each of head.widths */
    problem problem;
    results_head head;
    results results;
    uint64_t random;
    double start;
    int shape;                  /* the present one */
    bool failed;
} bench;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

__attribute__((format(printf, 1, 2)))
static _Noreturn void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("gemm-bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;          /* splitmix64 */
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- lanes ---- */

static void drop_row(bench_options *o, size_t at)
{
    free(o->rows[at].settings);
    free(o->rows[at].label);
    memmove(&o->rows[at], &o->rows[at + 1], (o->row_count - at - 1) * sizeof(bench_row));
    --o->row_count;
}

/* A row that the user names must run; of a group only those that can are taken. */
static void check_usable(bench_options *o)
{
    for (size_t i = 0; i < o->row_count;) {
        const bench_row *row = &o->rows[i];
        const gemm_variant *v = &gemm_variants[row->variant];
        /* with an environment of its own, only its own process can tell */
        const char *reason = row->settings ? NULL : gemm_unusable(v);
        if (reason && row->named) die("%s cannot run here: %s", v->name, reason);
        if (reason) drop_row(o, i);
        else ++i;
    }
    if (!o->row_count) die("none of these rows can run here: gemm-bench --list says why");
}

static void add_lane(bench *b, bench_row *row, int threads, bool cold)
{
    lane *l = &b->lanes[b->lane_count++];
    *l = (lane){.row = row, .threads = threads, .cold = cold,
                .seconds = calloc((size_t)b->options.samples, sizeof(double)),
                .cycles = calloc((size_t)b->options.samples, sizeof(double)),
                .rounds = calloc((size_t)b->options.samples, sizeof(int))};
    if (!l->seconds || !l->cycles || !l->rounds) die("out of memory");
}

static void make_lanes(bench *b)
{
    const bench_options *o = &b->options;
    const size_t most = o->row_count * (size_t)(o->thread_count ? o->thread_count : 1) * 2;
    b->lanes = calloc(most, sizeof(lane));
    if (!b->lanes) die("out of memory");
    for (size_t r = 0; r < o->row_count; ++r) {
        bench_row *row = &o->rows[r];
        for (int t = 0; t < (row->threads ? 1 : o->thread_count); ++t) {
            const int threads = row->threads ? row->threads : o->threads[t];
            if (o->warm) add_lane(b, row, threads, false);
            if (o->cold) add_lane(b, row, threads, true);
        }
    }
}

/*
 * One process a row, which its lanes share. Before anything in this process has read its
 * environment or loaded a library, which the new one would inherit.
 */
static void start_workers(bench_options *o)
{
    for (size_t r = 0; r < o->row_count; ++r)
        if (o->rows[r].settings && worker_start(&o->rows[r].worker, o->rows[r].settings))
            die("no process for %s: %s", o->rows[r].label, strerror(errno));
}

/* ---- what the machine can do ---- */

static void add_width(results_head *h, int threads)
{
    int at = 0;
    while (at < h->width_count && h->widths[at].threads < threads) ++at;
    if (at < h->width_count && h->widths[at].threads == threads) return;
    memmove(&h->widths[at + 1], &h->widths[at], (size_t)(h->width_count - at) * sizeof(results_width));
    h->widths[at].threads = threads;
    ++h->width_count;
}

static void measure_width(results_width *w, const machine *m)
{
    for (size_t isa = 0; isa < peak_isa_count; ++isa)
        w->gflops[isa] = peak_isas[isa].usable() ? peak_gflops(&peak_isas[isa], w->threads) : -1;
    size_t bytes = 4 * (size_t)m->last_level_bytes;
    if (bytes < 128u << 20) bytes = 128u << 20;
    if ((double)bytes > m->memory_gib / 8 * 1073741824.0)
        bytes = (size_t)(m->memory_gib / 8 * 1073741824.0);
    w->bandwidth = peak_bandwidth_measure(w->threads, bytes);
}

static void read_head(bench *b)
{
    results_head *h = &b->head;
    static char now[32];
    const time_t t = time(NULL);
    strftime(now, sizeof(now), "%Y-%m-%d %H:%M:%S", localtime(&t));
    *h = (results_head){.time = now, .shapes = b->options.shapes_text, .seed = b->options.seed,
                       .peak_isa = b->options.peak_isa,
                       .widths = calloc((size_t)b->lane_count + 1, sizeof(results_width))};
    if (!h->widths) die("out of memory");
    machine_read(&h->machine);
    for (int i = 0; i < b->lane_count; ++i) {
        const int length = (int)strlen(b->lanes[i].row->label);
        if (length > h->label_width) h->label_width = length;
        add_width(h, b->lanes[i].threads);
    }
    for (size_t v = 0; v < gemm_variant_count; ++v) {
        if (gemm_variants[v].run != gemm_ref_run) continue;
        bool used = false;
        for (size_t r = 0; r < b->options.row_count; ++r)
            used |= b->options.rows[r].variant == (int)v;
        const char *version = used ? gemm_ref_version(gemm_variants[v].params) : NULL;
        if (!version) continue;
        h->versions[h->version_count].name = gemm_variants[v].name;
        h->versions[h->version_count++].version = version;
    }
    for (int i = 0; i < h->width_count && !interrupted; ++i) {
        fprintf(stderr, "gemm-bench: peak and bandwidth of %d thread%s\n", h->widths[i].threads,
                h->widths[i].threads == 1 ? "" : "s");
        measure_width(&h->widths[i], &h->machine);
    }
}

/* ---- progress ---- */

/* On a terminal one line that is rewritten; else a line a shape. */
static void show_progress(const bench *b, const lane *l, int round)
{
    const shape *s = &b->options.shapes.items[b->shape];
    const int shapes = (int)b->options.shapes.count;
    const double passed = measure_seconds() - b->start;
    if (isatty(2)) {
        char left[48] = "";
        if (b->shape > 0)
            snprintf(left, sizeof(left), ", about %.0f s left",
                     passed / b->shape * (shapes - b->shape));
        fprintf(stderr, "\r\033[Kgemm-bench: shape %d of %d, %dx%dx%d, round %d, %s%s", b->shape + 1,
                shapes, s->M, s->N, s->K, round + 1, l->row->label, left);
    } else if (round == 0 && l == NULL) {
        fprintf(stderr, "gemm-bench: shape %d of %d, %dx%dx%d, after %.0f s\n", b->shape + 1, shapes,
                s->M, s->N, s->K, passed);
    }
}

static void clear_progress(void)
{
    if (isatty(2)) fputs("\r\033[K", stderr);
}

/* ---- one shape ---- */

static void start_shape(lane *l)
{
    l->samples = 0;
    l->first_s = -1;
    l->spent_s = 0;
    l->status = BURST_OK;
    l->ran[0] = l->text[0] = '\0';
    l->done = false;
}

static void take_burst(bench *b, lane *l, int round)
{
    const bench_options *o = &b->options;
    const int missing = o->samples - l->samples;
    const burst_job job = {.shape = o->shapes.items[b->shape], .seed = o->seed, .offset = o->offset,
                           .variant = l->row->variant, .threads = l->threads, .cold = l->cold,
                           .idle_s = o->idle_s, .samples = missing < 3 ? missing : 3,
                           .first = l->first_s < 0};
    const burst_result r = l->row->settings ? worker_burst(&l->row->worker, &job)
                                             : measure_burst(&b->problem, &job);
    for (int i = 0; i < r.samples; ++i) {
        l->seconds[l->samples] = r.seconds[i];
        l->rounds[l->samples] = round;
        l->cycles[l->samples++] = r.cycles[i];
    }
    if (job.first) {
        l->first_s = r.first_s;
        memcpy(l->ran, r.ran, sizeof(l->ran));
    }
    l->spent_s += r.spent_s;
    if (r.status != BURST_OK) {
        l->status = r.status;
        memcpy(l->text, r.text, sizeof(l->text));
    }
    l->done = r.status != BURST_OK || l->samples >= o->samples
              || (l->spent_s > o->seconds && l->samples >= 3);
}

/* There are no more rounds than samples: each takes one at least. */
static void make_peaks(bench *b)
{
    b->peaks = calloc((size_t)b->head.width_count, sizeof(double *));
    if (!b->peaks) die("out of memory");
    for (int i = 0; i < b->head.width_count; ++i) {
        b->peaks[i] = calloc((size_t)b->options.samples, sizeof(double));
        if (!b->peaks[i]) die("out of memory");
    }
}

static void take_peak(bench *b, int width, int round)
{
    double gflops[3];
    const peak_isa *isa = &peak_isas[b->head.peak_isa];
    if (peak_samples(isa, b->head.widths[width].threads, 1e-3, 3, gflops))
        die("no thread or memory to measure the peak with");
    b->peaks[width][round] = stats_median(gflops, 3);
}

/* Rounds until every lane has its samples. */
static void run_rounds(bench *b)
{
    const int turns = b->lane_count + b->head.width_count;
    int order[turns];
    for (int i = 0; i < turns; ++i) order[i] = i;
    for (int round = 0, active = 1; active && !interrupted; ++round) {
        active = 0;
        for (int i = turns - 1; i > 0; --i) {
            const int j = (int)(next_random(&b->random) % (uint64_t)(i + 1));
            const int swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
        for (int i = 0; i < turns && !interrupted; ++i) {
            if (order[i] >= b->lane_count) {
                if (round < b->options.samples) take_peak(b, order[i] - b->lane_count, round);
                continue;
            }
            lane *l = &b->lanes[order[i]];
            if (l->done) continue;
            if (isatty(2)) show_progress(b, l, round);
            take_burst(b, l, round);
            active += !l->done;
        }
    }
}

/* The median of what was counted, or -1. */
static double median_cycles(lane *l)
{
    for (int i = 0; i < l->samples; ++i)
        if (l->cycles[i] < 0) return -1;
    return stats_median(l->cycles, (size_t)l->samples);
}

/* The median over a lane's samples of its speed as a part of the peak in the same round, when it had
   the same processors. Below 0 when there was none; minus infinity, so that no total hides it. */
static double share_of_peak(const bench *b, const lane *l, double flops)
{
    double shares[l->samples];
    int width = 0, n = 0;
    while (b->head.widths[width].threads != l->threads) ++width;
    for (int i = 0; i < l->samples; ++i) {
        const double peak = b->peaks[width][l->rounds[i]];
        if (peak > 0) shares[n++] = 1e-9 * flops / l->seconds[i] / peak;
    }
    return n ? stats_median(shares, (size_t)n) : -INFINITY;
}

static results_row row_of(bench *b, lane *l)
{
    static const char *const names[] = {"ok", "declined", "wrong", "failed"};
    const shape *s = &b->options.shapes.items[b->shape];
    results_row row = {.impl = l->row->label, .cache = l->cold ? "cold" : "warm",
                      .status = names[l->status], .text = l->text, .ran = l->ran, .shape = *s,
                      .threads = l->threads, .samples = l->samples, .median_s = -1, .min_s = -1,
                      .mad_s = -1, .first_s = l->first_s, .cycles = -1, .base_s = -1,
                      .flops = shape_flops(s), .bytes = shape_bytes(s), .peak_s = -1};
    if (l->status == BURST_DECLINED)
        row.text = "this row does not do it; the driver would run stock";
    if (l->status != BURST_OK) {
        row.samples = 0;
        row.first_s = -1;
    } else if (l->samples) {
        const double share = share_of_peak(b, l, row.flops);    /* the median below sorts */
        row.mad_s = stats_mad(l->seconds, (size_t)l->samples);
        row.median_s = stats_median(l->seconds, (size_t)l->samples);
        row.min_s = l->seconds[0];          /* the median has sorted them */
        row.cycles = median_cycles(l);
        row.peak_s = share * row.median_s;
    }
    return row;
}

static void add_to_total(lane *l, const results_row *row)
{
    if (row->median_s <= 0) return;
    ++l->shapes_done;
    l->total_peak_s += row->peak_s * (double)row->shape.calls;
    l->total_median_s += row->median_s * (double)row->shape.calls;
    l->total_min_s += row->min_s * (double)row->shape.calls;
}

/* After Ctrl-C only lanes with three samples are worth a line. */
static void results_shape(bench *b)
{
    double base = -1;
    for (int i = 0; i < b->lane_count; ++i) {
        lane *l = &b->lanes[i];
        if (interrupted && l->status == BURST_OK && l->samples < 3) continue;
        results_row row = row_of(b, l);
        if (i == 0) base = row.median_s;
        row.base_s = base;
        add_to_total(l, &row);
        results_add(&b->results, &row);
        if (l->status == BURST_WRONG || l->status == BURST_FAILED) {
            b->failed = true;
            fprintf(stderr, "gemm-bench: %s is %s for M=%d N=%d K=%d TA=%d TB=%d: %s\n",
                    l->row->label, row.status, row.shape.M, row.shape.N, row.shape.K, row.shape.TA,
                    row.shape.TB, row.text);
        }
    }
}

static void run_shapes(bench *b)
{
    b->start = measure_seconds();
    for (b->shape = 0; b->shape < (int)b->options.shapes.count && !interrupted; ++b->shape) {
        for (int i = 0; i < b->lane_count; ++i) start_shape(&b->lanes[i]);
        if (!isatty(2)) show_progress(b, NULL, 0);
        for (int i = 0; i < b->head.width_count; ++i)
            memset(b->peaks[i], 0, (size_t)b->options.samples * sizeof(double));
        run_rounds(b);
        clear_progress();
        results_shape(b);
    }
}

static void results_totals(bench *b)
{
    const shape_list *shapes = &b->options.shapes;
    double flops = 0;
    double bytes = 0;
    long calls = 0;
    for (size_t i = 0; i < shapes->count; ++i) {
        flops += shape_flops(&shapes->items[i]) * (double)shapes->items[i].calls;
        bytes += shape_bytes(&shapes->items[i]) * (double)shapes->items[i].calls;
        calls += shapes->items[i].calls;
    }
    results_totals_begin(&b->results);
    for (int i = 0; i < b->lane_count; ++i) {
        const lane *l = &b->lanes[i];
        const bool all = l->shapes_done == (int)shapes->count;
        const bool base = b->lanes[0].shapes_done == (int)shapes->count;
        const results_row row = {.impl = l->row->label, .cache = l->cold ? "cold" : "warm",
                                .status = all ? "ok" : "incomplete", .text = "", .ran = "",
                                .threads = l->threads, .mad_s = -1, .first_s = -1, .cycles = -1,
                                .median_s = all ? l->total_median_s : -1,
                                .min_s = all ? l->total_min_s : -1, .flops = flops, .bytes = bytes,
                                .peak_s = all ? l->total_peak_s : -1,
                                .base_s = base ? b->lanes[0].total_median_s : -1};
        results_total(&b->results, &row, calls, l->shapes_done, (int)shapes->count);
    }
}

/* ---- the program ---- */

static void print_shapes(const shape_list *shapes)
{
    puts("TA\tTB\tM\tN\tK\tlda\tldb\tldc\tcalls");
    for (size_t i = 0; i < shapes->count; ++i) {
        const shape *s = &shapes->items[i];
        printf("%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%ld\n", s->TA, s->TB, s->M, s->N, s->K, s->lda,
               s->ldb, s->ldc, s->calls);
    }
}

/* `error`: errno of an earlier write that failed, or 0. Returns the status to end with. */
static int end_output(FILE *out, const char *name, int error)
{
    errno = 0;
    if ((fflush(out) || ferror(out)) && !error) error = errno ? errno : EIO;
    if (out != stdout && fclose(out) && !error) error = errno;
    if (!error) return 0;
    fprintf(stderr, "gemm-bench: %s could not be written: %s\n", name ? name : "standard output",
            strerror(error));
    return 1;
}

static int run(bench *b)
{
    const bench_options *o = &b->options;
    FILE *out = o->output ? fopen(o->output, "w") : stdout;
    if (!out) die("-o %s: %s", o->output, strerror(errno));
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND}, NULL);
    if (!o->thread_count) {
        b->options.threads[0] = gemm_make_context(&(gemm_note){0}).threads;
        b->options.thread_count = 1;
    }
    make_lanes(b);
    b->random = o->seed;
    read_head(b);
    results_begin(&b->results, out, o->format, &b->head);
    make_peaks(b);
    run_shapes(b);
    results_totals(b);
    int status = b->failed;
    status |= end_output(out, o->output, results_end(&b->results, !interrupted));
    for (size_t r = o->row_count; r-- > 0;)
        if (o->rows[r].settings) worker_stop(&o->rows[r].worker);
    return interrupted ? 130 : status;
}

int main(int argc, char **argv)
{
    bench b = {0};
    options_read(&b.options, argc, argv);
    int status;
    if (b.options.list) {
        gemm_list(stdout);
        status = end_output(stdout, NULL, 0);
    } else if (b.options.list_shapes) {
        print_shapes(&b.options.shapes);
        status = end_output(stdout, NULL, 0);
    } else {
        start_workers(&b.options);
        check_usable(&b.options);
        status = run(&b);
    }
    for (int i = 0; i < b.lane_count; ++i) {
        free(b.lanes[i].seconds);
        free(b.lanes[i].cycles);
        free(b.lanes[i].rounds);
    }
    free(b.lanes);
    for (int i = 0; b.peaks && i < b.head.width_count; ++i) free(b.peaks[i]);
    free(b.peaks);
    free(b.head.widths);
    problem_free(&b.problem);
    options_free(&b.options);
    return status;
}
