/* SPDX-License-Identifier: MIT */
/*
 * The way in to the OpenCL rows. Opens the device at the first call that needs it. Runs one call at
 * a time. Closes the device at exit.
 */
#include "gemm_cl.h"

#include "cl/device/pending.h"
#include "cl/memory/left.h"
#include "cl/op/convolution.h"
#include "cl/op/int8.h"
#include "cl/op/later.h"
#include "cl/op/layers.h"
#include "cl/op/multiply.h"
#include "cl/trial/trial.h"
#include "cl/tune/tune.h"
#include "int8/layer.h"

#include <stdio.h>
#include <stdlib.h>

/* Releases all that was made on the device, and then the device. Blocks that the caller still holds
   stay, because only the caller knows when they are unused. A thread that does not end keeps
   all. */
static void close_all(void)
{
    if (!gemm_cl_end_building()) return;
    gemm_cl_lock();
    const gemm_cl_device *d = gemm_cl_opened();
    if (d) {
        CL_TRY(clFinish(d->queue));
fail:
        gemm_cl_release_dropped();
        gemm_cl_release_unified();
        gemm_cl_release_discrete();
        gemm_cl_release_pending();
        gemm_cl_release_scratch();
        gemm_cl_release_layers();
        gemm_cl_release_programs();
    }
    gemm_cl_close_device("the program is ending");
    gemm_cl_unlock();
}

static bool open_all(const char **why)
{
    static bool registered;
    gemm_cl_set_trial(gemm_cl_try);
    if (!gemm_cl_open_device(why)) return false;
    if (registered || atexit(close_all) == 0) return registered = true;
    gemm_cl_close_device("atexit is full");
    return gemm_cl_open_device(why);
}

/* Whether the device is open; says why not. */
static bool is_open(void)
{
    const char *why;
    if (open_all(&why)) return true;
    gemm_cl_say(why);
    return false;
}

/* ---- calls ---- */

/* A call from its first half to its second one. gemm_cl_lock is held meanwhile. */
typedef struct half_call {
    bool convolves;
    gemm_cl_job multiply;
    gemm_cl_conv_job convolution;
} half_call;

/* Whether the device is open for a call with this context. */
static bool begin(const gemm_context *context)
{
    if (!is_open()) return false;
    gemm_cl_foresee(context->foresees);
    if (context->foresees) return true;
    gemm_cl_want_times(context->timed || gemm_cl_is_counting());
    return true;
}

/* The end of a first half: only a call that goes on keeps the lock. */
static gemm_status end_start(gemm_status status, const gemm_context *context)
{
    if (status != GEMM_DONE || context->foresees) gemm_cl_unlock();
    return status;
}

/* The form of a whole call. A part of one, beside the CPU, is not in the table. Nor does the first
   picture get filters that are transformed: that pays only when more follow. */
static const gemm_cl_form *form_of(const gemm_op *op, const gemm_cl_row *row,
                                   gemm_cl_mode mode, const gemm_context *context)
{
    if (context->probe) return &context->probe->form;
    const gemm_cl_form *form = mode == GEMM_CL_ALONE ? gemm_cl_form_for(op, row, context) : NULL;
    const bool waits = form && form->row && form->row->winograd && context->first;
    return waits ? NULL : form;
}

/* `shortcut`: of a convolution, or NULL. One with a form whose kernel cannot add it runs alone. */
static gemm_status start(half_call *h, const gemm_op *op, const layer_call *shortcut,
                         const gemm_cl_row *row, gemm_cl_mode mode, const gemm_context *context)
{
    gemm_cl_lock();
    h->convolves = op->kind == GEMM_CONVOLUTION;
    if (!begin(context)) return end_start(GEMM_DECLINED, context);
    const gemm_cl_form *form = form_of(op, row, mode, context);
    if ((shortcut && form && form->row && !gemm_cl_adds(form->row)) ||
        (context->foresees && !h->convolves))
        return end_start(GEMM_DECLINED, context);
    return end_start(
        h->convolves
            ? gemm_cl_convolve_start(&h->convolution, op->conv, shortcut, row, form, context)
            : gemm_cl_multiply_start(&h->multiply, op->multiply, row, form, mode, context),
        context);
}

/* Whether both layers of a chain are computed as usual: a chain has the bits of its layers
   one by one. They are not measured from then on. */
static bool has_defaults(const conv_call *calls, const gemm_cl_row *row,
                         const gemm_context *context)
{
    for (int i = 0; i < 2; ++i) {
        const gemm_op op = {GEMM_CONVOLUTION, {.conv = &calls[i]}};
        const gemm_cl_form *form = gemm_cl_form_for(&op, row, context);
        if (form && form->row) return false;
    }
    return true;
}

