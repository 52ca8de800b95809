/* SPDX-License-Identifier: MIT */
/*
 * make bench-cl: the speed of the OpenCL rows on the device of GEMM_CL_DEVICE.
 *
 *   0  every row and every kernel of `cl` against a sum in double precision; a wrong one ends the
 *      program
 *   1  the 13 multiplies of yolov3-tiny, with all data on the device: cl and CLBlast, many calls to
 *      one wait; kernel time by events, and wall time
 *   2  the paper's ladder, step by step, and the GB/s that its kernels move
 *   3  cl_image, cl and cl_naive on squares of 128 and more
 *   4  the 13 multiplies from the CPU's memory: bytes copied, first call and steady state
 *   5  forward passes of the networks named on the command line (bench/cl/forward.c), by default of
 *      yolov3-tiny
 *
 * --ladder prints the paper's whole search instead (bench/cl/ladder.c). --help lists the options.
 * Times are medians of five rounds in which the rows take turns; (lowest-highest) follows.
 */
#include "cl/choice.h"
#include "cl/device/device.h"
#include "cl/forward.h"
#include "cl/ladder.h"
#include "cl/times.h"
#include "common/random.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "util/clock.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHAPES = YOLOV3_TINY_CALLS, MAX_NETWORKS = 16 };

static const shape_size *const yolo = yolov3_tiny_sizes;
static rng random_state = {88172645463325252u};

static const named_row steps[] = {
    {"cl_naive", &gemm_cl_naive}, {"cl_block", &gemm_cl_block}, {"cl_local", &gemm_cl_local},
    {"cl_local_v4", &gemm_cl_local_v4}, {"cl_local_v8", &gemm_cl_local_v8},
    {"cl_local_v16", &gemm_cl_local_v16}, {"cl_local_v4_u8", &gemm_cl_local_v4_u8},
    {"cl_image", &gemm_cl_image}, {"cl", &gemm_cl_best}};
enum { STEPS = sizeof steps / sizeof steps[0] };

#define A_BLOCK(name, side) {"cl_block_" #name, &gemm_cl_block_##name},
#define A_LOCAL(name, side, floats, unrolling) {"cl_local_" #name, &gemm_cl_local_##name},
static const named_row searched[] = {GEMM_CL_BLOCKS(A_BLOCK) GEMM_CL_SEARCH(A_LOCAL)};
enum { SEARCHED = sizeof searched / sizeof searched[0] };

/* What --tune tries beside the kernels that cl has. */
#define TILE(rows_, cols_, wx_, wy_, depth_) \
    {.kernel = "cl_tile", .defines = "", .conv = GEMM_CL_CONV, .rows = rows_, .cols = cols_, \
     .wx = wx_, .wy = wy_, .depth = depth_, .splits = true}
#define IMAGE(defines_, rows_, wx_, wy_) \
    {.kernel = "cl_image", .defines = defines_, .way = GEMM_CL_IMAGE, .conv = GEMM_CL_CONV, \
     .rows = rows_, .cols = 4, .wx = wx_, .wy = wy_, .splits = true}
static const gemm_cl_row candidates[] = {
    TILE(8, 8, 16, 8, 8),       /* 64 x 128 */
    TILE(8, 8, 16, 16, 8),      /* 128 x 128 */
    TILE(8, 8, 8, 16, 16),      /* 128 x 64 */
    TILE(8, 8, 16, 16, 16),     /* 128 x 128 */
    IMAGE("", 4, 16, 8),
    IMAGE("-DAHEAD", 8, 8, 16),
};
enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

/* The row with K cut into this many parts; 0: the row's own choice. */
static gemm_cl_row cut(const gemm_cl_row *row, int parts)
{
    gemm_cl_row result = *row;
    result.parts = parts;
    return result;
}

/* ---- 0: right or wrong ---- */

