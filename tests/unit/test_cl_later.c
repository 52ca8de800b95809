/* SPDX-License-Identifier: MIT */
/*
 * hybrid and auto while the programs of cl are compiled (src/cl/op/later.h).
 *
 *   test_cl_later [--only TEST]
 *
 * Needs OPENCL_LAYERS=layer_faulty.so. Each test is a child with empty caches. Its network is a
 * convolution and an upsample. The driver compares all results with the reference (GEMM_CHECK=1).
 */
#include "auto/auto.h"
#include "cl/op/later.h"
#include "hybrid/hybrid.h"
#include "support/options.h"
#include "support/tuned.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { HANG_S = 240 };

static const char *only;
static gemm_hybrid_sides sides; /* the device has whole layers, and half of a multiply */
static gemm_variant by_device;

/* ---- passes ---- */

/* What a command in the folder counts. */
static int count(const char *command)
{
    char text[160];
    int number = -1;
    snprintf(text, sizeof text, "cd %s; %s 2>/dev/null | wc -l", folder, command);
    FILE *f = popen(text, "r");
    if (!f || fscanf(f, "%d", &number) != 1) number = -1;
    if (f) pclose(f);
    return number;
}

static bool asks(const char *text)
{
    return strstr(text, "cl's programs are being compiled");
}

typedef struct network {
    conv_call conv;
    layer_call up;
    layer_input input;
    gemm_plan *plan;
} network;

static void make_network(network *n)
{
    *n = (network){.conv = make_conv(&small)};
    n->input = (layer_input){n->conv.output, 12 * 14 * 14};
    n->up = make_upsample(&n->input, malloc(12 * 28 * 28 * sizeof(float)));
}

static void free_network(network *n)
{
    gemm_plan_drop(&n->plan);
    free(n->up.output);
    conv_shape_free(&n->conv);
}

typedef struct pass {
    bool done, by_cl[2], asked[2];
    char ran[64];               /* of the convolution */
} pass;

static void look_at(pass *p, int i, const gemm_note *note)
{
    const bool by_cl = !strncmp(note->chosen ? note->chosen : note->ran, "cl", 2);
    p->by_cl[i] = by_cl;
    p->asked[i] = asks(note->weighed) || (note->why && asks(note->why));
}

static pass run_pass(const gemm_variant *v, network *n)
{
    gemm_note note;
    pass p = {.done = gemm_conv_run(v, &n->conv, &n->plan, &note)};
    strcpy(p.ran, note.ran);
    look_at(&p, 0, &note);
    p.done = gemm_layer_run(v, &n->up, &note) && p.done;
    look_at(&p, 1, &note);
    return p;
}

/* Passes until one goes by cl as a whole. All others give a reason for each layer that does not.
   Returns how many these were, or -1. */
static int passes_until_cl(const gemm_variant *v, network *n)
{
    for (int count = 0;; ++count) {
        const pass p = run_pass(v, n);
        const bool told = p.asked[0] == !p.by_cl[0] && p.asked[1] == !p.by_cl[1];
        if (p.done && told && p.by_cl[0] && p.by_cl[1]) return count;
        if (p.done && told) continue;
        printf("pass %d: done %d, by cl %d %d, told %d %d, %s\n", count, p.done, p.by_cl[0],
               p.by_cl[1], p.asked[0], p.asked[1], p.ran);
        return -1;
    }
}

/* ---- hybrid ---- */

static int run_hybrid(void *unused)
{
    network n;
    (void)unused;
    make_network(&n);
    const int by_cpu = passes_until_cl(&by_device, &n);
    const int again = passes_until_cl(&by_device, &n);
    free_network(&n);
    printf("by the CPU: %d, then %d\n", by_cpu, again);
    return by_cpu < 1 || again;
}

/* With the caches of run_hybrid. */
static int run_cached(void *unused)
{
    network n;
    (void)unused;
    make_network(&n);
    const int by_cpu = passes_until_cl(&by_device, &n);
    free_network(&n);
    printf("by the CPU: %d\n", by_cpu);
    return by_cpu;
}

/* With the caches of a run, but for the upsample. The first convolution goes by cl. After that
   it goes by the CPU too, and waits neither for the compiler nor for what the device has. */
static int run_partly_cached(void *variant)
{
    const gemm_variant *v = variant;
    network n;
    setenv("CL_BUSY_BUILD", "2000", 1);
    make_network(&n);
    const pass first = run_pass(v, &n);
    while (!gemm_cl_is_busy()) usleep(1000);
    const pass second = run_pass(v, &n);
    const bool early = !count("ls cl_upsample-*.clbin");
    const int by_cpu = passes_until_cl(v, &n);
    free_network(&n);
    printf("first by cl %d %d, then %d %d, before its end %d, then %d\n", first.by_cl[0],
           first.by_cl[1], second.by_cl[0], second.by_cl[1], early, by_cpu);
    return !first.by_cl[0] || first.by_cl[1] || !second.asked[0] || !second.asked[1] ||
           !early || by_cpu < 0;
}

