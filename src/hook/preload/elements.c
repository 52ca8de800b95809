/* SPDX-License-Identifier: MIT */
/*
 * What no variant computes, element by element: shortcuts of several inputs. They run on as many
 * threads as the variants.
 *
 * Each loop is compiled for AVX-512, for AVX2 and for any processor from the same text, which the
 * compiler turns into vectors. exp is 2^n * p(r): n is the nearest integer to x / ln 2, and p a
 * polynomial for |r| <= ln 2 / 2 with the coefficients of expf in Cephes.
 */
#include "hook/activation_names.h"

#ifdef HOOK_ALEXEYAB

#include "../../../kernels/cl_activations.h"
#include "darknet_gemm.h"
#include "util/threads.h"

#include <math.h>
#include <stdint.h>

enum { MOST_INPUTS = 16 };

#define INLINE static inline __attribute__((always_inline))

/* Below -87 as at -87, above 87 as at 87. A NaN stays a NaN. */
INLINE float exp_of(float x)
{
    const float magic = 12582912; /* 1.5 * 2^23: the last bits of a sum are the nearest integer */
    x = x < -87 ? -87 : x;
    x = x > 87 ? 87 : x;
    const float t = x * 1.44269504f + magic, n = t - magic;
    const float r = x - n * .693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1;
    union {
        float f;
        uint32_t bits;
    } scale = {t};
    scale.bits = (scale.bits - 0x4B400000 + 127) << 23;
    return p * scale.f;
}

#define ACT_EXP(x) exp_of(x)
#define ACT_SIGMOID(x) (1 / (1 + exp_of(-(x))))
#define ACT_LEAST(x, most) ((x) > (most) ? (most) : (x))
#define ACT_IF(x, a, b) ((x) > 0 ? (a) : (b))
#define ACT_IF_ELSE_0(x, a) ACT_IF(x, a, 0)

#define EACH(NAME, f)                                                                             \
    case CONV_##NAME:                                                                             \
        for (int i = 0; i < n; ++i) {                                                             \
            const float x = y[i];                                                                 \
            y[i] = f;                                                                             \
        }                                                                                         \
        return;
#define SLOPE(NAME, slope) EACH(NAME, ACT_IF(x, x, slope * x))

INLINE void activate(float *y, int n, conv_activation a)
{
    switch (a) {
        CL_ACTIVATIONS(SLOPE, EACH)
    }
}

INLINE void add(float *out, const float *in, float w, int n)
{
    for (int i = 0; i < n; ++i) out[i] += w * in[i];
}

INLINE void scale(float *out, const float *in, float w, int n)
{
    for (int i = 0; i < n; ++i) out[i] = w * in[i];
}

/* One channel of one image of a shortcut. */
typedef struct channel {
    float *output;
    const float *input[MOST_INPUTS];
    float weight[MOST_INPUTS];
    int size[MOST_INPUTS];      /* how many elements of the channel this input has */
    int inputs, n;
    conv_activation activation;
} channel;

INLINE void add_channel(const channel *c)
{
    scale(c->output, c->input[0], c->weight[0], c->n);
    for (int k = 1; k < c->inputs; ++k) add(c->output, c->input[k], c->weight[k], c->size[k]);
    activate(c->output, c->n, c->activation);
}

#define FOR(isa, target)                                                                          \
    target static void add_##isa(const channel *c)                                                \
    {                                                                                             \
        add_channel(c);                                                                           \
    }

FOR(any, )
#ifdef __x86_64__
FOR(avx2, __attribute__((target("avx2,fma"))))
FOR(avx512, __attribute__((target("avx512f,avx512dq,avx2,fma"))))
#endif

static void add_here(const channel *c)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512dq")) add_avx512(c);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) add_avx2(c);
    else
#endif
        add_any(c);
}

/* ---- Shortcuts ---- */

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

static void add_chunk(void *data, int chunk, void *scratch)
{
    const add_job *job = data;
    const layer *l = job->l;
    const int area = l->outputs / l->c, image = chunk / l->c, c = chunk % l->c;
    const size_t at = (size_t)c * area;
    channel it = {.inputs = l->n + 1, .n = area,
                  .activation = hook_activation(l->activation)};
    (void)scratch;
    it.output = l->output + (size_t)image * l->outputs + at;
    it.input[0] = job->input + (size_t)image * l->outputs + at;
    for (int k = 1; k < it.inputs; ++k) {
        const size_t size = l->input_sizes[k - 1], left = size > at ? size - at : 0;
        it.input[k] = job->layers[l->input_layers[k - 1]].output + image * size + at;
        it.size[k] = left < (size_t)area ? (int)left : area;
    }
    weigh(l, c, it.weight);
    add_here(&it);
}

int hook_add(const layer *l, const float *input, const layer *layers)
{
    add_job job = {l, layers, input};
    const int inputs = l->n + 1, chunks = l->batch * l->c;
    if (inputs > MOST_INPUTS || l->outputs % l->c || l->outputs != l->inputs) return 0;
    if (!hook_is_applied(l)) return 0;
    if (l->nweights && l->nweights != inputs && l->nweights != inputs * l->c) return 0;
    if (!gemm_parallel(darknet_gemm_get_threads(), chunks, add_chunk, &job)) return 1;
    for (int i = 0; i < chunks; ++i) add_chunk(&job, i, NULL);
    return 1;
}

#endif
