/*
 * Memory that the device's driver allocates and the CPU uses.
 *
 * Source: Shimanskiy: Matrix Multiply on Adreno GPUs, part 1 (2016): unmap, run, map.
 */
#include "cl/host.h"

#include "cl/pending.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static gemm_cl_host_block *blocks;
static atomic_int block_count;      /* so that free() of other memory needs no lock */

enum { RECENT = 1024 };
static gemm_cl_host_block *recent[RECENT];  /* found for a pointer, or NULL */

gemm_cl_host_block *gemm_cl_blocks(void)
{
    return blocks;
}

static bool contains(const gemm_cl_host_block *b, const void *p)
{
    return (const char *)p >= b->base && (const char *)p < b->base + b->bytes;
}

/* Blocks begin at pages, so their addresses differ in the middle bits only. A product with a large
   odd number brings these to the top (Knuth, The Art of Computer Programming, 6.4). */
static gemm_cl_host_block **place_of(const void *p)
{
    return &recent[((uint64_t)(uintptr_t)p * 0x9E3779B97F4A7C15u >> 32) % RECENT];
}

/* A network asks for the same pointers in every pass, and has hundreds of blocks. */
gemm_cl_host_block *gemm_cl_block_of(const void *p)
{
    gemm_cl_host_block **seen = place_of(p), *b = *seen;
    if (b && contains(b, p)) return b;
    b = blocks;
    while (b && !contains(b, p)) b = b->next;
    return *seen = b;
}

void gemm_cl_end_mapping(cl_command_queue queue, cl_mem mem, void *at)
{
    CL_TRY(clEnqueueUnmapMemObject(queue, mem, at, 0, NULL, NULL));
    ++gemm_cl_counters.waits;
    CL_TRY(clFinish(queue));
fail:
    return;
}

static int refuse_moved(const gemm_cl_host_block *b, void *at)
{
    gemm_cl_say("the OpenCL driver moved memory that the CPU holds");
    gemm_cl_end_mapping(b->queue, b->mem, at);
    return -1;
}

static int try_to_map(gemm_cl_host_block *b)
{
    cl_event done = NULL;
    /* A new block has no content that the CPU would read. */
    const cl_map_flags access = b->base ? CL_MAP_READ | CL_MAP_WRITE
                                        : CL_MAP_WRITE_INVALIDATE_REGION;
    char *at;
    ++gemm_cl_counters.waits;
    CL_MAKE(at, clEnqueueMapBuffer(b->queue, b->mem, CL_TRUE, access, 0, b->bytes, 0, NULL,
                                   gemm_cl_needs_event() ? &done : NULL, &error));
    if (done) gemm_cl_add_pending(done);
    if (b->base && at != b->base) return refuse_moved(b, at);
    b->base = at;
    b->mapped = true;
    return 0;
fail:
    return -1;
}

/* Tries twice, because nothing of the program can go on without the block. */
int gemm_cl_map_block(gemm_cl_host_block *b)
{
    return b->mapped || try_to_map(b) == 0 ? 0 : try_to_map(b);
}

int gemm_cl_unmap_block(gemm_cl_host_block *b)
{
    if (!b->mapped) return 0;
    CL_TRY(clEnqueueUnmapMemObject(b->queue, b->mem, b->base, 0, NULL, NULL));
    b->mapped = false;
    return 0;
fail:
    return -1;
}

void gemm_cl_ask_for_blocks(void)
{
    for (gemm_cl_host_block *b = blocks; b; b = b->next) {
        if (b->mapped || !b->wanted) continue;
        CL_MAKE(b->asked, clEnqueueMapBuffer(b->queue, b->mem, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE,
                                             0, b->bytes, 0, NULL, NULL, &error));
    }
fail:       /* what was not asked for is mapped when the call ends */
    return;
}

void gemm_cl_take_blocks(void)
{
    for (gemm_cl_host_block *b = blocks; b; b = b->next) {
        if (!b->asked) continue;
        if (b->asked == b->base)
            b->mapped = true;
        else
            refuse_moved(b, b->asked);
        b->asked = NULL;
    }
}

/* The block holds its queue, because it may outlive the device. 0 or -1. */
static int hold_queue(gemm_cl_host_block *b)
{
    CL_TRY(clRetainCommandQueue(gemm_cl_opened()->queue));
    CL_RELEASE(clReleaseCommandQueue, b->queue);
    b->queue = gemm_cl_opened()->queue;
    return 0;
fail:
    return -1;
}

void gemm_cl_move_blocks(void)
{
    for (gemm_cl_host_block *b = blocks; b; b = b->next) hold_queue(b);
}

/* Waits, because the queue may hold kernels that use the block. A child leaves the driver alone. */
static void free_block(gemm_cl_host_block *b)
{
    if (gemm_cl_is_of_parent()) goto end;
    if (b->mem && b->mapped)
        gemm_cl_end_mapping(b->queue, b->mem, b->base);
    else if (b->mem)
        CL_TRY(clFinish(b->queue));
fail:
    CL_RELEASE(clReleaseMemObject, b->copy);
    CL_RELEASE(clReleaseMemObject, b->mem);
    CL_RELEASE(clReleaseCommandQueue, b->queue);
end:
    if (b->pages) munmap(b->pages, b->bytes);
    free(b);
}

/*
 * A device that is a CPU can use any memory. It gets pages of the system: they are zero, and take
 * no memory until something is written to them. Darknet's cfg may name a large batch of which a
 * detection uses one image. For any other device only the driver knows what is shared without
 * copies.
 */
static int make_buffer(gemm_cl_host_block *b)
{
    const gemm_cl_device *d = gemm_cl_opened();
    cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
    if (d->traits.cpu) {
        void *pages = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                           0);
        if (pages == MAP_FAILED) return -1;
        flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
        b->pages = pages;
    }
    CL_MAKE(b->mem, clCreateBuffer(d->context, flags, b->bytes, b->pages, &error));
    return 0;
fail:
    return -1;
}

static int fill_block(gemm_cl_host_block *b)
{
    if (make_buffer(b) || gemm_cl_map_block(b)) return -1;
    if (b->pages == b->base) return 0;
    memset(b->base, 0, b->bytes);
    return gemm_cl_unmap_block(b) || gemm_cl_map_block(b) ? -1 : 0;
}

gemm_cl_host_block *gemm_cl_new_block(size_t bytes)
{
    gemm_cl_host_block *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->bytes = bytes;
    if (hold_queue(b) || fill_block(b)) {
        free_block(b);
        return NULL;
    }
    b->next = blocks;
    blocks = b;
    ++block_count;
    return b;
}

void gemm_cl_drop_block(gemm_cl_host_block *b)
{
    gemm_cl_host_block **at = &blocks;
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    memset(recent, 0, sizeof recent);
    --block_count;
    free_block(b);
}

bool gemm_cl_free(void *p)
{
    if (!p || block_count == 0) return false;
    gemm_cl_lock();
    gemm_cl_host_block *b = blocks;
    while (b && b->base != p) b = b->next;
    if (b) gemm_cl_drop_block(b);
    gemm_cl_unlock();
    return b;
}

size_t gemm_cl_alloc_size(const void *p)
{
    if (!p || block_count == 0) return 0;
    gemm_cl_lock();
    const gemm_cl_host_block *b = gemm_cl_block_of(p);
    const size_t bytes = b ? b->bytes : 0;
    gemm_cl_unlock();
    return bytes;
}
