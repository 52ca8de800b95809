/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_unwritten.so) that makes three faults visible: a kernel that
 * reads what nothing has written, one that does not wait for an upload, and one that leaves an
 * image at its right edge.
 *
 *   - A new buffer or image is full of NaN.
 *   - A write that does not block happens 10 ms later. A kernel that does not wait reads NaN.
 *     When the caller changes the source too early, the changed data arrive.
 *   - An image has MARGIN more columns than the caller knows of, as many as the longest group has
 *     items. A read there gives NaN. A write there ends the program when the image is released.
 *     Without the layer both are undefined, and PoCL ignores the write.
 */
#define LAYER_NAME "late writes, memory full of NaN, wider images"
#include "layer.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LATE_NS = 10000000, MOST_WAITS = 16, MARGIN = 64, IMAGES = 64 };

/* ---- late writes ---- */

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

/* A gate for a write, behind the caller's events. `all` has MOST_WAITS places. */
static cl_int add_gate(cl_command_queue queue, cl_uint n, const cl_event *waits, cl_event *all)
{
    if (n >= MOST_WAITS) return CL_OUT_OF_RESOURCES;
    if (n) memcpy(all, waits, n * sizeof *waits);
    return (all[n] = make_gate(queue)) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

static CL_API_ENTRY cl_int CL_API_CALL EnqueueWriteBuffer(
    cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t bytes,
    const void *from, cl_uint n, const cl_event *waits, cl_event *event)
{
    cl_event all[MOST_WAITS];
    if (blocking)
        return next->clEnqueueWriteBuffer(queue, mem, CL_TRUE, offset, bytes, from, n, waits,
                                          event);
    const cl_int failed = add_gate(queue, n, waits, all);
    if (failed) return failed;
    const cl_int rc = next->clEnqueueWriteBuffer(queue, mem, CL_FALSE, offset, bytes, from, n + 1,
                                                 all, event);
    next->clReleaseEvent(all[n]);
    return rc;
}

/* Nobody here waits for a write of a rectangle at once. */
static CL_API_ENTRY cl_int CL_API_CALL EnqueueWriteBufferRect(
    cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *to, const size_t *from,
    const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice,
    const void *host, cl_uint n, const cl_event *waits, cl_event *event)
{
    cl_event all[MOST_WAITS];
    const cl_int failed = blocking ? CL_INVALID_OPERATION : add_gate(queue, n, waits, all);
    if (failed) return failed;
    const cl_int rc = next->clEnqueueWriteBufferRect(queue, mem, CL_FALSE, to, from, region, row,
                                                     slice, host_row, host_slice, host, n + 1, all,
                                                     event);
    next->clReleaseEvent(all[n]);
    return rc;
}

/* ---- memory full of NaN ---- */

static const float nan4[4] = {NAN, NAN, NAN, NAN};

static cl_command_queue make_queue(cl_context context, cl_int *error)
{
    cl_device_id device;
    *error = next->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL);
    return *error ? NULL : next->clCreateCommandQueue(context, device, 0, error);
}

/* Fills the buffer, or the image when there is a region of it. */
static cl_int fill(cl_context context, cl_mem mem, size_t bytes, const size_t *region)
{
    const size_t origin[3] = {0};
    const size_t whole = bytes / sizeof nan4[0] * sizeof nan4[0];
    cl_int error;
    cl_command_queue queue = make_queue(context, &error);
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

/* ---- wider images ---- */

/* The images of RGBA that have a margin, and their widths without it. */
static struct { cl_mem mem; cl_context context; size_t width, height; bool half; } images[IMAGES];
static pthread_mutex_t images_lock = PTHREAD_MUTEX_INITIALIZER;

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceInfo(cl_device_id d, cl_device_info info,
                                                     size_t size, void *value, size_t *size_ret)
{
    const cl_int rc = next->clGetDeviceInfo(d, info, size, value, size_ret);
    if (!rc && value && info == CL_DEVICE_IMAGE2D_MAX_WIDTH) *(size_t *)value -= MARGIN;
    return rc;
}

static CL_API_ENTRY cl_mem CL_API_CALL CreateImage(cl_context context, cl_mem_flags flags,
                                                   const cl_image_format *format,
                                                   const cl_image_desc *desc, void *host,
                                                   cl_int *error)
{
    if (host || desc->buffer) return next->clCreateImage(context, flags, format, desc, host, error);
    cl_image_desc wide = *desc;
    wide.image_width += MARGIN;
    const size_t region[3] = {wide.image_width, wide.image_height, 1};
    cl_mem image = next->clCreateImage(context, flags, format, &wide, NULL, error);
    if (!image || !(image = filled(context, image, 0, region, error))) return NULL;
    pthread_mutex_lock(&images_lock);
    int i = 0;
    while (i < IMAGES && images[i].mem) ++i;
    if (i == IMAGES) abort();
    images[i].mem = image;
    images[i].context = context;
    images[i].width = desc->image_width;
    images[i].height = desc->image_height;
    images[i].half = format->image_channel_data_type == CL_HALF_FLOAT;
    pthread_mutex_unlock(&images_lock);
    return image;
}

static bool is_nan(const void *number, bool half)
{
    uint16_t bits;
    float value;
    memcpy(&bits, number, sizeof bits);
    if (half) return (bits & 0x7fff) > 0x7c00;
    memcpy(&value, number, sizeof value);
    return isnan(value);
}

/* Ends the program if the margin of images[i] has anything but NaN. */
static void check_margin(int i)
{
    const size_t origin[3] = {images[i].width}, region[3] = {MARGIN, images[i].height, 1};
    const size_t bytes = images[i].half ? 2 : 4, numbers = images[i].height * MARGIN * 4;
    char *margin = malloc(numbers * bytes);
    cl_int error;
    cl_command_queue queue = make_queue(images[i].context, &error);
    if (!queue || !margin || next->clEnqueueReadImage(queue, images[i].mem, CL_TRUE, origin, region,
                                                      0, 0, margin, 0, NULL, NULL))
        abort();
    for (size_t n = 0; n < numbers; ++n) {
        if (is_nan(margin + n * bytes, images[i].half)) continue;
        fprintf(stderr, "layer_unwritten: a kernel wrote pixel (%zu, %zu) of an image of %zux%zu\n",
                images[i].width + n / 4 % MARGIN, n / 4 / MARGIN, images[i].width,
                images[i].height);
        _exit(3);
    }
    free(margin);
    next->clReleaseCommandQueue(queue);
}

/* An image has one owner here, so its first release is the last. */
static CL_API_ENTRY cl_int CL_API_CALL ReleaseMemObject(cl_mem mem)
{
    pthread_mutex_lock(&images_lock);
    for (int i = 0; i < IMAGES; ++i) {
        if (!mem || images[i].mem != mem) continue;
        check_margin(i);
        images[i].mem = NULL;
    }
    pthread_mutex_unlock(&images_lock);
    return next->clReleaseMemObject(mem);
}

/* ---- the loader's side ---- */

static cl_int replace_entries(void)
{
    layer.clEnqueueWriteBuffer = EnqueueWriteBuffer;
    layer.clEnqueueWriteBufferRect = EnqueueWriteBufferRect;
    layer.clGetDeviceInfo = GetDeviceInfo;
    layer.clCreateBuffer = CreateBuffer;
    layer.clCreateImage = CreateImage;
    layer.clReleaseMemObject = ReleaseMemObject;
    return CL_SUCCESS;
}
