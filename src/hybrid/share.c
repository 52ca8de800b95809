/* SPDX-License-Identifier: MIT */
/*
 * How the share is searched.
 *
 * Shares are compared by the times of whole calls. What a share that was not tried may take is
 * limited by the shares that were tried:
 *
 *   call = max(device, cpu)
 *
 *   device    from the call's begin until the device's result is in C
 *   cpu       the CPU's part
 *
 * `device` grows with the share, and `cpu` with what is left. A part of each is fixed,
 * and nobody knows how large it is. So of two shares, the one with more work takes at least as long
 * as the other one. With n times the work it takes at most n times as long. The nearest shares that
 * were tried, one on each side, give the limits of a share between them.
 *
 * - The first share is a half.
 * - The next share was not tried, and by its lower limit the call is 5% shorter than the best one.
 *   Several are compared by a third of the way from the lower to the upper limit.
 * - One side alone may be faster than its limit, because it has all threads. It is tried last, and
 *   if four fifths of the limit are short enough.
 * - A share has three calls. The first one does not count, because weights go to the device,
 *   programs are compiled, and the CPU transforms filters again. Of the other two the shorter one
 *   counts, because outliers are longer.
 * - If no share is left to try, the best one stays for 512 calls. Then all is tried anew, because
 *   times may change. If the same share is the best one, it stays for twice as many calls, up to
 *   4096.
 */
#include "hybrid/share.h"

#include "util/forked.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum {
    PLACES = 256,               /* shapes that are known at once */
    NEAR = 4,                   /* a shape lies at its hash, or at most so many places behind */
    STEPS = 32,                 /* shares are compared in steps of 1/32 or larger */
    TRIES = 2,                  /* calls of a share that count */
    PERIOD = 512, LONGEST = 4096        /* calls until all is tried anew */
};

static const double GUESS = 0.5;
static const double GAIN = 0.05;        /* what a share must promise to be tried */
static const double ALONE = 0.8;        /* one side alone may take so much of its limit */
static const double LIKELY = 1.0 / 3;   /* between the limits: 0 is the lower one */

/* The times of a call. */
typedef enum side { DEVICE, CPU, SIDES } side;

typedef struct limits {
    double low, high;
} limits;

/* What was measured with one share, in the shortest call that counts. */
typedef struct trial {
    int calls;                  /* that count */
    double call_ms;
    double ms[SIDES];
} trial;

typedef struct model {
    gemm_shape shape;
    bool taken;                 /* the place is in use */
    unsigned long used;         /* the number of the look-up that found it last */
    double step;                /* share i is i * step, but for the last one, which is 1 */
    int ends;                   /* the number of share 1; 0: not known yet */
    int share, last;            /* of the next calls, of the last call; -1: none */
    int best;                   /* what the last search found; -1: nothing yet */
    int left, period;           /* calls until the next search, 0: it runs; so many from its end */
    trial trials[STEPS + 1];
} model;

static model models[PLACES];
static unsigned long look_ups;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A model that another thread was changing is a poor one, and learns. */
static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
}
GEMM_IN_CHILD(after_fork)

/* ---- the table ---- */

/* The model of the shape. A new one takes the place of the one that was not used for longest. */
static model *find(const gemm_shape *s)
{
    const unsigned first = gemm_shape_hash(s);
    model *oldest = NULL;
    for (unsigned i = 0; i < NEAR; ++i) {
        model *m = &models[(first + i) % PLACES];
        if (m->taken && !gemm_shape_compare(&m->shape, s)) {
            m->used = ++look_ups;
            return m;
        }
        if (!oldest || m->used < oldest->used) oldest = m;
    }
    *oldest = (model){.shape = *s, .taken = true, .used = ++look_ups, .last = -1,
                      .best = -1};
    return oldest;
}

/* ---- shares by their numbers ---- */

static double share_at(const model *m, int i)
{
    return i < m->ends ? i * m->step : 1;
}

static int number_of(const model *m, double share)
{
    if (share <= 0) return 0;
    if (share >= 1) return m->ends;
    return (int)fmax(1, fmin(m->ends - 1, round(share / m->step)));
}

static void set_step(model *m, double step)
{
    if (m->ends) return;
    m->step = step * ceil(1 / step / STEPS - 1e-6);
    m->ends = (int)ceil(1 / m->step - 1e-6);
    m->share = number_of(m, GUESS);
}

/* ---- tries ---- */

/* What a time grows with. */
static double size_of(const model *m, side s, int i)
{
    return s == CPU ? 1 - share_at(m, i) : share_at(m, i);
}

