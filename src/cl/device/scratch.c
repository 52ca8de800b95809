/* SPDX-License-Identifier: MIT */
/*
 * Buffers and images that last from call to call. The least recently used image makes room. An
 * image that no call used for long is released: a network of another size may never use it again.
 */
#include "cl/device/scratch.h"

enum {
    IMAGES = 32,
    OLD = 256                   /* calls; a pass of a network has fewer */
};

typedef struct buffer {
    cl_mem mem;
    size_t bytes;
} buffer;

typedef struct image {
    cl_mem mem;
    size_t width, height;
    bool half, busy;
    unsigned long used;         /* the number of the call that used it last */
} image;

static buffer buffers[SLOT_COUNT];
static image images[IMAGES];
static unsigned long calls;    /* that ended */

void gemm_cl_release_slot(gemm_cl_slot slot)
{
    CL_RELEASE(clReleaseMemObject, buffers[slot].mem);
    buffers[slot].bytes = 0;
}

cl_mem gemm_cl_new_buffer(cl_mem_flags flags, size_t bytes, void *host)
{
    cl_mem mem;
    CL_MAKE(mem, clCreateBuffer(gemm_cl_opened()->context, flags, bytes, host, &error));
fail:
    return mem;
}

cl_mem gemm_cl_new_image(cl_mem_flags flags, size_t width, size_t height, bool half)
{
    const cl_image_format format = {CL_RGBA, half ? CL_HALF_FLOAT : CL_FLOAT};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
    cl_mem mem;
    CL_MAKE(mem, clCreateImage(gemm_cl_opened()->context, flags, &format, &desc, NULL, &error));
fail:
    return mem;
}

cl_mem gemm_cl_scratch(gemm_cl_slot slot, size_t bytes)
{
    buffer *b = &buffers[slot];
    if (b->bytes >= bytes) return b->mem;
    gemm_cl_release_slot(slot);
    b->mem = gemm_cl_new_buffer(CL_MEM_READ_WRITE, bytes, NULL);
    if (b->mem) b->bytes = bytes;
    return b->mem;
}

static bool is_like(const image *i, size_t width, size_t height, bool half)
{
    return i->mem && i->width == width && i->height == height && i->half == half;
}

/* A free image of this size and format, or the free image that was not used for the longest time,
   or NULL. */
static image *find_image(size_t width, size_t height, bool half)
{
    image *oldest = NULL;
    for (image *i = images; i < images + IMAGES; ++i) {
        if (i->busy) continue;
        if (is_like(i, width, height, half)) return i;
        if (!oldest || i->used < oldest->used) oldest = i;
    }
    return oldest;
}

cl_mem gemm_cl_image_get(size_t width, size_t height, bool half)
{
    image *i = find_image(width, height, half);
    if (!i) {
        gemm_cl_say("B needs more images than a call may use");
        return NULL;
    }
    if (!is_like(i, width, height, half)) {
        CL_RELEASE(clReleaseMemObject, i->mem);
        *i = (image){.mem = gemm_cl_new_image(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, width,
                                              height, half),
                     .width = width, .height = height, .half = half, .used = i->used};
        if (!i->mem) return NULL;
    }
    i->busy = true;
    i->used = calls;
    return i->mem;
}

void gemm_cl_images_done(void)
{
    for (image *i = images; i < images + IMAGES; ++i) i->busy = false;
}

void gemm_cl_release_old_images(void)
{
    ++calls;
    for (image *i = images; i < images + IMAGES; ++i) {
        if (!i->busy && calls - i->used > OLD) CL_RELEASE(clReleaseMemObject, i->mem);
    }
}

void gemm_cl_release_scratch(void)
{
    for (int i = 0; i < SLOT_COUNT; ++i) gemm_cl_release_slot((gemm_cl_slot)i);
    for (image *i = images; i < images + IMAGES; ++i) CL_RELEASE(clReleaseMemObject, i->mem);
}
