/* SPDX-License-Identifier: MIT */
/*
 * make bench-cl: the speed of the OpenCL rows on the device of GEMM_CL_DEVICE.
 *
 *   0  every row and every kernel of `cl` against a sum in double precision; a wrong one ends the
 *      program
 *   1  the 13 multiplies of yolov3-tiny, with all data on the device: cl and CLBlast, many calls to
 *      one wait; kernel time by events, and wall time
 *   2  cl_image, cl and cl_naive on squares of 128 and more
 *
 * --ladder prints the paper's whole search instead (bench/cl/ladder.c). --help lists the options.
 * Times are medians of five rounds in which the rows take turns; (lowest-highest) follows.
 */
#include "cl/choice.h"
#include "cl/device/device.h"
#include "cl/ladder.h"
#include "cl/times.h"
#include "common/reference.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "util/cores.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = YOLOV3_TINY_CALLS };

static const shape_size *const yolo = yolov3_tiny_sizes;

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

/* The row with K cut into this many parts; 0: the row's own choice. */
static gemm_cl_row cut(const gemm_cl_row *row, int parts)
{
    gemm_cl_row result = *row;
    result.parts = parts;
    return result;
}

/* ---- 0: right or wrong ---- */

static bool right(const char *name, const gemm_cl_row *row, int parts, shape_size s, int TA, int TB)
{
    gemm_call g = times_make_call(s);
    const size_t bytes = (size_t)s.M * (size_t)s.N * sizeof(float);
    float *before = malloc(bytes);
    char text[200] = "it did not run";
    reference wanted;
    g.TA = TA;
    g.TB = TB;
    g.lda = TA ? s.M : s.K;
    g.ldb = TB ? s.K : s.N;
    g.ALPHA = 0.5f;
    gemm_call first = g;
    first.C = before;
    if (before) memcpy(before, g.C, bytes);
    if (!before || reference_make(&wanted, &first, gemm_allowed_cores())) {
        fprintf(stderr, "bench_cl: out of memory\n");
        exit(1);
    }
    gemm_note note;
    const gemm_context context = gemm_make_context(&note);
    const gemm_cl_row with_parts = cut(row, parts);
    const bool ok = gemm_cl_multiply(&g, &context, &with_parts) == GEMM_DONE
                    && reference_holds(&wanted, &g, 1, NULL, text, sizeof text);
    if (!ok)
        printf("WRONG: %s TA=%d TB=%d %dx%dx%d parts %d: %s\n", name, TA, TB, s.M, s.N, s.K,
               parts, text);
    reference_free(&wanted);
    free(before);
    times_free_call(&g);
    return ok;
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
        for (int parts = 2; gemm_cl_splits(row) && parts <= 16 && ok; parts *= 2)
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

static bool check_all(void)
{
    int wrong = 0;
    for (int i = 0; i < STEPS; ++i)
        wrong += !check_row(steps[i].name, steps[i].row);
    for (int i = 0; i < GEMM_CL_MULTIPLIES; ++i) {
        const gemm_cl_row *r = &gemm_cl_choices[i];
        char name[64];
        snprintf(name, sizeof name, "%s %dx%d of %dx%d k%d", r->family->kernel, r->rows, r->cols,
                 r->wx, r->wy, r->depth);
        wrong += !check_row(name, r);
    }
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
    printf("2. squares, data on the device; ms a call by events (clblast: wall), and cl_naive over "
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

/* ---- the program ---- */

static const char help[] =
    "usage: bench_cl [--quick] [--ladder | --squares FILE]\n"
    "Times the OpenCL rows on the device of GEMM_CL_DEVICE: multiplies, and squares.\n"
    "  --quick           smaller squares and shapes, for slow devices\n"
    "  --ladder          instead: the whole search of the Adreno 330 paper\n"
    "  --squares FILE    GFLOP/s of the squares go to FILE too\n"
    "  --help            this text\n"
    "Status: 0; 1: no device, or a row computed something wrong; 2: wrong option.\n";

static bool quick, searches;

static bool read_words(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--quick")) quick = true;
        else if (!strcmp(argv[i], "--ladder")) searches = true;
        else if (!strcmp(argv[i], "--squares") && i + 1 < argc) squares_path = argv[++i];
        else {
            fprintf(stderr, "bench_cl: %s: no such option; --help lists them\n", argv[i]);
            return false;
        }
    }
    return true;
}

static bool run_tables(void)
{
    if (!check_all()) return false;
    table_yolo();
    return table_squares(quick);
}

static bool run_search(void)
{
    return check_search() && ladder_search(quick ? (shape_size){128, 169, 256}
                                                 : (shape_size){256, 676, 1152});
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
    return !(searches ? run_search() : run_tables());
}
