/* SPDX-License-Identifier: MIT */
/*
 * A convolution in whole numbers of 8 bits, as `packed_int8` computes it, to the bit.
 *
 *   cl_int8_input    rounds the image to quads of channels, in scratch
 *   cl_int8          sums in 32 bits, then scale, shift and activation
 *
 * The weights are rounded here, and lie in tiles of the kernel's filters. A plan keeps them.
 */
#include "cl/op/int8.h"

#include "cl/device/scratch.h"
#include "cl/memory/left.h"
#include "cl/op/groups.h"
#include "cl/op/kept.h"
#include "int8/layer.h"
#include "int8/scales.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_OF(rows_, cols_, items_, defines_) \
    {.kernel = "cl_int8", .defines = defines_, .rows = rows_, .cols = cols_, .wx = items_, \
     .wy = items_, .int8 = true}

/* On a CPU a vector is a strip of places, and an item is a group. */
static const gemm_cl_row by_dot = ROW_OF(8, 4, 0, " -DDOT"), by_item = ROW_OF(8, 4, 0, ""),
                         on_cpu[] = {ROW_OF(4, 16, 1, ""), ROW_OF(4, 8, 1, ""),
                                     ROW_OF(4, 4, 1, "")};

typedef struct job {
    const conv_call *c;
    gemm_cl_work w;
    gemm_cl_kept *kept;
    bool own;                   /* kept is not the plan's */
    int M, channels, planes, tiles, strips;     /* of a group; strips: of a row of the output */
    int rows, row;              /* of a plane of quads */
    size_t quads;               /* of the weights */
    float inverse;              /* 1 / the input's scale */
} job;

static const gemm_cl_row *choose_row(const gemm_cl_traits *t)
{
    if (!t->cpu) return t->dot ? &by_dot : &by_item;
    return &on_cpu[t->vector >= 16 ? 0 : t->vector >= 8 ? 1 : 2];
}

static job make_job(const conv_call *c)
{
    const gemm_cl_row *row = choose_row(&gemm_cl_opened()->traits);
    job j = {.c = c, .w = gemm_cl_begin_work(row), .M = c->n / c->groups,
             .channels = c->c / c->groups, .strips = ceil_div(c->out_w, row->cols)};
    j.planes = ceil_div(j.channels, 4);
    j.tiles = ceil_div(j.M, row->rows);
    j.rows = (c->out_h - 1) * c->stride + c->size;
    j.row = (j.strips * row->cols - 1) * c->stride + c->size;
    j.quads = (size_t)c->groups * (size_t)j.tiles * (size_t)j.planes *
              (size_t)(c->size * c->size * row->rows);
    return j;
}

/* Quads of the image. */
static double image_quads(const job *j)
{
    return (double)j->c->batch * j->c->groups * j->planes * j->rows * j->row;
}

/* Whether indices fit the kernels' int arithmetic. */
static bool fits(const job *j)
{
    enum { MOST = 1 << 29 };
    const conv_call *c = j->c;
    return image_quads(j) < MOST && (double)c->batch * c->n * c->out_h * c->out_w < MOST;
}

/* ---- weights ---- */

/* A filter, whose quads are `apart` from each other. */
static void round_filter(const job *j, const float *w, float inverse, int apart, uint32_t *to)
{
    const int taps = j->c->size * j->c->size;
    for (int k = 0; k < j->channels; ++k)
        for (int tap = 0; tap < taps; ++tap)
            to[((size_t)(k / 4) * (size_t)taps + (size_t)tap) * (size_t)apart] |=
                gemm_int8_byte(w[k * taps + tap], inverse) << k % 4 * 8;
}

/* All filters, with what their sums are multiplied by. False: a weight is not finite. */
static bool round_filters(const job *j, float step, uint32_t *quads, float *norm)
{
    const conv_call *c = j->c;
    const int taps = gemm_conv_taps(c), rows = j->w.row->rows;
    const size_t tile = (size_t)j->planes * (size_t)(c->size * c->size * rows);
    for (int n = 0; n < c->n; ++n) {
        const float *w = c->weights + (size_t)n * (size_t)taps;
        const int m = n % j->M, number = n / j->M * j->tiles + m / rows;
        float own, inverse;
        if (!gemm_int8_step(w, taps, &own, &inverse)) return false;
        const float both = own * step;
        norm[n] = c->scale ? both * c->scale[n] : both;
        norm[c->n + n] = c->shift[n];
        round_filter(j, w, inverse, rows, quads + (size_t)number * tile + m % rows);
    }
    return true;
}

/* What the plan has, or gets now. 0 or -1; *single as above. */
static int prepare_weights(job *j, const gemm_context *context, bool *single)
{
    const conv_call *c = j->c;
    const size_t norms = 2 * (size_t)c->n, bytes = j->quads * sizeof(uint32_t);
    const gemm_cl_row *row = j->w.row;
    if ((j->kept = gemm_cl_kept_quads(row, context->kept))) return 0;
    uint32_t *quads = calloc(j->quads, sizeof *quads);
    float *norm = malloc(norms * sizeof *norm);
    if (quads && norm) {
        *single = !round_filters(j, context->scale->scale, quads, norm);
        if (!*single) j->kept = gemm_cl_upload_quads(row, c, quads, bytes, norm);
    } else {
        gemm_cl_say("out of memory");
    }
    free(quads);
    free(norm);
    if (!j->kept) return -1;
    j->own = !gemm_cl_keep_quads(context->kept, j->kept, bytes + norms * sizeof *norm);
    j->w.A.copied = bytes + norms * sizeof *norm;
    return 0;
}

