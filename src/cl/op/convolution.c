/* SPDX-License-Identifier: MIT */
/*
 * One whole convolution on the OpenCL device, or a depthwise one and the 1x1 behind it; both also
 * with the shortcut behind them.
 *
 * For each image and each group it is a multiply (kernels/cl_conv.h). One launch of a kernel, built
 * with -DCONV, does all of them:
 *
 *   decide     the row, and its kernels (cl/op/ways.h); a plan keeps the decision
 *   keep       where the layer has a plan, weights, scale and shift go to the device once
 *   show       the memory policy shows weights, input and output to the device, as A, B and C.
 *              Without a plan, scale and shift go there too, 2 n floats, counted with the input.
 *              With a shortcut A is its other input, because the plan has the weights
 *   fill       only for cl_image: the device writes what im2col would write into one image. Every
 *              other kernel looks up the taps in the input. A 1x1 convolution of stride 1 needs no
 *              fill either, because its B is the input as it lies
 *   multiply   one launch; scale, shift and activation are applied before the store
 *   sum        only where K is cut: adds the parts and applies scale, shift and activation
 *   ask        the transfer of the output
 *   take       one wait. None where the plan has the weights and the output lies in a block of
 *              gemm_cl_alloc, because the output then stays on the device
 *
 * Winograd's algorithm has three launches in place of fill to sum (cl/op/winograd.h). Only the last
 * launch writes the output, so a failure before it leaves the output as it was.
 */
#include "cl/op/convolution.h"

#include "cl/device/pending.h"
#include "cl/op/layers.h"
#include "util/text.h"
#include "util/winograd.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef gemm_cl_conv_job conv_job;

/* ---- the kernels of a row ---- */

/* Filters of 1, 3 and 5 are built with their size as a constant. */
static bool has_common_size(const conv_call *c)
{
    return c->size <= 5 && c->size % 2;
}

static void add_size(const conv_call *c, gemm_text *options)
{
    if (has_common_size(c)) gemm_text_add(options, " -DSIZE=%d", c->size);
}

static void add_if(bool holds, const char *option, gemm_text *options)
{
    if (holds) gemm_text_add(options, " %s", option);
}

/* The program that fills the image of B. NULL: there is none, for *why. */
static const gemm_cl_program *build_fill(const conv_job *j, const char **why)
{
    gemm_text options = {0};
    gemm_text_add(&options, "-DCONV");
    add_size(j->c, &options);
    add_if(j->w.row->half, "-DHALF", &options);
    add_if(j->c->pool, "-DPOOL", &options);
    const gemm_cl_program *fill = gemm_cl_build("cl_fill", gemm_text_whole(&options), why);
    gemm_text_free(&options);
    return fill;
}

/* Whether a tap is the channel itself from a constant distance on. */
static bool is_shifted(const conv_call *c)
{
    return c->stride == 1 && c->out_h == c->h && c->out_w == c->w && has_common_size(c);
}

/* Whether rows of A begin at multiples of 16 bytes. A plan's weights do. */
static bool has_aligned_weights(const conv_job *j)
{
    return j->op.g.K % 4 == 0 && (j->sizes.has_room || (uintptr_t)j->c->weights % 16 == 0);
}

/* The same for rows of a B that is the input as it lies. */
static bool has_aligned_input(const conv_job *j)
{
    const conv_call *c = j->c;
    return !j->op.taps && j->in == c && c->h * c->w % 4 == 0 && (uintptr_t)c->input % 16 == 0;
}

/* Whether the kernel of the row has one argument for all numbers. Not on a GPU that shares its
   memory: those compilers are the least tried. */
static bool packs(const conv_job *j)
{
    const gemm_cl_traits *t = &j->w.device->traits;
    return j->w.row->family->adds && (t->cpu || !t->unified);
}

static const char packed[] = "-DPACKED", adding[] = "-DSHORTCUT";

static const char *sum_options(const conv_job *j)
{
    if (j->shortcut) return GEMM_CL_MATH " -DCONV -DSHORTCUT";
    return j->c->pool ? GEMM_CL_MATH " -DCONV -DPOOL" : GEMM_CL_MATH " -DCONV";
}

