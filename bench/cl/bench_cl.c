/*
 * make bench-cl: the speed of the OpenCL rows on the device of GEMM_CL_DEVICE.
 *
 *   0  every row and every kernel of `cl` against a sum in double precision; a wrong one ends the
 *      program
 *   1  the 13 multiplies of yolov3-tiny, with all data on the device: cl and CLBlast, many calls to
 *      one wait; kernel time by events, and wall time
 *   2  the paper's ladder, step by step
 *   3  cl_image against cl_naive on squares
 *   4  the 13 multiplies from the CPU's memory: bytes copied, first call and steady state
 *   5  forward passes of the networks named on the command line (bench/cl/forward.c), by default of
 *      yolov3-tiny
 *
 *   bench_cl [--quick] [--forward] [--tune] [--tune-image] [CFG...]
 *
 * --quick: smaller squares and fewer rounds, for slow devices. --forward: only 5.
 * --tune: instead of 1 to 5, every kernel of `cl` with every split of K on every shape.
 * --tune-image: cl_image with every group and unrolling.
 *
 * Times are medians of five rounds in which the rows take turns; (lowest-highest) follows.
 */
#include "cl/choice.h"
#include "cl/device.h"
#include "cl/forward.h"
#include "cl/timing.h"
#include "common/random.h"
#include "common/shapes.h"
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

enum { ROUNDS = 5, SHAPES = YOLOV3_TINY_CALLS, MAX_NETWORKS = 16 };

static const shape_size *const yolo = yolov3_tiny_sizes;
static rng random_state = {88172645463325252u};

typedef struct named_row {
    const char *name;
    const gemm_cl_row *row;
    double paper;               /* the step's factor on an Adreno 330; 0: none */
} named_row;

static const named_row ladder[] = {
    {"cl_naive", &gemm_cl_naive, 0},       {"cl_block", &gemm_cl_block, 0},
    {"cl_local", &gemm_cl_local, 3.0},     {"cl_local_v4", &gemm_cl_local_v4, 1.25},
    {"cl_local_v8", &gemm_cl_local_v8, 0}, {"cl_local_v16", &gemm_cl_local_v16, 0},
    {"cl_local_v4_u8", &gemm_cl_local_v4_u8, 1.16}, {"cl_image", &gemm_cl_image, 0},
    {"cl", &gemm_cl_best, 0}};
enum { LADDER = sizeof ladder / sizeof ladder[0] };

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

static float *random_matrix(size_t count)
{
    float *m = gemm_host_alloc(count, sizeof *m);
    if (!m) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < count; ++i)
        m[i] = rng_float(&random_state);
    return m;
}

static gemm_call make_call(shape_size s)
{
    return (gemm_call){.M = s.M, .N = s.N, .K = s.K, .ALPHA = 1.0f,
                       .A = random_matrix((size_t)s.M * (size_t)s.K), .lda = s.K,
                       .B = random_matrix((size_t)s.K * (size_t)s.N), .ldb = s.N,
                       .C = random_matrix((size_t)s.M * (size_t)s.N), .ldc = s.N};
}

static void free_call(gemm_call *g)
{
    gemm_host_free((float *)g->A);
    gemm_host_free((float *)g->B);
    gemm_host_free(g->C);
}

static double gflop(shape_size s)
{
    return 2e-9 * s.M * s.N * s.K;
}

/* ---- 0: right or wrong ---------------------------------------------------------------------- */

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
    gemm_call g = make_call(s);
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
    free_call(&g);
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

