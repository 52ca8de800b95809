/* The command line. Every fault is one line that names the option, the value and what is allowed. */
#include "gemm-bench/options.h"

#include "gemm_dispatch.h"
#include "driver/driver.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: gemm-bench [options]\n"
    "Times rows of the table of gemm variants side by side and checks what they compute.\n"
    "\n"
    "What is multiplied (they add up; without any: --shapes yolov3-tiny)\n"
    "  --shapes NAME       yolov3-tiny (its 13 calls), grouped (depthwise layers), squares\n"
    "  --cfg FILE          the gemm calls of a forward pass through a Darknet cfg file\n"
    "  --batch N           images in that pass: a number (1, as `detect` has), or cfg: the file's\n"
    "  -s M,N,K            one shape; may be repeated\n"
    "  --sizes A:B[:STEP]  squares: powers of two from A to B, their neighbours and half-way points,\n"
    "                      or every STEP\n"
    "  --transposes LIST   each shape as NN, NT, TN, TT (only those named)\n"
    "  --list-shapes       print them and end\n"
    "\n"
    "What multiplies\n"
    "  --impl LIST         rows by name; all: every usable one; refs: the reference libraries\n"
    "                      (stock, packed, auto and refs, as far as they are there).\n"
    "                      ROW@N: with N threads; ROW+VAR=VALUE: in a process with that variable\n"
    "  --threads LIST      how many threads a row may use, as in 1,2 (GEMM_THREADS, else the cores)\n"
    "  --list              print the table and end\n"
    "\n"
    "How it is timed\n"
    "  --warm, --cold      caches as the call before left them (default), or emptied; or both\n"
    "  --idle MS           sleep before each call: what waking the threads costs\n"
    "  --samples N         of each row on each shape (15)\n"
    "  --seconds S         of calls at most for a row on a shape, once it has 3 samples (0.5)\n"
    "  --offset BYTES      of each matrix behind a page, a multiple of 4 below 4096 (16)\n"
    "  --seed N            of the operands and the order (from the clock)\n"
    "  --peak ISA          whose peak %peak means (GEMM_ISA, else the best that is here)\n"
    "\n"
    "What is printed\n"
    "  --csv, --json       instead of text\n"
    "  -o FILE             there instead of standard output\n"
    "  --help              this\n"
    "\n"
    "Text: median, least time, median absolute deviation, the first call, GFLOP/s, percent of the\n"
    "measured FMA peak and of the measured bandwidth for as many threads, and the speed-up over the\n"
    "row that is named first. A result that is not what double precision says voids the time.\n"
    "Status: 0, 1 (a row was wrong or failed, or nothing could be written), 2 (options), 130 (Ctrl-C:\n"
    "what was measured is printed).\n";

__attribute__((format(printf, 1, 2)))
static _Noreturn void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("gemm-bench: ", stderr);
    vfprintf(stderr, format, args);
    fputs(" (--help lists the options)\n", stderr);
    va_end(args);
    exit(2);
}

static void *check_memory(void *p)
{
    if (!p) die("out of memory");
    return p;
}

static double read_number(const char *option, const char *text, double least, double most)
{
    char *end;
    errno = 0;
    const double v = strtod(text, &end);
    if (errno || end == text || *end || !(v >= least && v <= most))
        die("%s '%s': a number from %g to %g is needed", option, text, least, most);
    return v;
}

static int read_whole(const char *option, const char *text, int least, int most)
{
    const double v = read_number(option, text, least, most);
    if (v != floor(v)) die("%s '%s': a whole number is needed", option, text);
    return (int)v;
}

/* ---- rows ---- */

static void add_row(bench_options *o, bench_row row)
{
    o->rows = check_memory(realloc(o->rows, (o->row_count + 1) * sizeof(bench_row)));
    o->rows[o->row_count++] = row;
}

static void add_usable(bench_options *o, const char *const *names, size_t count)
{
    for (size_t v = 0; v < gemm_variant_count; ++v) {
        bool wanted = !names;
        for (size_t i = 0; i < count; ++i) wanted |= !strcmp(gemm_variants[v].name, names[i]);
        if (!wanted) continue;
        add_row(o, (bench_row){.variant = (int)v,
                               .label = check_memory(strdup(gemm_variants[v].name))});
    }
}

static const char *const reference_names[] = {"openblas", "blis", "onednn", "clblast"};
static const char *const default_names[] = {"stock", "packed", "auto", "openblas", "blis", "onednn"};

static void check_settings(const char *spec, const char *settings)
{
    for (const char *s = settings;; ++s) {
        const char *equals = strchr(s, '=');
        const char *plus = strchr(s, '+');
        if (!equals || equals == s || (plus && plus < equals))
            die("--impl '%s': VAR=VALUE is needed behind each +", spec);
        s = strchr(equals, '+');
        if (!s) return;
    }
}

static void add_spec(bench_options *o, const char *spec)
{
    char *name = check_memory(strdup(spec));
    char *settings = strchr(name, '+');
    if (settings) *settings++ = '\0';
    char *threads = strchr(name, '@');
    if (threads) *threads++ = '\0';
    const gemm_variant *v = gemm_find(name);
    if (!v)
        die("--impl '%s': no such row; --list prints them all", name);
    if (settings) check_settings(spec, settings);
    const size_t size = strlen(spec) + 1;
    bench_row row = {.variant = (int)(v - gemm_variants), .named = true,
                     .label = check_memory(malloc(size)),
                     .threads = threads ? read_whole("--impl: threads", threads, 1, 1024) : 0,
                     .settings = settings ? check_memory(strdup(settings)) : NULL};
    snprintf(row.label, size, "%s%s%s", name, settings ? "+" : "", settings ? settings : "");
    add_row(o, row);
    free(name);
}

