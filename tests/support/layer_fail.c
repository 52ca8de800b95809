/*
 * An OpenCL layer (OPENCL_LAYERS=layer_fail.so) that makes one call fail: the CL_FAIL_AT-th of all
 * that create, build, set an argument, enqueue, map or read. It also counts objects.
 *
 * With CL_COUNT=FILE, it counts the calls that wait for the device, and launches of kernels, in the
 * two ints of that file, which another may have mapped.
 *
 * With CL_BREAK_SOURCE set, no program compiles: its text begins with an #error.
 *
 * At exit, when anything that was created is not released, it says what and ends the program with
 * status 99; when fewer calls were made than CL_FAIL_AT, with status 13.
 */
#define LAYER_NAME "one call fails"
#include "layer.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

enum { WAITS_COUNT, LAUNCHES_COUNT };

static void count(int what)
{
    static atomic_int *counts;
    const char *path = getenv("CL_COUNT");
    if (!counts && path) {
        const int fd = open(path, O_RDWR);
        void *at = mmap(NULL, 2 * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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
    if (at && calls < atoi(at)) {
        _exit(NEVER_CAME);
    }
}

/* ---- objects -------------------------------------------------------------------------------- */

#define CREATE(kind, type, name, parameters, arguments)                                          \
    static CL_API_ENTRY type CL_API_CALL name parameters                                         \
    {                                                                                            \
        if (fails()) {                                                                           \
            if (error) *error = CL_OUT_OF_HOST_MEMORY;                                           \
            return NULL;                                                                         \
        }                                                                                        \
        type object = next->cl##name arguments;                                                  \
        live[kind] += object != NULL;                                                            \
        return object;                                                                           \
    }

#define COUNTED(kind, type, name, change)                                                        \
    static CL_API_ENTRY cl_int CL_API_CALL name(type object)                                     \
    {                                                                                            \
        const cl_int rc = next->cl##name(object);                                                \
        live[kind] += rc == CL_SUCCESS ? change : 0;                                             \
        return rc;                                                                               \
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

COUNTED(CONTEXT, cl_context, ReleaseContext, -1)
COUNTED(QUEUE, cl_command_queue, RetainCommandQueue, 1)
COUNTED(QUEUE, cl_command_queue, ReleaseCommandQueue, -1)
COUNTED(BUFFER, cl_mem, ReleaseMemObject, -1)
COUNTED(PROGRAM, cl_program, ReleaseProgram, -1)
COUNTED(KERNEL, cl_kernel, ReleaseKernel, -1)
COUNTED(EVENT, cl_event, RetainEvent, 1)
COUNTED(EVENT, cl_event, ReleaseEvent, -1)

/* ---- commands ------------------------------------------------------------------------------- */

#define COMMAND(name, counting, parameters, arguments)                                           \
    static CL_API_ENTRY cl_int CL_API_CALL name parameters                                       \
    {                                                                                            \
        if (fails()) return CL_OUT_OF_RESOURCES;                                                 \
        counting;                                                                                \
        const cl_int rc = next->cl##name arguments;                                              \
        live[EVENT] += rc == CL_SUCCESS && event;                                                \
        return rc;                                                                               \
    }
#define WAITS cl_uint n, const cl_event *w, cl_event *event

COMMAND(EnqueueNDRangeKernel, count(LAUNCHES_COUNT),
        (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g,
         const size_t *l, WAITS), (q, k, d, o, g, l, n, w, event))
COMMAND(EnqueueWriteBuffer, if (b) count(WAITS_COUNT),
        (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t c, const void *p, WAITS),
        (q, m, b, o, c, p, n, w, event))
COMMAND(EnqueueReadBuffer, if (b) count(WAITS_COUNT),
        (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t c, void *p, WAITS),
        (q, m, b, o, c, p, n, w, event))
COMMAND(EnqueueUnmapMemObject, (void)0, (cl_command_queue q, cl_mem m, void *p, WAITS),
        (q, m, p, n, w, event))

#define MAP(name, parameters, arguments)                                                         \
    static CL_API_ENTRY void *CL_API_CALL name parameters                                        \
    {                                                                                            \
        if (fails()) {                                                                           \
            if (error) *error = CL_MAP_FAILURE;                                                  \
            return NULL;                                                                         \
        }                                                                                        \
        if (b) count(WAITS_COUNT);                                                               \
        return next->cl##name arguments;                                                         \
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
    return fails() ? CL_BUILD_PROGRAM_FAILURE : next->clBuildProgram(p, n, d, o, f, u);
}

static CL_API_ENTRY cl_int CL_API_CALL SetKernelArg(cl_kernel k, cl_uint i, size_t n, const void *p)
{
    return fails() ? CL_OUT_OF_RESOURCES : next->clSetKernelArg(k, i, n, p);
}

static CL_API_ENTRY cl_int CL_API_CALL Finish(cl_command_queue q)
{
    count(WAITS_COUNT);
    return next->clFinish(q);
}

static CL_API_ENTRY cl_int CL_API_CALL WaitForEvents(cl_uint n, const cl_event *events)
{
    count(WAITS_COUNT);
    return next->clWaitForEvents(n, events);
}

/* ---- the loader's side ---------------------------------------------------------------------- */

#define REPLACE(name) layer.cl##name = name

static cl_int replace_entries(void)
{
    REPLACE(CreateContext);
    REPLACE(CreateCommandQueue);
    REPLACE(CreateBuffer);
    REPLACE(CreateSubBuffer);
    REPLACE(CreateImage);
    REPLACE(CreateProgramWithSource);
    REPLACE(CreateProgramWithBinary);
    REPLACE(CreateKernel);
    REPLACE(ReleaseContext);
    REPLACE(RetainCommandQueue);
    REPLACE(ReleaseCommandQueue);
    REPLACE(ReleaseMemObject);
    REPLACE(ReleaseProgram);
    REPLACE(ReleaseKernel);
    REPLACE(RetainEvent);
    REPLACE(ReleaseEvent);
    REPLACE(EnqueueNDRangeKernel);
    REPLACE(EnqueueWriteBuffer);
    REPLACE(EnqueueReadBuffer);
    REPLACE(EnqueueUnmapMemObject);
    REPLACE(EnqueueMapBuffer);
    REPLACE(EnqueueMapImage);
    REPLACE(BuildProgram);
    REPLACE(SetKernelArg);
    REPLACE(Finish);
    REPLACE(WaitForEvents);
    return atexit(at_exit) ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
}
