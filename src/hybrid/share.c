/* SPDX-License-Identifier: MIT */
/*
 * How the share is searched.
 *
 * Shares are compared by the times of whole calls. The device's part grows with the share, and the
 * CPU's part with what is left. The longer one counts, so a call gets longer on both sides of the
 * best share.
 *
 * - The first shares are a half, and each side alone, which has all threads.
 * - The next ones lie beside the best one that is no side alone: a quarter away, then an eighth and
 *   so on. One is left out if its part of a side alone says that it takes at least as long.
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
static const double ALONE = 0.8;        /* of a part: a side alone has all threads */

typedef struct model {
    gemm_shape shape;
    bool taken;                 /* the place is in use */
    unsigned long used;         /* the number of the look-up that found it last */
    double step;                /* share i is i * step, but for the last one, which is 1 */
    int ends;                   /* the number of share 1; 0: not known yet */
    int share, last;            /* of the next calls, of the last call; -1: none */
    int calls;                  /* of the share that count */
    int width;                  /* the next shares are so far from the best one */
    int best;                   /* what the last search found; -1: nothing yet */
    int left, period;           /* calls until the next search, 0: it runs; so many from its end */
    double ms[STEPS + 1];       /* the shortest call with each share; 0: it was not tried */
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

static void begin_search(model *m)
{
    memset(m->ms, 0, sizeof m->ms);
    m->share = number_of(m, GUESS);
    m->width = m->ends / 4 ? m->ends / 4 : 1;
    m->calls = 0;
}

static void set_step(model *m, double step)
{
    if (m->ends) return;
    m->step = step * ceil(1 / step / STEPS - 1e-6);
    m->ends = (int)ceil(1 / m->step - 1e-6);
    begin_search(m);
}

/* ---- the search ---- */

/* Of the shares from `first` to `last` that were tried. -1: none. */
static int best_of(const model *m, int first, int last)
{
    int best = -1;
    for (int i = first; i <= last; ++i)
        if (m->ms[i] > 0 && (best < 0 || m->ms[i] < m->ms[best])) best = i;
    return best;
}

/* Whether share i was not tried, and may be faster than the best one. */
static bool promises(const model *m, int i)
{
    const double s = share_at(m, i), least = fmax(s * m->ms[m->ends], (1 - s) * m->ms[0]);
    return i > 0 && i < m->ends && m->ms[i] <= 0 &&
           ALONE * least < (1 - GAIN) * m->ms[best_of(m, 0, m->ends)];
}

/* -1: none is left to try. */
static int next_share(model *m)
{
    const int middle = best_of(m, 1, m->ends - 1);
    if (m->ms[0] <= 0) return 0;
    if (m->ms[m->ends] <= 0) return m->ends;
    for (; middle > 0 && m->width; m->width /= 2) {
        const int side = m->ms[m->ends] < m->ms[0] ? m->width : -m->width;
        if (promises(m, middle + side)) return middle + side;
        if (promises(m, middle - side)) return middle - side;
    }
    return -1;
}

/* The search ends. */
static void settle(model *m, int share)
{
    const bool again = share == m->best;
    m->period = !again ? PERIOD : m->period < LONGEST ? 2 * m->period : LONGEST;
    m->left = m->period;
    m->share = m->best = share;
}

/* A call of the share that counts. */
static void remember(model *m, double ms)
{
    double *const least = &m->ms[m->share];
    *least = *least > 0 ? fmin(*least, ms) : ms;
    if (++m->calls < TRIES) return;
    const int next = next_share(m);
    m->calls = 0;
    if (next >= 0) m->share = next;
    else settle(m, best_of(m, 0, m->ends));
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
    if (t->failed) settle(m, 0);
    else if (!m->left && counts && i == m->share) remember(m, t->call_ms);
    else if (m->left && !--m->left) begin_search(m);
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
