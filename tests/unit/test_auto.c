/* SPDX-License-Identifier: MIT */
/*
 * The row `auto`: threads that meet new shapes, a fork while one is measured, layers whose row
 * changes, and chains. test_tuning has its table.
 *
 *   test_auto [--only NAME]
 */
#include "auto/auto.h"
#include "cl/configure.h"
#include "int8/scales.h"
#include "support/options.h"
#include "support/tuned.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

enum { THREADS = 4 };

static const char *only;        /* the name of the test that runs, or NULL: all */
static bool has_device;         /* an OpenCL device */

/* ---- threads ---- */

/* Threads that meet the same new shapes at the same time. */
static atomic_int wrong;

static void *call_all(void *argument)
{
    const int thread = *(int *)argument;
    for (int i = 0; i < SHAPES; ++i) {
        float C[2 * M * LD], D[2 * M * LD];
        const int more = (i + thread) % SHAPES;
        gemm_note note;
        multiply_rows(gemm_find("auto"), more, C, &note);
        multiply_rows(gemm_find(note.chosen), more, D, NULL);
        const size_t used = (size_t)((M + more - 1) * LD + N);
        if (memcmp(C, D, used * sizeof *C)) atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

static int run_callers(void *ignored)
{
    (void)ignored;
    tune_without_device();
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, call_all, &numbers[i])) return 2;
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    return atomic_load(&wrong) != 0;
}

static void test_callers(void)
{
    char wanted[32];
    const child_result r = expect_right("callers", run_callers, NULL);
    char *text = read_table();
    snprintf(wanted, sizeof wanted, "\nend %d\n", SHAPES);
    expect("callers-measure-once", r.output, "gemm: tuned multiply", SHAPES);
    expect("callers-table", text, wanted, 1);
    free(text);
}

/* ---- rows that change ---- */

/* A layer whose row changes: what one row kept is freed, and not read by the other. */
static int change_rows(void *ignored)
{
    (void)ignored;
    static const char *const rows[] = {"packed", "cl", "packed", "cl"};
    conv_call c = make_conv(&larger);
    float *expected = malloc(conv_outputs(&c) * sizeof *expected);
    gemm_plan *plan = NULL;
    int failed = 0;
    if (!expected) return 2;
    gemm_set_variant(gemm_find("auto"));
    gemm_set_prepare_first(true);
    gemm_auto_set_mode(GEMM_AUTO_ANEW);
    for (int i = 0; i < 4; ++i) {
        const gemm_variant *v = gemm_find(rows[i]);
        gemm_plan *own = NULL;      /* with a plan a row may take another algorithm */
        gemm_conv_run(v, &c, &own, NULL);
        gemm_plan_drop(&own);
        memcpy(expected, c.output, conv_outputs(&c) * sizeof *expected);
        gemm_auto_record(v);
        if (!gemm_conv_run(gemm_find("auto"), &c, &plan, NULL)) failed = 1;
        if (memcmp(expected, c.output, conv_outputs(&c) * sizeof *expected)) failed = 1;
    }
    gemm_plan_drop(&plan);
    free(expected);
    conv_shape_free(&c);
    return failed;
}

static void test_kept(void)
{
    if (has_device) expect_right("kept-by-another-row", change_rows, NULL);
    else report_skip("kept-by-another-row", "no OpenCL device");
}

/* Convolution, upsample, convolution, in memory of the device. Their outputs may stay there. */
typedef struct chain {
    conv_call first, last;
    conv_call made[2];          /* as conv_shape_free wants them */
    layer_call between;
    layer_input input;
} chain;

static float *take_memory(size_t floats)
{
    float *p = gemm_host_alloc(floats, sizeof *p);
    if (!p) exit(2);
    return p;
}

static void make_chain(chain *n)
{
    static const conv_shape shape = {"last", 1, 1, 12, 28, 28, 6, 3, 1, 1};
    n->first = make_conv(&small);
    n->last = conv_shape_make(&shape, CONV_LINEAR);
    rng r = rng_make(17, 1);
    conv_shape_fill(&n->last, &r);
    n->made[0] = n->first;
    n->made[1] = n->last;
    n->first.output = take_memory(12 * 14 * 14);
    n->input = (layer_input){n->first.output, 12 * 14 * 14};
    n->between = make_upsample(&n->input, take_memory(12 * 28 * 28));
    n->last.input = n->between.output;
    n->last.output = take_memory(6 * 28 * 28);
}

