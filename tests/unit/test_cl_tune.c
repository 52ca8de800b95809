/* SPDX-License-Identifier: MIT */
/*
 * `cl` tuned on the device: the table of forms, and what is measured.
 *
 *   test_cl_tune             the table; each form that is named by the table runs and is right; an
 *                            op is measured, and is left where the time for that is over
 *   test_cl_tune --candidates    only the forms that the device of a layer would measure
 *   test_cl_tune --wrong     a fast kernel with wrong results never wins; needs the layer of
 *                            tests/support/layer_faulty.c, and GEMM_CL_TRY. If that is 0, only the
 *                            comparison with the default is left to find it, and under `auto` the
 *                            one with packed
 */
#include "auto/auto.h"
#include "check/check.h"
#include "check/conv_check.h"
#include "cl/device/device.h"
#include "cl/op/ways.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "support/conv_shape.h"
#include "support/report.h"
#include "tune/table.h"
#include "util/budget.h"
#include "util/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test_cl_tune.XXXXXX";
static char path[64];
static gemm_note note;          /* of the last call */

/* ---- ops ---- */

static const conv_shape shapes[] = {
    {"3x3", 1, 1, 64, 13, 13, 40, 3, 1, 1},   {"3x3-stride", 2, 1, 5, 15, 14, 12, 3, 2, 1},
    {"1x1", 1, 1, 33, 13, 12, 24, 1, 1, 0},   {"5x5", 1, 1, 6, 14, 14, 8, 5, 1, 2},
    {"depthwise", 1, 12, 12, 14, 14, 12, 3, 1, 1}, {"dots", 1, 1, 20, 4, 4, 30, 4, 1, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static conv_call make_conv(const conv_shape *shape)
{
    conv_call c = conv_shape_make(shape, CONV_LEAKY);
    rng r = rng_make(5, 1);
    conv_shape_fill(&c, &r);
    return c;
}

/* NULL, or what is wrong about the layer under the row. */
static const char *judge_row(const char *row, const conv_call *c, gemm_plan **plan)
{
    static char why[128];
    gemm_error worst;
    for (size_t i = 0; i < conv_outputs(c); ++i) c->output[i] = NAN;
    if (!gemm_conv_run(gemm_find(row), c, plan, &note)) return "it declined";
    if (gemm_conv_compare(c, note.transform, &worst)) return "no memory for the reference";
    snprintf(why, sizeof why, "off by %g, %.3g times the bound", worst.difference, worst.ratio);
    return worst.ratio <= 1 ? NULL : why;
}

static const char *judge_conv(const conv_call *c, gemm_plan **plan)
{
    return judge_row("cl", c, plan);
}

static float A[40 * 70], B[70 * 50], C[40 * 50];
static const gemm_call product = {.M = 40, .N = 50, .K = 70, .ALPHA = .5f, .A = A, .lda = 70,
                                  .B = B, .ldb = 50, .C = C, .ldc = 50};

static const char *judge_multiply(void)
{
    static char why[128];
    gemm_oracle oracle;
    rng r = rng_make(6, 1);
    for (size_t i = 0; i < sizeof A / sizeof *A; ++i) A[i] = rng_float(&r);
    for (size_t i = 0; i < sizeof B / sizeof *B; ++i) B[i] = rng_float(&r);
    for (size_t i = 0; i < sizeof C / sizeof *C; ++i) C[i] = rng_float(&r);
    if (gemm_oracle_make(&oracle, &product)) return "no memory for the reference";
    const bool done = gemm_run(gemm_find("cl"), &product, &note) == gemm_find("cl");
    const gemm_error worst = gemm_oracle_compare(&oracle, &product);
    gemm_oracle_free(&oracle);
    snprintf(why, sizeof why, "off by %g, %.3g times the bound", worst.difference, worst.ratio);
    return !done ? "it declined" : worst.ratio <= 1 ? NULL : why;
}

static gemm_shape shape_of(const gemm_op *op)
{
    const gemm_context x = {0};
    return gemm_op_shape(op, &x);
}

/* What the table has for it. */
static const gemm_tuned *find(const gemm_op *op)
{
    const gemm_shape s = shape_of(op);
    char *device = gemm_cl_identify();
    gemm_tuning_open(device);
    free(device);
    return gemm_tuning_find(GEMM_BY_CL, &s);
}

static bool put(const gemm_op *op, const gemm_cl_form *form)
{
    const gemm_shape s = shape_of(op);
    char *device = gemm_cl_identify();
    gemm_tuning_open(device);
    const bool done = gemm_tuning_put(GEMM_BY_CL, &s, &(gemm_choice){.form = *form}, "by hand");
    gemm_tuning_keep();
    free(device);
    return done;
}

static bool was_tuned(void)
{
    const size_t length = strlen(note.ran);
    return length > 6 && !strcmp(note.ran + length - 6, " tuned");
}

/* ---- every form runs where the table names it ---- */

/* A form that the table names: right, and where it `must` it is what ran. */
static void run_form(const gemm_op *op, const char *title, const gemm_cl_form *form,
                     gemm_plan **plan, bool must)
{
    char text[GEMM_CL_FORM_TEXT], name[160];
    gemm_cl_form_print(form, text);
    snprintf(name, sizeof name, "forced-%s-%s", title, text);
    const bool multiplies = op->kind == GEMM_MULTIPLY;
    const char *why = put(op, form) ? multiplies ? judge_multiply() : judge_conv(op->conv, plan)
                                    : "no room";
    if (!why && must && !was_tuned()) why = "another one ran";
    report_that(name, !why, "%s: %s", note.ran, why);
}

/* The candidates of this device. `all`: forms near them and all rows, too. */
static void run_forms(const gemm_op *op, const char *title, bool all)
{
    gemm_cl_form forms[GEMM_CL_FORMS], near[GEMM_CL_FORMS], form = {.parts = 1};
    gemm_plan *plan = NULL;
    char text[GEMM_CL_FORM_TEXT];
    const gemm_cl_traits traits = gemm_cl_opened()->traits;
    const int count = gemm_cl_forms(&traits, op, forms);
    for (int i = 0; i < count; ++i) {
        const gemm_cl_row *row = forms[i].row;
        run_form(op, title, &forms[i], &plan,
                 gemm_cl_winograd_tile(row) * row->rows <= traits.local);
        const int more = all ? gemm_cl_forms_near(op, &forms[i], near) : 0;
        for (int j = 0; j < more; ++j) run_form(op, title, &near[j], &plan, true);
    }
    for (int i = 0; all && i < GEMM_CL_CHOICES; ++i) {
        gemm_cl_form_print(&(gemm_cl_form){&gemm_cl_choices[i], 1, 0}, text);
        if (gemm_cl_form_parse(text, strlen(text), op->kind == GEMM_CONVOLUTION, &form))
            run_form(op, title, &form, &plan, false);
    }
    gemm_plan_drop(&plan);
}

static void test_forced(int count, bool all)
{
    gemm_cl_set_tuning(GEMM_CL_TUNED);
    for (int i = 0; i < count; ++i) {
        conv_call c = make_conv(&shapes[i]);
        run_forms(&(gemm_op){GEMM_CONVOLUTION, {.conv = &c}}, shapes[i].name, all && i == 0);
        conv_shape_free(&c);
    }
    run_forms(&(gemm_op){.multiply = &product}, "multiply", all);
    /* The same table, which is not to be used. */
    gemm_cl_set_tuning(GEMM_CL_UNTUNED);
    const char *why = judge_multiply();
    gemm_cl_set_tuning(GEMM_CL_TUNED);
    report_right("forced-untuned", !why && !was_tuned(), "%s: %s", note.ran, why ? why : "tuned");
}

/* Rows for studies take no form of the table. */
static void test_studies(void)
{
    static const char *const rows[] = {"cl_winograd", "cl_direct", "cl_direct_image"};
    const gemm_cl_form form = {&gemm_cl_choices[GEMM_CL_TILE_32x64], 1, 0};
    put(&(gemm_op){.multiply = &product}, &form);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const gemm_variant *v = gemm_find(rows[i]);
        char name[64];
        snprintf(name, sizeof name, "study-%s", rows[i]);
        gemm_run(v, &product, &note);
        report_judged(name, was_tuned() ? note.ran : NULL);
    }
}

/* ---- measuring ---- */

/* The first call measures, the second one uses it. Both are right. */
static void test_measure(void)
{
    gemm_tuning_forget(true);
    gemm_cl_set_tuning(GEMM_CL_MEASURES);
    for (int i = 0; i <= SHAPES; ++i) {
        char name[64];
        gemm_plan *plan = NULL;
        conv_call c = make_conv(&shapes[i % SHAPES]);
        const bool multiplies = i == SHAPES;
        const gemm_op op = multiplies ? gemm_op_of_multiply(&product) : gemm_op_of_conv(&c);
        const char *why = multiplies ? judge_multiply() : judge_conv(&c, &plan);
        const gemm_tuned *e = find(&op);
        if (!why && (!e || !strstr(e->times, "default") || !strstr(e->times, " ms")))
            why = "the table lacks it";
        const char *then = why ? NULL : strstr(e->times, "; then 0.");
        if (!why && e->choice.form.row && !then) why = "it did not win again";
        if (!why && !put(&op, &e->choice.form)) why = "no room";
        if (!why) why = multiplies ? judge_multiply() : judge_conv(&c, &plan);
        if (!why && was_tuned() != (e->choice.form.row != NULL)) why = "not what the table has";
        if (!why && strcmp(find(&op)->times, "by hand")) why = "it was measured again";
        snprintf(name, sizeof name, "measure-%s", multiplies ? "multiply" : shapes[i].name);
        report_right(name, !why, "%s: %s", note.ran, why);
        gemm_plan_drop(&plan);
        conv_shape_free(&c);
    }
    gemm_cl_set_tuning(GEMM_CL_TUNED);
}

/* ---- the file ---- */

static char *read_text(void)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "r");
    const size_t bytes = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[bytes] = '\0';
    return text;
}

