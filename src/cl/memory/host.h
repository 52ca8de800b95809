/* SPDX-License-Identifier: MIT */
/*
 * Memory that the device's driver allocates and the CPU uses: blocks of gemm_cl_alloc. While the
 * device works on a block, the block is unmapped, and the CPU must not touch it.
 *
 * For the OpenCL files only; called with gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_HOST_H
#define GEMM_CL_HOST_H

#include "cl/device/device.h"

typedef struct gemm_cl_host_block {
    struct gemm_cl_host_block *next;
    cl_mem mem;
    char *base;                 /* where the CPU sees it */
    bool stays;                 /* that is the same place at every map */
    size_t bytes;
    cl_command_queue queue;
    char *asked;                /* what a map that is in the queue returned, or NULL */
    void *pages;                /* memory of the system that the driver was given, or NULL */
    bool mapped;                /* the CPU may use it */
    bool wanted;                /* unmapped: the next wait gives it to the CPU */
    cl_mem copy;                /* memory of the device, of copy_bytes, or NULL: cl/memory/left.h */
    size_t copy_bytes, from, length;    /* its first `length` bytes are those at base + from */
    bool held;                  /* they are right */
    bool newer;                 /* and the CPU's are out of date */
} gemm_cl_host_block;

/* A new block of zeroed memory, mapped. NULL when the driver has none that stays in place. */
gemm_cl_host_block *gemm_cl_new_block(size_t bytes);

/* The same for a block that may lie elsewhere after each map. */
gemm_cl_host_block *gemm_cl_new_stage(size_t bytes);

/* What takes the place of the driver's memory on a device that moves it, for the trace: "host-ptr"
   or "copies". NULL: it stays, as far as is known. */
const char *gemm_cl_moved_memory(void);

/* The block that a pointer lies in, or NULL. */
gemm_cl_host_block *gemm_cl_block_of(const void *);

/* The first of all blocks, or NULL. */
gemm_cl_host_block *gemm_cl_blocks(void);

/* Frees a block, once the device is done with it. */
void gemm_cl_drop_block(gemm_cl_host_block *);

/* Gives a block to the device; behind all that is in the queue. 0 or -1. */
int gemm_cl_unmap_block(gemm_cl_host_block *);

/* Gives a block to the CPU and waits for the device. 0 or -1. */
int gemm_cl_map_block(gemm_cl_host_block *);

/* What the block's copy holds is out of date. It may be NULL. */
void gemm_cl_forget_copy(gemm_cl_host_block *);

/* Enqueues maps of all blocks that are wanted. When the queue has finished, gemm_cl_take_blocks
   makes them the CPU's. A block whose map failed stays unmapped. */
void gemm_cl_ask_for_blocks(void);
void gemm_cl_take_blocks(void);

/* The device has another queue: blocks follow. */
void gemm_cl_move_blocks(void);

/* Ends a mapping for good. A failure is said, and the caller releases the object all the same. */
void gemm_cl_end_mapping(cl_command_queue, cl_mem, void *at);

#endif
