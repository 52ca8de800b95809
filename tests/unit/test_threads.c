/* SPDX-License-Identifier: MIT */
/*
 * The pool of util/threads: each chunk is done exactly once.
 *
 *   jobs       1 to 100 threads, 0 to 300 chunks
 *   unequal    one chunk takes long
 *   callers    several threads have jobs at once
 *   callers that come and go    leave no memory behind
 *   apart      jobs in a chunk of gemm_apart stay in its thread, and chunks meet each other
 *   beside     a task has jobs beside those of its caller
 *   taking part      as many threads as asked for, in a job and in a task
 *   a late worker    may run on the sleeping caller's core, until the next job
 *   modes      a chunk rounds as the caller does, whoever runs it
 *   cores            of a process whose threads are bound, each in a process of its own
 *   fork in a job    by the caller's own thread, as a signal handler may do it, also with a task
 *   fork beside jobs and a task of other threads
 *
 * In all of the first four a chunk's scratch is its own while it runs.
 *
 *   test_threads [--without fork]     qemu-user aborts in the child of a fork
 */
#include "support/child.h"
#include "support/float_modes.h"
#include "support/heap.h"
#include "support/report.h"
#include "util/cores.h"
#include "util/threads.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CHUNKS = 300, CALLERS = 4, ROUNDS = 200 };

typedef struct counts {
    atomic_int done[MOST_CHUNKS];
    int slow;                   /* this chunk takes long; -1: none */
    atomic_bool shared;         /* two chunks had the same scratch at the same time */
} counts;

static void count_chunk(void *argument, int chunk, void *scratch)
{
    counts *c = argument;
    int *const mark = scratch;
    *mark = chunk;
    if (chunk == c->slow) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    atomic_fetch_add(&c->done[chunk], 1);
    if (*mark != chunk) atomic_store(&c->shared, true);
}

/* NULL, or what is wrong. */
static const char *run_job(int threads, int chunks, int slow)
{
    counts c = {.slow = slow};
    if (gemm_parallel(threads, chunks, count_chunk, &c)) return "there is no memory";
    for (int i = 0; i < MOST_CHUNKS; ++i) {
        const int done = atomic_load(&c.done[i]);
        if (done != (i < chunks)) return done ? "a chunk ran too often" : "a chunk did not run";
    }
    return atomic_load(&c.shared) ? "two chunks had the same scratch" : NULL;
}

typedef struct visit {
    pthread_t caller;
    int cores;                  /* where the worker may run at last; 0: no worker came */
    int awaited;                /* it stays until it may run on so many, or for 10 s */
} visit;

static cpu_set_t visited;       /* where the last worker might run */

static int own_cores(void)
{
    return sched_getaffinity(0, sizeof visited, &visited) ? 0 : CPU_COUNT(&visited);
}

static void visit_chunk(void *argument, int chunk, void *scratch)
{
    visit *v = argument;
    (void)chunk, (void)scratch;
    if (pthread_equal(pthread_self(), v->caller)) {
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);     /* a worker wakes */
        return;
    }
    v->cores = own_cores();
    for (int ms = 0; v->cores < v->awaited && ms < 10000; ++ms) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        v->cores = own_cores();
    }
}

/* The worker's number of cores at the end of its chunk; 0: none came in many jobs. */
static int visit_worker(int awaited)
{
    visit v = {.caller = pthread_self(), .awaited = awaited};
    for (int i = 0; i < 10000 && !v.cores; ++i) {
        if (gemm_parallel(2, 2, visit_chunk, &v)) return 0;
    }
    return v.cores;
}

/* Before all tests with more threads: only fewer workers than cores are placed. */
static const char *run_late(void)
{
    const int all = gemm_allowed_cores();
    for (int i = 0; i < 10; ++i) {
        if (visit_worker(all) != all) return "a late worker may not run on all cores";
        int tries = 0;          /* it may be late again before it looks */
        while (visit_worker(0) != all - 1 && ++tries < 100) continue;
        if (tries == 100) return "a worker stays on its caller's core";
    }
    return NULL;
}

