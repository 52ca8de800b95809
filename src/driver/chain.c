/*
 * The driver of chains: consecutive convolutions as one call. Like convolution.c, but with a plan
 * and a folded batch norm for each layer.
 */
#include "driver/bytes.h"
#include "driver/driver.h"
#include "driver/plan.h"
#include "driver/start.h"
#include "driver/trace.h"
#include "util/clock.h"
#include "util/die.h"

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

static bool run(const folded *f, int count)
{
    const gemm_state *state = gemm_get_state();
    const gemm_variant *row = gemm_chosen();
    const conv_call *calls = f->calls;
    gemm_note note;
    gemm_context context = gemm_state_context(state, &note);
    context.chain_kept = f->kept;
    const double start = state->trace ? gemm_now_ms() : 0;
    if (!row->leaves) {
        gemm_host_read(calls->input, gemm_conv_input_bytes(calls));
        gemm_host_write(calls[count - 1].output, gemm_conv_output_bytes(&calls[count - 1]));
    }
    const gemm_status status = row->chain(calls, count, &context, row->params);
    if (status == GEMM_FAILED)
        gemm_die("%s failed for a chain of %d convolutions, and its output is undefined: %s",
                 row->name, count, note.reason);
    if (status == GEMM_DONE && state->trace)
        gemm_trace_chain(row, calls, count, gemm_now_ms() - start, &note);
    return status == GEMM_DONE;
}

/*
 * GEMM_CHECK: the layers one by one, which gemm_conv compares with the reference, must give the
 * bits of the chain. The contract says so, and thus the chain is as right as they are.
 */
static void check(const conv_call *calls, const conv_norm *const *norms, int count,
                  gemm_plan **const *slots)
{
    float *outputs[MOST];
    for (int i = 0; i < count; ++i) {
        conv_call c = calls[i];
        if (i) c.input = outputs[i - 1];
        c.output = outputs[i] = malloc(gemm_conv_output_bytes(&c));
        if (!c.output || !gemm_conv(&c, norms[i], slots[i]))
            gemm_die("GEMM_CHECK: no memory for the layers of a chain");
    }
    const conv_call *last = &calls[count - 1];
    gemm_host_read(last->output, gemm_conv_output_bytes(last));
    if (memcmp(last->output, outputs[count - 1], gemm_conv_output_bytes(last)))
        gemm_die("GEMM_CHECK: %s is wrong for a chain of %d convolutions that ends with %d filters "
                 "over %dx%dx%d: its bits are not those of the layers one by one",
                 gemm_chosen()->name, count, last->n, last->w, last->h, last->c);
    for (int i = 0; i < count; ++i) free(outputs[i]);
}

static bool is_valid(const conv_call *calls, int count)
{
    if (count < 2 || count > MOST) return false;
    for (int i = 0; i < count; ++i)
        if (calls[i].batch < 1 || calls[i].out_h < 1 || calls[i].out_w < 1) return false;
    return true;
}

bool gemm_conv_chain(const conv_call *calls, const conv_norm *const *norms, int count,
                     gemm_plan **const *slots)
{
    if (!gemm_conv_offered() || !gemm_chosen()->chain || !is_valid(calls, count)) return false;
    folded f = {.own = {NULL}};
    bool done = true;
    for (int i = 0; i < count; ++i) f.calls[i] = calls[i];
    for (int i = 0; i < count && done; ++i) done = fold(&f, i, norms[i], slots[i]);
    done = done && run(&f, count);
    for (int i = 0; i < count; ++i) {
        if (f.plans[i]) gemm_plan_count(f.plans[i]);
        free(f.own[i]);
    }
    if (done && gemm_get_state()->check) check(calls, norms, count, slots);
    return done;
}