static void free_chain(chain *n)
{
    gemm_host_free(n->first.output);
    gemm_host_free(n->between.output);
    gemm_host_free(n->last.output);
    for (int i = 0; i < 2; ++i) conv_shape_free(&n->made[i]);
}

/* Runs the chain and returns its output in the CPU's memory. */
static const float *run_chain(chain *n, const char *convs, const char *between, gemm_plan **plans)
{
    if (!gemm_conv_run(gemm_find(convs), &n->first, plans ? &plans[0] : NULL, NULL)) exit(2);
    if (!gemm_layer_run(gemm_find(between), &n->between, NULL)) exit(2);
    if (!gemm_conv_run(gemm_find(convs), &n->last, plans ? &plans[1] : NULL, NULL)) exit(2);
    gemm_host_read(n->last.output, 6 * 28 * 28 * sizeof(float));
    return n->last.output;
}

static void clear(float *output, size_t floats)
{
    gemm_host_write(output, floats * sizeof *output);
    memset(output, 0, floats * sizeof *output);
}

/* Puts rows into the table in memory. */
static void record_chain(chain *n)
{
    gemm_auto_set_mode(GEMM_AUTO_ANEW);
    gemm_auto_record(gemm_find("cl"));
    if (!gemm_conv_run(gemm_find("auto"), &n->first, NULL, NULL)) exit(2);
    if (!gemm_conv_run(gemm_find("auto"), &n->last, NULL, NULL)) exit(2);
    gemm_auto_record(gemm_find("packed"));
    if (!gemm_layer_run(gemm_find("auto"), &n->between, NULL)) exit(2);
    gemm_auto_record(NULL);
}

/* `cl` and `packed` in turns by the table, three passes over other inputs. */
static int run_mixed(void *policy)
{
    static float expected[6 * 28 * 28];
    chain n;
    gemm_plan *plans[2] = {NULL, NULL};
    gemm_set_variant(gemm_find("auto"));
    gemm_cl_force_memory(*(char *)policy);
    gemm_auto_set_mode(GEMM_AUTO_TUNE);         /* memory of the device */
    make_chain(&n);
    record_chain(&n);
    for (int pass = 0; pass < 3; ++pass) {
        ((float *)n.first.input)[pass] = 2;
        memcpy(expected, run_chain(&n, "cl", "packed", NULL), sizeof expected);
        clear(n.first.output, 12 * 14 * 14);
        clear(n.between.output, 12 * 28 * 28);
        clear(n.last.output, 6 * 28 * 28);
        if (memcmp(run_chain(&n, "auto", "auto", plans), expected, sizeof expected)) return 1;
    }
    gemm_plan_drop(&plans[0]);
    gemm_plan_drop(&plans[1]);
    free_chain(&n);
    return 0;
}

/* What a child said, without the line of a slow compiler. */
static const char *said_else(const char *output)
{
    static const char progress[] = "gemm_cl: compiling OpenCL programs for ";
    const char *end = strncmp(output, progress, sizeof progress - 1) ? NULL : strchr(output, '\n');
    return end ? end + 1 : output;
}

static void test_mixed(void)
{
    if (!has_device) {
        report_skip("mixed", "no OpenCL device");
        return;
    }
    expect("mixed-u-quiet", said_else(expect_right("mixed-u", run_mixed, "u").output), "\n", 0);
    expect("mixed-d-quiet", said_else(expect_right("mixed-d", run_mixed, "d").output), "\n", 0);
}

/* A depthwise convolution and a 1x1 that reads it. */
static void make_pair(conv_call pair[2])
{
    static const conv_shape depthwise = {"depthwise", 1, 8, 8, 40, 40, 8, 3, 1, 1};
    static const conv_shape pointwise = {"pointwise", 1, 1, 8, 40, 40, 12, 1, 1, 0};
    pair[0] = make_conv(&depthwise);
    pair[1] = make_conv(&pointwise);
}

