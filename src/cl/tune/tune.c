/* SPDX-License-Identifier: MIT */
/* Forms measured on the device: see tune.h. */
#include "cl/tune/tune.h"

#include "cl/device/device.h"
#include "cl/op/ways.h"
#include "cl/tune/candidate.h"
#include "cl/tune/table.h"
#include "tune/race.h"
#include "util/budget.h"
#include "util/caches.h"
#include "util/clock.h"
#include "util/forked.h"
#include "util/text.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINALISTS = 4, LAST_ROUNDS = 7, FLUSH_BYTES = 64 << 20 };
static const double HOPELESS = 1.5;     /* times the fastest one: no finalist */
static const gemm_race_rules rules = {.turn_ms = 1, .rounds = 9, .enough_ms = 200,
                                      .hopeless = INFINITY};

typedef gemm_cl_candidate candidate;
typedef gemm_cl_tuner tuner;

/* ---- what the driver says ---- */

static atomic_int mode = -1;            /* a gemm_cl_tuning; -1: as the configuration has it */

static gemm_cl_tuning mode_now(void)
{
    const int now = atomic_load(&mode);
    if (now >= 0) return (gemm_cl_tuning)now;
    return gemm_cl_settings()->tune ? GEMM_CL_MEASURES : GEMM_CL_TUNED;
}

void gemm_cl_set_tuning(gemm_cl_tuning tuning)
{
    atomic_store(&mode, (int)tuning);
}

void gemm_cl_forget_forms(bool anew)
{
    gemm_cl_lock();
    gemm_cl_table_forget(anew);
    gemm_cl_unlock();
}

int gemm_cl_settle_forms(bool kept)
{
    gemm_cl_lock();
    const int count = gemm_cl_opened() ? gemm_cl_table_settle(kept) : 0;
    gemm_cl_unlock();
    return count;
}

bool gemm_cl_forms_are_kept(void)
{
    return gemm_cl_table_is_kept();
}

/* ---- the table ---- */

static gemm_shape shape_of(const gemm_op *op, const gemm_context *context)
{
    gemm_context x = {.direct = context->direct};
    return gemm_op_shape(op, &x);
}

/* Other rows are for studies, and always the same. */
static bool is_tunable(const gemm_cl_row *row)
{
    return gemm_cl_chooses(row) && !row->way && !row->parts && mode_now();
}

static const gemm_tuned *entry_of(const gemm_op *op, const gemm_context *context)
{
    const gemm_shape shape = shape_of(op, context);
    return gemm_cl_table_find(&shape);
}

const gemm_cl_form *gemm_cl_form_for(const gemm_op *op, const gemm_cl_row *row,
                                     const gemm_context *context)
{
    const gemm_tuned *e = is_tunable(row) ? entry_of(op, context) : NULL;
    return e ? &e->choice.form : NULL;
}

/* Whether the op is to be measured, now or by the next process. */
static bool is_unmeasured(const gemm_op *op, const gemm_cl_row *row,
                          const gemm_context *context)
{
    return mode_now() == GEMM_CL_MEASURES && is_tunable(row) && !entry_of(op, context);
}

bool gemm_cl_wants_form(const gemm_op *op, const gemm_cl_row *row,
                        const gemm_context *context)
{
    return is_unmeasured(op, row, context) && !gemm_budget_is_over();
}

void gemm_cl_leave_form(const gemm_op *op, const gemm_cl_row *row,
                        const gemm_context *context)
{
    const gemm_shape shape = shape_of(op, context);
    if (is_unmeasured(op, row, context) && gemm_budget_is_over() && gemm_cl_table_leave(&shape))
        gemm_budget_leave();
}

static const gemm_cl_form by_default = {.parts = 1};

void gemm_cl_keep_default(const gemm_op *op, const gemm_cl_row *row,
                          const gemm_context *context)
{
    const gemm_shape shape = shape_of(op, context);
    if (is_unmeasured(op, row, context))
        gemm_cl_table_put(&shape, &by_default, "in a chain");
}

/* ---- turns ---- */

/* Runs the candidate for the first time, and gives it one turn where it is right. */
static void try_out(tuner *t, candidate *p)
{
    p->calls = 1;
    p->ms = gemm_cl_is_right(t, p) ? gemm_cl_take_turn(t, p) : -1;
    if (p->ms >= 0 && p->ms < rules.turn_ms) {
        p->calls = gemm_race_calls(&rules, p->ms);
        p->ms = gemm_cl_take_turn(t, p);
    }
}