/* The worst error over its bound of a sample of C's elements, the corners among them. */
static double worst_error(const gemm_call *g, const float *before)
{
    const int samples = g->M * g->N < 4000 ? g->M * g->N : 4000;
    double worst = 0.0;
    for (int q = 0; q < samples; ++q) {
        const size_t at = samples == g->M * g->N ? (size_t)q
                          : q == 0 ? 0
                          : q == 1 ? (size_t)g->M * (size_t)g->N - 1
                                   : (size_t)rng_below(&random_state, g->M * g->N);
        const size_t i = at / (size_t)g->N, j = at % (size_t)g->N;
        double sum = before[at], size = fabs(before[at]);
        for (size_t k = 0; k < (size_t)g->K; ++k) {
            const double a = g->TA ? g->A[k * (size_t)g->lda + i] : g->A[i * (size_t)g->lda + k];
            const double b = g->TB ? g->B[j * (size_t)g->ldb + k] : g->B[k * (size_t)g->ldb + j];
            sum += g->ALPHA * a * b;
            size += fabs(g->ALPHA * a * b);
        }
        const double over = fabs(g->C[at] - sum) / ((2.0 * g->K + 8.0) * FLT_EPSILON * size);
        worst = over <= worst ? worst : over;
    }
    return worst;
}

static bool right(const char *name, const gemm_cl_row *row, int parts, shape_size s, int TA, int TB)
{
    gemm_call g = times_make_call(s);
    const size_t bytes = (size_t)s.M * (size_t)s.N * sizeof(float);
    float *before = malloc(bytes);
    g.TA = TA;
    g.TB = TB;
    g.lda = TA ? s.M : s.K;
    g.ldb = TB ? s.K : s.N;
    g.ALPHA = 0.5f;
    memcpy(before, g.C, bytes);
    gemm_note note;
    const gemm_context context = gemm_make_context(&note);
    const gemm_cl_row with_parts = cut(row, parts);
    const int rc = gemm_cl_run(&g, &context, &with_parts);
    const double worst = rc ? INFINITY : worst_error(&g, before);
    free(before);
    times_free_call(&g);
    if (!(worst <= 1.0))
        printf("WRONG: %s TA=%d TB=%d %dx%dx%d parts %d: error %.3g of its bound%s\n", name, TA, TB,
               s.M, s.N, s.K, parts, worst, rc ? " (it did not run)" : "");
    return worst <= 1.0;
}

static bool check_row(const char *name, const gemm_cl_row *row)
{
    static const shape_size shapes[] = {{1, 1, 1}, {3, 5, 7}, {16, 9000, 27}, {33, 169, 130},
                                        {255, 170, 65}, {64, 64, 1000}, {7, 4001, 9},
                                        {130, 260, 129}};
    const char *why = gemm_cl_unusable(row);
    bool ok = true;
    if (why) {
        printf("%s: SKIP %s\n", name, why);
        return true;
    }
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0] && ok; ++s) {
        for (int t = 0; t < 4 && ok; ++t)
            ok = right(name, row, 0, shapes[s], t & 1, t >> 1);
        for (int parts = 2; row->splits && parts <= 16 && ok; parts *= 2)
            ok = right(name, row, parts, shapes[s], 0, 0);
    }
    return ok;
}

static bool check_search(void)
{
    int wrong = 0;
    for (int i = 0; i < SEARCHED; ++i)
        wrong += !check_row(searched[i].name, searched[i].row);
    printf("correctness: %s\n\n", wrong ? "WRONG" : "all rows right");
    return wrong == 0;
}

static bool check_all(bool tuning)
{
    int wrong = 0;
    for (int i = 0; i < STEPS; ++i)
        wrong += !check_row(steps[i].name, steps[i].row);
    for (size_t i = 0; i < gemm_cl_choice_count; ++i) {
        const gemm_cl_row *r = &gemm_cl_choices[i];
        char name[64];
        snprintf(name, sizeof name, "%s %dx%d of %dx%d k%d", r->kernel, r->rows, r->cols, r->wx,
                 r->wy, r->depth);
        wrong += !check_row(name, r);
    }
    for (int i = 0; i < CANDIDATES && tuning; ++i)
        wrong += !check_row(candidates[i].kernel, &candidates[i]);
    for (int i = 0; i < SHAPES; ++i) {
        wrong += !right("cl", &gemm_cl_best, 0, yolo[i], 0, 0);
        wrong += !right("cl_image", &gemm_cl_image, 0, yolo[i], 0, 0);
    }
    printf("correctness: %s\n\n", wrong ? "WRONG" : "all rows and kernels right");
    return wrong == 0;
}

