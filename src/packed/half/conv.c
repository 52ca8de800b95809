/* SPDX-License-Identifier: MIT */
/*
 * A convolution with operands of 16 bits. The image is rounded once, to pairs of channels:
 *
 *     channels 0 and 1    | x[0][0] x[1][0] | x[0][1] x[1][1] | ...     one pixel is a pair
 *     channels 2 and 3    | ...
 *
 * So are the filters, which are kept. To the ways `implicit` and `polyphase` this is a convolution
 * of half as many channels, whose micro-kernel multiplies pairs. Where a group has an odd number of
 * channels, the last pair has one.
 *
 * Where the micro-kernels have blocks of channels, those are taken instead: blocks.c.
 *
 * The way that `packed` takes stays where pairs would gain nothing:
 *
 *   dots, banded, depthwise      they wait for memory, or have no products of matrices
 *   a 1x1 layer of few channels or filters
 *   winograd4, winograd2         where they need less time than pairs do
 */
#include "packed/half/half.h"

#include "packed/chain/chain.h"
#include "packed/conv/nchwc.h"
#include "packed/conv/way.h"
#include "packed/gemm/memory.h"
#include "packed/half/blocks.h"
#include "packed/packed.h"
#include "util/caches.h"
#include "util/ints.h"
#include "util/threads.h"
#include "util/workspace.h"

#include <stdlib.h>
#include <string.h>

/* ---- which way ---- */

/* Whether pairs are faster than Winograd's algorithm with m in single precision. */
static bool pairs_beat_winograd(const conv_call *c, const gemm_context *context,
                                const gemm_pairs *p, int m)
{
    return packed_winograd_ratio(c, context, m) > p->part;
}

/* A 1x1 layer with few channels or filters waits for its image. To round the image would only cost
   time. */
static bool is_bound_by_image(const conv_call *c)
{
    enum { FEW = 16 };
    return c->size == 1 && (c->c / c->groups <= FEW || c->n / c->groups <= FEW);
}

/* Whether pairs are faster than `way`, which `packed` takes. */
static bool pairs_win(const conv_call *c, const gemm_context *context, const gemm_pairs *p,
                      const char *way)
{
    if (context->way && !strcmp(context->way, way)) return false;
    if (is_bound_by_image(c)) return false;
    if (!strcmp(way, "winograd4")) return pairs_beat_winograd(c, context, p, 4);
    if (!strcmp(way, "winograd2")) return pairs_beat_winograd(c, context, p, 2);
    return strcmp(way, "dots") && strcmp(way, "banded") && strcmp(way, "depthwise");
}

/* ---- filters ---- */

static int pairs_of_group(const conv_call *c)
{
    return ceil_div(c->c / c->groups, 2);
}

/* What is kept for a layer. */
typedef struct filters {
    float largest;              /* of the weights, as in range.c; 0 where nobody asks */
    _Alignas(CACHE_LINE) gemm_pair pairs[];
} filters;

/* Those of a group fill whole panels where the micro-kernel wants panels. */
static int filters_of_group(const conv_call *c, const gemm_pairs *p)
{
    const int count = c->n / c->groups;
    return p->panel ? ceil_div(count, p->mr) * p->mr : count;
}

static size_t filter_bytes(const conv_call *c, const gemm_pairs *p)
{
    const size_t floats = (size_t)c->groups * filters_of_group(c, p) * pairs_of_group(c) *
                          c->size * c->size;
    return sizeof(filters) + floats * sizeof(gemm_pair);
}

/* Looked at once, so that the threads do not help. */
static float largest_weight(const conv_call *c, const gemm_pairs *kernels)
{
    const int of_filter = c->c / c->groups * c->size * c->size;
    if (kernels->format != GEMM_FP16) return 0;
    return packed_half_largest(c->weights, c->n, of_filter, (size_t)of_filter, 1);
}

static float largest_input(const conv_call *c, const gemm_pairs *kernels, int threads)
{
    const int area = c->h * c->w;
    if (kernels->format != GEMM_FP16) return 0;
    return packed_half_largest(c->input, c->batch * c->c, area, (size_t)area, threads);
}

