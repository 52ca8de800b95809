/*
 * The memory policy for a GPU on a bus.
 *
 *   B:  goes chunk by chunk through pinned buffers, on a queue of its own. While some chunks are on
 *       the bus, the CPU fills the next. Blocks of gemm_cl_alloc are pinned and go at once.
 *   A:  weights are uploaded once. The pinned copy that they were uploaded from is kept. A later
 *       call with the same pointer and shape compares every byte with the copy: when all are equal,
 *       the device's buffer is right, whatever happened to the caller's memory in between. The CPU
 *       compares while B is on the bus.
 *   C:  is never uploaded. The device adds to zeros, and the CPU adds the result to C. Until then C
 *       is as it was. A convolution's output is stored, not added. When it lies in a block, it goes
 *       straight there.
 *
 * A call that does not wait leaves its output in a copy of the output's block (cl/left.h), and a
 * call whose input the device holds uses that as it lies.
 */
#include "cl/left.h"
#include "cl/memory.h"
#include "cl/pending.h"
#include "util/ints.h"
#include "util/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { KEPT = 256 };

/* ---- pinned memory ------------------------------------------------------------------------- */

/* Memory of the CPU that the device reads at the full speed of the bus. */
typedef struct pinned {
    cl_mem mem;
    float *at;
    size_t bytes;
    cl_event busy;              /* the upload that still reads it */
} pinned;

static pinned sums;

static void drop_pinned(pinned *p)
{
    if (p->at) gemm_cl_end_mapping(gemm_cl_opened()->transfers, p->mem, p->at);
    CL_RELEASE(clReleaseMemObject, p->mem);
    CL_RELEASE(clReleaseEvent, p->busy);
    *p = (pinned){0};
}

static int need_pinned(pinned *p, size_t bytes)
{
    const gemm_cl_device *d = gemm_cl_opened();
    if (p->bytes >= bytes) return 0;
    drop_pinned(p);
    CL_MAKE(p->mem, clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                                   NULL, &error));
    ++gemm_cl_counters.waits;
    CL_MAKE(p->at, clEnqueueMapBuffer(d->transfers, p->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      bytes, 0, NULL, NULL, &error));
    p->bytes = bytes;
    return 0;
fail:
    drop_pinned(p);
    return -1;
}

/* ---- B ------------------------------------------------------------------------------------- */

/*
 * The elements of B go in chunks, each through one of SLOTS pinned buffers. A chunk has up to
 * PIECES pieces, which the threads take from a counter. Whoever copies the last piece of a chunk
 * sends the chunk, while the other threads copy on. So a thread waits only for a buffer that is
 * still on the bus.
 */
enum {
    SLOTS = 8,
    PIECE = 1 << 13,            /* elements */
    FEWEST = 16, PIECES = 128,  /* of a chunk: 512 KiB to 4 MiB */
    CHUNKS = 16,                /* of a matrix, unless they have FEWEST or PIECES pieces */
    FEW = 8                     /* so many pieces are worth waking threads */
};

typedef struct slot {
    pinned buffer;
    atomic_int filling, sent;   /* the last chunk that may be copied to the buffer, and that went */
    atomic_int left;            /* pieces of `filling` that are not copied yet */
} slot;

static slot slots[SLOTS];

typedef struct upload {
    gemm_cl_view *v;
    size_t count;               /* elements of v */
    int pieces, of_chunk;       /* of v, and of a chunk */
    pthread_mutex_t lock;       /* of the thread that talks to OpenCL */
    atomic_bool failed;
} upload;

/* An upload may overtake kernels only when none is left of earlier calls, because they may still
   read the same buffer. */
static cl_command_queue upload_queue(void)
{
    const gemm_cl_device *d = gemm_cl_opened();
    return gemm_cl_is_busy() ? d->queue : d->transfers;
}