static const char *run_jobs(void)
{
    static const int threads[] = {1, 2, 3, 5, 8, 16, 63, 64, 65, 100};
    static const int chunks[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 65, 99, 100, 101, 300};
    const char *wrong = NULL;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; ++t) {
        for (size_t i = 0; i < sizeof chunks / sizeof *chunks && !wrong; ++i) {
            wrong = run_job(threads[t], chunks[i], -1);
        }
    }
    return wrong;
}

static const char *run_unequal(void)
{
    for (int i = 0; i < ROUNDS; ++i) {
        const int chunks = 2 + i % 9;
        const char *wrong = run_job(2 + i % 5, chunks, i % chunks);
        if (wrong) return wrong;
    }
    return NULL;
}

/* A thread, and a task, that has jobs. Returns what is wrong. */
static void *call(void *unused)
{
    const char *wrong = NULL;
    for (int i = 0; i < ROUNDS && !wrong; ++i) wrong = run_job(1 + i % 6, i % 40, -1);
    (void)unused;
    return (void *)wrong;
}

static const char *run_callers(void)
{
    pthread_t callers[CALLERS];
    const char *wrong = NULL;
    for (int i = 0; i < CALLERS; ++i) {
        if (pthread_create(&callers[i], NULL, call, NULL)) return "a thread did not start";
    }
    for (int i = 0; i < CALLERS; ++i) {
        void *result;
        pthread_join(callers[i], &result);
        if (result) wrong = result;
    }
    return wrong;
}

static void run_task(void *result)
{
    *(const char **)result = call(NULL);
}

static const char *run_beside(void)
{
    int begun = 0;
    for (int i = 0; i < 20; ++i) {
        const char *of_task = "the task did not run", *of_caller;
        if (!gemm_begin_beside(4, i % 3, run_task, &of_task)) continue;
        ++begun;
        of_caller = call(NULL);
        gemm_end_beside();
        if (of_task || of_caller) return of_task ? of_task : of_caller;
    }
    return begun ? NULL : "no task began";
}

/* ---- who takes part ---- */

/* Threads that are in a job at the same time. */
typedef struct meeting {
    atomic_int wanted;          /* each waits for so many; 0 once one has waited too long */
    atomic_int inside, most;
} meeting;

static void meet(void *arg, int chunk, void *scratch)
{
    (void)chunk, (void)scratch;
    meeting *m = arg;
    const int inside = atomic_fetch_add(&m->inside, 1) + 1;
    int most = atomic_load(&m->most);
    while (inside > most && !atomic_compare_exchange_weak(&m->most, &most, inside));
    for (int i = 0; atomic_load(&m->most) < atomic_load(&m->wanted); ++i) {
        usleep(1000);
        if (i == 5000) atomic_store(&m->wanted, 0);
    }
    usleep(1000);
    atomic_fetch_sub(&m->inside, 1);
}

/* How many threads a job of `threads` has. */
static int threads_that_meet(int threads, int chunks)
{
    meeting m = {.wanted = threads};
    return gemm_parallel(threads, chunks, meet, &m) ? -1 : atomic_load(&m.most);
}

/* As many as asked for: also after a job that had more. */
static const char *run_met(void)
{
    return threads_that_meet(8, 8) == 8 && threads_that_meet(2, 20) == 2
         ? NULL : "not as many threads as asked for";
}

/* A task beside a job of its caller: how many threads met in each. */
typedef struct pair {
    pthread_t caller;
    meeting in_task, beside;
    bool elsewhere, nested, failed;     /* the task ran on a worker, it began a task, no memory */
} pair;

static void nothing(void *arg)
{
    (void)arg;
}

static void meet_in_task(void *arg)
{
    pair *p = arg;
    p->elsewhere = !pthread_equal(pthread_self(), p->caller);
    p->nested = gemm_begin_beside(4, 0, nothing, NULL);
    if (gemm_parallel(4, 20, meet, &p->in_task)) p->failed = true;
}

/* Of four threads one has the task, and one is the caller. Helpers are in the caller's job. When it
   has none, all workers are in that of the task. */