/* `count` filters from the first one on. */
static void round_filters(const conv_call *c, const gemm_pairs *kernels, int first, int count,
                          gemm_pair *pairs)
{
    const int channels = c->c / c->groups, taps = c->size * c->size;
    const float *from = c->weights + (size_t)first * channels * taps;
    for (int n = 0; n < count; ++n) {
        if (taps == 1) {
            kernels->along(channels, from, pairs);
            from += channels, pairs += pairs_of_group(c);
            continue;
        }
        for (int i = 0; i < channels; i += 2, pairs += taps) {
            const bool both = i + 1 < channels;
            kernels->rows(taps, from, both ? from + taps : NULL, pairs);
            from += both ? 2 * taps : taps;
        }
    }
}

typedef struct filter_job {
    const conv_call *c;
    const gemm_pairs *kernels;
} filter_job;

/* False: no memory for a panel by rows. */
static bool make_filters(void *data, const void *job)
{
    const conv_call *c = ((const filter_job *)job)->c;
    const gemm_pairs *kernels = ((const filter_job *)job)->kernels;
    filters *const f = data;
    gemm_pair *pairs = f->pairs;
    const int filters = c->n / c->groups, mr = kernels->mr;
    const int K = pairs_of_group(c) * c->size * c->size;
    f->largest = largest_weight(c, kernels);
    if (!kernels->panel) {
        round_filters(c, kernels, 0, c->n, pairs);
        return true;
    }
    gemm_pair *const rows = malloc((size_t)mr * K * sizeof *rows);
    if (!rows) return false;
    for (int group = 0; group < c->groups; ++group) {
        for (int i = 0; i < filters; i += mr, pairs += (size_t)mr * K) {
            const int count = min_int(mr, filters - i);
            round_filters(c, kernels, group * filters + i, count, rows);
            kernels->panel(count, K, rows, (size_t)K, 1, pairs);
        }
    }
    free(rows);
    return true;
}

/* ---- the image ---- */

/* A chunk is a piece of a plane: of the pixels of a pair of channels. */
typedef struct image_job {
    const conv_call *c;
    const gemm_pairs *kernels;
    gemm_pair *pairs;
    int pieces;                 /* of a plane */
} image_job;

enum { PIECE = 16 * 1024 };     /* pixels: fewer are rounded before a worker could help */

static void round_piece(void *job, int chunk, void *scratch)
{
    (void)scratch;
    const image_job *j = job;
    const conv_call *c = j->c;
    const int channels = c->c / c->groups, pairs = pairs_of_group(c);
    const int plane = chunk / j->pieces, at = chunk % j->pieces * PIECE;
    const size_t area = (size_t)c->h * c->w;
    const size_t first = (size_t)(plane / pairs) * channels + plane % pairs * 2;
    const float *low = c->input + first * area + at;
    const bool both = plane % pairs * 2 + 1 < channels;
    j->kernels->rows(min_int(PIECE, c->h * c->w - at), low, both ? low + area : NULL,
                     j->pairs + (size_t)plane * area + at);
}

static size_t image_floats(const conv_call *c)
{
    return (size_t)c->batch * c->groups * pairs_of_group(c) * c->h * c->w;
}

static int round_image(const conv_call *c, const gemm_pairs *kernels, gemm_pair *pairs,
                       int threads)
{
    image_job j = {c, kernels, pairs, ceil_div(c->h * c->w, PIECE)};
    return gemm_parallel(image_floats(c) < PIECE ? 1 : threads,
                         c->batch * c->groups * pairs_of_group(c) * j.pieces, round_piece, &j);
}

/* ---- the row of the table ---- */

static const char *name_of(const gemm_pairs *p)
{
    return strrchr(p->name, '_') + 1;
}

static void note_pairs(const gemm_context *context, const char *way, const gemm_pairs *p)
{
    snprintf(context->note->algorithm, sizeof context->note->algorithm, "%s; %s", way,
             name_of(p));
}

