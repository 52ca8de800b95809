/*
 * The two memory policies.
 *
 *   unified (Adreno, PoCL: the CPU and the device share their memory)
 *     memory of gemm_host_alloc:  unmap -> run -> map; not a byte is copied
 *     any other memory:           copied into a buffer; C comes back by addition
 *     All that the CPU gets back is asked for behind the kernels, and waited for once.
 *
 *   discrete (a GPU on a bus)
 *     B:  chunk by chunk through two pinned buffers on a queue of its own: while one chunk is on
 *         the bus the CPU fills the other; straight from memory of gemm_host_alloc, pinned already
 *     A:  weights are uploaded once. The pinned copy that they were uploaded from is kept, and a
 *         later call with the same pointer and shape compares every byte with it: equal bytes
 *         prove that the device's copy is right, whatever happened to the memory in between. The
 *         comparison runs on the CPU while B is on the bus.
 *     C:  never uploaded: the device adds to zeros, and the CPU adds that to C. Until the very last
 *         step C is as it was. A convolution's output is stored, not added to, and goes straight to
 *         memory of gemm_host_alloc.
 *
 * Source: Shimanskiy: Matrix Multiply on Adreno GPUs, part 1 (2016), for the first.
 */
#include "cl/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK = 4 << 20, IMAGES = 32, KEPT = 256 };

/* ---- memory from the driver ----------------------------------------------------------------- */

typedef struct host_block {
    struct host_block *next;
    cl_mem mem;
    char *base;                     /* where the CPU sees it: the same place at every map */
    size_t bytes;
    cl_command_queue queue;
    char *asked;                    /* the map that is in the queue, or NULL */
    void *pages;                    /* the system's, which the driver was given, or NULL */
    bool mapped;
} host_block;

static host_block *blocks;
static atomic_int block_count;      /* so that free() of other memory needs no lock */
static atomic_int forced;

static host_block *block_of(const void *p)
{
    for (host_block *b = blocks; b; b = b->next) {
        if ((const char *)p >= b->base && (const char *)p < b->base + b->bytes) {
            return b;
        }
    }
    return NULL;
}

/* The CPU gives up a mapping for good; a failure is said, and what was mapped is released anyway. */
static void end_mapping(cl_command_queue queue, cl_mem mem, void *at)
{
    CL_TRY(clEnqueueUnmapMemObject(queue, mem, at, 0, NULL, NULL));
    CL_TRY(clFinish(queue));
fail:
    return;
}

/* Gives the block to the CPU, waiting for the device. */
static int map_block(const gemm_cl_device *d, host_block *b)
{
    /* a new block has nothing to read yet */
    const cl_map_flags access = b->base ? CL_MAP_READ | CL_MAP_WRITE
                                        : CL_MAP_WRITE_INVALIDATE_REGION;
    for (int attempt = 0; !b->mapped && attempt < 2; ++attempt) {
        cl_int error;
        void *p = clEnqueueMapBuffer(d->queue, b->mem, CL_TRUE, access, 0, b->bytes, 0, NULL, NULL,
                                     &error);
        if (error != CL_SUCCESS) {
            gemm_cl_say_failed(__FILE__, __LINE__, "clEnqueueMapBuffer", error);
        } else if (b->base && p != b->base) {
            fprintf(stderr, "gemm_cl: the driver moved memory that the CPU holds\n");
            end_mapping(d->queue, b->mem, p);
            return -1;
        } else {
            b->base = p;
            b->mapped = true;
        }
    }
    return b->mapped ? 0 : -1;
}

/* Enqueues that the CPU gets all blocks back: they are its own when the queue has finished. */
static void ask_for_blocks(const gemm_cl_device *d)
{
    for (host_block *b = blocks; b; b = b->next) {
        if (!b->mapped) {
            CL_MAKE(b->asked, clEnqueueMapBuffer(d->queue, b->mem, CL_FALSE,
                                                 CL_MAP_READ | CL_MAP_WRITE, 0, b->bytes, 0, NULL,
                                                 NULL, &error));
        }
    }
fail:       /* what was not asked for is mapped when the call ends */
    return;
}

static void take_blocks(const gemm_cl_device *d)
{
    for (host_block *b = blocks; b; b = b->next) {
        b->mapped = b->mapped || (b->asked && b->asked == b->base);
        if (b->asked && b->asked != b->base) {
            fprintf(stderr, "gemm_cl: the driver moved memory that the CPU holds\n");
            end_mapping(d->queue, b->mem, b->asked);
        }
        b->asked = NULL;
    }
}

