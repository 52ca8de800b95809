/* SPDX-License-Identifier: MIT */
/*
 * How the choice is made.
 *
 * - The device has the first passes, then the CPU. Of each side's passes the shortest one counts,
 *   because programs are compiled, and weights are copied and transformed, in the first two. Later
 *   outliers are longer too.
 * - The CPU may lose early. Its passes together may cost SPARE passes of the device. Once it is
 *   warm, a pass may take NEAR times the device's. A pass beyond these limits stops behind a layer,
 *   and the device has the rest of it. So a CPU that takes many times as long stops in its first
 *   pass.
 * - Both on each layer are tried only where the sides are NEAR. The shares are learned from pass to
 *   pass (share.c), so 32 passes do not count. They have their own SPARE. Both must be 2% faster
 *   than one alone, because their results vary.
 * - Then the fastest one has all passes. A side that failed gets no further pass.
 *
 * Both SPAREs are 20 passes of the faster side: 2% of 1000 passes. The choice is never looked at
 * again: a network of another size, or with another number of threads, is another one.
 */
#include "hybrid/pass.h"

#include "util/forked.h"

#include <math.h>
#include <pthread.h>

enum {
    PLACES = 64,                /* networks that are known at once */
    COLD = 2, LEARNING = 32,    /* passes that come first: of one side, of both */
    COUNTED = 3                 /* behind them */
};
static_assert(2 * (COLD + COUNTED) + LEARNING + COUNTED <= GEMM_HYBRID_PASSES, "passes");

static const double NEAR = 1.5;         /* a side that takes so many times the other's time lost */
static const double MARGIN = 0.98;      /* both must take at most this part of one side's time */

/* What the passes of a side may cost, in passes of the faster other side. The device has no limit:
   nothing is known before it, and its launches return before they end. */
static const double SPARE[GEMM_HYBRID_SIDES] = {
    [GEMM_HYBRID_DEVICE] = INFINITY, [GEMM_HYBRID_CPU] = 8, [GEMM_HYBRID_BOTH] = 12};
static const double LEAST_SPARE = 5;    /* ms: threads begin, and pages of memory are new */

typedef struct model {
    gemm_network network;
    unsigned long used;         /* the number of the look-up that found it last; 0: it is free */
    gemm_hybrid_side side;      /* of the next pass */
    bool stands;                /* for good */
    int passes;                 /* of this side */
    double spent;               /* ms of them beyond as many passes of the fastest other side */
    double ms[GEMM_HYBRID_SIDES];       /* the shortest that counts; INFINITY: none. One that
                                   stopped takes NEAR times the other side's, or more */
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

/* One side alone that is not being measured. INFINITY: there is none. */
static double fastest_other(const model *m)
{
    if (m->side == GEMM_HYBRID_BOTH) return fastest_alone(m);
    return m->ms[m->side == GEMM_HYBRID_CPU ? GEMM_HYBRID_DEVICE : GEMM_HYBRID_CPU];
}

static gemm_hybrid_side faster_alone(const model *m)
{
    return m->ms[GEMM_HYBRID_CPU] < m->ms[GEMM_HYBRID_DEVICE] ? GEMM_HYBRID_CPU
                                                             : GEMM_HYBRID_DEVICE;
}

/* Both are right where each side alone failed: one replaces the other for single layers. */
static gemm_hybrid_side fastest(const model *m)
{
    const double alone = fastest_alone(m);
    if (alone == INFINITY || m->ms[GEMM_HYBRID_BOTH] < MARGIN * alone) return GEMM_HYBRID_BOTH;
    return faster_alone(m);
}

/* A side that failed is not near. */
static bool are_near(const model *m)
{
    const double slowest = fmax(m->ms[GEMM_HYBRID_DEVICE], m->ms[GEMM_HYBRID_CPU]);
    return slowest < INFINITY && slowest < NEAR * fastest_alone(m);
}

/* ms that the side may still cost. */
static double spare_of(const model *m)
{
    return fmax(SPARE[m->side] * fastest_other(m), LEAST_SPARE) - m->spent;
}

/* How long the next pass may take until it stops. */
static double limit_of(const model *m)
{
    const double other = fastest_other(m);
    if (m->stands || other == INFINITY) return INFINITY;
    const bool warm = m->side == GEMM_HYBRID_CPU && m->passes >= COLD;
    return warm ? fmin(other + spare_of(m), NEAR * other) : other + spare_of(m);
}

static void go_on(model *m)
{
    m->passes = 0;
    m->spent = 0;
    m->stands = m->stands || m->side == GEMM_HYBRID_BOTH ||
                (m->side == GEMM_HYBRID_CPU && !are_near(m));
    m->side = m->stands ? fastest(m) : m->side + 1;
}

/* Whether the side has had all its passes, or has lost. */
static bool is_measured(const model *m)
{
    const bool both = m->side == GEMM_HYBRID_BOTH;
    return m->passes == (both ? LEARNING : COLD) + COUNTED ||
           spare_of(m) <= 0;
}

static void learn(model *m, double ms)
{
    const double other = fastest_other(m);
    const bool stopped = ms > limit_of(m);
    if (ms == INFINITY) {
        m->ms[m->side] = ms;
        go_on(m);
        return;
    }
    if (m->stands) return;
    ++m->passes;
    if (other < INFINITY) m->spent += fmax(0, ms - other);
    if (m->side != GEMM_HYBRID_BOTH || m->passes > LEARNING)
        m->ms[m->side] = fmin(m->ms[m->side], stopped ? fmax(ms, NEAR * other) : ms);
    if (is_measured(m)) go_on(m);
}

gemm_taker gemm_hybrid_choose(const gemm_network *n)
{
    pthread_mutex_lock(&lock);
    const model *m = find(n);
    const gemm_taker taker = {(int)m->side, limit_of(m), (int)faster_alone(m)};
    pthread_mutex_unlock(&lock);
    return taker;
}

void gemm_hybrid_learn(const gemm_network *n, int side, double ms)
{
    pthread_mutex_lock(&lock);
    model *m = find(n);
    if ((int)m->side == side) learn(m, ms);
    pthread_mutex_unlock(&lock);
}
