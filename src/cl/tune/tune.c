/* SPDX-License-Identifier: MIT */
/* Forms measured on the device: see tune.h. */
#include "cl/tune/tune.h"

#include "cl/device/pending.h"
#include "cl/op/multiply.h"
#include "tune/turns.h"
#include "util/budget.h"
#include "util/clock.h"
#include "util/text.h"

#include <math.h>
#include <stdatomic.h>

enum { FINALISTS = 4 };
static const double HOPELESS = 1.5;     /* times the fastest one: no finalist */
static const gemm_choice by_default = {.form.parts = 1};

typedef gemm_contest contest;
typedef gemm_candidate candidate;

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

/* ---- the table ---- */

/* The device as gemm_cl_identify says it. */
static void open_table(void)
{
    gemm_text text = {0};
    const gemm_cl_device *d = gemm_cl_opened();
    gemm_text_add(&text, "%s, driver %s", d->name, d->driver);
    gemm_tuning_open(gemm_text_part(&text));
    gemm_text_free(&text);
}

int gemm_cl_settle_forms(bool kept)
{
    gemm_tuned *e;
    int count = 0;
    for (int i = 0; (e = gemm_tuning_next(GEMM_BY_CL, &i));) {
        if (!e->own || e->settled) continue;
        e->settled = true;
        count += e->choice.form.row != NULL;
        if (!kept) e->choice = by_default;
    }
    if (count && !kept) gemm_tuning_keep();
    return count;
}

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
    if (!gemm_tuning_is_open()) open_table();
    return gemm_tuning_find(GEMM_BY_CL, &shape);
}

const gemm_cl_form *gemm_cl_form_for(const gemm_op *op, const gemm_cl_row *row,
                                     const gemm_context *context)
{
    const gemm_tuned *e = is_tunable(row) ? entry_of(op, context) : NULL;
    return e ? &e->choice.form : NULL;
}

/* Whether the op is to be measured, now or by the next process. */
static bool is_unmeasured(const gemm_op *op, const gemm_cl_row *row, const gemm_context *context)
{
    return mode_now() == GEMM_CL_MEASURES && !context->probe && is_tunable(row) &&
           !entry_of(op, context);
}

void gemm_cl_keep_default(const gemm_op *op, const gemm_cl_row *row, const gemm_context *context,
                          bool chained)
{
    const gemm_shape shape = shape_of(op, context);
    if (!is_unmeasured(op, row, context)) return;
    if (!chained && gemm_budget_is_over()) gemm_leave(GEMM_BY_CL, &shape, &by_default);
    if (chained && gemm_tuning_put(GEMM_BY_CL, &shape, &by_default, "in a chain"))
        gemm_tuning_keep();
}

/* ---- turns ---- */

static bool wait_for_queue(void)
{
    CL_TRY(clFinish(gemm_cl_opened()->queue));
    return gemm_cl_settle() == 0;
fail:
    return false;
}

static bool wait(void)
{
    gemm_cl_lock();
    const bool done = wait_for_queue();
    gemm_cl_unlock();
    return done;
}

/* The calls of a multiply whose operands stay on the device. C is undefined then. */
static bool repeat(contest *t, candidate *p, double *ms)
{
    gemm_cl_job j;
    gemm_cl_lock();
    gemm_cl_want_times(false);
    bool done = !gemm_cl_prepare(&j, t->op->multiply, p->choice.row->params, &p->probe.form) &&
                !gemm_cl_show(&j, GEMM_CL_RESIDENT) && wait_for_queue();
    const double start = gemm_now_ms();
    for (int i = 0; i < p->calls && done; ++i) {
        done = !gemm_cl_enqueue(&j);
        gemm_cl_empty_panels(&j.panels);
    }
    done = done && wait_for_queue();
    *ms = gemm_now_ms() - start;
    done = gemm_cl_end_job(&j, !done, &t->note) == GEMM_DONE;
    gemm_cl_unlock();
    return done;
}

/* The fastest forms so far are the list behind the default, the fastest one first. */
static void insert(contest *t, const candidate *p)
{
    int i = t->count < FINALISTS ? t->count++ : FINALISTS;
    for (; i > 1 && p->ms < t->list[i - 1].ms; --i) t->list[i] = t->list[i - 1];
    t->list[i] = *p;
}

/* Tries out all but the usual form, and keeps nothing of them. */
static void try_forms(contest *t, const gemm_cl_form *forms, int count)
{
    const gemm_cl_form *usual = &t->list[0].probe.ran;
    for (int i = 0; i < count; ++i) {
        candidate p;
        if (forms[i].row == usual->row && forms[i].parts == usual->parts && !forms[i].group)
            continue;
        if (gemm_budget_is_over()) return;
        gemm_try_out(t, &p, &(gemm_choice){t->usual.row, forms[i]}, -1);
        gemm_candidate_end(&p);
        if (p.ms >= 0) insert(t, &p);
    }
}

/* The list becomes those that are not hopeless, with what they keep. */
static void choose_finalists(contest *t)
{
    const double most = HOPELESS * fmin(t->list[0].ms, t->list[t->count > 1].ms);
    for (int i = 1; i < t->count; ++i) {
        const gemm_choice choice = t->list[i].choice;
        if (t->list[i].ms > most) t->count = i;
        else gemm_try_out(t, &t->list[i], &choice, -1);
    }
}

/* The default, the fastest ones of all forms, and those near the best of them. What the default
   declines is computed in another way: two launches instead of one. */
static bool enter(contest *t)
{
    gemm_cl_form forms[GEMM_CL_FORMS];
    gemm_cl_lock();
    const gemm_cl_traits traits = gemm_cl_opened()->traits;
    gemm_cl_unlock();
    t->cold = traits.cpu;
    gemm_try_out(t, &t->list[t->count++], &t->usual, -1);
    if (t->list[0].ms < 0) return false;
    try_forms(t, forms, gemm_cl_forms(&traits, t->op, forms));
    const bool other = t->count > 1 && t->list[1].ms < t->list[0].ms;
    const gemm_cl_form best = other ? t->list[1].choice.form : t->list[0].probe.ran;
    try_forms(t, forms, gemm_cl_forms_near(t->op, &best, forms));
    if (gemm_budget_is_over()) return false;
    choose_finalists(t);
    return true;
}

/* ---- one op ---- */

/* Without gemm_cl_lock, because plans take it when they are dropped. */
void gemm_cl_measure(const gemm_op *op, const gemm_variant *v, const gemm_context *context)
{
    const gemm_shape shape = shape_of(op, context);
    gemm_cl_lock();
    const bool wanted = is_unmeasured(op, v->params, context) && !gemm_budget_is_over();
    gemm_cl_unlock();
    if (!wanted) return;
    contest t = {.op = op, .from = context, .by = GEMM_BY_CL, .usual = {v, by_default.form},
                 .enter = enter, .wait = wait, .repeat = repeat};
    gemm_measure(&t, &shape);
}