static bool runs_chained(const conv_call pair[2])
{
    const conv_norm *const norms[2] = {NULL, NULL};
    gemm_plan *plans[2] = {NULL, NULL}, **const slots[2] = {&plans[0], &plans[1]};
    const bool done = gemm_conv_chain(pair, norms, 2, slots, NULL);
    gemm_plan_drop(&plans[0]);
    gemm_plan_drop(&plans[1]);
    return done;
}

/* Puts the row into the table in memory for one layer, or for both. */
static void record_pair(const conv_call *pair, int count, const char *row)
{
    gemm_auto_record(gemm_find(row));
    for (int i = 0; i < count; ++i) gemm_conv_run(gemm_find("auto"), &pair[i], NULL, NULL);
}

/* A line for each state of the table: whether `auto` runs the chain as one call. */
static int run_chains(void *ignored)
{
    (void)ignored;
    conv_call pair[2];
    make_pair(pair);
    gemm_set_variant(gemm_find("auto"));
    printf("no table: %d\n", runs_chained(pair));
    gemm_auto_set_mode(GEMM_AUTO_ANEW);
    printf("to be measured: %d\n", runs_chained(pair));
    record_pair(pair, 2, "packed");
    printf("to be recorded: %d\n", runs_chained(pair));
    gemm_auto_record(NULL);
    printf("packed: %d\n", runs_chained(pair));
    if (has_device) {
        record_pair(pair, 1, "cl");
        gemm_auto_record(NULL);
        printf("cl and packed: %d\n", runs_chained(pair));
    }
    conv_shape_free(&pair[0]);
    conv_shape_free(&pair[1]);
    return 0;
}

static void test_chains(void)
{
    const child_result r = child_run(run_chains, NULL);
    expect("chain-no-table", r.output, "no table: 1\n", 1);
    expect("chain-to-be-measured", r.output, "to be measured: 0\n", 1);
    expect("chain-to-be-recorded", r.output, "to be recorded: 0\n", 1);
    expect("chain-packed", r.output, "\npacked: 1\n", 1);
    if (has_device) expect("chain-cl", r.output, "cl and packed: 0\n", 1);
    else report_skip("chain-cl", "no OpenCL device");
}

/* ---- chains whose first layer has a scale of 8 bits ---- */

static const char *scales_path(char text[128])
{
    snprintf(text, 128, "%s/scales.int8", folder);
    return text;
}

/* 1x1, depthwise, 1x1. Only the first one has a scale. */
static void make_triple(conv_call calls[3])
{
    static const conv_shape shapes[] = {{"expand", 1, 1, 32, 40, 40, 48, 1, 1, 0},
                                        {"depthwise", 1, 48, 48, 40, 40, 48, 3, 1, 1},
                                        {"project", 1, 1, 48, 40, 40, 24, 1, 1, 0}};
    gemm_scale layers[3];
    const gemm_scales scales = {layers, 3};
    char text[128];
    for (int i = 0; i < 3; ++i) {
        calls[i] = make_conv(&shapes[i]);
        layers[i] = (gemm_scale){.weights = gemm_scales_fingerprint(&calls[i]), .M = shapes[i].n,
                                 .N = 1600, .K = gemm_conv_taps(&calls[i]),
                                 .scale = i ? 0 : .01f};
    }
    FILE *f = fopen(scales_path(text), "w");
    if (!f || !gemm_scales_write(f, &scales) || fclose(f)) exit(2);
}

/* Records a row for the first layer and one for the others. Whether the chain then runs; its output
   is that of the last call. */
static bool runs_triple(const conv_call calls[3], const char *first, const char *others)
{
    const conv_norm *const norms[3] = {NULL, NULL, NULL};
    gemm_plan *plans[3] = {NULL, NULL, NULL};
    gemm_plan **const slots[3] = {&plans[0], &plans[1], &plans[2]};
    for (int i = 0; i < 3; ++i) {
        gemm_auto_record(gemm_find(i ? others : first));
        if (!gemm_conv_run(gemm_find("auto"), &calls[i], NULL, NULL)) exit(2);
    }
    gemm_auto_record(NULL);
    memset(calls[2].output, 0, 24 * 1600 * sizeof(float));
    const bool done = gemm_conv_chain(calls, norms, 3, slots, NULL);
    for (int i = 0; i < 3; ++i) gemm_plan_drop(&plans[i]);
    return done;
}

