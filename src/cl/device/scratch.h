/* SPDX-License-Identifier: MIT */
/*
 * Buffers and images that last from call to call. For the OpenCL files only; called with
 * gemm_cl_lock held, while the device is open.
 */
#ifndef GEMM_CL_SCRATCH_H
#define GEMM_CL_SCRATCH_H

#include "cl/device/device.h"

typedef enum gemm_cl_slot {
    SLOT_A, SLOT_B, SLOT_C,     /* a matrix of the caller as the memory policy copies it */
    SLOT_SECOND,                /* the second input of a shortcut, likewise */
    SLOT_PACKED_A,              /* A as cl_pack writes it; U of a call without a plan */
    SLOT_PACKED_B,              /* B as cl_pack writes it; V; weights that a plan is made from */
    SLOT_PARTS,                 /* parts of K that cl_sum adds */
    SLOT_NORM,                  /* scales and shifts of a call without a plan */
    SLOT_TRIAL,                 /* operands of a trial, */
    SLOT_TRIAL_A = SLOT_TRIAL, SLOT_TRIAL_B, SLOT_TRIAL_C, SLOT_TRIAL_NORM, SLOT_TRIAL_MORE,
    SLOT_INNER,                 /* and the same of one that runs inside of another trial */
    SLOT_INNER_LAST = SLOT_INNER + SLOT_TRIAL_MORE - SLOT_TRIAL,
    SLOT_COUNT
} gemm_cl_slot;

/* A buffer of the caller's own, over `host` where that is not NULL, and an image of RGBA float, or
   half-float with `half`. NULL: refused. */
cl_mem gemm_cl_new_buffer(cl_mem_flags, size_t bytes, void *host);
cl_mem gemm_cl_new_image(cl_mem_flags, size_t width, size_t height, bool half);

/* A buffer of at least these bytes, which lasts until the slot is asked for more. NULL: refused. */
cl_mem gemm_cl_scratch(gemm_cl_slot, size_t bytes);

/* Such an image that no other panel of this call uses, of so many pixels. NULL: refused. */
cl_mem gemm_cl_image_get(size_t width, size_t height, bool half);

/* The panels are done: all images may be used again. */
void gemm_cl_images_done(void);

/* A call is over. Releases the images that 256 calls did not use. */
void gemm_cl_release_old_images(void);

/* Gives a slot's buffer back, when what needs a large one may be gone. */
void gemm_cl_release_slot(gemm_cl_slot);

void gemm_cl_release_scratch(void);

#endif
