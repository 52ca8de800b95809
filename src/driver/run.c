/* SPDX-License-Identifier: MIT */
/*
 * The way of an op, whatever its kind:
 *
 *   gemm_run_op -> operands where the variant wants them -> check, if GEMM_CHECK=1
 *               -> trace, if GEMM_TRACE is set -> gemm_op_call
 */
#include "driver/run.h"

#include "check/check.h"
#include "driver/driver.h"
#include "driver/memory.h"
#include "driver/start.h"
#include "driver/summary.h"
#include "driver/trace.h"
#include "util/clock.h"
#include "util/die.h"
#include "util/large.h"
#include "util/threads.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An op while it runs. */
typedef struct op_run {
    const gemm_state *state;
    const gemm_variant *variant;
    const gemm_op *op;
    gemm_plan *const *plans;
    gemm_note *note;
} op_run;

/* ---- the variant ---- */

/* Of layers the first failure of a process, because a device that fails often fails for all. */
static void say_failed(const op_run *c)
{
    static atomic_bool said;
    char op[GEMM_OP_TEXT];
    gemm_op_describe(c->op, op);
    if (c->op->kind == GEMM_MULTIPLY)
        gemm_die("%s failed for %s, and C is undefined: %s", c->variant->name, op,
                 c->note->reason);
    if (!atomic_exchange(&said, true))
        fprintf(stderr, "gemm: %s failed for %s, which is left to the caller: %s\n",
                c->variant->name, op, c->note->reason);
}

/* Of calls with plans, by variants. */
static atomic_uint decisions;

unsigned gemm_decisions(void)
{
    return atomic_load(&decisions);
}

/* What the scales say of the layer. A file that does not know it was made for other weights. This
   ends the program, but for a row that chooses: the layer then stays in single precision. */
static const gemm_scale *find_scale(const op_run *c, int i)
{
    const bool chain = c->op->kind == GEMM_CHAIN;
    const conv_call *conv = chain ? &c->op->chain->convs[i] : c->op->conv;
    gemm_plan *plan = c->plans ? c->plans[i] : NULL;
    bool known = false;
    const gemm_scale *scale = plan ? gemm_plan_scale(plan, &known) : NULL;
    if (known || !c->state->scales) return scale;
    const uint64_t weights = gemm_scales_fingerprint(conv);
    const int K = gemm_conv_taps(conv);
    scale = gemm_scales_find(c->state->scales, weights, conv->n, K);
    if (!scale && !c->variant->chooses)
        gemm_die_first("GEMM_INT8=%s was made for other weights: no layer of %d filters, K %d has "
                       "the fingerprint %016llx (make calibrate makes the file again)",
                       c->state->scales_path, conv->n, K, (unsigned long long)weights);
    if (plan) gemm_plan_set_scale(plan, scale);
    return scale;
}

static bool takes_scales(const op_run *c)
{
    return c->variant->calibrated || (c->variant->chooses && c->state->auto_scales);
}

static void touch_output(const gemm_op *op)
{
    const gemm_span output = gemm_op_span(op, gemm_op_spans(op) - 1);
    gemm_touch(output.data, output.bytes);
}

/* A preparation leaves them to the pass, because their filters would be in memory beside those of
   all other layers. */
static bool has_many_weights(const gemm_op *op)
{
    enum { MOST = 1 << 19 };
    const conv_call *c = op->kind == GEMM_CONVOLUTION ? op->conv : NULL;
    return c && (double)c->n * gemm_conv_taps(c) > MOST;
}

