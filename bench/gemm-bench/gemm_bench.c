/* SPDX-License-Identifier: MIT */
/*
 * gemm-bench: times rows of the table on shapes of gemm, side by side.
 *
 * For each shape, operands and a reference in double precision are made first. Then come rounds. In
 * each round every row runs a burst of a few calls (measure.c), and so does the measurement of the
 * FMA peak. Their order is random, and new in each round. So what disturbs the machine disturbs all
 * of them alike. The rounds end when each row has its samples. A row with a wrong result is dropped
 * with its times.
 *
 * A lane is a row with its number of threads and its state of the caches.
 */
#include "common/output.h"
#include "common/random.h"
#include "common/results.h"
#include "common/stats.h"
#include "util/ints.h"
#include "driver/start.h"
#include "gemm-bench/die.h"
#include "gemm-bench/measure.h"
#include "gemm-bench/options.h"
#include "gemm-bench/probe.h"
#include "util/clock.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
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
    double first_s, spent_s;    /* first_s: NAN before the first burst */
    burst_status status;
    char ran[96], text[200];
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
    problems problems;
    results_head head;
    results results;
    rng random;                 /* for the order of the turns */
    double start;
    int shape;                  /* the present one */
    bool failed;
    int quarters;               /* of the work, that were said */
} bench;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

/* ---- lanes ---- */

static void drop_row(bench_options *o, size_t at)
{
    worker *w = &o->rows[at].worker;
    if (o->rows[at].apart) {
        kill(w->pid, SIGKILL);      /* later workers hold its pipe open, so it would not end */
        worker_stop(w);
    }
    free(o->rows[at].settings);
    free(o->rows[at].label);
    memmove(&o->rows[at], &o->rows[at + 1], (o->row_count - at - 1) * sizeof(bench_row));
    --o->row_count;
}

/* A row that the user names must run here. Of a group only the rows that can run are taken. Rows
   with variables of their own are asked in their own process, at their first burst. */
static void check_usable(bench_options *o, const probe *probes)
{
    for (size_t i = o->row_count; i-- > 0;) {
        const bench_row *row = &o->rows[i];
        const char *reason = probes[row->variant].reason;
        if (row->settings || !*reason) continue;
        if (row->named)
            bench_die(BENCH_FAILED, "%s cannot run here: %s", gemm_variants[row->variant].name,
                      reason);
        drop_row(o, i);
    }
    if (!o->row_count)
        bench_die(BENCH_FAILED, "none of these rows can run here: gemm-bench --list says why");
}

static void add_lane(bench *b, bench_row *row, int threads, bool cold)
{
    const size_t samples = (size_t)b->options.samples;
    b->lanes[b->lane_count++] =
        (lane){.row = row, .threads = threads, .cold = cold,
               .seconds = bench_check_memory(calloc(samples, sizeof(double))),
               .cycles = bench_check_memory(calloc(samples, sizeof(double))),
               .rounds = bench_check_memory(calloc(samples, sizeof(int)))};
}

static void make_lanes(bench *b)
{
    const bench_options *o = &b->options;
    b->lanes = bench_check_memory(calloc(2 * o->row_count * (size_t)o->thread_count, sizeof(lane)));
    for (size_t r = 0; r < o->row_count; ++r) {
        bench_row *row = &o->rows[r];
        for (int t = 0; t < (row->threads ? 1 : o->thread_count); ++t) {
            const int threads = row->threads ? row->threads : o->threads[t];
            if (o->warm) add_lane(b, row, threads, false);
            if (o->cold) add_lane(b, row, threads, true);
        }
    }
}

/* One process for each row that runs apart. This comes before anything in this process has read its
   environment or loaded a library, because a child would inherit that. */
static void start_workers(bench_options *o)
{
    for (size_t r = 0; r < o->row_count; ++r)
        if (o->rows[r].apart && worker_start(&o->rows[r].worker, o->rows[r].settings))
            bench_die(BENCH_FAILED, "no process for %s: %s", o->rows[r].label, strerror(errno));
}

/* ---- what the machine can do ---- */

static void add_width(results_head *h, int threads)
{
    int at = 0;
    while (at < h->width_count && h->widths[at].threads < threads) ++at;
    if (at < h->width_count && h->widths[at].threads == threads) return;
    results_width *width = &h->widths[at];
    memmove(width + 1, width, (size_t)(h->width_count - at) * sizeof(*width));
    width->threads = threads;
    ++h->width_count;
}

