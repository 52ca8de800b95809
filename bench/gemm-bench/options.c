/* SPDX-License-Identifier: MIT */
/* The command line. An error is one line with the option, the value and what is allowed. */
#include "gemm-bench/options.h"

#include "gemm-bench/die.h"
#include "common/machine.h"
#include "driver/driver.h"
#include "util/number.h"
#include "util/text.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef GEMM_VERSION
#define GEMM_VERSION "unknown"
#endif

static const char usage[] =
    "usage: gemm-bench [options]\n"
    "Times rows of the table of gemm variants side by side and checks their results.\n"
    "\n"
    "Shapes (these options add up; without any: --shapes yolov3-tiny)\n"
    "  --shapes NAME       yolov3-tiny (its 13 calls), grouped (depthwise layers), squares\n"
    "  --cfg FILE          the gemm calls of a forward pass through a Darknet cfg file\n"
    "  --batch N           images in that pass: a number (1, as in detect) or cfg: as in the file\n"
    "  -s M,N,K            one shape\n"
    "  --sizes A:B[:STEP]  squares: powers of two from A to B, their neighbours and the points\n"
    "                      half-way; or every STEP\n"
    "  --transposes LIST   each shape as NN, NT, TN, TT (only those named)\n"
    "  --list-shapes       print the shapes and end\n"
    "\n"
    "Rows\n"
    "  --impl LIST         names of rows; all: every usable one; refs: the reference libraries\n"
    "                      (without it: stock, packed, auto and what is there of openblas, blis,\n"
    "                      onednn). ROW@N: with N threads; ROW+VAR=VALUE: with this variable set\n"
    "  --threads LIST      threads that a row may use, as in 1,2 (GEMM_THREADS, else the cores)\n"
    "  --list              print the table and end; compiles nothing, so an OpenCL row whose\n"
    "                      program fails later is called usable\n"
    "\n"
    "Timing\n"
    "  --warm, --cold      caches as the call before left them (default), or emptied; or both\n"
    "  --samples N         of each row on each shape (15)\n"
    "  --seconds S         of calls at most for a row on a shape, once it has 3 samples (0.5)\n"
    "  --host-alloc        memory as the row gets it in the patched Darknet: a row on an OpenCL\n"
    "                      device works on memory of its driver (malloc, for all rows)\n"
    "  --seed N            of the operands and the order (from the clock)\n"
    "  --peak ISA          the instruction set whose peak is 100% (GEMM_ISA, else the best here);\n"
    "                      none: peak and bandwidth are not measured, their columns are empty\n"
    "\n"
    "Output\n"
    "  --csv, --json       instead of Markdown\n"
    "  -o FILE             to this file instead of standard output\n"
    "  --version           version and commit\n"
    "  --help              this text\n"
    "\n"
    "Columns of the tables: median, least time, median absolute deviation, first call, GFLOP/s,\n"
    "percent of the measured FMA peak and of the measured bandwidth of as many threads, and the\n"
    "speed-up over the row that is named first, with its 95% interval.\n"
    "Calls go through the driver, so a row may leave one to stock: ran names the row that did\n"
    "the work. declined: the row never does such transposes. The times are then those of stock,\n"
    "and they count in no speed-up and no total. A wrong result voids the time.\n"
    "Status: 0; 1: a row was wrong or failed, or the output could not be written; 2: bad options;\n"
    "130: Ctrl-C, and the results so far are printed.\n";

/* One line about a wrong option; ends the program. */
#define WRONG(format, ...)                                                                        \
    bench_die(BENCH_BAD_OPTIONS, format " (--help lists the options)", __VA_ARGS__)

static double read_number(const char *option, const char *text, double least, double most)
{
    double x;
    if (!gemm_parse_double(text, least, most, &x))
        WRONG("%s '%s': a number from %g to %g is needed", option, text, least, most);
    return x;
}

static int read_whole(const char *option, const char *text, int least, int most)
{
    int n;
    if (!gemm_parse_int(text, least, most, &n))
        WRONG("%s '%s': a whole number from %d to %d is needed", option, text, least, most);
    return n;
}

/* ---- rows ---- */

static void add_row(bench_options *o, bench_row row)
{
    row.apart = row.settings || gemm_is_reference(&gemm_variants[row.variant]);
    o->rows = bench_check_memory(realloc(o->rows, (o->row_count + 1) * sizeof(bench_row)));
    o->rows[o->row_count++] = row;
}

/* All rows of a kind, in the order of the table. */
static void add_rows(bench_options *o, bool (*wanted)(const gemm_variant *))
{
    for (size_t v = 0; v < gemm_variant_count; ++v)
        if (wanted(&gemm_variants[v]))
            add_row(o, (bench_row){.variant = (int)v,
                                   .label = bench_check_memory(strdup(gemm_variants[v].name))});
}

