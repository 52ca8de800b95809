/* SPDX-License-Identifier: MIT */
/*
 * The memory policy for a GPU on a bus.
 *
 *   B:  goes chunk by chunk through pinned buffers. While some chunks are on the bus, the CPU fills
 *       the next. Blocks of gemm_cl_alloc are pinned, so a matrix there goes at once, without a
 *       copy by the CPU. Its rows may have gaps, as in the device's part of a hybrid multiply.
 *   A:  weights are uploaded once. The pinned copy that they were uploaded from is kept. A later
 *       call with the same pointer and shape compares every byte with the copy. If all are equal,
 *       the device's buffer is right, whatever happened to the caller's memory in between. A
 *       multiply compares while the device works. If A changed, it computes again.
 *   C:  is never uploaded. The device stores its result, or adds it to zeros, and the CPU adds it
 *       to C. Until then C is as it was. A convolution's output is stored, not added. When it lies
 *       in a block, it goes straight there.
 *
 * A call that does not wait leaves its output on the device, in a copy of the output's block
 * (cl/memory/left.h). A later call that reads this output uses the copy.
 */
#include "cl/device/pending.h"
#include "cl/memory/left.h"
#include "cl/memory/memory.h"

#include <string.h>

enum { CHUNK = 4 << 20, CHUNKS = 4, KEPT = 256 };

/* ---- pinned memory ---- */

/* Memory of the CPU that the device reads at the full speed of the bus. */
typedef struct pinned {
    cl_mem mem;
    float *at;
    size_t bytes;
    cl_event busy;              /* the upload that still reads it */
} pinned;

static pinned chunks[CHUNKS], sums;

static void drop_pinned(pinned *p)
{
    if (p->at) gemm_cl_end_mapping(gemm_cl_opened()->queue, p->mem, p->at);
    CL_RELEASE(clReleaseMemObject, p->mem);
    CL_RELEASE(clReleaseEvent, p->busy);
    *p = (pinned){0};
}

static int need_pinned(pinned *p, size_t bytes)
{
    if (p->bytes >= bytes) return 0;
    drop_pinned(p);
    p->mem = gemm_cl_new_buffer(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL);
    if (!p->mem) goto fail;
    ++gemm_cl_counters.waits;
    CL_MAKE(p->at, clEnqueueMapBuffer(gemm_cl_opened()->queue, p->mem, CL_TRUE,
                                      CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &error));
    p->bytes = bytes;
    return 0;
fail:
    drop_pinned(p);
    return -1;
}

/* ---- B ---- */

/* Sends the whole of v's buffer from pinned memory, whose rows are ld floats apart. */
static int upload_pinned(gemm_cl_view *v, const float *from, size_t ld)
{
    static const size_t ORIGIN[3];
    cl_command_queue queue = gemm_cl_opened()->queue;
    const size_t row = v->cols * sizeof(float), bytes = gemm_cl_view_bytes(v);
    const size_t region[3] = {row, v->rows, 1};
    if (ld == v->cols)
        CL_TRY(clEnqueueWriteBuffer(queue, v->mem, CL_FALSE, 0, bytes, from, 0, NULL, NULL));
    else
        CL_TRY(clEnqueueWriteBufferRect(queue, v->mem, CL_FALSE, ORIGIN, ORIGIN, region, row, 0,
                                        ld * sizeof(float), 0, from, 0, NULL, NULL));
    CL_TRY(clFlush(queue));
    v->copied = bytes;
    return 0;
fail:
    return -1;
}

/* Waits until the last upload from the buffer has ended. */
static int finish_upload(pinned *p)
{
    cl_int status = CL_QUEUED;
    if (!p->busy) return 0;
    CL_TRY(clGetEventInfo(p->busy, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                          NULL));
    if (status != CL_COMPLETE) {
        ++gemm_cl_counters.waits;
        CL_TRY(clWaitForEvents(1, &p->busy));
    }
    CL_RELEASE(clReleaseEvent, p->busy);
    return 0;
fail:
    return -1;
}

/* One chunk of rows, through the pinned buffers in turn. */
static int upload_chunk(gemm_cl_view *v, size_t from, size_t count, int turn)
{
    cl_command_queue queue = gemm_cl_opened()->queue;
    const size_t row = v->cols * sizeof(float), bytes = count * row;
    pinned *p = &chunks[turn % CHUNKS];
    if (finish_upload(p) || need_pinned(p, bytes > CHUNK ? bytes : CHUNK)) goto fail;
    gemm_cl_send_rows(p->at, v, from, count);
    CL_TRY(clEnqueueWriteBuffer(queue, v->mem, CL_FALSE, from * row, bytes, p->at, 0, NULL,
                                &p->busy));
    CL_TRY(clFlush(queue));
    v->copied += bytes;
    return 0;
fail:
    return -1;
}

