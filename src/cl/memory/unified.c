/* SPDX-License-Identifier: MIT */
/*
 * The memory policy for devices that share their memory with the CPU: Adreno, and PoCL.
 *
 *   blocks of gemm_cl_alloc:  unmapped, used in place, mapped again; not a byte is copied
 *   any other memory:         the CPU copies A and B into such blocks, and adds the result to C
 *   a call with `beside`:     blocks are treated as other memory. They stay mapped, so the CPU may
 *                             read and write them while the device works
 *
 * The maps of all that the CPU gets back are enqueued behind the kernels, and one wait serves all.
 * A call that does not wait leaves its blocks unmapped.
 *
 * Source: Shimanskiy: Matrix Multiply on Adreno GPUs, part 1 (2016).
 */
#include "cl/device/pending.h"
#include "cl/memory/left.h"
#include "cl/memory/memory.h"

static gemm_cl_host_block *stages[SLOT_COUNT];

static bool use_in_place(gemm_cl_view *v)
{
    v->block = gemm_cl_block_of(v->host);
    if (v->block && (v->beside || v->block->newer) && gemm_cl_block_to_cpu(v->block)) return false;
    if (v->beside) v->block = NULL;
    if (!v->block || gemm_cl_unmap_block(v->block)) return false;
    v->block->wanted = !v->later;
    v->mem = v->block->mem;
    v->offset = (size_t)((char *)v->host - v->block->base) / sizeof(float);
    v->device_ld = v->ld;
    v->in_place = true;
    return true;
}

/* The block that the CPU copies an input of this slot into. Waits when the device still reads what
   was copied there before. NULL: none can be had. */
static gemm_cl_host_block *need_stage(gemm_cl_slot slot, size_t bytes)
{
    gemm_cl_host_block **b = &stages[slot];
    if (*b && (*b)->bytes < bytes) {
        gemm_cl_drop_block(*b);
        *b = NULL;
    }
    if (!*b) *b = gemm_cl_new_stage(bytes);
    if (!*b || gemm_cl_map_block(*b)) return NULL;
    (*b)->wanted = true;
    return *b;
}

/* The caller's memory may change as soon as the call returns. So the CPU copies it now. */
static int input(gemm_cl_view *v, gemm_cl_slot slot)
{
    if (use_in_place(v)) return 0;
    if (v->block) return -1;
    const size_t bytes = gemm_cl_view_bytes(v);
    gemm_cl_host_block *stage = need_stage(slot, bytes);
    if (!stage) return -1;
    gemm_cl_gather_rows((float *)stage->base, v, 0, v->rows);
    if (gemm_cl_unmap_block(stage)) return -1;
    v->mem = stage->mem;
    v->device_ld = v->cols;
    v->copied = bytes;
    return 0;
}

static int output(gemm_cl_view *c)
{
    if (use_in_place(c)) return 0;
    return c->block ? -1 : gemm_cl_output_copy(c);
}

static int ask(gemm_cl_view *c)
{
    cl_command_queue queue = gemm_cl_opened()->queue;
    if (!c->in_place)
        CL_MAKE(c->arrived, clEnqueueMapBuffer(queue, c->mem, CL_FALSE, CL_MAP_READ, 0,
                                               gemm_cl_view_bytes(c), 0, NULL, &c->arrival,
                                               &error));
    gemm_cl_ask_for_blocks();
    CL_TRY(clFlush(queue));
    return 0;
fail:
    return -1;
}

static void leave(const gemm_cl_view *c)
{
    (void)c;
    gemm_cl_mark_left();
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

const gemm_cl_policy gemm_cl_unified = {true, input, output, ask, leave, close_view};

void gemm_cl_release_unified(void)
{
    for (int i = 0; i < SLOT_COUNT; ++i) {
        if (stages[i]) gemm_cl_drop_block(stages[i]);
        stages[i] = NULL;
    }
}
