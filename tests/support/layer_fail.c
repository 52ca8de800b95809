/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_fail.so) that makes one call fail. Variables of the
 * environment say what it does:
 *
 *   CL_FAIL_AT=N         the N-th OpenCL call fails, whatever it is. src/cl calls no function that
 *                        is missing below. A failed clFinish has not waited. A failed release has
 *                        released the object, so that the count of objects stays right.
 *   CL_FAIL_FIRST_ARG=1  of a kernel's arguments only the first one is counted and may fail
 *   CL_FAIL_KERNEL=1     every event says that its kernel failed after it was enqueued
 *   CL_COUNT=FILE        counts the calls that wait for the device, the launches of kernels, and
 *                        those of cl_fill, in the three ints of FILE, which another process may
 *                        have mapped
 *   CL_BREAK_SOURCE=1    no program compiles: its text begins with an #error
 *   CL_SLOW_BUILD=MS     a program that is built from source takes MS milliseconds longer
 *
 * The layer counts objects. When one is not released at exit, it says so and ends the program with
 * status 99. When fewer than CL_FAIL_AT calls were made, it ends the program with status 13.
 */
#define LAYER_NAME "one call fails"
#include "layer.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LEAKED = 99, NEVER_CAME = 13 };
enum { CONTEXT, QUEUE, BUFFER, PROGRAM, KERNEL, EVENT, KINDS };

static const char *const kinds[KINDS] = {"contexts", "queues",  "memory objects",
                                         "programs", "kernels", "events"};
static const char *broken[] = {"#error broken by the layer\n"};
static atomic_int calls, live[KINDS];

static int fails(void)
{
    const char *at = getenv("CL_FAIL_AT");
    return at && ++calls == atoi(at);
}

enum { WAITS_COUNT, LAUNCHES_COUNT, FILLS_COUNT, COUNTS };

static void count(int what)
{
    static atomic_int *counts;
    const char *path = getenv("CL_COUNT");
    if (!counts && path) {
        const int fd = open(path, O_RDWR);
        void *at = mmap(NULL, COUNTS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) abort();
        counts = at;
        close(fd);
    }
    if (counts) ++counts[what];
}

static void at_exit(void)
{
    const char *at = getenv("CL_FAIL_AT");
    for (int k = 0; k < KINDS; ++k) {
        if (live[k]) {
            fprintf(stderr, "layer_fail: %d %s too many or few at exit\n", (int)live[k], kinds[k]);
            _exit(LEAKED);
        }
    }
    if (at && calls < atoi(at)) _exit(NEVER_CAME);
}

/* ---- objects ---- */

#define CREATE(kind, type, name, parameters, arguments)                                           \
    static CL_API_ENTRY type CL_API_CALL name parameters                                          \
    {                                                                                             \
        if (fails()) {                                                                            \
            if (error) *error = CL_OUT_OF_HOST_MEMORY;                                            \
            return NULL;                                                                          \
        }                                                                                         \
        type object = next->cl##name arguments;                                                   \
        live[kind] += object != NULL;                                                             \
        return object;                                                                            \
    }

#define RETAIN(kind, type, name)                                                                  \
    static CL_API_ENTRY cl_int CL_API_CALL name(type object)                                      \
    {                                                                                             \
        if (fails()) return CL_OUT_OF_RESOURCES;                                                  \
        const cl_int rc = next->cl##name(object);                                                 \
        live[kind] += rc == CL_SUCCESS;                                                           \
        return rc;                                                                                \
    }

#define RELEASE(kind, type, name)                                                                 \
    static CL_API_ENTRY cl_int CL_API_CALL name(type object)                                      \
    {                                                                                             \
        const cl_int rc = next->cl##name(object);                                                 \
        live[kind] -= rc == CL_SUCCESS;                                                           \
        return fails() ? CL_OUT_OF_RESOURCES : rc;                                                \
    }

typedef void (CL_CALLBACK *context_callback)(const char *, const void *, size_t, void *);

CREATE(CONTEXT, cl_context, CreateContext,
       (const cl_context_properties *p, cl_uint n, const cl_device_id *d, context_callback f,
        void *u, cl_int *error), (p, n, d, f, u, error))
CREATE(QUEUE, cl_command_queue, CreateCommandQueue,
       (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *error),
       (c, d, p, error))
CREATE(BUFFER, cl_mem, CreateBuffer,
       (cl_context c, cl_mem_flags f, size_t n, void *p, cl_int *error), (c, f, n, p, error))
