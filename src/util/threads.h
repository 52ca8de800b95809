/*
 * A small pool of threads: one job at a time, cut into chunks that whoever is free takes.
 *
 * Any thread may call, at any time; a forked child starts its own workers.
 */
#ifndef GEMM_THREADS_H
#define GEMM_THREADS_H

#include <stdbool.h>
#include <stddef.h>

/* Every thread that works has this much memory of its own, aligned to a page, kept between jobs. */
enum { GEMM_SCRATCH_BYTES = 640 * 1024 };

/* scratch: GEMM_SCRATCH_BYTES, the thread's own, with anything in it. */
typedef void gemm_work(void *job, int chunk, void *scratch);

/*
 * Calls work(job, chunk, scratch) once for each chunk 0 .. chunks - 1, on the calling thread and
 * on up to threads - 1 workers, and returns when all are done. When another thread's job has the
 * workers, or no worker can be had, the caller does all of it. Returns 0; or, with no chunk
 * begun, -1 when there is no memory for the caller's scratch.
 */
int gemm_parallel(int threads, int chunks, gemm_work *work, void *job);

/* Whether workers started from now on are bound to cores; they are unless this says otherwise. */
void gemm_threads_bind(bool);

/* The processors that this process may use, at least 1. */
int gemm_allowed_cores(void);

#endif
