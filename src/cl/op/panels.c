/* SPDX-License-Identifier: MIT */
/*
 * B as images. Three ways, the cheapest one that works:
 *
 *   borrowed   the image is B's own buffer, where the device can do that and B is aligned
 *   the CPU    writes a B of its own memory straight into the image (only where memory is shared)
 *   cl_fill    the device copies B's buffer into the image
 */
#include "cl/op/panels.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int gemm_cl_cut_panels(const gemm_cl_device *d, const gemm_call *g, gemm_cl_panels *panels)
{
    const size_t pixels = d->traits.image_width;
    const int widest = pixels > 1 << 28 ? 1 << 30 : 4 * (int)pixels;
    const int highest = (int)d->traits.image_height / 4 * 4;
    const int across = ceil_div(g->N, widest), down = ceil_div(g->K, highest);
    /* A panel in the middle of B's buffer begins where an image may begin. */
    const int unit = 4 * max_int((int)d->base_alignment, 1);
    const int n_step = min_int((int)round_up((size_t)ceil_div(g->N, across), (size_t)unit), widest);
    const int k_step = min_int((int)round_up((size_t)ceil_div(g->K, down), 4), highest);
    *panels = (gemm_cl_panels){
        .list = calloc((size_t)across * (size_t)down, sizeof *panels->list),
        .down = ceil_div(g->K, k_step)};
    if (!panels->list) {
        gemm_cl_say("out of memory");
        return -1;
    }
    for (int n0 = 0; n0 < g->N; n0 += n_step) {
        for (int k0 = 0; k0 < g->K; k0 += k_step) {
            panels->list[panels->count++] = (gemm_cl_panel){
                .k0 = k0, .k = min_int(g->K - k0, k_step),
                .n0 = n0, .n = min_int(g->N - n0, n_step)};
        }
    }
    return 0;
}

static size_t first_of(const gemm_cl_matrix *b, const gemm_cl_panel *p)
{
    return b->first + (size_t)p->k0 * (size_t)b->rs + (size_t)p->n0 * (size_t)b->cs;
}

/* The bytes of B's buffer that the image covers: rows are whole, the gap behind the last one too.
   OpenCL makes no image of less. */
static cl_buffer_region region_of(const gemm_cl_matrix *b, const gemm_cl_panel *p)
{
    return (cl_buffer_region){first_of(b, p) * sizeof(float),
                              (size_t)p->k * (size_t)b->rs * sizeof(float)};
}

static bool goes_far_enough(cl_mem buffer, cl_buffer_region region)
{
    size_t bytes = 0;
    CL_TRY(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL));
fail:
    return region.origin + region.size <= bytes;
}

/* Whether the device can make an image of this part of B's buffer. */
static bool can_borrow(const gemm_cl_device *d, const gemm_cl_matrix *b, const gemm_cl_panel *p)
{
    const size_t first = first_of(b, p);
    return d->pitch_alignment && b->cs == 1 && first % 4 == 0 && b->rs % 4 == 0 &&
           b->rs / 4 % (int)d->pitch_alignment == 0 &&
           (!d->base_alignment || first / 4 % d->base_alignment == 0) &&
           goes_far_enough(b->mem, region_of(b, p));
}

int gemm_cl_image_ld(const gemm_cl_device *d, int columns)
{
    const size_t unit = 4 * (size_t)d->pitch_alignment;
    if (!unit || columns > INT_MAX / 2 || unit > INT_MAX / 2) return columns;
    return (int)round_up((size_t)columns, unit);
}

/* The image over B's own buffer, or NULL. */
static cl_mem borrow_image(const gemm_cl_device *d, const gemm_cl_matrix *b,
                           const gemm_cl_panel *p)
{
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_mem region = NULL, image = NULL;
    const cl_buffer_region where = region_of(b, p);
    if (where.origin)
        CL_MAKE(region, clCreateSubBuffer(b->mem, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION,
                                          &where, &error));
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = (size_t)ceil_div(p->n, 4),
                                .image_height = (size_t)p->k,
                                .image_row_pitch = (size_t)b->rs * sizeof(float),
                                .buffer = region ? region : b->mem};
    CL_MAKE(image, clCreateImage(d->context, CL_MEM_READ_ONLY, &format, &desc, NULL, &error));