/* As `context`, with products of pairs. */
static gemm_context context_of(const gemm_context *context, const gemm_pairs *p, gemm_kept *kept)
{
    gemm_context inner = *context;
    inner.isa = gemm_pairs_ukernel(p);
    inner.kept = kept;
    return inner;
}

/* Runs the convolution in pairs the first of `count` ways that takes it. False: there is none. */
static bool run_pairs(const conv_call *c, const packed_way *const *ways, int count,
                      const gemm_pairs *p, gemm_kept *kept, const gemm_context *context)
{
    const gemm_context inner = context_of(context, p, kept);
    for (int i = 0; i < count; ++i) {
        packed_choice choice = {.asked = ways[i] == &packed_way_nchwc ||
                                         (context->way && !strcmp(context->way, ways[i]->name))};
        if (ways[i]->plan(c, &inner, &choice) || ways[i]->run(c, NULL, &choice, &inner)) continue;
        note_pairs(context, ways[i]->name, p);
        return true;
    }
    return false;
}

/* As under `packed`, and what is kept stays for the next image. */
static gemm_status convolve_single(const conv_call *c, const gemm_context *context)
{
    gemm_context inner = *context;
    inner.kept = NULL;
    return gemm_packed_conv(c, &inner, NULL);
}

static gemm_status convolve_blocks(const conv_call *c, const gemm_pairs *p,
                                   const gemm_context *context)
{
    if (!packed_half_blocks(c, context, p)) return GEMM_DECLINED;
    note_pairs(context, "blocks", p);
    return GEMM_DONE;
}

static gemm_status convolve_pairs(const conv_call *c, const gemm_pairs *p,
                                  const gemm_context *context)
{
    static const packed_way *const ways[] = {&packed_way_polyphase, &packed_way_implicit};
    const packed_form form = {p, 0, filter_bytes(c, p), make_filters};
    const filter_job job = {c, p};
    void *own;
    if (packed_half_has_blocks(c, p)) return convolve_blocks(c, p, context);
    if (c->pool) return GEMM_DECLINED;
    const filters *kept = packed_keep(context->kept, &form, &job, &own);
    if (kept && !packed_half_fits(p, kept->largest, largest_input(c, p, context->threads))) {
        free(own);
        return convolve_single(c, context);
    }
    gemm_workspace *w = kept ? gemm_take_workspace(image_floats(c)) : NULL;
    bool done = false;
    if (w && !round_image(c, p, (gemm_pair *)w->data, context->threads)) {
        conv_call of_pairs = *c;
        of_pairs.c = c->groups * pairs_of_group(c);
        of_pairs.input = w->data;
        of_pairs.weights = (const float *)kept->pairs;
        done = run_pairs(&of_pairs, ways, sizeof ways / sizeof *ways, p, NULL, context);
    }
    if (w) gemm_give_workspace(w);
    free(own);
    return done ? GEMM_DONE : GEMM_DECLINED;
}

/* How a convolution runs. */
typedef enum form {
    DECLINE,
    SINGLE,                     /* as under `packed` */
    PAIRS,
    PAIRS_IN_NCHWC
} form;

/* Whether the products of these layers can be in pairs in nchwc. */
static bool fits_nchwc(const conv_call *c, int count)
{
    for (int i = 0; i < count; ++i)
        if (c[i].groups == 1 && (c[i].c > GEMM_PAIRS_MOST_K || (i > 0 && c[i].c % 2))) return false;
    return true;
}

/* A 1x1 layer over all places, which no way but `implicit` and `nchwc` computes. Where nchwc stays
   in single precision, so do few channels: they are multiplied in the time that rounding takes. */
static form form_of_pointwise(const conv_call *c, const gemm_ukernel *u, const gemm_pairs *p)
{
    enum { FEW_CHANNELS = 256 };
    if (is_bound_by_image(c)) return SINGLE;
    const bool in_nchwc = packed_prefers_nchwc(c, u);
    if (!p->nchwc) return in_nchwc || c->c < FEW_CHANNELS ? SINGLE : PAIRS;
    return in_nchwc && fits_nchwc(c, 1) ? PAIRS_IN_NCHWC : PAIRS;
}