/* With what the plans keep. They are counted again behind the run. */
static gemm_status run_planned(const op_run *c, gemm_context *x)
{
    gemm_kept *kept[GEMM_CHAIN_MOST];
    const int count = gemm_op_convs(c->op);
    if (gemm_is_apart()) x->threads = 1;
    for (int i = 0; i < count; ++i)
        kept[i] = c->plans[i] ? gemm_plan_kept(c->plans[i]) : NULL;
    if (c->op->kind == GEMM_CHAIN) x->chain_kept = kept;
    else if (count) x->kept = kept[0];
    x->first = !c->state->prepare_first && count && c->plans[0] && gemm_plan_is_new(c->plans[0]);
    const bool prepares = gemm_get_jobs() == GEMM_JOBS_SKIP;
    x->at_once = c->state->prepare_first || (gemm_is_apart() && !x->first);
    const gemm_status status = prepares && has_many_weights(c->op)
                                   ? GEMM_DONE : gemm_op_call(c->op, c->variant, x);
    const bool done = status == GEMM_DONE;
    if (x->foresees) return status;
    if (done && prepares) touch_output(c->op);
    for (int i = 0; i < count; ++i)
        if (c->plans[i]) gemm_plan_count(c->plans[i], done && !prepares, x->first);
    if (c->note->decided) atomic_fetch_add(&decisions, (unsigned)c->note->decided);
    return status;
}

static gemm_status run_variant(const op_run *c)
{
    gemm_context x = gemm_state_context(c->state, c->note);
    const gemm_scale *scales[GEMM_CHAIN_MOST] = {NULL};
    for (int i = 0; takes_scales(c) && i < gemm_op_convs(c->op); ++i) {
        scales[i] = find_scale(c, i);
        if (scales[i] && !(scales[i]->scale > 0)) scales[i] = NULL;
    }
    x.never_waits = c->state->never_waits && !c->state->prepare_first;
    x.scale = scales[0];
    x.chain_scales = scales;
    x.lanes = c->op->kind == GEMM_CHAIN ? c->op->chain->lanes : 0;
    x.foresees = gemm_get_jobs() == GEMM_JOBS_FORESEE;
    const gemm_status status =
        c->plans ? run_planned(c, &x) : gemm_op_call(c->op, c->variant, &x);
    if (status == GEMM_FAILED) say_failed(c);
    return status;
}

/* With a trace: what the declined variant weighed is why. */
__attribute__((noinline)) static void run_instead(const op_run *next, const char *declined)
{
    char why[sizeof next->note->weighed];
    snprintf(why, sizeof why, "%s: %.99s", declined,
             *next->note->weighed ? next->note->weighed : "declined");
    run_variant(next);
    strcpy(next->note->weighed, why);
}

/* The variant that computed the op, or NULL. */
static const gemm_variant *run(const op_run *c)
{
    if (run_variant(c) == GEMM_DONE) return c->variant;
    if (c->op->kind != GEMM_MULTIPLY) return NULL;
    op_run next = *c;
    next.variant = gemm_stock_row();
    if (c->state->trace) run_instead(&next, c->variant->name);
    else run_variant(&next);
    return next.variant;
}

/* Without a trace nothing is timed. */
static const gemm_variant *run_traced(const op_run *c)
{
    if (!c->state->trace) return run(c);
    const double start = gemm_now_ms();
    const gemm_variant *ran = run(c);
    const double ms = gemm_now_ms() - start;
    if (ran && c->state->summary) gemm_summary_op(ran, c->op, ms, c->note);
    else if (ran) gemm_trace_op(ran, c->op, ms, c->note, gemm_planned_bytes());
    return ran;
}

/* ---- GEMM_CHECK ---- */

static void judge(const op_run *c, const gemm_variant *ran, const gemm_error *worst)
{
    char op[GEMM_OP_TEXT], place[GEMM_PLACE_TEXT];
    if (!(worst->ratio <= 1)) {
        gemm_op_describe(c->op, op);
        gemm_check_place(c->op, worst, place);
        gemm_die_first("GEMM_CHECK: %s is wrong for %s: %s is off by %g, %.3g times the bound",
                       ran->name, op, place, worst->difference, worst->ratio);
    }
    gemm_record_check(c->op, worst->ratio);
}

/* That of the row that computed the op: `auto` notes which one it took. */
static const gemm_rounding *rounding_of(const gemm_variant *ran, const gemm_note *note)
{
    const gemm_variant *chosen = note->chosen ? gemm_find(note->chosen) : NULL;
    return chosen ? chosen->rounding : ran->rounding;
}

static const gemm_variant *run_checked(const op_run *c)
{
    gemm_oracle oracle;
    gemm_error worst;
    bool known = gemm_check_before(c->op, &oracle);
    const gemm_variant *ran = run_traced(c);
    if (ran) {
        gemm_read_back(c->op);
        known = known && gemm_check_after(c->op, &oracle, c->note,
                                          rounding_of(ran, c->note), &worst);
        if (known) judge(c, ran, &worst);
        else gemm_record_unchecked();
    }
    gemm_oracle_free(&oracle);
    return ran;
}

