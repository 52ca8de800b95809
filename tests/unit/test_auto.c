/* SPDX-License-Identifier: MIT */
/*
 * The row `auto`: the tuning table is used for the shapes that it names, and a table that cannot be
 * used is ignored with one line.
 *
 *   test_auto [--only NAME]
 *
 * The environment is read once a process, so each case runs in a child. A first child tunes the
 * shapes of `cases` and so writes a table of this machine. The other tables are made from its text.
 */
#include "auto/auto.h"
#include "cl/configure.h"
#include "common/random.h"
#include "driver/driver.h"
#include "int8/scales.h"
#include "support/child.h"
#include "support/conv_shape.h"
#include "support/options.h"
#include "support/report.h"
#include "tune/race.h"
#include "tune/table.h"
#include "util/budget.h"
#include "util/file.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { M = 70, N = 90, K = 80, LD = 100, TABLE_TEXT = 8192, THREADS = 4, SHAPES = 6, SAVES = 60 };

static char folder[] = "/tmp/test_auto.XXXXXX";
static char path[64], good[TABLE_TEXT];         /* the file of the table, and what it has */
static const char *only;                        /* the name of the test that runs, or NULL: all */

/* ---- calls ---- */

static const conv_shape small = {"small", 1, 1, 8, 14, 14, 12, 3, 1, 1};
static const conv_shape larger = {"larger", 1, 1, 64, 26, 26, 64, 3, 1, 1};

/* A multiply of M + more rows. Fills C; operands that are the same at every call. */
static gemm_call make_call(float *A, float *B, float *C, int more)
{
    rng r = rng_make(7, 1);
    for (int i = 0; i < (M + more) * LD; ++i) A[i] = rng_float(&r), C[i] = rng_float(&r);
    for (int i = 0; i < K * LD; ++i) B[i] = rng_float(&r);
    return (gemm_call){0, 0, M + more, N, K, 1, A, LD, B, LD, C, LD};
}

typedef struct outcome {
    gemm_note note;
    bool done;
    float output[12 * 28 * 28];
} outcome;

static void run_multiply(const gemm_variant *v, outcome *o)
{
    static float A[M * LD], B[K * LD];
    const gemm_call c = make_call(A, B, o->output, 0);
    o->done = gemm_run(v, &c, &o->note) == v;
}

/* A call with random numbers. conv_shape_free frees it. */
static conv_call make_conv(const conv_shape *shape)
{
    conv_call c = conv_shape_make(shape, CONV_LEAKY);
    rng r = rng_make(9, 1);
    conv_shape_fill(&c, &r);
    return c;
}

static void run_conv(const gemm_variant *v, outcome *o)
{
    conv_call c = make_conv(&small);
    o->done = gemm_conv_run(v, &c, NULL, &o->note);
    memcpy(o->output, c.output, conv_outputs(&c) * sizeof(float));
    conv_shape_free(&c);
}

static void run_upsample(const gemm_variant *v, outcome *o)
{
    static float data[12 * 14 * 14];
    const layer_input input = {data, 12 * 14 * 14};
    rng r = rng_make(11, 1);
    for (int i = 0; i < input.size; ++i) data[i] = rng_float(&r);
    const layer_call c = {.kind = LAYER_UPSAMPLE, .batch = 1, .c = 12, .h = 14, .w = 14,
                          .out_c = 12, .out_h = 28, .out_w = 28, .stride = 2, .alpha = 1,
                          .inputs = 1, .input = &input, .output = o->output};
    o->done = gemm_layer_run(v, &c, &o->note);
}

static const struct {
    const char *name;           /* as a line of the table begins */
    void (*run)(const gemm_variant *, outcome *);
} cases[] = {{"multiply", run_multiply},
             {"convolution", run_conv},
             {"upsample", run_upsample}};

enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- children ---- */

/* Whether the row runs a convolution and its pool as one call. */
static bool runs_pooled(const char *name)
{
    conv_call c = make_conv(&larger);
    c.pool = true;
    const bool done = gemm_conv_run(gemm_find(name), &c, NULL, NULL);
    conv_shape_free(&c);
    return done;
}