static gemm_status start_chain(half_call *h, const conv_call *calls, const layer_call *shortcut,
                               const gemm_cl_row *row, const gemm_context *context)
{
    gemm_cl_lock();
    h->convolves = true;
    if (!begin(context)) return end_start(GEMM_DECLINED, context);
    if (!has_defaults(calls, row, context)) return end_start(GEMM_DECLINED, context);
    const gemm_status status = gemm_cl_chain_start(&h->convolution, calls, shortcut, row,
                                                   context);
    for (int i = 0; i < 2 && status == GEMM_DONE && !context->foresees; ++i)
        gemm_cl_keep_default(&(gemm_op){GEMM_CONVOLUTION, {.conv = &calls[i]}}, row, context,
                             true);
    return end_start(status, context);
}

static gemm_status finish(half_call *h, const gemm_context *context)
{
    if (context->foresees) return GEMM_DONE;
    const gemm_status status =
        h->convolves ? gemm_cl_convolve_finish(&h->convolution, context)
                     : gemm_cl_multiply_finish(&h->multiply, context->note);
    gemm_cl_unlock();
    return status;
}

gemm_status gemm_cl_multiply_beside(const gemm_call *g, const gemm_context *context,
                                    const void *row)
{
    half_call h;
    const gemm_op op = {.multiply = g};
    const gemm_status status = start(&h, &op, NULL, row, GEMM_CL_BESIDE, context);
    return status == GEMM_DONE ? finish(&h, context) : status;
}

/* Measures the forms of an op where the table lacks it and shall have it. */
static void tune(const gemm_op *op, const gemm_cl_row *row, const gemm_context *context)
{
    gemm_cl_lock();
    const bool open = is_open();
    gemm_cl_unlock();
    const gemm_variant alone = {.name = "cl", .multiply = gemm_cl_multiply, .run = gemm_cl_run,
                                .kinds = GEMM_CONVS, .params = row};
    if (open) gemm_cl_measure(op, &alone, context);
}

/* What a call that is measured ran. */
static void note_form(const half_call *h, gemm_cl_probe *probe)
{
    const gemm_cl_work *w = h->convolves ? &h->convolution.w : &h->multiply.w;
    probe->ran = (gemm_cl_form){w->row, w->parts, 0};
    probe->measured = w->form;
}

/* A whole call. */
static gemm_status run(const gemm_op *op, const layer_call *shortcut,
                       const gemm_cl_row *row, const gemm_context *context)
{
    half_call h;
    if (!context->foresees) tune(op, row, context);
    const gemm_status status = start(&h, op, shortcut, row, GEMM_CL_ALONE, context);
    if (status != GEMM_DONE || context->foresees) return status;
    gemm_cl_keep_default(op, row, context, false);
    if (context->probe) note_form(&h, context->probe);
    return finish(&h, context);
}

gemm_status gemm_cl_multiply(const gemm_call *g, const gemm_context *context, const void *row)
{
    return run(&(gemm_op){.multiply = g}, NULL, row, context);
}

gemm_status gemm_cl_conv(const conv_call *c, const gemm_context *context, const void *row)
{
    return run(&(gemm_op){GEMM_CONVOLUTION, {.conv = c}}, NULL, row, context);
}

/* One convolution with the shortcut behind it. It is tuned as the convolution alone. */
static gemm_status run_with_shortcut(const conv_call *c, const layer_call *shortcut,
                                     const gemm_cl_row *row, const gemm_context *context)
{
    gemm_context own = *context;
    conv_call whole = *c;
    own.kept = context->chain_kept ? context->chain_kept[0] : NULL;
    whole.output = shortcut->output;
    return run(&(gemm_op){GEMM_CONVOLUTION, {.conv = &whole}}, shortcut, row, &own);
}

gemm_status gemm_cl_chain(const conv_call *calls, int count, const layer_call *shortcut,
                          const gemm_context *context, const void *row)
{
    half_call h;
    if (count == 1) return run_with_shortcut(calls, shortcut, row, context);
    if (count != 2) return GEMM_DECLINED;
    const gemm_status status = start_chain(&h, calls, shortcut, row, context);
    return status == GEMM_DONE ? finish(&h, context) : status;
}

static gemm_status int8_conv(const conv_call *c, const gemm_context *context, const void *row)
{
    bool single = false;
    if (!gemm_int8_takes(c, context->scale, context->way)) return gemm_cl_conv(c, context, row);
    if (context->foresees) return GEMM_DECLINED;
    gemm_cl_lock();
    const gemm_status status =
        begin(context) ? gemm_cl_run_int8(c, context, &single) : GEMM_DECLINED;
    gemm_cl_unlock();
    return single ? gemm_cl_conv(c, context, row) : status;
}

static gemm_status int8_chain(const conv_call *calls, int count, const layer_call *shortcut,
                              const gemm_context *context, const void *row)
{
    for (int i = 0; i < count && context->chain_scales; ++i)
        if (gemm_int8_takes(&calls[i], context->chain_scales[i], context->way))
            return GEMM_DECLINED;
    return gemm_cl_chain(calls, count, shortcut, context, row);
}

static gemm_status run_layer(const layer_call *c, const gemm_context *context, const void *row)
{
    (void)row;
    gemm_cl_lock();
    const gemm_status status = begin(context) ? gemm_cl_run_layer(c, context) : GEMM_DECLINED;
    gemm_cl_unlock();
    return status;
}