static void write_text(const char *text)
{
    FILE *f = fopen(path, "w");
    if (f) fputs(text, f);
    if (f) fclose(f);
}

/* stderr goes to a file until its text is taken. */
typedef struct captured {
    int fd, saved;
} captured;

static captured capture(void)
{
    char name[] = "/tmp/test_cl_tune_said.XXXXXX";
    const captured c = {mkstemp(name), dup(STDERR_FILENO)};
    dup2(c.fd, STDERR_FILENO);
    unlink(name);
    return c;
}

static void take(captured c, char said[1024])
{
    fflush(stderr);
    dup2(c.saved, STDERR_FILENO);
    close(c.saved);
    const ssize_t bytes = pread(c.fd, said, 1023, 0);
    said[bytes > 0 ? bytes : 0] = '\0';
    close(c.fd);
}

/* The table of the file is read. `said` becomes what stderr got. Returns the entry of the op. */
static const gemm_tuned *read_again(const gemm_op *op, char said[1024])
{
    const captured c = capture();
    gemm_tuning_forget(false);
    const gemm_tuned *e = find(op);
    find(op);
    take(c, said);
    return e;
}

/* A table that cannot be written is said once, in the words of the table of rows. */
static void test_unkept(void)
{
    const gemm_op op = gemm_op_of_multiply(&product);
    const gemm_cl_form form = {&gemm_cl_choices[GEMM_CL_TILE_32x64], 1, 0};
    static const char end[] = "; it is kept in memory\n";
    char said[1024], begin[1024] = "";
    gemm_append(begin, sizeof begin, "gemm: the tuning table %s cannot be kept: others may write "
                "in its folder", path);
    gemm_tuning_forget(true);
    chmod(folder, 0777);
    const captured c = capture();
    put(&op, &form);
    put(&op, &form);
    take(c, said);
    chmod(folder, 0700);
    const gemm_tuned *e = find(&op);
    const char *last = strstr(said, end);
    report_right("table-unkept", !strncmp(said, begin, strlen(begin)) && last &&
                 !last[sizeof end - 1] && e && e->choice.form.row == form.row, "%s: %s",
                 e ? "it is in memory" : "it is lost", said);
}