static int compare_times(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    const double p = x->ms < 0 ? INFINITY : x->ms, q = y->ms < 0 ? INFINITY : y->ms;
    return (p > q) - (p < q);
}

/* Forms that were tried, without what they kept; the fastest ones first. */
typedef struct field {
    candidate list[2 * GEMM_CL_FORMS];
    int count;
} field;

static void try_forms(tuner *t, field *f, const gemm_cl_form *forms, int count,
                      const gemm_cl_form *usual)
{
    for (int i = 0; i < count; ++i) {
        if (forms[i].row == usual->row && forms[i].parts == usual->parts && !forms[i].group)
            continue;           /* it is the default */
        if (gemm_budget_is_over()) return;
        candidate *p = &f->list[f->count++];
        *p = gemm_cl_begin_candidate(t, &forms[i]);
        try_out(t, p);
        gemm_drop_kept(&p->kept);
    }
    qsort(f->list, (size_t)f->count, sizeof *f->list, compare_times);
}

/* Who takes turns. */
typedef struct finalists {
    tuner *tuner;
    candidate *list;
} finalists;

static double turn_of(void *of, int i)
{
    const finalists *f = of;
    return gemm_cl_take_turn(f->tuner, &f->list[i]);
}

/* Writes more than most caches hold. Between two passes over a layer a network does so too. */
static void flush_caches(volatile char *memory)
{
    for (size_t i = 0; memory && i < FLUSH_BYTES; i += CACHE_LINE) memory[i] = 1;
}

/* A turn of one call that finds its operands in memory. memory: NULL leaves the caches alone, and
   the turn has all its calls. */
static double take_cold_turn(tuner *t, candidate *p, volatile char *memory)
{
    const int calls = p->calls;
    flush_caches(memory);
    if (memory) p->calls = 1;
    const double ms = gemm_cl_take_turn(t, p);
    p->calls = calls;
    return ms;
}

/*
 * Lets a form and the default take turns again. Returns the median of its parts of the default's
 * time, and whether it is `confirmed`. On a CPU each call begins with cold caches, as in a pass.
 * Another device has caches of its own, and its short calls are measured several at once.
 */
static double run_off(tuner *t, candidate *usual, candidate *other, bool *confirmed)
{
    gemm_cl_lock();
    char *memory = gemm_cl_opened()->traits.cpu ? malloc(FLUSH_BYTES) : NULL;
    gemm_cl_unlock();
    double parts[LAST_ROUNDS];
    for (int round = 0; round < LAST_ROUNDS; ++round) {
        double ms[4];
        bool failed = false;
        for (int i = 0; i < 4; ++i) {
            ms[i] = take_cold_turn(t, i == 1 || i == 2 ? other : usual, memory);
            failed |= ms[i] < 0;
        }
        parts[round] = failed ? -1 : (ms[1] + ms[2]) / (ms[0] + ms[3]);
    }
    free(memory);
    *confirmed = gemm_confirm(parts, LAST_ROUNDS);
    return parts[LAST_ROUNDS / 2];
}

/* The default, which is list[0], and the fastest ones of the field. Returns the number of them. */
static int choose_finalists(tuner *t, const field *f, candidate *list)
{
    const double usual = list[0].ms;
    int count = 1;
    for (int i = 0; i < f->count && count < FINALISTS; ++i) {
        const candidate *p = &f->list[i];
        if (p->ms < 0 || p->ms > HOPELESS * f->list[0].ms || p->ms > HOPELESS * usual) break;
        list[count] = gemm_cl_begin_candidate(t, &p->form);
        try_out(t, &list[count]);
        ++count;
    }
    return count;
}

/* ---- one op ---- */

static void describe(const candidate *list, int count, char text[GEMM_TIMES_TEXT])
{
    char form[GEMM_CL_FORM_TEXT];
    text[0] = '\0';
    for (int i = 0; i < count; ++i) {
        gemm_cl_form_print(&list[i].form, form);
        if (list[i].ms >= 0)
            gemm_append(text, GEMM_TIMES_TEXT, "%s%s %.3f ms", i ? ", " : "", form,
                        list[i].ms);
    }
}

/* One line for each shape. */
static void show_progress(const gemm_shape *shape, const gemm_cl_form *form, double part,
                          const char *times)
{
    char text[GEMM_SHAPE_TEXT], name[GEMM_CL_FORM_TEXT];
    gemm_shape_print(shape, text);
    gemm_cl_form_print(form, name);
    char line[GEMM_SHAPE_TEXT + GEMM_CL_FORM_TEXT + 64] = "";
    gemm_append(line, sizeof line, "gemm: cl tuned %s: %s", text, name);
    if (form->row) gemm_append(line, sizeof line, ", %.2f of default", part);
    fprintf(stderr, "%s (%s)\n", line, times);
}