/* The kernels beside the row's own. Those of Winograd's algorithm were there when it was chosen. */
static const char *build_helpers(conv_job *j)
{
    gemm_cl_work *w = &j->w;
    const char *why = NULL;
    if (w->row->half == GEMM_CL_HALF_SUMS) why = gemm_cl_why_left_out("cl_pack", "-DHALF");
    if (!why && j->sizes.strips) build_fill(j, &why);
    /* Without cl_sum the row can do with K as a whole. */
    const bool sums = !why && w->parts > 1;
    if (sums && !gemm_cl_need("cl_sum", sum_options(j))) w->parts = 1;
    return why;
}

/* A gemm_cl_attempt: the kernel of the row, and those beside it. The header of each kernel explains
   the options that it takes. */
static const char *build(void *job)
{
    conv_job *j = job;
    const gemm_cl_row *row = j->w.row;
    const gemm_cl_family *f = row->family;
    const bool image = f->kind == GEMM_CL_IMAGE, wide = f->conv == GEMM_CL_ONLY_CONV;
    const bool loads_fours = image || row->depth || f->one_column;
    gemm_text more = {0};
    gemm_cl_lay_out(&j->op, j->w.row, &j->sizes);
    if (row->winograd && !f->direct) return gemm_cl_winograd_build(&j->sizes.winograd, &j->w);
    add_size(j->in, &more);
    if (f->direct) gemm_text_add(&more, " -DSTRIDE=%d", j->c->stride);
    add_if(!wide, "-DCONV", &more);
    add_if(packs(j), packed, &more);
    add_if(j->c->pool, "-DPOOL", &more);
    add_if(j->in != j->c, "-DDEPTHWISE", &more);
    add_if(j->shortcut || j->in != j->c, adding, &more);
    add_if(loads_fours && has_aligned_weights(j), "-DALIGNED_A", &more);
    add_if(row->depth && has_aligned_input(j), "-DALIGNED_B", &more);
    add_if(image && !j->sizes.strips, "-DIN_PLACE", &more);
    add_if(!image && !f->one_column && j->op.taps, "-DTAPS", &more);
    add_if(wide && j->op.taps && is_shifted(j->c), "-DSHIFTED", &more);
    add_if(wide && j->op.taps && j->op.g.M <= row->rows, "-DDIRECT", &more);
    const char *why = gemm_cl_build_row(&j->w, gemm_text_whole(&more));
    gemm_text_free(&more);
    return why ? why : build_helpers(j);
}

/* ---- decided once ---- */

static void set_sizes(int sizes[12], const conv_call *c)
{
    const int all[12] = {c->batch, c->groups, c->c, c->h, c->w, c->n, c->size, c->stride, c->pad,
                         c->out_h, c->out_w, (int)c->activation};
    memcpy(sizes, all, sizeof all);
}

static void set_facts(conv_job *j)
{
    const gemm_cl_op *o = &j->op;
    j->decision = (gemm_cl_decision){.facts = {
        .asked = o->asked, .asked_parts = o->asked->parts, .form = o->form ? o->form->row : NULL,
        .way = o->way,
        .form_parts = o->form ? o->form->parts : 0, .pools = j->c->pool, .adds = o->adds,
        .aligned = (uintptr_t)j->in->input % 16 == 0, .exact = o->exact}};
    set_sizes(j->decision.facts.sizes[0], j->c);
    if (j->in != j->c) set_sizes(j->decision.facts.sizes[1], j->in);
}

/* What an earlier call of the layer decided, if that stands. */
static bool has_decided(conv_job *j)
{
    const gemm_cl_kept *k = gemm_cl_kept_of(j->op.plan);
    gemm_cl_decision *d = &j->decision;
    if (!k || !k->decided.program || memcmp(&k->decided.facts, &d->facts, sizeof d->facts))
        return false;
    *d = k->decided;
    j->w.row = d->row;
    j->w.parts = d->parts;
    j->w.program = d->program;
    j->w.form = d->measured ? j->op.form : NULL;
    gemm_cl_lay_out(&j->op, j->w.row, &j->sizes);
    return true;
}

/* Sets the row that runs, and builds its kernels. NULL, or why there is none; w.row is NULL where
   no way is for the layer. The note counts what is decided. */
