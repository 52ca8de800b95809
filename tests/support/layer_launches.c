/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_launches.so) that appends a line of tabs to the file
 * CL_LAUNCHES for each launch of a kernel, and the line "wait" for each call that waits:
 *
 *   kernel, options of its program, global sizes x y z, local sizes x y z, then its arguments:
 *   integers as such, memory as its bytes, other arguments as "-"
 *
 * A size of 0 is one that the program left to the driver. Without CL_LAUNCHES nothing is written.
 */
#define LAYER_NAME "a line for each launch"
#include "layer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { KERNELS = 1024, ARGUMENTS = 40 };

typedef struct known {
    cl_kernel kernel;
    int arguments;              /* the highest that was set, and 1 */
    size_t bytes[ARGUMENTS];
    unsigned char value[ARGUMENTS][8];
} known;

static known kernels[KERNELS];

static known *find(cl_kernel k)
{
    for (int i = 0; i < KERNELS; ++i) {
        if (kernels[i].kernel == k || !kernels[i].kernel) {
            kernels[i].kernel = k;
            return &kernels[i];
        }
    }
    fputs("layer_launches: too many kernels\n", stderr);
    abort();
}

static FILE *out(void)
{
    static FILE *file;
    const char *path = getenv("CL_LAUNCHES");
    if (!file && path) file = fopen(path, "a");
    return file;
}

static void print_argument(FILE *f, const known *k, int i)
{
    int32_t number;
    uint64_t wide;
    cl_mem mem;
    size_t size = 0;
    memcpy(&number, k->value[i], sizeof number);
    memcpy(&wide, k->value[i], sizeof wide);
    memcpy(&mem, k->value[i], sizeof mem);
    if (k->bytes[i] == sizeof number) fprintf(f, "\t%d", (int)number);
    else if (k->bytes[i] != sizeof wide) fprintf(f, "\t-");
    else if (wide > UINT32_MAX &&
             !next->clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof size, &size, NULL))
        fprintf(f, "\t%zu", size);
    else fprintf(f, "\t%llu", (unsigned long long)wide);
}

static void print_options(FILE *f, cl_kernel k)
{
    char options[2048] = "";
    cl_program p;
    cl_device_id d;
    if (!next->clGetKernelInfo(k, CL_KERNEL_PROGRAM, sizeof p, &p, NULL) &&
        !next->clGetProgramInfo(p, CL_PROGRAM_DEVICES, sizeof d, &d, NULL))
        next->clGetProgramBuildInfo(p, d, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, NULL);
    fprintf(f, "\t%s", options);
}

static void print_sizes(FILE *f, const size_t *sizes, cl_uint n, int otherwise)
{
    for (cl_uint i = 0; i < 3; ++i)
        fprintf(f, "\t%zu", !sizes ? 0 : i < n ? sizes[i] : (size_t)otherwise);
}

static CL_API_ENTRY cl_kernel CL_API_CALL CreateKernel(cl_program p, const char *name,
                                                       cl_int *error)
{
    cl_kernel k = next->clCreateKernel(p, name, error);
    if (k) {                    /* another kernel may have had this handle */
        known *at = find(k);
        memset(at, 0, sizeof *at);
        at->kernel = k;
    }
    return k;
}

static CL_API_ENTRY cl_int CL_API_CALL SetKernelArg(cl_kernel k, cl_uint i, size_t bytes,
                                                    const void *value)
{
    if (i < ARGUMENTS) {
        known *at = find(k);
        at->bytes[i] = value ? bytes : 0;
        if ((int)i >= at->arguments) at->arguments = (int)i + 1;
        if (value && bytes <= sizeof at->value[i]) memcpy(at->value[i], value, bytes);
    }
    return next->clSetKernelArg(k, i, bytes, value);
}

static CL_API_ENTRY cl_int CL_API_CALL EnqueueNDRangeKernel(
    cl_command_queue q, cl_kernel k, cl_uint dimensions, const size_t *offset, const size_t *global,
    const size_t *local, cl_uint n, const cl_event *waits, cl_event *event)
{
    FILE *f = out();
    if (f) {
        char name[128] = "";
        const known *at = find(k);
        next->clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
        fprintf(f, "%s", name);
        print_options(f, k);
        print_sizes(f, global, dimensions, 1);
        print_sizes(f, local, dimensions, 1);
        for (int i = 0; i < at->arguments; ++i) print_argument(f, at, i);
        fputc('\n', f);
        fflush(f);
    }
    return next->clEnqueueNDRangeKernel(q, k, dimensions, offset, global, local, n, waits, event);
}

static void note_wait(cl_bool blocks)
{
    FILE *f = blocks ? out() : NULL;
    if (f) fputs("wait\n", f);
    if (f) fflush(f);
}

static CL_API_ENTRY cl_int CL_API_CALL Finish(cl_command_queue q)
{
    note_wait(CL_TRUE);
    return next->clFinish(q);
}

static CL_API_ENTRY cl_int CL_API_CALL WaitForEvents(cl_uint n, const cl_event *events)
{
    note_wait(CL_TRUE);
    return next->clWaitForEvents(n, events);
}

static CL_API_ENTRY cl_int CL_API_CALL EnqueueReadBuffer(cl_command_queue q, cl_mem m,
                                                         cl_bool blocks, size_t at, size_t bytes,
                                                         void *to, cl_uint n,
                                                         const cl_event *waits, cl_event *event)
{
    note_wait(blocks);
    return next->clEnqueueReadBuffer(q, m, blocks, at, bytes, to, n, waits, event);
}

static CL_API_ENTRY void *CL_API_CALL EnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool blocks,
                                                       cl_map_flags flags, size_t at, size_t bytes,
                                                       cl_uint n, const cl_event *waits,
                                                       cl_event *event, cl_int *error)
{
    note_wait(blocks);
    return next->clEnqueueMapBuffer(q, m, blocks, flags, at, bytes, n, waits, event, error);
}

static cl_int replace_entries(void)
{
    layer.clCreateKernel = CreateKernel;
    layer.clSetKernelArg = SetKernelArg;
    layer.clEnqueueNDRangeKernel = EnqueueNDRangeKernel;
    layer.clFinish = Finish;
    layer.clWaitForEvents = WaitForEvents;
    layer.clEnqueueReadBuffer = EnqueueReadBuffer;
    layer.clEnqueueMapBuffer = EnqueueMapBuffer;
    return CL_SUCCESS;
}