CREATE(BUFFER, cl_mem, CreateSubBuffer,
       (cl_mem m, cl_mem_flags f, cl_buffer_create_type t, const void *p, cl_int *error),
       (m, f, t, p, error))
CREATE(BUFFER, cl_mem, CreateImage,
       (cl_context c, cl_mem_flags f, const cl_image_format *m, const cl_image_desc *d, void *p,
        cl_int *error), (c, f, m, d, p, error))
CREATE(PROGRAM, cl_program, CreateProgramWithSource,
       (cl_context c, cl_uint n, const char **s, const size_t *l, cl_int *error),
       (c, getenv("CL_BREAK_SOURCE") ? 1 : n, getenv("CL_BREAK_SOURCE") ? broken : s, l, error))
CREATE(PROGRAM, cl_program, CreateProgramWithBinary,
       (cl_context c, cl_uint n, const cl_device_id *d, const size_t *l, const unsigned char **b,
        cl_int *s, cl_int *error), (c, n, d, l, b, s, error))
CREATE(KERNEL, cl_kernel, CreateKernel, (cl_program p, const char *name, cl_int *error),
       (p, name, error))

RETAIN(QUEUE, cl_command_queue, RetainCommandQueue)
RELEASE(CONTEXT, cl_context, ReleaseContext)
RELEASE(QUEUE, cl_command_queue, ReleaseCommandQueue)
RELEASE(BUFFER, cl_mem, ReleaseMemObject)
RELEASE(PROGRAM, cl_program, ReleaseProgram)
RELEASE(KERNEL, cl_kernel, ReleaseKernel)
RELEASE(EVENT, cl_event, ReleaseEvent)

/* ---- commands ---- */

static void count_launch(cl_kernel k)
{
    char name[64] = "";
    count(LAUNCHES_COUNT);
    next->clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    if (!strcmp(name, "cl_fill")) count(FILLS_COUNT);
}

#define COMMAND(name, counting, parameters, arguments)                                            \
    static CL_API_ENTRY cl_int CL_API_CALL name parameters                                        \
    {                                                                                             \
        if (fails()) return CL_OUT_OF_RESOURCES;                                                  \
        counting;                                                                                 \
        const cl_int rc = next->cl##name arguments;                                               \
        live[EVENT] += rc == CL_SUCCESS && event;                                                 \
        return rc;                                                                                \
    }
#define WAITS cl_uint n, const cl_event *w, cl_event *event

COMMAND(EnqueueNDRangeKernel, count_launch(k),
        (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g,
         const size_t *l, WAITS), (q, k, d, o, g, l, n, w, event))
COMMAND(EnqueueWriteBuffer, if (b) count(WAITS_COUNT),
        (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t c, const void *p, WAITS),
        (q, m, b, o, c, p, n, w, event))
COMMAND(EnqueueWriteBufferRect, if (b) count(WAITS_COUNT),
        (cl_command_queue q, cl_mem m, cl_bool b, const size_t *o, const size_t *h,
         const size_t *r, size_t rp, size_t sp, size_t hrp, size_t hsp, const void *p, WAITS),
        (q, m, b, o, h, r, rp, sp, hrp, hsp, p, n, w, event))
COMMAND(EnqueueReadBuffer, if (b) count(WAITS_COUNT),
        (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t c, void *p, WAITS),
        (q, m, b, o, c, p, n, w, event))
COMMAND(EnqueueUnmapMemObject, (void)0, (cl_command_queue q, cl_mem m, void *p, WAITS),
        (q, m, p, n, w, event))

#define MAP(name, parameters, arguments)                                                          \
    static CL_API_ENTRY void *CL_API_CALL name parameters                                         \
    {                                                                                             \
        if (fails()) {                                                                            \
            if (error) *error = CL_MAP_FAILURE;                                                   \
            return NULL;                                                                          \
        }                                                                                         \
        if (b) count(WAITS_COUNT);                                                                \
        void *at = next->cl##name arguments;                                                      \
        live[EVENT] += at && event;                                                               \
        return at;                                                                                \
    }

MAP(EnqueueMapBuffer,
    (cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t c, WAITS,
     cl_int *error), (q, m, b, f, o, c, n, w, event, error))
MAP(EnqueueMapImage,
    (cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, const size_t *o, const size_t *c,
     size_t *r, size_t *s, WAITS, cl_int *error), (q, m, b, f, o, c, r, s, n, w, event, error))

typedef void (CL_CALLBACK *program_callback)(cl_program, void *);