static const char *decide(conv_job *j, gemm_note *note)
{
    gemm_cl_decision *d = &j->decision;
    set_facts(j);
    if (has_decided(j)) return NULL;
    const char *why = gemm_cl_walk(&j->w, &j->op, build, j, d->weighed, sizeof d->weighed);
    if (gemm_cl_postpones() && gemm_activation_is_behind(j->c->activation))
        gemm_cl_need_activation();
    if (why || gemm_cl_postpones()) return why ? why : "it was only asked";
    ++note->decided;
    d->row = j->w.row;
    d->parts = j->w.parts;
    d->program = j->w.program;
    d->measured = j->w.form;
    return NULL;
}

/* Whether the kernels' int arithmetic is wide enough. */
static bool fits_int(const conv_call *c)
{
    const double area = (double)c->h * c->w, places = (double)c->out_h * c->out_w;
    const double K = (double)(c->c / c->groups) * c->size * c->size;
    return area < INT_MAX / 8 && places < INT_MAX / 8 && K < INT_MAX / 8 &&
           (double)c->batch * c->groups < INT_MAX / 128;
}

/* ---- cl_image's image ---- */

static int fill_image(conv_job *j)
{
    const conv_call *c = j->c;
    const char *why = NULL;
    const gemm_cl_program *fill = build_fill(j, &why);
    if (!fill) gemm_cl_say_left_out(why);
    const int channels = c->c / c->groups;
    const gemm_cl_sizes *s = &j->sizes;
    const size_t width = (size_t)s->width, rows = (size_t)j->op.products * (size_t)s->strips;
    j->image = gemm_cl_image_get(width, rows * (size_t)j->op.g.K, j->w.row->half);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        fill_conv, .N = j->op.g.N, .B = j->w.B.mem, .b0 = j->w.B.offset, .image = j->image,
        .width = s->width, .strips = s->strips, .channels = channels, .h = c->h, .w = c->w,
        .out_w = c->out_w, .size = c->size, .stride = c->stride, .pad = c->pad);
    if (!fill || !j->image) return -1;
    return gemm_cl_launch_lines(&j->w, fill, STAGE_PREPARE, &args, width, (size_t)channels, rows);
}

/* The items along x: blocks of all tiles of cl_direct, or strips of places. Those of cl_conv_wide
   may be of places of two neighbouring rows. */
static size_t strips_of(const conv_job *j)
{
    const conv_call *c = j->c;
    const int cols = j->w.row->cols;
    if (j->w.row->family->direct)
        return (size_t)gemm_cl_direct_blocks(c) * (size_t)ceil_div(j->op.g.M, j->w.row->rows);
    if (!c->pool || j->w.row->family->conv != GEMM_CL_ONLY_CONV)
        return (size_t)ceil_div(j->op.g.N, cols);
    return (size_t)ceil_div(c->out_w, cols / 2) * (size_t)(c->out_h / 2);
}

/* ---- launches ---- */

static size_t outputs_of(const conv_job *j)
{
    return (size_t)j->op.products * (size_t)j->op.g.M * (size_t)j->op.g.N;
}

/* Where A, B and C lie. */
static void set_matrices(const conv_job *j, gemm_cl_multiply_args *to)
{
    const gemm_cl_work *w = &j->w;
    const conv_call *in = j->in;
    to->A = j->a.mem;
    to->a0 = j->a.first;
    to->ars = w->row->family->direct ? j->sizes.packed.down : j->op.g.K;
    to->acs = 1;
    if (j->sizes.strips) {
        to->B = j->image;
        to->brs = j->sizes.width;
        to->bcs = j->sizes.strips;
    } else {
        to->B = w->B.mem;
        to->b0 = w->B.offset;
        to->brs = in->h * in->w;
        to->bcs = 1;
    }
    if (w->sums) {
        to->C = w->sums;
        to->ldc = j->op.g.N;
        to->cpart = outputs_of(j);
    } else {
        to->C = w->C.mem;
        to->c0 = w->C.offset;
        to->ldc = gemm_conv_outputs(j->c);
    }
}

/* The convolution. With a depthwise layer before it, sizes are those of that layer. */
static void set_convolution(const conv_job *j, gemm_cl_multiply_args *to)
{
    const conv_call *in = j->in;
    to->products = j->op.products;
    to->groups = j->c->groups;
    to->h = in->h;
    to->w = in->w;
    to->out_w = j->c->out_w;
    to->size = in->size;
    to->stride = in->stride;
    to->pad = in->pad;
    to->norm = j->norm;
    to->slope = j->slope;
    to->adds = j->shortcut != NULL;
    to->more = to->adds ? j->w.A.mem : j->w.C.mem;
    to->more0 = to->adds ? j->w.A.offset : 0;
    if (!j->depth_kept) return;
    to->taps = j->depth_kept->weights;
    to->depth_norm = j->depth_kept->norm;
    to->depth_slope = gemm_slope(in->activation);
}

