/* SPDX-License-Identifier: MIT */
/*
 * One table: the seconds of a detection under every row, those of the CPU first, and how far its
 * results are from those of stock.
 *
 *   detect_all [--rows NAME,NAME...] [--out FILE] CFG WEIGHTS IMAGE...
 *
 * The weights are read once. Each row then works in a child process, so that a crash in another
 * library ends only its own row. Seconds are those that `darknet detect` calls "Predicted in":
 * network_predict alone; the median over the images. Labels are those that it prints. The
 * difference is the largest one of any raw output over all images. More than TOLERANCE of the
 * largest raw output of stock counts as wrong. Ends with status 1 when a row is wrong or crashes.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darknet.h"
#include "common/apart.h"
#include "common/stats.h"
#include "detect/outputs.h"
#include "driver/driver.h"
#include "driver/start.h"
#include "util/clock.h"

/* Single precision through some twenty layers: measured differences are about 1e-6. */
static const double TOLERANCE = 1e-4;

/* As `darknet detect` has them. */
static const float THRESHOLD = .5f, HIERARCHY_THRESHOLD = .5f, NMS = .45f;

typedef struct picture {
    image original, sized;
} picture;

/* What a network makes of a picture. */
typedef struct result {
    double seconds;
    float *outputs;
    size_t count;
    char *labels;
} result;

static network *net;
static char **names;
static picture *pictures;
static result *stock;           /* its results, one a picture */
static double stock_seconds;
static int picture_count;
static FILE *table_file;        /* NULL: none */

/* ---- one picture ---- */

static bool draws_boxes(void)
{
    const LAYER_TYPE last = net->layers[net->n - 1].type;
    return last == YOLO || last == REGION || last == DETECTION;
}

/* The labels that `darknet detect` prints, in its order: "dog: 94%\n" for each class of a box. */
static char *read_labels(const picture *p)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int count = 0;
    const int classes = net->layers[net->n - 1].classes;
    detection *boxes = NULL;
    if (draws_boxes())
        boxes = get_network_boxes(net, p->original.w, p->original.h, THRESHOLD,
                                  HIERARCHY_THRESHOLD, 0, 1, &count);
    if (boxes) do_nms_sort(boxes, count, classes, NMS);
    for (int i = 0; i < count; ++i)
        for (int j = 0; j < classes; ++j)
            if (boxes[i].prob[j] > THRESHOLD)
                fprintf(out, "%s: %.0f%%\n", names[j], (double)boxes[i].prob[j] * 100);
    if (boxes) free_detections(boxes, count);
    fclose(out);
    return text;
}

static result predict(const picture *p)
{
    result r;
    const double start = gemm_now_s();
    network_predict(net, p->sized.data);
    r.seconds = gemm_now_s() - start;
    r.outputs = outputs_copy(net, &r.count);
    r.labels = read_labels(p);
    return r;
}

static void result_free(result *r)
{
    free(r->outputs);
    free(r->labels);
}

/* ---- one row ---- */

/* What the child tells of a row. */
typedef struct row_report {
    char unusable[512];         /* why, or "" */
    double seconds, difference;
    bool same_labels, right;
} row_report;

/* In the child: copies the memory that a pass writes, which the system would else do in the first
   pass, within its time. */
static void own_memory(void)
{
    for (int i = 0; i < net->n; ++i) {
        const layer *l = &net->layers[i];
        if (!l->output) continue;
        gemm_host_write(l->output, (size_t)l->outputs * sizeof(float));
        memset(l->output, 0, (size_t)l->outputs * sizeof(float));
    }
    if (net->workspace) memset(net->workspace, 0, net->workspace_size);
}

/* Whether two texts of read_labels have the same labels, and where `exact` the same percentages. A
   row that rounds beyond single precision may move a percentage by one. */