static const gemm_variant *run_chain_checked(const op_run *);

static const gemm_variant *run_op(const op_run *c)
{
    const bool layer = c->op->kind != GEMM_MULTIPLY;
    if (gemm_get_jobs() == GEMM_JOBS_FORESEE) return run(c);
    if (!layer || !gemm_leaves_outputs(c->variant)) gemm_operands_to_cpu(c->op);
    const bool lanes = c->op->kind == GEMM_CHAIN && c->op->chain->lanes;
    if (!c->state->check || lanes) return run_traced(c);
    return c->op->kind == GEMM_CHAIN ? run_chain_checked(c) : run_checked(c);
}

const gemm_variant *gemm_run_op(const gemm_variant *v, const gemm_op *op, gemm_plan *const *plans,
                               gemm_note *note)
{
    const op_run c = {gemm_get_state(), v, op, plans, note};
    return run_op(&c);
}

/* ---- GEMM_CHECK of a chain ---- */

/* One part of the chain alone, into `output`. */
static bool run_part(const op_run *chain, const gemm_op *op, gemm_plan *const *plan)
{
    gemm_note note;
    const op_run c = {chain->state, chain->variant, op, plan, &note};
    return gemm_op_offered(op, chain->variant) && run_op(&c);
}

static bool run_conv(const op_run *c, int i, const float *input, float *output)
{
    conv_call conv = c->op->chain->convs[i];
    const gemm_op op = gemm_op_of_conv(&conv);
    if (i) conv.input = input;
    conv.output = output;
    return run_part(c, &op, c->plans ? &c->plans[i] : NULL);
}

static bool run_shortcut(const op_run *c, const float *input, float *output)
{
    layer_call shortcut = *c->op->chain->shortcut;
    const layer_input inputs[2] = {{input, shortcut.input[0].size}, shortcut.input[1]};
    const gemm_op op = gemm_op_of_layer(&shortcut);
    shortcut.input = inputs;
    shortcut.output = output;
    return run_part(c, &op, NULL);
}

/* The output of the parts one by one, which the caller frees. NULL: they cannot be computed. */
static float *run_parts(const op_run *c)
{
    gemm_op parts[GEMM_PARTS_MOST];
    const int count = gemm_op_parts(c->op, parts);
    float *last = NULL;
    for (int i = 0; i < count; ++i) {
        float *output = malloc(gemm_op_output_bytes(&parts[i]));
        const bool done = output && (i < c->op->chain->count ? run_conv(c, i, last, output)
                                                             : run_shortcut(c, last, output));
        free(last);
        last = output;
        if (done) continue;
        free(output);
        return NULL;
    }
    return last;
}

/* Whether two outputs are the same. A NaN is one, whatever its bits. */
static bool are_same(const float *a, const float *b, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *a; ++i)
        if (memcmp(&a[i], &b[i], sizeof *a) && !(isnan(a[i]) && isnan(b[i]))) return false;
    return true;
}

void gemm_check_parts(const gemm_op *op, const float *parts, const char *row)
{
    const gemm_span output = gemm_op_span(op, gemm_op_spans(op) - 1);
    char text[GEMM_OP_TEXT];
    if (!parts) gemm_record_unchecked();
    if (!parts || are_same(output.data, parts, output.bytes)) return;
    gemm_op_describe(op, text);
    gemm_die_first("GEMM_CHECK: %s is wrong for %s: its bits are not those of the layers one "
                   "by one", row, text);
}

/*
 * The parts one by one, which are compared with the reference, must give the bits of the chain. The
 * contract says so, and thus the chain is as right as they are.
 */
static const gemm_variant *run_chain_checked(const op_run *c)
{
    const gemm_variant *ran = run_traced(c);
    float *parts = ran ? run_parts(c) : NULL;
    if (!ran) return NULL;
    gemm_read_back(c->op);
    gemm_check_parts(c->op, parts, ran->name);
    free(parts);
    return ran;
}