static void test_partly_cached(const char *name, const gemm_variant *v)
{
    char command[96];
    snprintf(command, sizeof command, "rm %s/cl_upsample-*.clbin", folder);
    if (system(command)) exit(2);
    expect_right(name, run_partly_cached, (void *)v);
}

static void test_hybrid(void)
{
    const child_result r = expect_right("later-hybrid", run_hybrid, NULL);
    expect("later-hybrid-quiet", r.output, "not built yet", 0);
    expect_right("later-cached", run_cached, NULL);
    test_partly_cached("later-partly-cached", &by_device);
}

static int run_prepared(void *unused)
{
    setenv("GEMM_PREPARE", "first", 1);
    return run_cached(unused);
}

static void test_prepared(void)
{
    expect_right("later-prepare-first", run_prepared, NULL);
}

/* The compiler refuses the upsample (tests/support/layer_faulty.c). Then it is left out, for the
   reason that a call would have found, and the convolution goes by cl. */
static int run_faulty(void *unused)
{
    network n;
    pass p;
    (void)unused;
    setenv("CL_FAIL_BUILD", "cl_upsample", 1);
    make_network(&n);
    do p = run_pass(&by_device, &n);
    while (p.done && p.asked[0]);
    p = run_pass(&by_device, &n);
    free_network(&n);
    printf("done %d, by cl %d %d\n", p.done, p.by_cl[0], p.by_cl[1]);
    return p.done || !p.by_cl[0] || p.asked[1];
}

static void test_faulty(void)
{
    const child_result r = child_run(run_faulty, NULL);
    const bool said = strstr(r.output, "kernels/cl_upsample.cl is left out on ");
    report_that("later-faulty", child_exit(&r) == 0 && said, "status %d: %.1500s", child_exit(&r),
                r.output);
}

/* ---- multiplies ---- */

/* The first calls are the CPU's, and settle nothing. */
static int run_multiply(void *unused)
{
    gemm_note note;
    int by_cpu = 0;
    (void)unused;
    sides.forced = .5;
    for (; multiply_rows(&by_device, 0, NULL, &note) && !strcmp(note.ran, "packed"); ++by_cpu);
    printf("by the CPU: %d, then %s\n", by_cpu, note.ran);
    return by_cpu < 1 || strncmp(note.ran, "cl_", 3);
}

static void test_multiply(void)
{
    expect_right("later-multiply", run_multiply, NULL);
}

/* ---- auto ---- */

/* The table has cl for both layers. Nothing waits for a thread meanwhile. */
static int write_rows(void *unused)
{
    network n;
    (void)unused;
    make_network(&n);
    gemm_set_variant(gemm_find("auto"));
    gemm_auto_set_mode(GEMM_AUTO_ANEW);
    gemm_auto_record(gemm_find("cl"));
    const pass p = run_pass(gemm_find("auto"), &n);
    gemm_auto_record(NULL);
    free_network(&n);
    printf("done %d by cl %d %d\n", p.done, p.by_cl[0], p.by_cl[1]);
    return !p.done || !p.by_cl[0] || !p.by_cl[1];
}

static int run_auto(void *unused)
{
    network n;
    (void)unused;
    make_network(&n);
    const int by_cpu = passes_until_cl(gemm_find("auto"), &n);
    free_network(&n);
    printf("by the CPU: %d\n", by_cpu);
    return by_cpu < 1;
}

/* Empty caches, but for the table. */
static void empty_caches(void)
{
    char command[192];
    snprintf(command, sizeof command, "rm -rf %s/pocl %s/home %s/*.clbin %s/*.note; mkdir %s/home",
             folder, folder, folder, folder, folder);
    if (system(command)) exit(2);
}

static void test_auto(void)
{
    expect_right("later-measured", write_rows, NULL);
    empty_caches();
    expect_right("later-auto", run_auto, NULL);
    test_partly_cached("later-auto-partly-cached", gemm_find("auto"));
}

/* ---- other threads, exit, fork ---- */

static void *run_beside(void *failed)
{
    network n;
    make_network(&n);
    if (passes_until_cl(&by_device, &n) < 0) atomic_store((atomic_bool *)failed, true);
    free_network(&n);
    return NULL;
}

static int run_threads(void *unused)
{
    pthread_t other;
    network n;
    static atomic_bool failed;
    (void)unused;
    make_network(&n);
    run_pass(&by_device, &n);
    if (pthread_create(&other, NULL, run_beside, &failed)) return 2;
    const int by_cpu = passes_until_cl(&by_device, &n);
    pthread_join(other, NULL);
    free_network(&n);
    return by_cpu < 0 || atomic_load(&failed);
}

