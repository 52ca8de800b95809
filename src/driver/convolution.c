/*
 * The driver of whole convolutions.
 *
 * gemm_conv takes the plan of the layer, which has batch norm folded into a scale and a shift for
 * each filter. Then come check and trace, as for a multiply, and the row. When the row declines,
 * Darknet runs its own code.
 */
#include "auto/bytes.h"
#include "check/check.h"
#include "check/conv_check.h"
#include "driver/driver.h"
#include "driver/failure.h"
#include "driver/plan.h"
#include "driver/start.h"
#include "driver/trace.h"
#include "driver/valid.h"
#include "util/clock.h"
#include "util/die.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_offered(void)
{
    return gemm_get_state()->conv != GEMM_IM2COL && gemm_chosen()->conv;
}

bool gemm_conv_offered(void)
{
    const int before = errno;
    const bool offered = is_offered();
    errno = before;
    return offered;
}

/* A call with all that belongs to it. */
typedef struct conv_run {
    const gemm_state *state;
    const gemm_variant *row;
    const conv_call *call;
    gemm_plan *plan;            /* or NULL */
    gemm_note *note;
} conv_run;

static void input_to_cpu(const conv_call *c)
{
    gemm_host_read(c->input, gemm_conv_input_bytes(c));
}

/* Runs the row. Returns false when it declines. */
static bool run_row(const conv_run *r)
{
    const conv_call *c = r->call;
    gemm_context context = gemm_state_context(r->state, r->note);
    if (r->plan) context.kept = gemm_plan_kept(r->plan);
    if (!r->row->leaves) {
        input_to_cpu(c);
        gemm_host_write(c->output, gemm_conv_output_bytes(c));
    }
    const gemm_status status = r->row->conv(c, &context, r->row->params);
    if (r->plan) gemm_plan_count(r->plan);
    if (status == GEMM_FAILED)
        gemm_say_failed("%s failed for a convolution of %d filters %dx%d/%d over %dx%dx%d, which "
                        "is left to the caller: %s", r->row->name, c->n, c->size, c->size,
                        c->stride, c->w, c->h, c->c, r->note->reason);
    return status == GEMM_DONE;
}

static bool run_traced(const conv_run *r)
{
    if (!r->state->trace) return run_row(r);
    const double start = gemm_now_ms();
    if (!run_row(r)) return false;
    gemm_trace_conv(r->row, r->call, gemm_now_ms() - start, r->note);
    return true;
}

static bool run_checked(const conv_run *r)
{
    const conv_call *c = r->call;
    if (!run_traced(r)) return false;
    input_to_cpu(c);
    gemm_host_read(c->output, gemm_conv_output_bytes(c));
    conv_error worst;
    if (gemm_conv_compare_rounded(c, r->note->transform, r->row->rounding, &worst)) {
        gemm_record_unchecked();
        return true;
    }
    if (!(worst.ratio <= 1))
        gemm_die_first(
            "GEMM_CHECK: %s is wrong for a convolution of %d filters %dx%d/%d pad %d groups %d "
            "over %dx%dx%d: image %d filter %d at %d is off by %g, %.3g times the bound",
            r->row->name, c->n, c->size, c->size, c->stride, c->pad, c->groups, c->w, c->h, c->c,
            worst.image, worst.filter, worst.at, worst.difference, worst.ratio);
    const gemm_call gemm = gemm_of_conv(c);
    gemm_record_check(&gemm, worst.ratio);
    return true;
}

static bool run(const gemm_variant *v, const conv_call *c, gemm_plan *plan, gemm_note *note)
{
    const conv_run r = {gemm_get_state(), v, c, plan, note};
    return r.state->check ? run_checked(&r) : run_traced(&r);
}

bool gemm_conv_run(const gemm_variant *v, const conv_call *c, gemm_plan **plan, gemm_note *note)
{
    gemm_note own;
    if (!gemm_conv_is_valid(c)) return false;
    return run(v, c, gemm_plan_get(plan, v, c, NULL), note ? note : &own);
}

/* A plan whose batch norm is not that of the layer any more was not dropped. */
static void check_norm(const conv_call *c, const conv_norm *norm, const float *planned)
{
    float *now = gemm_fold_norm(c, norm);
    if (!now) gemm_record_unchecked();
    else if (memcmp(now, planned, 2 * (size_t)c->n * sizeof *now))
        gemm_die_first("GEMM_CHECK: the batch norm of a layer with %d filters %dx%d/%d changed, "
                       "and its plan was not dropped", c->n, c->size, c->size, c->stride);
    free(now);
}

/* With a plan the folded batch norm is the plan's, else it is freed after the call. */
static bool run_normalized(const conv_call *c, const conv_norm *norm, gemm_plan *plan)
{
    gemm_note note;
    const float *kept = plan ? gemm_plan_norm(plan, c, norm) : NULL;
    float *own = kept ? NULL : gemm_fold_norm(c, norm);
    const float *folded = kept ? kept : own;
    if (!folded) return false;
    if (kept && gemm_get_state()->check) check_norm(c, norm, kept);
    conv_call call = *c;
    call.scale = folded;
    call.shift = folded + c->n;
    const bool done = run(gemm_chosen(), &call, plan, &note);
    free(own);
    return done;
}

static bool run_chosen(const conv_call *c, const conv_norm *norm, gemm_plan **slot)
{
    gemm_note note;
    if (!is_offered() || !gemm_conv_is_valid(c)) return false;
    gemm_plan *plan = gemm_plan_get(slot, gemm_chosen(), c, norm);
    return norm ? run_normalized(c, norm, plan) : run(gemm_chosen(), c, plan, &note);
}

bool gemm_conv(const conv_call *c, const conv_norm *norm, gemm_plan **slot)
{
    const int before = errno;
    const bool done = run_chosen(c, norm, slot);
    errno = before;
    return done;
}