static bool is_any(const gemm_variant *v)
{
    (void)v;
    return true;
}

static bool is_reference(const gemm_variant *v)
{
    return gemm_is_reference(v);
}

static bool is_default(const gemm_variant *v)
{
    static const char *const names[] = {"stock",    "packed", "auto",
                                        "openblas", "blis",   "onednn"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
        if (!strcmp(v->name, names[i])) return true;
    return false;
}

static void check_settings(const char *spec, const char *settings)
{
    for (const char *s = settings;; ++s) {
        const char *equals = strchr(s, '=');
        const char *plus = strchr(s, '+');
        if (!equals || equals == s || (plus && plus < equals))
            WRONG("--impl '%s': VAR=VALUE is needed behind each +", spec);
        s = strchr(equals, '+');
        if (!s) return;
    }
}

static void add_spec(bench_options *o, const char *spec)
{
    char *name = bench_check_memory(strdup(spec));
    char *settings = strchr(name, '+');
    if (settings) *settings++ = '\0';
    char *threads = strchr(name, '@');
    if (threads) *threads++ = '\0';
    const gemm_variant *v = gemm_find(name);
    if (!v)
        WRONG("--impl '%s': no such row; --list prints all of them", name);
    if (settings) check_settings(spec, settings);
    const size_t size = strlen(spec) + 1;
    bench_row row = {.variant = (int)(v - gemm_variants), .named = true,
                     .label = bench_check_memory(malloc(size)),
                     .threads = threads ? read_whole("--impl: threads", threads, 1, 1024) : 0,
                     .settings = settings ? bench_check_memory(strdup(settings)) : NULL};
    snprintf(row.label, size, "%s%s%s", name, settings ? "+" : "", settings ? settings : "");
    add_row(o, row);
    free(name);
}

static void read_rows(bench_options *o, const char *text)
{
    char *copy = bench_check_memory(strdup(text));
    char *rest = copy;
    for (char *spec; (spec = strsep(&rest, ","));) {
        if (!strcmp(spec, "all"))
            add_rows(o, is_any);
        else if (!strcmp(spec, "refs"))
            add_rows(o, is_reference);
        else
            add_spec(o, spec);
    }
    free(copy);
}

static void read_threads(bench_options *o, const char *text)
{
    char *copy = bench_check_memory(strdup(text));
    char *rest = copy;
    o->thread_count = 0;
    for (char *n; (n = strsep(&rest, ","));) {
        if (o->thread_count == MAX_WIDTHS)
            WRONG("--threads '%s': at most %d numbers", text, MAX_WIDTHS);
        o->threads[o->thread_count++] = read_whole("--threads", n, 1, 1024);
    }
    free(copy);
}

/* ---- shapes ---- */

enum {
    SHAPES = 256, CFG, BATCH, SIZES, TRANSPOSES, LIST_SHAPES, IMPL, THREADS, LIST, WARM, COLD,
    SAMPLES, SECONDS, HOST_ALLOC, SEED, PEAK, CSV, JSON, VERSION
};

static const struct option long_options[] = {
    {"shapes", required_argument, NULL, SHAPES},
    {"cfg", required_argument, NULL, CFG},
    {"batch", required_argument, NULL, BATCH},
    {"shape", required_argument, NULL, 's'},
    {"sizes", required_argument, NULL, SIZES},
    {"transposes", required_argument, NULL, TRANSPOSES},
    {"list-shapes", no_argument, NULL, LIST_SHAPES},
    {"impl", required_argument, NULL, IMPL},
    {"threads", required_argument, NULL, THREADS},
    {"list", no_argument, NULL, LIST},
    {"warm", no_argument, NULL, WARM},
    {"cold", no_argument, NULL, COLD},
    {"samples", required_argument, NULL, SAMPLES},
    {"seconds", required_argument, NULL, SECONDS},
    {"host-alloc", no_argument, NULL, HOST_ALLOC},
    {"seed", required_argument, NULL, SEED},
    {"peak", required_argument, NULL, PEAK},
    {"csv", no_argument, NULL, CSV},
    {"json", no_argument, NULL, JSON},
    {"output", required_argument, NULL, 'o'},
    {"version", no_argument, NULL, VERSION},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* The shapes have to wait for --batch, which may come behind --cfg. */
typedef struct pending {
    int kind;
    const char *value;
} pending;

static void note_shapes(bench_options *o, const char *value)
{
    const size_t before = o->shapes_text ? strlen(o->shapes_text) : 0;
    const size_t size = before + strlen(value) + 3;
    o->shapes_text = bench_check_memory(realloc(o->shapes_text, size));
    snprintf(o->shapes_text + before, size - before, "%s%s", before ? ", " : "", value);
}

static int add_shapes(bench_options *o, const pending *p, int batch, char *error, size_t size)
{
    switch (p->kind) {
    case SHAPES: return shapes_add_named(&o->shapes, p->value, error, size);
    case CFG: return shapes_add_cfg(&o->shapes, p->value, batch, error, size);
    case SIZES: return shapes_add_sizes(&o->shapes, p->value, error, size);
    default: return shapes_add_mnk(&o->shapes, p->value, error, size);
    }
}

static void make_shapes(bench_options *o, const pending *list, size_t count, int batch,
                        const char *transposes)
{
    static const pending usual = {SHAPES, "yolov3-tiny"};
    char error[600];
    for (size_t i = 0; i < (count ? count : 1); ++i) {
        const pending *p = count ? &list[i] : &usual;
        note_shapes(o, p->value);
        if (add_shapes(o, p, batch, error, sizeof(error))) WRONG("%s", error);
    }
    if (!transposes) return;
    note_shapes(o, transposes);
    if (shapes_transpose(&o->shapes, transposes, error, sizeof(error))) WRONG("%s", error);
}

/* ---- the rest ---- */

static int read_isa(const char *option, const char *name)
{
    const peak_isa *isa = peak_find(name);
    if (!isa || !isa->usable()) {
        char names[64] = "";
        for (size_t i = 0; i < peak_isa_count; ++i)
            if (peak_isas[i].usable())
                gemm_append(names, sizeof(names), " %s", peak_isas[i].name);
        WRONG("%s '%s' is not on this processor: allowed are%s", option, name, names);
    }
    return (int)(isa - peak_isas);
}

static int clock_seed(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int)((t.tv_sec * 1000000000LL + t.tv_nsec) % 1000000000);
}

static void print_version(void)
{
    machine m;
    machine_read(&m);
    printf("gemm-bench %s, commit %s\n", GEMM_VERSION, m.commit);
}

static void read_option(bench_options *o, int option, const char *value)
{
    switch (option) {
    case LIST_SHAPES: o->list_shapes = true; break;
    case IMPL: read_rows(o, value); break;
    case THREADS: read_threads(o, value); break;
    case LIST: o->list = true; break;
    case WARM: o->warm = true; break;
    case COLD: o->cold = true; break;
    case SAMPLES: o->samples = read_whole("--samples", value, 3, 1000); break;
    case SECONDS: o->seconds = read_number("--seconds", value, 0, 3600); break;
    case HOST_ALLOC: o->host_alloc = true; break;
    case SEED: o->seed = (uint64_t)read_whole("--seed", value, 0, INT_MAX); break;
    case PEAK:
        o->peaks = strcmp(value, "none") != 0;
        if (o->peaks) o->peak_isa = read_isa("--peak", value);
        break;
    case CSV: o->format = RESULTS_CSV; break;
    case JSON: o->format = RESULTS_JSON; break;
    case 'o': o->output = value; break;
    case VERSION: print_version(); exit(fflush(stdout) ? 1 : 0);
    case 'h': fputs(usage, stdout); exit(fflush(stdout) ? 1 : 0);
    default: exit(2);           /* getopt has said why */
    }
}

static void set_defaults(bench_options *o)
{
    if (!o->row_count)
        add_rows(o, is_default);
    if (!o->warm && !o->cold) o->warm = true;
    const char *isa = getenv("GEMM_ISA");
    if (o->peak_isa < 0)
        o->peak_isa = isa ? read_isa("GEMM_ISA", isa) : (int)(peak_best() - peak_isas);
}

void options_read(bench_options *o, int argc, char **argv)
{
    *o = (bench_options){.samples = 15, .seconds = 0.5, .peak_isa = -1, .peaks = true,
                         .seed = (uint64_t)clock_seed()};
    pending *shapes = bench_check_memory(calloc((size_t)argc + 1, sizeof(pending)));
    size_t shape_count = 0;
    int batch = 1;
    const char *transposes = NULL;
    for (int c; (c = getopt_long(argc, argv, "s:o:h", long_options, NULL)) != -1;) {
        if (c == SHAPES || c == CFG || c == SIZES || c == 's')
            shapes[shape_count++] = (pending){c, optarg};
        else if (c == TRANSPOSES)
            transposes = optarg;
        else if (c == BATCH)
            batch = strcmp(optarg, "cfg") ? read_whole("--batch", optarg, 1, 1 << 20) : 0;
        else
            read_option(o, c, optarg);
    }
    if (optind < argc) WRONG("'%s' is no option", argv[optind]);
    make_shapes(o, shapes, shape_count, batch, transposes);
    free(shapes);
    set_defaults(o);
}

void options_free(bench_options *o)
{
    for (size_t i = 0; i < o->row_count; ++i) {
        free(o->rows[i].settings);
        free(o->rows[i].label);
    }
    free(o->rows);
    free(o->shapes_text);
    shapes_free(&o->shapes);
}
