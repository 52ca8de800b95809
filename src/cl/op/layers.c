/* SPDX-License-Identifier: MIT */
/*
 * Layers without weights on the OpenCL device: one launch each, and for a route one for each input.
 * A GPU with memory of its own copies two inputs in one launch. Others were not measured.
 *
 * An output in a block of gemm_cl_alloc stays on the device, and nothing waits. Inputs that are
 * there already are used as they lie.
 *
 * A device that is a CPU gets one item a row, whose loop its compiler turns into vectors
 * (-DBY_ROW). Every other device gets one item an element.
 */
#include "cl/op/layers.h"

#include "../../../kernels/cl_layer_run.h"
#include "cl/memory/left.h"
#include "cl/op/launch.h"
#include "util/text.h"

#include <limits.h>
#include <stdio.h>

enum { RUN = CL_LAYER_RUN };    /* elements of a "row" where the layer has no rows */

static const gemm_cl_family family = {.kernel = "cl_layer"};
static const gemm_cl_row by_item = {.family = &family};
static const gemm_cl_row by_row = {.family = &family, .wx = 1, .wy = 1};

/* An item has a whole row. */
static bool is_by_row(const gemm_cl_work *w)
{
    return w->row->wx;
}

/* Whether the kernels' int arithmetic is wide enough, and sizes are those that they expect. */
static bool fits(const layer_call *c)
{
    const double out = (double)c->out_c * c->out_h * c->out_w;
    const double in = (double)c->c * c->h * c->w;
    double inputs = 0;
    for (int i = 0; i < c->inputs; ++i) inputs += c->input[i].size;
    if (c->batch * out > INT_MAX / 2 || c->batch * inputs > INT_MAX / 2) return false;
    if (c->kind == LAYER_ROUTE) return inputs == out;
    if (c->kind == LAYER_SHORTCUT)
        return c->input[0].size == out && c->input[1].size == in && gemm_shortcut_has_one_stride(c);
    if (c->kind == LAYER_YOLO && (c->c % c->anchors || in != out)) return false;
    return c->input[0].size == in && c->out_c == c->c;
}

/* ---- kernels ---- */

/* Such a layer has no plan. So its kernel object, which keeps its arguments, is found by what it
   writes, and where. */
typedef struct own_kernel {
    const gemm_cl_program *program;
    cl_mem out;
    size_t o0;
    gemm_cl_kernel *of[STAGES];
} own_kernel;

enum { OWN = 128 };             /* launches; more than most networks have */
static own_kernel own[OWN];
static int next_own;            /* the place for the next one */

static gemm_cl_kernel **find_own(const gemm_cl_program *p, cl_mem out, size_t o0)
{
    for (own_kernel *k = own; k < own + OWN && k->program; ++k)
        if (k->program == p && k->out == out && k->o0 == o0) return k->of;
    own_kernel *k = &own[next_own];
    next_own = (next_own + 1) % OWN;
    for (int i = 0; i < STAGES; ++i) gemm_cl_release_own(&k->of[i]);
    *k = (own_kernel){.program = p, .out = out, .o0 = o0};
    return k->of;
}

void gemm_cl_release_layers(void)
{
    for (own_kernel *k = own; k < own + OWN; ++k) {
        for (int i = 0; i < STAGES; ++i) gemm_cl_release_own(&k->of[i]);
        *k = (own_kernel){0};
    }
}

/* Writes from element o0 of the output on. An item for each of x * y * z; by row, one for each of
   y * z, as kernels/cl_layer.h says. */
static int launch(gemm_cl_work *w, const char *kernel, const char *options,
                  const gemm_cl_arguments *args, size_t o0, int x, int y, int z)
{
    gemm_text all = {0};
    size_t local[3], global[3] = {(size_t)x, (size_t)y, (size_t)z};
    if (is_by_row(w)) global[0] = (size_t)y, global[1] = (size_t)z, global[2] = 1;
    gemm_text_add(&all, "%s%s", options, is_by_row(w) ? "-DBY_ROW" : "");
    w->program = gemm_cl_need(kernel, gemm_text_whole(&all));
    gemm_text_free(&all);
    if (gemm_cl_postpones()) return 0;      /* the next ones are asked for too */
    if (!w->program || w->asks) return w->program ? 0 : -1;
    gemm_cl_set_groups(w, global, local);
    w->own = find_own(w->program, w->C.mem, o0);
    return gemm_cl_launch(w, w->program, STAGE_MULTIPLY, args, global, local);
}