static bool check_all(bool tuning)
{
    int wrong = 0;
    for (int i = 0; i < LADDER; ++i)
        wrong += !check_row(ladder[i].name, ladder[i].row);
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

/* ---- times ---------------------------------------------------------------------------------- */

typedef struct measured {
    gemm_cl_times all[ROUNDS], median;
    double low, high;           /* wall */
    int reps;
    bool failed;
} measured;

static int by_wall(const void *a, const void *b)
{
    const double x = ((const gemm_cl_times *)a)->wall_ms, y = ((const gemm_cl_times *)b)->wall_ms;
    return (x > y) - (x < y);
}

/* All rows on one shape in turns; calls enough for 20 ms to one wait. */
static void measure(shape_size s, const named_row *rows, int count, measured *out)
{
    gemm_call g = make_call(s);
    for (int r = 0; r < count; ++r) {
        gemm_cl_times once;
        out[r] = (measured){.reps = 1};
        for (int warm = 0; warm < 2; ++warm) {
            out[r].failed = out[r].failed || gemm_cl_unusable(rows[r].row) ||
                            gemm_cl_time(&g, rows[r].row, 1, &once) != 0;
            if (out[r].failed || once.wall_ms > 500.0) break;
        }
        if (!out[r].failed) {
            const double calls = 20.0 / (once.wall_ms + 1e-3);
            out[r].reps = calls < 1.0 ? 1 : calls > 200.0 ? 200 : (int)calls;
        }
    }
    for (int round = 0; round < ROUNDS; ++round) {
        for (int r = 0; r < count; ++r) {
            if (!out[r].failed)
                out[r].failed =
                    gemm_cl_time(&g, rows[r].row, out[r].reps, &out[r].all[round]) != 0;
        }
    }
    for (int r = 0; r < count; ++r) {
        qsort(out[r].all, ROUNDS, sizeof out[r].all[0], by_wall);
        out[r].median = out[r].all[ROUNDS / 2];
        out[r].low = out[r].all[0].wall_ms;
        out[r].high = out[r].all[ROUNDS - 1].wall_ms;
    }
    free_call(&g);
}

static void table_yolo(void)
{
    static const named_row rows[] = {{"cl", &gemm_cl_best, 0}, {"clblast", &gemm_cl_clblast, 0},
                                     {"cl_image", &gemm_cl_image, 0}};
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
        measure(yolo[i], rows, COUNT, m);
        for (int r = 0; r < COUNT; ++r) {
            wall[r] += m[r].median.wall_ms;
            device[r] += m[r].median.device_ms;
        }
        printf("| %dx%dx%d | %.4f (%.4f-%.4f) | %.4f | %.0f | %.4f (%.4f-%.4f) | %.3f | %.4f | "
               "%.4f | %s |\n",
               yolo[i].M, yolo[i].N, yolo[i].K, m[0].median.wall_ms, m[0].low, m[0].high,
               m[0].median.device_ms, gflop(yolo[i]) / m[0].median.wall_ms * 1e3,
               m[1].median.wall_ms, m[1].low, m[1].high,
               m[0].median.wall_ms / m[1].median.wall_ms, m[2].median.wall_ms,
               m[2].median.device_ms, m[0].median.ran);
        fflush(stdout);
    }
    printf("| all 13 | %.3f | %.3f | %.0f | %.3f | **%.3f** | %.3f | %.3f | |\n\n", wall[0],
           device[0], 5565.0 / wall[0], wall[1], wall[0] / wall[1], wall[2], device[2]);
}

static void table_ladder(shape_size s)
{
    measured m[LADDER];
    double before = 0.0;
    measure(s, ladder, LADDER, m);
    printf("2. the ladder on %dx%dx%d; ms a call by events, padding, turning and filling included, "
           "and the multiply alone\n", s.M, s.N, s.K);
    printf("| row | all kernels | multiply | wall (lowest-highest) | GFLOP/s | step "
           "| paper's step | over cl_naive |\n|---|---|---|---|---|---|---|---|\n");
    for (int r = 0; r < LADDER; ++r) {
        const double ms = m[r].median.device_ms;
        char paper[16] = "";
        if (m[r].failed) {
            printf("| %s | failed |\n", ladder[r].name);
            continue;
        }
        if (ladder[r].paper > 0.0) snprintf(paper, sizeof paper, "%.2f", ladder[r].paper);
        /* the paper's last step starts from float4, not from float16 */
        const double from = ladder[r].row == &gemm_cl_local_v8 ||
                                    ladder[r].row == &gemm_cl_local_v16 ||
                                    ladder[r].row == &gemm_cl_local_v4_u8
                                ? m[ladder[r].row == &gemm_cl_local_v4_u8 ? 3 : 2].median.device_ms
                                : before;
        printf("| %s | %.4f | %.4f | %.4f (%.4f-%.4f) | %.1f | %.2f | %s | %.1f |\n",
               ladder[r].name, ms, m[r].median.kernel_ms, m[r].median.wall_ms, m[r].low, m[r].high,
               gflop(s) / ms * 1e3, from > 0.0 ? from / ms : 1.0, paper,
               m[0].median.device_ms / ms);
        before = ms;
    }
    printf("\n");
    fflush(stdout);
}

static void table_squares(bool quick)
{
    static const named_row rows[] = {{"cl_naive", &gemm_cl_naive, 0},
                                     {"cl_image", &gemm_cl_image, 0},
                                     {"cl", &gemm_cl_best, 0},
                                     {"clblast", &gemm_cl_clblast, 0}};
    measured m[4];
    printf("3. squares, data on the device; ms a call by events (clblast: wall), and cl_naive over "
           "cl_image\n"
           "| size | cl_naive | cl_image | multiply alone | naive / image | cl | clblast |\n"
           "|---|---|---|---|---|---|---|\n");
    for (int n = 256; n <= (quick ? 512 : 2048); n *= 2) {
        measure((shape_size){n, n, n}, rows, 4, m);
        printf("| %d | %.3f | %.4f | %.4f | **%.1f** | %.4f | %.4f |\n", n, m[0].median.device_ms,
               m[1].median.device_ms, m[1].median.kernel_ms,
               m[0].median.device_ms / m[1].median.device_ms, m[2].median.device_ms,
               m[3].median.wall_ms);
        fflush(stdout);
    }
    printf("\n");
}