static int unmap_block(const gemm_cl_device *d, host_block *b)
{
    if (b->mapped) {
        CL_TRY(clEnqueueUnmapMemObject(d->queue, b->mem, b->base, 0, NULL, NULL));
        b->mapped = false;
    }
    return 0;
fail:
    return -1;
}

static void free_block(host_block *b)
{
    if (b->mem) {
        if (b->mapped) {
            end_mapping(b->queue, b->mem, b->base);
        }
        clReleaseMemObject(b->mem);
    }
    if (b->queue) {
        clReleaseCommandQueue(b->queue);
    }
    if (b->pages) {
        munmap(b->pages, b->bytes);
    }
    free(b);
}

/*
 * The block's buffer. To a CPU all memory is the same: it gets pages of the system's, which are zero
 * and cost nothing until something is written to them, as when Darknet's cfg names a large batch and
 * one image is detected. Of any other device only the driver knows what it shares without copies.
 */
static int make_buffer(const gemm_cl_device *d, host_block *b)
{
    cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
    if (d->traits.cpu) {
        flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
        void *pages = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           -1, 0);
        if (pages == MAP_FAILED) {
            return -1;
        }
        b->pages = pages;
    }
    CL_MAKE(b->mem, clCreateBuffer(d->context, flags, b->bytes, b->pages, &error));
    return 0;
fail:
    return -1;
}

/* Zeroed memory that the device shares, mapped; NULL when there is none that stays in place. */
static host_block *make_block(const gemm_cl_device *d, size_t bytes)
{
    host_block *b = calloc(1, sizeof *b);
    if (!b) {
        return NULL;
    }
    b->bytes = bytes;
    CL_TRY(clRetainCommandQueue(d->queue));
    b->queue = d->queue;
    if (make_buffer(d, b) == 0 && map_block(d, b) == 0) {
        if (b->pages == b->base) {
            return b;
        }
        memset(b->base, 0, bytes);
        if (unmap_block(d, b) == 0 && map_block(d, b) == 0) {
            return b;
        }
    }
fail:
    free_block(b);
    return NULL;
}

void *gemm_cl_alloc(size_t bytes)
{
    if (bytes == 0) {
        return NULL;
    }
    host_block *b = NULL;
    gemm_cl_lock();
    const gemm_cl_device *d = gemm_cl_open(NULL);
    if (d && (b = make_block(d, bytes))) {
        b->next = blocks;
        blocks = b;
        ++block_count;
    }
    gemm_cl_unlock();
    return b ? b->base : NULL;
}

bool gemm_cl_free(void *p)
{
    if (!p || block_count == 0) {
        return false;
    }
    gemm_cl_lock();
    host_block **at = &blocks;
    while (*at && (*at)->base != p) {
        at = &(*at)->next;
    }
    host_block *b = *at;
    if (b) {
        *at = b->next;
        --block_count;
        free_block(b);
    }
    gemm_cl_unlock();
    return b;
}

size_t gemm_cl_alloc_size(const void *p)
{
    if (!p || block_count == 0) {
        return 0;
    }
    gemm_cl_lock();
    const host_block *b = block_of(p);
    const size_t bytes = b ? b->bytes : 0;
    gemm_cl_unlock();
    return bytes;
}

/* ---- buffers and images that last ----------------------------------------------------------- */

static struct { cl_mem mem; size_t bytes; } scratch[SLOT_COUNT];
static struct { cl_mem mem; size_t width, height; bool busy; unsigned long used; } images[IMAGES];
static unsigned long image_clock;

cl_mem gemm_cl_scratch(gemm_cl_slot slot, size_t bytes)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    if (scratch[slot].bytes >= bytes) {
        return scratch[slot].mem;
    }
    if (scratch[slot].mem) {
        clReleaseMemObject(scratch[slot].mem);
        scratch[slot].mem = NULL;
        scratch[slot].bytes = 0;
    }
    CL_MAKE(scratch[slot].mem, clCreateBuffer(d->context, CL_MEM_READ_WRITE, bytes, NULL, &error));
    scratch[slot].bytes = bytes;
fail:
    return scratch[slot].mem;
}

cl_mem gemm_cl_image_get(size_t width, size_t height)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
    int oldest = -1;
    for (int i = 0; i < IMAGES; ++i) {
        if (images[i].mem && !images[i].busy && images[i].width == width &&
            images[i].height == height) {
            oldest = i;
            goto found;
        }
        if (!images[i].busy && (oldest < 0 || images[i].used < images[oldest].used)) {
            oldest = i;
        }
    }
    if (oldest < 0) {
        fprintf(stderr, "gemm_cl: B needs more than %d images\n", IMAGES);
        return NULL;
    }
    if (images[oldest].mem) {
        clReleaseMemObject(images[oldest].mem);
    }
    CL_MAKE(images[oldest].mem,
            clCreateImage(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, &format, &desc,
                          NULL, &error));
    images[oldest].width = width;
    images[oldest].height = height;