/* The good table with `from` replaced is not used, and one line says why. */
static void expect_refused(const char *name, const gemm_op *op, const char *good,
                           const char *from, const char *to, const char *why)
{
    char text[8192] = "", said[1024];
    const char *at = strstr(good, from), *line;
    if (at) gemm_append(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to,
                        at + strlen(from));
    write_text(text);
    const gemm_tuned *e = read_again(op, said);
    line = strchr(said, '\n');
    report_right(name, at && !e && line && !line[1] &&
                 strstr(said, "tuning.txt is not used: ") && strstr(said, why),
                 "%s, and said: %s", e ? "it is used" : "it is not used", said);
}

static void test_file(void)
{
    static const char *const refused[][4] = {
        {"table-device", "device ", "device other ", "it is of another machine"},
        {"table-driver", ", driver ", ", driver other ", "it is of another machine"},
        {"table-version", "version ", "version 0", "it is of another machine"},
        {"table-form", "tuning 2", "tuning 1", "it is of another format"},
        {"table-line", "cl_tile", "cl_tele", "line 7 is damaged"},
        {"table-parts", "parts 3", "parts 99", "line 7 is damaged"},
        {"table-shape", "cl multiply", "cl maxpool", "line 7 is damaged"},
        {"table-end", "end 1", "end 2", "line 8 is damaged"},
        {"table-cut", "\nend 1\n", "", "is damaged"},
        {"table-more", "end 1\n", "end 1\nmore\n", "line 8 is damaged"}};
    const gemm_op op = gemm_op_of_multiply(&product);
    const gemm_cl_form form = {&gemm_cl_choices[GEMM_CL_TILE_32x64], 3, 0};
    char good[8192], said[1024];
    gemm_tuning_forget(true);
    unlink(path);
    put(&op, &form);
    snprintf(good, sizeof good, "%s", read_text());
    const gemm_tuned *e = read_again(&op, said);
    const bool same = e && e->choice.form.row == form.row && e->choice.form.parts == 3;
    report_right("table-read", same && !*said && !strcmp(e->times, "by hand"), "%s: %s%s",
                 e ? "another form" : "nothing", said, good);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i)
        expect_refused(refused[i][0], &op, good, refused[i][1], refused[i][2], refused[i][3]);
    /* What cannot be used is replaced, and what can is added to. */
    gemm_call wider = product;
    wider.ALPHA = 1, wider.N = 49;
    put(&(gemm_op){.multiply = &wider}, &form);
    e = read_again(&op, said);
    const bool replaced = !e && !*said && find(&(gemm_op){.multiply = &wider});
    write_text(good);
    gemm_tuning_forget(true);
    put(&(gemm_op){.multiply = &wider}, &form);
    e = read_again(&op, said);
    report_right("table-merged", replaced && e && find(&(gemm_op){.multiply = &wider}),
                 "replaced %d, said: %s", replaced, said);
}