static const char *run_pair(int in_task, int beside)
{
    pair p = {.caller = pthread_self(), .in_task = {.wanted = in_task},
              .beside = {.wanted = beside}};
    if (!gemm_begin_beside(4, 1, meet_in_task, &p)) return "no worker for the task";
    const bool nested = gemm_begin_beside(4, 0, nothing, NULL);
    const bool failed = beside > 0 && gemm_parallel(beside, 20, meet, &p.beside);
    while (atomic_load(&p.in_task.most) < atomic_load(&p.in_task.wanted)) usleep(1000);
    gemm_end_beside();
    if (!p.elsewhere) return "the task ran on its caller";
    if (p.nested || nested) return "a task began beside a task";
    if (p.failed || failed) return "there is no memory";
    return atomic_load(&p.in_task.most) >= in_task && atomic_load(&p.beside.most) == beside
         ? NULL : "other threads took part";
}

static const char *run_task_alone(void) { return run_pair(3, 0); }
static const char *run_task_and_job(void) { return run_pair(2, 2); }

static void begin_in_job(void *begun, int chunk, void *scratch)
{
    (void)chunk, (void)scratch;
    if (!gemm_begin_beside(4, 1, nothing, NULL)) return;
    gemm_end_beside();
    *(bool *)begun = true;
}

/* Without a worker no task begins: while a job has them all, and where there is one thread. */
static const char *run_no_task(void)
{
    bool begun = false;
    if (gemm_parallel(2, 2, begin_in_job, &begun)) return "there is no memory";
    return begun || gemm_begin_beside(1, 0, nothing, NULL) ? "a task began without a free worker"
                                                           : NULL;
}

/* ---- the caller's mode ---- */

/* What a chunk computed, and in which thread. */
typedef struct sample {
    float third, denormal, product;
    pthread_t thread;
} sample;

static void compute(void *argument, int chunk, void *scratch)
{
    volatile float one = 1, three = 3, least = 1.2e-38f, tiny = 1e-40f, large = 1e20f;
    sample *s = (sample *)argument + chunk;
    (void)scratch;
    s->third = one / three;
    s->denormal = least / three;
    s->product = tiny * large;
    s->thread = pthread_self();
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static bool same(const sample *a, const sample *b)
{
    return a->third == b->third && a->denormal == b->denormal && a->product == b->product;
}

/* NULL, or what is wrong. `right` is what the caller computes in this mode. */
static const char *judge_mode(int mode, sample *right)
{
    enum { CHUNKS = 40 };
    sample samples[CHUNKS];
    int of_workers = 0;
    float_mode_set(mode);
    compute(right, 0, NULL);
    for (int tries = 0; tries < 100 && !of_workers; ++tries) {
        memset(samples, 0xff, sizeof samples);
        if (gemm_parallel(3, CHUNKS, compute, samples)) return "there is no memory";
        for (int i = 0; i < CHUNKS; ++i) {
            of_workers += !pthread_equal(samples[i].thread, pthread_self());
            if (!same(&samples[i], right)) return float_mode_names[mode];
        }
    }
    return of_workers ? NULL : "no worker took part";
}

/* The second round is after another mode: workers keep none. */
static const char *run_modes(void)
{
    sample right[FLOAT_MODES];
    const char *wrong = NULL;
    for (int i = 0; i < 2 * FLOAT_MODES && !wrong; ++i)
        wrong = judge_mode(i % FLOAT_MODES, &right[i % FLOAT_MODES]);
    float_mode_set(NEAREST);
    if (wrong) return wrong;
    const bool differ = right[UPWARD].third != right[DOWNWARD].third &&
                        right[FLUSHED].denormal == 0 && right[FLUSHED].product == 0 &&
                        right[NEAREST].denormal != 0;
    return differ ? NULL : "this processor does not change its mode";
}

static void *call_once(void *threads)
{
    return (void *)run_job(*(int *)threads, 8, -1);
}

/* Each has another number of threads than the one before. The first ones fill what is kept. */
static const char *run_short_lived(void)
{
    size_t given = 0;
    for (int i = 0; i < 200; ++i) {
        int threads = 1 + i % 4;
        pthread_t thread;
        void *wrong;
        if (pthread_create(&thread, NULL, call_once, &threads)) return "a thread did not start";
        pthread_join(thread, &wrong);
        if (wrong) return wrong;
        if (i == 20) given = heap_given();
    }
    return heap_given() > given ? "memory is lost" : NULL;
}

enum { HANG_S = 60 };

/* ---- cores, each test in a process of its own ---- */

static void pin(pid_t thread, int core)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(thread, sizeof one, &one);
}