static void measure_width(results_width *w, const machine *m)
{
    fprintf(stderr, "gemm-bench: peak and bandwidth of %d thread%s\n", w->threads,
            w->threads == 1 ? "" : "s");
    for (size_t isa = 0; isa < peak_isa_count; ++isa)
        w->gflops[isa] = peak_isas[isa].usable() ? peak_gflops(&peak_isas[isa], w->threads) : -1;
    size_t bytes = 4 * (size_t)m->last_level_bytes;
    if (bytes < 128u << 20) bytes = 128u << 20;
    if ((double)bytes > m->memory_gib / 8 * 1073741824.0)
        bytes = (size_t)(m->memory_gib / 8 * 1073741824.0);
    w->bandwidth = peak_bandwidth_measure(w->threads, bytes);
}

/* The libraries behind the rows of this run. */
static void read_versions(bench *b, const probe *probes)
{
    results_head *h = &b->head;
    const int most = sizeof(h->versions) / sizeof(h->versions[0]);
    for (size_t v = 0; v < gemm_variant_count && h->version_count < most; ++v) {
        bool used = false;
        for (size_t r = 0; r < b->options.row_count; ++r)
            used |= b->options.rows[r].variant == (int)v;
        if (!used || !*probes[v].version) continue;
        h->versions[h->version_count].name = gemm_variants[v].name;
        h->versions[h->version_count++].version = probes[v].version;
    }
}

static void read_head(bench *b)
{
    results_head *h = &b->head;
    static char now[32];
    const time_t t = time(NULL);
    strftime(now, sizeof(now), "%Y-%m-%d %H:%M:%S", localtime(&t));
    h->time = now;
    h->shapes = b->options.shapes_text;
    h->seed = b->options.seed;
    h->memory = b->options.host_alloc ? "gemm_host_alloc" : "malloc";
    h->peak_isa = b->options.peak_isa;
    h->widths = bench_check_memory(calloc((size_t)b->lane_count + 1, sizeof(results_width)));
    machine_read(&h->machine);
    for (int i = 0; i < b->lane_count; ++i) {
        const int length = (int)strlen(b->lanes[i].row->label);
        if (length > h->label_width) h->label_width = length;
        add_width(h, b->lanes[i].threads);
    }
    for (int i = 0; i < h->width_count && !interrupted; ++i) {
        if (b->options.peaks) measure_width(&h->widths[i], &h->machine);
        else h->widths[i].bandwidth = (peak_bandwidth){-1, -1};
    }
}

/* ---- progress ---- */

/* The part of the work that is done. A lane ends by its samples or by its seconds. */
static double part_done(const bench *b)
{
    double sum = 0;
    for (int i = 0; i < b->lane_count; ++i) {
        const lane *l = &b->lanes[i];
        const double samples = (double)l->samples / b->options.samples;
        const double spent = b->options.seconds > 0 ? l->spent_s / b->options.seconds : 0;
        sum += l->done ? 1 : fmin(1, fmax(samples, spent));
    }
    return (b->shape + sum / b->lane_count) / (double)b->options.shapes.count;
}

static void say_left(const bench *b, char left[64])
{
    const double part = part_done(b), passed = gemm_now_s() - b->start;
    left[0] = 0;
    if (part > 0) snprintf(left, 64, ", about %.0f s left", passed / part * (1 - part));
}

/* On a terminal one line that is rewritten; else a line for each shape, and one for each quarter of
   the work. */