static void read_rows(bench_options *o, const char *text)
{
    char *copy = check_memory(strdup(text));
    char *rest = copy;
    for (char *spec; (spec = strsep(&rest, ","));) {
        if (!strcmp(spec, "all"))
            add_usable(o, NULL, 0);
        else if (!strcmp(spec, "refs"))
            add_usable(o, reference_names, sizeof(reference_names) / sizeof(reference_names[0]));
        else
            add_spec(o, spec);
    }
    free(copy);
}

static void read_threads(bench_options *o, const char *text)
{
    char *copy = check_memory(strdup(text));
    char *rest = copy;
    o->thread_count = 0;
    for (char *n; (n = strsep(&rest, ","));) {
        if (o->thread_count == MAX_WIDTHS)
            die("--threads '%s': at most %d numbers", text, MAX_WIDTHS);
        o->threads[o->thread_count++] = read_whole("--threads", n, 1, 1024);
    }
    free(copy);
}

/* ---- shapes ---- */

enum {
    SHAPES = 256, CFG, BATCH, SIZES, TRANSPOSES, LIST_SHAPES, IMPL, THREADS, LIST, WARM, COLD, IDLE,
    SAMPLES, SECONDS, OFFSET, SEED, PEAK, CSV, JSON
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
    {"idle", required_argument, NULL, IDLE},
    {"samples", required_argument, NULL, SAMPLES},
    {"seconds", required_argument, NULL, SECONDS},
    {"offset", required_argument, NULL, OFFSET},
    {"seed", required_argument, NULL, SEED},
    {"peak", required_argument, NULL, PEAK},
    {"csv", no_argument, NULL, CSV},
    {"json", no_argument, NULL, JSON},
    {"output", required_argument, NULL, 'o'},
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
    o->shapes_text = check_memory(realloc(o->shapes_text, size));
    snprintf(o->shapes_text + before, size - before, "%s%s", before ? ", " : "", value);
}

static void make_shapes(bench_options *o, const pending *list, size_t count, int batch,
                        const char *transposes)
{
    static const pending usual = {SHAPES, "yolov3-tiny"};
    char error[400];
    for (size_t i = 0; i < (count ? count : 1); ++i) {
        const pending *p = count ? &list[i] : &usual;
        int failed = 0;
        note_shapes(o, p->value);
        if (p->kind == SHAPES)
            failed = shapes_add_named(&o->shapes, p->value, error, sizeof(error));
        else if (p->kind == CFG)
            failed = shapes_add_cfg(&o->shapes, p->value, batch, error, sizeof(error));
        else if (p->kind == SIZES)
            failed = shapes_add_sizes(&o->shapes, p->value, error, sizeof(error));
        else
            failed = shapes_add_mnk(&o->shapes, p->value, error, sizeof(error));
        if (failed) die("%s", error);
    }
    if (transposes) {
        note_shapes(o, transposes);
        if (shapes_transpose(&o->shapes, transposes, error, sizeof(error))) die("%s", error);
    }
}

/* ---- the rest ---- */

static int read_isa(const char *option, const char *name)
{
    const peak_isa *isa = peak_find(name);
    if (!isa || !isa->usable()) {
        char names[64] = "";
        for (size_t i = 0; i < peak_isa_count; ++i)
            if (peak_isas[i].usable())
                snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s",
                         peak_isas[i].name);
        die("%s '%s' is not to be had here: allowed are%s", option, name, names);
    }
    return (int)(isa - peak_isas);
}

static uint64_t read_seed(const char *text)
{
    char *end;
    errno = 0;
    const uint64_t seed = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-')
        die("--seed '%s': a whole number from 0 on is needed", text);
    return seed;
}

static uint64_t clock_seed(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) % 1000000000u;
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
    case IDLE: o->idle_s = 1e-3 * read_number("--idle", value, 0, 10000); break;
    case SAMPLES: o->samples = read_whole("--samples", value, 3, 1000); break;
    case SECONDS: o->seconds = read_number("--seconds", value, 0, 3600); break;
    case OFFSET:
        o->offset = (size_t)read_whole("--offset", value, 0, 4092);
        if (o->offset % 4) die("--offset '%s': a multiple of 4 is needed", value);
        break;
    case SEED: o->seed = read_seed(value); break;
    case PEAK: o->peak_isa = read_isa("--peak", value); break;
    case CSV: o->format = RESULTS_CSV; break;
    case JSON: o->format = RESULTS_JSON; break;
    case 'o': o->output = value; break;
    case 'h': fputs(usage, stdout); exit(fflush(stdout) ? 1 : 0);
    default: exit(2);           /* getopt has said why */
    }
}

static void set_defaults(bench_options *o)
{
    if (!o->row_count)
        add_usable(o, default_names, sizeof(default_names) / sizeof(default_names[0]));
    if (!o->warm && !o->cold) o->warm = true;
    const char *isa = getenv("GEMM_ISA");
    if (o->peak_isa < 0)
        o->peak_isa = isa ? read_isa("GEMM_ISA", isa) : (int)(peak_best() - peak_isas);
}

void options_read(bench_options *o, int argc, char **argv)
{
    *o = (bench_options){.samples = 15, .seconds = 0.5, .offset = 16, .peak_isa = -1,
                         .seed = clock_seed()};
    pending *shapes = check_memory(calloc((size_t)argc + 1, sizeof(pending)));
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
    if (optind < argc) die("'%s' is no option", argv[optind]);
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
