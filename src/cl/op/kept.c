/* SPDX-License-Identifier: MIT */
/*
 * What the plan of a layer keeps on the device: its weights, scales and shifts, and its kernels.
 *
 * The weights are kept as the row takes them: as they are, packed, in 16 bits, or transformed by
 * Winograd's algorithm. For the last two the device converts an upload of the weights.
 */
#include "cl/op/kept.h"

#include "cl/device/pending.h"
#include "util/forked.h"

#include <stdatomic.h>
#include <stdlib.h>

static size_t weight_count(const conv_call *c)
{
    return (size_t)c->n * (size_t)gemm_conv_taps(c);
}

static size_t norm_bytes(const conv_call *c)
{
    return 2 * (size_t)c->n * sizeof(float);
}

float *gemm_cl_make_norm(const conv_call *c)
{
    const size_t n = (size_t)c->n;
    float *norm = malloc(norm_bytes(c));
    for (size_t i = 0; norm && i < n; ++i) {
        norm[i] = c->scale ? c->scale[i] : 1.0f;
        norm[n + i] = c->shift[i];
    }
    if (!norm) gemm_cl_say("out of memory");
    return norm;
}

/* ---- uploads ---- */

/* Waits, so the caller's memory is free at return. 0 or -1. */
static int upload(cl_mem to, const void *from, size_t bytes)
{
    ++gemm_cl_counters.waits;
    CL_TRY(clEnqueueWriteBuffer(gemm_cl_opened()->queue, to, CL_TRUE, 0, bytes, from, 0, NULL,
                                NULL));
    return 0;
fail:
    return -1;
}

/* A new buffer with this content. NULL: refused. */
static cl_mem upload_new(const void *from, size_t bytes)
{
    cl_mem mem = gemm_cl_new_buffer(CL_MEM_READ_ONLY, bytes, NULL);
    if (mem && upload(mem, from, bytes)) CL_RELEASE(clReleaseMemObject, mem);
    return mem;
}

/* The weights in scratch, for a kernel that converts them. NULL: refused. */
static cl_mem upload_scratch(const conv_call *c)
{
    const size_t bytes = weight_count(c) * sizeof(float);
    cl_mem mem = gemm_cl_scratch(SLOT_PACKED_B, bytes);
    return mem && upload(mem, c->weights, bytes) == 0 ? mem : NULL;
}

/* The weights in 16 bits, in a buffer of their own. NULL: refused. */
static cl_mem upload_half(gemm_cl_work *w, const conv_call *c)
{
    const gemm_cl_program *p = gemm_cl_need("cl_pack", "-DHALF");
    const int rows = c->n, cols = gemm_conv_taps(c);
    cl_mem half = NULL, from = p ? upload_scratch(c) : NULL;
    if (from) half = gemm_cl_new_buffer(CL_MEM_READ_WRITE, 2 * weight_count(c), NULL);
    if (!half) return NULL;
    const gemm_cl_arguments args = GEMM_CL_ARGS(pack, .rows = rows, .cols = cols, .in = from,
                                                .rs = cols, .cs = 1, .cols_out = cols, .out = half);
    if (gemm_cl_launch_lines(w, p, STAGE_PREPARE, &args, (size_t)cols, (size_t)rows, 1))
        CL_RELEASE(clReleaseMemObject, half);
    return half;
}

/* U, in a buffer of its own. NULL: refused. */
static cl_mem upload_transformed(gemm_cl_work *w, const conv_call *c, const gemm_cl_winograd *l)
{
    cl_mem U = NULL, from = upload_scratch(c);
    if (from) U = gemm_cl_new_buffer(CL_MEM_READ_WRITE, gemm_cl_winograd_bytes(l), NULL);
    if (U && gemm_cl_winograd_filters(l, w, from, 0, U)) CL_RELEASE(clReleaseMemObject, U);
    return U;
}

/* A new image with these rows, which the device narrows to 16 bits where the row has them. NULL:
   refused. */
