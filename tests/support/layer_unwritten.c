/*
 * An OpenCL layer (OPENCL_LAYERS=layer_unwritten.so) that makes two faults visible in the result:
 * a kernel that reads what nothing has written, and one that does not wait for an upload.
 *
 *   - A new buffer or image is full of NaN.
 *   - A write that does not block happens 10 ms later. A kernel that does not wait reads NaN.
 *     When the caller changes the source too early, the changed data arrive.
 */
#define LAYER_NAME "late writes, memory full of NaN"
#include "layer.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LATE_NS = 10000000, MOST_WAITS = 16 };

/* ---- late writes ---------------------------------------------------------------------------- */

static void *open_gate(void *gate)
{
    const struct timespec late = {.tv_nsec = LATE_NS};
    nanosleep(&late, NULL);
    next->clSetUserEventStatus(gate, CL_COMPLETE);
    next->clReleaseEvent(gate);
    return NULL;
}

/* An event that becomes complete later, or NULL. */
static cl_event make_gate(cl_command_queue queue)
{
    cl_context context;
    cl_int error;
    if (next->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL))
        return NULL;
    cl_event gate = next->clCreateUserEvent(context, &error);
    pthread_t thread;
    if (!gate || next->clRetainEvent(gate)) return NULL;
    if (pthread_create(&thread, NULL, open_gate, gate)) abort();
    pthread_detach(thread);
    return gate;
}

static CL_API_ENTRY cl_int CL_API_CALL EnqueueWriteBuffer(
    cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t bytes,
    const void *from, cl_uint n, const cl_event *waits, cl_event *event)
{
    cl_event all[MOST_WAITS];
    if (blocking)
        return next->clEnqueueWriteBuffer(queue, mem, CL_TRUE, offset, bytes, from, n, waits,
                                          event);
    if (n >= MOST_WAITS) return CL_OUT_OF_RESOURCES;
    if (n) memcpy(all, waits, n * sizeof *waits);
    if (!(all[n] = make_gate(queue))) return CL_OUT_OF_HOST_MEMORY;
    const cl_int rc = next->clEnqueueWriteBuffer(queue, mem, CL_FALSE, offset, bytes, from, n + 1,
                                                 all, event);
    next->clReleaseEvent(all[n]);
    return rc;
}

/* ---- memory full of NaN --------------------------------------------------------------------- */

static const float nan4[4] = {NAN, NAN, NAN, NAN};

/* Fills the buffer, or the image when there is a region of it. */
static cl_int fill(cl_context context, cl_mem mem, size_t bytes, const size_t *region)
{
    const size_t origin[3] = {0};
    cl_device_id device;
    const size_t whole = bytes / sizeof nan4[0] * sizeof nan4[0];
    cl_int error = next->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device,
                                          NULL);
    if (error) return error;
    cl_command_queue queue = next->clCreateCommandQueue(context, device, 0, &error);
    if (!queue) return error;
    error = region ? next->clEnqueueFillImage(queue, mem, nan4, origin, region, 0, NULL, NULL)
                   : next->clEnqueueFillBuffer(queue, mem, nan4, sizeof nan4[0], 0, whole, 0, NULL,
                                               NULL);
    if (!error) error = next->clFinish(queue);
    next->clReleaseCommandQueue(queue);
    return error;
}

static cl_mem filled(cl_context context, cl_mem mem, size_t bytes, const size_t *region,
                     cl_int *error)
{
    const cl_int failed = fill(context, mem, bytes, region);
    if (!failed) return mem;
    fprintf(stderr, "layer_unwritten: memory could not be filled: error %d\n", failed);
    next->clReleaseMemObject(mem);
    if (error) *error = failed;
    return NULL;
}

static CL_API_ENTRY cl_mem CL_API_CALL CreateBuffer(cl_context context, cl_mem_flags flags,
                                                    size_t bytes, void *host, cl_int *error)
{
    cl_mem buffer = next->clCreateBuffer(context, flags, bytes, host, error);
    return buffer && !host ? filled(context, buffer, bytes, NULL, error) : buffer;
}

static CL_API_ENTRY cl_mem CL_API_CALL CreateImage(cl_context context, cl_mem_flags flags,
                                                   const cl_image_format *format,
                                                   const cl_image_desc *desc, void *host,
                                                   cl_int *error)
{
    const size_t region[3] = {desc->image_width, desc->image_height, 1};
    cl_mem image = next->clCreateImage(context, flags, format, desc, host, error);
    return image && !host && !desc->buffer ? filled(context, image, 0, region, error) : image;
}

/* ---- the loader's side ---------------------------------------------------------------------- */

static cl_int replace_entries(void)
{
    layer.clEnqueueWriteBuffer = EnqueueWriteBuffer;
    layer.clCreateBuffer = CreateBuffer;
    layer.clCreateImage = CreateImage;
    return CL_SUCCESS;
}