gemm_status gemm_cl_run(const gemm_op *op, const gemm_context *context, const void *row)
{
    return gemm_run_by(gemm_cl_conv, gemm_cl_chain, run_layer, op, context, row);
}

gemm_status gemm_cl_int8_run(const gemm_op *op, const gemm_context *context, const void *row)
{
    return gemm_run_by(int8_conv, int8_chain, run_layer, op, context, row);
}

/* ---- programs of a network ---- */

void gemm_cl_make_foreseen(void)
{
    gemm_cl_lock();
    if (gemm_cl_opened()) gemm_cl_build_foreseen();
    gemm_cl_unlock();
}

void gemm_cl_serve(void)
{
    const char *why;
    gemm_cl_lock();
    if (open_all(&why)) gemm_cl_serve_orders(gemm_cl_build_order);
    gemm_cl_unlock();
}

/* ---- later ---- */

/* What earlier ops of the pass left on the device, before the thread has that for long. */
static void bring_all(void)
{
    gemm_cl_lock();
    if (gemm_cl_opened()) gemm_cl_bring_all();
    gemm_cl_unlock();
}

/* An op that went by `cl` before lacks nothing: its plan has what that keeps. */
static const char *ask(const gemm_op *op, const gemm_context *context, const void *row,
                       gemm_row_multiply *multiply)
{
    static const char why[] = "cl's programs are being compiled";
    const bool multiplies = op->kind == GEMM_MULTIPLY, chain = op->kind == GEMM_CHAIN;
    const gemm_kept *plan = !chain ? context->kept : context->chain_kept
                            ? context->chain_kept[op->chain->count - 1] : NULL;
    if (!gemm_cl_was_late() && gemm_cl_kept_of(plan)) return NULL;
    if (gemm_cl_is_busy()) return why;
    gemm_cl_postpone();
    if (multiplies) multiply(op->multiply, context, row);
    else gemm_cl_run(op, context, row);
    const gemm_cl_lack lack = gemm_cl_end_postponing();
    if (lack && gemm_cl_has_left()) bring_all();
    return gemm_cl_is_late(lack, multiplies ? (void *)op->multiply->C : plan) ? why : NULL;
}

const char *gemm_cl_later(const gemm_op *op, const gemm_context *context, const void *row)
{
    return ask(op, context, row, gemm_cl_multiply);
}

const char *gemm_cl_later_beside(const gemm_op *op, const gemm_context *context, const void *row)
{
    return ask(op, context, row, gemm_cl_multiply_beside);
}

/* ---- the table ---- */

int gemm_cl_b_ld(int columns, const void *row)
{
    const char *why;
    const bool reads_images = ((const gemm_cl_row *)row)->family->kind == GEMM_CL_IMAGE;
    gemm_cl_lock();
    const bool shares = reads_images && open_all(&why) && gemm_cl_memory_policy()->shares;
    const int ld = shares ? gemm_cl_image_ld(gemm_cl_opened(), columns) : columns;
    gemm_cl_unlock();
    return ld;
}

/* Builds what a program of this row is likely to need first. `cl` in a network needs the kernel of
   a 1x1 layer, and often no kernel of a multiply. NULL, or why the row cannot run. */
static const char *build_typical(const gemm_cl_row *row)
{
    static const gemm_call multiply = {.M = 256, .N = 676, .K = 1152, .ALPHA = 1.0f};
    gemm_cl_job j;
    if (gemm_cl_chooses(row) && gemm_cl_settings()->layers)
        return gemm_cl_build_layer(row);
    return gemm_cl_build_job(&j, &multiply, row, NULL);
}

const char *gemm_cl_unusable(const void *row)
{
    const char *why;
    gemm_cl_lock();
    if (open_all(&why)) why = build_typical(row);
    gemm_cl_unlock();
    return why;
}

const char *gemm_cl_limits(const void *row)
{
    const char *why;
    gemm_cl_lock();
    if (open_all(&why)) why = gemm_cl_limit(row, &gemm_cl_opened()->traits);
    gemm_cl_unlock();
    return why;
}

char *gemm_cl_identify(void)
{
    const char *why;
    char *text = NULL;
    gemm_cl_lock();
    const gemm_cl_device *d = open_all(&why) ? gemm_cl_opened() : NULL;
    if (d && asprintf(&text, "%s, driver %s", d->name, d->driver) < 0) text = NULL;
    gemm_cl_unlock();
    return text;
}

bool gemm_cl_has_gpu(void)
{
    const char *why;
    gemm_cl_lock();
    const bool found = open_all(&why) && !gemm_cl_opened()->traits.cpu;
    gemm_cl_unlock();
    return found;
}

void *gemm_cl_alloc(size_t bytes)
{
    const char *why;
    gemm_cl_lock();
    const gemm_cl_host_block *b = bytes && open_all(&why) ? gemm_cl_new_block(bytes) : NULL;
    void *p = b ? b->base : NULL;
    gemm_cl_unlock();
    return p;
}