static cl_mem upload_image(gemm_cl_work *w, const float *packed, const gemm_cl_packed *l)
{
    const bool half = w->row->half;
    const size_t pixels = l->width / 4, bytes = l->width * l->height * sizeof *packed;
    const gemm_cl_program *fill = gemm_cl_need("cl_fill", half ? "-DHALF" : "");
    cl_mem image, from = fill ? gemm_cl_scratch(SLOT_PACKED_B, bytes) : NULL;
    if (!from || upload(from, packed, bytes)) return NULL;
    image = gemm_cl_new_image(CL_MEM_READ_WRITE, pixels, l->height, half);
    if (!image) return NULL;
    const gemm_cl_arguments args = GEMM_CL_ARGS(fill, .N = (int)l->width, .B = from,
                                                .brs = (int)l->width, .bcs = 1, .image = image);
    if (gemm_cl_launch_lines(w, fill, STAGE_PREPARE, &args, pixels, l->height, 1))
        CL_RELEASE(clReleaseMemObject, image);
    return image;
}

/* The weights in tiles, in a buffer or an image of their own. NULL: refused. */
static cl_mem upload_packed(gemm_cl_work *w, const conv_call *c, const gemm_cl_packed *l)
{
    float *packed = gemm_cl_pack_weights(w->row, c, l);
    cl_mem mem = NULL;
    if (!packed) gemm_cl_say("out of memory");
    else if (w->row->texture) mem = upload_image(w, packed, l);
    else mem = upload_new(packed, l->width * l->height * sizeof *packed);
    free(packed);
    return mem;
}

/* The weights as the row takes them, in a buffer of their own. NULL: refused. */
static cl_mem upload_weights(gemm_cl_work *w, const conv_call *c, const gemm_cl_sizes *s)
{
    if (w->row->family->direct) return upload_packed(w, c, &s->packed);
    if (w->row->winograd) return upload_transformed(w, c, &s->winograd);
    if (w->row->half == GEMM_CL_HALF_SUMS) return upload_half(w, c);
    return upload_new(c->weights, weight_count(c) * sizeof(float));
}

/* ---- the plan ---- */

void gemm_cl_drop_kept(gemm_cl_kept *k)
{
    CL_RELEASE(clReleaseMemObject, k->weights);
    CL_RELEASE(clReleaseMemObject, k->norm);
    for (int i = 0; i < STAGES; ++i) gemm_cl_release_own(&k->kernels[i]);
    free(k);
}

static _Atomic(gemm_cl_kept *) dropped;     /* by plans, and not released yet */

static void after_fork(void)
{
    atomic_store(&dropped, NULL);
}
GEMM_IN_CHILD(after_fork)

/* Kernels in the queue keep what they still need. Layers may be smaller from now on, so V of
   Winograd's algorithm goes too. */
void gemm_cl_release_dropped(void)
{
    gemm_cl_kept *next, *k = atomic_exchange(&dropped, NULL);
    for (; k; k = next) {
        next = k->next;
        if (k->winograd) gemm_cl_release_slot(SLOT_PACKED_B);
        gemm_cl_drop_kept(k);
    }
}

/* The driver drops the plan. Nobody waits here for a compiler (cl/op/later.h). */
static void free_kept(void *data)
{
    gemm_cl_kept *k = data, *first = atomic_load(&dropped);
    if (gemm_cl_is_of_parent()) {
        free(data);
        return;
    }
    do k->next = first;
    while (!atomic_compare_exchange_weak(&dropped, &first, k));
    if (!gemm_cl_try_lock()) return;
    gemm_cl_release_dropped();
    gemm_cl_unlock();
}

gemm_cl_kept *gemm_cl_kept_of(const gemm_kept *plan)
{
    return gemm_kept_data(plan, free_kept);
}

/* The row that the weights are packed for. NULL: they are not. */
static const gemm_cl_row *packed_of(const gemm_cl_row *row)
{
    return row->family->direct || row->family->int8 || (row->winograd && row->depth) ? row : NULL;
}

