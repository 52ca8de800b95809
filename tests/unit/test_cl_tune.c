/* SPDX-License-Identifier: MIT */
/*
 * `cl` tuned on the device: the forms, their table, and what is measured.
 *
 *   test_cl_tune             lists and names of forms, the decision, the table; each form that is
 *                            named by the table runs and is right; an op is measured, and is left
 *                            where the time for that is over
 *   test_cl_tune --candidates    only the forms that the device of a layer would measure
 *   test_cl_tune --wrong     a fast kernel with wrong results never wins; needs the layer of
 *                            tests/support/layer_faulty.c. Under GEMM_CL_TRY=0 only the comparison
 *                            with the default is left to find it
 */
#include "check/check.h"
#include "check/conv_check.h"
#include "cl/device/device.h"
#include "cl/tune/table.h"
#include "cl/tune/tune.h"
#include "driver/driver.h"
#include "gemm_cl.h"
#include "support/conv_shape.h"
#include "support/report.h"
#include "util/budget.h"
#include "util/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test_cl_tune.XXXXXX";
static char path[64];
static gemm_note note;          /* of the last call */

/* ---- forms as text ---- */

static const gemm_cl_row *row_at(size_t n, char text[GEMM_CL_FORM_TEXT])
{
    const gemm_cl_row *row = gemm_cl_choice_at(n);
    const gemm_cl_form form = {row, 1, 0};
    if (row) gemm_cl_form_print(&form, text);
    return row;
}

static bool are_alike(const gemm_cl_row *a, const gemm_cl_row *b)
{
    return !strcmp(a->kernel, b->kernel) && !strcmp(a->defines, b->defines);
}

/* Every row in single precision is found by its name, and no other program has that. */
static void test_names(void)
{
    const gemm_cl_row *row;
    char text[GEMM_CL_FORM_TEXT];
    gemm_cl_form form;
    for (size_t i = 0; (row = row_at(i, text)); ++i) {
        const bool conv = row->conv != GEMM_CL_NO_CONV;
        const bool found = gemm_cl_form_parse(text, strlen(text), conv, &form);
        if (row->half) {
            if (found && form.row == row) report_fail("form-half", "%s is a form", text);
        } else if (!found || !are_alike(form.row, row)) {
            report_fail("form-name", "%s %s", text, found ? "is another row" : "is not found");
        }
    }
    report_pass("form-names");
}

static void expect_form(const char *text, bool conv, bool wanted)
{
    gemm_cl_form form;
    char name[128], again[GEMM_CL_FORM_TEXT] = "";
    snprintf(name, sizeof name, "form-%s", text);
    const bool found = gemm_cl_form_parse(text, strlen(text), conv, &form);
    if (found) gemm_cl_form_print(&form, again);
    if (found != wanted || (found && strcmp(again, text)))
        report_fail(name, "%s, printed as '%s'", found ? "taken" : "refused", again);
    else
        report_pass(name);
}