/* A form with Winograd's algorithm is taken from the second picture on, because it pays only then
   that its filters are transformed. Another one is taken at once. */
static void test_first(void)
{
    conv_call c = make_conv(&shapes[0]);
    const gemm_op op = gemm_op_of_conv(&c);
    gemm_cl_form forms[GEMM_CL_FORMS];
    const gemm_cl_traits traits = gemm_cl_opened()->traits;
    const int count = gemm_cl_forms(&traits, &op, forms);
    gemm_set_prepare_first(false);
    for (int i = 0; i < count; ++i) {
        const gemm_cl_row *row = forms[i].row;
        char text[GEMM_CL_FORM_TEXT], name[96];
        gemm_plan *plan = NULL;
        bool tuned[3];
        const char *why = put(&op, &forms[i]) ? NULL : "no room";
        for (int j = 0; j < 3 && !why; ++j) {
            why = judge_conv(&c, &plan);
            tuned[j] = was_tuned();
        }
        /* Its tile may be too large for the device. */
        if (!why && tuned[2] && tuned[0] != !row->winograd) why = "the first picture";
        if (!why && tuned[1] != tuned[2]) why = "the second picture";
        gemm_cl_form_print(&forms[i], text);
        snprintf(name, sizeof name, "first-%s", text);
        report_judged(name, why);
        gemm_plan_drop(&plan);
    }
    gemm_set_prepare_first(true);
    conv_shape_free(&c);
}

