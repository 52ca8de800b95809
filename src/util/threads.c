/* SPDX-License-Identifier: MIT */
/*
 * A pool of threads that starts a job in microseconds, asleep or not.
 *
 *   caller:  write the job - open the door - raise `generation` - wake the sleepers
 *            - take chunks - shut the door - wait until nobody is inside
 *   worker:  wait for `generation` to change - enter if the door is open - take chunks - leave
 *
 * Each thread begins with the chunk that has its number. So if two jobs cut the same memory alike,
 * a thread finds much of it in its own caches. All other chunks come from a counter. A worker that
 * wakes late, or never, costs only its help: nobody waits for a thread that has not begun, and
 * others take its chunk at the end. `door` counts the workers inside a job. Its SHUT bit keeps late
 * workers out of a finished job.
 *
 * Up to three jobs are open at once, and a worker looks at them in this order:
 *
 *   task     chunk 0 is a task beside its caller (gemm_begin_beside). In each other chunk a worker
 *            waits for the caller's jobs, and helps with them. It leaves when none comes for
 *            LINGER_NS
 *   main     a job of the task, or of a thread that has no task
 *   side     a job of the thread whose task it is
 *
 * A thread that waits, for a job or for the end of one, spins for SPIN_NS and then sleeps. Another
 * program may have the core of the thread that is waited for. The system moves this thread to
 * another core if that one sleeps, but not if it spins.
 *
 * Linux often wakes a sleeper on the core of the thread that wakes it. This thread is busy with its
 * own chunk, so the worker waits for the end of a time slice, which is milliseconds. To prevent
 * this, workers may run on every core of the process (cores.h) but the caller's. They are not bound
 * to one core each: several processes would all choose the same cores, and the system could not
 * spread them. A worker that the caller waits for in its sleep may run on all cores until the next
 * job.
 */
#include "util/threads.h"

#include "util/caches.h"
#include "util/cores.h"
#include "util/float_mode.h"
#include "util/limits.h"
#include "util/own.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_WORKERS = 1023, MOST_OWN = 64, SHUT = 1 << 30 };
enum { SPIN_NS = 100000, NAP_NS = 50000, LINGER_NS = 20000 };

typedef struct worker {
    _Alignas(CACHE_LINE) pthread_t thread;
    atomic_bool inside;         /* it looks for a job, or has one */
    bool roams;                 /* it may run on all cores. Only the owner of pool.busy knows */
    void *scratch;              /* kept over a fork, for the child's worker of the same index */
} worker;

typedef struct job {
    _Alignas(CACHE_LINE) gemm_work *work;
    void *argument;
    gemm_float_mode mode;       /* the caller's */
    int chunks;
    int own;                    /* so many chunks, the first ones, belong to a thread each */
    atomic_ullong left;         /* a bit for each of these that nobody has taken */
    atomic_int next;            /* the other chunk to be taken next */
    atomic_int seats;           /* so many workers may be inside */
    atomic_int door;            /* workers inside, plus SHUT when no more may enter */
} job;

/* The thread that has something, by the address of its `number`. NULL: nobody. It is no mutex,
   because a child of fork must know whether its only thread is the owner. */
typedef _Atomic(const void *) owner;

static struct {
    owner busy;                 /* the thread whose job `main` is; the next three are its own */
    worker workers[MAX_WORKERS];
    int count;
    int most;                   /* so many workers at most, by memory, once that is known */
    bool known;
    int home;                   /* the caller's core, which the workers keep off */
    bool roaming;               /* some worker roams */
    owner beside;               /* the thread that began a task */
    job task, side, main;
    atomic_uint generation;     /* rises with every job, so that a worker sees a new one */
    atomic_bool quit, spin;     /* spin: while there are no more threads than cores */
    atomic_int sleepers;
    pthread_mutex_t bed;        /* sleepers and the witness wait under it */
    pthread_cond_t wake, end;
    pthread_t witness;          /* it waits for the end */
    bool watched;               /* there is a witness */
} pool = {
    .task = {.door = SHUT},
    .side = {.door = SHUT},
    .main = {.door = SHUT},
    .bed = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
    .end = PTHREAD_COND_INITIALIZER,
};

/* The task of the owner of pool.beside. */
static struct {
    gemm_task *run;
    void *argument;
    void *scratch;              /* of its caller */
    atomic_bool ending;         /* the caller has no more jobs */
} task;

