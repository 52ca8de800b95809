/* SPDX-License-Identifier: MIT */
/*
 * The tuning table: it is used for the shapes that it names, a table that cannot be used is ignored
 * with one line, and what is measured gets into its file. test_auto has the row that reads it.
 *
 * A first child tunes the shapes of `cases` and so writes a table of this machine. The other tables
 * are made from its text.
 */
#include "support/tuned.h"
#include "tune/turns.h"
#include "util/budget.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/file.h>
#include <sys/wait.h>

enum { TABLE_TEXT = 8192, SAVES = 60 };

static char good[TABLE_TEXT];   /* what the file of the table has */

/* ---- calls ---- */

typedef struct outcome {
    gemm_note note;
    bool done;
    float output[12 * 28 * 28];
} outcome;

static void run_multiply(const gemm_variant *v, outcome *o)
{
    o->done = multiply_rows(v, 0, o->output, &o->note);
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
    const layer_call c = make_upsample(&input, o->output);
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

static void write_bytes(const char *text, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(text, 1, bytes, f) != bytes || fclose(f)) exit(2);
}

/* run_cases with a table of this text; NULL: without a table. */
static child_result run_with(const char *table)
{
    unlink(path);
    if (table) write_bytes(table, strlen(table));
    return child_run(run_cases, NULL);
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
    size_t i = 0;
    while (i < sizeof table / sizeof *table && gemm_decide(table[i].ms, 3, 0) == table[i].winner)
        ++i;
    report_that("decide", i == sizeof table / sizeof *table, "row %zu has another winner", i);
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
    report_that(name, is_ignored(r.output), "%s", r.output);
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

static void test_random_bytes(void)
{
    const size_t whole = strlen(good);
    good[whole + 1] = 'x';      /* behind the zero */
    write_bytes(good, whole + 2);
    const child_result behind = child_run(run_cases, NULL);
    report_that("bytes-behind-a-zero", is_ignored(behind.output), "%s", behind.output);
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
        report_that(name, right && !child_exit(&r), "status %d: %s", child_exit(&r), r.output);
    }
    clean_folder();
}

/* Each of these folders gets no table, and one line says why. The status is 0. */
static int tune_in_time(void *dir)
{
    alarm(HANGS_SECONDS);
    setenv("GEMM_CACHE_DIR", dir, 1);
    tune_without_device();
    multiply_rows(gemm_find("auto"), 0, NULL, NULL);
    return 0;
}

static void expect_unkept(const char *name, char *dir, const char *line)
{
    const child_result r = child_run(tune_in_time, dir);
    const bool said = has(r.output, line, 1) && has(r.output, " cannot be kept: ", 1);
    report_that(name, said && !child_exit(&r), "status %d: %s", child_exit(&r), r.output);
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
    report_that("open-folder-empty", stat(path, &st) && errno == ENOENT, "a table was written");
    clean_folder();
}

/* Two processes that measure other shapes into one file at the same time. */
static int tune_rows(void *first)
{
    setenv("GEMM_TUNE", "1", 1);
    for (int i = 0; i < SHAPES; ++i)
        multiply_rows(gemm_find("auto"), *(int *)first + i, NULL, NULL);
    return 0;
}

/* Nothing but the writing, so that it happens at the same time. Each process is another chooser,
   and keeps the lines of the other one. */
static int save_rows(void *data)
{
    const int first = *(int *)data;
    const gemm_choice stock = {.row = gemm_stock_row()};
    gemm_tuning_configure(folder, "none", gemm_variants, gemm_variant_count);
    gemm_tuning_open("none");
    for (int i = 0; i < SAVES; ++i) {
        const gemm_shape shape = {GEMM_SHAPE_MULTIPLY, {0, 0, first + i, N, K, 1}};
        const gemm_chooser by = first == 1 ? GEMM_BY_AUTO : GEMM_BY_AUTO16;
        if (!gemm_tuning_put(by, &shape, &stock, "by a test")) return 1;
        gemm_tuning_keep();
        if (!gemm_tuning_is_kept()) return 1;
    }
    return 0;
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
    char *text = read_table();
    const bool all = has(text, "\nauto", 2 * j.each) && has(r.output, "is not used", 0);
    report_that(name, all && !child_exit(&r), "not %d shapes: %s\n%s", 2 * j.each, text, r.output);
    free(text);
}

static void test_two_processes(void)
{
    expect_all("two-processes-save", (two_jobs){save_rows, SAVES});
    expect_all("two-processes", (two_jobs){tune_rows, SHAPES});
    const child_result after = child_run(run_cases, NULL);
    expect("two-processes-table", after.output, "gemm:", 0);
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

/* The table behind this child ends with so many shapes. The caller frees its text. */
static char *tune_for(const char *name, int (*body)(void *), int shapes, char output[8192])
{
    char title[64], last[32];
    const child_result r = expect_right(name, body, NULL);
    char *text = read_table();
    snprintf(title, sizeof title, "%s-table", name);
    snprintf(last, sizeof last, "\nend %d\n", shapes);
    expect(title, text, last, 1);
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
    tune_without_device();
    char *one = tune_for("time-for-one", tune_one, 1, output);
    expect("time-for-one-measured", output, "(measured) same\n", 1);
    expect("time-for-one-left", output, "packed (default) same\n", CASES - 1);
    expect("time-for-one-said", output, "is over (GEMM_TUNE_SECONDS=1): 3 shapes are not", 1);
    char *none = tune_for("time-for-none", tune_none, 1, output);
    expect("time-for-none-known", output, "(tuned) same\n", 2);
    expect("time-for-none-left", output, "packed (default) same\n", 2 * (CASES - 1));
    expect("time-for-none-said", output, over, 1);
    report_that("time-for-none-same-table", !strcmp(one, none), "%s", none);
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
    char *text = read_table();
    expect("measured", r.output, "(measured) same", CASES);
    expect("measured-then-tuned", r.output, "(tuned) same", CASES);
    expect("progress", r.output, "gemm: tuned ", CASES + 1);     /* and the pooled one */
    if (!*text || child_exit(&r)) {
        printf("Bail out! no table: %s\n", r.output);
        exit(2);
    }
    snprintf(good, sizeof good, "%s", text);
    free(text);
}

int main(void)
{
    setenv("GEMM_PREPARE", "first", 1);     /* a call compiles what its folder has lost */
    make_folder();
    make_table();
    test_decide();
    test_named();
    test_device();
    test_foreign();
    test_damaged();
    test_random_bytes();
    test_unwritable();
    test_untrusted();
    test_unkept();
    test_two_processes();
    test_budget();
    return end_tests();
}
