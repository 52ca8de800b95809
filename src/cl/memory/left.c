/* SPDX-License-Identifier: MIT */
/*
 * What calls leave on the device: see left.h.
 */
#include "cl/memory/left.h"

#include "cl/device/pending.h"

#include <stdatomic.h>

static atomic_bool left;        /* some block may be the device's: a test without the lock */

void gemm_cl_mark_left(void)
{
    atomic_store(&left, true);
}

bool gemm_cl_may_stay(const void *data, size_t bytes)
{
    const gemm_cl_host_block *b = gemm_cl_block_of(data);
    return b && (size_t)((const char *)data - b->base) + bytes <= b->bytes;
}

/* ---- the copy of a block ---- */

/* The bytes that the view spans, with the gaps between its rows. */
static size_t span_of(const gemm_cl_view *v)
{
    return ((v->rows - 1) * v->ld + v->cols) * sizeof(float);
}

static bool holds(const gemm_cl_host_block *b, size_t offset, size_t bytes)
{
    return b->held && offset >= b->from && offset + bytes <= b->from + b->length;
}

/* Brings what the CPU does not have. Tries twice, because nothing of the program can go on without
   it. */
static int fetch_copy(gemm_cl_host_block *b)
{
    if (!b->newer) return 0;
    for (int i = 0; i < 2 && b->newer; ++i) {
        cl_event read = NULL;
        ++gemm_cl_counters.waits;
        CL_TRY(clEnqueueReadBuffer(b->queue, b->copy, CL_TRUE, 0, b->length, b->base + b->from, 0,
                                   NULL, gemm_cl_needs_event() ? &read : NULL));
        if (read) gemm_cl_add_pending(read);
        b->newer = false;
        gemm_cl_counters.bytes += b->length;
fail:   ;
    }
    return b->newer ? -1 : gemm_cl_settle();
}

/* Releases the copies that the CPU has too. */
static void make_room(void)
{
    for (gemm_cl_host_block *b = gemm_cl_blocks(); b; b = b->next) {
        if (b->newer) continue;
        gemm_cl_forget_copy(b);
        CL_RELEASE(clReleaseMemObject, b->copy);
    }
}

static int make_copy(gemm_cl_host_block *b, size_t bytes)
{
    cl_int error;
    CL_RELEASE(clReleaseMemObject, b->copy);
    b->copy = clCreateBuffer(gemm_cl_opened()->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (!b->copy) {
        make_room();
        b->copy = gemm_cl_new_buffer(CL_MEM_READ_WRITE, bytes, NULL);
    }
    b->copy_bytes = bytes;
    return b->copy ? 0 : -1;
}

bool gemm_cl_use_copy(gemm_cl_view *v)
{
    const gemm_cl_host_block *b = gemm_cl_block_of(v->host);
    const size_t offset = b ? (size_t)((char *)v->host - b->base) : 0;
    if (!b || !holds(b, offset, span_of(v))) return false;
    v->mem = b->copy;
    v->offset = (offset - b->from) / sizeof(float);
    v->device_ld = v->ld;
    return true;
}

int gemm_cl_need_copy(gemm_cl_view *v)
{
    gemm_cl_host_block *b = gemm_cl_block_of(v->host);
    const size_t offset = (size_t)((char *)v->host - b->base), bytes = span_of(v);
    const bool covered = offset <= b->from && offset + bytes >= b->from + b->length;
    if (gemm_cl_map_block(b) || (!covered && fetch_copy(b))) return -1;
    if (!b->copy || b->copy_bytes < bytes) {
        if (fetch_copy(b)) return -1;
        gemm_cl_forget_copy(b);
        if (make_copy(b, bytes)) return -1;
    }
    v->mem = b->copy;
    v->offset = 0;
    v->device_ld = v->ld;
    return 0;
}

void gemm_cl_leave_copy(const gemm_cl_view *v)
{
    gemm_cl_host_block *b = gemm_cl_block_of(v->host);
    b->from = (size_t)((char *)v->host - b->base);
    b->length = span_of(v);
    b->held = b->newer = true;
    gemm_cl_mark_left();
}

/* ---- back to the CPU ---- */

/* One wait also gives back the memory that inputs are staged in. */
static int map(gemm_cl_host_block *b)
{
    if (b->mapped) return 0;
    gemm_cl_ask_for_blocks();
    if (gemm_cl_map_block(b)) return -1;
    gemm_cl_take_blocks();
    return gemm_cl_settle();
}

int gemm_cl_block_to_cpu(gemm_cl_host_block *b)
{
    return b && (map(b) || fetch_copy(b)) ? -1 : 0;
}

/* The CPU overwrites these bytes. What else the copy holds is brought first. */
static int overwrite(gemm_cl_host_block *b, const void *data, size_t bytes)
{
    const size_t offset = (size_t)((const char *)data - b->base);
    const bool all = offset <= b->from && offset + bytes >= b->from + b->length;
    if (map(b) || (!all && fetch_copy(b))) return -1;
    gemm_cl_forget_copy(b);
    return 0;
}

static bool is_left(void)
{
    for (const gemm_cl_host_block *b = gemm_cl_blocks(); b; b = b->next)
        if (!b->mapped || b->held) return true;
    return false;
}

/* In a child of the process that has the device. NULL, or why the bytes are lost. */
static const char *keep_in_child(gemm_cl_host_block *b, gemm_cl_cpu_use use)
{
    const char *why = NULL;
    if (b->mapped && use == GEMM_CL_CPU_WRITES) gemm_cl_forget_copy(b);
    if (!b->mapped || b->newer) gemm_cl_open_device(&why);
    return why;
}

void gemm_cl_bring_all(void)
{
    for (gemm_cl_host_block *b = gemm_cl_blocks(); b; b = b->next)
        if (!gemm_cl_block_to_cpu(b)) gemm_cl_forget_copy(b);
    atomic_store(&left, is_left());
}

bool gemm_cl_has_left(void)
{
    return atomic_load(&left);
}

const char *gemm_cl_give_to_cpu(const void *data, size_t bytes, gemm_cl_cpu_use use)
{
    if (!gemm_cl_has_left()) return NULL;
    gemm_cl_lock();
    gemm_cl_host_block *b = gemm_cl_block_of(data);
    int rc = 0;
    if (gemm_cl_is_of_parent()) {
        const char *why = b ? keep_in_child(b, use) : NULL;
        gemm_cl_unlock();
        return why;
    }
    if (b && use == GEMM_CL_CPU_WRITES) rc = overwrite(b, data, bytes);
    else rc = gemm_cl_block_to_cpu(b);
    atomic_store(&left, is_left());
    gemm_cl_unlock();
    return rc ? gemm_cl_last_failure() : NULL;
}