static GEMM_OWN int number;             /* of a worker, from 1; else 0 */
static GEMM_OWN bool has_task;          /* this thread began the task */
static GEMM_OWN void *of_task;          /* this thread computes it, with this scratch; else NULL */
static GEMM_OWN void *apart;            /* this thread computes a chunk of gemm_apart; the same */
static GEMM_OWN gemm_jobs jobs;         /* of this thread */
static gemm_slots idle_scratch;         /* of callers */
static bool binds = true;

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7)
    __asm__ volatile("yield");
#endif
}

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static bool is_own(owner *o)
{
    return atomic_load(o) == &number;
}

/* Whether this thread becomes the owner. It never waits. */
static bool take(owner *o)
{
    const void *nobody = NULL;
    return atomic_compare_exchange_strong(o, &nobody, &number);
}

static void leave(owner *o)
{
    atomic_store(o, NULL);
}

/* ---- cores ---- */

static int current_core(void)
{
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

typedef enum worker_set { ALL_WORKERS, ROAMING, INSIDE } worker_set;

/*
 * Where a worker may run does not tell whether the process was moved (taskset -a, a control group),
 * because the caller may have pinned itself there. So a thread that does nothing may run on all
 * cores of the process. Whoever gives it other ones, moves the process.
 */
#if defined(__linux__) && !defined(__ANDROID__)
static cpu_set_t cores;         /* the witness's */

static void *witness_main(void *unused)
{
    pthread_mutex_lock(&pool.bed);
    while (!atomic_load(&pool.quit)) pthread_cond_wait(&pool.end, &pool.bed);
    pthread_mutex_unlock(&pool.bed);
    return unused;
}

static void start_witness(void)
{
    enum { STACK_BYTES = 256 << 10 };
    pthread_attr_t small;
    if (pool.watched) return;
    cores = *gemm_allowed_set();
    if (pthread_attr_init(&small)) return;
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pool.watched = !pthread_create(&pool.witness, &small, witness_main, NULL);
    pthread_attr_destroy(&small);
    if (pool.watched) pthread_setaffinity_np(pool.witness, sizeof cores, &cores);
}

/* Whether the process was moved. */
static bool ask_witness(void)
{
    cpu_set_t now;
    if (!pool.watched || pthread_getaffinity_np(pool.witness, sizeof now, &now) ||
        CPU_EQUAL(&now, &cores))
        return false;
    cores = now;
    return true;
}

/* Keeps these workers off the core `home`; -1: they roam. With more threads than cores they may use
   it too. */
static void place_workers(worker_set set, int home)
{
    if (ask_witness()) {
        set = ALL_WORKERS;
        atomic_store(&pool.spin, pool.count < CPU_COUNT(&cores));
    }
    cpu_set_t to = cores;
    if (home >= 0 && pool.count < CPU_COUNT(&to)) CPU_CLR(home, &to);
    pool.roaming = false;
    for (int i = 0; i < pool.count; ++i) {
        worker *w = &pool.workers[i];
        if (set == ALL_WORKERS || (set == ROAMING && w->roams) ||
            (set == INSIDE && atomic_load(&w->inside))) {
            pthread_setaffinity_np(w->thread, sizeof to, &to);
            w->roams = home < 0;
        }
        pool.roaming |= w->roams;
    }
}
#else
/* Android has no call for another thread's cores: its system places them. */
static void start_witness(void)
{
}

static void place_workers(worker_set set, int home)
{
    (void)set, (void)home;
}
#endif

/* The system moves the caller now and then. */
static void follow_caller(void)
{
    const int core = current_core();
    if (!binds || of_task || (core == pool.home && !pool.roaming)) return;
    const worker_set moved = core == pool.home ? ROAMING : ALL_WORKERS;
    pool.home = core;
    place_workers(moved, core);
}

void gemm_threads_bind(bool bind)
{
    binds = bind;
}

/* ---- workers ---- */

static void *new_scratch(void)
{
    return aligned_alloc(4096, GEMM_SCRATCH_BYTES);
}

static void work_on_own(job *j, int chunk, void *scratch)
{
    const unsigned long long bit = 1ULL << chunk;
    if (!(atomic_load(&j->left) & bit) || !(atomic_fetch_and(&j->left, ~bit) & bit)) return;
    j->work(j->argument, chunk, scratch);
}

static void take_chunks(job *j, void *scratch)
{
    if (j->own) work_on_own(j, number % j->own, scratch);
    int chunk = atomic_load(&j->next);
    while (chunk < j->chunks && (chunk = atomic_fetch_add(&j->next, 1)) < j->chunks) {
        j->work(j->argument, chunk, scratch);
    }
    for (chunk = 0; chunk < j->own && atomic_load(&j->left); ++chunk) {
        work_on_own(j, chunk, scratch);
    }
}

static void work_if_open(job *j, void *scratch)
{
    int inside = atomic_load(&j->door);
    do {
        if (inside >= atomic_load(&j->seats)) return;       /* or SHUT */
    } while (!atomic_compare_exchange_weak(&j->door, &inside, inside + 1));
    const gemm_float_mode before = gemm_get_float_mode();
    gemm_set_float_mode(j->mode);
    take_chunks(j, scratch);
    gemm_set_float_mode(before);
    atomic_fetch_sub(&j->door, 1);
}

/* Returns the generation, once it is not `seen` any more. */
static unsigned wait_for_job(unsigned seen)
{
    const bool spin = atomic_load(&pool.spin);
    const long long until = spin ? now_ns() + SPIN_NS : 0;
    for (unsigned tries = 1; spin; ++tries) {
        const unsigned generation = atomic_load(&pool.generation);
        if (generation != seen) return generation;
        relax();
        if (tries % 64 == 0 && now_ns() > until) break;
    }
    pthread_mutex_lock(&pool.bed);
    atomic_fetch_add(&pool.sleepers, 1);
    while (atomic_load(&pool.generation) == seen) pthread_cond_wait(&pool.wake, &pool.bed);
    atomic_fetch_sub(&pool.sleepers, 1);
    pthread_mutex_unlock(&pool.bed);
    return atomic_load(&pool.generation);
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    unsigned seen = 0;
    number = (int)(w - pool.workers) + 1;
    for (;;) {
        seen = wait_for_job(seen);
        if (atomic_load(&pool.quit)) return NULL;
        atomic_store(&w->inside, true);
        work_if_open(&pool.task, w->scratch);
        work_if_open(&pool.main, w->scratch);
        work_if_open(&pool.side, w->scratch);
        atomic_store(&w->inside, false);
    }
}

static void new_generation(void)
{
    atomic_fetch_add(&pool.generation, 1);
    if (atomic_load(&pool.sleepers) > 0) {
        pthread_mutex_lock(&pool.bed);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.bed);
    }
}