/* A clock that a second passes by each time that it is read. */
static double clock_ms;

static double tick(void)
{
    return clock_ms += 1000;
}

/* NULL, or what is wrong about an op with so many seconds after another one took one. `kept`: it
   was measured; else it has the default in memory, and nothing of it is in the file. */
static const char *judge_limited(const gemm_op *op, int seconds, bool *kept)
{
    gemm_plan *plan = NULL;
    const char *why = NULL;
    const double start = clock_ms;
    gemm_tuning_forget(true);
    unlink(path);
    gemm_budget_set(seconds, tick);
    gemm_budget_begin();
    gemm_budget_end(true);
    for (int i = 0; i < 2 && !why; ++i) {       /* the second call asks no more */
        why = judge_conv(op->conv, &plan);
        const gemm_tuned *e = find(op);
        *kept = e && e->own;
        if (why) break;
        if (!e) why = "it has no form";
        else if (seconds < 2 && clock_ms > start + 2000) why = "it was begun";
        else if (gemm_budget_left() != !*kept) why = "the shapes that are left";
        else if (!*kept && (e->choice.form.row || was_tuned()))
            why = "it is left with another form";
        else if (*kept != (strstr(read_text(), "\nend 1\n") != NULL)) why = "the file";
    }
    gemm_plan_drop(&plan);
    return why;
}

/* The time ends before, between and behind all trials of forms. */
static void test_limit(void)
{
    conv_call c = make_conv(&shapes[0]);
    const gemm_op op = gemm_op_of_conv(&c);
    const char *why = NULL;
    int seconds = 0;
    bool kept = false;
    gemm_cl_set_tuning(GEMM_CL_MEASURES);
    for (; !kept && !why && seconds < 200; ++seconds) why = judge_limited(&op, seconds, &kept);
    gemm_cl_set_tuning(GEMM_CL_TUNED);
    gemm_budget_set(INFINITY, NULL);
    report_right("limit", !why && kept && seconds > 5, "with %d s: %s, %s", seconds - 1,
                 why ? why : "right", kept ? "measured" : "left");
    conv_shape_free(&c);
}

/* What was measured for a network becomes the default where whole passes are not faster. */
static void test_settle(void)
{
    const gemm_op op = gemm_op_of_multiply(&product);
    const gemm_cl_form form = {&gemm_cl_choices[GEMM_CL_TILE_32x64], 1, 0};
    gemm_call other = product;
    char said[1024];
    other.N = 48;
    gemm_tuning_forget(true);
    unlink(path);
    put(&(gemm_op){.multiply = &other}, &form);
    const int kept = gemm_cl_settle_forms(true);
    put(&op, &form);
    const int dropped = gemm_cl_settle_forms(false);
    const gemm_tuned *a = read_again(&op, said);
    const gemm_tuned *b = find(&(gemm_op){.multiply = &other});
    report_right("table-settled", kept == 1 && dropped == 1 && a && !a->choice.form.row && b &&
                 b->choice.form.row == form.row, "%d kept, %d dropped: %s", kept, dropped,
                 read_text());
}

