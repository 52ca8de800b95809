/* SPDX-License-Identifier: MIT */
/*
 * A convolution in whole numbers of 8 bits, as `packed_int8` computes it, to the bit.
 *
 *   cl_int8_input    rounds the image to quads of channels, in scratch
 *   cl_int8          sums in 32 bits, then scale, shift and activation; cl_int8_wide on a CPU
 *
 * The weights are rounded here, and lie in tiles of the kernel's filters. A plan keeps them.
 *
 * Sums are exact, so K is cut into slices where places and filters are too few for the device.
 */
#include "cl/op/int8.h"

#include "cl/device/scratch.h"
#include "cl/op/kept.h"
#include "cl/op/layers.h"
#include "int8/layer.h"
#include "int8/scales.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On a GPU `cols` are places, x and y items of a group along places and tiles, and slices of K. */
static const gemm_cl_family on_gpu = {.kernel = "cl_int8", .int8 = true},
                            by_vector = {.kernel = "cl_int8_wide", .int8 = true};

#define GROUP_OF(x, y, slices_) \
    {.family = &on_gpu, .rows = 8, .cols = 4, .wx = x, .wy = y, .slices = slices_}
#define WIDE(vector) {.family = &by_vector, .rows = 4, .cols = vector, .wx = 1, .wy = 1}

/* Groups of 128 items. Fewer items along x for more slices, because maps are small then. */
static const gemm_cl_row by_group[] = {GROUP_OF(32, 4, 0), GROUP_OF(16, 4, 2), GROUP_OF(16, 2, 4),
                                       GROUP_OF(16, 1, 8), GROUP_OF(8, 1, 16)},
                         small_group = GROUP_OF(16, 1, 0),
                         on_cpu[] = {WIDE(16), WIDE(8), WIDE(4)};

typedef struct job {
    const conv_call *c;
    gemm_cl_work w;
    gemm_cl_kept *kept;
    bool own;                   /* kept is not the plan's */
    int quads_wide;             /* of a pixel in a plane */
    int M, channels, planes, tiles;     /* of a group */
    int strips;                 /* of a row of the output, on a CPU; else all items along places */
    int rows, row;              /* of a plane of quads */
    size_t quads;               /* of the weights */
    float inverse;              /* 1 / the input's scale */
    int zero;                   /* the byte of 0 */
} job;

/* The group with enough slices for all units, and with some steps for each slice. */
static const gemm_cl_row *choose_group(const gemm_cl_traits *t, double items, int steps)
{
    enum { ENOUGH = 512, SHORTEST = 4, LAST = sizeof by_group / sizeof *by_group - 1 };
    int i = 0;
    while (i < LAST && items * (1 << i) < (double)ENOUGH * t->units &&
           steps >= SHORTEST << (i + 1))
        ++i;
    return &by_group[i];
}

static const gemm_cl_row *choose_row(const gemm_cl_traits *t, const job *j)
{
    const int rows = by_group[0].rows, cols = by_group[0].cols;     /* of every group */
    const conv_call *c = j->c;
    if (t->cpu) return &on_cpu[gemm_cl_vector_choice(t)];
    const double items = (double)ceil_div(gemm_conv_places(c), cols) * ceil_div(j->M, rows) *
                         c->batch * c->groups;
    return choose_group(t, items, j->planes * c->size * c->size);
}

/* Whether the device's dot products compile. If not, that is said once, and bytes are multiplied by
   usual arithmetic. */
static bool has_dot(const gemm_cl_traits *t)
{
    return t->dot && !t->cpu && gemm_cl_need("cl_int8", "-DWX=32 -DWY=4 -DSLICES=1 -DDOT");
}

/* For cl_int8_wide, or else for cl_int8. */
static job begin_job(const conv_call *c, bool wide)
{
    job j = {.c = c, .w = gemm_cl_begin_work(NULL), .M = c->n / c->groups,
             .channels = c->c / c->groups, .quads_wide = wide ? 1 : 4};
    j.planes = ceil_div(j.channels, 4 * j.quads_wide);
    return j;
}

static bool is_wide(const job *j)
{
    return j->quads_wide == 1;
}

static void set_row(job *j, const gemm_cl_row *row)
{
    const conv_call *c = j->c;
    j->w.row = row;
    j->strips = ceil_div(is_wide(j) ? c->out_w : gemm_conv_places(c), row->cols);
    j->tiles = ceil_div(j->M, row->rows);
    j->rows = (c->out_h - 1) * c->stride + c->size;
    j->row = ((is_wide(j) ? j->strips * row->cols : c->out_w) - 1) * c->stride + c->size;
    j->quads = (size_t)c->groups * (size_t)j->tiles * (size_t)(j->planes * j->quads_wide) *
               (size_t)(c->size * c->size * row->rows);
}

