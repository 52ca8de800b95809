/*
 * One table: what a detection takes under every variant, and how far its results are from stock's.
 *
 *   detect_all [--rows NAME,NAME...] [--out FILE] CFG WEIGHTS IMAGE...
 *
 * All in one process, so the weights are read once. Seconds are those that `darknet detect` calls
 * "Predicted in": network_predict alone; the median over the images. Labels are those it prints.
 * The difference is the largest one of any raw output of any output layer, over all images; more
 * than TOLERANCE of the largest raw output of stock counts as wrong. Ends with 1 when a row is wrong.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darknet.h"
#include "driver/driver.h"
#include "common/stats.h"

/* Single precision through some twenty layers: measured differences are about 1e-6. */
static const double TOLERANCE = 1e-4;

static const float THRESHOLD = .5f, HIERARCHY_THRESHOLD = .5f, NMS = .45f;  /* as `detect` has them */

typedef struct picture {
    image original, letterboxed;
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
static FILE *table_file;        /* NULL: none */

static bool is_output(int i)
{
    const LAYER_TYPE type = net->layers[i].type;
    return type == YOLO || type == REGION || type == DETECTION || i == net->n - 1;
}

static void copy_outputs(result *r)
{
    r->count = 0;
    for (int i = 0; i < net->n; ++i)
        if (is_output(i)) r->count += (size_t)net->layers[i].outputs;
    r->outputs = malloc(r->count * sizeof(float));
    size_t at = 0;
    for (int i = 0; i < net->n; ++i) {
        if (!is_output(i)) continue;
        memcpy(r->outputs + at, net->layers[i].output, (size_t)net->layers[i].outputs * sizeof(float));
        at += (size_t)net->layers[i].outputs;
    }
}

static bool draws_boxes(void)
{
    const layer last = net->layers[net->n - 1];
    return last.type == YOLO || last.type == REGION || last.type == DETECTION;
}

/* The labels that `detect` prints, in its order: "dog: 94%, cat: 51%\n" a box. */
static char *read_labels(const picture *p)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int count = 0;
    detection *boxes = NULL;
    if (draws_boxes()) {
        const int classes = net->layers[net->n - 1].classes;
        boxes = get_network_boxes(net, p->original.w, p->original.h, THRESHOLD, HIERARCHY_THRESHOLD, 0, 1, &count);
        do_nms_sort(boxes, count, classes, NMS);
        for (int i = 0; i < count; ++i)
            for (int j = 0; j < classes; ++j)
                if (boxes[i].prob[j] > THRESHOLD)
                    fprintf(out, "%s: %.0f%%\n", names[j], (double)boxes[i].prob[j] * 100);
        free_detections(boxes, count);
    }
    fclose(out);
    return text;
}

static result predict(const picture *p)
{
    result r;
    const double start = what_time_is_it_now();
    network_predict(net, p->letterboxed.data);
    r.seconds = what_time_is_it_now() - start;
    copy_outputs(&r);
    r.labels = read_labels(p);
    return r;
}

static void result_free(result *r)
{
    free(r->outputs);
    free(r->labels);
}

static double largest_output(const result *r)
{
    double largest = 0;
    for (size_t i = 0; i < r->count; ++i) largest = fmax(largest, fabs((double)r->outputs[i]));
    return largest;
}