/* ---- launches ---- */

static const gemm_cl_program *need(const job *j, const char *name)
{
    const bool by_row = j->w.device->traits.cpu, image = !strcmp(name, "cl_int8_input");
    const gemm_cl_row *row = j->w.row;
    gemm_text options = {0};
    if (image) gemm_text_add(&options, "%s", by_row ? "-DBY_ROW" : "");
    else gemm_text_add(&options, "-DROWS=%d -DCOLS=%d -DSTRIDE=%d%s", row->rows, row->cols,
                       j->c->stride, row->defines);
    const gemm_cl_program *p = gemm_cl_need(name, gemm_text_whole(&options));
    gemm_text_free(&options);
    return p;
}

static int round_image(job *j, cl_mem quads)
{
    const conv_call *c = j->c;
    const gemm_cl_program *p = need(j, "cl_int8_input");
    const int planes = c->batch * c->groups * j->planes;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        int8_input, .channels = j->channels, .planes = j->planes, .h = c->h, .w = c->w,
        .pad = c->pad, .rows = j->rows, .row = j->row, .inverse = j->inverse,
        .in = j->w.B.mem, .i0 = j->w.B.offset, .out = quads);
    if (!p) return -1;
    if (j->w.device->traits.cpu) {
        const size_t global[3] = {(size_t)j->rows, (size_t)planes, 1}, local[3] = {1, 1, 1};
        return gemm_cl_launch(&j->w, p, STAGE_PREPARE, &args, global, local);
    }
    return gemm_cl_launch_lines(&j->w, p, STAGE_PREPARE, &args, (size_t)j->row, (size_t)j->rows,
                                (size_t)planes);
}

static int multiply(job *j, cl_mem quads)
{
    const conv_call *c = j->c;
    gemm_cl_work *w = &j->w;
    const float slope = c->activation == CONV_LEAKY ? .1f : c->activation == CONV_RELU ? 0 : 1;
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        int8, .M = j->M, .planes = j->planes, .groups = c->groups, .size = c->size,
        .rows = j->rows, .row = j->row, .A = j->kept->weights, .B = quads, .C = w->C.mem,
        .c0 = w->C.offset, .out_h = c->out_h, .out_w = c->out_w, .norm = j->kept->norm,
        .slope = slope);
    size_t local[3], global[3] = {(size_t)j->strips, (size_t)j->tiles,
                                  (size_t)c->batch * (size_t)c->groups * (size_t)c->out_h};
    if (!(w->program = need(j, "cl_int8"))) return -1;
    gemm_cl_set_groups(w, global, local);
    return gemm_cl_launch(w, w->program, STAGE_MULTIPLY, &args, global, local);
}

static int show(job *j)
{
    const conv_call *c = j->c;
    gemm_cl_work *w = &j->w;
    const size_t area = (size_t)c->h * (size_t)c->w, places = (size_t)gemm_conv_places(c);
    const size_t filters = (size_t)c->batch * (size_t)c->n;
    const bool later = !j->own && gemm_cl_may_stay(c->output, filters * places * sizeof(float));
    w->B = (gemm_cl_view){.host = (float *)c->input, .rows = (size_t)c->batch * (size_t)c->c,
                          .cols = area, .ld = area, .later = later, .threads = w->copy_threads};
    w->C = (gemm_cl_view){.host = c->output, .rows = filters, .cols = places, .ld = places,
                          .overwrite = true, .later = later, .threads = w->copy_threads};
    return w->policy->input(&w->B, SLOT_B) || w->policy->output(&w->C) ? -1 : 0;
}

static int enqueue(job *j)
{
    cl_mem quads = gemm_cl_scratch(SLOT_PACKED_B, (size_t)image_quads(j) * sizeof(uint32_t));
    if (!quads || round_image(j, quads) || multiply(j, quads)) return -1;
    return gemm_cl_ask_result(&j->w);
}

gemm_status gemm_cl_run_int8(const conv_call *c, const gemm_context *context, bool *single)
{
    job j = make_job(c);
    gemm_note *note = context->note;
    if (!fits(&j)) return GEMM_DECLINED;
    gemm_cl_share_copies(&j.w, context);
    j.inverse = 1 / context->scale->scale;
    bool failed = prepare_weights(&j, context, single);
    if (j.kept && !j.own) j.w.own = j.kept->kernels;
    failed = failed || show(&j) || enqueue(&j) || gemm_cl_take_result(&j.w, context->timed);
    if (!failed) {
        gemm_cl_fill_note(&j.w, true, note);
        snprintf(note->algorithm, sizeof note->algorithm, "int8");
        note->scale = context->scale;
    }
    const gemm_status status = gemm_cl_end_work(&j.w, failed, note);
    if (j.own) gemm_cl_drop_quads(j.kept);
    return status;
}