/* m of the row of cl_winograd that the weights are transformed for. 0: they are not. */
static int transformed_of(const gemm_cl_row *row)
{
    return row->family->direct ? 0 : row->winograd;
}

/* Takes the weights, which may be NULL. NULL: refused. */
static gemm_cl_kept *make_for(const gemm_cl_row *row, cl_mem weights, const float *norm,
                              size_t bytes)
{
    gemm_cl_kept *k = calloc(1, sizeof *k);
    if (!k) {
        CL_RELEASE(clReleaseMemObject, weights);
        return NULL;
    }
    *k = (gemm_cl_kept){.winograd = transformed_of(row), .packed = packed_of(row),
                        .weights = weights, .norm = weights ? upload_new(norm, bytes) : NULL};
    if (k->norm) return k;
    gemm_cl_drop_kept(k);
    return NULL;
}

static gemm_cl_kept *make(gemm_cl_work *w, const conv_call *c, const gemm_cl_sizes *s)
{
    float *norm = gemm_cl_make_norm(c);
    gemm_cl_kept *k = norm ? make_for(w->row, upload_weights(w, c, s), norm, norm_bytes(c)) : NULL;
    free(norm);
    return k;
}

size_t gemm_cl_kept_bytes(const gemm_cl_row *row, const conv_call *c, const gemm_cl_sizes *s)
{
    const bool half = row->half == GEMM_CL_HALF_SUMS || (row->texture && row->half);
    const size_t weights =
        row->family->direct ? s->packed.width * s->packed.height : weight_count(c);
    if (transformed_of(row)) return gemm_cl_winograd_bytes(&s->winograd) + norm_bytes(c);
    return weights * (half ? 2 : sizeof(float)) + norm_bytes(c);
}

/* GEMM_CONV may have changed since the plan was made, or a program was left out: drops what another
   algorithm kept, or another row. */
static void drop_other(const gemm_cl_row *row, gemm_kept *plan)
{
    gemm_cl_kept *k = gemm_cl_kept_of(plan);
    if (!k) gemm_drop_kept(plan);
    if (!k || (k->winograd == transformed_of(row) && k->packed == packed_of(row))) return;
    gemm_cl_drop_kept(k);
    plan->data = NULL;
    plan->bytes = 0;
}

gemm_cl_kept *gemm_cl_keep(gemm_cl_work *w, const conv_call *c, const gemm_cl_sizes *s,
                           gemm_kept *plan)
{
    if (!plan) return NULL;
    const size_t bytes = gemm_cl_kept_bytes(w->row, c, s);
    gemm_cl_release_dropped();
    drop_other(w->row, plan);
    if (!plan->data && bytes > plan->room) return NULL;
    if (!plan->data && (plan->data = make(w, c, s))) {
        plan->bytes = bytes;
        plan->free = free_kept;
        plan->lent = false;
        w->A.copied = weight_count(c) * sizeof(float);
        w->B.copied = norm_bytes(c);
    }
    gemm_cl_kept *k = plan->data;
    if (k) w->own = k->kernels;
    return k;
}

/* ---- layers in 8 bits ---- */

gemm_cl_kept *gemm_cl_kept_quads(const gemm_cl_row *row, const gemm_kept *plan)
{
    gemm_cl_kept *k = gemm_cl_kept_of(plan);
    return k && k->packed == row ? k : NULL;
}

gemm_cl_kept *gemm_cl_keep_quads(const gemm_cl_row *row, gemm_kept *plan, const void *quads,
                                 size_t bytes, const float *norm, size_t norms, bool *own)
{
    const size_t more = norms * sizeof *norm;
    gemm_cl_kept *k = make_for(row, upload_new(quads, bytes), norm, more);
    *own = k && (!plan || bytes + more > plan->room);
    if (!k || *own) return k;
    drop_other(row, plan);
    plan->data = k;
    plan->bytes = bytes + more;
    plan->free = free_kept;
    return k;
}
