/* SPDX-License-Identifier: MIT */
/*
 * Layers in nchwc: see nchwc.h.
 *
 * A layer alone is a product of places and channels. Its result is moved from nchwc to rows. It has
 * no tail columns, because places are the rows of the tiles, which need not fill a vector.
 */
#include "packed/conv/nchwc.h"

#include "packed/conv/way.h"
#include "packed/gemm/job.h"
#include "packed/gemm/memory.h"
#include "packed/gemm/plan.h"
#include "packed/isa/pairs.h"
#include "packed/packed.h"
#include "util/ints.h"
#include "util/threads.h"

#include <stdlib.h>
#include <string.h>

/* Channels in a strip. */
static int width_of(const conv_call *c, const gemm_ukernel *u)
{
    return c->groups > 1 ? u->vl : u->nr;
}

static size_t bytes_of(const conv_call *c, const gemm_ukernel *u)
{
    const size_t channels = round_up(c->n, u->vl);
    return (size_t)gemm_conv_taps(c) * channels * sizeof(float);
}

/* Filter n. Of a product of pairs it is rounded to `pairs`, with zeroes behind them. */
static const float *filter_of(const conv_call *c, const gemm_ukernel *u, int n, float *pairs)
{
    const int taps = gemm_conv_taps(c);
    const float *const w = c->weights + (size_t)n * taps;
    if (!u->pairs || c->groups > 1) return w;
    memset(pairs, 0, taps * sizeof *pairs);
    u->pairs->along(taps, w, (gemm_pair *)pairs);
    return pairs;
}

/* A layer, and for whose vectors its weights are. */
typedef struct arrange_job {
    const conv_call *c;
    const gemm_ukernel *u;
} arrange_job;

/* To strips of `width` channels. */
static bool arrange(void *weights, const void *job)
{
    const conv_call *c = ((const arrange_job *)job)->c;
    const gemm_ukernel *u = ((const arrange_job *)job)->u;
    float pairs[GEMM_PAIRS_MOST_K], *to = weights;
    const int taps = gemm_conv_taps(c), width = width_of(c, u);
    memset(to, 0, bytes_of(c, u));
    for (int n = 0, columns; n < c->n; n += width, to += (size_t)taps * columns) {
        const int left = c->n - n;
        columns = min_int(width, ceil_div(left, u->vl) * u->vl);
        for (int j = 0; j < min_int(columns, left); ++j) {
            const float *from = filter_of(c, u, n + j, pairs);
            for (int k = 0; k < taps; ++k) to[(size_t)k * columns + j] = from[k];
        }
    }
    return true;
}

const float *packed_arrange(const conv_call *c, const gemm_ukernel *u, gemm_kept *kept, void **own)
{
    const packed_form form = {u, 0, bytes_of(c, u), arrange};
    const arrange_job job = {c, u};
    return packed_keep(kept, &form, &job, own);
}

/* ---- a layer alone ---- */

/* The plan that the layer has as one product of matrices. */
static packed_plan plan_alone(const conv_call *c, const gemm_ukernel *u)
{
    const packed_job job = {
        .M = c->n, .N = c->h * c->w, .K = c->c,
        .A = c->weights, .a_row = c->c, .a_step = 1,
        .B = {.rows = c->weights, .ld = c->h * c->w},
        .epilogue = {.alpha = 1, .overwrite = true, .shift = c->shift},
    };
    return packed_make_plan(&job, u, 1);
}

bool packed_adds_in_order(const conv_call *c, const gemm_ukernel *u)
{
    const packed_plan plan = plan_alone(c, u);
    return plan.kc >= c->c && plan.tail == 0;
}

/* What the threads share. A chunk is some places of an image, for some strips of nr channels. */
typedef struct layer {
    const conv_call *c;
    const gemm_ukernel *u;
    const float *weights;
    int strips, parts;          /* in a chunk; chunks with the same places */
    int step, pieces;           /* places in a chunk, and chunks with the same channels. The last
                                   one of an image also takes the places that are left */
    int threads;
    const layer_call *shortcut; /* NULL: none */
} layer;

static size_t result_bytes(const conv_call *c, const gemm_ukernel *u)
{
    return (size_t)c->h * c->w * ceil_div(c->n, u->vl) * u->vl * sizeof(float);
}

static const char *cannot_nchwc(const conv_call *c, const gemm_ukernel *u)
{
    if (!gemm_conv_is_pointwise(c)) return "not 1x1";
    if (c->groups > 1) return "groups";
    if (c->pool) return "pool";
    return result_bytes(c, u) + c->h * c->w * sizeof(int) <= GEMM_SCRATCH_BYTES ? NULL
                                                                          : "no room in scratch";
}