static void remember(trial *at, const gemm_shared_times *t)
{
    if (at->calls++ && t->call_ms >= at->call_ms) return;
    at->call_ms = t->call_ms;
    at->ms[DEVICE] = t->device_ms;
    at->ms[CPU] = t->cpu_ms;
}

/* ---- limits ---- */

/* What share j says about share i. */
static void narrow(limits *l, const model *m, side s, int i, int j)
{
    const double ms = m->trials[j].ms[s], more = size_of(m, s, i) / size_of(m, s, j);
    l->low = fmax(l->low, ms * fmin(1, more));
    l->high = fmin(l->high, ms * fmax(1, more));
}

static bool has(const model *m, side s, int i)
{
    return m->trials[i].calls && size_of(m, s, i) > 0;
}

static limits limits_of(const model *m, side s, int i)
{
    limits l = {0, INFINITY};
    if (size_of(m, s, i) <= 0) return (limits){0, 0};
    int below = i, above = i;
    while (below >= 0 && !has(m, s, below)) --below;
    while (above <= m->ends && !has(m, s, above)) ++above;
    if (below >= 0) narrow(&l, m, s, i, below);
    if (above <= m->ends) narrow(&l, m, s, i, above);
    return l;
}

/* A call with share i. `between` is 0 for the lower limits and 1 for the upper ones. */
static double call_of(const model *m, int i, double between)
{
    double ms[SIDES];
    for (side s = 0; s < SIDES; ++s) {
        const limits l = limits_of(m, s, i);
        ms[s] = between > 0 ? (1 - between) * l.low + between * l.high : l.low;
    }
    return fmax(ms[DEVICE], ms[CPU]);
}

/* What a call with share i must take at least. */
static double least_of(const model *m, int i)
{
    return (i == 0 || i == m->ends ? ALONE : 1) * call_of(m, i, 0);
}

/* ---- the next share ---- */

/* Of the shares that were tried; there is one. */
static int best_tried(const model *m)
{
    int best = -1;
    for (int i = 0; i <= m->ends; ++i)
        if (m->trials[i].calls && (best < 0 || m->trials[i].call_ms < m->trials[best].call_ms))
            best = i;
    return best;
}

/* Of the shares from `first` to `last` that were not tried, and may take less than `ms`. -1:
   none. */
static int most_promising(const model *m, int first, int last, double ms)
{
    int best = -1;
    double least = INFINITY;
    for (int i = first; i <= last; ++i) {
        if (m->trials[i].calls || least_of(m, i) >= ms) continue;
        const double likely = call_of(m, i, LIKELY);
        if (likely < least) least = likely, best = i;
    }
    return best;
}

/* The search ends. */
static void settle(model *m, int share)
{
    const bool again = share == m->best;
    m->period = !again ? PERIOD : m->period < LONGEST ? 2 * m->period : LONGEST;
    m->left = m->period;
    m->share = m->best = share;
}

static void decide(model *m)
{
    const int best = best_tried(m);
    const double ms = (1 - GAIN) * m->trials[best].call_ms;
    int next = most_promising(m, 1, m->ends - 1, ms);
    if (next < 0) next = most_promising(m, 0, m->ends, ms);
    if (next >= 0) m->share = next;
    else settle(m, best);
}

double gemm_share_of(const gemm_shape *s, double step)
{
    pthread_mutex_lock(&lock);
    model *m = find(s);
    set_step(m, step);
    const double share = share_at(m, m->share);
    pthread_mutex_unlock(&lock);
    return share;
}

/* A device that failed is asked again by the next search. */
static void learn_known(model *m, const gemm_shared_times *t)
{
    const int i = number_of(m, t->share);
    const bool counts = !t->first && i == m->last;
    m->last = i;
    if (t->failed) {
        settle(m, 0);
    } else if (!m->left) {
        if (counts) remember(&m->trials[i], t);
        if (m->trials[m->share].calls >= TRIES) decide(m);
    } else if (!--m->left) {
        memset(m->trials, 0, sizeof m->trials);
        m->share = number_of(m, GUESS);
    }
}

void gemm_share_learn(const gemm_shape *s, const gemm_shared_times *t)
{
    pthread_mutex_lock(&lock);
    model *m = find(s);
    if (m->ends) learn_known(m, t);
    pthread_mutex_unlock(&lock);
}

void gemm_share_forget(void)
{
    pthread_mutex_lock(&lock);
    memset(models, 0, sizeof models);
    pthread_mutex_unlock(&lock);
}
