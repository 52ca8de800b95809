/* SPDX-License-Identifier: MIT */
/*
 * The plans of the layers of a Darknet that has no place for them: a table by weights and output.
 *
 * A layer that is freed or changed is dropped by the doors (doors.c). Besides, a few of its weights
 * are compared at each call, so that most other changes are seen too.
 */
#include "hook/preload/slots.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024, SAMPLES = 4 };

typedef struct entry {
    struct entry *next;
    const float *weights, *output;
    float sample[SAMPLES + 2];
    float *variance;            /* n, or NULL: as conv_norm means it */
    gemm_plan *plan;
} entry;

static entry *table[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static entry **bucket(const float *weights)
{
    return &table[((size_t)weights >> 4) * 2654435761u % BUCKETS];
}

static void empty(entry *e)
{
    gemm_plan_drop(&e->plan);
    free(e->variance);
    e->variance = NULL;
}

static size_t weights_of(const layer *l)
{
    return l->type == CONNECTED ? (size_t)l->inputs * l->outputs
                                : (size_t)l->c / l->groups * l->n * l->size * l->size;
}

static void take_sample(const layer *l, float sample[SAMPLES + 2])
{
    const size_t step = weights_of(l) / SAMPLES;
    for (int i = 0; i < SAMPLES; ++i) sample[i] = l->weights[i * step];
    sample[SAMPLES] = l->biases[0];
    sample[SAMPLES + 1] = l->batch_normalize ? l->rolling_variance[0] : 0;
}

static entry *find(const layer *l)
{
    entry **at = bucket(l->weights), *e;
    pthread_mutex_lock(&lock);
    for (e = *at; e && (e->weights != l->weights || e->output != l->output);) e = e->next;
    if (!e) {
        e = calloc(1, sizeof *e);
        if (e) {
            e->weights = l->weights;
            e->output = l->output;
            e->next = *at;
            *at = e;
        }
    }
    pthread_mutex_unlock(&lock);
    return e;
}

#ifdef HOOK_ALEXEYAB

/* gemm_conv divides by sqrt(v) + 1e-6, and AlexeyAB's Darknet by sqrt(v + 1e-5). */
static float variance_of(float v)
{
    const double root = sqrt(v + .00001) - .000001;
    return (float)(root * root);
}

/* Returns NULL without memory. */
static const float *variance(entry *e, const layer *l)
{
    const int n = l->type == CONNECTED ? l->outputs : l->n;
    if (!e->variance) {
        e->variance = malloc(n * sizeof *e->variance);
        for (int i = 0; e->variance && i < n; ++i)
            e->variance[i] = variance_of(l->rolling_variance[i]);
    }
    return e->variance;
}

#else

static const float *variance(entry *e, const layer *l)
{
    (void)e;
    return l->rolling_variance;
}

#endif

int hook_kept(const layer *l, gemm_plan ***slot, conv_norm *norm)
{
    float sample[SAMPLES + 2];
    entry *e = find(l);
    if (!e) return 0;
    take_sample(l, sample);
    if (memcmp(sample, e->sample, sizeof sample)) {
        empty(e);
        memcpy(e->sample, sample, sizeof sample);
    }
    *slot = &e->plan;
    if (!l->batch_normalize) return 1;
    *norm = (conv_norm){l->rolling_mean, variance(e, l), l->scales};
    return norm->variance != NULL;
}

void hook_drop(const layer *l)
{
    if (!l->weights) return;
    pthread_mutex_lock(&lock);
    for (entry **at = bucket(l->weights); *at;) {
        entry *e = *at;
        if (e->weights != l->weights) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        empty(e);
        free(e);
    }
    pthread_mutex_unlock(&lock);
}
