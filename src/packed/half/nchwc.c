/* SPDX-License-Identifier: MIT */
/*
 * The way `nchwc` and chains, in pairs. Both run as under `packed`, with micro-kernels that round
 * the image and multiply pairs. They arrange the weights as they find them, so they are given a
 * matrix of the same size, where pairs fill the first half of a row:
 *
 *     filter n    | w[0] w[1] | w[2] w[3] | ... | 0 | 0 | ...        c floats
 *
 * What a layer keeps is what they keep, and for which micro-kernels.
 */
#include "packed/half/nchwc.h"

#include "packed/chain/chain.h"
#include "packed/conv/way.h"
#include "packed/half/half.h"

#include <stdlib.h>

enum { MOST = 3 };

/* What is kept for a layer. */
typedef struct arranged {
    gemm_kept inner;
    const gemm_pairs *pairs;
} arranged;

static void free_arranged(void *data)
{
    gemm_drop_kept(&((arranged *)data)->inner);
    free(data);
}

/* NULL: nothing can be kept. */
static arranged *get_arranged(gemm_kept *kept, const gemm_pairs *p)
{
    arranged *a = gemm_kept_data(kept, free_arranged);
    if (!kept || (a && a->pairs == p)) return a;
    gemm_drop_kept(kept);
    a = calloc(1, sizeof *a);
    if (!a) return NULL;
    *a = (arranged){{.room = kept->room}, p};
    if (gemm_keep(kept, a, sizeof *a, free_arranged)) return a;
    free(a);
    return NULL;
}

/* Layers with weights in pairs. */
typedef struct layers {
    int count;
    conv_call calls[MOST];
    float *weights[MOST];       /* NULL: those of the call, or arranged ones, are used */
    gemm_kept *outer[MOST], *kept[MOST];    /* what the driver keeps, and what is in it */
} layers;

static bool is_depthwise(const conv_call *c)
{
    return c->groups > 1;
}

/* NULL: no memory. */
static float *round_weights(const conv_call *c, const gemm_pairs *p)
{
    float *const w = calloc((size_t)c->n * c->c, sizeof *w);
    for (int i = 0; w && i < c->n; ++i) {
        const size_t at = (size_t)i * c->c;
        p->along(c->c, c->weights + at, (gemm_pair *)(w + at));
    }
    return w;
}

/* False: no memory. end_layers follows in any case. */
static bool add_layer(layers *l, const conv_call *c, gemm_kept *kept, const gemm_pairs *p)
{
    const int i = l->count++;
    arranged *a = get_arranged(kept, p);
    l->calls[i] = *c;
    l->outer[i] = a ? kept : NULL;
    l->kept[i] = a ? &a->inner : NULL;
    if (is_depthwise(c) || (a && a->inner.data)) return true;
    l->weights[i] = round_weights(c, p);
    l->calls[i].weights = l->weights[i];
    return l->weights[i];
}

static void end_layers(layers *l)
{
    for (int i = 0; i < l->count; ++i) {
        if (l->outer[i]) l->outer[i]->bytes = sizeof(arranged) + l->kept[i]->bytes;
        free(l->weights[i]);
    }
}

bool packed_half_nchwc_fits(const conv_call *c, int count)
{
    for (int i = 0; i < count; ++i)
        if (!is_depthwise(&c[i]) && (c[i].c > GEMM_PAIRS_MOST_K || (i > 0 && c[i].c % 2)))
            return false;
    return true;
}

int packed_half_nchwc(const conv_call *c, const gemm_pairs *p, const gemm_context *context)
{
    layers l = {0};
    gemm_context inner = *context;
    int no_memory = -1;
    inner.isa = gemm_pairs_ukernel(p);
    if (add_layer(&l, c, context->kept, p)) {
        packed_choice choice = {.asked = true};
        inner.kept = l.kept[0];
        if (!packed_way_nchwc.plan(&l.calls[0], &inner, &choice))
            no_memory = packed_way_nchwc.run(&l.calls[0], NULL, &choice, &inner);
    }
    end_layers(&l);
    return no_memory;
}

gemm_status packed_half_nchwc_chain(const conv_call *c, int count, const layer_call *shortcut,
                                    const gemm_pairs *p, const gemm_context *context)
{
    layers l = {0};
    gemm_context inner = *context;
    bool ready = true;
    inner.isa = gemm_pairs_ukernel(p);
    inner.chain_kept = l.kept;
    for (int i = 0; i < count && ready; ++i)
        ready = add_layer(&l, &c[i], context->chain_kept ? context->chain_kept[i] : NULL, p);
    const gemm_status status =
        ready ? gemm_packed_chain(l.calls, count, shortcut, &inner, NULL) : GEMM_DECLINED;
    end_layers(&l);
    if (status == GEMM_DONE)
        snprintf(context->note->algorithm, sizeof context->note->algorithm, "chain; %s",
                 packed_half_name(p));
    return status;
}
