/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL device of this process. There is one, and one call uses it at a time.
 *
 * For the OpenCL files only. Their functions are called with gemm_cl_lock held.
 */
#ifndef GEMM_CL_DEVICE_H
#define GEMM_CL_DEVICE_H

#include "cl/choice.h"
#include "cl/configure.h"
#include "cl/device/error.h"
#include "cl/device/loader.h"

typedef struct gemm_cl_device {
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;     /* copies, kernels and the CPU's access, in order */
    bool timed;                 /* events of `queue` have times */
    cl_command_queue other;     /* the queue of the other kind; NULL: it was not needed so far */
    gemm_cl_traits traits;
    char *name, *driver;        /* the name with an Adreno's model; the driver's version */
    size_t group_items, item_sizes[3];      /* the most of a work-group */
    cl_uint pitch_alignment;    /* pixels; 0: the device makes no image from a buffer */
    cl_uint base_alignment;     /* pixels, of such an image's first one */
    cl_ulong memory;            /* bytes */
    bool has_perf_hint;         /* a context may ask for the high clock */
} gemm_cl_device;

void gemm_cl_lock(void);
bool gemm_cl_try_lock(void);
void gemm_cl_unlock(void);

/* What the driver said by gemm_cl_configure. */
const gemm_cl_configuration *gemm_cl_settings(void);

/* The device of GEMM_CL_DEVICE, or NULL and the reason. The first call opens it. */
const gemm_cl_device *gemm_cl_open_device(const char **why);

/* The open device, or NULL. Never opens it. */
const gemm_cl_device *gemm_cl_opened(void);

/* Exchanges `queue` and `other`: one has events with times, and launches of the other one cost
   less. `queue` must have finished. Nothing changes where the other queue cannot be made. */
void gemm_cl_swap_queue(void);

/* Closes the device for good. From then on gemm_cl_open_device gives this reason, a text that lives
   as long as the program. All that was made on the device must be released before. */
void gemm_cl_close_device(const char *why);

#endif