static void show_progress(bench *b, const lane *l, int round)
{
    const shape *s = &b->options.shapes.items[b->shape];
    const int shapes = (int)b->options.shapes.count;
    const double passed = gemm_now_s() - b->start;
    char left[64];
    say_left(b, left);
    if (isatty(2)) {
        if (!l) return;
        fprintf(stderr, "\r\033[Kgemm-bench: shape %d of %d, %dx%dx%d, round %d, %s%s",
                b->shape + 1, shapes, s->M, s->N, s->K, round + 1, l->row->label, left);
    } else if (!l) {
        fprintf(stderr, "gemm-bench: shape %d of %d, %dx%dx%d, after %.0f s\n", b->shape + 1,
                shapes, s->M, s->N, s->K, passed);
    } else if ((int)(4 * part_done(b)) > b->quarters) {
        b->quarters = (int)(4 * part_done(b));
        fprintf(stderr, "gemm-bench: %d%% after %.0f s%s\n", 25 * b->quarters, passed, left);
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
    l->first_s = NAN;
    l->spent_s = 0;
    l->status = BURST_OK;
    l->ran[0] = l->text[0] = '\0';
    l->done = false;
}

static void take_burst(bench *b, lane *l, int round)
{
    const bench_options *o = &b->options;
    const int missing = o->samples - l->samples;
    const burst_job job = {.shape = o->shapes.items[b->shape], .seed = o->seed,
                           .host_alloc = o->host_alloc, .variant = l->row->variant,
                           .threads = l->threads, .cold = l->cold,
                           .samples = missing < 3 ? missing : 3,
                           .first = isnan(l->first_s)};
    const burst_result r = l->row->apart ? worker_burst(&l->row->worker, &job)
                                         : measure_burst(&b->problems, &job);
    for (int i = 0; i < r.samples; ++i) {
        l->seconds[l->samples] = r.seconds[i];
        l->rounds[l->samples] = round;
        l->cycles[l->samples++] = r.cycles[i];
    }
    if (job.first) l->first_s = r.first_s;
    memcpy(l->ran, r.ran, sizeof(l->ran));
    l->spent_s += r.spent_s;
    if (r.status != BURST_OK) {
        l->status = r.status;
        memcpy(l->text, r.text, sizeof(l->text));
    }
    l->done = r.status == BURST_WRONG || r.status == BURST_FAILED || l->samples >= o->samples
              || (l->spent_s > o->seconds && l->samples >= 3);
}

/* One peak a round: there are no more rounds than samples, because each takes at least one. */
static void make_peaks(bench *b)
{
    b->peaks = bench_check_memory(calloc((size_t)b->head.width_count, sizeof(double *)));
    for (int i = 0; i < b->head.width_count; ++i)
        b->peaks[i] = bench_check_memory(calloc((size_t)b->options.samples, sizeof(double)));
}

static void take_peak(bench *b, int width, int round)
{
    double gflops[3];
    const peak_isa *isa = &peak_isas[b->head.peak_isa];
    if (peak_samples(isa, b->head.widths[width].threads, 1e-3, 3, gflops))
        bench_die(BENCH_FAILED, "no thread or memory to measure the peak with");
    b->peaks[width][round] = stats_median(gflops, 3);
}

static void shuffle(rng *random, int *order, int count)
{
    for (int i = count - 1; i > 0; --i) {
        const int j = rng_below(random, i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

/* One turn: a burst of lane `turn`, or behind the lanes a peak. Returns whether the lane is to have
   more bursts. */
static bool take_turn(bench *b, int turn, int round)
{
    if (turn >= b->lane_count) {
        if (round < b->options.samples) take_peak(b, turn - b->lane_count, round);
        return false;
    }
    lane *l = &b->lanes[turn];
    if (l->done) return false;
    if (isatty(2)) show_progress(b, l, round);
    take_burst(b, l, round);
    if (!isatty(2)) show_progress(b, l, round);
    return !l->done;
}

/* Rounds until every lane has its samples. */
static void run_rounds(bench *b)
{
    const int turns = b->lane_count + (b->options.peaks ? b->head.width_count : 0);
    int order[turns];
    for (int i = 0; i < turns; ++i) order[i] = i;
    for (int round = 0, active = 1; active && !interrupted; ++round) {
        active = 0;
        shuffle(&b->random, order, turns);
        for (int i = 0; i < turns && !interrupted; ++i) active += take_turn(b, order[i], round);
    }
}

/* The median of the cycles, or NAN where they are not counted. */
static double median_cycles(lane *l)
{
    for (int i = 0; i < l->samples; ++i)
        if (l->cycles[i] < 0) return NAN;
    return stats_median(l->cycles, (size_t)l->samples);
}

/* The median over the samples of a lane: its speed as a part of the peak in the same round, or NAN
   when there is no peak. */
static double share_of_peak(const bench *b, const lane *l, double flops)
{
    double shares[l->samples];
    int width = 0, n = 0;
    while (b->head.widths[width].threads != l->threads) ++width;
    for (int i = 0; i < l->samples; ++i) {
        const double peak = b->peaks[width][l->rounds[i]];
        if (peak > 0) shares[n++] = 1e-9 * flops / l->seconds[i] / peak;
    }
    return n ? stats_median(shares, (size_t)n) : NAN;
}

static results_row row_of(bench *b, lane *l)
{
    static const char *const names[] = {"ok", "declined", "wrong", "failed"};
    const shape *s = &b->options.shapes.items[b->shape];
    results_row row = {.impl = l->row->label, .cache = l->cold ? "cold" : "warm",
                       .status = names[l->status], .text = l->text, .ran = l->ran, .shape = *s,
                       .threads = l->threads, .median_s = NAN, .min_s = NAN, .mad_s = NAN,
                       .first_s = NAN, .cycles = NAN, .peak_s = NAN, .base_s = NAN,
                       .flops = shape_flops(s), .bytes = shape_bytes(s)};
    const bool valid = l->status == BURST_OK || l->status == BURST_DECLINED;
    if (!valid || !l->samples) return row;
    double sorted[l->samples];
    memcpy(sorted, l->seconds, sizeof sorted);
    row.samples = l->samples;
    row.sample_s = l->seconds;
    row.sample_rounds = l->rounds;
    row.first_s = l->first_s;
    row.mad_s = stats_mad(l->seconds, (size_t)l->samples);
    row.median_s = stats_median(sorted, (size_t)l->samples);
    row.min_s = sorted[0];
    row.cycles = median_cycles(l);
    row.peak_s = share_of_peak(b, l, row.flops) * row.median_s;
    return row;
}

static void add_to_total(lane *l, const results_row *row)
{
    const double calls = (double)row->shape.calls;
    ++l->shapes_done;
    l->total_peak_s += row->peak_s * calls;
    l->total_median_s += row->median_s * calls;
    l->total_min_s += row->min_s * calls;
}

static void report_fault(bench *b, const results_row *row)
{
    const shape *s = &row->shape;
    b->failed = true;
    fprintf(stderr, "gemm-bench: %s is %s for M=%d N=%d K=%d TA=%d TB=%d: %s\n", row->impl,
            row->status, s->M, s->N, s->K, s->TA, s->TB, row->text);
}

/* The i-th sample that a lane took in a round, or NAN. */
static double sample_in_round(const lane *l, int round, int i)
{
    for (int k = 0; k < l->samples; ++k)
        if (l->rounds[k] == round && i-- == 0) return l->seconds[k];
    return NAN;
}

/* The 95% interval of the first lane's time over this lane's, from all samples of both. {0, 0}
   where there are too few. */
static stats_interval speedup_interval(const bench *b, const lane *l)
{
    const lane *base = &b->lanes[0];
    if (min_int(base->samples, l->samples) < 6 || base->status != BURST_OK || l->status != BURST_OK)
        return (stats_interval){0, 0};
    stats_pair pairs[base->samples + l->samples];
    size_t n = 0;
    for (int round = 0; round < b->options.samples; ++round) {
        for (int i = 0; i < BURST_MAX; ++i) {
            const double of_l = sample_in_round(l, round, i);
            const double of_base = sample_in_round(base, round, i);
            if (isnan(of_l) && isnan(of_base)) break;
            pairs[n++] = (stats_pair){of_l, of_base, (size_t)round, 0};
        }
    }
    return stats_ratio_interval(pairs, n, 0.95, 1000, b->options.seed);
}

/* Prints a line for each lane. After Ctrl-C only lanes with three samples are worth a line. */
static void results_shape(bench *b)
{
    double base = NAN;
    stats_interval speedups[b->lane_count];
    for (int i = 0; i < b->lane_count; ++i) speedups[i] = speedup_interval(b, &b->lanes[i]);
    for (int i = 0; i < b->lane_count; ++i) {
        lane *l = &b->lanes[i];
        const bool own = l->status == BURST_OK;     /* not stock in the place of the row */
        if (interrupted && own && l->samples < 3) continue;
        results_row row = row_of(b, l);
        if (i == 0 && own) base = row.median_s;
        if (own) row.base_s = base;
        row.speedup = speedups[i];
        if (own && l->samples) add_to_total(l, &row);
        results_add(&b->results, &row);
        if (l->status == BURST_WRONG || l->status == BURST_FAILED) report_fault(b, &row);
    }
}

static void run_shapes(bench *b)
{
    b->start = gemm_now_s();
    for (b->shape = 0; b->shape < (int)b->options.shapes.count && !interrupted; ++b->shape) {
        for (int i = 0; i < b->lane_count; ++i) start_shape(&b->lanes[i]);
        show_progress(b, NULL, 0);
        for (int i = 0; i < b->head.width_count; ++i)
            memset(b->peaks[i], 0, (size_t)b->options.samples * sizeof(double));
        run_rounds(b);
        clear_progress();
        results_shape(b);
    }
}

/* The total of a lane. It has no times unless the lane ran every shape itself. */
static results_row total_of(const bench *b, const lane *l)
{
    const int shapes = (int)b->options.shapes.count;
    const bool all = l->shapes_done == shapes, base = b->lanes[0].shapes_done == shapes;
    return (results_row){.impl = l->row->label, .cache = l->cold ? "cold" : "warm",
                         .status = all ? "ok" : "incomplete", .text = "", .ran = "",
                         .threads = l->threads, .mad_s = NAN, .first_s = NAN, .cycles = NAN,
                         .median_s = all ? l->total_median_s : NAN,
                         .min_s = all ? l->total_min_s : NAN,
                         .peak_s = all ? l->total_peak_s : NAN,
                         .base_s = base ? b->lanes[0].total_median_s : NAN};
}

static void results_totals(bench *b)
{
    const shape_list *shapes = &b->options.shapes;
    double flops = 0, bytes = 0;
    long calls = 0;
    for (size_t i = 0; i < shapes->count; ++i) {
        const shape *s = &shapes->items[i];
        flops += shape_flops(s) * (double)s->calls;
        bytes += shape_bytes(s) * (double)s->calls;
        calls += s->calls;
    }
    results_totals_begin(&b->results);
    for (int i = 0; i < b->lane_count; ++i) {
        results_row row = total_of(b, &b->lanes[i]);
        row.flops = flops;
        row.bytes = bytes;
        results_total(&b->results, &row, calls, b->lanes[i].shapes_done, (int)shapes->count);
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
    FILE *out = o->output ? output_open(o->output) : stdout;
    if (!out) bench_die(BENCH_FAILED, "-o %s: %s", o->output, strerror(errno));
    signal(SIGPIPE, SIG_IGN);
    const struct sigaction on_sigint = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    sigaction(SIGINT, &on_sigint, NULL);
    b->random = rng_make(o->seed, 1);
    make_lanes(b);
    read_head(b);
    results_begin(&b->results, out, o->format, &b->head);
    make_peaks(b);
    run_shapes(b);
    results_totals(b);
    int status = b->failed;
    status |= end_output(out, o->output, results_end(&b->results, !interrupted));
    return interrupted ? 130 : status;
}

/* Loads what the rows need, in this order: see start_workers. */
static int prepare_and_run(bench *b)
{
    bench_options *o = &b->options;
    start_workers(o);
    if (!o->thread_count) {
        o->threads[0] = gemm_get_state()->threads;
        o->thread_count = 1;
    }
    probe *probes = bench_check_memory(probe_rows(PROBE_ALL));
    check_usable(o, probes);
    read_versions(b, probes);
    const int status = run(b);
    for (size_t r = o->row_count; r-- > 0;)
        if (o->rows[r].apart) worker_stop(&o->rows[r].worker);
    free(probes);
    return status;
}

static int list_rows(void)
{
    const gemm_state *s = gemm_get_state();     /* a bad variable is an error of this process */
    fprintf(stderr, "gemm-bench: threads %d, by %s\n", s->threads, s->threads_by);
    probe *probes = bench_check_memory(probe_rows(PROBE_LIMITS));
    probe_list(probes, stdout);
    free(probes);
    return end_output(stdout, NULL, 0);
}

static void free_bench(bench *b)
{
    for (int i = 0; i < b->lane_count; ++i) {
        free(b->lanes[i].seconds);
        free(b->lanes[i].cycles);
        free(b->lanes[i].rounds);
    }
    free(b->lanes);
    for (int i = 0; b->peaks && i < b->head.width_count; ++i) free(b->peaks[i]);
    free(b->peaks);
    free(b->head.widths);
    problems_free(&b->problems);
    options_free(&b->options);
}

int main(int argc, char **argv)
{
    bench b = {0};
    int status;
    options_read(&b.options, argc, argv);
    if (b.options.list) {
        status = list_rows();
    } else if (b.options.list_shapes) {
        print_shapes(&b.options.shapes);
        status = end_output(stdout, NULL, 0);
    } else {
        status = prepare_and_run(&b);
    }
    free_bench(&b);
    return status;
}