found:
    images[oldest].busy = true;
    images[oldest].used = ++image_clock;
fail:
    return images[oldest].mem;
}

void gemm_cl_images_done(void)
{
    for (int i = 0; i < IMAGES; ++i) {
        images[i].busy = false;
    }
}

/* ---- what both policies do ------------------------------------------------------------------ */

/* C that the device has in a buffer of its own: adds to zeros, one row right behind the other. */
static int output_beside(gemm_cl_view *c)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    const size_t count = c->rows * c->cols;
    c->mem = gemm_cl_scratch(SLOT_C, count * sizeof(float));
    c->device_ld = c->cols;
    if (!c->mem || c->overwrite) {
        return c->mem ? 0 : -1;
    }
    const gemm_cl_program *zero = gemm_cl_build("cl_zero", "", NULL);
    if (!zero) {
        return -1;
    }
    CL_TRY(clSetKernelArg(zero->kernel, 0, sizeof c->mem, &c->mem));
    CL_TRY(clEnqueueNDRangeKernel(d->queue, zero->kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
    return 0;
fail:
    return -1;
}

/* Rows of the caller's matrix, one right behind the other. */
static void gather_rows(float *out, const gemm_cl_view *v, size_t from, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        memcpy(out + i * v->cols, v->host + (from + i) * v->ld, v->cols * sizeof(float));
    }
}

/* The CPU's part of C that the device had beside it. */
static void take_rows(const gemm_cl_view *c, const float *sums)
{
    for (size_t i = 0; i < c->rows; ++i) {
        float *row = c->host + i * c->ld;
        if (c->overwrite) {
            memcpy(row, sums + i * c->cols, c->cols * sizeof *row);
            continue;
        }
        for (size_t j = 0; j < c->cols; ++j) {
            row[j] += sums[i * c->cols + j];
        }
    }
}

/* ---- unified -------------------------------------------------------------------------------- */

static bool use_in_place(const gemm_cl_device *d, gemm_cl_view *v)
{
    v->block = block_of(v->host);
    if (!v->block || unmap_block(d, v->block) != 0) {
        return false;
    }
    v->mem = v->block->mem;
    v->offset = (size_t)((char *)v->host - v->block->base) / sizeof(float);
    v->device_ld = v->ld;
    v->in_place = true;
    return true;
}

static int unified_input(gemm_cl_view *v, gemm_cl_slot slot)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    if (use_in_place(d, v)) {
        return 0;
    }
    const size_t bytes = v->rows * v->cols * sizeof(float);
    float *at;
    if (v->block || !(v->mem = gemm_cl_scratch(slot, bytes))) {
        goto fail;
    }
    v->device_ld = v->cols;
    v->copied = bytes;
    if (v->ld == v->cols) {
        /* no wait: the caller's memory stays as it is until the result is there */
        CL_TRY(clEnqueueWriteBuffer(d->queue, v->mem, CL_FALSE, 0, bytes, v->host, 0, NULL, NULL));
        return 0;
    }
    CL_MAKE(at, clEnqueueMapBuffer(d->queue, v->mem, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                                   bytes, 0, NULL, NULL, &error));
    gather_rows(at, v, 0, v->rows);
    CL_TRY(clEnqueueUnmapMemObject(d->queue, v->mem, at, 0, NULL, NULL));
    return 0;
fail:
    return -1;
}

static int unified_output(gemm_cl_view *c)
{
    if (use_in_place(gemm_cl_open(NULL), c)) {
        return 0;
    }
    return c->block ? -1 : output_beside(c);
}

/* One wait for the kernels and for all that the CPU gets back. */
static int unified_result(gemm_cl_view *c)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    const size_t bytes = c->rows * c->cols * sizeof(float);
    float *sums = NULL;
    if (!c->in_place) {
        CL_MAKE(sums, clEnqueueMapBuffer(d->queue, c->mem, CL_FALSE, CL_MAP_READ, 0, bytes, 0, NULL,
                                         NULL, &error));
    }
    ask_for_blocks(d);
    const cl_int error = clFinish(d->queue);
    take_blocks(d);
    if (error != CL_SUCCESS) {
        gemm_cl_say_failed(__FILE__, __LINE__, "clFinish(d->queue)", error);
    } else if (sums) {
        take_rows(c, sums);
        c->copied = bytes;
    }
    if (sums) {
        CL_TRY(clEnqueueUnmapMemObject(d->queue, c->mem, sums, 0, NULL, NULL));
    }
    return error == CL_SUCCESS ? 0 : -1;
