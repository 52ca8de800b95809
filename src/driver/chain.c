/*
 * The driver of chains: consecutive convolutions as one call. It works like convolution.c, with a
 * plan and a folded batch norm for each layer. gemm_dispatch.h says what a chain is. All other
 * convolutions are declined here: they get no plan, and no row sees them.
 */
#include "auto/bytes.h"
#include "auto/turns.h"
#include "check/check.h"
#include "driver/driver.h"
#include "driver/failure.h"
#include "driver/memory.h"
#include "driver/plan.h"
#include "driver/start.h"
#include "driver/trace.h"
#include "driver/valid.h"
#include "util/clock.h"
#include "util/die.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3 };

/* The calls with folded batch norm. Shifts of which no plan is kept are the chain's own. */
typedef struct folded {
    conv_call calls[MOST];
    float *own[MOST];
    gemm_plan *plans[MOST];
    gemm_kept *kept[MOST];
} folded;

/* False: there is no memory. */
static bool fold(folded *f, int i, const conv_norm *norm, gemm_plan **slot)
{
    conv_call *c = &f->calls[i];
    gemm_plan *plan = f->plans[i] = gemm_plan_get(slot, gemm_chosen(), c, norm);
    f->kept[i] = plan ? gemm_plan_kept(plan) : NULL;
    if (!norm) return true;
    const float *scale = plan ? gemm_plan_norm(plan, c, norm) : NULL;
    if (!scale) scale = f->own[i] = gemm_fold_norm(c, norm);
    if (!scale) return false;
    c->scale = scale;
    c->shift = scale + c->n;
    return true;
}

static bool run(const folded *f, int count, const layer_call *shortcut)
{
    const gemm_state *state = gemm_get_state();
    const gemm_variant *row = gemm_chosen();
    gemm_note note;
    gemm_context context = gemm_state_context(state, &note);
    context.chain_kept = f->kept;
    const double start = state->trace ? gemm_now_ms() : 0;
    if (!row->leaves) gemm_die_if_lost(gemm_chain_to_cpu(f->calls, count, shortcut));
    const gemm_status status = row->chain(f->calls, count, shortcut, &context, row->params);
    if (status == GEMM_FAILED)
        gemm_say_failed("%s failed for a chain of %d convolutions, which is left to the caller: "
                        "%s", row->name, count, note.reason);
    if (status == GEMM_DONE && state->trace)
        gemm_trace_chain(row, f->calls, count, shortcut, gemm_now_ms() - start, &note);
    return status == GEMM_DONE;
}

/* The shortcut alone, behind the convolutions alone. Its output replaces theirs. False: it cannot
   be computed. */
static bool add(const layer_call *shortcut, float **last)
{
    const layer_input inputs[2] = {{*last, shortcut->input[0].size}, shortcut->input[1]};
    layer_call alone = *shortcut;
    alone.input = inputs;
    alone.output = malloc(gemm_layer_output_bytes(shortcut));
    const bool done = alone.output && gemm_layer(&alone);
    free(done ? *last : alone.output);
    if (done) *last = alone.output;
    return done;
}

/* The layers one by one. False: not all of them can be computed. */
static bool run_alone(const conv_call *calls, const conv_norm *const *norms, int count,
                      gemm_plan **const *slots, const layer_call *shortcut, float *outputs[MOST])
{
    for (int i = 0; i < count; ++i) {
        conv_call c = calls[i];
        if (i) c.input = outputs[i - 1];
        c.output = outputs[i] = malloc(gemm_conv_output_bytes(&c));
        if (!c.output || !gemm_conv(&c, norms[i], slots[i])) return false;
    }
    return !shortcut || add(shortcut, &outputs[count - 1]);
}

/* Whether two outputs are the same. A NaN is one, whatever its bits. */
static bool are_same(const float *a, const float *b, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *a; ++i)
        if (memcmp(&a[i], &b[i], sizeof *a) && !(isnan(a[i]) && isnan(b[i]))) return false;
    return true;
}

/*
 * GEMM_CHECK: the layers one by one, which gemm_conv compares with the reference, must give the
 * bits of the chain. The contract says so, and thus the chain is as right as they are.
 */
static void check(const conv_call *calls, const conv_norm *const *norms, int count,
                  gemm_plan **const *slots, const layer_call *shortcut)
{
    float *outputs[MOST] = {NULL};
    const conv_call *last = &calls[count - 1];
    const float *output = shortcut ? shortcut->output : last->output;
    const bool alone = run_alone(calls, norms, count, slots, shortcut, outputs);
    gemm_host_read(output, gemm_conv_output_bytes(last));
    if (!alone)
        gemm_record_unchecked();
    else if (!are_same(output, outputs[count - 1], gemm_conv_output_bytes(last)))
        gemm_die_first("GEMM_CHECK: %s is wrong for a chain of %d convolutions that ends with %d "
                       "filters over %dx%dx%d%s: its bits are not those of the layers one by one",
                       gemm_chosen()->name, count, last->n, last->w, last->h, last->c,
                       shortcut ? " and a shortcut" : "");
    for (int i = 0; i < count; ++i) free(outputs[i]);
}

static bool is_depthwise(const conv_call *c)
{
    return c->groups == c->c && c->n == c->c;
}

static bool follows(const conv_call *c, const conv_call *before)
{
    return c->batch == before->batch && c->c == before->n && c->h == before->out_h &&
           c->w == before->out_w;
}

/* Whether the calls are a chain of the contract. It is asked before batch norm is folded, because
   Darknet offers every two convolutions that follow each other. */
static bool is_chain(const conv_call *calls, int count, const layer_call *shortcut)
{
    if (count < 2 || count > MOST) return false;
    for (int i = 0; i < count; ++i) {
        const conv_call *c = &calls[i];
        if (c->pool || !gemm_conv_is_valid(c)) return false;
        if (i && !follows(c, c - 1)) return false;
        if (i == count - 2 ? !is_depthwise(c) : c->groups != 1 || !gemm_conv_is_pointwise(c))
            return false;
    }
    const conv_call *last = &calls[count - 1];
    return !shortcut || (shortcut->kind == LAYER_SHORTCUT && gemm_layer_is_valid(shortcut) &&
                         shortcut->batch == last->batch && shortcut->out_c == last->n &&
                         shortcut->out_h == last->out_h && shortcut->out_w == last->out_w);
}

static bool run_chain(const conv_call *calls, const conv_norm *const *norms, int count,
                      gemm_plan **const *slots, const layer_call *shortcut)
{
    if (!gemm_conv_offered() || !gemm_chosen()->chain || !is_chain(calls, count, shortcut))
        return false;
    folded f = {.own = {NULL}};
    bool done = true;
    for (int i = 0; i < count; ++i) f.calls[i] = calls[i];
    for (int i = 0; i < count && done; ++i) done = fold(&f, i, norms[i], slots[i]);
    done = done && run(&f, count, shortcut);
    for (int i = 0; i < count; ++i) {
        if (f.plans[i]) gemm_plan_count(f.plans[i]);
        free(f.own[i]);
    }
    if (done && gemm_get_state()->check) check(calls, norms, count, slots, shortcut);
    return done;
}

bool gemm_conv_chain(const conv_call *calls, const conv_norm *const *norms, int count,
                     gemm_plan **const *slots, const layer_call *shortcut)
{
    const int before = errno;
    const bool done = run_chain(calls, norms, count, slots, shortcut);
    errno = before;
    return done;
}