/* Sends the whole of v's buffer from pinned memory that holds its rows without gaps. */
static int upload_pinned(gemm_cl_view *v, const float *from)
{
    cl_command_queue queue = upload_queue();
    const size_t bytes = v->rows * v->cols * sizeof(float);
    CL_RELEASE(clReleaseEvent, v->ready);
    CL_TRY(clEnqueueWriteBuffer(queue, v->mem, CL_FALSE, 0, bytes, from, 0, NULL, &v->ready));
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

static int pieces_of(const upload *u, int chunk)
{
    return min_int(u->of_chunk, u->pieces - chunk * u->of_chunk);
}

/* The slot's last chunk has been sent, and `chunk` is the next. */
static int begin_chunk(const upload *u, slot *s, int chunk)
{
    const size_t bytes = (size_t)u->of_chunk * PIECE * sizeof(float);
    if (finish_upload(&s->buffer) || need_pinned(&s->buffer, bytes)) return -1;
    atomic_store(&s->left, pieces_of(u, chunk));
    atomic_store(&s->filling, chunk);
    return 0;
}

/* Returns whether the chunk's pieces may be copied to the slot's buffer. */
static bool wait_for_slot(upload *u, slot *s, int chunk)
{
    while (atomic_load(&s->filling) != chunk) {
        if (atomic_load(&u->failed)) return false;
        if (atomic_load(&s->sent) != chunk - SLOTS || pthread_mutex_trylock(&u->lock) != 0) {
            sched_yield();
            continue;
        }
        if (atomic_load(&s->filling) != chunk && begin_chunk(u, s, chunk))
            atomic_store(&u->failed, true);
        pthread_mutex_unlock(&u->lock);
    }
    return true;
}

static int send_chunk(const upload *u, slot *s, int chunk)
{
    gemm_cl_view *v = u->v;
    pinned *p = &s->buffer;
    cl_command_queue queue = upload_queue();
    const size_t length = (size_t)u->of_chunk * PIECE, from = (size_t)chunk * length;
    const size_t count = u->count - from < length ? u->count - from : length;
    CL_TRY(clEnqueueWriteBuffer(queue, v->mem, CL_FALSE, from * sizeof(float),
                                count * sizeof(float), p->at, 0, NULL, &p->busy));
    CL_TRY(clFlush(queue));
    CL_RELEASE(clReleaseEvent, v->ready);
    CL_TRY(clRetainEvent(p->busy));
    v->ready = p->busy;         /* the queue is in order */
    v->copied += count * sizeof(float);
    atomic_store(&s->sent, chunk);
    return 0;
fail:
    return -1;
}

static void copy_piece(void *job, int piece, void *scratch)
{
    upload *u = job;
    const int chunk = piece / u->of_chunk;
    slot *s = &slots[chunk % SLOTS];
    const size_t from = (size_t)piece * PIECE;
    const size_t count = u->count - from < PIECE ? u->count - from : PIECE;
    (void)scratch;
    if (!wait_for_slot(u, s, chunk)) return;
    gemm_cl_gather(s->buffer.at + (size_t)(piece % u->of_chunk) * PIECE, u->v, from, count);
    if (atomic_fetch_sub(&s->left, 1) > 1) return;
    pthread_mutex_lock(&u->lock);
    if (atomic_load(&u->failed) || send_chunk(u, s, chunk)) atomic_store(&u->failed, true);
    pthread_mutex_unlock(&u->lock);
}

/* Without memory for threads the caller copies all. */
static int upload_pieces(gemm_cl_view *v)
{
    const size_t count = v->rows * v->cols;
    const int pieces = (int)((count + PIECE - 1) / PIECE);
    upload u = {.v = v, .count = count, .pieces = pieces, .lock = PTHREAD_MUTEX_INITIALIZER,
                .of_chunk = max_int(FEWEST, min_int(ceil_div(pieces, CHUNKS), PIECES))};
    const int threads = pieces >= FEW ? gemm_cl_copy_threads() : 1;
    for (int i = 0; i < SLOTS; ++i) {
        atomic_store(&slots[i].filling, -1);
        atomic_store(&slots[i].sent, i - SLOTS);
    }
    if (threads == 1 || gemm_parallel(threads, pieces, copy_piece, &u))
        for (int i = 0; i < pieces; ++i) copy_piece(&u, i, NULL);
    pthread_mutex_destroy(&u.lock);
    return u.failed ? -1 : 0;
}

static int upload_matrix(gemm_cl_view *v, gemm_cl_slot slot)
{
    v->mem = gemm_cl_scratch(slot, v->rows * v->cols * sizeof(float));
    v->device_ld = v->cols;
    if (!v->mem) return -1;
    if (!v->later && v->ld == v->cols && gemm_cl_block_of(v->host))
        return upload_pinned(v, v->host);
    return upload_pieces(v);
}

/* ---- A ------------------------------------------------------------------------------------- */

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

void gemm_cl_forget_kept(void)
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
    if (total > gemm_cl_opened()->memory / 4) gemm_cl_forget_kept();
    drop_kept(oldest);
    return oldest;
}

