/* SPDX-License-Identifier: MIT */
/*
 * What both memory policies do with a matrix.
 *
 * A GPU on a bus waits for the CPU's copies, and one thread copies slower than the bus. So all
 * threads of the call copy. A device that shares the CPU's memory may be the CPU itself, and its
 * threads need the cores. There one thread copies.
 */
#include "cl/memory/view.h"

#include "cl/device/kernel.h"
#include "cl/device/pending.h"
#include "cl/device/program.h"
#include "util/ints.h"
#include "util/threads.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

int gemm_cl_output_copy(gemm_cl_view *c)
{
    const size_t count = c->rows * c->cols;
    c->mem = gemm_cl_scratch(SLOT_C, gemm_cl_view_bytes(c));
    c->device_ld = c->cols;
    if (!c->mem || c->overwrite || c->stored) return c->mem ? 0 : -1;
    const gemm_cl_program *zero = gemm_cl_need("cl_zero", "");
    if (!zero) return -1;
    const gemm_cl_arguments args = GEMM_CL_ARGS(zero, .count = count, .out = c->mem);
    const size_t local[3] = {gemm_cl_line(zero, count), 1, 1};
    const size_t global[3] = {round_up(count, local[0]), 1, 1};
    return gemm_cl_run_shared(zero, &args, global, local);
}

/* ---- rows of the caller, and the same rows without gaps ---- */

typedef enum copy_op { GATHER, SEND, COMPARE, STORE, ADD } copy_op;

/* Elements of the rows without gaps, in chunks for several threads. */
typedef struct copy_job {
    copy_op op;
    float *rows;                /* the first of the caller's */
    size_t cols, ld;
    float *dense;               /* the same rows without gaps */
    size_t count;               /* elements */
    atomic_bool differs;        /* COMPARE */
} copy_job;

enum { CHUNK = 1 << 12, FEW = 8 };      /* elements; so many chunks are worth waking threads */

/* A bus reads lines that are new in the caches of many cores at half its speed. So this copy goes
   past the caches where the processor can do that. */
static void copy_past_caches(float *to, const float *from, size_t n)
{
#if defined(__SSE2__)
    for (; n && (uintptr_t)to % 16; --n) *to++ = *from++;
    for (; n >= 4; n -= 4, to += 4, from += 4) _mm_stream_ps(to, _mm_loadu_ps(from));
#endif
    memcpy(to, from, n * sizeof *to);
}

/* Before another thread, or the bus, learns that the copy is there. */
static void end_sending(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* In runs of a fixed length, because then -O2 makes vectors of them. */
static void add(float *restrict to, const float *restrict from, size_t n)
{
    enum { RUN = 16 };
    size_t i = 0;
    for (; i + RUN <= n; i += RUN)
        for (size_t p = i; p < i + RUN; ++p) to[p] += from[p];
    for (; i < n; ++i) to[i] += from[i];
}

static void copy_run(copy_job *j, float *row, float *dense, size_t n)
{
    switch (j->op) {
    case GATHER: memcpy(dense, row, n * sizeof *row); return;
    case SEND: copy_past_caches(dense, row, n); return;
    case STORE: memcpy(row, dense, n * sizeof *row); return;
    case COMPARE:
        if (memcmp(row, dense, n * sizeof *row)) atomic_store(&j->differs, true);
        return;
    case ADD: add(row, dense, n);
    }
}

static void copy_chunk(void *job, int chunk, void *scratch)
{
    copy_job *j = job;
    size_t at = (size_t)chunk * CHUNK;
    const size_t end = at + CHUNK < j->count ? at + CHUNK : j->count;
    (void)scratch;
    while (at < end && !atomic_load_explicit(&j->differs, memory_order_relaxed)) {
        const size_t i = at / j->cols, first = at % j->cols, left = end - at;
        const size_t n = j->cols - first < left ? j->cols - first : left;
        copy_run(j, j->rows + i * j->ld + first, j->dense + at, n);
        at += n;
    }
    if (j->op == SEND) end_sending();
}

/* Without memory for threads the caller does all of it. Returns whether nothing differs. */
static bool copy_rows(copy_op op, const gemm_cl_view *v, float *dense, size_t from,
                      size_t count)
{
    const bool whole = v->ld == v->cols;        /* one long row */
    copy_job j = {.op = op, .rows = v->host + from * v->ld, .dense = dense,
                  .cols = whole ? count * v->cols : v->cols, .ld = v->ld, .count = count * v->cols};
    const int chunks = (int)((j.count + CHUNK - 1) / CHUNK);
    const int threads = chunks >= FEW ? max_int(v->threads, 1) : 1;
    if (threads == 1 || gemm_parallel(threads, chunks, copy_chunk, &j))
        for (int i = 0; i < chunks; ++i) copy_chunk(&j, i, NULL);
    return !j.differs;
}

void gemm_cl_gather_rows(float *out, const gemm_cl_view *v, size_t from, size_t count)
{
    copy_rows(GATHER, v, out, from, count);
}

void gemm_cl_send_rows(float *pinned, const gemm_cl_view *v, size_t from, size_t count)
{
    copy_rows(SEND, v, pinned, from, count);
}

bool gemm_cl_has_rows(const gemm_cl_view *v, const float *copy)
{
    return copy_rows(COMPARE, v, (float *)copy, 0, v->rows);
}

/* After the wait: whether the launch that wrote the output ended well. 0 or -1. */
static int check_launch(const gemm_cl_view *c)
{
    cl_int status = CL_COMPLETE;
    const cl_event last = c->made ? c->made : c->arrival;
    if (!last) return 0;
    CL_TRY(clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    if (status >= 0) return 0;
    gemm_cl_say_failed(__FILE__, __LINE__, "the kernel that writes C", status);
fail:
    return -1;
}

int gemm_cl_wait_for_output(const gemm_cl_view *c, bool all)
{
    ++gemm_cl_counters.waits;
    if (all) CL_TRY(clFinish(gemm_cl_opened()->queue));
    else CL_TRY(clWaitForEvents(1, &c->arrival));
    if (all) gemm_cl_take_blocks();
    return gemm_cl_settle() || check_launch(c) ? -1 : 0;
fail:
    return -1;
}

int gemm_cl_take_output(gemm_cl_view *c, const gemm_cl_policy *policy)
{
    if (gemm_cl_wait_for_output(c, policy->shares)) return -1;
    gemm_cl_forget_copy(gemm_cl_block_of(c->host));
    if (c->in_place) return 0;
    if (c->arrived != c->host) copy_rows(c->overwrite ? STORE : ADD, c, c->arrived, 0, c->rows);
    c->copied = gemm_cl_view_bytes(c);
    return 0;
}
