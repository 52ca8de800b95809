/*
 * The model behind the share.
 *
 * Every call is cut in four times:
 *
 *   start     the CPU enqueues the device's part, and copies what it needs
 *   device    from then until the result is in the CPU's memory, transfers included
 *   cpu       the CPU's part
 *   take      the CPU adds the device's result to C
 *
 *   call = start + max(device, cpu) + take
 *
 * Part of a time is fixed, and the rest grows with the share (cpu: with what is left). Fixed are
 * launches, the comparison of kept weights, and the copy of an operand that is not cut. The model
 * keeps a trial for each share that it tried: the four times, smoothed. Any other share takes the
 * times of the nearest trial: take and cpu are scaled, and so is one half of start and device. The
 * other half counts as fixed. This may be wrong far from a trial. But the share that it leads to is
 * tried, and then its times are known.
 *
 * The next share is the one with the shortest call, of all shares that cut a call:
 *
 * - The first share is a half. With 0 and 1 one side does all. They come after two shares between,
 *   or before, if one side alone is clearly the best.
 * - Two sides must save 3% of what one side takes. A share of 0 or 1 that was never tried counts
 *   three quarters of what the model says. The reason: one side alone does not wait for the other
 *   one's copies. So it is tried where it is close.
 * - A move must save 3%. It is a quarter at most, unless it goes to 0, to 1 or to a share that was
 *   tried before.
 * - The first call with another share does not count, because weights go to the device, programs
 *   are compiled, and the CPU transforms filters again. Two calls that count follow before the
 *   next move. Of each of the four times the shortest one counts, because outliers are longer.
 * - Later one of 16 calls is timed, because a device's clock takes time. A shorter time counts more
 *   than a longer one. One call adds a sixteenth at most.
 * - What is not tried any more may change. So after 256 calls comes a probe: two calls with the
 *   best other share. The first one does not count. When nothing changes, the next probe comes
 *   after twice as many calls, up to 4096.
 */
#include "hybrid/share.h"

#include "util/hash.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum {
    PLACES = 256,               /* shapes that are known at once */
    NEAR = 4,                   /* a shape lies at its hash, or at most so many places behind */
    TRIALS = 8,                 /* shares that are known for a shape */
    TRIES = 2,                  /* calls that count, before a share is left */
    SETTLED = 16,               /* one of so many calls of a settled share is timed */
    MOST_STEPS = 32,            /* shares are compared in steps of 1/32 or larger */
    PERIOD = 256, LONGEST = 4096        /* calls between two probes */
};

static const double GUESS = 0.5, MOST_STEP = 0.25, LEAST_STEP = 1.0 / 16;
static const double FIXED = 0.5;        /* of start and device */
static const double SAVING = 0.03;      /* what two sides must save */
static const double HOPE = 0.25;        /* what one side may be faster than the model says */
static const double LEAST_GAIN = 0.03;  /* of a move */
static const double HOPELESS = 3;       /* a call takes so many times what one side would take */

/* The four times of a call. */
typedef enum phase { START, DEVICE, TAKE, CPU, TIMES } phase;

typedef struct trial {
    double share;
    unsigned long used;         /* the number of the last call; 0: a free place */
    int tries;                  /* calls that count, timed or not */
    double ms[TIMES];           /* of a call with this share */
} trial;

typedef struct model {
    gemm_share_key shape;
    bool taken;                 /* the place is in use */
    unsigned long used;         /* the number of the look-up that found it last */
    double step;                /* shares between 0 and 1 are multiples of it */
    double share;               /* of the next calls */
    double last;                /* share of the last call; -1: none */
    int since, period;          /* calls since the last move or probe; so many until the next */
    unsigned long calls;
    trial trials[TRIALS];
} model;

static model models[PLACES];
static unsigned long look_ups;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the table ---- */

/* The model of the shape. A new one takes the place of the one that was not used for longest. */
static model *find(const gemm_share_key *s)
{
    const unsigned first = gemm_hash(0, s->number, GEMM_SHARE_NUMBERS);
    model *oldest = NULL;
    for (unsigned i = 0; i < NEAR; ++i) {
        model *m = &models[(first + i) % PLACES];
        if (m->taken && !memcmp(&m->shape, s, sizeof *s)) {
            m->used = ++look_ups;
            return m;
        }
        if (!oldest || m->used < oldest->used) oldest = m;
    }
    *oldest = (model){.shape = *s, .taken = true, .used = ++look_ups, .share = GUESS,
                      .last = -1, .period = PERIOD};
    return oldest;
}

/* ---- trials ---- */