/* NULL, or why the layer goes another way. */
static const char *why_not(const conv_call *c, const gemm_ukernel *u, bool asked)
{
    enum { FEW_PLACES = 64, MOST_PLACES = 256 };    /* larger maps: few tails for their size */
    const char *cannot = cannot_nchwc(c, u);
    const int places = c->h * c->w;
    const bool few = places <= FEW_PLACES && places % u->tail_unit;
    if (cannot || asked) return cannot;
    if (places > MOST_PLACES) return "large map";
    if (c->c > (few ? 3 : 2) * u->kc) return "many channels";
    if (u->reproducible && !packed_adds_alike(c->c, u)) return "several blocks of K elsewhere";
    if (u->reproducible) return places % u->tail_unit ? NULL : "no tail";
    return packed_adds_in_order(c, u) ? "no tail and one block of K" : NULL;
}

bool packed_prefers_nchwc(const conv_call *c, const gemm_ukernel *u)
{
    return !why_not(c, u, false);
}

static void run_chunk(void *arg, int chunk, void *scratch)
{
    const layer *l = arg;
    const conv_call *c = l->c;
    const int vl = l->u->vl, part = chunk % l->parts, piece = chunk / l->parts % l->pieces;
    const int image = chunk / l->parts / l->pieces, first = part * l->strips * l->u->nr;
    const int area = c->h * c->w, from = piece * l->step;
    const int places = piece + 1 < l->pieces ? l->step : area - from;
    float *const result = scratch;
    int *const at = (int *)(result + result_bytes(c, l->u) / sizeof *result);
    for (int i = 0; i < places; ++i) at[i] = i * vl;
    const gemm_nchwc product = {
        .places = places, .channels = min_int(l->strips * l->u->nr, c->n - first), .K = c->c,
        .a = c->input + (size_t)image * c->c * area + from, .a_ld = area,
        .b = l->weights + (size_t)first * c->c,
        .scale = c->scale ? c->scale + first : NULL, .shift = c->shift + first,
        .slope = gemm_slope(c->activation),
        .c = result, .c_ld = (size_t)places * vl, .at = at,
    };
    l->u->nchwc.product(&product);
    const size_t to = ((size_t)image * c->n + first) * area + from;
    l->u->reorder.from_nchwc(places, product.channels, result, product.c_ld, c->output + to, area);
    if (l->shortcut) packed_add_shortcut(l->u, l->shortcut, to, product.channels, places, area);
}

/* Cuts channels, and where that makes too few chunks also places. A chunk has at least two tiles of
   places. */
static void cut(layer *l, const conv_call *c)
{
    enum { CHUNKS_OF_A_THREAD = 4 };
    const int threads = l->threads;
    const int strips = ceil_div(c->n, l->u->nr), places = c->h * c->w, mr = l->u->mr;
    l->strips = threads > 1 ? ceil_div(strips, CHUNKS_OF_A_THREAD * threads) : strips;
    l->parts = ceil_div(strips, l->strips);
    const int chunks = c->batch * l->parts;
    const bool even = chunks % threads == 0 || chunks >= CHUNKS_OF_A_THREAD * threads;
    const int wanted = even ? 1 : ceil_div(2 * threads, chunks);
    l->step = min_int(places, max_int(2 * mr, wanted > 1 ? places / wanted / mr * mr : places));
    l->pieces = places / l->step;
}

static const char *plan_nchwc(const conv_call *c, const gemm_context *context,
                              packed_choice *choice)
{
    const char *why = why_not(c, context->isa, choice->asked);
    if (why) return why;
    layer l = {.u = context->isa};
    l.threads = packed_threads(c->n, c->h * c->w, c->c, context->threads);
    cut(&l, c);
    packed_put(choice, &l, sizeof l);
    return NULL;
}

static int run_nchwc(const conv_call *c, const layer_call *shortcut,
                     const packed_choice *choice, const gemm_context *context)
{
    void *own;
    layer l;
    packed_get(choice, &l, sizeof l);
    l.c = c;
    l.shortcut = shortcut;
    l.weights = packed_arrange(c, l.u, context->kept, &own);
    if (!l.weights) return -1;
    const int no_memory = gemm_parallel(l.threads, c->batch * l.parts * l.pieces, run_chunk, &l);
    free(own);
    return no_memory;
}

const packed_way packed_way_nchwc = {"nchwc", true, true, plan_nchwc, run_nchwc};