/* Infinite where a NaN stands against a number. */
static double largest_difference(const result *a, const result *b)
{
    double largest = 0;
    for (size_t i = 0; i < a->count; ++i) {
        const double d = fabs((double)a->outputs[i] - (double)b->outputs[i]);
        if (!(d <= DBL_MAX)) return INFINITY;
        largest = fmax(largest, d);
    }
    return largest;
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

/* One row over all pictures, printed. True when it is right. */
static bool measure_row(const gemm_variant *v, const picture *pictures, const result *stock, int n,
                        double stock_seconds)
{
    double *seconds = malloc((size_t)n * sizeof *seconds), difference = 0;
    bool same_labels = true, right = true;
    gemm_set_variant(v);
    for (int i = 0; i < n; ++i) {
        result r = predict(&pictures[i]);
        const double d = largest_difference(&stock[i], &r);
        seconds[i] = r.seconds;
        if (strcmp(stock[i].labels, r.labels)) same_labels = false;
        if (!(d <= TOLERANCE * largest_output(&stock[i]))) right = false;
        difference = fmax(difference, d);
        result_free(&r);
    }
    const double s = stats_median(seconds, (size_t)n);
    free(seconds);
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    print_table("%-14s %9.4f %9.2f   %-6s %11.3g%s\n", v->name, s, stock_seconds / s, same_labels ? "yes" : "NO",
           difference, right ? "" : "  WRONG");
    return right && same_labels;
}

static bool listed(const char *rows, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = rows; (at = strstr(at, name)); at += length)
        if ((at == rows || at[-1] == ',') && (!at[length] || at[length] == ',')) return true;
    return false;
}

static int measure_all(const char *rows, const picture *pictures, int n)
{
    result *stock = malloc((size_t)n * sizeof *stock);
    double *seconds = malloc((size_t)n * sizeof *seconds);
    gemm_set_variant(gemm_find("stock"));
    result warm_up = predict(&pictures[0]);
    result_free(&warm_up);
    for (int i = 0; i < n; ++i) {
        stock[i] = predict(&pictures[i]);
        seconds[i] = stock[i].seconds;
    }
    const double stock_seconds = stats_median(seconds, (size_t)n);
    print_table("%-14s %9s %9s   %-6s %11s\n", "variant", "seconds", "x stock", "labels", "difference");
    int wrong = 0;
    for (size_t i = 0; i < gemm_variant_count; ++i) {
        const gemm_variant *v = &gemm_variants[i];
        if (rows && !listed(rows, v->name)) continue;
        const char *reason = gemm_unusable(v);
        if (reason) {
            print_table("%-14s unusable: %s\n", v->name, reason);
            continue;
        }
        if (isatty(STDERR_FILENO)) fprintf(stderr, "%zu/%zu %s", i + 1, gemm_variant_count, v->name);
        wrong += !measure_row(v, pictures, stock, n, stock_seconds);
    }
    for (int i = 0; i < n; ++i) result_free(&stock[i]);
    free(stock);
    free(seconds);
    return wrong;
}

static picture *load_pictures(char **paths, int n)
{
    picture *pictures = malloc((size_t)n * sizeof *pictures);
    for (int i = 0; i < n; ++i) {
        pictures[i].original = load_image_color(paths[i], 0, 0);
        pictures[i].letterboxed = letterbox_image(pictures[i].original, net->w, net->h);
    }
    return pictures;
}

static void free_pictures(picture *pictures, int n)
{
    for (int i = 0; i < n; ++i) {
        free_image(pictures[i].original);
        free_image(pictures[i].letterboxed);
    }
    free(pictures);
}

static int usage(void)
{
    fprintf(stderr, "usage: detect_all [--rows NAME,NAME...] [--out FILE] CFG WEIGHTS IMAGE...\n");
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
    int at = 1;
    for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
        if (!strcmp(argv[at], "--rows")) rows = argv[at + 1];
        else if (!strcmp(argv[at], "--out")) out = argv[at + 1];
        else return usage();
    }
    if (argc - at < 3) return usage();
    if (out && !(table_file = fopen(out, "w"))) return cannot_write(out);
    net = load_network(argv[at], argv[at + 1], 0);
    if (net->partial) {
        fprintf(stderr, "detect_all: %s has no weights for the last layers\n", argv[at + 1]);
        return 1;
    }
    set_batch_network(net, 1);
    names = get_labels("data/coco.names");
    const int n = argc - at - 2;
    picture *pictures = load_pictures(argv + at + 2, n);
    const int wrong = measure_all(rows, pictures, n);
    free_pictures(pictures, n);
    if (table_file && (ferror(table_file) | fclose(table_file))) return cannot_write(out);
    if (wrong) fprintf(stderr, "detect_all: %d rows differ from stock\n", wrong);
    return wrong != 0;
}