fail:
    return c->copied ? 0 : -1;      /* once taken, C is right */
}

static void unified_close(gemm_cl_view *v)
{
    if (v->block) {
        map_block(gemm_cl_open(NULL), v->block);
    }
}

/* ---- discrete ------------------------------------------------------------------------------- */

/* Memory of the CPU that the device reads at the bus's full speed. */
typedef struct pinned {
    cl_mem mem;
    float *at;
    size_t bytes;
    cl_event busy;                  /* the upload that still reads it */
} pinned;

static pinned chunks[2], sums;

/* Weights on the device, with the pinned copy that proves them. */
typedef struct kept_matrix {
    const float *host;
    size_t rows, cols, ld;
    cl_mem mem;
    pinned copy;
    unsigned long used;
} kept_matrix;

static kept_matrix kept[KEPT];
static unsigned long kept_clock;

static void drop_event(cl_event *event)
{
    if (*event) {
        clReleaseEvent(*event);
        *event = NULL;
    }
}

static void drop_pinned(pinned *p)
{
    if (p->mem) {
        if (p->at) {
            end_mapping(gemm_cl_open(NULL)->transfers, p->mem, p->at);
        }
        clReleaseMemObject(p->mem);
    }
    drop_event(&p->busy);
    *p = (pinned){0};
}

static int need_pinned(pinned *p, size_t bytes)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    if (p->bytes >= bytes) {
        return 0;
    }
    drop_pinned(p);
    CL_MAKE(p->mem, clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                                   NULL, &error));
    CL_MAKE(p->at, clEnqueueMapBuffer(d->transfers, p->mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      bytes, 0, NULL, NULL, &error));
    p->bytes = bytes;
    return 0;
fail:
    drop_pinned(p);
    return -1;
}

static bool same_rows(const float *copy, const gemm_cl_view *v)
{
    for (size_t i = 0; i < v->rows; ++i) {
        if (memcmp(copy + i * v->cols, v->host + i * v->ld, v->cols * sizeof(float)) != 0) {
            return false;
        }
    }
    return true;
}

/* Sends the whole of v's buffer from pinned memory that holds it row behind row. */
static int upload_pinned(gemm_cl_view *v, const float *from)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    const size_t bytes = v->rows * v->cols * sizeof(float);
    drop_event(&v->ready);
    CL_TRY(clEnqueueWriteBuffer(d->transfers, v->mem, CL_FALSE, 0, bytes, from, 0, NULL,
                                &v->ready));
    CL_TRY(clFlush(d->transfers));
    v->copied = bytes;
    return 0;
fail:
    return -1;
}

/* One chunk of rows through whichever of the two pinned buffers is `turn`'s. */
static int upload_chunk(gemm_cl_view *v, size_t from, size_t count, int turn)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    const size_t row = v->cols * sizeof(float);
    pinned *p = &chunks[turn & 1];
    if (need_pinned(p, count * row) != 0) {
        goto fail;
    }
    if (p->busy) {
        CL_TRY(clWaitForEvents(1, &p->busy));
        drop_event(&p->busy);
    }
    gather_rows(p->at, v, from, count);
    CL_TRY(clEnqueueWriteBuffer(d->transfers, v->mem, CL_FALSE, from * row, count * row, p->at, 0,
                                NULL, &p->busy));
    CL_TRY(clFlush(d->transfers));
    drop_event(&v->ready);
    CL_TRY(clRetainEvent(p->busy));
    v->ready = p->busy;
    v->copied += count * row;
    return 0;
fail:
    return -1;
}

static int upload_chunks(gemm_cl_view *v, gemm_cl_slot slot)
{
    const size_t row = v->cols * sizeof(float);
    const size_t step = row >= CHUNK ? 1 : CHUNK / row;
    v->mem = gemm_cl_scratch(slot, v->rows * row);
    v->device_ld = v->cols;
    if (!v->mem) {
        return -1;
    }
    if (v->ld == v->cols && block_of(v->host)) {
        return upload_pinned(v, v->host);
    }
    int turn = 0;
    for (size_t i = 0; i < v->rows; i += step) {
        const size_t count = v->rows - i < step ? v->rows - i : step;
        if (upload_chunk(v, i, count, turn++) != 0) {
            return -1;
        }
    }
    return 0;
}