static bool is_one_sided(double share)
{
    return share <= 0 || share >= 1;
}

/* What a time grows with. */
static double size_of(phase p, double share)
{
    return p == CPU ? 1 - share : share;
}

static bool has(const trial *t, phase p)
{
    return t->tries && size_of(p, t->share) > 0;
}

/* The trial of this share, or NULL. It may have no call that counts yet. */
static trial *trial_at(model *m, double share)
{
    for (trial *t = m->trials; t < m->trials + TRIALS; ++t)
        if (t->used && fabs(t->share - share) < 1e-6) return t;
    return NULL;
}

static bool is_known(model *m, double share)
{
    const trial *t = trial_at(m, share);
    return t && t->tries;
}

/* A free place, or the place of the trial that was not used for longest. */
static trial *new_trial(model *m, double share)
{
    trial *oldest = m->trials;
    for (trial *t = m->trials; t < m->trials + TRIALS; ++t)
        if (t->used < oldest->used) oldest = t;
    *oldest = (trial){.share = share};
    return oldest;
}

static int count_trials_between(const model *m)
{
    int count = 0;
    for (const trial *t = m->trials; t < m->trials + TRIALS; ++t)
        count += t->tries && !is_one_sided(t->share);
    return count;
}

/* The time from the start's end until the device's result was there. Without the device's clock the
   CPU knows it only when it had to wait. Else the device was faster, and a guess must do. */
static double device_ms(const gemm_shared_times *t)
{
    static const double WAITED = 0.05, FASTER = 0.7;    /* parts of the longest that it may be */
    const double most = t->cpu_ms + t->finish_ms;
    if (t->arrival_ms >= 0) return fmin(t->arrival_ms, most);
    return t->finish_ms > WAITED * most ? most : FASTER * most;
}

/* How much a smoothed time changes when the time of another call is `longer` by this. Of the first
   calls only a shorter time counts. */
static double correction(const trial *at, double longer)
{
    const double call = at->ms[START] + fmax(at->ms[DEVICE], at->ms[CPU]) + at->ms[TAKE];
    if (at->tries < TRIES) return fmin(0, longer);
    return longer < 0 ? 0.5 * longer : 0.125 * fmin(longer, 0.5 * call);
}

static void learn_times(trial *at, const gemm_shared_times *t, bool replaces)
{
    const double device = device_ms(t), wait = fmax(0, device - t->cpu_ms);
    const double ms[TIMES] = {[START] = t->start_ms, [DEVICE] = device,
                              [TAKE] = fmax(0, t->finish_ms - wait), [CPU] = t->cpu_ms};
    for (phase p = 0; p < TIMES; ++p) {
        const double longer = ms[p] - at->ms[p];
        at->ms[p] += replaces ? longer : correction(at, longer);
    }
}

/* Times of a share that was not tried for long replace the old ones. Returns how many calls of the
   share count; 0 if this one does not. */
static int remember(model *m, const gemm_shared_times *t, bool counts)
{
    trial *at = trial_at(m, t->share);
    if (!at && !t->timed) return 0;
    if (!at) at = new_trial(m, t->share);
    if (at->tries && !counts) return 0;
    const bool replaces = !at->used || at->used + PERIOD < m->calls;
    if (t->timed) learn_times(at, t, replaces);
    if (replaces) at->tries = 0;
    at->tries += counts;
    at->used = m->calls;
    return at->tries;
}

/* ---- the model ---- */

/* One of the four times; below 0: unknown. */
static double time_of(const model *m, phase p, double share)
{
    const trial *near = NULL;
    if (size_of(p, share) <= 0) return 0;
    for (const trial *t = m->trials; t < m->trials + TRIALS; ++t)
        if (has(t, p) && (!near || fabs(t->share - share) < fabs(near->share - share))) near = t;
    if (!near) return -1;
    const double fixed = p == START || p == DEVICE ? FIXED : 0;
    return near->ms[p] * (fixed + (1 - fixed) * size_of(p, share) / size_of(p, near->share));
}

/* A call with this share; below 0: unknown. */
static double call_of(const model *m, double share)
{
    const double start = time_of(m, START, share), device = time_of(m, DEVICE, share);
    const double take = time_of(m, TAKE, share), cpu = time_of(m, CPU, share);
    return device < 0 || cpu < 0 ? -1 : start + fmax(device, cpu) + take;
}

/* What shares are compared by. */
static double cost_of(model *m, double share)
{
    const double ms = call_of(m, share);
    return !is_one_sided(share) ? ms : ms * (1 - (is_known(m, share) ? SAVING : HOPE));
}