/* A line for each case: "NAME: ROW (WHY)", and whether the row alone gives the same bits. Then
   whether the row of the convolution pools as it does alone. */
static int run_cases(void *ignored)
{
    static outcome o, alone;
    const char *row = NULL;
    (void)ignored;
    for (int i = 0; i < CASES; ++i) {
        memset(&o, 0, sizeof o);
        memset(&alone, 0, sizeof alone);
        cases[i].run(gemm_find("auto"), &o);
        cases[i].run(gemm_find(o.note.chosen), &alone);
        const bool same = !memcmp(o.output, alone.output, sizeof o.output);
        if (cases[i].run == run_conv) row = o.note.chosen;
        printf("%s: %s (%s) %s\n", cases[i].name, o.note.chosen, o.note.why,
               same && o.done && alone.done ? "same" : "OTHER BITS");
    }
    printf("pooled: %s%s\n", runs_pooled("auto") == runs_pooled(row) ? "as " : "not as ", row);
    return 0;
}

/* run_cases with a table of this text; NULL: without a table. */
static child_result run_with(const char *table)
{
    unlink(path);
    FILE *f = table ? fopen(path, "w") : NULL;
    if (f) fputs(table, f);
    if (f) fclose(f);
    return child_run(run_cases, NULL);
}

/* Whether the output has the text so many times. */
static bool has(const char *output, const char *text, int times)
{
    int found = 0;
    for (const char *at = output; (at = strstr(at, text)); ++at) ++found;
    return found == times;
}

static void expect(const char *name, const char *output, const char *text, int times)
{
    if (has(output, text, times)) report_pass(name);
    else report_fail(name, "'%s' is not there %d times: %s", text, times, output);
}

/* Whether all cases ran on packed, and one line said that the table is not used. */
static bool is_ignored(const char *output)
{
    return has(output, "packed (default) same", CASES) && has(output, "gemm:", 1) &&
           has(output, "gemm: the tuning table", 1) && has(output, "is not used", 1);
}

/* The good table with the word behind `start` made another one. */
static const char *foreign(const char *start)
{
    static char text[TABLE_TEXT];
    const char *found = strstr(good, start);
    const int before = found ? (int)(found - good) + (int)strlen(start) : 0;
    snprintf(text, sizeof text, "%.*s", before, good);
    gemm_append(text, sizeof text, "other %s", good + before);
    return text;
}

/* A table with this row in each line of `auto` whose shape begins with `kind`. */
static const char *naming(const char *table, const char *kind, const char *row)
{
    static char text[TABLE_TEXT];
    char copy[TABLE_TEXT], *rest = copy;
    snprintf(copy, sizeof copy, "%s", table);
    text[0] = '\0';
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        char *equals = strstr(line, " = ");
        if (equals && !strncmp(line, "auto ", 5) && !strncmp(line + 5, kind, strlen(kind)))
            gemm_append(text, sizeof text, "%.*s = %s (by hand)\n", (int)(equals - line), line,
                        row);
        else
            gemm_append(text, sizeof text, "%s\n", line);
    }
    return text;
}

/* ---- the tests ---- */

static void test_decide(void)
{
    static const struct {
        double ms[3];
        int winner;
    } table[] = {{{10, 9, 8}, 2}, {{10, 9.95, 11}, 0}, {{-1, 5, 4}, 2}, {{10, -1, -1}, 0},
                 {{10, 5, -1}, 1}};
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
        const int winner = gemm_decide(table[i].ms, 3, 0);
        if (winner != table[i].winner) {
            report_fail("decide", "row %zu: %d instead of %d", i, winner, table[i].winner);
            return;
        }
    }
    report_pass("decide");
}

static void test_named(void)
{
    child_result r = run_with(NULL);
    expect("without-a-table", r.output, "packed (default) same", CASES);
    r = run_with(naming(good, "multiply", "stock"));
    expect("table-names-stock", r.output, "multiply: stock (tuned) same\n", 1);
    expect("table-names-stock-alone", r.output, "stock", 1);
    expect("table-is-quiet", r.output, "gemm:", 0);
    r = run_with(naming(good, "convolution", "packed"));
    expect("table-names-packed", r.output, "convolution: packed (tuned) same\n", 1);
    expect("table-names-packed-pooled", r.output, "pooled: as packed\n", 1);
    r = run_with("");
    expect("table-empty", r.output, "is not used: it cannot be read", 1);
}