static int multiply(conv_job *j)
{
    const conv_call *c = j->c;
    const gemm_call *g = &j->op.g;
    gemm_cl_work *w = &j->w;
    const int step = w->row->family->by_channel && j->op.taps ? c->size * c->size : 0;
    const int kpart = gemm_cl_part_length(w, g->K, step), parts = ceil_div(g->K, kpart);
    gemm_cl_multiply_args values = {.M = g->M, .N = g->N, .K = g->K, .alpha = g->ALPHA,
                                    .kpart = kpart};
    const int tiles = w->row->family->direct ? 1 : ceil_div(g->M, w->row->rows);
    size_t global[3] = {strips_of(j), (size_t)tiles, (size_t)parts * (size_t)j->op.products};
    size_t local[3];
    gemm_cl_set_groups(w, global, local);
    set_matrices(j, &values);
    set_convolution(j, &values);
    values.elements = (cl_ulong)c->batch * (cl_ulong)c->c * (cl_ulong)(c->h * c->w);
    values.shares = (int)global[1];
    values.z_shares = (int)global[2];
    const char *options = w->program->options;
    const gemm_cl_arguments args =
        strstr(options, packed)
            ? gemm_cl_packed_list(&values, j->depth_kept, strstr(options, adding))
            : gemm_cl_conv_list(&values, j->depth_kept, strstr(options, adding));
    w->parts = parts;
    return gemm_cl_launch(w, w->program, STAGE_MULTIPLY, &args, global, local);
}

static int add_sums(conv_job *j)
{
    const gemm_cl_program *sum = gemm_cl_need("cl_sum", sum_options(j));
    const int rows = j->c->batch * j->c->n, N = gemm_conv_outputs(j->c);
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        sum, .M = rows, .N = N, .count = j->w.parts, .parts = j->w.sums, .C = j->w.C.mem,
        .c0 = j->w.C.offset, .ldc = N, .filters = j->c->n, .norm = j->norm, .slope = j->slope,
        .more = j->w.A.mem, .more0 = j->w.A.offset);
    if (!sum) return -1;
    return gemm_cl_launch_lines(&j->w, sum, STAGE_SUM, &args, (size_t)N, (size_t)rows, 1);
}

/* The weights as they lie, or a copy in 16 bits. */
static int prepare_weights(conv_job *j)
{
    const int rows = j->c->n, K = j->op.g.K;
    const gemm_cl_matrix as_is = {j->w.A.mem, j->w.A.offset, K, 1};
    j->a = as_is;
    if (j->kept) j->a = (gemm_cl_matrix){j->kept->weights, 0, K, 1};
    if (j->kept || j->w.row->half != GEMM_CL_HALF_SUMS) return 0;
    return gemm_cl_pack(&j->w, SLOT_PACKED_A, &as_is, rows, K, rows, K, &j->a);
}

/* U of the plan, or made for this call. */
static int enqueue_winograd(conv_job *j)
{
    const gemm_cl_winograd *l = &j->sizes.winograd;
    cl_mem U = j->kept ? j->kept->weights : NULL;
    if (!U) {
        U = gemm_cl_scratch(SLOT_PACKED_A, gemm_cl_winograd_bytes(l));
        if (!U || gemm_cl_winograd_filters(l, &j->w, j->w.A.mem, j->w.A.offset, U)) return -1;
    }
    return gemm_cl_winograd_run(l, &j->w, U, j->norm, j->slope);
}

int gemm_cl_convolve(conv_job *j)
{
    if (j->w.row->winograd && !j->w.row->family->direct) return enqueue_winograd(j);
    if (j->w.parts > 1 &&
        gemm_cl_need_sums(&j->w, (size_t)j->w.parts, outputs_of(j) * sizeof(float)))
        return -1;
    return prepare_weights(j) || (j->sizes.strips && fill_image(j)) ? -1 : multiply(j);
}