/* The fastest form, which has to win once more, or the default. Whether the table has it. */
static bool keep(tuner *t, const gemm_shape *shape, candidate *list, int count)
{
    char times[GEMM_TIMES_TEXT];
    double ms[FINALISTS], part = 1;
    bool confirmed = false;
    for (int i = 0; i < count; ++i) ms[i] = list[i].ms;
    const double spread =
        count > 1 ? gemm_race(&rules, turn_of, &(finalists){t, list}, ms, count) : 0;
    for (int i = 0; i < count; ++i) list[i].ms = ms[i];
    const int winner = gemm_decide(ms, count, spread);
    describe(list, count, times);
    if (winner) {
        part = run_off(t, &list[0], &list[winner], &confirmed);
        gemm_append(times, sizeof times, "; then %.2f of default", part);
    }
    const gemm_cl_form *form = confirmed ? &list[winner].form : &by_default;
    gemm_cl_lock();
    const bool kept = gemm_cl_table_put(shape, form, times);
    if (kept) show_progress(shape, form, part, times);
    gemm_cl_unlock();
    return kept;
}

/* The default has run: list[0] is its candidate. Whether the shape got its entry. */
static bool measure_forms(tuner *t, candidate *list, field *f, const gemm_shape *shape)
{
    gemm_cl_form forms[GEMM_CL_FORMS];
    gemm_cl_lock();
    const gemm_cl_traits traits = gemm_cl_opened()->traits;
    gemm_cl_unlock();
    try_forms(t, f, forms, gemm_cl_forms(&traits, t->op, forms), &list[0].ran);
    const bool other = f->count && f->list[0].ms >= 0 && f->list[0].ms < list[0].ms;
    const gemm_cl_form best = other ? f->list[0].form : list[0].ran;
    try_forms(t, f, forms, gemm_cl_forms_near(t->op, &best, forms), &list[0].ran);
    if (gemm_budget_is_over()) return false;
    const int count = choose_finalists(t, f, list);
    const bool kept = keep(t, shape, list, count);
    for (int i = 1; i < count; ++i) gemm_drop_kept(&list[i].kept);
    return kept;
}

static void measure(tuner *t, const gemm_shape *shape)
{
    candidate list[FINALISTS];
    bool done = false;
    field *f = calloc(1, sizeof *f);
    gemm_budget_begin();
    if (f) {
        list[0] = gemm_cl_begin_candidate(t, &by_default);
        try_out(t, &list[0]);
        /* What the default declines is computed in another way: two launches instead of one. */
        if (list[0].ms >= 0) done = measure_forms(t, list, f, shape);
        gemm_drop_kept(&list[0].kept);
    }
    gemm_budget_end(done);
    free(f);
}

/* One op at a time. Without gemm_cl_lock, because plans take it when they are dropped. */
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static void after_fork(void)
{
    pthread_mutex_init(&one, NULL);
}
GEMM_IN_CHILD(after_fork)

static bool is_wanted(const gemm_op *op, const gemm_cl_row *row,
                      const gemm_context *context)
{
    gemm_cl_lock();
    const bool wanted = gemm_cl_wants_form(op, row, context);
    gemm_cl_unlock();
    return wanted;
}

void gemm_cl_measure(const gemm_op *op, const gemm_cl_row *row,
                     const gemm_context *context)
{
    const gemm_shape shape = shape_of(op, context);
    const gemm_call *g = op->kind == GEMM_MULTIPLY ? op->multiply : NULL;
    tuner t = {.op = op, .row = row, .context = *context};
    t.spoiler = gemm_cl_begin_candidate(&t, &by_default);
    t.count = gemm_op_output_bytes(op) / sizeof(float);
    t.context.note = &t.note;
    t.context.timed = false;
    pthread_mutex_lock(&one);
    t.wanted = malloc(t.count * sizeof *t.wanted);
    t.before = g ? malloc(t.count * sizeof *t.before) : NULL;
    if (t.wanted && (!g || t.before) && is_wanted(op, row, context)) {
        if (g) gemm_copy_c(g, t.before, false);
        measure(&t, &shape);
        if (g) gemm_copy_c(g, t.before, true);
    }
    gemm_drop_kept(&t.spoiler.kept);
    free(t.shift);
    free(t.before);
    free(t.wanted);
    pthread_mutex_unlock(&one);
}