static void drop_kept(kept_matrix *k)
{
    if (k->mem) {
        clReleaseMemObject(k->mem);
    }
    drop_pinned(&k->copy);
    *k = (kept_matrix){0};
}

/* The place for a matrix: where it is kept already, or the one unused for longest. */
static kept_matrix *kept_place(const gemm_cl_view *v, size_t bytes)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    kept_matrix *oldest = &kept[0];
    size_t total = bytes;
    for (int i = 0; i < KEPT; ++i) {
        kept_matrix *k = &kept[i];
        if (k->mem && k->host == v->host && k->rows == v->rows && k->cols == v->cols &&
            k->ld == v->ld) {
            return k;
        }
        total += k->copy.bytes;
        if (k->used < oldest->used) {
            oldest = k;
        }
    }
    if (total > d->memory / 4) {
        for (int i = 0; i < KEPT; ++i) {
            drop_kept(&kept[i]);
        }
    }
    drop_kept(oldest);
    return oldest;
}

static int upload_kept(gemm_cl_view *v)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    const size_t bytes = v->rows * v->cols * sizeof(float);
    kept_matrix *k = kept_place(v, bytes);
    v->device_ld = v->cols;
    k->used = ++kept_clock;
    if (k->mem && same_rows(k->copy.at, v)) {
        v->mem = k->mem;
        return 0;
    }
    if (!k->mem) {
        CL_MAKE(k->mem, clCreateBuffer(d->context, CL_MEM_READ_ONLY, bytes, NULL, &error));
        if (need_pinned(&k->copy, bytes) != 0) {
            goto fail;
        }
    }
    v->mem = k->mem;
    gather_rows(k->copy.at, v, 0, v->rows);
    if (upload_pinned(v, k->copy.at) != 0) {
        goto fail;
    }
    k->host = v->host;
    k->rows = v->rows;
    k->cols = v->cols;
    k->ld = v->ld;
    return 0;
fail:
    drop_kept(k);
    return -1;
}

static int discrete_input(gemm_cl_view *v, gemm_cl_slot slot)
{
    return slot == SLOT_A ? upload_kept(v) : upload_chunks(v, slot);
}

static int discrete_output(gemm_cl_view *c)
{
    return output_beside(c);
}

static int discrete_result(gemm_cl_view *c)
{
    const gemm_cl_device *d = gemm_cl_open(NULL);
    const size_t bytes = c->rows * c->cols * sizeof(float);
    const bool straight = c->overwrite && c->ld == c->cols && block_of(c->host);   /* pinned */
    if (!straight && need_pinned(&sums, bytes) != 0) {
        goto fail;
    }
    CL_TRY(clEnqueueReadBuffer(d->queue, c->mem, CL_TRUE, 0, bytes, straight ? c->host : sums.at,
                               0, NULL, NULL));
    if (!straight) {
        take_rows(c, sums.at);
    }
    c->copied = bytes;
    drop_event(&chunks[0].busy);    /* the kernels waited for them */
    drop_event(&chunks[1].busy);
    return 0;
fail:
    return -1;
}

static void discrete_close(gemm_cl_view *v)
{
    drop_event(&v->ready);
}

/* ---- the choice ----------------------------------------------------------------------------- */

static const gemm_cl_policy unified = {"unified", unified_input, unified_output, unified_result,
                                       unified_close};
static const gemm_cl_policy discrete = {"discrete", discrete_input, discrete_output,
                                        discrete_result, discrete_close};

void gemm_cl_force_memory(int policy)
{
    forced = policy;
}

const gemm_cl_policy *gemm_cl_memory_policy(void)
{
    if (forced) {
        return forced == 'u' ? &unified : &discrete;
    }
    return gemm_cl_open(NULL)->traits.unified ? &unified : &discrete;
}

bool gemm_cl_is_shared(const float *p)
{
    return gemm_cl_memory_policy() == &unified && block_of(p);
}

void gemm_cl_memory_doubt(void)
{
    for (int i = 0; i < KEPT; ++i) {
        drop_kept(&kept[i]);
    }
}

void gemm_cl_memory_close(void)
{
    gemm_cl_memory_doubt();
    for (int i = 0; i < SLOT_COUNT; ++i) {
        if (scratch[i].mem) {
            clReleaseMemObject(scratch[i].mem);
        }
        scratch[i].mem = NULL;
        scratch[i].bytes = 0;
    }
    for (int i = 0; i < IMAGES; ++i) {
        if (images[i].mem) {
            clReleaseMemObject(images[i].mem);
        }
        images[i].mem = NULL;
    }
    drop_pinned(&chunks[0]);
    drop_pinned(&chunks[1]);
    drop_pinned(&sums);
}