/* The same for n elements that are alike. */
static int launch_each(gemm_cl_work *w, const char *kernel, const gemm_cl_arguments *args,
                       size_t o0, int n, int images)
{
    return launch(w, kernel, "", args, o0, n, is_by_row(w) ? ceil_div(n, RUN) : 1, images);
}

/* The members of CL_IN_OUT (kernels/cl_layer_arguments.h). */
#define IN_OUT(w) \
    .in = (w)->B.mem, .i0 = (w)->B.offset, .out = (w)->C.mem, .o0 = (w)->C.offset

static int max_pool(gemm_cl_work *w, const layer_call *c)
{
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        maxpool, .h = c->h, .w = c->w, .out_h = c->out_h, .out_w = c->out_w, .size = c->size,
        .stride = c->stride, .offset = c->pad / 2, IN_OUT(w));
    return launch(w, "cl_maxpool", "", &args, 0, c->out_w, c->out_h, c->batch * c->c);
}

static int average(gemm_cl_work *w, const layer_call *c)
{
    const int planes = c->batch * c->c;
    const gemm_cl_arguments args = GEMM_CL_ARGS(avgpool, .planes = planes, .area = c->h * c->w,
                                                IN_OUT(w));
    return launch_each(w, "cl_avgpool", &args, 0, planes, 1);
}

static int upsample(gemm_cl_work *w, const layer_call *c)
{
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        upsample, .h = c->h, .w = c->w, .stride = c->stride, .alpha = c->alpha, IN_OUT(w));
    return launch(w, "cl_upsample", "", &args, 0, c->w, c->h, c->batch * c->c);
}

static int shortcut(gemm_cl_work *w, const layer_call *c)
{
    const int n = c->batch * c->input[0].size;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        shortcut, .n = n, .alpha = c->alpha, .beta = c->beta, .activation = (int)c->activation,
        .a = w->B.mem, .a0 = w->B.offset, .b = w->A.mem, .b0 = w->A.offset, .out = w->C.mem,
        .o0 = w->C.offset, .channels = c->c, .h = c->h, .w = c->w, .out_c = c->out_c,
        .out_h = c->out_h, .out_w = c->out_w);
    if (gemm_shortcut_is_equal(c)) return launch_each(w, "cl_shortcut", &args, 0, n, 1);
    return launch(w, "cl_shortcut", "-DSIZES ", &args, 0, c->out_w, c->out_h, c->batch * c->out_c);
}

static int yolo(gemm_cl_work *w, const layer_call *c)
{
    const int area = c->h * c->w;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        yolo, .area = area, .entries = c->c / c->anchors, IN_OUT(w));
    return launch(w, "cl_yolo", "", &args, 0, area, 1, c->batch * c->c);
}

int gemm_cl_launch_route(gemm_cl_work *w, const layer_call *c, int i, bool two)
{
    const int n = c->input[i].size, m = two ? c->input[i + 1].size : 0;
    size_t o0 = 0;
    while (i) o0 += (size_t)c->input[--i].size;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        copy, .n = n, .in = w->B.mem, .i0 = w->B.offset, .out = w->C.mem,
        .o0 = w->C.offset + o0, .size = c->out_c * c->out_h * c->out_w, .all = n + m,
        .second = w->A.mem, .s0 = w->A.offset);
    return launch_each(w, two ? "cl_copy_two" : "cl_copy", &args, o0, n + m, c->batch);
}

int gemm_cl_launch_layer(gemm_cl_work *w, const layer_call *c)
{
    switch (c->kind) {
    case LAYER_MAXPOOL: return max_pool(w, c);
    case LAYER_AVGPOOL: return average(w, c);
    case LAYER_UPSAMPLE: return upsample(w, c);
    case LAYER_SHORTCUT: return shortcut(w, c);
    case LAYER_YOLO: return yolo(w, c);
    case LAYER_ROUTE: break;
    }
    return -1;
}