/* The process's next core; the first one behind -1. */
static int next_core(int core)
{
    do core = (core + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(core, gemm_allowed_set()));
    return core;
}

static const char *run_pinned(void)
{
    const int all = gemm_allowed_cores();
    int core = -1;
    for (int i = 0; i < all; ++i) {
        int tries = 0;          /* a late worker may use this core, too */
        pin(0, core = next_core(core));
        while (++tries < 100 && (visit_worker(0) != all - 1 || CPU_ISSET(core, &visited))) continue;
        if (tries == 100) return "a worker is not on the cores that its pinned caller leaves";
    }
    return NULL;
}

static const char *run_unbound(void)
{
    const int all = gemm_allowed_cores();
    gemm_threads_bind(false);
    pin(0, next_core(-1));
    return visit_worker(0) == all ? NULL : "a worker has the cores of its pinned caller";
}

static void *wait_for_end(void *unused)
{
    pause();
    return unused;
}

static const char *run_free_thread(void)
{
    const int all = own_cores();
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_end, NULL)) return "a thread did not start";
    pin(0, sched_getcpu());
    return gemm_allowed_cores() == all ? NULL : "the cores of another thread do not count";
}

static const char *run_openmp(void)
{
    const int all = own_cores();
    setenv("OMP_PROC_BIND", "true", 1);
    if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL)) return dlerror();
    if (own_cores() != 1) return "libgomp does not bind the thread that loads it";
    if (gemm_allowed_cores() != all) return "the places of libgomp do not count";
    return own_cores() == 1 ? NULL : "the thread is not bound any more";
}

/* As taskset -a does it. */
static void pin_all(int core)
{
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *e; tasks && (e = readdir(tasks));)
        if (atoi(e->d_name)) pin(atoi(e->d_name), core);
    if (tasks) closedir(tasks);
}

static const char *run_moved(void)
{
    const int all = gemm_allowed_cores();
    int core = -1;
    if (!visit_worker(0)) return "no worker came";
    for (int i = 0; i < all; ++i) {
        pin_all(core = next_core(core));
        if (visit_worker(0) != 1 || !CPU_ISSET(core, &visited))
            return "a worker leaves the core that the process was moved to";
    }
    return NULL;
}

static int run_body(void *body)
{
    alarm(HANG_S);
    const char *wrong = (*(const char *(**)(void))body)();
    if (wrong) printf("%s", wrong);
    return wrong != NULL;
}

/* In a process of its own, that begins without workers. */
static void report_child(const char *name, const char *(*body)(void))
{
    const child_result r = child_run(run_body, &body);
    const char *ended = child_signal(&r);
    report_judged(name, ended ? ended : child_exit(&r) ? r.output : NULL);
}

static void test_cores(void)
{
    report_child("a pinned caller keeps its core, and workers take the others", run_pinned);
    report_child("a pinned caller without GEMM_BIND", run_unbound);
    report_child("the cores of a thread that does not call", run_free_thread);
    report_child("the cores from before OMP_PROC_BIND", run_openmp);
    report_child("a process that is moved", run_moved);
}

/* ---- fork ---- */

/* Waits for a child: NULL, or what is wrong with it. */
static const char *judge_child(pid_t child)
{
    int status = 1;
    if (child <= 0 || waitpid(child, &status, 0) != child) return "no child";
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGALRM ? "the child hangs" : "a signal ended the child";
    return status ? "the child is wrong" : NULL;
}

static volatile pid_t forked = -1;

static void fork_in_handler(int signal)
{
    (void)signal;
    const pid_t child = fork();
    if (child == 0) alarm(HANG_S);
    forked = child;
}

/* The first chunk of the caller's thread is interrupted, while workers are inside the job. */
typedef struct interrupted_job {
    counts counts;
    pthread_t caller;
} interrupted_job;

static void interrupt_chunk(void *argument, int chunk, void *scratch)
{
    interrupted_job *j = argument;
    const bool interrupts = forked < 0 && pthread_equal(pthread_self(), j->caller);
    count_chunk(&j->counts, chunk, scratch);
    nanosleep(&(struct timespec){.tv_nsec = interrupts ? 500000 : 20000}, NULL);
    if (interrupts) raise(SIGUSR1);
}