/* Quads of the image. */
static double image_quads(const job *j)
{
    return (double)j->c->batch * j->c->groups * j->planes * j->quads_wide * j->rows *
           j->row;
}

/* Whether indices fit the kernels' int arithmetic. */
static bool fits(const job *j)
{
    enum { MOST = 1 << 29 };
    const conv_call *c = j->c;
    return image_quads(j) < MOST && (double)c->batch * c->n * c->out_h * c->out_w < MOST;
}

/* ---- weights ---- */

/* A filter, whose quads are `apart` from each other. Returns the sum of its bytes. */
static int32_t round_filter(const job *j, const float *w, float inverse, int apart, uint32_t *to)
{
    const int taps = j->c->size * j->c->size, wide = j->quads_wide;
    int32_t sum = 0;
    for (int k = 0; k < j->channels; ++k) {
        const int plane = k / (4 * wide), quad = k / 4 % wide;
        for (int tap = 0; tap < taps; ++tap) {
            const uint32_t byte = gemm_int8_byte(w[k * taps + tap], inverse, 0);
            to[(size_t)((plane * taps + tap) * wide + quad) * (size_t)apart] |= byte << k % 4 * 8;
            sum += (int8_t)byte;
        }
    }
    return sum;
}

/* All filters, with what their sums are multiplied by. False: a weight is not finite. */
static bool round_filters(const job *j, const gemm_scale *scale, uint32_t *quads, float *norm)
{
    const conv_call *c = j->c;
    const int taps = gemm_conv_taps(c), rows = j->w.row->rows;
    const size_t tile = (size_t)(j->planes * j->quads_wide) * (size_t)(c->size * c->size * rows);
    for (int n = 0; n < c->n; ++n) {
        const float *w = c->weights + (size_t)n * (size_t)taps;
        const int m = n % j->M, number = n / j->M * j->tiles + m / rows;
        float own, inverse;
        if (!gemm_int8_step(w, taps, &own, &inverse)) return false;
        const float both = own * scale->scale;
        norm[n] = c->scale ? both * c->scale[n] : both;
        norm[c->n + n] = c->shift[n];
        const int32_t sum = round_filter(j, w, inverse, rows,
                                         quads + (size_t)number * tile + m % rows);
        const int32_t start = -scale->zero * sum;
        memcpy(&norm[2 * c->n + n], &start, sizeof start);
    }
    return true;
}

/* What the plan has, or gets now. 0 or -1; *single as above. */
static int prepare_weights(job *j, const gemm_context *context, bool *single)
{
    const conv_call *c = j->c;
    const size_t norms = 3 * (size_t)c->n, bytes = j->quads * sizeof(uint32_t);
    /* Weights lie alike for all groups. */
    const gemm_cl_row *row = is_wide(j) ? j->w.row : &by_group[0];
    if ((j->kept = gemm_cl_kept_quads(row, context->kept))) return 0;
    uint32_t *quads = calloc(j->quads, sizeof *quads);
    float *norm = malloc(norms * sizeof *norm);
    if (quads && norm) {
        *single = !round_filters(j, context->scale, quads, norm);
        if (!*single)
            j->kept = gemm_cl_keep_quads(row, context->kept, quads, bytes, norm, norms, &j->own);
    } else {
        gemm_cl_say("out of memory");
    }
    free(quads);
    free(norm);
    if (!j->kept) return -1;
    j->w.A.copied = bytes + norms * sizeof *norm;
    return 0;
}

/* ---- launches ---- */

static const gemm_cl_program *need(const job *j, const gemm_cl_row *row, bool dot)
{
    gemm_text options = {0};
    if (is_wide(j))
        gemm_text_add(&options, "-DROWS=%d -DCOLS=%d -DSTRIDE=%d", row->rows, row->cols,
                      j->c->stride);
    else
        gemm_text_add(&options, "-DWX=%d -DWY=%d -DSLICES=%d%s%s", row->wx, row->wy,
                      max_int(row->slices, 1), j->c->pool ? " -DPOOL" : "", dot ? " -DDOT" : "");
    const gemm_cl_program *p = gemm_cl_need(row->family->kernel, gemm_text_whole(&options));
    gemm_text_free(&options);
    return p;
}

static int round_image(job *j, cl_mem quads)
{
    const conv_call *c = j->c;
    const gemm_cl_program *p = gemm_cl_need(
        "cl_int8_input", is_wide(j) ? "-DQUADS=1 -DBY_ROW" : "-DQUADS=4");
    const int planes = c->batch * c->groups * j->planes;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        int8_input, .channels = j->channels, .planes = j->planes, .h = c->h, .w = c->w,
        .pad = c->pad, .rows = j->rows, .row = j->row, .inverse = j->inverse, .zero = j->zero,
        .in = j->w.B.mem, .i0 = j->w.B.offset, .out = quads);
    if (!p) return -1;
    if (is_wide(j)) {
        const size_t global[3] = {(size_t)j->rows, (size_t)planes, 1}, local[3] = {1, 1, 1};
        return gemm_cl_launch(&j->w, p, STAGE_PREPARE, &args, global, local);
    }
    return gemm_cl_launch_lines(&j->w, p, STAGE_PREPARE, &args, (size_t)j->row, (size_t)j->rows,
                                (size_t)planes);
}

