/* SPDX-License-Identifier: MIT */
/*
 * What calls leave on the device: outputs that the CPU has not got yet. For the OpenCL files only;
 * called with gemm_cl_lock held, while the device is open.
 *
 *   unified memory    the block stays unmapped
 *   discrete memory   the block has a copy on the device, which holds the bytes of one output. The
 *                     copy lasts until the block is freed, or until the device is short of memory
 *
 * gemm_cl_give_to_cpu (cl/configure.h) is the way back.
 */
#ifndef GEMM_CL_LEFT_H
#define GEMM_CL_LEFT_H

#include "cl/memory/view.h"

/* From now on gemm_cl_give_to_cpu has something to do. */
void gemm_cl_mark_left(void);

/* Whether an output may be left: it lies in one block. */
bool gemm_cl_may_stay(const void *data, size_t bytes);

/* Makes the block, which may be NULL, the CPU's in whatever way the device has it. Waits where it
   has to. 0 or -1. */
int gemm_cl_block_to_cpu(gemm_cl_host_block *);

/* The same for all blocks. What cannot be brought stays where it is. */
void gemm_cl_bring_all(void);

/* Points the view into the copy of its block, if the copy holds the view's bytes. */
bool gemm_cl_use_copy(gemm_cl_view *);

/* Points an output into the copy of its block, which is made where it is missing or too small. 0 or
   -1. */
int gemm_cl_need_copy(gemm_cl_view *);

/* The device has written the output: the copy holds it, and the CPU does not. */
void gemm_cl_leave_copy(const gemm_cl_view *);

#endif
