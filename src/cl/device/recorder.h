/* SPDX-License-Identifier: MIT */
/*
 * Launches that the driver records once and enqueues again by one call. For the OpenCL files only;
 * called with gemm_cl_lock held, while the device is open.
 *
 *   cl_qcom_recordable_queues    launches on a queue of its own kind are recorded, not run. The
 *                                device says how many a recording can have
 *   cl_khr_command_buffer        the calls that are used here have one form from version 0.9 on
 *
 * A driver that refused once is not asked again in this process. Drivers are known that end the
 * process, so a note on disk says that the first recording is being tried (cl/device/cache.h).
 *
 * Source: the specifications of both extensions.
 */
#ifndef GEMM_CL_RECORDER_H
#define GEMM_CL_RECORDER_H

#include "cl/device/device.h"

/* A launch. The kernel has its arguments, and nobody sets them again: PoCL 3.1 reads them when the
   recording is enqueued, although they should count as they were when it was made. */
typedef struct gemm_cl_fixed {
    cl_kernel kernel;
    size_t global[3], local[3];
} gemm_cl_fixed;

typedef struct gemm_cl_recorded gemm_cl_recorded;

/* Whether launches shall be recorded, and can be. */
bool gemm_cl_can_record(void);

/* What the driver recorded of these launches, which run in this order. There is a recording for
   each part of them, so that the device begins before the CPU came to the last launch. NULL: the
   driver refused. */
gemm_cl_recorded *gemm_cl_record(const gemm_cl_fixed *, size_t count);

/* The launches of a part; the last one may have fewer. */
size_t gemm_cl_part_of(const gemm_cl_recorded *);

/* Enqueues a part behind all that is in the queue, and sends it. 0, or -1: refused. */
int gemm_cl_enqueue_recorded(const gemm_cl_recorded *, size_t part);

/* Releases it, which may be NULL, once the queue is done with it. */
void gemm_cl_release_recorded(gemm_cl_recorded *);

/* The device is about to be closed. */
void gemm_cl_end_recorder(void);

#endif