static void table_yolo(void)
{
    static const named_row rows[] = {{"cl", &gemm_cl_best}, {"clblast", &gemm_cl_clblast},
                                     {"cl_image", &gemm_cl_image}};
    enum { COUNT = sizeof rows / sizeof rows[0] };
    measured m[COUNT];
    double wall[COUNT] = {0}, device[COUNT] = {0};
    const char *missing = gemm_cl_unusable(&gemm_cl_clblast);
    printf("1. yolov3-tiny's 13 multiplies, data on the device, many calls to one wait; ms a call: "
           "wall (lowest-highest), kernels by events\n");
    if (missing) printf("   clblast: SKIP %s\n", missing);
    printf("| shape | cl | kernels | GFLOP/s | clblast | cl / clblast | cl_image | kernels "
           "| cl ran |\n"
           "|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < SHAPES; ++i) {
        times_measure(yolo[i], rows, COUNT, m);
        for (int r = 0; r < COUNT; ++r) {
            wall[r] += m[r].median.wall_ms;
            device[r] += m[r].median.device_ms;
        }
        printf("| %dx%dx%d | %.4f (%.4f-%.4f) | %.4f | %.0f | %.4f (%.4f-%.4f) | %.3f | %.4f | "
               "%.4f | %s |\n",
               yolo[i].M, yolo[i].N, yolo[i].K, m[0].median.wall_ms, m[0].low, m[0].high,
               m[0].median.device_ms, times_gflop(yolo[i]) / m[0].median.wall_ms * 1e3,
               m[1].median.wall_ms, m[1].low, m[1].high,
               m[0].median.wall_ms / m[1].median.wall_ms, m[2].median.wall_ms,
               m[2].median.device_ms, m[0].median.ran);
        fflush(stdout);
    }
    printf("| all 13 | %.3f | %.3f | %.0f | %.3f | **%.3f** | %.3f | %.3f | |\n\n", wall[0],
           device[0], 5565.0 / wall[0], wall[1], wall[0] / wall[1], wall[2], device[2]);
}

static const char *squares_path;         /* of --squares, or NULL */

/* A line of tabs: the side, then GFLOP/s of each row; "-" for one that did not run. */
static void write_square(FILE *file, int n, const measured *m, int count)
{
    fprintf(file, "%d", n);
    for (int r = 0; r < count; ++r) {
        const double ms = m[r].median.device_ms > 0 ? m[r].median.device_ms : m[r].median.wall_ms;
        if (m[r].failed) fprintf(file, "\t-");
        else fprintf(file, "\t%.2f", times_gflop((shape_size){n, n, n}) / ms * 1e3);
    }
    fprintf(file, "\n");
}

static bool table_squares(bool quick)
{
    static const named_row rows[] = {{"cl_naive", &gemm_cl_naive},
                                     {"cl_image", &gemm_cl_image},
                                     {"cl", &gemm_cl_best},
                                     {"clblast", &gemm_cl_clblast}};
    enum { COUNT = sizeof rows / sizeof rows[0] };
    measured m[COUNT];
    FILE *file = squares_path ? fopen(squares_path, "w") : NULL;
    if (squares_path && !file) {
        fprintf(stderr, "bench_cl: %s: %s\n", squares_path, strerror(errno));
        return false;
    }
    if (file) fprintf(file, "size\tcl_naive\tcl_image\tcl\tclblast\n");
    printf("3. squares, data on the device; ms a call by events (clblast: wall), and cl_naive over "
           "cl_image\n"
           "| size | cl_naive | cl_image | multiply alone | naive / image | cl | clblast |\n"
           "|---|---|---|---|---|---|---|\n");
    for (int n = 128; n <= (quick ? 512 : 2048); n *= 2) {
        times_measure((shape_size){n, n, n}, rows, COUNT, m);
        printf("| %d | %.3f | %.4f | %.4f | **%.1f** | %.4f | %.4f |\n", n, m[0].median.device_ms,
               m[1].median.device_ms, m[1].median.kernel_ms,
               m[0].median.device_ms / m[1].median.device_ms, m[2].median.device_ms,
               m[3].median.wall_ms);
        fflush(stdout);
        if (file) write_square(file, n, m, COUNT);
    }
    printf("\n");
    if (!file) return true;
    const bool written = !ferror(file);
    if (fclose(file) == 0 && written) return true;
    fprintf(stderr, "bench_cl: %s cannot be written\n", squares_path);
    return false;
}

