/* SPDX-License-Identifier: MIT */
/*
 * The driver of whole layers: a convolution, a chain of convolutions, a layer without weights.
 *
 * Each convolution gets the plan of its layer, which has batch norm folded into a scale and a shift
 * for each filter. Then gemm_run_op runs the op. When the variant declines, Darknet runs its own
 * code.
 */
#include "calibrate/calibrate.h"
#include "check/check.h"
#include "driver/driver.h"
#include "driver/memory.h"
#include "driver/plan.h"
#include "driver/run.h"
#include "driver/start.h"
#include "driver/valid.h"
#include "util/die.h"
#include "util/threads.h"
#include "util/workspace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Calibration needs the input of each convolution, and a chain does not write those in it. A row in
   8 bits is only compared. */
static bool is_offered(const gemm_op *op)
{
    const gemm_state *s = gemm_get_state();
    if (s->calibrate && op->kind == GEMM_CHAIN && !s->impl->calibrated) return false;
    return s->conv != GEMM_IM2COL && gemm_op_offered(op, gemm_chosen());
}

bool gemm_conv_offered(void)
{
    const int before = errno;
    const gemm_op any = {.kind = GEMM_CONVOLUTION};
    const bool offered = is_offered(&any);
    errno = before;
    return offered;
}

/* ---- batch norm ---- */

/* The convolutions of an op with their plans. A folded batch norm of which no plan is kept lasts
   for the call. */
typedef struct folded {
    int count;
    conv_call calls[GEMM_CHAIN_MOST];
    gemm_plan *plans[GEMM_CHAIN_MOST];
    float *own[GEMM_CHAIN_MOST];
} folded;

/* Of a plan that does not belong to the layer any more. */
static void say_old(const conv_call *c, const char *changed)
{
    gemm_die_first("GEMM_CHECK: the %s of a layer with %d filters %dx%d/%d changed, and its plan "
                   "was not dropped", changed, c->n, c->size, c->size, c->stride);
}

static void check_norm(const conv_call *c, const conv_norm *norm, const float *planned)
{
    float *now = gemm_fold_norm(c, norm);
    if (!now) gemm_record_unchecked();
    else if (memcmp(now, planned, 2 * (size_t)c->n * sizeof *now)) say_old(c, "batch norm");
    free(now);
}

/* One more convolution. False: there is no memory. */
static bool fold(folded *f, const conv_call *call, const conv_norm *norm, gemm_plan **slot)
{
    const int i = f->count++;
    conv_call *c = &f->calls[i];
    *c = *call;
    f->own[i] = NULL;
    f->plans[i] = gemm_plan_get(slot, gemm_chosen(), c, norm);
    if (gemm_get_state()->check && f->plans[i] && gemm_plan_is_old(f->plans[i], c))
        say_old(c, "weights");
    if (!norm) return true;
    const float *scale = f->plans[i] ? gemm_plan_norm(f->plans[i], c, norm) : NULL;
    if (scale && gemm_get_state()->check) check_norm(c, norm, scale);
    if (!scale) scale = f->own[i] = gemm_fold_norm(c, norm);
    if (!scale) return false;
    c->scale = scale;
    c->shift = scale + c->n;
    return true;
}

static void unfold(const folded *f)
{
    for (int i = 0; i < f->count; ++i) free(f->own[i]);
}

/* Shows calibration a convolution. With a pool that the row declines, it comes again alone. */
static void calibrate(const conv_call *c, bool norm, bool done)
{
    if (!gemm_get_state()->calibrate || (c->pool && !done)) return;
    const gemm_op op = gemm_op_of_conv(c);
    for (int i = 0; i < gemm_op_spans(&op); ++i) {
        const gemm_span span = gemm_op_span(&op, i);
        gemm_host_read(span.data, span.bytes);
    }
    gemm_calibration_add(c, norm, done);
}

/* ---- what a host calls ---- */

static bool is_run(const gemm_op *op, gemm_plan *const *plans)
{
    gemm_note note;
    return gemm_run_op(gemm_chosen(), op, plans, &note) != NULL;
}

