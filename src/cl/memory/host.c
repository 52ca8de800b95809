/* SPDX-License-Identifier: MIT */
/*
 * Memory that the device's driver allocates and the CPU uses.
 *
 * A block must lie at the same place at every map, because the CPU keeps pointers into it. Some
 * drivers move their own memory (Mesa's freedreno). So the device is asked once, by maps of blocks
 * of several sizes:
 *
 *   the driver's memory      where it stays
 *   pages of the system      where the driver's own moves. The driver uses them as they lie, or
 *                            copies (CL_MEM_USE_HOST_PTR)
 *   none                     where it moves these too: then the program's own memory is copied
 *
 * Source: Shimanskiy: Matrix Multiply on Adreno GPUs, part 1 (2016): unmap, run, map.
 */
#include "cl/memory/host.h"

#include "cl/device/pending.h"
#include "cl/device/scratch.h"

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

/* ---- memory that moves ---- */

typedef enum memory_kind { UNKNOWN, OF_DRIVER, OF_SYSTEM, NONE } memory_kind;

static memory_kind kind;        /* of new blocks that must stay in place */

static void *new_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* Whether a new buffer lies at one place at three maps: 1 or 0. -1: a call failed, and that was
   said. */
static int stays(size_t bytes, void *pages)
{
    const gemm_cl_device *d = gemm_cl_opened();
    const cl_mem_flags memory = pages ? CL_MEM_USE_HOST_PTR : CL_MEM_ALLOC_HOST_PTR;
    cl_mem mem = gemm_cl_new_buffer(CL_MEM_READ_WRITE | memory, bytes, pages);
    char *first = pages, *at;
    bool moves = false, asked = false;
    if (!mem) return -1;
    for (int i = 0; i < 3; ++i) {
        const cl_map_flags access = i ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_WRITE_INVALIDATE_REGION;
        CL_MAKE(at, clEnqueueMapBuffer(d->queue, mem, CL_TRUE, access, 0, bytes, 0, NULL, NULL,
                                       &error));
        if (!first) first = at;
        moves = moves || at != first;
        CL_TRY(clEnqueueUnmapMemObject(d->queue, mem, at, 0, NULL, NULL));
        CL_TRY(clFinish(d->queue));
    }
    asked = true;
fail:
    CL_RELEASE(clReleaseMemObject, mem);
    return asked ? !moves : -1;
}

/* The same for blocks of several sizes: small ones, and one that fills a huge page and more. */
static int all_stay(memory_kind asked)
{
    static const size_t sizes[] = {4096, 1 << 16, (1 << 20) + 4096, (1 << 22) + 4096};
    int rc = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && rc == 1; ++i) {
        void *pages = asked == OF_SYSTEM ? new_pages(sizes[i]) : NULL;
        rc = asked == OF_SYSTEM && !pages ? -1 : stays(sizes[i], pages);
        if (pages) munmap(pages, sizes[i]);
    }
    return rc;
}

/*
 * A device that is a CPU can use any memory. It gets pages of the system: they are zero, and take
 * no memory until something is written to them. Darknet's cfg may name a large batch of which a
 * detection uses one image. Where the question fails, it is asked again for the next block.
 */
static memory_kind find_kind(void)
{
    if (kind != UNKNOWN) return kind;
    if (gemm_cl_opened()->traits.cpu) return kind = OF_SYSTEM;
    const int driver = all_stay(OF_DRIVER);
    if (driver < 0) return OF_DRIVER;
    if (driver) return kind = OF_DRIVER;
    const int pages = all_stay(OF_SYSTEM);
    if (pages < 0) return NONE;
    return kind = pages ? OF_SYSTEM : NONE;
}

const char *gemm_cl_moved_memory(void)
{
    if (gemm_cl_opened()->traits.cpu) return NULL;
    return kind == OF_SYSTEM ? "host-ptr" : kind == NONE ? "copies" : NULL;
}

/* ---- maps ---- */