/* ---- a wrong kernel ---- */

static bool takes_winograd(const conv_call *c)
{
    const gemm_kept room = {.room = SIZE_MAX};
    gemm_cl_op op = gemm_cl_conv_op(&gemm_cl_opened()->traits, c, &gemm_cl_best);
    gemm_cl_offers l;
    int i = 0;
    op.plan = &room;
    gemm_cl_list(&op, &l);
    while (i < l.count && l.list[i].refused) ++i;
    return i < l.count && l.list[i].row->winograd;
}

/* cl_conv_wide computes nothing, in no time. It is no default where Winograd's algorithm is. */
static void test_wrong(void)
{
    conv_call c = make_conv(&(conv_shape){"3x3", 1, 1, 64, 26, 26, 64, 3, 1, 1});
    const gemm_op op = gemm_op_of_conv(&c);
    gemm_plan *plan = NULL;
    if (!takes_winograd(&c)) {
        report_skip_machine("wrong-form", "cl does not take Winograd's algorithm here");
    } else {
        setenv("CL_MUTATE", "cl_conv_wide|k0 < K; k0 += KC|k0 < 0; k0 += KC", 1);
        gemm_cl_set_tuning(GEMM_CL_MEASURES);
        const char *why = judge_conv(&c, &plan);
        const gemm_tuned *e = find(&op);
        if (!why && !e) why = "it was not measured";
        if (!why && strstr(e->times, "cl_conv_wide")) why = e->times;
        report_judged("wrong-form", why);
        setenv("CL_MUTATE", "", 1);
    }
    gemm_plan_drop(&plan);
    conv_shape_free(&c);
}

/* The same kernel is what `cl` takes for stride 2, and `auto` compares that with packed. */
static void test_wrong_row(void)
{
    conv_call c = make_conv(&(conv_shape){"3x3-stride", 1, 1, 128, 52, 52, 128, 3, 2, 1});
    gemm_plan *plan = NULL;
    setenv("CL_MUTATE", "cl_conv_wide|k0 < K; k0 += KC|k0 < 0; k0 += KC", 1);
    gemm_cl_set_tuning(GEMM_CL_TUNED);
    gemm_auto_set_mode(GEMM_AUTO_ANEW);
    const char *why = judge_row("auto", &c, &plan);
    if (!why && strcmp(note.why, "measured")) why = "it was not measured";
    if (!why) why = judge_row("auto", &c, &plan);
    report_right("wrong-row", !why, "%s: %s", note.ran, why);
    setenv("CL_MUTATE", "", 1);
    gemm_plan_drop(&plan);
    conv_shape_free(&c);
}

int main(int argc, char **argv)
{
    const bool wrong = argc == 2 && !strcmp(argv[1], "--wrong");
    const bool candidates = argc == 2 && !strcmp(argv[1], "--candidates");
    if (argc > 1 + (wrong || candidates)) {
        fputs("usage: test_cl_tune [--candidates | --wrong]\n", stderr);
        return 2;
    }
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/tuning.txt", folder);
    setenv("GEMM_CACHE_DIR", folder, 1);
    setenv("GEMM_PREPARE", "first", 1);
    unsetenv("GEMM_TUNE");
    const char *why = gemm_unusable(gemm_find("cl"));
    if (why) {
        report_unusable("cl-tune", why);
    } else if (wrong) {
        test_wrong();
        if (gemm_cl_settings()->untried) test_wrong_row();
    } else if (candidates) {
        test_forced(3, false);
    } else {
        test_forced(SHAPES, true);
        test_studies();
        test_measure();
        test_unkept();
        test_file();
        test_settle();
        test_first();
        test_limit();
    }
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) ? 1 : report_status();
}