static void test_device(void)
{
    if (strstr(good, "device none")) {
        report_skip("device", "no OpenCL device");
        return;
    }
    child_result r = run_with(naming(good, "convolution", "cl"));
    expect("table-names-cl", r.output, "convolution: cl (tuned) same\n", 1);
    expect("table-names-cl-pooled", r.output, "pooled: as cl\n", 1);
    r = run_with(naming(good, "multiply", "cl"));
    expect("table-names-cl-multiply", r.output, "multiply: cl (tuned) same\n", 1);
}

static void expect_ignored(const char *name, const char *table)
{
    const child_result r = run_with(table);
    if (is_ignored(r.output)) report_pass(name);
    else report_fail(name, "%s", r.output);
}

static void test_foreign(void)
{
    expect_ignored("foreign-version", foreign("\nversion "));
    expect_ignored("foreign-cpu", foreign("\ncpu "));
    expect_ignored("foreign-isa", foreign("\nisa "));
    expect_ignored("foreign-l2", foreign("\nl2 "));
    /* The device is asked for only when the table names a row that works on it. */
    expect_ignored("foreign-device", naming(foreign("\ndevice "), "multiply", "cl"));
    const child_result r = run_with(naming(foreign("\ndevice "), "", "packed"));
    expect("foreign-device-not-needed", r.output, "(tuned) same", CASES);
    expect_ignored("foreign-row", naming(good, "multiply", "mnk"));
    expect_ignored("foreign-kind", naming(good, "convolution", "stock"));
    /* A table of before forms and variants had one file. */
    char text[TABLE_TEXT];
    snprintf(text, sizeof text, "darknet-gemm tuning 1%s", strchr(good, '\n'));
    const child_result old = run_with(text);
    expect("older-format", old.output, "is not used: it is of another format: 'darknet-gemm tuning "
           "1' instead of 'darknet-gemm tuning 2'", 1);
}

/* Every line without its second half, and without its last character; the file cut anywhere. */
static void test_damaged(void)
{
    for (char *line = good; *line; line += strcspn(line, "\n") + 1) {
        const int length = (int)strcspn(line, "\n"), before = (int)(line - good);
        for (int half = 0; half < 2; ++half) {
            char text[TABLE_TEXT];
            const int cut = half ? length / 2 : length - 1;
            snprintf(text, sizeof text, "%.*s%.*s%s", before, good, cut, line, line + length);
            const child_result r = run_with(text);
            /* Without a row on the device nobody asks which one it is. */
            if (is_ignored(r.output) || (cut > 7 && !strncmp(line, "device ", 7))) continue;
            report_fail("damaged-line", "'%.*s' is taken: %s", cut, line, r.output);
            return;
        }
    }
    report_pass("damaged-line");
    const int size = (int)strlen(good);
    for (int cut = 1; cut < size; cut += cut < size - 40 ? 37 : 1) {
        char text[TABLE_TEXT];
        snprintf(text, sizeof text, "%.*s", cut, good);
        const child_result r = run_with(text);
        if (is_ignored(r.output)) continue;
        report_fail("damaged-end", "%d of %d bytes are taken: %s", cut, size, r.output);
        return;
    }
    report_pass("damaged-end");
}

static void write_bytes(const char *text, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, bytes, f) != bytes || fclose(f)) exit(2);
}

static void test_random_bytes(void)
{
    const size_t whole = strlen(good);
    good[whole + 1] = 'x';      /* behind the zero */
    write_bytes(good, whole + 2);
    const child_result behind = child_run(run_cases, NULL);
    if (is_ignored(behind.output)) report_pass("bytes-behind-a-zero");
    else report_fail("bytes-behind-a-zero", "%s", behind.output);
    for (uint64_t seed = 0; seed < 20; ++seed) {
        rng r = rng_make(seed, 3);
        char text[TABLE_TEXT];
        const int head = seed < 10 ? 0 : (int)strlen(good) / 2, bytes = 300;
        snprintf(text, sizeof text, "%s", good);
        for (int i = head; i < head + bytes; ++i) text[i] = (char)rng_below(&r, 256);
        write_bytes(text, (size_t)(head + bytes));
        const child_result result = child_run(run_cases, NULL);
        if (is_ignored(result.output)) continue;
        report_fail("random-bytes", "seed %d: %s", (int)seed, result.output);
        return;
    }
    report_pass("random-bytes");
}