/* NULL, or what is wrong. */
static const char *run_interrupted(void)
{
    interrupted_job j = {.counts.slow = -1, .caller = pthread_self()};
    if (gemm_parallel(4, MOST_CHUNKS, interrupt_chunk, &j)) return "there is no memory";
    for (int i = 0; i < MOST_CHUNKS; ++i)
        if (atomic_load(&j.counts.done[i]) != 1) return "a chunk did not run once";
    return atomic_load(&j.counts.shared) ? "two chunks had the same scratch" : NULL;
}

/* It lasts longer than all chunks of the job. */
static void run_long_task(void *result)
{
    usleep(100000);
    run_task(result);
}

/* Both processes end the job, and the task if there is one, and have other jobs. */
static const char *run_forking(gemm_task *task)
{
    const struct sigaction action = {.sa_handler = fork_in_handler};
    const char *wrong = NULL, *of_task = NULL;
    sigaction(SIGUSR1, &action, NULL);
    alarm(HANG_S);
    forked = -1;
    for (int tries = 0; tries < 100 && forked < 0 && !wrong; ++tries) {
        if (task && !gemm_begin_beside(4, 0, task, &of_task)) continue;
        wrong = run_interrupted();
        if (task) gemm_end_beside();
        if (!wrong) wrong = of_task;
    }
    if (!wrong) wrong = run_job(4, 40, -1);
    if (forked == 0) _exit(wrong != NULL);
    alarm(0);
    return wrong ? wrong : judge_child(forked);
}

/* Another thread's job, which lasts until the child has ended. */
typedef struct long_job {
    atomic_bool begun, may_end;
} long_job;

static void last_long(void *argument, int chunk, void *scratch)
{
    long_job *j = argument;
    (void)chunk, (void)scratch;
    atomic_store(&j->begun, true);
    while (!atomic_load(&j->may_end)) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static void *run_long_job(void *job)
{
    gemm_parallel(3, 3, last_long, job);
    return NULL;
}

static const char *run_fork_beside(void)
{
    long_job j = {0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_long_job, &j)) return "a thread did not start";
    while (!atomic_load(&j.begun)) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    alarm(HANG_S);
    const pid_t child = fork();
    if (child == 0) {
        sample right;
        alarm(HANG_S);
        const char *wrong = run_jobs();
        _exit(wrong || judge_mode(NEAREST, &right));    /* it has workers of its own */
    }
    alarm(0);
    const char *wrong = judge_child(child);
    atomic_store(&j.may_end, true);
    pthread_join(thread, NULL);
    return wrong ? wrong : run_job(4, 40, -1);
}

/* Run in a child, which at last exits and so ends its own threads, not those of its parent.
   A task has the only worker. So its caller and another thread are alone in their jobs, whose other
   chunks stay open until the child has ended. */
typedef struct open_jobs {
    atomic_int begun;
    atomic_bool may_end;
    pid_t parent;
    atomic_int strayed;         /* chunks that a child did */
} open_jobs;

static void stay_open(void *argument, int chunk, void *scratch)
{
    open_jobs *o = argument;
    (void)scratch;
    if (getpid() != o->parent) atomic_fetch_add(&o->strayed, 1);
    if (chunk || getpid() != o->parent) return;
    atomic_fetch_add(&o->begun, 1);
    while (!atomic_load(&o->may_end)) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static void open_task(void *o)
{
    stay_open(o, 0, NULL);
}

static void *run_open(void *o)
{
    gemm_parallel(2, 8, stay_open, o);
    return NULL;
}

static void *run_open_beside(void *argument)
{
    open_jobs *o = argument;
    if (!gemm_begin_beside(2, 0, open_task, o)) return NULL;
    while (!atomic_load(&o->begun)) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    gemm_parallel(2, 8, stay_open, o);
    gemm_end_beside();
    return NULL;
}

/* The child's first worker looks for jobs before it has one. */
static int be_child_beside(open_jobs *o)
{
    alarm(HANG_S);
    if (!gemm_begin_beside(2, 0, nothing, NULL)) return 1;
    usleep(1000);
    gemm_end_beside();
    return atomic_load(&o->strayed) || run_beside() || run_jobs();
}

static const char *run_fork_beside_task(void)
{
    open_jobs o = {.parent = getpid()};
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, run_open_beside, &o)) return "a thread did not start";
    while (atomic_load(&o.begun) < 2) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    if (pthread_create(&threads[1], NULL, run_open, &o)) return "a thread did not start";
    while (atomic_load(&o.begun) < 3) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    const pid_t child = fork();
    if (child == 0) _exit(be_child_beside(&o));
    const char *wrong = judge_child(child);
    atomic_store(&o.may_end, true);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    return wrong ? wrong : run_job(2, 40, -1);
}

