/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolutions, where a filter sees one channel: no product of matrices. The rows of a
 * channel are copied with zeroes around them, some at a time, and the sums stay in registers.
 */
#include "packed/conv/product.h"
#include "packed/conv/way.h"
#include "packed/packed.h"
#include "util/ints.h"
#include "util/threads.h"

#include <string.h>

/* What all channels share. */
static gemm_depthwise make_depthwise(const conv_call *c, const gemm_ukernel *u)
{
    gemm_depthwise d = packed_band_of(c, u);
    d.filters = c->n / c->groups;
    d.slope = gemm_slope(c->activation);
    return d;
}

/* Channel `index` of batch * groups. */
static void set_channel(gemm_depthwise *d, const conv_call *c, int index)
{
    const int first = index % c->groups * d->filters;
    d->src = c->input + (size_t)index * c->h * c->w;
    d->weights = c->weights + (size_t)first * c->size * c->size;
    d->scale = c->scale ? c->scale + first : NULL;
    d->shift = c->shift + first;
    d->y = c->output + (size_t)index * d->filters * gemm_conv_places(c);
}

/* Rows of the output whose pixels are half of a small L1. They are whole groups of rows. */
static int rows_in_band(const gemm_depthwise *d)
{
    enum { BAND = 16 * 1024 / sizeof(float), GROUP = GEMM_DEPTHWISE_ROWS };
    const int rows = (BAND / d->pitch - d->size) / d->stride + 1;
    return min_int(d->out_h, max_int(rows / GROUP * GROUP, GROUP));
}

/* Rows y0 .. y1 of a channel's output, which need one band. */
typedef struct piece {
    int index, y0, y1;
} piece;

/* All pieces have as many rows. So the last one of a channel may overlap the one before it. */
static piece next_piece(piece p, int out_h)
{
    const int rows = p.y1 - p.y0;
    if (p.y1 == out_h) return (piece){p.index + 1, 0, rows};
    const int y1 = min_int(p.y1 + rows, out_h);
    return (piece){p.index, y1 - rows, y1};
}

/* What the threads share. */
typedef struct depthwise_job {
    const conv_call *c;
    const gemm_ukernel *u;
    int step;                   /* channels in a chunk */
    int threads;
} depthwise_job;

/* The next band is filled before the present one is used. A pixel is then read long after it was
   written: the processor could not forward a store to a load that begins elsewhere. */
static void convolve_channels(void *arg, int chunk, void *scratch)
{
    const depthwise_job *l = arg;
    const conv_call *c = l->c;
    const int end = min_int(c->batch * c->groups, (chunk + 1) * l->step);
    gemm_depthwise d = make_depthwise(c, l->u);
    piece p = {chunk * l->step, 0, rows_in_band(&d)};
    const size_t floats = gemm_depthwise_floats(&d, p.y1);
    float *band = memset(scratch, 0, 2 * floats * sizeof *band), *other = band + floats;
    set_channel(&d, c, p.index);
    l->u->conv.fill_band(&d, p.y0, p.y1, band);
    while (p.index < end) {
        const piece next = next_piece(p, d.out_h);
        if (next.index < end) {
            set_channel(&d, c, next.index);
            l->u->conv.fill_band(&d, next.y0, next.y1, other);
        }
        set_channel(&d, c, p.index);
        l->u->conv.depthwise(&d, band, p.y0, p.y1);
        float *const used = band;
        band = other, other = used;
        p = next;
    }
}

static const char *plan_depthwise(const conv_call *c, const gemm_context *context,
                                  packed_choice *choice)
{
    enum { TOO_SMALL = 125000 };    /* a depthwise layer has a quarter of a gemm's speed */
    if (c->c != c->groups) return "several channels a group";
    if (c->stride > 2) return "stride above 2";
    if (gemm_conv_is_pointwise(c)) return "1x1";
    if (c->pool) return "pool";
    const gemm_depthwise d = make_depthwise(c, context->isa);
    const size_t two_bands = 2 * gemm_depthwise_floats(&d, rows_in_band(&d)) * sizeof(float);
    if (two_bands > GEMM_SCRATCH_BYTES) return "no room in scratch";
    depthwise_job job = {.u = context->isa};
    job.threads = packed_multiply_adds(c) < TOO_SMALL ? 1 : context->threads;
    job.step = ceil_div(c->batch * c->groups, 4 * job.threads);
    packed_put(choice, &job, sizeof job);
    return NULL;
}

static int run_depthwise(const conv_call *c, const layer_call *shortcut,
                         const packed_choice *choice, const gemm_context *context)
{
    (void)shortcut, (void)context;
    depthwise_job job;
    packed_get(choice, &job, sizeof job);
    job.c = c;
    return gemm_parallel(job.threads, ceil_div(c->batch * c->groups, job.step), convolve_channels,
                         &job);
}

const packed_way packed_way_depthwise = {"depthwise", true, false, plan_depthwise, run_depthwise};
