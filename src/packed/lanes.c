/* Weights in lanes: see lanes.h. */
#include "packed/lanes.h"

#include "util/ints.h"

#include <stdlib.h>

enum { CACHE_LINE = 64 };

struct packed_lanes {
    const gemm_ukernel *u;      /* whose vectors and strips these are */
    float *weights;
};

void packed_free_lanes(packed_lanes *l)
{
    if (l) free(l->weights);
    free(l);
}

static void free_kept(void *data)
{
    packed_free_lanes(data);
}

static int taps_of(const conv_call *c)
{
    return c->c / c->groups * c->size * c->size;
}

/* Channels in a strip. */
static int width_of(const conv_call *c, const gemm_ukernel *u)
{
    return c->groups > 1 ? u->vl : u->nr;
}

static size_t bytes_of(const conv_call *c, const gemm_ukernel *u)
{
    const size_t channels = (size_t)ceil_div(c->n, u->vl) * (size_t)u->vl;
    const size_t bytes = (size_t)taps_of(c) * channels * sizeof(float);
    return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static void arrange(const conv_call *c, const gemm_ukernel *u, float *to)
{
    const int taps = taps_of(c), width = width_of(c, u);
    for (int n = 0; n < c->n; n += width) {
        const int left = c->n - n, columns = min_int(width, ceil_div(left, u->vl) * u->vl);
        const float *from = c->weights + (size_t)n * taps;
        for (int k = 0; k < taps; ++k, to += columns) {
            for (int j = 0; j < columns; ++j) to[j] = j < left ? from[(size_t)j * taps + k] : 0;
        }
    }
}

static packed_lanes *make(const conv_call *c, const gemm_ukernel *u)
{
    packed_lanes *l = malloc(sizeof *l);
    if (!l) return NULL;
    *l = (packed_lanes){u, aligned_alloc(CACHE_LINE, bytes_of(c, u))};
    if (l->weights) {
        arrange(c, u, l->weights);
        return l;
    }
    packed_free_lanes(l);
    return NULL;
}

const float *packed_arrange(const conv_call *c, const gemm_ukernel *u, gemm_kept *kept,
                            packed_lanes **own)
{
    packed_lanes *l = kept ? kept->data : NULL;
    if (l && l->u == u) return l->weights;
    if (kept) gemm_drop_kept(kept);
    l = make(c, u);
    if (!l) return NULL;
    if (kept && bytes_of(c, u) <= kept->room) {
        kept->data = l, kept->bytes = bytes_of(c, u), kept->free = free_kept;
    } else {
        *own = l;
    }
    return l->weights;
}