/* One network's multiplies as Darknet makes them: every result waited for. */
static void table_calls(const char *name, const gemm_cl_row *row, int policy)
{
    gemm_call g[SHAPES];
    double wall[TIMES_ROUNDS + 1] = {0}, kernels[TIMES_ROUNDS + 1] = {0};
    size_t a = 0, b = 0, c = 0, first_a = 0;
    gemm_cl_force_memory(policy);
    for (int i = 0; i < SHAPES; ++i)
        g[i] = times_make_call(yolo[i]);
    for (int round = 0; round <= TIMES_ROUNDS; ++round) {
        a = b = c = 0;
        const double begin = gemm_now_ms();
        for (int i = 0; i < SHAPES; ++i) {
            gemm_note note;
            const gemm_context context = gemm_make_context(&note);
            if (gemm_cl_run(&g[i], &context, row) != GEMM_DONE) {
                printf("| %s | failed |\n", name);
                goto done;
            }
            kernels[round] += note.kernel_ms > 0.0 ? note.kernel_ms : 0.0;
            a += note.copied_a;
            b += note.copied_b;
            c += note.copied_c;
        }
        wall[round] = gemm_now_ms() - begin;
        first_a = round == 0 ? a : first_a;
    }
    int low = 1;
    for (int round = 2; round <= TIMES_ROUNDS; ++round)
        low = wall[round] < wall[low] ? round : low;
    printf("| %s | %s | %.3f | %.3f | %.3f | %.1f, then %.1f | %.1f | %.1f |\n", name,
           policy == 'u' ? "unified" : "discrete", wall[0], wall[low], kernels[low],
           (double)first_a * 1e-6,
           (double)a * 1e-6, (double)b * 1e-6, (double)c * 1e-6);
done:
    for (int i = 0; i < SHAPES; ++i)
        times_free_call(&g[i]);
    gemm_cl_force_memory(0);
    fflush(stdout);
}

static void tables_calls(void)
{
    printf("4. the 13 multiplies from the CPU's memory (gemm_host_alloc), one wait a call; ms for "
           "all 13, and MB between CPU and device\n"
           "| row | memory | first | steady (lowest of %d) | kernels | A | B | C |\n"
           "|---|---|---|---|---|---|---|---|\n", TIMES_ROUNDS);
    for (int p = 0; p < 2; ++p) {
        table_calls("cl", &gemm_cl_best, p ? 'd' : 'u');
        table_calls("cl_image", &gemm_cl_image, p ? 'd' : 'u');
        table_calls("clblast", &gemm_cl_clblast, p ? 'd' : 'u');
    }
}

/* ---- tuning ---- */

static double time_one(const gemm_call *g, const gemm_cl_row *asked, int parts)
{
    const gemm_cl_row row = cut(asked, parts);
    gemm_cl_times t;
    double least = INFINITY;
    if (gemm_cl_unusable(&row) || gemm_cl_time(g, &row, 1, &t)) return INFINITY;
    const int reps = t.wall_ms > 20.0 ? 1 : 20;
    for (int i = 0; i < 3; ++i)
        if (!gemm_cl_time(g, &row, reps, &t) && t.wall_ms < least) least = t.wall_ms;
    return least;
}

