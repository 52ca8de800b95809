/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_moves.so) whose driver moves memory between two maps, as
 * Mesa's freedreno does. It makes a CPU's device look like a GPU with unified memory, because
 * src/cl gives CPUs no memory of the driver. CL_MOVES says what moves:
 *
 *   driver   a buffer of CL_MEM_ALLOC_HOST_PTR lies elsewhere at each map (the default)
 *   all      those of CL_MEM_USE_HOST_PTR too
 *   late     a buffer of CL_MEM_ALLOC_HOST_PTR is moved once, at its fourth map
 *   taken    the same, but something else is at its old place then
 *
 * A map shows a copy of the buffer. At its end the copy is written back.
 */
#define LAYER_NAME "memory that moves"
#include "layer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { BUFFERS = 4096, LATE = 4 };

/* A buffer that was mapped. A driver may release one in a thread of its own, so a lock is held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    cl_mem mem;
    char *real, *shown;         /* of this map */
    size_t bytes;
    int maps;
} buffers[BUFFERS];

static bool moves(const char *what)
{
    const char *asked = getenv("CL_MOVES");
    return !strcmp(asked ? asked : "driver", what);
}

static bool is_moved(cl_mem mem)
{
    cl_mem_flags flags = 0;
    next->clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof flags, &flags, NULL);
    return flags & CL_MEM_ALLOC_HOST_PTR || (moves("all") && flags & CL_MEM_USE_HOST_PTR);
}

static char *new_place(size_t bytes)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) abort();
    return at;
}

/* The place in the table, which may be new. */
static int find(cl_mem mem)
{
    int free_place = -1;
    for (int i = 0; i < BUFFERS; ++i) {
        if (buffers[i].mem == mem) return i;
        if (!buffers[i].mem && free_place < 0) free_place = i;
    }
    if (free_place < 0) abort();
    return free_place;
}

static void forget(int i)
{
    if (buffers[i].shown) munmap(buffers[i].shown, buffers[i].bytes);
    memset(&buffers[i], 0, sizeof buffers[i]);
}

static void CL_CALLBACK released(cl_mem mem, void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    const int i = find(mem);
    if (buffers[i].mem) forget(i);
    pthread_mutex_unlock(&lock);
}

/* Where the map is shown: the old place is given up after the new one is had. */
static void choose_place(int i, size_t bytes)
{
    char *old = buffers[i].shown;
    const bool late = moves("late") || moves("taken");
    ++buffers[i].maps;
    if (old && late && buffers[i].maps != LATE) return;
    buffers[i].shown = new_place(bytes);
    if (old && !moves("taken")) munmap(old, bytes);
}

static CL_API_ENTRY void *CL_API_CALL EnqueueMapBuffer(cl_command_queue q, cl_mem mem,
                                                       cl_bool blocking, cl_map_flags flags,
                                                       size_t offset, size_t bytes, cl_uint n,
                                                       const cl_event *waits, cl_event *event,
                                                       cl_int *error)
{
    const bool moved = is_moved(mem);
    char *real = next->clEnqueueMapBuffer(q, mem, moved ? CL_TRUE : blocking, flags, offset, bytes,
                                          n, waits, event, error);
    if (!moved || !real) return real;
    pthread_mutex_lock(&lock);
    const int i = find(mem);
    if (!buffers[i].mem) {
        buffers[i].mem = mem;
        buffers[i].bytes = bytes;
        next->clSetMemObjectDestructorCallback(mem, released, NULL);
    }
    /* src/cl maps whole buffers, and each of them once at a time */
    if (buffers[i].bytes != bytes || buffers[i].real) abort();
    choose_place(i, bytes);
    buffers[i].real = real;
    char *shown = memcpy(buffers[i].shown, real, bytes);
    pthread_mutex_unlock(&lock);
    return shown;
}

static CL_API_ENTRY cl_int CL_API_CALL EnqueueUnmapMemObject(cl_command_queue q, cl_mem mem,
                                                             void *at, cl_uint n,
                                                             const cl_event *waits, cl_event *event)
{
    pthread_mutex_lock(&lock);
    const int i = find(mem);
    void *real = at;
    if (buffers[i].mem && at == buffers[i].shown) {
        real = memcpy(buffers[i].real, at, buffers[i].bytes);
        buffers[i].real = NULL;
    }
    pthread_mutex_unlock(&lock);
    return next->clEnqueueUnmapMemObject(q, mem, real, n, waits, event);
}

/* ---- a GPU with unified memory ---- */

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceInfo(cl_device_id d, cl_device_info info,
                                                     size_t size, void *value, size_t *size_ret)
{
    return answer_as_gpu(CL_TRUE, d, info, size, value, size_ret);
}

static CL_API_ENTRY cl_int CL_API_CALL GetKernelWorkGroupInfo(cl_kernel k, cl_device_id d,
                                                              cl_kernel_work_group_info info,
                                                              size_t size, void *value,
                                                              size_t *size_ret)
{
    const cl_int rc = next->clGetKernelWorkGroupInfo(k, d, info, size, value, size_ret);
    if (!rc && value && info == CL_KERNEL_PRIVATE_MEM_SIZE) *(cl_ulong *)value = 0;
    return rc;
}

static cl_int replace_entries(void)
{
    layer.clEnqueueMapBuffer = EnqueueMapBuffer;
    layer.clEnqueueUnmapMemObject = EnqueueUnmapMemObject;
    layer.clGetDeviceInfo = GetDeviceInfo;
    layer.clGetKernelWorkGroupInfo = GetKernelWorkGroupInfo;
    return CL_SUCCESS;
}
