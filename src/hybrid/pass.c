/* SPDX-License-Identifier: MIT */
/*
 * How the choice is made.
 *
 * - The device has the first passes, then the CPU, then both. The first two passes of each do not
 *   count, because programs are compiled, and weights are copied and transformed. Of the next three
 *   the shortest one counts, because outliers are longer.
 * - With both on each layer, the shares are learned from pass to pass (share.c). So 32 passes do
 *   not count. They are left out where both cannot win: with a device of a ms and a CPU of b ms, a
 *   pass takes at least 1 / (1/a + 1/b). Copies and waits come on top of that.
 * - The fastest one stays. Both must be 2% faster than one alone, because their results vary.
 * - A side that failed gets no further pass.
 *
 * The choice is never looked at again: a network of another size, or with another number of
 * threads, is another one.
 */
#include "hybrid/pass.h"

#include "util/forked.h"

#include <math.h>
#include <pthread.h>

enum {
    PLACES = 64,                /* networks that are known at once */
    COLD = 2, LEARNING = 32,    /* passes that do not count: of one side, of both */
    COUNTED = 3
};
static_assert(2 * (COLD + COUNTED) + LEARNING + COUNTED <= GEMM_HYBRID_PASSES, "passes");

static const double LEAST_GAIN = 0.9;   /* both are worth learning below this part of one side */
static const double MARGIN = 0.98;      /* both must take at most this part of it */

typedef struct model {
    gemm_network network;
    unsigned long used;         /* the number of the look-up that found it last; 0: it is free */
    gemm_hybrid_side side;      /* of the next pass */
    bool stands;                /* for good */
    int passes;                 /* of this side */
    double ms[GEMM_HYBRID_SIDES];       /* the shortest that counts; INFINITY: none */
} model;

static model models[PLACES];
static unsigned long look_ups;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A model that another thread was changing may have a wrong time. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
GEMM_IN_CHILD(after_fork)

static bool is_same(const gemm_network *a, const gemm_network *b)
{
    return a->layers == b->layers && a->count == b->count && a->inputs == b->inputs &&
           a->threads == b->threads && a->direct == b->direct;
}

/* A new model takes the place of the one that was not used for longest. */
static model *find(const gemm_network *n)
{
    model *oldest = models;
    for (model *m = models; m < models + PLACES; ++m) {
        if (m->used && is_same(&m->network, n)) {
            m->used = ++look_ups;
            return m;
        }
        if (m->used < oldest->used) oldest = m;
    }
    *oldest = (model){.network = *n, .used = ++look_ups, .ms = {INFINITY, INFINITY, INFINITY}};
    return oldest;
}

static double fastest_alone(const model *m)
{
    return fmin(m->ms[GEMM_HYBRID_DEVICE], m->ms[GEMM_HYBRID_CPU]);
}

/* Where one side failed, its time is INFINITY, and both gain nothing. */
static bool may_gain(const model *m)
{
    const double least = 1 / (1 / m->ms[GEMM_HYBRID_DEVICE] + 1 / m->ms[GEMM_HYBRID_CPU]);
    return least < LEAST_GAIN * fastest_alone(m);
}

static int cold_passes(const model *m)
{
    return m->side == GEMM_HYBRID_BOTH && may_gain(m) ? LEARNING : COLD;
}

/* Both are right where each side alone failed: one replaces the other for single layers. */
static gemm_hybrid_side fastest(const model *m)
{
    const double alone = fastest_alone(m);
    if (alone == INFINITY || m->ms[GEMM_HYBRID_BOTH] < MARGIN * alone) return GEMM_HYBRID_BOTH;
    return alone == m->ms[GEMM_HYBRID_DEVICE] ? GEMM_HYBRID_DEVICE : GEMM_HYBRID_CPU;
}

static void go_on(model *m)
{
    m->passes = 0;
    m->stands = m->stands || m->side == GEMM_HYBRID_BOTH;
    m->side = m->stands ? fastest(m) : m->side + 1;
}

static void learn(model *m, double ms)
{
    if (ms == INFINITY) {
        m->ms[m->side] = ms;
        go_on(m);
        return;
    }
    if (m->stands) return;
    if (++m->passes > cold_passes(m)) m->ms[m->side] = fmin(m->ms[m->side], ms);
    if (m->passes == cold_passes(m) + COUNTED) go_on(m);
}

int gemm_hybrid_choose(const gemm_network *n)
{
    pthread_mutex_lock(&lock);
    const gemm_hybrid_side side = find(n)->side;
    pthread_mutex_unlock(&lock);
    return (int)side;
}

void gemm_hybrid_learn(const gemm_network *n, int side, double ms)
{
    pthread_mutex_lock(&lock);
    model *m = find(n);
    if ((int)m->side == side) learn(m, ms);
    pthread_mutex_unlock(&lock);
}