/* The program of the row. Where it cannot be had, usual arithmetic replaces dot products. 0 or
   -1. */
static int build_row(job *j)
{
    gemm_cl_work *w = &j->w;
    w->program = has_dot(&w->device->traits) ? need(j, w->row, true) : NULL;
    if (!w->program) w->program = need(j, w->row, false);
    return w->program ? 0 : -1;
}

/* The same, with a small group where the device has no room for the row's. */
static int build(job *j)
{
    if (is_wide(j)) return build_row(j);
    if (build_row(j)) return -1;
    if (!gemm_cl_why_no_room(&j->w)) return 0;
    j->w.row = &small_group;
    return build_row(j);
}

static int multiply(job *j, cl_mem quads)
{
    const conv_call *c = j->c;
    gemm_cl_work *w = &j->w;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        int8, .M = j->M, .planes = j->planes, .groups = c->groups, .size = c->size,
        .rows = j->rows, .row = j->row, .A = j->kept->weights, .B = quads, .C = w->C.mem,
        .c0 = w->C.offset, .out_h = c->out_h, .out_w = c->out_w, .norm = j->kept->norm,
        .slope = gemm_slope(c->activation), .stride = c->stride);
    const size_t products = (size_t)c->batch * (size_t)c->groups;
    size_t local[3], global[3] = {(size_t)j->strips, (size_t)j->tiles,
                                  products * (is_wide(j) ? (size_t)c->out_h : 1)};
    gemm_cl_set_groups(w, global, local);
    return gemm_cl_launch(w, w->program, STAGE_MULTIPLY, &args, global, local);
}

static int show(job *j)
{
    const conv_call *c = j->c;
    gemm_cl_work *w = &j->w;
    gemm_cl_view_conv(w, c, c, !j->own);
    return w->policy->input(&w->B, SLOT_B) || w->policy->output(&w->C) ? -1 : 0;
}

/* From w.B to w.C. */
static int convolve(job *j)
{
    cl_mem quads = gemm_cl_scratch(SLOT_PACKED_B, (size_t)image_quads(j) * sizeof(uint32_t));
    return quads && !round_image(j, quads) ? multiply(j, quads) : -1;
}

static int enqueue(job *j)
{
    const conv_call *c = j->c;
    if (convolve(j)) return -1;
    if (gemm_activation_is_behind(c->activation) &&
        gemm_cl_activate(&j->w, c->activation, c->batch * c->n * gemm_conv_places(c)))
        return -1;
    return gemm_cl_ask_result(&j->w);
}

static void set_scale(job *j, const gemm_scale *scale)
{
    j->inverse = 1 / scale->scale;
    j->zero = scale->zero;
}

gemm_status gemm_cl_run_int8(const conv_call *c, const gemm_context *context, bool *single)
{
    const gemm_cl_traits *t = &gemm_cl_opened()->traits;
    job j = begin_job(c, t->cpu);
    gemm_note *note = context->note;
    set_row(&j, choose_row(t, &j));
    if (!fits(&j) || (c->pool && t->cpu)) return GEMM_DECLINED;
    gemm_cl_share_copies(&j.w, context);
    set_scale(&j, context->scale);
    bool failed = build(&j) || prepare_weights(&j, context, single);
    if (j.kept && !j.own) j.w.own = j.kept->kernels;
    failed = failed || show(&j) || enqueue(&j) || gemm_cl_take_result(&j.w, context->timed);
    if (!failed) {
        gemm_cl_fill_note(&j.w, true, note);
        snprintf(note->algorithm, sizeof note->algorithm, "int8");
        note->scale = context->scale;
    }
    const gemm_status status = gemm_cl_end_work(&j.w, failed, note);
    if (j.own) gemm_cl_drop_kept(j.kept);
    return status;
}

int gemm_cl_try_int8(gemm_cl_work *w, const conv_call *c, const gemm_scale *scale)
{
    bool single;
    job j = begin_job(c, w->row->wx == 1);
    j.w = *w;
    set_row(&j, w->row);
    set_scale(&j, scale);
    const int rc = prepare_weights(&j, &(gemm_context){.scale = scale}, &single) || convolve(&j);
    if (j.kept) gemm_cl_drop_kept(j.kept);
    *w = j.w;
    return rc ? -1 : 0;
}