static bool is_plain_pointwise(const conv_call *c)
{
    return gemm_conv_is_pointwise(c) && !gemm_conv_is_dots(c) && c->groups == 1 && !c->pool;
}

/* For all others, and where the user named a way, `packed` is asked which way it takes. What it
   does not pool, blocks may. */
static form form_of(const conv_call *c, const gemm_context *context, const gemm_pairs *p)
{
    if (is_plain_pointwise(c) && !context->way) return form_of_pointwise(c, context->isa, p);
    gemm_note note;
    gemm_context asked = *context;
    gemm_clear_note(&note);
    asked.note = &note;
    asked.timed = false;
    const bool taken = gemm_packed_explain(c, &asked, NULL) == GEMM_DONE;
    if (!taken && c->pool && !gemm_conv_is_pointwise(c)) {
        conv_call alone = *c;
        alone.pool = false;
        asked.kept = NULL;
        return form_of(&alone, &asked, p) == PAIRS ? PAIRS : DECLINE;
    }
    if (!taken) return DECLINE;
    return pairs_win(c, context, p, note.algorithm) ? PAIRS : SINGLE;
}

static gemm_status convolve_nchwc(const conv_call *c, const gemm_pairs *p,
                                  const gemm_context *context)
{
    const packed_way *const nchwc = &packed_way_nchwc;
    return run_pairs(c, &nchwc, 1, p, context->kept, context) ? GEMM_DONE : GEMM_DECLINED;
}

/* "bf16: slower than winograd4" */
static void weigh(const gemm_pairs *p, form f, gemm_note *note)
{
    char text[80];
    const bool pairs = strchr(note->algorithm, ';');
    snprintf(text, sizeof text, "%s: %s%.30s", name_of(p),
             f == SINGLE ? "slower than " : pairs ? "faster than single precision" : "no room",
             f == SINGLE ? note->algorithm : "");
    gemm_weigh_before(note, text);
}

gemm_status gemm_half_conv(const conv_call *c, const gemm_context *context, const void *params)
{
    const gemm_pairs *p = packed_half_pairs(params, context->isa);
    if (gemm_activation_is_behind(c->activation))
        return packed_conv_behind(c, context, params, gemm_half_conv);
    const form f = form_of(c, context, p);
    if (f == DECLINE) return GEMM_DECLINED;
    const gemm_status status = f == SINGLE  ? gemm_packed_conv(c, context, NULL)
                               : f == PAIRS ? convolve_pairs(c, p, context)
                                            : convolve_nchwc(c, p, context);
    if (context->timed) weigh(p, f, context->note);
    return status;
}

gemm_status gemm_half_chain(const conv_call *convs, int count, const layer_call *shortcut,
                            const gemm_context *context, const void *params)
{
    const gemm_pairs *p = packed_half_pairs(params, context->isa);
    int in_pairs = 0;
    if (context->way || count == 1) return GEMM_DECLINED;
    for (int i = 0; i < count; ++i) {
        if (gemm_activation_is_behind(convs[i].activation)) return GEMM_DECLINED;
        if (convs[i].groups == 1 && !is_plain_pointwise(&convs[i])) return GEMM_DECLINED;
        in_pairs += is_plain_pointwise(&convs[i]) &&
                    form_of_pointwise(&convs[i], context->isa, p) != SINGLE;
    }
    if (!in_pairs) return gemm_packed_chain(convs, count, shortcut, context, NULL);
    if (in_pairs < count - 1 || !p->nchwc || !fits_nchwc(convs, count)) return GEMM_DECLINED;
    const gemm_context inner = context_of(context, p, context->kept);
    const gemm_status status = gemm_packed_chain(convs, count, shortcut, &inner, NULL);
    if (status == GEMM_DONE) note_pairs(context, "chain", p);
    return status;
}

gemm_status gemm_half_run(const gemm_op *op, const gemm_context *context, const void *params)
{
    return gemm_run_by(gemm_half_conv, gemm_half_chain, gemm_packed_layer, op, context, params);
}