/* Each chunk waits for all, so as many threads are needed. */
typedef struct apart_test {
    int chunks;
    counts inner[2];
    atomic_int met;
    atomic_bool strayed, alone; /* a job left its thread; the chunks did not meet */
} apart_test;

typedef struct stay {
    counts *count;
    pthread_t thread;
    bool strayed;
} stay;

static void stay_here(void *argument, int chunk, void *scratch)
{
    stay *s = argument;
    count_chunk(s->count, chunk, scratch);
    if (!pthread_equal(s->thread, pthread_self())) s->strayed = true;
}

static void work_apart(void *argument, int chunk, void *scratch)
{
    apart_test *a = argument;
    stay s = {&a->inner[chunk], pthread_self(), scratch || !gemm_is_apart()};
    atomic_fetch_add(&a->met, 1);
    for (int ms = 0; atomic_load(&a->met) < a->chunks && ms < 10000; ++ms)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (atomic_load(&a->met) < a->chunks) atomic_store(&a->alone, true);
    if (gemm_parallel(4, MOST_CHUNKS, stay_here, &s) || s.strayed)
        atomic_store(&a->strayed, true);
}

static const char *run_apart(int chunks)
{
    apart_test a = {chunks, .inner = {{.slow = -1}, {.slow = 3}}};
    if (gemm_apart(2, chunks, work_apart, &a)) return "there is no memory";
    for (int i = 0; i < 2 * MOST_CHUNKS; ++i)
        if (atomic_load(&a.inner[i % 2].done[i / 2]) != (i % 2 < chunks))
            return "a chunk did not run once";
    if (atomic_load(&a.inner[0].shared) || atomic_load(&a.inner[1].shared))
        return "two chunks had the same scratch";
    if (atomic_load(&a.alone)) return "one thread had both";
    if (atomic_load(&a.strayed)) return "a job left its thread";
    return gemm_is_apart() ? "it goes on behind the end" : NULL;
}

int main(int argc, char **argv)
{
    const bool forks = argc == 1;
    if (!forks && (argc != 3 || strcmp(argv[1], "--without") || strcmp(argv[2], "fork"))) {
        fprintf(stderr, "test_threads: '%s' is no argument; allowed is --without fork\n", argv[1]);
        return 2;
    }
    if (forks && own_cores() > 1) test_cores();
    else report_skip_machine("cores", forks ? "there is one core" : "left out by --without fork");
    if (gemm_allowed_cores() > 1) report_judged("a late worker", run_late());
    else report_skip_machine("a late worker", "there is one core");
    report_judged("jobs", run_jobs());
    report_judged("unequal", run_unequal());
    report_judged("callers", run_callers());
    report_judged("callers that come and go", run_short_lived());
    report_judged("apart, one", run_apart(1));
    report_judged("apart, two", run_apart(2));
    report_judged("beside", run_beside());
    report_judged("taking part", run_met());
    report_judged("a task and a job", run_task_and_job());
    report_judged("a task alone", run_task_alone());
    report_judged("no task", run_no_task());
    report_judged("modes", run_modes());
    if (forks) {
        report_judged("fork in a job", run_forking(NULL));
        report_judged("fork in a job behind a task", run_forking(nothing));
        report_judged("fork in a job beside a task", run_forking(run_long_task));
        report_judged("fork beside a job of another thread", run_fork_beside());
        report_child("fork beside jobs and a task of other threads", run_fork_beside_task);
    } else {
        report_skip_machine("fork", "left out by --without fork");
    }
    return report_status();
}
