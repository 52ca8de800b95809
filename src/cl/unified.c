/*
 * The memory policy for devices that share their memory with the CPU: Adreno, and PoCL.
 *
 *   blocks of gemm_cl_alloc:  unmapped, used in place, mapped again; not a byte is copied
 *   any other memory:         A and B are copied into buffers; the CPU adds the result to C
 *   a call with `beside`:     blocks are treated as other memory. They stay mapped, so the CPU may
 *                             read and write them while the device works
 *
 * The maps of all that the CPU gets back are enqueued behind the kernels, and one wait serves all.
 *
 * Source: Shimanskiy: Matrix Multiply on Adreno GPUs, part 1 (2016).
 */
#include "cl/memory.h"

static bool use_in_place(gemm_cl_view *v)
{
    v->block = v->beside ? NULL : gemm_cl_block_of(v->host);
    if (!v->block || gemm_cl_unmap_block(v->block)) return false;
    v->mem = v->block->mem;
    v->offset = (size_t)((char *)v->host - v->block->base) / sizeof(float);
    v->device_ld = v->ld;
    v->in_place = true;
    return true;
}

/* Copies v into its buffer through a mapping, because rows with gaps need it. */
static int copy_rows(const gemm_cl_view *v, size_t bytes)
{
    cl_command_queue queue = gemm_cl_opened()->queue;
    float *at;
    CL_MAKE(at, clEnqueueMapBuffer(queue, v->mem, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, bytes,
                                   0, NULL, NULL, &error));
    gemm_cl_gather_rows(at, v, 0, v->rows);
    CL_TRY(clEnqueueUnmapMemObject(queue, v->mem, at, 0, NULL, NULL));
    return 0;
fail:
    return -1;
}

static int input(gemm_cl_view *v, gemm_cl_slot slot)
{
    if (use_in_place(v)) return 0;
    const size_t bytes = v->rows * v->cols * sizeof(float);
    if (v->block || !(v->mem = gemm_cl_scratch(slot, bytes))) return -1;
    v->device_ld = v->cols;
    v->copied = bytes;
    if (v->ld != v->cols) return copy_rows(v, bytes);
    /* No wait here, because the caller's memory does not change before the call ends. */
    CL_TRY(clEnqueueWriteBuffer(gemm_cl_opened()->queue, v->mem, CL_FALSE, 0, bytes, v->host, 0,
                                NULL, NULL));
    return 0;
fail:
    return -1;
}

static int output(gemm_cl_view *c)
{
    if (use_in_place(c)) return 0;
    return c->block ? -1 : gemm_cl_output_beside(c);
}

static int ask(gemm_cl_view *c)
{
    cl_command_queue queue = gemm_cl_opened()->queue;
    const size_t bytes = c->rows * c->cols * sizeof(float);
    if (!c->in_place)
        CL_MAKE(c->arrived, clEnqueueMapBuffer(queue, c->mem, CL_FALSE, CL_MAP_READ, 0, bytes, 0,
                                               NULL, &c->arrival, &error));
    gemm_cl_ask_for_blocks();
    CL_TRY(clFlush(queue));
    return 0;
fail:
    return -1;
}

static int take(gemm_cl_view *c)
{
    CL_TRY(clFinish(gemm_cl_opened()->queue));
    gemm_cl_take_blocks();
    if (gemm_cl_check_launch(c)) goto fail;
    if (c->in_place) return 0;
    gemm_cl_take_rows(c, c->arrived);
    c->copied = c->rows * c->cols * sizeof(float);
    return 0;
fail:
    return -1;
}

static int close_view(gemm_cl_view *v)
{
    CL_RELEASE(clReleaseEvent, v->arrival);
    /* C is right by now: a failure of this is said and changes nothing. */
    if (v->arrived)
        CL_TRY(clEnqueueUnmapMemObject(gemm_cl_opened()->queue, v->mem, v->arrived, 0, NULL, NULL));
fail:
    v->arrived = NULL;
    return v->block ? gemm_cl_map_block(v->block) : 0;
}

const gemm_cl_policy gemm_cl_unified = {true, input, output, ask, take, close_view};
