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

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Calibration needs the input of each convolution, and a chain does not write those in it. */
static bool is_offered(const gemm_op *op)
{
    const gemm_state *s = gemm_get_state();
    if (s->calibrate && op->kind == GEMM_CHAIN) return false;
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

/* Shows calibration the input of a convolution. With a pool that the row declines, the convolution
   comes again alone. */
static void calibrate(const conv_call *c, bool norm, bool done)
{
    if (!gemm_get_state()->calibrate || (c->pool && !done)) return;
    const gemm_op op = gemm_op_of_conv(c);
    const gemm_span input = gemm_op_span(&op, 0);
    gemm_host_read(input.data, input.bytes);
    gemm_calibration_add(c, norm);
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

bool gemm_conv_chain(const conv_call *calls, const conv_norm *const *norms, int count,
                     gemm_plan **const *slots, const layer_call *shortcut)
{
    const int before = errno;
    folded f = {.count = 0};
    const chain_call given = {calls, count, shortcut}, own = {f.calls, count, shortcut};
    const gemm_op asked = gemm_op_of_chain(&given), op = gemm_op_of_chain(&own);
    bool done = is_offered(&asked) && gemm_op_is_valid(&asked);
    for (int i = 0; done && i < count; ++i) done = fold(&f, &calls[i], norms[i], slots[i]);
    done = done && is_run(&op, f.plans);
    unfold(&f);
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
