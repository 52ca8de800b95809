/* SPDX-License-Identifier: MIT */
/*
 * One burst: a row of the table runs one shape a few times, and its result is judged.
 *
 * A problem holds the operands of one shape and the reference result. A worker is a process of its
 * own that runs bursts. Two kinds of rows need one: a row with environment variables of its own,
 * because the environment is read once in a process; and a row of another library, because a crash
 * in it must not end gemm-bench.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "common/reference.h"
#include "common/shapes.h"
#include "driver/driver.h"

#include <stdint.h>
#include <sys/types.h>

enum { BURST_MAX = 16 };

typedef struct burst_job {
    shape shape;
    uint64_t seed;              /* of the operands */
    bool host_alloc;            /* each row gets memory as from gemm_host_alloc */
    int variant;                /* index into gemm_variants */
    int threads;
    bool cold;                  /* caches emptied before each call */
    int samples;                /* at most BURST_MAX */
    bool first;                 /* the row's first burst for this shape */
} burst_job;

typedef enum burst_status {
    BURST_OK,
    BURST_DECLINED,             /* the row never does these transposes: the times are of stock */
    BURST_WRONG,                /* `text` says where */
    BURST_FAILED,               /* no memory, or the worker died: `text` says */
} burst_status;

typedef struct burst_result {
    burst_status status;
    int samples;
    double seconds[BURST_MAX];  /* of one call */
    double cycles[BURST_MAX];   /* of the calling thread, user mode; below 0: not counted */
    double first_s;             /* of the row's first call for this shape, else below 0 */
    double spent_s;             /* in calls, timed or not */
    char ran[96];               /* the row or kernel that worked when it was another one, and why
                                   `auto` took it, else "" */
    char text[200];
} burst_result;

/* Operands and reference of a shape; kept until another shape or seed is asked for. */
typedef struct problem {
    shape shape;
    uint64_t seed;
    bool shared;                /* memory of the device's driver */
    void *memory[4];
    float *A, *B, *C, *C0;
    reference reference;
    bool ready;
} problem;

/* One for each kind of memory. */
typedef struct problems {
    problem plain, shared;
} problems;

/* Runs the job, making the problem if it is not there yet. */
burst_result measure_burst(problems *, const burst_job *);
void problems_free(problems *);

typedef struct worker {
    pid_t pid;                  /* 0: none, or it has died */
    int to, from;
    char end[128];              /* how it died */
} worker;

/*
 * Starts a process that serves bursts with `settings` ("VAR=value+VAR=value", or NULL) in its
 * environment. Call it before anything has read the environment. 0, or -1 with errno set.
 */
int worker_start(worker *, const char *settings);
burst_result worker_burst(worker *, const burst_job *);
/* Waits for its end. Stop the last one first: each holds the pipes of those before it open. */
void worker_stop(worker *);

#endif