static int run_scaled_chains(void *unused)
{
    conv_call calls[3];
    char text[128];
    static float single[24 * 1600];
    (void)unused;
    make_triple(calls);
    setenv("GEMM_AUTO_BITS", "8", 1);
    setenv("GEMM_INT8", scales_path(text), 1);
    gemm_set_variant(gemm_find("auto"));
    gemm_auto_set_mode(GEMM_AUTO_ANEW);
    printf("packed: %d\n", runs_triple(calls, "packed", "packed"));
    memcpy(single, calls[2].output, sizeof single);
    printf("first in 8 bits: %d\n", runs_triple(calls, "packed_int8", "packed"));
    printf("other numbers: %d\n", !!memcmp(single, calls[2].output, sizeof single));
    printf("all: %d\n", runs_triple(calls, "packed_int8", "packed_int8"));
    printf("others alone: %d\n", runs_triple(calls, "packed", "packed_int8"));
    for (int i = 0; i < 3; ++i) conv_shape_free(&calls[i]);
    return 0;
}

static void test_scaled_chains(void)
{
    char text[128];
    const child_result r = child_run(run_scaled_chains, NULL);
    expect("scaled-chain-packed", r.output, "packed: 1\n", 1);
    expect("scaled-chain-first", r.output, "first in 8 bits: 1\nother numbers: 1\n", 1);
    expect("scaled-chain-all", r.output, "all: 1\n", 1);
    expect("scaled-chain-others", r.output, "others alone: 1\n", 1);
    unlink(scales_path(text));
}

/* ---- fork while another thread tunes ---- */

enum { FORKS = 12, TUNED = 400, HANG_S = 60 };

static atomic_bool stops;

/* Measures one new shape after the other, nearly always with the lock of the table. */
static void *tune_on(void *begun)
{
    for (int i = 0; i < TUNED && !atomic_load(&stops); ++i) {
        multiply_rows(gemm_find("auto"), i, NULL, NULL);
        atomic_store((atomic_bool *)begun, true);
    }
    return NULL;
}

/* Whether a child measures a shape that nobody has measured. */
static bool tune_in_child(int number)
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        gemm_note note;
        alarm(HANG_S);
        multiply_rows(gemm_find("auto"), TUNED + number, NULL, &note);
        _exit(strcmp(note.why, "measured"));
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int fork_while_tuning(void *ignored)
{
    static atomic_bool begun;
    pthread_t thread;
    bool right = true;
    (void)ignored;
    tune_without_device();
    if (pthread_create(&thread, NULL, tune_on, &begun)) return 2;
    while (!atomic_load(&begun)) usleep(100);
    for (int i = 0; i < FORKS && right; ++i) {
        usleep(700 * (unsigned)i);
        right = tune_in_child(i);
    }
    atomic_store(&stops, true);
    pthread_join(thread, NULL);
    return !right;
}

static void test_fork(void)
{
#ifdef __SANITIZE_ADDRESS__
    report_skip_machine("fork-while-tuning",
                        "the sanitizer's own locks do not live through a fork");
    return;
#endif
    expect_right("fork-while-tuning", fork_while_tuning, NULL);
}

/* ---- the program ---- */

static int find_device(void *ignored)
{
    (void)ignored;
    gemm_chosen();              /* reads the environment */
    char *device = gemm_cl_identify();
    free(device);
    return device == NULL;
}

static bool take_own(const char *option, const char *value)
{
    only = value;
    return !strcmp(option, "--only");
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {{"callers", test_callers}, {"kept", test_kept},
             {"mixed", test_mixed},     {"chains", test_chains},
             {"fork", test_fork},       {"scaled-chains", test_scaled_chains}};

int main(int argc, char **argv)
{
    options_read(argc, argv, (test_options){0}, "--only", take_own);
    make_folder();
    if (!only || strcmp(only, "callers")) {
        const child_result r = child_run(find_device, NULL);
        has_device = child_exit(&r) == 0;
    }
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
        if (only && strcmp(only, tests[i].name)) continue;
        unlink(path);
        tests[i].run();
    }
    return end_tests();
}