/* One kernel with every split, as lines `M,N,K,kernel,defines,rows,cols,wx,wy,depth,parts,ms`. */
static void tune_row(const gemm_call *g, const gemm_cl_row *row, double *best, char *winner,
                     size_t bytes)
{
    for (int parts = 1; parts <= 32 && (parts == 1 || row->splits); parts *= 2) {
        const double ms = time_one(g, row, parts);
        printf("%d,%d,%d,%s,%s,%d,%d,%d,%d,%d,%d,%.4f\n", g->M, g->N, g->K, row->kernel,
               row->defines, row->rows, row->cols, row->wx, row->wy, row->depth, parts, ms);
        if (ms < *best) {
            *best = ms;
            snprintf(winner, bytes, "%s %s %dx%d of %dx%d k%d parts %d", row->kernel,
                     row->defines, row->rows, row->cols, row->wx, row->wy, row->depth, parts);
        }
        if (parts > 1 && ms > 4.0 * *best) break;
    }
}

static void tune(void)
{
    enum { SQUARES = 3 };
    double total_best = 0.0, total_cl = 0.0;
    printf("M,N,K,kernel,defines,rows,cols,wx,wy,depth,parts,ms\n");
    for (int i = 0; i < SHAPES + SQUARES; ++i) {
        const int side = 1024 << (i - (i < SHAPES ? i : SHAPES));
        gemm_call g = times_make_call(i < SHAPES ? yolo[i] : (shape_size){side, side, side});
        double best = INFINITY;
        char winner[96] = "";
        for (size_t r = 0; r < gemm_cl_choice_count; ++r)
            tune_row(&g, &gemm_cl_choices[r], &best, winner, sizeof winner);
        for (size_t r = 0; r < CANDIDATES; ++r)
            tune_row(&g, &candidates[r], &best, winner, sizeof winner);
        const double cl = time_one(&g, &gemm_cl_best, 0);
        printf("# %dx%dx%d: best %.4f ms %s; cl as it chooses now %.4f ms; clblast %.4f ms\n", g.M,
               g.N, g.K, best, winner, cl, time_one(&g, &gemm_cl_clblast, 0));
        fflush(stdout);
        if (i < SHAPES) {
            total_best += best;
            total_cl += cl;
        }
        times_free_call(&g);
    }
    printf("# all 13: best %.4f ms, cl as it chooses now %.4f ms\n", total_best, total_cl);
}

/* One way to run cl_image, as a line. */
static void tune_image_row(const gemm_call *g, gemm_cl_row row)
{
    gemm_cl_times t;
    if (gemm_cl_unusable(&row) || gemm_cl_time(g, &row, 1, &t) || gemm_cl_time(g, &row, 20, &t))
        return;
    printf("%d,%s,%d,%d,%d,%d,%.4f,%.4f\n", g->M, row.defines, row.rows, row.wx, row.wy, row.parts,
           t.device_ms, t.kernel_ms);
}

/* cl_image with every group and unrolling, as lines `size,defines,rows,wx,wy,all,multiply`. */
static void tune_image(void)
{
    static const char *const ways[] = {"-DUNROLL=1", "-DUNROLL=2", "-DUNROLL=4", "-DUNROLL=8",
                                       "-DAHEAD -DUNROLL=1", "-DAHEAD -DUNROLL=2",
                                       "-DAHEAD -DUNROLL=4"};
    static const int groups[][2] = {{16, 8}, {8, 16}, {32, 4}, {4, 32}, {8, 8}, {16, 4}, {32, 2},
                                    {4, 16}, {64, 2}, {16, 16}, {32, 8}, {8, 32}};
    enum { WAYS = sizeof ways / sizeof ways[0], GROUPS = sizeof groups / sizeof groups[0] };
    printf("size,defines,rows,wx,wy,parts,all,multiply\n");
    for (int side = 1024; side <= 2048; side *= 2) {
        gemm_call g = times_make_call((shape_size){side, side, side});
        for (int i = 0; i < 2 * WAYS * GROUPS * 2; ++i) {
            const int parts = 1 + i % 2, group = i / 2 % GROUPS, way = i / 2 / GROUPS % WAYS;
            const int rows = i / 2 / GROUPS / WAYS ? 16 : 8;
            const gemm_cl_row row = IMAGE(ways[way], rows, groups[group][0], groups[group][1]);
            tune_image_row(&g, cut(&row, parts));
        }
        fflush(stdout);
        times_free_call(&g);
    }
}

