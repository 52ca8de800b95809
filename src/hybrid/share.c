/*
 * The model behind the share.
 *
 * For each shape it keeps four times, each divided by the part of the call that it belongs to:
 *
 *   start     the CPU enqueues the device's part, and copies what it needs
 *   device    from then until the result is in the CPU's memory, transfers included
 *   cpu       the CPU's part
 *   take      the CPU adds the device's result to C
 *
 * With the share s of the device a call takes
 *
 *   s start + max(s device, (1 - s) cpu) + s take
 *
 * Both sides end together at s = cpu / (cpu + device), which is the device's speed divided by the
 * sum of both speeds. This share is compared with 0 and 1, where one side does all.
 *
 * - The first call with another cut does not count, because weights go to the device, programs are
 *   compiled, and the CPU transforms filters again.
 * - A smaller time counts more than a larger one, because most outliers are larger.
 * - The share moves by a quarter at most, and only if it is off by a sixteenth, because each move
 *   costs such a first call. Only a move to 0 or 1 is not bounded.
 * - With a share of 0 or 1 one side is not measured any more. So after 64 calls two calls are cut:
 *   one that does not count, and one that does. When nothing changes, the next probe comes after
 *   twice as many calls, up to 1024.
 */
#include "hybrid/share.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum {
    PLACES = 256,               /* shapes that are known at once */
    NEAR = 4,                   /* a shape lies at its hash, or at most so many places behind */
    PERIOD = 64, LONGEST = 1024 /* calls between two probes */
};

static const double GUESS = 0.5, MOST_STEP = 0.25, LEAST_STEP = 1.0 / 16;

/* What two sides together, or the device alone, must save of the next best way. */
static const double SAVING = 0.05;

typedef struct model {
    gemm_share_key shape;
    bool taken;                 /* the place is in use */
    unsigned long used;         /* the number of the look-up that found it last */
    double share;               /* of the next calls */
    double last;                /* share of the last call; -1: none */
    int since, period;          /* calls with a share of 0 or 1; so many until the next probe */
    double start, device, cpu, take;    /* ms of a whole call; below 0: unknown */
} model;

static model models[PLACES];
static unsigned long look_ups;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the table ---- */

/* FNV-1a. */
static unsigned hash(const gemm_share_key *s)
{
    unsigned h = 2166136261u;
    for (int i = 0; i < GEMM_SHARE_NUMBERS; ++i) h = (h ^ (unsigned)s->number[i]) * 16777619u;
    return h ^ h >> 16;
}

/* The model of the shape. A new one takes the place of the one that was not used for longest. */
static model *find(const gemm_share_key *s)
{
    const unsigned first = hash(s);
    model *oldest = NULL;
    for (unsigned i = 0; i < NEAR; ++i) {
        model *m = &models[(first + i) % PLACES];
        if (m->taken && !memcmp(&m->shape, s, sizeof *s)) {
            m->used = ++look_ups;
            return m;
        }
        if (!oldest || m->used < oldest->used) oldest = m;
    }
    *oldest = (model){.shape = *s, .taken = true, .used = ++look_ups, .share = GUESS, .last = -1,
                      .period = PERIOD, .start = -1, .device = -1, .cpu = -1, .take = -1};
    return oldest;
}

/* ---- the model ---- */

static void learn(double *known, double ms)
{
    if (*known < 0)
        *known = ms;
    else
        *known += (ms < *known ? 0.5 : 0.125) * (ms - *known);
}

/* The share at which both sides end together. Both are known. */
static double balance(const model *m)
{
    return m->cpu + m->device > 0 ? m->cpu / (m->cpu + m->device) : GUESS;
}

static bool is_bound(double share)
{
    return share <= 0 || share >= 1;
}

static void decide(model *m)
{
    if (m->cpu < 0 || m->device < 0) return;
    const double alone = m->start + m->device + m->take, s = balance(m);
    double best = m->cpu, target = 0;
    if (s * alone < (1 - SAVING) * best) best = s * alone, target = s;
    if (alone < (target > 0 ? 1 + SAVING : 1) * best) target = 1;
    if (target == 0 || target == 1)
        m->share = target;
    else if (fabs(target - m->share) > LEAST_STEP)
        m->share += fmax(-MOST_STEP, fmin(MOST_STEP, target - m->share));
}

/* The time from the start's end until the device's result was there. Without the device's clock the
   CPU only knows it when it had to wait. Else the device was faster, nobody knows by how much. */
static double device_ms(const gemm_shared_times *t)
{
    const double most = t->cpu_ms + t->finish_ms;
    if (t->arrival_ms >= 0) return fmin(t->arrival_ms, most);
    const bool waited = t->finish_ms > 0.05 * most;
    return waited ? most : 0.7 * most;
}

static void learn_times(model *m, const gemm_shared_times *t)
{
    const double s = t->share;
    if (s < 1) learn(&m->cpu, t->cpu_ms / (1 - s));
    if (s > 0) {
        const double device = device_ms(t), wait = fmax(0, device - t->cpu_ms);
        learn(&m->start, t->start_ms / s);
        learn(&m->device, device / s);
        learn(&m->take, fmax(0, t->finish_ms - wait) / s);
    }
}

double gemm_share_of(const gemm_share_key *s)
{
    pthread_mutex_lock(&lock);
    const model *m = find(s);
    const bool probe = is_bound(m->share) && m->since >= m->period;
    const bool known = m->cpu >= 0 && m->device >= 0;
    const double share = !probe ? m->share : known ? balance(m) : GUESS;
    pthread_mutex_unlock(&lock);
    return share;
}

/* After a probe: a share that is still 0 or 1 is probed less often. */
static void end_probe(model *m, double before)
{
    m->since = 0;
    m->period = m->share != before ? PERIOD : m->period < LONGEST ? 2 * m->period : LONGEST;
}

/* The device is asked again at the next probe. */
static void give_up(model *m)
{
    const double before = m->share;
    m->start = m->device = m->take = -1;
    m->share = 0;
    end_probe(m, before);
}

void gemm_share_learn(const gemm_share_key *s, const gemm_shared_times *t)
{
    pthread_mutex_lock(&lock);
    model *m = find(s);
    const bool counts = fabs(t->share - m->last) < 1e-6;
    const double before = m->share;
    m->last = t->share;
    if (t->failed) {
        give_up(m);
    } else {
        if (is_bound(t->share)) ++m->since;
        if (counts) {
            learn_times(m, t);
            decide(m);
        }
        if (counts && !is_bound(t->share)) end_probe(m, before);
    }
    pthread_mutex_unlock(&lock);
}

void gemm_share_forget(void)
{
    pthread_mutex_lock(&lock);
    memset(models, 0, sizeof models);
    pthread_mutex_unlock(&lock);
}
