/* SPDX-License-Identifier: MIT */
/*
 * What no variant computes: shortcuts of several inputs, and weighted ones, whose activation is
 * linear, leaky or ReLU. They run on as many threads as the variants.
 */
#include "hook/activation_names.h"

#ifdef HOOK_ALEXEYAB

#include "darknet_gemm.h"
#include "gemm_variant.h"
#include "util/threads.h"

#include <math.h>

enum { MOST_INPUTS = 16 };

typedef struct add_job {
    const layer *l, *layers;
    const float *input;
} add_job;

/* The weights of each input at channel c, as Darknet normalizes them. */
static void weigh(const layer *l, int c, float weight[MOST_INPUTS])
{
    const int inputs = l->n + 1, step = l->nweights / inputs;
    float most = -INFINITY, sum = .0001f;
    for (int k = 0; k < inputs; ++k) {
        weight[k] = step ? l->weights[k * step + (step == 1 ? 0 : c)] : 1;
        if (weight[k] > most) most = weight[k];
    }
    if (!step || l->weights_normalization == NO_NORMALIZATION) return;
    for (int k = 0; k < inputs; ++k) {
        const float w = weight[k];
        if (l->weights_normalization == SOFTMAX_NORMALIZATION) weight[k] = expf(w - most);
        else weight[k] = w > 0 ? w : 0;
        sum += weight[k];
    }
    for (int k = 0; k < inputs; ++k) weight[k] /= sum;
}

/* output += w * in, or the first term of the sum. */
static void add(float *output, const float *in, float w, int n, int first)
{
    for (int i = 0; i < n; ++i) output[i] = (first ? 0 : output[i]) + w * in[i];
}

/* One channel of one image. */
static void add_chunk(void *data, int chunk, void *scratch)
{
    const add_job *job = data;
    const layer *l = job->l;
    const int area = l->outputs / l->c, image = chunk / l->c, c = chunk % l->c;
    const float slope = gemm_slope(hook_activation(l->activation));
    const size_t at = (size_t)c * area, from = (size_t)image * l->outputs + at;
    float weight[MOST_INPUTS] = {0}, *output = l->output + from;
    (void)scratch;
    weigh(l, c, weight);
    add(output, job->input + from, weight[0], area, 1);
    for (int k = 0; k < l->n; ++k) {
        const size_t size = l->input_sizes[k], left = size > at ? size - at : 0;
        const float *in = job->layers[l->input_layers[k]].output + image * size + at;
        add(output, in, weight[k + 1], left < (size_t)area ? (int)left : area, 0);
    }
    for (int i = 0; i < area; ++i) output[i] = output[i] > 0 ? output[i] : slope * output[i];
}

int hook_add(const layer *l, const float *input, const layer *layers)
{
    add_job job = {l, layers, input};
    const int inputs = l->n + 1, chunks = l->batch * l->c;
    if (inputs > MOST_INPUTS || l->outputs % l->c || l->outputs != l->inputs) return 0;
    if (!hook_is_applied(l) || gemm_activation_is_behind(hook_activation(l->activation))) return 0;
    if (l->nweights && l->nweights != inputs && l->nweights != inputs * l->c) return 0;
    if (!gemm_parallel(darknet_gemm_get_threads(), chunks, add_chunk, &job)) return 1;
    for (int i = 0; i < chunks; ++i) add_chunk(&job, i, NULL);
    return 1;
}

#endif