bool gemm_conv(const conv_call *c, const conv_norm *norm, gemm_plan **slot)
{
    const int before = errno;
    folded f = {.count = 0};
    const gemm_op given = gemm_op_of_conv(c), op = gemm_op_of_conv(f.calls);
    const bool done = is_offered(&given) && gemm_op_is_valid(&given) && fold(&f, c, norm, slot) &&
                      is_run(&op, f.plans);
    if (f.count) calibrate(f.calls, norm, done);
    unfold(&f);
    errno = before;
    return done;
}

static bool run_chain(const chain_call *given, const conv_norm *const *norms,
                      gemm_plan **const *slots)
{
    folded f = {.count = 0};
    chain_call own = *given;
    own.convs = f.calls;
    const gemm_op asked = gemm_op_of_chain(given), op = gemm_op_of_chain(&own);
    bool done = is_offered(&asked) && gemm_op_is_valid(&asked);
    for (int i = 0; done && i < given->count; ++i)
        done = fold(&f, &given->convs[i], norms[i], slots[i]);
    done = done && is_run(&op, f.plans);
    const int last = given->count - 1;
    if (done && !given->shortcut) calibrate(&f.calls[last], norms[last] != NULL, done);
    unfold(&f);
    return done;
}

bool gemm_conv_chain(const conv_call *calls, const conv_norm *const *norms, int count,
                     gemm_plan **const *slots, const layer_call *shortcut)
{
    const int before = errno;
    const bool done = run_chain(&(chain_call){calls, count, shortcut, 0}, norms, slots);
    errno = before;
    return done;
}

/* ---- chains that follow each other ---- */

/* A chain between these two maps. */
typedef struct chain_part {
    conv_call calls[GEMM_CHAIN_MOST];
    layer_input inputs[2];
    layer_call shortcut;
    chain_call chain;
} chain_part;

static void make_part(chain_part *p, const gemm_chain *c, gemm_lanes lanes, const float *input,
                      float *output)
{
    memcpy(p->calls, c->calls, (size_t)c->count * sizeof *p->calls);
    p->calls[0].input = input;
    p->calls[c->count - 1].output = output;
    p->chain = (chain_call){p->calls, c->count, NULL, lanes};
    if (!c->shortcut) return;
    p->inputs[0] = c->shortcut->input[0];
    p->inputs[1] = (layer_input){input, c->shortcut->input[1].size};
    p->shortcut = *c->shortcut;
    p->shortcut.input = p->inputs;
    p->shortcut.output = output;
    p->chain.shortcut = &p->shortcut;
}

/* Maps between chains take turns in the memory of two. Returns false when a chain declines. */
static bool run_parts(const gemm_chain *c, int count, bool lanes, float *maps, size_t floats,
                      float *output)
{
    const float *input = c->calls->input;
    chain_part part;
    for (int i = 0; i < count; ++i) {
        const bool ends = i + 1 == count;
        float *const to = ends ? output : maps + i % 2 * floats;
        const gemm_lanes in = i ? GEMM_LANES_IN : 0, out = ends ? 0 : GEMM_LANES_OUT;
        make_part(&part, &c[i], lanes ? in | out : 0, input, to);
        if (!run_chain(&part.chain, c[i].norms, c[i].slots)) return false;
        input = to;
    }
    return true;
}

static const conv_call *last_of(const gemm_chain *c)
{
    return &c->calls[c->count - 1];
}

static float *output_of(const gemm_chain *c)
{
    return c->shortcut ? c->shortcut->output : last_of(c)->output;
}

/* Under GEMM_CHECK the chains one by one, which are checked, must give the same bits. */
static void check_chains(const gemm_chain *c, int count, float *maps, size_t floats)
{
    const gemm_chain *last = &c[count - 1];
    const chain_call chain = {last->calls, last->count, last->shortcut, 0};
    const gemm_op op = gemm_op_of_chain(&chain);
    float *const again = malloc(gemm_op_output_bytes(&op));
    const bool done = again && run_parts(c, count, false, maps, floats, again);
    gemm_check_parts(&op, done ? again : NULL, gemm_chosen()->name);
    free(again);
}