static void test_texts(void)
{
    static const struct {
        const char *text;
        bool conv, right;
    } cases[] = {
        {"default", true, true},
        {"cl_direct 8x4 64x1 image group 32 parts 2", true, true},
        {"cl_tile 8x4 16x8 k16 parts 64", false, true},
        {"cl_tile 8x4 16x8 k16 parts 65", false, false},
        {"cl_tile 8x4 16x8 k16 parts 0", false, false},
        {"cl_tile 8x4 16x8 k16 parts 1", false, false},         /* it is not printed so */
        {"cl_tile 8x4 16x8 k16 group 8", false, false},         /* its groups are fixed */
        {"cl_tile 4x4 4x8 k64 slices 8 parts 2", false, false}, /* it does not split */
        {"cl_tile 8x4 16x8 k16 m4", true, true},
        {"cl_tile 8x4 16x8 k16 m4", false, false},              /* it does not multiply */
        {"cl_tile 8x4 16x8 k16 m4 parts 2", true, false},
        {"cl_direct 8x4 64x1 group 65", true, false},
        {"cl_direct 8x4 64x1 parts 2 group 32", true, false},
        {"cl_direct 8x4 64x1", false, false},                   /* it does not multiply */
        {"cl_direct 8x4 64x1 ", true, false},
        {"cl_direct", true, false},
        {"", true, false},
        {"cl_naive 1x1 1x1", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        expect_form(cases[i].text, cases[i].conv, cases[i].right);
}

/* ---- candidates ---- */

static const gemm_cl_traits adreno = {.unified = true, .images = true, .units = 12, .vector = 4,
                                      .group = 1024, .local = 32768, .is_adreno = true,
                                      .adreno = 830};
static const gemm_cl_traits desktop = {.images = true, .units = 132, .vector = 1, .group = 1024,
                                       .local = 49152};
static const gemm_cl_traits cpu = {.cpu = true, .unified = true, .images = true, .units = 2,
                                   .vector = 8, .group = 4096, .local = 1 << 20};

/* Whether a form of this list has such a name, or begins with it. */
static bool has_form(const gemm_cl_form *forms, int count, const char *name)
{
    char text[GEMM_CL_FORM_TEXT];
    for (int i = 0; i < count; ++i) {
        gemm_cl_form_print(&forms[i], text);
        if (!strncmp(text, name, strlen(name))) return true;
    }
    return false;
}

static void expect_candidate(const gemm_cl_traits *d, const conv_call *c, const char *name,
                             bool wanted)
{
    gemm_cl_form forms[GEMM_CL_FORMS];
    const gemm_call g = {.M = 64, .N = 169, .K = 576, .ALPHA = 1};
    const gemm_cl_tuned_op op = {.conv = c, .multiply = c ? NULL : &g};
    const int count = gemm_cl_forms(d, &op, forms);
    char title[128];
    snprintf(title, sizeof title, "candidates-%s-%s-%s-%d", d->cpu ? "cpu" : "gpu",
             c ? "conv" : "multiply", name, d->units);
    if (count > 1 - !c && count < GEMM_CL_FORMS && has_form(forms, count, name) == wanted)
        report_pass(title);
    else report_fail(title, "%d candidates, this one is %s", count, wanted ? "missing" : "there");
}

static void test_candidates(void)
{
    const conv_call c = {.batch = 1, .groups = 1, .c = 64, .h = 52, .w = 52, .n = 64, .size = 3,
                         .stride = 1, .pad = 1, .out_h = 52, .out_w = 52};
    conv_call wide = c, depthwise = c, few = c, flat = c;
    gemm_cl_traits small = adreno, discrete = desktop;
    wide.size = 5, wide.pad = 2;
    depthwise.groups = 64;
    few.c = 32;
    flat.h = flat.w = flat.out_h = flat.out_w = 13;     /* 16 tiles of 4x4 are few for 64 columns */
    small.local = 1024;
    discrete.images = false;
    expect_candidate(&adreno, &c, "cl_tile", true);     /* B in local memory */
    expect_candidate(&small, &c, "cl_tile", false);
    expect_candidate(&adreno, &c, "cl_image 8x8", true);
    expect_candidate(&adreno, &c, "cl_direct 8x4 64x1", true);
    expect_candidate(&adreno, &c, "cl_direct 8x4 64x1 image", true);
    expect_candidate(&adreno, &c, "cl_direct 1x4", false);
    expect_candidate(&adreno, &c, "cl_conv_wide", false);
    expect_candidate(&adreno, &c, "cl_gemv", false);
    expect_candidate(&adreno, &wide, "cl_direct 4x4", true);
    expect_candidate(&adreno, &wide, "cl_direct 8x4", false);
    expect_candidate(&adreno, &depthwise, "cl_direct 1x4", true);
    expect_candidate(&adreno, NULL, "cl_tile", true);
    expect_candidate(&adreno, NULL, "cl_direct", false);
    expect_candidate(&desktop, &c, "cl_image", false);
    expect_candidate(&desktop, &c, "cl_tile 8x4 16x8 k16 m4", true);
    expect_candidate(&desktop, &c, "cl_tile 4x4 16x8 k16 m2", true);
    expect_candidate(&desktop, &few, "cl_tile 8x4 16x8 k16 m4", false);
    expect_candidate(&desktop, &flat, "cl_tile 8x4 16x8 k16 m4", false);
    expect_candidate(&desktop, &flat, "cl_tile 8x4 16x8 k16 m2", true);
    expect_candidate(&desktop, NULL, "cl_tile 8x4 16x8 k16 m4", false);
    expect_candidate(&adreno, &c, "cl_tile 8x4 16x8 k16 m4", false);
    expect_candidate(&cpu, &c, "cl_tile 8x4 16x8 k16 m4", false);
    expect_candidate(&desktop, &c, "cl_direct 8x4 64x1 image", true);
    expect_candidate(&discrete, &c, "cl_direct 8x4 64x1 image", false);
    expect_candidate(&cpu, &c, "cl_conv_wide 6x16", true);
    expect_candidate(&cpu, &c, "cl_conv_wide 1x16", false);
    expect_candidate(&cpu, &c, "cl_conv_wide 8x32", false);
    expect_candidate(&cpu, &c, "cl_winograd 6x16 1x1 m2", true);
    expect_candidate(&cpu, &wide, "cl_winograd", false);
    expect_candidate(&cpu, &c, "cl_direct 8x4 64x1", true);
    expect_candidate(&cpu, &c, "cl_direct 8x4 64x1 image", false);
    expect_candidate(&cpu, &c, "cl_tile", false);
    expect_candidate(&cpu, NULL, "cl_wide 6x16", true);
}

static void test_near(void)
{
    const conv_call c = {.batch = 1, .groups = 1, .c = 64, .h = 13, .w = 13, .n = 64, .size = 3,
                         .stride = 1, .pad = 1, .out_h = 13, .out_w = 13};
    const gemm_cl_tuned_op op = {.conv = &c};
    const gemm_cl_form base = {&gemm_cl_direct_choices[GEMM_CL_DIRECT_8], 2, 0};
    gemm_cl_form forms[GEMM_CL_FORMS];
    const int count = gemm_cl_forms_near(&op, &base, forms);
    const bool right = count == 4 && forms[0].parts == 1 && forms[1].parts == 4 &&
                       forms[2].group == 32 && forms[3].group == 16 && forms[3].parts == 2;
    if (right) report_pass("near-forms");
    else report_fail("near-forms", "%d forms", count);
}

/* ---- the decision ---- */

static void test_decisions(void)
{
    static const struct {
        double ms[3], spread;
        int winner;
    } cases[] = {{{10, 9.95, 12}, 0, 0}, {{10, 9.8, 12}, 0, 1},  {{10, 9.2, 12}, .1, 0},
                 {{10, 8.5, 12}, .1, 1}, {{10, 8.5, 8.4}, .1, 2}, {{10, -1, -1}, 0, 0},
                 {{10, -1, 5}, 0, 2},    {{10, 8.9, 8.95}, .1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char name[32];
        snprintf(name, sizeof name, "decision-%zu", i);
        const int winner = gemm_cl_form_decide(cases[i].ms, 3, cases[i].spread);
        if (winner == cases[i].winner) report_pass(name);
        else report_fail(name, "%d and not %d", winner, cases[i].winner);
    }
}

/* What won must win again, in all rounds but one. */
static void test_confirm(void)
{
    static const struct {
        double parts[7];
        bool stays;
    } cases[] = {{{.9, .98, .97, .9, .8, .98, .95}, true},
                 {{.9, .98, .97, 3, .8, .98, .95}, true},           /* something else ran */
                 {{.9, 1.2, .97, 3, .8, .98, .95}, false},
                 {{.995, .995, .995, .995, .995, .995, .995}, false},
                 {{.5, .5, .5, .5, .5, .995, .995}, false},
                 {{1, 1, 1, 1, 1, 1, 1}, false},
                 {{.5, .5, .5, -1, .5, .5, .5}, false}};            /* a turn failed */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        double parts[7];
        memcpy(parts, cases[i].parts, sizeof parts);
        if (gemm_cl_form_confirm(parts, 7) != cases[i].stays) {
            report_fail("confirm", "case %zu", i);
            return;
        }
    }
    report_pass("confirm");
}

/* A clock that is late by up to `noise` of a form's time, and right in one of the turns. */
static double shortest_turn(rng *r, double ms, double noise)
{
    double best = INFINITY;
    for (int i = 0; i < 8; ++i) best = fmin(best, ms * (1 + noise * (rng_float(r) + 1) / 2));
    return rng_below(r, 2) ? ms : best;
}

/* Whatever the clock says, a form that is slower than the default never replaces it. */
static void test_clock(void)
{
    rng r = rng_make(3, 1);
    int wins = 0;
    for (int i = 0; i < 2000; ++i) {
        double truth[4], ms[4];
        for (int j = 0; j < 4; ++j) {
            truth[j] = 1 + .2 * rng_float(&r);
            ms[j] = j ? shortest_turn(&r, truth[j], .1) : truth[0] * (1 + .05 * !(i % 3));
        }
        /* The default's own turns were late by up to 5%, and its spread says so. */
        const int winner = gemm_cl_form_decide(ms, 4, .05);
        wins += winner != 0;
        if (truth[winner] > truth[0]) {
            report_fail("decision-clock", "%g ms replaces %g", truth[winner], truth[0]);
            return;
        }
    }
    if (wins > 200) report_pass("decision-clock");
    else report_fail("decision-clock", "only %d forms won", wins);
}

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

/* NULL, or what is wrong about the layer under row cl. */
static const char *judge_conv(const conv_call *c, gemm_plan **plan)
{
    static char why[128];
    gemm_error worst;
    for (size_t i = 0; i < conv_outputs(c); ++i) c->output[i] = NAN;
    if (!gemm_conv_run(gemm_find("cl"), c, plan, &note)) return "it declined";
    if (gemm_conv_compare(c, note.transform, &worst)) return "no memory for the reference";
    snprintf(why, sizeof why, "off by %g, %.3g times the bound", worst.difference, worst.ratio);
    return worst.ratio <= 1 ? NULL : why;
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

static gemm_shape shape_of(const gemm_cl_tuned_op *op)
{
    const gemm_context x = {0};
    const gemm_op any = op->conv ? gemm_op_of_conv(op->conv) : gemm_op_of_multiply(op->multiply);
    return gemm_op_shape(&any, &x);
}

/* What the table has for it. */
static const gemm_cl_tuned *find(const gemm_cl_tuned_op *op)
{
    const gemm_shape s = shape_of(op);
    gemm_cl_lock();
    const gemm_cl_tuned *e = gemm_cl_table_find(&s);
    gemm_cl_unlock();
    return e;
}

static bool put(const gemm_cl_tuned_op *op, const gemm_cl_form *form)
{
    const gemm_shape s = shape_of(op);
    gemm_cl_lock();
    const bool done = gemm_cl_table_put(&s, form, "by hand");
    gemm_cl_unlock();
    return done;
}

static bool was_tuned(void)
{
    const size_t length = strlen(note.ran);
    return length > 6 && !strcmp(note.ran + length - 6, " tuned");
}

/* ---- every form runs where the table names it ---- */

/* A form that the table names: right, and where it `must` it is what ran. */
static void run_form(const gemm_cl_tuned_op *op, const char *title, const gemm_cl_form *form,
                     gemm_plan **plan, bool must)
{
    char text[GEMM_CL_FORM_TEXT], name[160];
    gemm_cl_form_print(form, text);
    snprintf(name, sizeof name, "forced-%s-%s", title, text);
    const char *why = put(op, form) ? op->conv ? judge_conv(op->conv, plan) : judge_multiply()
                                    : "no room";
    if (!why && must && !was_tuned()) why = "another one ran";
    if (why) report_fail(name, "%s: %s", note.ran, why);
    else report_pass(name);
}

/* The candidates of this device. `all`: forms near them and all rows, too. */
static void run_forms(const gemm_cl_tuned_op *op, const char *title, bool all)
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
    for (size_t i = 0; all && (form.row = row_at(i, text)); ++i)
        if (gemm_cl_form_parse(text, strlen(text), op->conv, &form))
            run_form(op, title, &form, &plan, false);
    gemm_plan_drop(&plan);
}

static void test_forced(int count, bool all)
{
    gemm_cl_set_tuning(GEMM_CL_TUNED);
    for (int i = 0; i < count; ++i) {
        conv_call c = make_conv(&shapes[i]);
        run_forms(&(gemm_cl_tuned_op){.conv = &c}, shapes[i].name, all && i == 0);
        conv_shape_free(&c);
    }
    run_forms(&(gemm_cl_tuned_op){.multiply = &product}, "multiply", all);
    /* The same table, which is not to be used. */
    gemm_cl_set_tuning(GEMM_CL_UNTUNED);
    const char *why = judge_multiply();
    gemm_cl_set_tuning(GEMM_CL_TUNED);
    if (why || was_tuned()) report_fail("forced-untuned", "%s: %s", note.ran, why ? why : "tuned");
    else report_pass("forced-untuned");
}

/* Rows for studies take no form of the table. */
static void test_studies(void)
{
    static const char *const rows[] = {"cl_winograd", "cl_direct", "cl_direct_image"};
    const gemm_cl_form form = {&gemm_cl_choices[GEMM_CL_TILE_32x64], 1, 0};
    put(&(gemm_cl_tuned_op){.multiply = &product}, &form);
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
    gemm_cl_forget_forms(true);
    gemm_cl_set_tuning(GEMM_CL_MEASURES);
    for (int i = 0; i <= SHAPES; ++i) {
        char name[64];
        gemm_plan *plan = NULL;
        conv_call c = make_conv(&shapes[i % SHAPES]);
        const bool multiplies = i == SHAPES;
        const gemm_cl_tuned_op op = {.conv = multiplies ? NULL : &c,
                                     .multiply = multiplies ? &product : NULL};
        const char *why = multiplies ? judge_multiply() : judge_conv(&c, &plan);
        const gemm_cl_tuned *e = find(&op);
        if (!why && (!e || !strstr(e->times, "default") || !strstr(e->times, " ms")))
            why = "the table lacks it";
        const char *then = why ? NULL : strstr(e->times, "; then 0.");
        if (!why && e->form.row && !then) why = "it did not win again";
        if (!why && !put(&op, &e->form)) why = "no room";
        if (!why) why = multiplies ? judge_multiply() : judge_conv(&c, &plan);
        if (!why && was_tuned() != (e->form.row != NULL)) why = "not what the table has";
        if (!why && strcmp(find(&op)->times, "by hand")) why = "it was measured again";
        snprintf(name, sizeof name, "measure-%s", multiplies ? "multiply" : shapes[i].name);
        if (why) report_fail(name, "%s: %s", note.ran, why);
        else report_pass(name);
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
static const gemm_cl_tuned *read_again(const gemm_cl_tuned_op *op, char said[1024])
{
    const captured c = capture();
    gemm_cl_forget_forms(false);
    const gemm_cl_tuned *e = find(op);
    find(op);
    take(c, said);
    return e;
}

/* A table that cannot be written is said once, in the words of the table of rows. */
static void test_unkept(void)
{
    const gemm_cl_tuned_op op = {.multiply = &product};
    const gemm_cl_form form = {&gemm_cl_choices[GEMM_CL_TILE_32x64], 1, 0};
    static const char end[] = "; it is kept in memory\n";
    char said[1024], begin[1024] = "";
    gemm_append(begin, sizeof begin, "gemm: the tuning table %s cannot be kept: others may write "
                "in its folder", path);
    gemm_cl_forget_forms(true);
    chmod(folder, 0777);
    const captured c = capture();
    put(&op, &form);
    put(&op, &form);
    take(c, said);
    chmod(folder, 0700);
    const gemm_cl_tuned *e = find(&op);
    const char *last = strstr(said, end);
    if (!strncmp(said, begin, strlen(begin)) && last && !last[sizeof end - 1] && e &&
        e->form.row == form.row)
        report_pass("table-unkept");
    else report_fail("table-unkept", "%s: %s", e ? "it is in memory" : "it is lost", said);
}

/* The good table with `from` replaced is not used, and one line says why. */
static void expect_refused(const char *name, const gemm_cl_tuned_op *op, const char *good,
                           const char *from, const char *to, const char *why)
{
    char text[8192] = "", said[1024];
    const char *at = strstr(good, from), *line;
    if (at) gemm_append(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to,
                        at + strlen(from));
    write_text(text);
    const gemm_cl_tuned *e = read_again(op, said);
    line = strchr(said, '\n');
    if (at && !e && line && !line[1] && strstr(said, "tuning-cl.txt is not used: ") &&
        strstr(said, why))
        report_pass(name);
    else
        report_fail(name, "%s, and said: %s", e ? "it is used" : "it is not used", said);
}

static void test_file(void)
{
    const gemm_cl_tuned_op op = {.multiply = &product};
    const gemm_cl_form form = {&gemm_cl_choices[GEMM_CL_TILE_32x64], 3, 0};
    char good[8192], said[1024];
    gemm_cl_forget_forms(true);
    unlink(path);
    put(&op, &form);
    snprintf(good, sizeof good, "%s", read_text());
    const gemm_cl_tuned *e = read_again(&op, said);
    const bool same = e && e->form.row == form.row && e->form.parts == 3;
    if (same && !*said && !strcmp(e->times, "by hand"))
        report_pass("table-read");
    else report_fail("table-read", "%s: %s%s", e ? "another form" : "nothing", said, good);
    expect_refused("table-device", &op, good, "device ", "device other ", "it is of another one");
    expect_refused("table-driver", &op, good, ", driver ", ", driver other ",
                   "it is of another one");
    expect_refused("table-version", &op, good, "version ", "version 0", "it is of another one");
    expect_refused("table-form", &op, good, "tuning 1", "tuning 2", "it is of another one");
    expect_refused("table-line", &op, good, "cl_tile", "cl_tele", "line 4 is damaged");
    expect_refused("table-parts", &op, good, "parts 3", "parts 99", "line 4 is damaged");
    expect_refused("table-shape", &op, good, "multiply", "maxpool", "line 4 is damaged");
    expect_refused("table-end", &op, good, "end 1", "end 2", "line 5 is damaged");
    expect_refused("table-cut", &op, good, "\nend 1\n", "", "is damaged");
    expect_refused("table-more", &op, good, "end 1\n", "end 1\nmore\n", "line 5 is damaged");
    /* What cannot be used is replaced, and what can is added to. */
    gemm_call wider = product;
    wider.ALPHA = 1, wider.N = 49;
    put(&(gemm_cl_tuned_op){.multiply = &wider}, &form);
    e = read_again(&op, said);
    const bool replaced = !e && !*said && find(&(gemm_cl_tuned_op){.multiply = &wider});
    write_text(good);
    gemm_cl_forget_forms(true);
    put(&(gemm_cl_tuned_op){.multiply = &wider}, &form);
    e = read_again(&op, said);
    if (replaced && e && find(&(gemm_cl_tuned_op){.multiply = &wider})) report_pass("table-merged");
    else report_fail("table-merged", "replaced %d, said: %s", replaced, said);
}

/* A form with Winograd's algorithm is taken from the second picture on, because it pays only then
   that its filters are transformed. Another one is taken at once. */
static void test_first(void)
{
    conv_call c = make_conv(&shapes[0]);
    const gemm_cl_tuned_op op = {.conv = &c};
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
static const char *judge_limited(const gemm_cl_tuned_op *op, int seconds, bool *kept)
{
    gemm_plan *plan = NULL;
    const char *why = NULL;
    const double start = clock_ms;
    gemm_cl_forget_forms(true);
    unlink(path);
    gemm_budget_set(seconds, tick);
    gemm_budget_begin();
    gemm_budget_end(true);
    for (int i = 0; i < 2 && !why; ++i) {       /* the second call asks no more */
        why = judge_conv(op->conv, &plan);
        const gemm_cl_tuned *e = find(op);
        *kept = e && e->own;
        if (why) break;
        if (!e) why = "it has no form";
        else if (seconds < 2 && clock_ms > start + 2000) why = "it was begun";
        else if (gemm_budget_left() != !*kept) why = "the shapes that are left";
        else if (!*kept && (e->form.row || was_tuned())) why = "it is left with another form";
        else if (*kept != (strstr(read_text(), "\nend 1\n") != NULL)) why = "the file";
    }
    gemm_plan_drop(&plan);
    return why;
}

/* The time ends before, between and behind all trials of forms. */
static void test_limit(void)
{
    conv_call c = make_conv(&shapes[0]);
    const gemm_cl_tuned_op op = {.conv = &c};
    const char *why = NULL;
    int seconds = 0;
    bool kept = false;
    gemm_cl_set_tuning(GEMM_CL_MEASURES);
    for (; !kept && !why && seconds < 200; ++seconds) why = judge_limited(&op, seconds, &kept);
    gemm_cl_set_tuning(GEMM_CL_TUNED);
    gemm_budget_set(INFINITY, NULL);
    if (!why && kept && seconds > 5) report_pass("limit");
    else report_fail("limit", "with %d s: %s, %s", seconds - 1, why ? why : "right",
                     kept ? "measured" : "left");
    conv_shape_free(&c);
}

/* What was measured for a network becomes the default where whole passes are not faster. */
static void test_settle(void)
{
    const gemm_cl_tuned_op op = {.multiply = &product};
    const gemm_cl_form form = {&gemm_cl_choices[GEMM_CL_TILE_32x64], 1, 0};
    gemm_call other = product;
    char said[1024];
    other.N = 48;
    gemm_cl_forget_forms(true);
    unlink(path);
    put(&(gemm_cl_tuned_op){.multiply = &other}, &form);
    const int kept = gemm_cl_settle_forms(true);
    put(&op, &form);
    const int dropped = gemm_cl_settle_forms(false);
    const gemm_cl_tuned *a = read_again(&op, said);
    const gemm_cl_tuned *b = find(&(gemm_cl_tuned_op){.multiply = &other});
    if (kept == 1 && dropped == 1 && a && !a->form.row && b && b->form.row == form.row)
        report_pass("table-settled");
    else report_fail("table-settled", "%d kept, %d dropped: %s", kept, dropped, read_text());
}

/* ---- a wrong kernel ---- */

/* cl_conv_wide computes nothing, in no time. It is no default where Winograd's algorithm is. */
static void test_wrong(void)
{
    conv_call c = make_conv(&(conv_shape){"3x3", 1, 1, 64, 26, 26, 64, 3, 1, 1});
    const gemm_cl_tuned_op op = {.conv = &c};
    gemm_plan *plan = NULL;
    if (!gemm_cl_choose_winograd(&gemm_cl_opened()->traits, &c)) {
        report_skip_machine("wrong-form", "cl does not take Winograd's algorithm here");
    } else {
        setenv("CL_MUTATE", "cl_conv_wide|k0 < K; k0 += KC|k0 < 0; k0 += KC", 1);
        gemm_cl_set_tuning(GEMM_CL_MEASURES);
        const char *why = judge_conv(&c, &plan);
        const gemm_cl_tuned *e = find(&op);
        if (!why && !e) why = "it was not measured";
        if (!why && strstr(e->times, "cl_conv_wide")) why = e->times;
        report_judged("wrong-form", why);
        setenv("CL_MUTATE", "", 1);
    }
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
    snprintf(path, sizeof path, "%s/tuning-cl.txt", folder);
    setenv("GEMM_CACHE_DIR", folder, 1);
    setenv("GEMM_PREPARE", "first", 1);
    unsetenv("GEMM_TUNE");
    const char *why = gemm_unusable(gemm_find("cl"));
    if (why) {
        report_unusable("cl-tune", why);
    } else if (wrong) {
        test_wrong();
    } else if (candidates) {
        test_forced(3, false);
    } else {
        test_names();
        test_texts();
        test_candidates();
        test_near();
        test_decisions();
        test_confirm();
        test_clock();
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