static void test_threads(void)
{
    expect_right("later-threads", run_threads, NULL);
}

/* Ends while the first program is compiled: PoCL has read its text, and the compiler has data of
   its own. */
static int end_early(void *unused)
{
    network n;
    (void)unused;
    alarm(HANG_S);
    make_network(&n);
    const pass p = run_pass(&by_device, &n);
    while (!count("find pocl -name program.bc")) usleep(1000);
    free_network(&n);
    return !p.done || p.by_cl[0];
}

static void *end_early_there(void *failed)
{
    network n;
    make_network(&n);
    const pass first = run_pass(&by_device, &n);
    atomic_store((atomic_bool *)failed, !first.done);
    free_network(&n);
    return NULL;
}

static int end_beside(void *unused)
{
    pthread_t other;
    static atomic_bool failed;
    (void)unused;
    if (pthread_create(&other, NULL, end_early_there, &failed)) return 2;
    pthread_join(other, NULL);
    return atomic_load(&failed);
}

static void test_exit(void)
{
    expect_right("later-exit", end_early, NULL);
    const int kept = count("ls *.clbin"), notes = count("ls *.note");
    report_that("later-exit-cache", kept > 0 && !notes, "%d programs, %d notes", kept, notes);
    empty_caches();
    expect_right("later-exit-other-thread", end_beside, NULL);
}

/* A process that is killed meanwhile does not leave the program out; a second one does. */
static int be_killed(void *line)
{
    network n;
    alarm(HANG_S);
    make_network(&n);
    run_pass(&by_device, &n);
    while (!gemm_cl_is_busy() || !count(line)) usleep(1000);
    raise(SIGKILL);
    return 0;
}

static void test_killed(void)
{
    char first[] = "grep -la '^??$' *.note", second[] = "grep -la '^?$' *.note";
    child_run(be_killed, first);
    child_run(be_killed, second);
    const int twice = count(second);
    report_that("later-killed-twice", twice == 1, "%d", twice);
    empty_caches();
    child_run(be_killed, first);
    expect_right("later-killed", run_hybrid, NULL);
}

/* In the child nothing is built, and nobody waits. */
static int run_in_child(void)
{
    network n;
    alarm(HANG_S);
    make_network(&n);
    gemm_conv_run(&by_device, &n.conv, &n.plan, NULL);
    const bool idle = !gemm_cl_is_busy() && gemm_cl_end_building();
    free_network(&n);
    return !idle;
}

static int fork_early(void *unused)
{
    network n;
    int status = 1;
    (void)unused;
    make_network(&n);
    run_pass(&by_device, &n);
    while (!gemm_cl_is_busy()) usleep(1000);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) exit(run_in_child());
    const bool right = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    const int by_cpu = passes_until_cl(&by_device, &n);
    free_network(&n);
    printf("child: %d, by the CPU: %d\n", status, by_cpu);
    return !right || by_cpu < 0;
}

static void test_fork(void)
{
#ifdef __SANITIZE_ADDRESS__
    report_skip_machine("later-fork", "the sanitizer's own locks do not live through a fork");
    return;
#endif
    expect_right("later-fork", fork_early, NULL);
}

/* ---- the program ---- */

static int find_device(void *ignored)
{
    (void)ignored;
    return gemm_limits(gemm_find("cl")) != NULL;
}

static bool take_own(const char *option, const char *value)
{
    only = value;
    return !strcmp(option, "--only");
}

static void set_up(void)
{
    char place[64];
    make_folder();
    snprintf(place, sizeof place, "%s/pocl", folder);
    setenv("POCL_CACHE_DIR", place, 1);
    snprintf(place, sizeof place, "%s/home", folder);
    setenv("HOME", place, 1);
    setenv("GEMM_TRACE", "/dev/null", 1);
    setenv("GEMM_CHECK", "1", 1);
    unsetenv("GEMM_PREPARE");
    by_device = *gemm_find("hybrid");
    sides = *(const gemm_hybrid_sides *)by_device.params;
    sides.forced = 1;
    by_device.params = &sides;
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {{"hybrid", test_hybrid}, {"prepared", test_prepared}, {"multiply", test_multiply},
             {"auto", test_auto},     {"threads", test_threads},   {"exit", test_exit},
             {"killed", test_killed}, {"fork", test_fork},         {"faulty", test_faulty}};

int main(int argc, char **argv)
{
    options_read(argc, argv, (test_options){0}, "--only", take_own);
    set_up();
    const child_result r = child_run(find_device, NULL);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
        if (only && strcmp(only, tests[i].name)) continue;
        unlink(path);
        empty_caches();
        if (child_exit(&r)) report_skip(tests[i].name, "no OpenCL device: %s", r.output);
        else tests[i].run();
    }
    return end_tests();
}