/* The largest map between two chains. 0: they do not follow each other. */
static size_t floats_between(const gemm_chain *c, int count)
{
    size_t most = 0;
    for (int i = 0; i < count; ++i) {
        const chain_call chain = {c[i].calls, c[i].count, c[i].shortcut, 0};
        const gemm_op op = gemm_op_of_chain(&chain);
        if (c[i].count < 2 || !gemm_op_is_valid(&op)) return 0;
        const conv_call *last = last_of(&c[i]);
        const size_t image = gemm_lanes_floats(last->n, gemm_conv_places(last));
        if (i ? !gemm_chain_follows(&chain, last_of(&c[i - 1])) : c[i].shortcut != NULL) return 0;
        if (i + 1 < count && image * (size_t)last->batch > most) most = image * (size_t)last->batch;
    }
    return most;
}

bool gemm_conv_chains(const gemm_chain *c, int count)
{
    const int before = errno;
    const size_t floats = floats_between(c, count);
    gemm_workspace *w = floats ? gemm_take_workspace(2 * floats) : NULL;
    const bool done = w && run_parts(c, count, true, w->data, floats, output_of(&c[count - 1]));
    if (done && gemm_get_state()->check) check_chains(c, count, w->data, floats);
    if (w) gemm_give_workspace(w);
    errno = before;
    return done;
}

bool gemm_layer(const layer_call *c)
{
    const int before = errno;
    const gemm_op op = gemm_op_of_layer(c);
    const bool done = is_offered(&op) && gemm_op_is_valid(&op) && is_run(&op, NULL);
    errno = before;
    return done;
}

int gemm_threads_apart(void)
{
    const int before = errno;
    const gemm_state *s = gemm_get_state();
    const bool may = gemm_conv_offered() && !s->calibrate && !gemm_shares_memory(gemm_chosen());
    errno = before;
    return may ? s->threads : 1;
}

typedef struct images {
    void (*run)(void *job, int image);
    void *job;
} images;

static void run_image(void *argument, int image, void *scratch)
{
    const images *all = argument;
    (void)scratch;
    all->run(all->job, image);
}

bool gemm_images_apart(int threads, int count, void (*run)(void *job, int image), void *job)
{
    const int before = errno;
    const bool done = !gemm_apart(threads, count, run_image, &(images){run, job});
    errno = before;
    return done;
}

bool gemm_prepare(bool begin)
{
    const int before = errno;
    const gemm_state *s = gemm_get_state();
    const bool may = gemm_conv_offered() && !s->impl->device && !s->impl->chooses && !s->check &&
                     !s->trace && !s->calibrate;
    gemm_set_jobs(begin && may ? GEMM_JOBS_SKIP : GEMM_JOBS_SHARE);
    errno = before;
    return may;
}

bool gemm_foresee(bool begin)
{
    const int before = errno;
    const gemm_state *s = gemm_get_state();
    const bool may = gemm_state_foresees(s);
    gemm_set_jobs(begin && may ? GEMM_JOBS_FORESEE : GEMM_JOBS_SHARE);
    if (may && !begin) s->impl->device->make_foreseen();
    errno = before;
    return may;
}

void gemm_pass_begin(const void *layers, int count, size_t inputs)
{
    (void)layers, (void)count, (void)inputs;
}

void gemm_pass_end(void) {}

/* ---- what benchmarks and tests call ---- */

bool gemm_conv_run(const gemm_variant *v, const conv_call *c, gemm_plan **slot, gemm_note *note)
{
    gemm_note own;
    const gemm_op op = gemm_op_of_conv(c);
    if (!gemm_op_is_valid(&op)) return false;
    gemm_plan *plan = gemm_plan_get(slot, v, c, NULL);
    return gemm_run_op(v, &op, &plan, note ? note : &own) != NULL;
}

bool gemm_layer_run(const gemm_variant *v, const layer_call *c, gemm_note *note)
{
    gemm_note own;
    const gemm_op op = gemm_op_of_layer(c);
    return gemm_op_is_valid(&op) && gemm_run_op(v, &op, NULL, note ? note : &own) != NULL;
}