/* A buffer over the block's pages takes the place of one that is mapped at `at`. What that has, the
   pages get. 0 or -1. */
static int take_pages(gemm_cl_host_block *b, void *pages, char *at)
{
    memcpy(pages, at, b->bytes);
    gemm_cl_end_mapping(b->queue, b->mem, at);
    cl_mem mem = gemm_cl_new_buffer(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, b->bytes, pages);
    if (!mem) {
        munmap(pages, b->bytes);
        return -1;
    }
    CL_RELEASE(clReleaseMemObject, b->mem);
    b->mem = mem;
    b->pages = pages;
    return 0;
}

/*
 * The driver mapped the block at `at`, but the CPU has pointers to b->base. Where the driver has
 * given that place up, pages of the system fill it, and the device uses these from now on. Any
 * other memory there is not ours to write to. 0, and the block is unmapped; or -1.
 */
static int return_to_place(gemm_cl_host_block *b, char *at)
{
    if (kind == OF_DRIVER) kind = OF_SYSTEM;
#ifdef MAP_FIXED_NOREPLACE
    void *pages = mmap(b->base, b->bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (pages == b->base && gemm_cl_opened()) return take_pages(b, pages, at);
    if (pages != MAP_FAILED) munmap(pages, b->bytes);
#endif
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
    if (b->stays && b->base && at != b->base)
        return return_to_place(b, at) ? -1 : try_to_map(b);
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

void gemm_cl_forget_copy(gemm_cl_host_block *b)
{
    if (b) b->held = b->newer = false;
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
        if (!b->stays) b->base = b->asked;
        b->mapped = b->asked == b->base;
        if (!b->mapped && return_to_place(b, b->asked) == 0) try_to_map(b);
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

static int make_buffer(gemm_cl_host_block *b, memory_kind memory)
{
    const bool pages = memory == OF_SYSTEM;
    const cl_mem_flags flags = pages ? CL_MEM_USE_HOST_PTR : CL_MEM_ALLOC_HOST_PTR;
    if (pages && !(b->pages = new_pages(b->bytes))) return -1;
    b->mem = gemm_cl_new_buffer(CL_MEM_READ_WRITE | flags, b->bytes, b->pages);
    return b->mem ? 0 : -1;
}

/* Pages are zero already. Any other block that has to stay is mapped twice, to see whether it
   does. */
static int fill_block(gemm_cl_host_block *b, bool has_to_stay)
{
    if (gemm_cl_map_block(b)) return -1;
    if (b->pages) return b->base == b->pages ? 0 : -1;
    memset(b->base, 0, b->bytes);
    if (!has_to_stay) return 0;
    const char *first = b->base;
    if (gemm_cl_unmap_block(b) || gemm_cl_map_block(b)) return -1;
    if (b->base == first) return 0;
    kind = OF_SYSTEM;
    return -1;
}

static gemm_cl_host_block *make_block(size_t bytes, bool has_to_stay, memory_kind memory)
{
    gemm_cl_host_block *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->bytes = bytes;
    if (hold_queue(b) || make_buffer(b, memory) || fill_block(b, has_to_stay)) {
        free_block(b);
        return NULL;
    }
    b->stays = has_to_stay;
    b->next = blocks;
    blocks = b;
    ++block_count;
    return b;
}

/* The driver may move one block of its own memory only. The second try is for that one. */
gemm_cl_host_block *gemm_cl_new_block(size_t bytes)
{
    const memory_kind first = find_kind();
    gemm_cl_host_block *b = first == NONE ? NULL : make_block(bytes, true, first);
    if (!b && first == OF_DRIVER && kind == OF_SYSTEM) b = make_block(bytes, true, OF_SYSTEM);
    return b;
}

gemm_cl_host_block *gemm_cl_new_stage(size_t bytes)
{
    return make_block(bytes, false, gemm_cl_opened()->traits.cpu ? OF_SYSTEM : OF_DRIVER);
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