/* The multiples of the step between 0 and 1. */
static int count_steps(const model *m)
{
    return (int)ceil(1 / m->step - 1e-6) - 1;
}

static double snap(const model *m, double share)
{
    if (is_one_sided(share)) return share;
    return fmax(1, fmin(count_steps(m), round(share / m->step))) * m->step;
}

/* The best share between 0 and 1. */
static double best_between(model *m)
{
    double best = GUESS, least = INFINITY;
    for (int i = 1; i <= count_steps(m); ++i) {
        const double cost = cost_of(m, i * m->step);
        if (cost < least) least = cost, best = i * m->step;
    }
    return best;
}

static double best_alone(model *m)
{
    return cost_of(m, 0) <= cost_of(m, 1) ? 0 : 1;
}

static double best_of_all(model *m)
{
    const double alone = best_alone(m), between = best_between(m);
    return cost_of(m, alone) <= cost_of(m, between) ? alone : between;
}

/* Whether the model knows enough to leave the device or the CPU without work. */
static bool may_go_to(const model *m, double alone)
{
    return is_one_sided(m->share) || count_trials_between(m) > 1 ||
           call_of(m, m->share) > HOPELESS * call_of(m, alone);
}

static void move_to(model *m, double target)
{
    const bool known = is_one_sided(target) || is_known(m, target);
    const double step = target - m->share;
    m->share = known ? target : snap(m, m->share + fmax(-MOST_STEP, fmin(MOST_STEP, step)));
    m->since = 0;
    m->period = PERIOD;
}

static void decide(model *m)
{
    if (call_of(m, GUESS) < 0) return;
    double target = best_of_all(m);
    if (cost_of(m, target) > (1 - LEAST_GAIN) * cost_of(m, m->share)) return;
    if (is_one_sided(target) && !may_go_to(m, target)) {
        const double between = best_between(m);
        if (fabs(between - m->share) > LEAST_STEP) target = between;
    }
    move_to(m, target);
}

/* Whether the model looks at the call with this number, of those of a share that count. */
static bool is_of_interest(int number)
{
    return number <= 2 * TRIES || number % SETTLED == 0;
}

static bool is_probing(const model *m)
{
    return m->since >= m->period;
}

static double share_of_probe(model *m)
{
    if (!is_one_sided(m->share)) return best_alone(m);
    if (call_of(m, GUESS) < 0) return snap(m, GUESS);
    const double between = best_between(m), other = 1 - m->share;
    return cost_of(m, other) < cost_of(m, between) ? other : between;
}

double gemm_share_of(const gemm_share_key *s, double step, bool *timed)
{
    pthread_mutex_lock(&lock);
    model *m = find(s);
    m->step = step * ceil(1 / step / MOST_STEPS - 1e-6);
    m->share = snap(m, m->share);
    const double share = is_probing(m) ? share_of_probe(m) : m->share;
    const trial *t = trial_at(m, share);
    *timed = is_probing(m) || !t || is_of_interest(t->tries + 1);
    pthread_mutex_unlock(&lock);
    return share;
}

/* After a probe: a share that stays is probed less often. */
static void end_probe(model *m, double before)
{
    m->since = 0;
    if (m->share == before) m->period = m->period < LONGEST ? 2 * m->period : LONGEST;
}

/* The device is asked again at the next probe. */
static void give_up(model *m)
{
    const double before = m->share;
    for (int i = 0; i < TRIALS; ++i)
        if (m->trials[i].share > 0) m->trials[i] = (trial){0};
    if (before > 0) move_to(m, 0);
    end_probe(m, before);
}

static void learn_call(model *m, const gemm_shared_times *t, bool counts)
{
    const double before = m->share;
    const bool probe = is_probing(m) && counts && fabs(t->share - before) > 1e-6;
    const int tries = remember(m, t, counts);
    if (!is_probing(m)) ++m->since;
    if (probe || (tries >= TRIES && is_of_interest(tries))) decide(m);
    if (probe) end_probe(m, before);
}

void gemm_share_learn(const gemm_share_key *s, const gemm_shared_times *t)
{
    pthread_mutex_lock(&lock);
    model *m = find(s);
    const bool counts = !t->first && fabs(t->share - m->last) < 1e-6;
    m->last = t->share;
    ++m->calls;
    if (t->failed)
        give_up(m);
    else
        learn_call(m, t, counts);
    pthread_mutex_unlock(&lock);
}

void gemm_share_forget(void)
{
    pthread_mutex_lock(&lock);
    memset(models, 0, sizeof models);
    pthread_mutex_unlock(&lock);
}
