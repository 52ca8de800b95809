/*
 * A pool of threads that starts a job in microseconds, asleep or not.
 *
 *   caller:  write the job - open the door - raise `generation` - wake the sleepers
 *            - take chunks - shut the door - wait until nobody is inside
 *   worker:  wait for `generation` to change - enter if the door is open - take chunks - leave
 *
 * Chunks come from a counter, so a worker that wakes late, or never, costs only its help: nobody
 * waits for a thread that has not begun. The door lets a late worker see that the job is gone.
 *
 * Darknet calls gemm some hundred microseconds apart within an image and sleeps between images.
 * So a worker spins for SPIN_NS after a job and then sleeps. A sleeper that is not bound to a core
 * is often woken on the caller's own core, where it waits for the rest of the caller's time slice:
 * milliseconds. So each worker is bound to an allowed core other than the caller's, and when the
 * system has moved the caller, the worker of its new core is moved to its old one.
 */
#include "util/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORKERS = 1023, SPIN_NS = 1000000, SHUT = 1 << 30 };

typedef struct worker {
    pthread_t thread;
    int core;                   /* bound to it; -1: not bound */
    void *scratch;              /* kept over a fork, for the child's worker of the same index */
} worker;

static struct {
    pthread_mutex_t busy;       /* held by the thread whose job it is; guards the next six */
    worker workers[MAX_WORKERS];
    int count;
    int home;                   /* the core the caller was on when the workers were bound */
    gemm_work *work;
    void *job;
    int chunks, invited;        /* workers with an index below `invited` take part */
    atomic_int next;            /* the chunk to be taken next */
    atomic_int door;            /* workers inside, plus SHUT when no more may enter */
    atomic_uint generation;     /* of the job, so that a worker sees a new one */
    atomic_bool quit, spin;     /* spin: while there are no more threads than cores */
    atomic_int sleepers;
    pthread_mutex_t bed;        /* sleepers wait under it */
    pthread_cond_t wake;
} pool = {
    .busy = PTHREAD_MUTEX_INITIALIZER,
    .door = SHUT,
    .bed = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
};

static bool binds = true;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t caller_scratch;

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int gemm_allowed_cores(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
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

static void bind_worker(worker *w, int core)
{
    w->core = core;
#ifdef __linux__
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (pthread_setaffinity_np(w->thread, sizeof set, &set) != 0) w->core = -1;
#endif
}

/* Binds workers from..count-1, each to an allowed core that neither the caller nor another worker
   has. With more threads than cores the rest stay unbound. */
static void bind_new_workers(int from)
{
    if (!binds) return;
#ifdef __linux__
    cpu_set_t free_cores;
    if (sched_getaffinity(0, sizeof free_cores, &free_cores) != 0) return;
    CPU_CLR(pool.home, &free_cores);
    for (int i = 0; i < from; ++i) {
        if (pool.workers[i].core >= 0) CPU_CLR(pool.workers[i].core, &free_cores);
    }
    for (int i = from, core = 0; i < pool.count && core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &free_cores)) bind_worker(&pool.workers[i++], core);
    }
#else
    (void)from;
#endif
}

static void give_way_to_caller(void)
{
    if (!binds) return;
    const int core = current_core();
    if (core == pool.home || core < 0) return;
    for (int i = 0; i < pool.count; ++i) {
        if (pool.workers[i].core == core) bind_worker(&pool.workers[i], pool.home);
    }
    pool.home = core;
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

static void take_chunks(void *scratch)
{
    int chunk;
    while ((chunk = atomic_fetch_add(&pool.next, 1)) < pool.chunks) {
        pool.work(pool.job, chunk, scratch);
    }
}

static void work_if_open(const worker *w)
{
    int inside = atomic_load(&pool.door);
    do {
        if (inside & SHUT) return;
    } while (!atomic_compare_exchange_weak(&pool.door, &inside, inside + 1));
    if (w - pool.workers < pool.invited) take_chunks(w->scratch);
    atomic_fetch_sub(&pool.door, 1);
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
    const worker *w = arg;
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_job(seen);
        if (atomic_load(&pool.quit)) return NULL;
        work_if_open(w);
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

/* As many as can be had, up to `wanted`. Signals stay with the threads of the program. */
static void start_workers(int wanted)
{
    const int before = pool.count;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (before == 0) pool.home = current_core();
    atomic_store(&pool.spin, wanted < gemm_allowed_cores());
    for (; pool.count < wanted; ++pool.count) {
        worker *w = &pool.workers[pool.count];
        w->core = -1;
        if (!w->scratch) w->scratch = new_scratch();
        if (!w->scratch || pthread_create(&w->thread, NULL, worker_main, w) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    bind_new_workers(before);
}

/* ---- beginning, fork and end ---- */

/* The forking thread waits for a running job, so that the child's copy of the pool is at rest. */
static void before_fork(void) { pthread_mutex_lock(&pool.busy); }
static void after_fork_parent(void) { pthread_mutex_unlock(&pool.busy); }

/* Only the forking thread lives on in the child: the workers are forgotten, their scratch kept. */
static void after_fork_child(void)
{
    pool.count = 0;
    atomic_store(&pool.sleepers, 0);
    pthread_mutex_init(&pool.bed, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_mutex_unlock(&pool.busy);
}

static void begin(void)
{
    pthread_key_create(&caller_scratch, free);
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* At exit, and before the code is unmapped when it was loaded by dlopen. */
__attribute__((destructor)) static void end(void)
{
    if (pthread_mutex_trylock(&pool.busy) != 0) return;     /* a job still runs: leave it alone */
    atomic_store(&pool.quit, true);
    new_generation();
    for (int i = 0; i < pool.count; ++i) pthread_join(pool.workers[i].thread, NULL);
    for (int i = 0; i < MAX_WORKERS; ++i) free(pool.workers[i].scratch);
    pthread_once(&once, begin);
    free(pthread_getspecific(caller_scratch));
    pthread_setspecific(caller_scratch, NULL);
}

static void *scratch_of_caller(void)
{
    void *scratch = pthread_getspecific(caller_scratch);
    if (scratch) return scratch;
    scratch = new_scratch();
    if (scratch && pthread_setspecific(caller_scratch, scratch) != 0) {
        free(scratch);
        scratch = NULL;
    }
    return scratch;
}

/* ---- a job ---- */

static void run_with_workers(int chunks, gemm_work *work, void *job, int invited, void *scratch)
{
    give_way_to_caller();
    pool.work = work;
    pool.job = job;
    pool.chunks = chunks;
    pool.invited = invited;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.door, 0);
    new_generation();
    take_chunks(scratch);
    atomic_fetch_or(&pool.door, SHUT);
    for (unsigned tries = 1; atomic_load(&pool.door) != SHUT; ++tries) {
        if (tries % 1024 == 0) sched_yield();       /* a worker may need this very core */
        relax();
    }
}

int gemm_parallel(int threads, int chunks, gemm_work *work, void *job)
{
    pthread_once(&once, begin);
    void *scratch = scratch_of_caller();
    if (!scratch) return -1;

    int invited = (threads < chunks ? threads : chunks) - 1;
    if (invited > MAX_WORKERS) invited = MAX_WORKERS;
    if (invited > 0 && pthread_mutex_trylock(&pool.busy) == 0) {
        if (pool.count < invited) start_workers(invited);
        run_with_workers(chunks, work, job, invited, scratch);
        pthread_mutex_unlock(&pool.busy);
    } else {
        for (int chunk = 0; chunk < chunks; ++chunk) work(job, chunk, scratch);
    }
    return 0;
}