static bool has_same_labels(const char *a, const char *b, bool exact)
{
    if (exact) return !strcmp(a, b);
    while (*a && *b) {
        const size_t n = strcspn(a, ":");
        if (n != strcspn(b, ":") || memcmp(a, b, n)) return false;
        a += strcspn(a, "\n");
        b += strcspn(b, "\n");
        a += *a == '\n';
        b += *b == '\n';
    }
    return *a == *b;
}

/* In the child. */
static void measure_row(void *variant, FILE *out)
{
    const gemm_variant *v = variant;
    row_report report = {.same_labels = true, .right = true};
    const char *reason = gemm_unusable(v);
    snprintf(report.unusable, sizeof report.unusable, "%s", reason ? reason : "");
    double seconds[picture_count];
    if (!reason) gemm_set_variant(v);
    gemm_set_prepare_first(true);       /* no later pass prepares a part */
    own_memory();
    for (int i = 0; i < picture_count && !reason; ++i) {
        result r = predict(&pictures[i]);
        const double d = outputs_difference(stock[i].outputs, r.outputs, r.count);
        const double most = (TOLERANCE + gemm_network_rounding(v)) *
                            outputs_largest(stock[i].outputs, r.count);
        seconds[i] = r.seconds;
        report.same_labels &= has_same_labels(stock[i].labels, r.labels,
                                              !gemm_network_rounding(v));
        report.right &= d <= most;
        report.difference = fmax(report.difference, d);
        result_free(&r);
    }
    if (!reason) report.seconds = stats_median(seconds, (size_t)picture_count);
    fwrite(&report, sizeof report, 1, out);
}

/* The table goes to standard output and, where one was named, to a file. */
__attribute__((format(printf, 1, 2)))
static void print_table(const char *format, ...)
{
    FILE *outputs[] = {stdout, table_file};
    for (int i = 0; i < 2; ++i) {
        if (!outputs[i]) continue;
        va_list args;
        va_start(args, format);
        vfprintf(outputs[i], format, args);
        va_end(args);
        fflush(outputs[i]);
    }
}

/* Measures a row over all pictures and prints its line. Returns whether nothing is wrong. */
static bool test_row(const gemm_variant *v)
{
    apart_result r;
    row_report report;
    const bool finished = apart_run(measure_row, (void *)(uintptr_t)v, &r);
    if (finished) memcpy(&report, r.text, sizeof report);
    free(r.text);
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    if (!finished) {
        print_table("%-14s FAILED: its process %s\n", v->name, r.why);
        return false;
    }
    if (*report.unusable) {
        print_table("%-14s unusable: %s\n", v->name, report.unusable);
        return true;
    }
    /* Stock runs twice, because its results are compared too. Its first times are the baseline. */
    const double seconds = v == gemm_stock_row() ? stock_seconds : report.seconds;
    print_table("%-14s %9.4f %9.2f   %-6s %11.3g%s\n", v->name, seconds, stock_seconds / seconds,
                report.same_labels ? "yes" : "NO", report.difference,
                report.right ? "" : "  WRONG");
    return report.right && report.same_labels;
}

/* ---- all rows ---- */

static bool listed(const char *rows, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = rows; (at = strstr(at, name)); at += length)
        if ((at == rows || at[-1] == ',') && (!at[length] || at[length] == ',')) return true;
    return false;
}

static void measure_stock(void)
{
    double seconds[picture_count];
    gemm_set_variant(gemm_find("stock"));
    result warm_up = predict(&pictures[0]);
    result_free(&warm_up);
    for (int i = 0; i < picture_count; ++i) {
        stock[i] = predict(&pictures[i]);
        seconds[i] = stock[i].seconds;
    }
    stock_seconds = stats_median(seconds, (size_t)picture_count);
}

/* Every name of the list is a row. */
static void judge_names(const char *rows)
{
    char name[64];
    for (const char *at = rows; at && *at; at += strcspn(at, ","), at += *at == ',') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        if (gemm_find(name)) continue;
        char like[128] = "";
        gemm_append_like(like, sizeof like, name);
        fprintf(stderr, "detect_all: '%s' is no variant; %s\n", name, like);
        exit(2);
    }
}