/* One network's multiplies as Darknet makes them: every result waited for. */
static void table_calls(const char *name, const gemm_cl_row *row, int policy)
{
    gemm_call g[SHAPES];
    double wall[ROUNDS + 1] = {0}, kernels[ROUNDS + 1] = {0};
    size_t a = 0, b = 0, c = 0, first_a = 0;
    gemm_cl_force_memory(policy);
    for (int i = 0; i < SHAPES; ++i)
        g[i] = make_call(yolo[i]);
    for (int round = 0; round <= ROUNDS; ++round) {
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
    for (int round = 2; round <= ROUNDS; ++round)
        low = wall[round] < wall[low] ? round : low;
    printf("| %s | %s | %.3f | %.3f | %.3f | %.1f, then %.1f | %.1f | %.1f |\n", name,
           policy == 'u' ? "unified" : "discrete", wall[0], wall[low], kernels[low],
           (double)first_a * 1e-6,
           (double)a * 1e-6, (double)b * 1e-6, (double)c * 1e-6);
done:
    for (int i = 0; i < SHAPES; ++i)
        free_call(&g[i]);
    gemm_cl_force_memory(0);
    fflush(stdout);
}

static void tables_calls(void)
{
    printf("4. the 13 multiplies from the CPU's memory (gemm_host_alloc), one wait a call; ms for "
           "all 13, and MB between CPU and device\n"
           "| row | memory | first | steady (lowest of %d) | kernels | A | B | C |\n"
           "|---|---|---|---|---|---|---|---|\n", ROUNDS);
    for (int p = 0; p < 2; ++p) {
        table_calls("cl", &gemm_cl_best, p ? 'd' : 'u');
        table_calls("cl_image", &gemm_cl_image, p ? 'd' : 'u');
        table_calls("clblast", &gemm_cl_clblast, p ? 'd' : 'u');
    }
}

/* ---- tuning --------------------------------------------------------------------------------- */

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
        gemm_call g = make_call(i < SHAPES ? yolo[i] : (shape_size){side, side, side});
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
        free_call(&g);
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
        gemm_call g = make_call((shape_size){side, side, side});
        for (int i = 0; i < 2 * WAYS * GROUPS * 2; ++i) {
            const int parts = 1 + i % 2, group = i / 2 % GROUPS, way = i / 2 / GROUPS % WAYS;
            const int rows = i / 2 / GROUPS / WAYS ? 16 : 8;
            const gemm_cl_row row = IMAGE(ways[way], rows, groups[group][0], groups[group][1]);
            tune_image_row(&g, cut(&row, parts));
        }
        fflush(stdout);
        free_call(&g);
    }
}

int main(int argc, char **argv)
{
    bool quick = false, tuning = false, image = false, forward = false;
    static char tiny[] = "cfg/yolov3-tiny.cfg";
    char *cfgs[MAX_NETWORKS] = {tiny};
    int networks = 0;
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--quick")) quick = true;
        else if (!strcmp(argv[i], "--tune")) tuning = true;
        else if (!strcmp(argv[i], "--tune-image")) image = true;
        else if (!strcmp(argv[i], "--forward")) forward = true;
        else if (argv[i][0] != '-' && networks < MAX_NETWORKS) cfgs[networks++] = argv[i];
        else {
            fprintf(stderr, "bench_cl: %s: no such option; allowed are --quick, --tune, "
                            "--tune-image, --forward and up to %d cfgs\n", argv[i], MAX_NETWORKS);
            return 2;
        }
    }
    for (int i = 0; i < networks; ++i) {
        if (!access(cfgs[i], R_OK)) continue;
        fprintf(stderr, "bench_cl: %s: %s\n", cfgs[i], strerror(errno));
        return 2;
    }
    gemm_set_variant(gemm_find("cl"));      /* so that gemm_host_alloc asks the driver */
    const char *why = gemm_cl_unusable(&gemm_cl_best);
    if (why) {
        fprintf(stderr, "%s: %s\n", argv[0], why);
        return 1;
    }
    printf("device: %s\n", gemm_cl_describe());
    if (!forward) {
        if (!check_all(tuning || image)) return 1;
        if (tuning) tune();
        if (image) tune_image();
        if (tuning || image) return 0;
        table_yolo();
        table_ladder(quick ? (shape_size){256, 256, 256} : (shape_size){1024, 1024, 1024});
        table_ladder((shape_size){256, 676, 1152});
        table_squares(quick);
        tables_calls();
    }
    return !forward_table(cfgs, networks ? networks : 1, quick ? 3 : 9);
}