static int tune_cases(void *ignored)
{
    setenv("GEMM_TUNE", "1", 1);
    run_cases(ignored);
    return run_cases(ignored);
}

static int tune_below_a_file(void *ignored)
{
    char below[96];
    snprintf(below, sizeof below, "%s/below", path);
    setenv("GEMM_CACHE_DIR", below, 1);
    return tune_cases(ignored);
}

/* A folder that cannot be made, because a file has its name. Root may write everywhere else. */
static void test_unwritable(void)
{
    const child_result r = child_run(tune_below_a_file, NULL);
    expect("unwritable-said-once", r.output, "/tuning.txt cannot be kept: Not a directory", 1);
    expect("unwritable-measured", r.output, "(measured) same", CASES);
    expect("unwritable-in-memory", r.output, "(tuned) same", CASES);
}

/* ---- a folder and a file that are not trusted ---- */

enum { NOBODY = 65534, HANGS_SECONDS = 30 };

static bool make_fifo(void) { return !unlink(path) && !mkfifo(path, 0600); }
static bool make_directory(void) { return !unlink(path) && !mkdir(path, 0700); }
static bool make_large(void) { return !truncate(path, 12LL << 30); }
static bool let_group_write(void) { return !chmod(path, 0620); }
static bool let_all_write(void) { return !chmod(path, 0666); }
static bool give_file_away(void) { return !chown(path, NOBODY, NOBODY); }
static bool open_folder(void) { return !chmod(folder, 0777); }
static bool give_folder_away(void) { return !chown(folder, NOBODY, NOBODY); }
static bool make_sticky(void) { return !chmod(folder, 01777); }

static bool make_link(void)
{
    char other[64];
    snprintf(other, sizeof other, "%s/other", folder);
    return !rename(path, other) && !symlink(other, path);
}

static int run_cases_in_time(void *ignored)
{
    alarm(HANGS_SECONDS);
    return run_cases(ignored);
}

static void clean_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/*", folder);
    if (chown(folder, geteuid(), getegid()) || chmod(folder, 0700) || system(command)) exit(2);
}

/* The table is good, and is used only where the reason is NULL. Nothing hangs. */
static void test_untrusted(void)
{
    static const struct {
        const char *name;
        bool (*spoil)(void);
        const char *reason;
        bool by_root;
    } list[] = {
        {"fifo", make_fifo, "it is no regular file", false},
        {"directory", make_directory, "it is no regular file", false},
        {"link", make_link, "it is no regular file", false},
        {"large", make_large, "it is larger than 64 MiB", false},
        {"group-writes", let_group_write, "others may write it", false},
        {"all-write", let_all_write, "others may write it", false},
        {"foreign", give_file_away, "it belongs to another user", true},
        {"open-folder", open_folder, "others may write in its folder", false},
        {"foreign-folder", give_folder_away, "its folder belongs to another user", true},
        {"sticky-folder", make_sticky, NULL, false}};
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        char name[64], line[128];
        snprintf(name, sizeof name, "untrusted-%s", list[i].name);
        if (list[i].by_root && geteuid()) {
            report_skip_machine(name, "only root can give a file away");
            continue;
        }
        clean_folder();
        run_with(good);
        if (!list[i].spoil()) exit(2);
        const child_result r = child_run(run_cases_in_time, NULL);
        snprintf(line, sizeof line, "is not used: %s", list[i].reason);
        const bool right = list[i].reason ? is_ignored(r.output) && has(r.output, line, 1)
                                          : has(r.output, "(tuned) same", CASES);
        if (right && child_exit(&r) == 0) report_pass(name);
        else report_fail(name, "status %d: %s", child_exit(&r), r.output);
    }
    clean_folder();
}

