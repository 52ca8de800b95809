/* SPDX-License-Identifier: MIT */
/*
 * A small pool of threads. A job is cut into chunks. Thread i begins with chunk i, and then every
 * free thread takes the next one. One thread's job has the workers; a task may run beside its
 * caller, and then both have jobs.
 *
 * Any thread may call at any time, and workers round as it does (util/float_mode.h). A forked child
 * starts workers of its own.
 */
#ifndef GEMM_THREADS_H
#define GEMM_THREADS_H

#include <stdbool.h>
#include <stddef.h>

/* Each thread that works has so much memory of its own. It is aligned to a page and kept between
   jobs, because the first touch of a page is slow. */
enum { GEMM_SCRATCH_BYTES = 4096 * 1024 };

/* scratch: GEMM_SCRATCH_BYTES of the thread's own, with any content. */
typedef void gemm_work(void *job, int chunk, void *scratch);

/*
 * Calls work(job, chunk, scratch) once for each chunk 0 .. chunks - 1 and returns when all are
 * done. threads is at least 1: the calling thread takes part, and up to threads - 1 workers. While
 * another thread's job has the workers, or if no worker can be started, the caller does all of it.
 * Returns 0, or -1 if there is no memory for the caller's scratch; no chunk has then begun.
 */
int gemm_parallel(int threads, int chunks, gemm_work *work, void *job);

/*
 * As gemm_parallel, but each chunk stays in its thread: its own jobs get no worker. So each of many
 * images may go through a whole network, and threads wait once at the end. `scratch` is NULL.
 */
int gemm_apart(int threads, int chunks, gemm_work *work, void *job);

/* Whether this thread computes a chunk of gemm_apart. */
bool gemm_is_apart(void);

/* What gemm_parallel does with the jobs of this thread. SKIP: it returns 0, and no chunk runs.
   FORESEE: calls have no jobs (gemm_foresee). */
typedef enum gemm_jobs {
    GEMM_JOBS_SHARE, GEMM_JOBS_ALONE, GEMM_JOBS_SKIP, GEMM_JOBS_FORESEE
} gemm_jobs;
gemm_jobs gemm_get_jobs(void);
void gemm_set_jobs(gemm_jobs);

/*
 * Calls run(argument) on a worker. It may have jobs. Meanwhile the caller goes on and may have jobs
 * of its own. At first `helpers` other workers wait for the caller's jobs. One that waits in vain
 * for some microseconds leaves for those of the task. Later jobs of the caller get the workers that
 * have nothing else to do. threads is that of the caller's call, at least 1. Returns false when no
 * worker is free; nothing has then begun. After true the caller must call gemm_end_beside.
 */
typedef void gemm_task(void *argument);
bool gemm_begin_beside(int threads, int helpers, gemm_task *run, void *argument);

/* Waits for the task's end, and helps with its jobs. If no worker has begun, the caller runs it. */
void gemm_end_beside(void);

/* Whether workers keep off the core of the thread that calls. Without a call they do. Call it
   before the first job. */
void gemm_threads_bind(bool);

/* Blocks that calls take and give back. All NULL at first. */
enum { GEMM_SLOTS = 64 };
typedef struct gemm_slots {
    _Atomic(void *) at[GEMM_SLOTS];
} gemm_slots;

/* The block that this thread gave last, else another one's. NULL: none is there. */
void *gemm_slots_take(gemm_slots *);

/* Returns NULL, or the block, where there is no room for it. */
void *gemm_slots_give(gemm_slots *, void *block);

/* Frees the scratch of callers that no call uses now. */
void gemm_free_idle_scratch(void);

#endif
