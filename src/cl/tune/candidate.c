/* SPDX-License-Identifier: MIT */
/* A form while it is measured: see candidate.h. */
#include "cl/tune/candidate.h"

#include "cl/device/pending.h"
#include "cl/op/convolution.h"
#include "cl/op/multiply.h"
#include "op/op.h"
#include "util/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef gemm_cl_candidate candidate;
typedef gemm_cl_tuner tuner;

gemm_cl_candidate gemm_cl_begin_candidate(const tuner *t, const gemm_cl_form *form)
{
    candidate p = {.form = *form, .ms = -1};
    if (t->context.kept) p.kept.room = t->context.kept->room;
    return p;
}

/* ---- times ---- */

/* Whether the work is of the form that it shall be of. */
static bool runs(candidate *p, const gemm_cl_work *w)
{
    p->ran = (gemm_cl_form){w->row, w->parts, 0};
    return !p->form.row || (w->form && w->parts == p->form.parts);
}

/* One call as the driver makes it. With the lock held. */
static bool call(tuner *t, const gemm_op *op, candidate *p)
{
    gemm_status status;
    bool right;
    gemm_clear_note(&t->note);
    if (op->kind == GEMM_CONVOLUTION) {
        gemm_cl_conv_job j;
        status = gemm_cl_convolve_start(&j, op->conv, NULL, t->row, &p->form, &t->context);
        if (status != GEMM_DONE) return false;
        right = runs(p, &j.w);
        status = gemm_cl_convolve_finish(&j, true, &t->context);
    } else {
        gemm_cl_job j;
        status = gemm_cl_multiply_start(&j, op->multiply, t->row, &p->form, GEMM_CL_ALONE,
                                        &t->context);
        if (status != GEMM_DONE) return false;
        right = runs(p, &j.w);
        status = gemm_cl_multiply_finish(&j, true, &t->note);
    }
    return status == GEMM_DONE && right;
}

/* The plan that the calls of the candidate use. */
static void take_plan(tuner *t, candidate *p)
{
    if (t->context.kept) t->context.kept = &p->kept;
}

static bool wait_for_queue(void)
{
    CL_TRY(clFinish(gemm_cl_opened()->queue));
    return gemm_cl_settle() == 0;
fail:
    return false;
}

/* A multiply whose operands stay on the device. C is undefined then. */
static bool time_multiply(tuner *t, candidate *p, double *ms)
{
    gemm_cl_job j;
    bool done = !gemm_cl_prepare(&j, t->op->multiply, t->row, &p->form) &&
                !gemm_cl_show(&j, GEMM_CL_RESIDENT) && wait_for_queue();
    const double start = gemm_now_ms();
    for (int i = 0; i < p->calls && done; ++i) {
        done = !gemm_cl_enqueue(&j);
        gemm_cl_empty_panels(&j.panels);
    }
    done = done && wait_for_queue();
    *ms = (gemm_now_ms() - start) / p->calls;
    return gemm_cl_end_job(&j, !done, &t->note) == GEMM_DONE;
}

static bool time_calls(tuner *t, candidate *p, double *ms)
{
    bool done = wait_for_queue();
    const double start = gemm_now_ms();
    for (int i = 0; i < p->calls && done; ++i) done = call(t, t->op, p);
    done = done && wait_for_queue();
    *ms = (gemm_now_ms() - start) / p->calls;
    return done;
}

double gemm_cl_take_turn(tuner *t, candidate *p)
{
    double ms = -1;
    gemm_cl_lock();
    gemm_cl_want_times(false);
    take_plan(t, p);
    const bool multiplies = t->op->kind == GEMM_MULTIPLY;
    const bool done = multiplies ? time_multiply(t, p, &ms) : time_calls(t, p, &ms);
    gemm_cl_unlock();
    return done ? ms : -1;
}

/* ---- results ---- */

/* Before a call whose result is looked at. No element has a value that a right result has. */
static bool begin_result(tuner *t)
{
    if (t->op->kind == GEMM_MULTIPLY) {
        gemm_copy_c(t->op->multiply, t->before, true);
        return true;
    }
    float *output = t->op->conv->output;
    if (gemm_cl_give_to_cpu(output, t->count * sizeof *output, GEMM_CL_CPU_WRITES)) return false;
    for (size_t i = 0; i < t->count; ++i) output[i] = NAN;
    return true;
}

static bool copy_result(tuner *t, float *to)
{
    if (t->op->kind == GEMM_MULTIPLY) {
        gemm_copy_c(t->op->multiply, to, false);
        return true;
    }
    const size_t bytes = t->count * sizeof *to;
    if (gemm_cl_give_to_cpu(t->op->conv->output, bytes, GEMM_CL_CPU_READS)) return false;
    memcpy(to, t->op->conv->output, bytes);
    return true;
}

/* Whether two results are the same but for roundings: those of Winograd's algorithm are far below
   this. Where one is not finite, nothing is known of the other. */
static bool is_close(const float *a, const float *wanted, size_t count)
{
    static const float TOLERANCE = 0x1p-9f;
    float largest = 0;
    for (size_t i = 0; i < count; ++i)
        if (isfinite(wanted[i]) && fabsf(wanted[i]) > largest) largest = fabsf(wanted[i]);
    for (size_t i = 0; i < count; ++i)
        if (isfinite(wanted[i]) && !(fabsf(a[i] - wanted[i]) <= TOLERANCE * largest)) return false;
    return true;
}

static bool call_once(tuner *t, const gemm_op *op, candidate *p)
{
    gemm_cl_lock();
    gemm_cl_want_times(false);
    take_plan(t, p);
    const bool done = call(t, op, p);
    gemm_cl_unlock();
    return done;
}

/* The op with another result: see spoil. False: no memory. */
static bool make_spoiled(tuner *t)
{
    float largest = 0;
    if (t->op->kind == GEMM_MULTIPLY) {
        t->spoiled_multiply = *t->op->multiply;
        t->spoiled_multiply.ALPHA = 1 - 2 * t->op->multiply->ALPHA;
        t->spoiled = gemm_op_of_multiply(&t->spoiled_multiply);
        return true;
    }
    const conv_call *c = t->op->conv;
    if (!(t->shift = malloc((size_t)c->n * sizeof *t->shift))) return false;
    for (size_t i = 0; i < t->count; ++i)
        if (isfinite(t->wanted[i])) largest = fmaxf(largest, fabsf(t->wanted[i]));
    for (int i = 0; i < c->n; ++i) t->shift[i] = c->shift[i] + 4 * (1 + largest);
    t->spoiled_conv = *c;
    t->spoiled_conv.shift = t->shift;
    t->spoiled = gemm_op_of_conv(&t->spoiled_conv);
    return true;
}

/* A buffer of the device may still have the right result of an earlier call, and a kernel that
   writes nothing would seem right. So the default computes another result there. */
static bool spoil(tuner *t)
{
    const bool made = t->spoiled.multiply || make_spoiled(t);
    return made && call_once(t, &t->spoiled, &t->spoiler);
}

bool gemm_cl_is_right(tuner *t, candidate *p)
{
    float *result = p->form.row ? malloc(t->count * sizeof *result) : t->wanted;
    bool right = result && (!p->form.row || spoil(t)) && begin_result(t) && call_once(t, t->op, p);
    right = right && copy_result(t, result);
    if (p->form.row) {
        right = right && is_close(result, t->wanted, t->count);
        free(result);
    }
    return right;
}
