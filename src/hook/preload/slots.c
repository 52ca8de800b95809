/* SPDX-License-Identifier: MIT */
/*
 * The plans of the layers of a Darknet that has no place for them: a table by weights and output.
 *
 * A layer that is freed or changed is dropped by the doors (doors.c). Changes that pass no door are
 * found too. Each call compares a few of the weights, and one of PARTS parts of all by a
 * fingerprint, so a change is found after PARTS calls at most. All parts are compared when no layer
 * was used for IDLE_MS. A part costs about as much as reading it.
 */
#include "hook/preload/slots.h"

#include "hook/batch.h"

#include "util/forked.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUCKETS = 1024, SAMPLES = 4, PARTS = 16, LANES = 16, IDLE_MS = 100 };

typedef struct fingerprint {
    uint32_t lane[LANES];
} fingerprint;

typedef struct entry {
    struct entry *next;
    const float *weights, *output;
    float sample[SAMPLES + 2];
    fingerprint then[PARTS];
    int part;                   /* of the weights, that the next call compares */
    long epoch;                 /* when all parts were compared; 0: never */
    float *variance;            /* n, or NULL: as conv_norm means it */
    gemm_plan *plan;
} entry;

static entry *table[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The table is in order after each store, so a child goes on with it. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
GEMM_IN_CHILD(after_fork)

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

/* 31 is odd, so a change of one number always changes its lane. */
static void mix(fingerprint *f, const float *data, size_t n)
{
    uint32_t word[LANES];
    size_t i;
    for (i = 0; i + LANES <= n; i += LANES) {
        memcpy(word, data + i, sizeof word);
        for (int j = 0; j < LANES; ++j) f->lane[j] = f->lane[j] * 31 + word[j];
    }
    memset(word, 0, sizeof word);
    memcpy(word, data + i, (n - i) * sizeof *data);
    for (int j = 0; j < LANES; ++j) f->lane[j] = f->lane[j] * 31 + word[j];
}

/* Of a part of the weights, and of what is small. */
static fingerprint fingerprint_of(const layer *l, int part)
{
    const int n = l->type == CONNECTED ? l->outputs : l->n;
    const size_t weights = weights_of(l), first = weights * part / PARTS;
    fingerprint f = {{0}};
    mix(&f, l->weights + first, weights * (part + 1) / PARTS - first);
    mix(&f, l->biases, n);
    if (!l->batch_normalize) return f;
    mix(&f, l->scales, n);
    mix(&f, l->rolling_mean, n);
    mix(&f, l->rolling_variance, n);
    return f;
}

/* A number that grows when no layer was used for IDLE_MS. From 1. */
static long epoch_now(void)
{
    static atomic_long epoch = 1, last_ms;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const long ms = (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    if (ms - atomic_exchange(&last_ms, ms) > IDLE_MS) ++epoch;
    return epoch;
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
            atomic_signal_fence(memory_order_release);     /* for a fork here */
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

/* Whether these parts are as they were. They are remembered as they are. */
static int same_parts(entry *e, const layer *l, int first, int end)
{
    int same = 1;
    for (int i = first; i < end; ++i) {
        const fingerprint now = fingerprint_of(l, i);
        same &= !memcmp(&now, &e->then[i], sizeof now);
        e->then[i] = now;
    }
    return same;
}

/* Drops what is kept of other weights. */
static void compare(entry *e, const layer *l)
{
    float sample[SAMPLES + 2];
    const long epoch = epoch_now();
    take_sample(l, sample);
    int same = !memcmp(sample, e->sample, sizeof sample);
    if (same && e->epoch == epoch) same = same_parts(e, l, e->part, e->part + 1);
    if (!same || e->epoch != epoch) same = same_parts(e, l, 0, PARTS) && same;
    if (!same) empty(e);
    memcpy(e->sample, sample, sizeof sample);
    e->part = (e->part + 1) % PARTS;
    e->epoch = epoch;
}

/* Of an image of a batch, whose layers are looked through from the last one found on. */
static int image_kept(const hook_image *one, const layer *l, gemm_plan ***slot, conv_norm *norm)
{
    static _Thread_local int last;
    int i, k;
    for (i = 0; i < one->n; ++i) {
        k = (last + i) % one->n;
        if (one->layers[k].output != l->output || one->layers[k].weights != l->weights) continue;
        last = k;
        *slot = one->slots[k];
        *norm = one->norms[k];
        return *slot != NULL;
    }
    return 0;
}

int hook_kept(const layer *l, gemm_plan ***slot, conv_norm *norm)
{
    if (hook_present) return image_kept(hook_present, l, slot, norm);
    entry *e = find(l);
    if (!e) return 0;
    compare(e, l);
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

void hook_drop_network(const network *net)
{
    for (int i = 0; i < net->n; ++i) hook_drop(&net->layers[i]);
}