static int enqueue(conv_job *j)
{
    const conv_call *c = j->c;
    const bool cut = j->w.parts > 1;
    if (gemm_cl_convolve(j) || (cut && add_sums(j))) return -1;
    if (!gemm_activation_is_behind(c->activation)) return 0;
    return gemm_cl_activate(&j->w, c->activation, c->batch * c->n * gemm_conv_places(c));
}

/* ---- one call ---- */

/* Nothing waits for this upload, because scale_shift lasts until the call ends. */
static int upload_norm(conv_job *j)
{
    const size_t bytes = 2 * (size_t)j->c->n * sizeof(float);
    j->norm = j->kept ? j->kept->norm : gemm_cl_scratch(SLOT_NORM, bytes);
    if (j->kept) return 0;
    if (!j->norm || !(j->scale_shift = gemm_cl_make_norm(j->c))) goto fail;
    CL_TRY(clEnqueueWriteBuffer(j->w.device->queue, j->norm, CL_FALSE, 0, bytes, j->scale_shift, 0,
                                NULL, NULL));
    j->w.B.copied += bytes;
    return 0;
fail:
    return -1;
}

static int show(conv_job *j)
{
    const conv_call *c = j->c;
    gemm_cl_work *w = &j->w;
    const size_t kept_a = w->A.copied, kept_b = w->B.copied;    /* uploaded for the plan */
    const layer_input *more = j->shortcut ? &j->shortcut->input[1] : NULL;
    w->A = gemm_cl_dense_view(w, c->weights, (size_t)c->n, (size_t)j->op.g.K, false);
    gemm_cl_view_conv(w, j->in, c, j->kept);
    /* What a shortcut adds. A is free for it, because the plan has the weights then. */
    if (more)
        w->A = gemm_cl_dense_view(w, more->data, (size_t)c->batch, (size_t)more->size, w->C.later);
    /* B first: the CPU compares A with the kept weights while B is on the bus. */
    if (w->policy->input(&w->B, SLOT_B) || (!j->kept && w->policy->input(&w->A, SLOT_A)) ||
        (j->shortcut && w->policy->input(&w->A, SLOT_SECOND)) || w->policy->output(&w->C) ||
        upload_norm(j))
        return -1;
    w->A.copied += kept_a;
    w->B.copied += kept_b;
    return 0;
}

static conv_job make_job(const conv_call *c, const gemm_cl_row *row, const gemm_kept *plan,
                         const char *way)
{
    conv_job j = {.c = c, .in = c, .op = gemm_cl_conv_op(&gemm_cl_opened()->traits, c, row),
                  .slope = gemm_slope(c->activation), .w = gemm_cl_begin_work(row)};
    j.op.plan = plan;
    if (!row->way) j.op.way = way;
    return j;
}

static gemm_status end(conv_job *j, bool failed, gemm_note *note)
{
    const gemm_status status = gemm_cl_end_work(&j->w, failed, note);
    free(j->scale_shift);
    return status;
}

/* From the build on. `why`: what is wrong about the build, or NULL. */
static gemm_status start(conv_job *j, const char *why, const gemm_context *context)
{
    if (gemm_cl_postpones()) return GEMM_DECLINED;
    if (why) gemm_cl_say_left_out(why);
    gemm_cl_share_copies(&j->w, context);
    const bool failed = why || show(j) || enqueue(j) || gemm_cl_ask_result(&j->w);
    return failed ? end(j, true, context->note) : GEMM_DONE;
}

/* The sums of the shortcut are those of the two layers to the bit: nothing is multiplied there, and
   the convolution has no activation. */
static bool take_shortcut(conv_job *j, const layer_call *s)
{
    if (!s) return true;
    if (j->c->activation != CONV_LINEAR || j->c->pool) return false;
    if (s->alpha != 1.0f || s->beta != 1.0f || gemm_activation_is_behind(s->activation))
        return false;
    if (!gemm_shortcut_is_equal(s)) return false;
    j->shortcut = s;
    j->summed = *j->c;
    j->summed.output = s->output;
    j->c = j->in = j->op.conv = j->op.in = &j->summed;
    j->op.adds = true;
    j->slope = gemm_slope(s->activation);
    return true;
}

/* Decides, and keeps the weights. Where no memory is left for them, as without a plan. */
static const char *decide_and_keep(conv_job *j, const gemm_context *context)
{
    const char *why = decide(j, context->note);
    if (why) return why;
    j->kept = gemm_cl_keep(&j->w, j->c, &j->sizes, context->kept);
    if (j->kept) j->kept->decided = j->decision;
    if (j->kept || !j->sizes.has_room) return NULL;
    j->op.plan = NULL;
    return decide(j, context->note);
}