static CL_API_ENTRY cl_int CL_API_CALL BuildProgram(cl_program p, cl_uint n, const cl_device_id *d,
                                                    const char *o, program_callback f, void *u)
{
    const char *slow = getenv("CL_SLOW_BUILD");
    size_t text = 0;
    if (slow && !next->clGetProgramInfo(p, CL_PROGRAM_SOURCE, 0, NULL, &text) && text > 1) {
        const long ms = atol(slow);
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    }
    /* which says nothing of the program, so that nothing is kept of it */
    return fails() ? CL_OUT_OF_HOST_MEMORY : next->clBuildProgram(p, n, d, o, f, u);
}

/* ---- all other calls ---- */

#define CALL(name, counting, parameters, arguments)                                               \
    static CL_API_ENTRY cl_int CL_API_CALL name parameters                                        \
    {                                                                                             \
        counting;                                                                                 \
        return fails() ? CL_OUT_OF_RESOURCES : next->cl##name arguments;                          \
    }
#define ANSWER size_t n, void *v, size_t *r

static CL_API_ENTRY cl_int CL_API_CALL SetKernelArg(cl_kernel k, cl_uint i, size_t n, const void *p)
{
    const int failed = i == 0 || !getenv("CL_FAIL_FIRST_ARG") ? fails() : 0;
    return failed ? CL_OUT_OF_RESOURCES : next->clSetKernelArg(k, i, n, p);
}

CALL(Flush, (void)0, (cl_command_queue q), (q))
CALL(Finish, count(WAITS_COUNT), (cl_command_queue q), (q))
CALL(WaitForEvents, count(WAITS_COUNT), (cl_uint n, const cl_event *e), (n, e))
CALL(GetPlatformIDs, (void)0, (cl_uint n, cl_platform_id *p, cl_uint *r), (n, p, r))
CALL(GetDeviceIDs, (void)0,
     (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *d, cl_uint *r), (p, t, n, d, r))
CALL(GetDeviceInfo, (void)0, (cl_device_id d, cl_device_info i, ANSWER), (d, i, n, v, r))
CALL(GetProgramInfo, (void)0, (cl_program p, cl_program_info i, ANSWER), (p, i, n, v, r))
CALL(GetProgramBuildInfo, (void)0,
     (cl_program p, cl_device_id d, cl_program_build_info i, ANSWER), (p, d, i, n, v, r))
CALL(GetKernelInfo, (void)0, (cl_kernel k, cl_kernel_info i, ANSWER), (k, i, n, v, r))
CALL(GetKernelWorkGroupInfo, (void)0,
     (cl_kernel k, cl_device_id d, cl_kernel_work_group_info i, ANSWER), (k, d, i, n, v, r))
CALL(GetEventProfilingInfo, (void)0, (cl_event e, cl_profiling_info i, ANSWER), (e, i, n, v, r))

static CL_API_ENTRY cl_int CL_API_CALL GetEventInfo(cl_event e, cl_event_info i, ANSWER)
{
    const cl_int rc = fails() ? CL_OUT_OF_RESOURCES : next->clGetEventInfo(e, i, n, v, r);
    if (rc == CL_SUCCESS && v && i == CL_EVENT_COMMAND_EXECUTION_STATUS && getenv("CL_FAIL_KERNEL"))
        *(cl_int *)v = CL_OUT_OF_RESOURCES;
    return rc;
}

/* ---- the loader's side ---- */

#define ENTRIES(F) \
    F(CreateContext) F(CreateCommandQueue) F(CreateBuffer) F(CreateSubBuffer) F(CreateImage) \
    F(CreateProgramWithSource) F(CreateProgramWithBinary) F(CreateKernel) \
    F(RetainCommandQueue) F(ReleaseContext) F(ReleaseCommandQueue) F(ReleaseMemObject) \
    F(ReleaseProgram) F(ReleaseKernel) F(ReleaseEvent) F(EnqueueNDRangeKernel) \
    F(EnqueueWriteBuffer) F(EnqueueWriteBufferRect) F(EnqueueReadBuffer) \
    F(EnqueueUnmapMemObject) F(EnqueueMapBuffer) F(EnqueueMapImage) F(BuildProgram) \
    F(SetKernelArg) F(Flush) F(Finish) F(WaitForEvents) F(GetPlatformIDs) F(GetDeviceIDs) \
    F(GetDeviceInfo) F(GetProgramInfo) F(GetProgramBuildInfo) F(GetKernelInfo) \
    F(GetKernelWorkGroupInfo) F(GetEventInfo) F(GetEventProfilingInfo)
#define REPLACE(name) layer.cl##name = name;

static cl_int replace_entries(void)
{
    ENTRIES(REPLACE)
    return atexit(at_exit) ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
}