static int upload_chunks(gemm_cl_view *v, gemm_cl_slot slot)
{
    const size_t row = v->cols * sizeof(float);
    const size_t step = row >= CHUNK ? 1 : CHUNK / row;
    int turn = 0;
    v->mem = gemm_cl_scratch(slot, gemm_cl_view_bytes(v));
    v->device_ld = v->cols;
    if (!v->mem) return -1;
    if (!v->later && gemm_cl_block_of(v->host)) return upload_pinned(v, v->host, v->ld);
    for (size_t i = 0; i < v->rows; i += step) {
        const size_t count = v->rows - i < step ? v->rows - i : step;
        if (upload_chunk(v, i, count, turn++)) return -1;
    }
    return 0;
}

/* ---- A ---- */

/* Weights on the device, with the pinned copy of what was uploaded. */
typedef struct kept_matrix {
    const float *host;
    size_t rows, cols, ld;
    cl_mem mem;
    pinned copy;
    unsigned long used;         /* the number of the call that used it last */
} kept_matrix;

static kept_matrix kept[KEPT];
static unsigned long kept_clock;

static void drop_kept(kept_matrix *k)
{
    CL_RELEASE(clReleaseMemObject, k->mem);
    drop_pinned(&k->copy);
    *k = (kept_matrix){0};
}

void gemm_cl_forget_weights(void)
{
    for (int i = 0; i < KEPT; ++i) drop_kept(&kept[i]);
}

static bool is_same_matrix(const kept_matrix *k, const gemm_cl_view *v)
{
    return k->mem && k->host == v->host && k->rows == v->rows && k->cols == v->cols &&
           k->ld == v->ld;
}

/* The place for a matrix: where it is kept already, or the least recently used one, emptied. */
static kept_matrix *kept_place(const gemm_cl_view *v, size_t bytes)
{
    kept_matrix *oldest = &kept[0];
    size_t total = bytes;
    for (kept_matrix *k = kept; k < kept + KEPT; ++k) {
        if (is_same_matrix(k, v)) return k;
        total += k->copy.bytes;
        if (k->used < oldest->used) oldest = k;
    }
    if (total > gemm_cl_opened()->memory / 4) gemm_cl_forget_weights();
    drop_kept(oldest);
    return oldest;
}

static int upload_kept(gemm_cl_view *v)
{
    const size_t bytes = gemm_cl_view_bytes(v);
    kept_matrix *k = kept_place(v, bytes);
    v->device_ld = v->cols;
    k->used = ++kept_clock;
    if (k->mem && (v->trusts || gemm_cl_has_rows(v, k->copy.at))) {
        v->mem = k->mem;
        v->unchecked = v->trusts ? k->copy.at : NULL;
        return 0;
    }
    if (!k->mem) k->mem = gemm_cl_new_buffer(CL_MEM_READ_ONLY, bytes, NULL);
    if (!k->mem || need_pinned(&k->copy, bytes)) goto fail;
    v->mem = k->mem;
    gemm_cl_send_rows(k->copy.at, v, 0, v->rows);
    if (upload_pinned(v, k->copy.at, v->cols)) goto fail;
    k->host = v->host;
    k->rows = v->rows;
    k->cols = v->cols;
    k->ld = v->ld;
    return 0;
fail:
    drop_kept(k);
    return -1;
}

/* ---- the policy ---- */

static int input(gemm_cl_view *v, gemm_cl_slot slot)
{
    if (gemm_cl_use_copy(v)) return 0;
    if (gemm_cl_block_to_cpu(gemm_cl_block_of(v->host))) return -1;
    return slot == SLOT_A ? upload_kept(v) : upload_chunks(v, slot);
}

static int output(gemm_cl_view *c)
{
    if (c->later) return gemm_cl_need_copy(c);
    if (gemm_cl_block_to_cpu(gemm_cl_block_of(c->host))) return -1;
    return gemm_cl_output_copy(c);
}

/* Whether the transfer may put the output into the caller's memory. */
static bool goes_straight(const gemm_cl_view *c)
{
    return c->overwrite && c->ld == c->cols && gemm_cl_block_of(c->host);
}

static int ask(gemm_cl_view *c)
{
    const gemm_cl_device *d = gemm_cl_opened();
    const size_t bytes = gemm_cl_view_bytes(c);
    const bool straight = goes_straight(c);
    if (!straight && need_pinned(&sums, bytes)) goto fail;
    c->touched = straight;
    c->arrived = straight ? c->host : sums.at;
    CL_TRY(clEnqueueReadBuffer(d->queue, c->mem, CL_FALSE, 0, bytes, c->arrived, 0, NULL,
                               &c->arrival));
    CL_TRY(clFlush(d->queue));
    return 0;
fail:
    return -1;
}

static int close_view(gemm_cl_view *v)
{
    CL_RELEASE(clReleaseEvent, v->arrival);
    return 0;
}

const gemm_cl_policy gemm_cl_discrete = {false, input, output, ask, gemm_cl_leave_copy, close_view};

void gemm_cl_release_discrete(void)
{
    gemm_cl_forget_weights();
    for (int i = 0; i < CHUNKS; ++i) drop_pinned(&chunks[i]);
    drop_pinned(&sums);
}