/* Each of these folders gets no table, and one line says why. The status is 0. */
static int tune_in_time(void *dir)
{
    alarm(HANGS_SECONDS);
    setenv("GEMM_CACHE_DIR", dir, 1);
    setenv("GEMM_TUNE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    gemm_note note;
    static float A[2 * M * LD], B[K * LD], C[2 * M * LD];
    const gemm_call c = make_call(A, B, C, 0);
    gemm_run(gemm_find("auto"), &c, &note);
    return 0;
}

static void expect_unkept(const char *name, char *dir, const char *line)
{
    const child_result r = child_run(tune_in_time, dir);
    if (!child_exit(&r) && has(r.output, line, 1) && has(r.output, " cannot be kept: ", 1))
        report_pass(name);
    else report_fail(name, "status %d: %s", child_exit(&r), r.output);
}

static void test_unkept(void)
{
    static char longest[5000];
    struct stat st;
    clean_folder();
    memset(longest, 'a', sizeof longest - 1);
    longest[0] = '/';
    expect_unkept("long-path", longest, "the path that GEMM_CACHE_DIR gives has 4999 bytes");
    longest[300] = '\0';
    expect_unkept("long-name", longest, "cannot be kept: File name too long");
    const int held = open(folder, O_RDONLY | O_DIRECTORY);
    if (held < 0 || flock(held, LOCK_EX)) exit(2);
    expect_unkept("locked-folder", folder, "another process has locked its folder");
    close(held);
    open_folder();
    expect_unkept("open-folder", folder, "cannot be kept: others may write in its folder");
    if (stat(path, &st) && errno == ENOENT) report_pass("open-folder-empty");
    else report_fail("open-folder-empty", "a table was written");
    clean_folder();
}

/* Two processes that measure other shapes into one file at the same time. */
static int tune_rows(void *data)
{
    static float A[2 * M * LD], B[K * LD], C[2 * M * LD];
    const int first = *(int *)data;
    setenv("GEMM_TUNE", "1", 1);
    for (int i = 0; i < SHAPES; ++i) {
        const gemm_call c = make_call(A, B, C, first + i);
        gemm_run(gemm_find("auto"), &c, NULL);
    }
    return 0;
}

static bool read_row(const char *text, size_t length, int kind, gemm_choice *to)
{
    const gemm_variant *stock = gemm_stock_row();
    (void)kind;
    to->row = stock;
    return length == strlen(stock->name) && !strncmp(text, stock->name, length);
}

static void print_row(const gemm_choice *c, char text[GEMM_CHOICE_TEXT])
{
    snprintf(text, GEMM_CHOICE_TEXT, "%s", c->row->name);
}

/* Nothing but the writing, so that it happens at the same time. Each process is another chooser,
   and keeps the lines of the other one. */
static int save_rows(void *data)
{
    const int first = *(int *)data;
    const gemm_chooser chooser = {first == 1 ? "auto" : "auto16", read_row, print_row};
    gemm_tuning *t = gemm_tuning_make(&chooser);
    const gemm_choice stock = {.row = gemm_stock_row()};
    gemm_tuning_configure(folder, "none");
    for (int i = 0; t && i < SAVES; ++i) {
        const gemm_shape shape = {GEMM_SHAPE_MULTIPLY, {0, 0, first + i, N, K, 1}};
        if (!gemm_tuning_put(t, &shape, &stock, "by a test", true)) return 1;
        gemm_tuning_keep(t, "none");
        if (!gemm_tuning_is_kept(t)) return 1;
    }
    gemm_tuning_free(t);
    return !t;
}

typedef struct two_jobs {
    int (*work)(void *first);
    int each;                   /* shapes */
} two_jobs;

static int work_at_once(void *data)
{
    const two_jobs *j = data;
    int first = 1, second = 1 + j->each, status;
    const pid_t pid = fork();
    if (pid < 0) return 2;
    if (pid == 0) _exit(j->work(&second));
    const int failed = j->work(&first);
    return waitpid(pid, &status, 0) != pid || status || failed;
}

/* Whether the file has the shapes of both processes. */
static void expect_all(const char *name, two_jobs j)
{
    unlink(path);
    const child_result r = child_run(work_at_once, &j);
    size_t bytes;
    const char *why;
    char *text = gemm_read_file(folder, "tuning.txt", &bytes, &why);
    if (!child_exit(&r) && text && has(text, "\nauto", 2 * j.each) &&
        has(r.output, "is not used", 0))
        report_pass(name);
    else
        report_fail(name, "not %d shapes: %s\n%s", 2 * j.each, text ? text : "", r.output);
    free(text);
}

static void test_two_processes(void)
{
    expect_all("two-processes-save", (two_jobs){save_rows, SAVES});
    expect_all("two-processes", (two_jobs){tune_rows, SHAPES});
    const child_result after = child_run(run_cases, NULL);
    expect("two-processes-table", after.output, "gemm:", 0);
}

/* Threads that meet the same new shapes at the same time. */
static atomic_int wrong;

static void *call_all(void *argument)
{
    float *A = malloc(2 * M * LD * sizeof *A), *B = malloc(K * LD * sizeof *B);
    float *C = malloc(2 * M * LD * sizeof *C), *D = malloc(2 * M * LD * sizeof *D);
    const int thread = *(int *)argument;
    if (!A || !B || !C || !D) exit(2);
    for (int i = 0; i < SHAPES; ++i) {
        const int more = (i + thread) % SHAPES;
        gemm_note note;
        gemm_call c = make_call(A, B, C, more);
        gemm_run(gemm_find("auto"), &c, &note);
        const gemm_variant *ran = gemm_find(note.chosen);
        c = make_call(A, B, D, more);
        gemm_run(ran, &c, NULL);
        const size_t used = (size_t)((M + more - 1) * LD + N);
        if (memcmp(C, D, used * sizeof *C)) atomic_fetch_add(&wrong, 1);
    }
    free(A), free(B), free(C), free(D);
    return NULL;
}

static int run_callers(void *ignored)
{
    (void)ignored;
    setenv("GEMM_TUNE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);       /* PoCL's own threads are no concern here */
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
    unlink(path);
    const child_result r = child_run(run_callers, NULL);
    size_t bytes;
    const char *why;
    char *text = gemm_read_file(folder, "tuning.txt", &bytes, &why), wanted[32];
    snprintf(wanted, sizeof wanted, "\nend %d\n", SHAPES);
    if (child_exit(&r)) report_fail("callers", "%s", r.output);
    else report_pass("callers");
    expect("callers-measure-once", r.output, "gemm: tuned multiply", SHAPES);
    expect("callers-table", text ? text : "", wanted, 1);
    free(text);
}

/* ---- fork while another thread tunes ---- */

enum { FORKS = 12, TUNED = 400, HANG_S = 60 };

static atomic_bool stops;

/* Measures one new shape after the other, nearly always with the lock of the table. */
static void *tune_on(void *begun)
{
    float *A = malloc((M + TUNED) * LD * sizeof *A), *B = malloc(K * LD * sizeof *B);
    float *C = malloc((M + TUNED) * LD * sizeof *C);
    if (!A || !B || !C) exit(2);
    for (int i = 0; i < TUNED && !atomic_load(&stops); ++i) {
        const gemm_call c = make_call(A, B, C, i);
        gemm_run(gemm_find("auto"), &c, NULL);
        atomic_store((atomic_bool *)begun, true);
    }
    free(A), free(B), free(C);
    return NULL;
}

/* Whether a child measures a shape that nobody has measured. */
static bool tune_in_child(int number)
{
    static float A[(M + TUNED + FORKS) * LD], B[K * LD], C[(M + TUNED + FORKS) * LD];
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        alarm(HANG_S);
        const gemm_call c = make_call(A, B, C, TUNED + number);
        gemm_note note;
        gemm_run(gemm_find("auto"), &c, &note);
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
    setenv("GEMM_TUNE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
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
    unlink(path);
    const child_result r = child_run(fork_while_tuning, NULL);
    if (child_exit(&r) == 0) report_pass("fork-while-tuning");
    else report_fail("fork-while-tuning", "a child hangs or does not measure: %s", r.output);
}

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
    if (strstr(good, "device none")) {
        report_skip("kept-by-another-row", "no OpenCL device");
        return;
    }
    const child_result r = child_run(change_rows, NULL);
    if (child_exit(&r)) report_fail("kept-by-another-row", "%s", r.output);
    else report_pass("kept-by-another-row");
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
    n->between = (layer_call){.kind = LAYER_UPSAMPLE, .batch = 1, .c = 12, .h = 14, .w = 14,
                              .out_c = 12, .out_h = 28, .out_w = 28, .stride = 2, .alpha = 1,
                              .inputs = 1, .input = &n->input,
                              .output = take_memory(12 * 28 * 28)};
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

static void test_mixed(void)
{
    if (strstr(good, "device none")) {
        report_skip("mixed", "no OpenCL device");
        return;
    }
    for (const char *policy = "ud"; *policy; ++policy) {
        char both[] = "mixed-u", copy = *policy;
        both[6] = copy;
        unlink(path);
        const child_result r = child_run(run_mixed, &copy);
        if (child_exit(&r) || *r.output) report_fail(both, "%d %s", child_exit(&r), r.output);
        else report_pass(both);
    }
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
static int run_chains(void *device)
{
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
    if (*(bool *)device) {
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
    bool device = !strstr(good, "device none");
    unlink(path);
    const child_result r = child_run(run_chains, &device);
    expect("chain-no-table", r.output, "no table: 1\n", 1);
    expect("chain-to-be-measured", r.output, "to be measured: 0\n", 1);
    expect("chain-to-be-recorded", r.output, "to be recorded: 0\n", 1);
    expect("chain-packed", r.output, "\npacked: 1\n", 1);
    if (device) expect("chain-cl", r.output, "cl and packed: 0\n", 1);
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
    expect("scaled-chain-others", r.output, "others alone: 0\n", 1);
    unlink(scales_path(text));
}

/* ---- the time for tuning ---- */

static double clock_ms;

static double read_clock(void)
{
    return clock_ms;
}

/* A measurement of so many seconds. Returns whether the time is over then. */
static bool spend(double seconds, bool done)
{
    gemm_budget_begin();
    clock_ms += 1e3 * seconds;
    gemm_budget_end(done);
    return gemm_budget_is_over();
}

/* What the first wrong answer is about, or NULL. */
static const char *judge_budget(void)
{
    gemm_budget_set(INFINITY, read_clock);
    if (spend(1e9, true)) return "no limit";
    gemm_budget_set(0, read_clock);
    if (!gemm_budget_is_over()) return "0 seconds";
    gemm_budget_set(2, read_clock);
    if (gemm_budget_is_over()) return "at the start";
    if (spend(5, false)) return "no shape is done";
    if (!spend(0, true)) return "a shape is done";
    gemm_budget_set(2, read_clock);
    if (spend(1, true) || (clock_ms += 1e9, gemm_budget_is_over())) return "time between";
    gemm_budget_begin();
    if (spend(.9, true)) return "within another one";
    clock_ms += 200;
    if (!gemm_budget_is_over()) return "in a measurement";
    gemm_budget_end(true);
    if (!gemm_budget_is_over() || gemm_budget_left()) return "for good";
    gemm_budget_leave();
    gemm_budget_leave();
    if (gemm_budget_left() != 2) return "shapes that are left";
    gemm_budget_set(INFINITY, read_clock);
    return gemm_budget_left() ? "forgotten" : NULL;
}

static int print_budget(void *ignored)
{
    (void)ignored;
    const char *why = judge_budget();
    printf("budget: %s\n", why ? why : "right");
    return 0;
}

/* The clock is late from the first shape on. */
static int tune_one(void *ignored)
{
    gemm_chosen();              /* reads the environment */
    gemm_budget_set(1, read_clock);
    gemm_budget_begin();
    clock_ms += 1e6;
    return run_cases(ignored);
}

/* A child that leaves nothing says nothing. */
static int tune_none(void *ignored)
{
    int status = 1;
    setenv("GEMM_TUNE_SECONDS", "0", 1);
    run_cases(ignored);
    run_cases(ignored);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit(0);
    return child < 0 || waitpid(child, &status, 0) != child || status;
}

/* The table behind this child ends with so many shapes. Returns its text, which the caller frees.
   Without OpenCL, whose rows the tests of test_cl_tune.c are about. */
static char *tune_for(const char *name, int (*body)(void *), int shapes, char output[8192])
{
    char title[64], last[32];
    size_t bytes;
    const char *why;
    const child_result r = child_run(body, NULL);
    char *text = gemm_read_file(folder, "tuning.txt", &bytes, &why);
    snprintf(title, sizeof title, "%s-table", name);
    snprintf(last, sizeof last, "\nend %d\n", shapes);
    if (child_exit(&r)) report_fail(name, "%s", r.output);
    else report_pass(name);
    expect(title, text ? text : "", last, 1);
    memcpy(output, r.output, sizeof r.output);
    return text;
}

static void test_budget(void)
{
    enum { ALL = CASES + 1 };   /* and the pooled one */
    static const char over[] = "the time for tuning is over (GEMM_TUNE_SECONDS=0): 3 shapes are "
                               "not measured and keep the default; the next run with GEMM_TUNE=1 "
                               "goes on with them\n";
    char output[8192];
    const child_result r = child_run(print_budget, NULL);
    expect("budget", r.output, "budget: right\n", 1);
    unlink(path);
    setenv("GEMM_TUNE", "1", 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    char *one = tune_for("time-for-one", tune_one, 1, output);
    expect("time-for-one-measured", output, "(measured) same\n", 1);
    expect("time-for-one-left", output, "packed (default) same\n", CASES - 1);
    expect("time-for-one-said", output, "is over (GEMM_TUNE_SECONDS=1): 3 shapes are not", 1);
    char *none = tune_for("time-for-none", tune_none, 1, output);
    expect("time-for-none-known", output, "(tuned) same\n", 2);
    expect("time-for-none-left", output, "packed (default) same\n", 2 * (CASES - 1));
    expect("time-for-none-said", output, over, 1);
    if (one && none && !strcmp(one, none)) report_pass("time-for-none-same-table");
    else report_fail("time-for-none-same-table", "%s", none);
    char *all = tune_for("time-for-all", tune_cases, ALL, output);
    expect("time-for-all-measured", output, "(measured) same\n", CASES - 1);
    expect("time-for-all-quiet", output, "is over", 0);
    free(one), free(none), free(all);
    unsetenv("GEMM_TUNE");
    unsetenv("OCL_ICD_VENDORS");
}

/* ---- the program ---- */

/* Fills `good`. */
static void make_table(void)
{
    const child_result r = child_run(tune_cases, NULL);
    size_t bytes;
    const char *why;
    char *text = gemm_read_file(folder, "tuning.txt", &bytes, &why);
    expect("measured", r.output, "(measured) same", CASES);
    expect("measured-then-tuned", r.output, "(tuned) same", CASES);
    expect("progress", r.output, "gemm: tuned ", CASES + 1);     /* and the pooled one */
    if (!text || child_exit(&r)) {
        printf("Bail out! no table: %s\n", r.output);
        exit(2);
    }
    snprintf(good, sizeof good, "%s", text);
    free(text);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {{"decide", test_decide},       {"named", test_named},
             {"device", test_device},       {"foreign", test_foreign},
             {"damaged", test_damaged},     {"random", test_random_bytes},
             {"unwritable", test_unwritable}, {"untrusted", test_untrusted},
             {"unkept", test_unkept},       {"processes", test_two_processes},
             {"callers", test_callers},     {"kept", test_kept},
             {"mixed", test_mixed},         {"chains", test_chains},
             {"scaled-chains", test_scaled_chains},
             {"fork", test_fork},           {"budget", test_budget}};

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--only")) only = argv[2];
    else if (argc != 1) {
        fputs("usage: test_auto [--only NAME]\n", stderr);
        return 2;
    }
    umask(022);                 /* no table that others may write is used */
    if (!mkdtemp(folder)) return 2;
    snprintf(path, sizeof path, "%s/tuning.txt", folder);
    setenv("GEMM_CACHE_DIR", folder, 1);
    setenv("GEMM_THREADS", "2", 1);
    setenv("GEMM_TUNE_SECONDS", "86400", 1);
    unsetenv("GEMM_TUNE");
    unsetenv("GEMM_IMPL");
    if (!only || strcmp(only, "callers")) make_table();
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i)
        if (!only || !strcmp(only, tests[i].name)) tests[i].run();
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command)) return 2;
    return report_status();
}