/* What a call will return whose programs are not built yet. A shortcut needs kept weights. */
static gemm_status foresee(conv_job *j, const char *why)
{
    const bool behind = gemm_activation_is_behind(j->c->activation);
    if (why || (j->shortcut && !j->sizes.has_room)) return GEMM_DECLINED;
    return behind && !gemm_cl_need_activation() ? GEMM_DECLINED : GEMM_DONE;
}

gemm_status gemm_cl_convolve_start(conv_job *j, const conv_call *c, const layer_call *shortcut,
                                   const gemm_cl_row *row, const gemm_cl_form *form,
                                   const gemm_context *context)
{
    if (!fits_int(c)) return GEMM_DECLINED;
    *j = make_job(c, row, context->kept, context->way);
    j->op.form = form;
    j->op.exact = context->direct;
    if (!take_shortcut(j, shortcut)) return GEMM_DECLINED;
    if (context->foresees) return foresee(j, decide(j, context->note));
    const char *why = decide_and_keep(j, context);
    if ((why && !j->w.row) || (!why && shortcut && !j->kept)) return GEMM_DECLINED;
    return start(j, why, context);
}

/* What the plan of the depthwise layer keeps is what it keeps when the layer runs alone. */
static bool keep_both(conv_job *j, gemm_kept *const *plans)
{
    gemm_cl_work d = gemm_cl_begin_work(j->w.row);
    j->depth_kept = gemm_cl_keep(&d, j->in, NULL, plans[0]);
    j->kept = gemm_cl_keep(&j->w, j->c, NULL, plans[1]);
    j->w.A.copied += d.A.copied;
    j->w.B.copied += d.B.copied;
    if (j->kept) j->kept->decided = j->decision;
    return j->kept && j->depth_kept;
}

/* A chain is only a choice of `cl`: where its kernel spills registers, two launches. */
gemm_status gemm_cl_chain_start(conv_job *j, const conv_call *calls, const layer_call *shortcut,
                                const gemm_cl_row *row, const gemm_context *context)
{
    gemm_kept *const *plans = context->chain_kept;
    if (!fits_int(&calls[0]) || !fits_int(&calls[1]) || !plans || !plans[0] || !plans[1])
        return GEMM_DECLINED;
    *j = make_job(&calls[1], row, plans[1], context->way);
    if (!take_shortcut(j, shortcut)) return GEMM_DECLINED;
    j->in = j->op.in = &calls[0];
    const char *why = decide(j, context->note);
    if (context->foresees) return why ? GEMM_DECLINED : GEMM_DONE;
    if (why && (!j->w.row || (gemm_cl_chooses(row) && gemm_cl_is_spilled(why))))
        return GEMM_DECLINED;
    if (!why && !keep_both(j, plans)) return GEMM_DECLINED;
    if (!gemm_cl_chooses(row)) j->w.refused = why;
    return start(j, why, context);
}

static void fill_note(const conv_job *j, gemm_note *note)
{
    const int m = j->w.row->winograd;
    gemm_cl_fill_note(&j->w, true, note);
    if (j->in != j->c) snprintf(note->algorithm, sizeof note->algorithm, "chain");
    else snprintf(note->algorithm, sizeof note->algorithm, m ? "winograd%d" : "direct", m);
    if (m) note->transform = gemm_winograd_transform(m);
    strcpy(note->weighed, j->decision.weighed);
}

gemm_status gemm_cl_convolve_finish(conv_job *j, const gemm_context *context)
{
    const bool failed = gemm_cl_take_result(&j->w, context->timed);
    if (!failed) fill_note(j, context->note);
    return end(j, failed, context->note);
}

const char *gemm_cl_build_layer(const gemm_cl_row *row)
{
    static const conv_call typical = {.batch = 1, .groups = 1, .c = 128, .h = 26, .w = 26, .n = 256,
                                      .size = 1, .stride = 1, .out_h = 26, .out_w = 26};
    const gemm_kept kept = {.room = SIZE_MAX};
    conv_job j = make_job(&typical, row, &kept, NULL);
    gemm_note note = {.decided = 0};
    return decide(&j, &note);
}