/* ---- an activation behind a convolution ---- */

const gemm_cl_program *gemm_cl_need_activation(void)
{
    return gemm_cl_need("cl_activate", gemm_cl_opened()->traits.cpu ? "-DBY_ROW" : "");
}

int gemm_cl_activate(gemm_cl_work *w, conv_activation a, int n)
{
    const bool cpu = w->device->traits.cpu;
    const gemm_cl_program *p = gemm_cl_need_activation();
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        activate, .n = n, .activation = (int)a, .data = w->C.mem, .d0 = w->C.offset);
    if (!p) return -1;
    return gemm_cl_launch_lines(w, p, STAGE_ACTIVATE, &args,
                                (size_t)(cpu ? ceil_div(n, RUN) : n), 1, 1);
}

/* ---- operands ---- */

static int show_input(gemm_cl_work *w, const layer_call *c, gemm_cl_view *v, int i,
                      gemm_cl_slot slot)
{
    const layer_input *in = &c->input[i];
    *v = gemm_cl_dense_view(w, in->data, (size_t)c->batch, (size_t)in->size, w->C.later);
    return w->asks ? 0 : w->policy->input(v, slot);
}

/* Input i as B, and with `two` the next one as A. */
static int show_inputs(gemm_cl_work *w, const layer_call *c, int i, bool two)
{
    return show_input(w, c, &w->B, i, SLOT_B) ||
           (two && show_input(w, c, &w->A, i + 1, SLOT_SECOND)) ? -1 : 0;
}

/* Before another input takes its place. Not where nothing waits: an input that a launch still reads
   stays as it is. */
static int close_input(gemm_cl_work *w, gemm_cl_view *v)
{
    const int rc = v->later || w->asks ? 0 : w->policy->close(v);
    *v = (gemm_cl_view){0};
    return rc;
}

static int show_output(gemm_cl_work *w, const layer_call *c)
{
    const size_t size = (size_t)(c->out_c * c->out_h * c->out_w), batch = (size_t)c->batch;
    const bool later = gemm_cl_may_stay(c->output, batch * size * sizeof(float));
    w->C = gemm_cl_dense_view(w, c->output, batch, size, later);
    w->C.overwrite = true;
    return w->policy->output(&w->C);
}

static int route(gemm_cl_work *w, const layer_call *c)
{
    size_t copied_a = 0, copied_b = 0;
    for (int i = 0, two; i < c->inputs; i += 1 + two) {
        two = i + 1 < c->inputs && !w->device->traits.unified;
        if (i && (close_input(w, &w->A) || close_input(w, &w->B))) return -1;
        if (show_inputs(w, c, i, two) || gemm_cl_launch_route(w, c, i, two)) return -1;
        copied_a += w->A.copied;
        copied_b += w->B.copied;
    }
    w->A.copied = copied_a;
    w->B.copied = copied_b;
    return 0;
}

static int enqueue(gemm_cl_work *w, const layer_call *c)
{
    if (c->kind == LAYER_ROUTE) return route(w, c);
    const int rc = show_inputs(w, c, 0, c->kind == LAYER_SHORTCUT);
    return rc ? rc : gemm_cl_launch_layer(w, c);
}

/* ---- one layer ---- */

gemm_status gemm_cl_run_layer(const layer_call *c, const gemm_context *context)
{
    if (!fits(c)) return GEMM_DECLINED;
    gemm_cl_work w = gemm_cl_begin_work(gemm_cl_opened()->traits.cpu ? &by_row : &by_item);
    if (w.asks) return enqueue(&w, c) || gemm_cl_postpones() ? GEMM_DECLINED : GEMM_DONE;
    gemm_cl_share_copies(&w, context);
    const bool failed = show_output(&w, c) || enqueue(&w, c) || gemm_cl_ask_result(&w) ||
                        gemm_cl_take_result(&w, context->timed);
    if (!failed) {
        gemm_cl_fill_note(&w, false, context->note);
        snprintf(context->note->ran, sizeof context->note->ran, "%s", w.program->name);
        strcpy(context->note->weighed, is_by_row(&w) ? "by rows: the device is a CPU" : "by items");
    }
    return gemm_cl_end_work(&w, failed, context->note);
}