fail:
    CL_RELEASE(clReleaseMemObject, region);     /* the image holds it */
    return image;
}

/* One row of an image: n columns that lie cs apart, and zeros to the end of the last pixel. */
static void write_row(float *to, const float *from, int n, size_t cs)
{
    if (cs == 1)
        memcpy(to, from, (size_t)n * sizeof(float));
    else
        for (int j = 0; j < n; ++j) to[j] = from[(size_t)j * cs];
    for (int j = n; j % 4; ++j) to[j] = 0.0f;
}

static int fill_by_cpu(const gemm_cl_work *w, const gemm_call *g, const gemm_cl_panel *p)
{
    const size_t origin[3] = {0}, region[3] = {(size_t)ceil_div(p->n, 4), (size_t)p->k, 1};
    const size_t rs = g->TB ? 1 : (size_t)g->ldb, cs = g->TB ? (size_t)g->ldb : 1;
    cl_command_queue queue = w->device->queue;
    size_t pitch;
    char *at;
    CL_MAKE(at, clEnqueueMapImage(queue, p->image, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, origin,
                                  region, &pitch, NULL, 0, NULL, NULL, &error));
    for (int k = 0; k < p->k; ++k) {
        const float *from = g->B + (size_t)(p->k0 + k) * rs + (size_t)p->n0 * cs;
        write_row((float *)(at + (size_t)k * pitch), from, p->n, cs);
    }
    CL_TRY(clEnqueueUnmapMemObject(queue, p->image, at, 0, NULL, NULL));
    return 0;
fail:
    return -1;
}

static int fill_by_device(gemm_cl_work *w, const gemm_cl_matrix *b, const gemm_cl_panel *p)
{
    const gemm_cl_program *fill = gemm_cl_need("cl_fill", w->row->half ? "-DHALF" : "");
    const gemm_cl_arguments args = GEMM_CL_ARGS(
        fill, .N = p->n, .B = b->mem, .b0 = first_of(b, p), .brs = b->rs, .bcs = b->cs,
        .image = p->image);
    if (!fill) return -1;
    return gemm_cl_launch_lines(w, fill, STAGE_PREPARE, &args, (size_t)ceil_div(p->n, 4),
                                (size_t)p->k, 1);
}

int gemm_cl_fill_panels(gemm_cl_work *w, const gemm_call *g, const gemm_cl_matrix *b,
                        gemm_cl_panels *panels)
{
    const size_t element = w->row->half ? 2 : sizeof(float);
    for (int i = 0; i < panels->count; ++i) {
        gemm_cl_panel *p = &panels->list[i];
        const bool borrow = b->mem && !w->row->half && can_borrow(w->device, b, p);
        p->image = borrow ? borrow_image(w->device, b, p) : NULL;
        p->borrowed = p->image != NULL;
        if (p->borrowed) continue;
        p->image = gemm_cl_image_get((size_t)ceil_div(p->n, 4), (size_t)p->k, w->row->half);
        if (!p->image || (b->mem ? fill_by_device(w, b, p) : fill_by_cpu(w, g, p))) return -1;
        /* What was uploaded before is counted already. */
        if (!b->mem || w->B.in_place) w->B.copied += (size_t)p->k * (size_t)p->n * element;
    }
    return 0;
}

void gemm_cl_empty_panels(gemm_cl_panels *panels)
{
    for (int i = 0; i < panels->count; ++i) {
        gemm_cl_panel *p = &panels->list[i];
        if (p->borrowed) CL_RELEASE(clReleaseMemObject, p->image);
        p->image = NULL;
        p->borrowed = false;
    }
    gemm_cl_images_done();
}
