/*
 * The pool of util/threads: each chunk is done exactly once.
 *
 *   jobs       1 to 100 threads, 0 to 300 chunks
 *   unequal    one chunk takes long
 *   callers    several threads have jobs at once
 *   beside     a task has jobs beside those of its caller
 *
 * In all of them a chunk's scratch is its own while it runs.
 */
#include "support/report.h"
#include "util/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

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

int main(void)
{
    report_judged("jobs", run_jobs());
    report_judged("unequal", run_unequal());
    report_judged("callers", run_callers());
    report_judged("beside", run_beside());
    return report_status();
}
