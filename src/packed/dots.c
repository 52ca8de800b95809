/*
 * Convolutions whose filters are as large as the image, as connected layers are. A filter and the
 * channels that it sees are two vectors, and an output is their dot product.
 *
 * Each weight is used once for each image, so nothing is packed: memory is the limit. Threads get
 * consecutive filters. No sum is cut between two threads.
 */
#include "packed/dots.h"

#include "packed/packed.h"
#include "packed/plan.h"
#include "util/ints.h"
#include "util/threads.h"

typedef struct dots_job {
    const conv_call *c;
    const gemm_ukernel *u;
    int K, step;                /* a chunk has `step` filters */
} dots_job;

/* All images of a filter before the next filter, so that the weights are read once. */
static void convolve_dots(void *arg, int chunk, void *scratch)
{
    (void)scratch;
    const dots_job *d = arg;
    const conv_call *c = d->c;
    const size_t image = (size_t)d->K * c->groups;
    const int begin = chunk * d->step, end = min_int(begin + d->step, c->n);
    const float slope = packed_slope(c->activation);
    for (int i = begin; i < end; ++i) {
        const float *const filter = c->weights + (size_t)i * d->K;
        const float *x = c->input + (size_t)(i / (c->n / c->groups)) * d->K;
        const float scale = c->scale ? c->scale[i] : 1;
        for (int b = 0; b < c->batch; ++b, x += image) {
            const float y = scale * d->u->dot(d->K, x, filter) + c->shift[i];
            c->output[(size_t)b * c->n + i] = y > 0 ? y : slope * y;
        }
    }
    if (c->activation != CONV_LOGISTIC) return;
    for (int b = 0; b < c->batch; ++b) {
        float *const y = c->output + (size_t)b * c->n + begin;
        d->u->logistic(end - begin, y, y);
    }
}

int packed_dots(const conv_call *c, const gemm_ukernel *u, int threads)
{
    dots_job d = {.c = c, .u = u, .K = c->c / c->groups * c->size * c->size};
    threads = packed_threads(c->n, c->batch, d.K, threads);
    d.step = threads == 1 ? c->n : even_step(c->n, ceil_div(c->n, threads), u->vl);
    return gemm_parallel(threads, ceil_div(c->n, d.step), convolve_dots, &d);
}
