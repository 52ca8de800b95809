/* SPDX-License-Identifier: MIT */
/*
 * Convolutions whose filters are as large as the image, as connected layers are. A filter and the
 * channels that it sees are two vectors, and an output is their dot product.
 *
 * Each weight is used once for each image, so nothing is packed: memory is the limit. Some filters
 * are read at once, because memory then delivers faster. Threads get consecutive filters. No sum is
 * cut between two threads.
 */
#include "packed/conv/way.h"
#include "packed/gemm/plan.h"
#include "packed/packed.h"
#include "util/ints.h"
#include "util/threads.h"

typedef struct dots_job {
    const conv_call *c;
    const gemm_ukernel *u;
    int K, step;                /* a chunk has `step` filters */
    int threads;
} dots_job;

/* `rows` filters of one group, from filter i on. All images come before the next filters, so that
   the weights are read once. */
static void apply_filters(const dots_job *d, int i, int rows)
{
    const conv_call *c = d->c;
    const float *const filters = c->weights + (size_t)i * d->K;
    const float *x = c->input + (size_t)(i / (c->n / c->groups)) * d->K;
    const float slope = gemm_slope(c->activation);
    for (int b = 0; b < c->batch; ++b, x += (size_t)d->K * c->groups) {
        float *const output = c->output + (size_t)b * c->n + i, sums[GEMM_DOT_ROWS];
        d->u->skinny.dots(rows, d->K, x, filters, d->K, sums);
        for (int r = 0; r < rows; ++r) {
            const float scale = c->scale ? c->scale[i + r] : 1;
            const float scaled = scale * sums[r];       /* rounded: a statement is not fused */
            const float y = scaled + c->shift[i + r];
            output[r] = y > 0 ? y : slope * y;
        }
    }
}

static void convolve_dots(void *arg, int chunk, void *scratch)
{
    (void)scratch;
    const dots_job *d = arg;
    const conv_call *c = d->c;
    const int begin = chunk * d->step, end = min_int(begin + d->step, c->n);
    const int group = c->n / c->groups;
    for (int i = begin, rows; i < end; i += rows) {
        rows = min_int(GEMM_DOT_ROWS, min_int(end - i, group - i % group));
        apply_filters(d, i, rows);
    }
}

static const char *plan_dots(const conv_call *c, const gemm_context *context,
                             packed_choice *choice)
{
    if (!gemm_conv_is_dots(c)) return "the filter is smaller than the image";
    const gemm_ukernel *u = context->isa;
    dots_job d = {.u = u, .K = gemm_conv_taps(c)};
    d.threads = packed_threads(c->n, c->batch, d.K, context->threads);
    d.step = d.threads == 1 ? c->n : even_step(c->n, ceil_div(c->n, d.threads), u->vl);
    packed_put(choice, &d, sizeof d);
    if (context->timed) strcpy(choice->weighed, "the filter is as large as the image");
    return NULL;
}

static int run_dots(const conv_call *c, const layer_call *shortcut,
                    const packed_choice *choice, const gemm_context *context)
{
    (void)shortcut, (void)context;
    dots_job d;
    packed_get(choice, &d, sizeof d);
    d.c = c;
    return gemm_parallel(d.threads, ceil_div(c->n, d.step), convolve_dots, &d);
}

const packed_way packed_way_dots = {"dots", false, false, plan_dots, run_dots};