static int upload_kept(gemm_cl_view *v)
{
    const size_t bytes = v->rows * v->cols * sizeof(float);
    kept_matrix *k = kept_place(v, bytes);
    v->device_ld = v->cols;
    k->used = ++kept_clock;
    if (k->mem && gemm_cl_has_rows(v, k->copy.at)) {
        v->mem = k->mem;
        return 0;
    }
    if (!k->mem) {
        CL_MAKE(k->mem, clCreateBuffer(gemm_cl_opened()->context, CL_MEM_READ_ONLY, bytes, NULL,
                                       &error));
        if (need_pinned(&k->copy, bytes)) goto fail;
    }
    v->mem = k->mem;
    gemm_cl_gather_rows(k->copy.at, v);
    if (upload_pinned(v, k->copy.at)) goto fail;
    k->host = v->host;
    k->rows = v->rows;
    k->cols = v->cols;
    k->ld = v->ld;
    return 0;
fail:
    drop_kept(k);
    return -1;
}

/* ---- the policy ---------------------------------------------------------------------------- */

static int input(gemm_cl_view *v, gemm_cl_slot slot)
{
    gemm_cl_host_block *b = gemm_cl_block_of(v->host);
    if (gemm_cl_use_copy(v)) return 0;
    if (b && gemm_cl_block_to_cpu(b)) return -1;
    return slot == SLOT_A ? upload_kept(v) : upload_matrix(v, slot);
}

static int output(gemm_cl_view *c)
{
    gemm_cl_host_block *b = gemm_cl_block_of(c->host);
    if (c->later) return gemm_cl_need_copy(c);
    if (b && gemm_cl_block_to_cpu(b)) return -1;
    return gemm_cl_output_beside(c);
}

/* Whether the transfer may put the output into the caller's memory. */
static bool goes_straight(const gemm_cl_view *c)
{
    return c->overwrite && c->ld == c->cols && gemm_cl_block_of(c->host);
}

static int ask(gemm_cl_view *c)
{
    const gemm_cl_device *d = gemm_cl_opened();
    const size_t bytes = c->rows * c->cols * sizeof(float);
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

static int take(gemm_cl_view *c)
{
    ++gemm_cl_counters.waits;
    CL_TRY(clWaitForEvents(1, &c->arrival));
    if (gemm_cl_settle() || gemm_cl_check_launch(c)) goto fail;
    if (c->arrived != c->host) gemm_cl_take_rows(c, c->arrived);
    c->copied = c->rows * c->cols * sizeof(float);
    gemm_cl_forget_copy(c);
    /* The kernels waited for these uploads. */
    for (int i = 0; i < SLOTS; ++i) CL_RELEASE(clReleaseEvent, slots[i].buffer.busy);
    return 0;
fail:
    return -1;
}

static int close_view(gemm_cl_view *v)
{
    CL_RELEASE(clReleaseEvent, v->ready);
    CL_RELEASE(clReleaseEvent, v->arrival);
    return 0;
}

const gemm_cl_policy gemm_cl_discrete = {false, input, output, ask, take, gemm_cl_leave_copy,
                                         close_view};

void gemm_cl_release_discrete(void)
{
    gemm_cl_forget_kept();
    for (int i = 0; i < SLOTS; ++i) drop_pinned(&slots[i].buffer);
    drop_pinned(&sums);
}