/* ---- the program ---- */

static const struct mode {
    const char *option;
    enum { TABLES, FORWARD, LADDER, TUNE, TUNE_IMAGE } mode;
} modes[] = {{"--forward", FORWARD}, {"--ladder", LADDER}, {"--tune", TUNE},
             {"--tune-image", TUNE_IMAGE}};

static const char help[] =
    "usage: bench_cl [options] [CFG...]\n"
    "Times the OpenCL rows on the device of GEMM_CL_DEVICE: multiplies, the steps of the paper,\n"
    "squares, and forward passes of the networks CFG (cfg/yolov3-tiny.cfg).\n"
    "  --quick           smaller squares and fewer rounds, for slow devices\n"
    "  --forward         only the forward passes\n"
    "  --ladder          instead: the whole search of the Adreno 330 paper\n"
    "  --tune            instead: every kernel of cl with every split of K on every shape\n"
    "  --tune-image      instead: cl_image with every group and unrolling\n"
    "  --squares FILE    GFLOP/s of the squares go to FILE too\n"
    "  --help            this text\n"
    "Status: 0; 1: no device, or a row computed something wrong; 2: wrong option.\n";

static int mode;
static bool quick;
static char *cfgs[MAX_NETWORKS] = {"cfg/yolov3-tiny.cfg"};
static int networks;

static bool read_mode(const char *word)
{
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; ++i) {
        if (strcmp(word, modes[i].option)) continue;
        mode = modes[i].mode;
        return true;
    }
    return false;
}

static bool read_words(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--quick")) quick = true;
        else if (!strcmp(argv[i], "--squares") && i + 1 < argc) squares_path = argv[++i];
        else if (argv[i][0] != '-' && networks < MAX_NETWORKS) cfgs[networks++] = argv[i];
        else if (!read_mode(argv[i])) {
            fprintf(stderr, "bench_cl: %s: no such option; --help lists them, and up to %d "
                            "cfgs are allowed\n",
                    argv[i], MAX_NETWORKS);
            return false;
        }
    }
    for (int i = 0; i < networks; ++i) {
        if (!access(cfgs[i], R_OK)) continue;
        fprintf(stderr, "bench_cl: %s: %s\n", cfgs[i], strerror(errno));
        return false;
    }
    return true;
}

static bool run_tables(void)
{
    if (!check_all(false)) return false;
    const double bandwidth = times_bandwidth();
    table_yolo();
    ladder_steps(quick ? (shape_size){256, 256, 256} : (shape_size){1024, 1024, 1024}, bandwidth);
    ladder_steps((shape_size){256, 676, 1152}, bandwidth);
    if (!table_squares(quick)) return false;
    tables_calls();
    return forward_table(cfgs, networks ? networks : 1, quick ? 3 : 9);
}

static bool run_mode(void)
{
    switch (mode) {
    case FORWARD: return forward_table(cfgs, networks ? networks : 1, quick ? 3 : 9);
    case LADDER:
        return check_search() && ladder_search(quick ? (shape_size){128, 169, 256}
                                                     : (shape_size){256, 676, 1152},
                                               times_bandwidth());
    case TUNE:
        if (!check_all(true)) return false;
        tune();
        return true;
    case TUNE_IMAGE:
        if (!check_all(true)) return false;
        tune_image();
        return true;
    }
    return run_tables();
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--help")) continue;
        fputs(help, stdout);
        return fflush(stdout) ? 1 : 0;
    }
    if (!read_words(argc, argv)) return 2;
    gemm_set_variant(gemm_find("cl"));      /* so that gemm_host_alloc asks the driver */
    const char *why = gemm_cl_unusable(&gemm_cl_best);
    if (why) {
        fprintf(stderr, "%s: %s\n", argv[0], why);
        return 1;
    }
    printf("device: %s\n", gemm_cl_describe());
    return !run_mode();
}