/* A worker has a stack and scratch. They must leave room where the addresses are limited. */
static int most_workers(void)
{
    enum { STACK_BYTES = 8 << 20 };
    const size_t spare = gemm_spare_memory("", SIZE_MAX) / (STACK_BYTES + GEMM_SCRATCH_BYTES);
    return spare < MAX_WORKERS ? (int)spare : MAX_WORKERS;
}

/* As many as can be had, up to `wanted`. Signals stay with the threads of the program. */
static void start_workers(int wanted)
{
    if (!pool.known) pool.most = most_workers(), pool.known = true;
    if (wanted > pool.most) wanted = pool.most;
    if (pool.count >= wanted) return;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pool.home = current_core();
    start_witness();
    atomic_store(&pool.spin, wanted < gemm_allowed_cores());
    for (; pool.count < wanted; ++pool.count) {
        worker *w = &pool.workers[pool.count];
        w->roams = false;
        if (!w->scratch) w->scratch = new_scratch();
        if (!w->scratch || pthread_create(&w->thread, NULL, worker_main, w) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    place_workers(ALL_WORKERS, binds ? pool.home : -1);     /* a new one has its caller's cores */
}

/* ---- beginning, fork and end ---- */

/* Returns when nobody is inside the job. Meanwhile helps with `other`, or NULL. What nobody did is
   left for the job's caller. */
static void empty_job(job *j, job *other, void *scratch)
{
    atomic_fetch_or(&j->door, SHUT);
    for (unsigned tries = 1; atomic_load(&j->door) != SHUT; ++tries) {
        if (other) work_if_open(other, scratch);
        if (tries % 1024 == 0) sched_yield();
        relax();
    }
}

/* A signal handler may fork in the middle of a job of its own thread. In the child nobody would end
   the chunks that workers have begun, so they end them first. */
static void before_fork(void)
{
    if (is_own(&pool.busy)) empty_job(&pool.main, NULL, NULL);
    if (is_own(&pool.beside)) {
        empty_job(&pool.side, NULL, NULL);
        empty_job(&pool.task, NULL, NULL);
    }
}

/* Only the forking thread lives on in the child. The workers are forgotten, their scratch is kept.
   What other threads had begun ends here. */
static void after_fork_child(void)
{
    pool.count = 0;
    pool.watched = false;
    atomic_store(&pool.sleepers, 0);
    pthread_mutex_init(&pool.bed, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_cond_init(&pool.end, NULL);
    if (!is_own(&pool.busy)) {
        atomic_store(&pool.main.door, SHUT);
        leave(&pool.busy);
    }
    if (!is_own(&pool.beside)) {
        atomic_store(&pool.side.door, SHUT);
        atomic_store(&pool.task.door, SHUT);
        leave(&pool.beside);
    }
}

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(before_fork, NULL, after_fork_child);
}

void gemm_free_idle_scratch(void)
{
    for (void *scratch; (scratch = gemm_slots_take(&idle_scratch));) free(scratch);
}

static void end_witness(void)
{
    pthread_mutex_lock(&pool.bed);
    pthread_cond_broadcast(&pool.end);
    pthread_mutex_unlock(&pool.bed);
    if (pool.watched) pthread_join(pool.witness, NULL);
}

/* At exit, and before the code is unmapped when it was loaded by dlopen. */
__attribute__((destructor)) static void end(void)
{
    /* A task or a job still runs: leave it alone. */
    if (!take(&pool.beside) || !take(&pool.busy)) return;
    atomic_store(&pool.quit, true);
    new_generation();
    end_witness();
    for (int i = 0; i < pool.count; ++i) pthread_join(pool.workers[i].thread, NULL);
    for (int i = 0; i < MAX_WORKERS; ++i) free(pool.workers[i].scratch);
    gemm_free_idle_scratch();
}

/* ---- the caller's scratch ---- */

/* The place where this thread looks first: it then finds its own scratch, whose pages are near. */
static unsigned first_slot(void)
{
    return (unsigned)((uint64_t)(uintptr_t)&number * 0x9E3779B97F4A7C15u >> 32);
}

void *gemm_slots_take(gemm_slots *s)
{
    for (unsigned i = 0; i < GEMM_SLOTS; ++i) {
        _Atomic(void *) *const slot = &s->at[(first_slot() + i) % GEMM_SLOTS];
        void *block = atomic_load(slot) ? atomic_exchange(slot, NULL) : NULL;
        if (block) return block;
    }
    return NULL;
}

void *gemm_slots_give(gemm_slots *s, void *block)
{
    for (unsigned i = 0; i < GEMM_SLOTS; ++i) {
        void *none = NULL;
        _Atomic(void *) *const slot = &s->at[(first_slot() + i) % GEMM_SLOTS];
        if (atomic_compare_exchange_strong(slot, &none, block)) return NULL;
    }
    return block;
}

/* It is lent for one call and not bound to a thread: no code has to run when a thread ends. NULL:
   there is no memory. */
static void *take_scratch(void)
{
    if (apart) return apart;
    if (of_task) return of_task;
    if (has_task) return task.scratch;
    void *scratch = gemm_slots_take(&idle_scratch);
    return scratch ? scratch : new_scratch();
}

static void give_scratch(void *scratch)
{
    if (apart || of_task || has_task) return;
    free(gemm_slots_give(&idle_scratch, scratch));
}

/* ---- a job ---- */

/* The workers begin. */
static void open_job(job *j, int chunks, gemm_work *work, void *argument, int seats, int own)
{
    j->work = work;
    j->argument = argument;
    j->mode = gemm_get_float_mode();
    j->chunks = chunks;
    atomic_store_explicit(&j->seats, seats, memory_order_relaxed);
    j->own = own < MOST_OWN ? own : MOST_OWN;
    const unsigned long long left = j->own ? ~0ULL >> (MOST_OWN - j->own) : 0;
    atomic_store_explicit(&j->left, left, memory_order_relaxed);
    atomic_store_explicit(&j->next, j->own, memory_order_relaxed);
    atomic_store(&j->door, 0);
    new_generation();
}

/* In naps: a signal handler may fork here, and nobody would wake the child. */
static void sleep_until_left(job *j)
{
    if (j == &pool.main && binds && !of_task) place_workers(INSIDE, -1);
    const struct timespec nap = {0, NAP_NS};
    while (atomic_load(&j->door) != SHUT) nanosleep(&nap, NULL);
}

/* Takes part, and returns when all chunks are done. */
static void end_job(job *j, void *scratch)
{
    take_chunks(j, scratch);
    if (atomic_fetch_or(&j->door, SHUT) == 0) return;
    const long long until = now_ns() + SPIN_NS;
    for (unsigned tries = 1; atomic_load(&j->door) != SHUT; ++tries) {
        if (tries % 64 == 0 && now_ns() > until) {
            sleep_until_left(j);
            return;
        }
        if (tries % 1024 == 0) sched_yield();       /* a worker may need this very core */
        relax();
    }
}

int gemm_parallel(int threads, int chunks, gemm_work *work, void *argument)
{
    assert(threads >= 1);
    if (jobs == GEMM_JOBS_SKIP) return 0;
    void *scratch = take_scratch();
    if (!scratch) return -1;

    int seats = (threads < chunks ? threads : chunks) - 1;
    if (seats > MAX_WORKERS) seats = MAX_WORKERS;
    if (apart || jobs == GEMM_JOBS_ALONE) seats = 0;
    if (seats > 0 && has_task) {
        open_job(&pool.side, chunks, work, argument, seats, seats + 1);
        end_job(&pool.side, scratch);
    } else if (seats > 0 && take(&pool.busy)) {
        if (pool.count < seats) start_workers(seats);
        follow_caller();
        open_job(&pool.main, chunks, work, argument, seats, seats + 1);
        end_job(&pool.main, scratch);
        leave(&pool.busy);
    } else {
        for (int chunk = 0; chunk < chunks; ++chunk) work(argument, chunk, scratch);
    }
    give_scratch(scratch);
    return 0;
}

/* ---- chunks that stay in their threads ---- */

typedef struct apart_job {
    gemm_work *work;
    void *argument;
} apart_job;

static void work_apart(void *job, int chunk, void *scratch)
{
    const apart_job *j = job;
    apart = scratch;
    j->work(j->argument, chunk, NULL);
    apart = NULL;
}

int gemm_apart(int threads, int chunks, gemm_work *work, void *argument)
{
    return gemm_parallel(threads, chunks, work_apart, &(apart_job){work, argument});
}

bool gemm_is_apart(void)
{
    return apart;
}

gemm_jobs gemm_get_jobs(void)
{
    return jobs;
}

void gemm_set_jobs(gemm_jobs now)
{
    jobs = now;
}

/* ---- a task beside its caller ---- */

static void help_caller(void *scratch)
{
    long long until = now_ns() + LINGER_NS;
    while (!atomic_load(&task.ending) && now_ns() < until) {
        if (!(atomic_load(&pool.side.door) & SHUT)) {
            work_if_open(&pool.side, scratch);
            until = now_ns() + LINGER_NS;
        }
        relax();
    }
}

static void take_part(void *argument, int chunk, void *scratch)
{
    (void)argument;
    if (chunk > 0) {
        help_caller(scratch);
        return;
    }
    of_task = scratch;
    task.run(task.argument);
    of_task = NULL;
}

/* Whether there are workers, and no other thread's job has them. */
static bool has_workers(int wanted)
{
    if (!take(&pool.busy)) return false;
    if (pool.count < wanted) start_workers(wanted);
    follow_caller();
    const bool found = pool.count > 0;
    leave(&pool.busy);
    return found;
}

/* With pool.beside taken. */
static bool prepare_task(int threads, gemm_task *run, void *argument)
{
    if (!has_workers(threads - 1) || !(task.scratch = take_scratch())) return false;
    task.run = run;
    task.argument = argument;
    atomic_store(&task.ending, false);
    return true;
}

bool gemm_begin_beside(int threads, int helpers, gemm_task *run, void *argument)
{
    if (threads < 2 || !take(&pool.beside)) return false;
    has_task = prepare_task(threads, run, argument);
    if (has_task)
        open_job(&pool.task, 1 + helpers, take_part, NULL, 1 + helpers, 0);
    else
        leave(&pool.beside);
    return has_task;
}

void gemm_end_beside(void)
{
    job *j = &pool.task;
    void *scratch = task.scratch;
    has_task = false;
    atomic_store(&task.ending, true);
    if (atomic_exchange(&j->next, j->chunks) == 0) take_part(NULL, 0, scratch);
    take_chunks(j, scratch);
    empty_job(j, &pool.main, scratch);
    leave(&pool.beside);
    give_scratch(scratch);
}