/* The rows of the list, or all. Those of the CPU are first: a device may compile for minutes. */
static size_t choose_rows(const char *names, const gemm_variant **rows)
{
    size_t n = 0;
    for (int device = 0; device < 2; ++device) {
        for (size_t i = 0; i < gemm_variant_count; ++i) {
            const gemm_variant *v = &gemm_variants[i];
            if (gemm_is_on_device(v) != (device == 1)) continue;
            if (!names || listed(names, v->name)) rows[n++] = v;
        }
    }
    return n;
}

/* On a terminal, until the row's line replaces it. */
static void say_progress(size_t done, size_t all, const char *name, double begin)
{
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "[%zu/%zu] %s", done + 1, all, name);
    if (done)
        fprintf(stderr, ", about %.0f s left",
                (gemm_now_s() - begin) / (double)done * (double)(all - done));
}

/* Returns how many rows are wrong. `names`: the rows, or NULL for all. */
static int test_rows(const char *names)
{
    int wrong = 0;
    const gemm_variant *rows[gemm_variant_count];
    const size_t n = choose_rows(names, rows);
    static const char *const modes[] = {
        [GEMM_HOOK] = "hook", [GEMM_DIRECT] = "direct", [GEMM_IM2COL] = "im2col"};
    print_table("%-14s %9s %9s   %-6s %11s   of a pass, GEMM_CONV=%s\n", "variant", "seconds",
                "x stock", "labels", "difference", modes[gemm_get_state()->conv]);
    fprintf(stderr, "detect_all: %zu rows, %d pictures each; a pass of stock takes %.2f s\n", n,
            picture_count, stock_seconds);
    const double begin = gemm_now_s();
    for (size_t i = 0; i < n; ++i) {
        say_progress(i, n, rows[i]->name, begin);
        wrong += !test_row(rows[i]);
    }
    return wrong;
}

static void load_pictures(char **paths, int n)
{
    pictures = outputs_alloc((size_t)n * sizeof *pictures);
    stock = outputs_alloc((size_t)n * sizeof *stock);
    picture_count = n;
    for (int i = 0; i < n; ++i) {
        pictures[i].original = load_image_color(paths[i], 0, 0);
        pictures[i].sized = network_picture(net, pictures[i].original);
    }
}

static void free_pictures(void)
{
    for (int i = 0; i < picture_count; ++i) {
        free_image(pictures[i].original);
        free_image(pictures[i].sized);
        result_free(&stock[i]);
    }
    free(pictures);
    free(stock);
}

/* ---- the program ---- */

static int usage(void)
{
    fputs("usage: detect_all [--rows NAME,NAME...] [--out FILE] CFG WEIGHTS IMAGE...\n", stderr);
    return 2;
}

static int cannot_write(const char *path)
{
    fprintf(stderr, "detect_all: cannot write %s: %s\n", path, strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    const char *rows = NULL, *out = NULL;
    char part[PATH_MAX];
    int at = 1;
    for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
        if (!strcmp(argv[at], "--rows")) rows = argv[at + 1];
        else if (!strcmp(argv[at], "--out")) out = argv[at + 1];
        else return usage();
    }
    if (argc - at < 3) return usage();
    judge_names(rows);
    /* The table of the run before stays until this one is whole. */
    snprintf(part, sizeof part, "%s.part-%ld", out ? out : "", (long)getpid());
    if (out && !(table_file = fopen(part, "w"))) return cannot_write(part);
    net = load_trained_network(argv[at], argv[at + 1]);
    set_batch_network(net, 1);
    names = get_labels("data/coco.names");
    load_pictures(argv + at + 2, argc - at - 2);
    gemm_wait_for_compilers();
    measure_stock();
    const int wrong = test_rows(rows);
    free_pictures();
    if (table_file && (ferror(table_file) | fclose(table_file))) return cannot_write(part);
    if (out && rename(part, out)) return cannot_write(out);
    if (wrong) fprintf(stderr, "detect_all: %d rows are wrong\n", wrong);
    return wrong != 0;
}
