/* SPDX-License-Identifier: MIT */
/*
 * Sequences of launches that come again and again, as the passes of a network that stands. For the
 * OpenCL files only; called with gemm_cl_lock held, while the device is open.
 *
 * A sequence begins and ends where anything but a launch goes to the queue (a map, a copy, a wait;
 * cl/device/loader.h), or a launch with an event, or one of a call that waits. A pass whose layers
 * all stay on the device is one sequence. One that came twice is recorded (cl/device/recorder.h),
 * with kernel objects of its own.
 *
 * When its first launch comes again, launches are not enqueued one by one, as long as each is that
 * of the sequence: the same program, arguments and sizes. One call enqueues a part of it, once the
 * part's last launch came. Where another launch comes, or the end too early, those that came of a
 * part are enqueued one by one.
 *
 * The release of any memory object drops all sequences, because another one may get its handle. So
 * no change of weights, sizes or rows needs a thought here, and no recording holds memory that is
 * given back.
 */
#ifndef GEMM_CL_RECORD_H
#define GEMM_CL_RECORD_H

#include "cl/device/arguments.h"
#include "cl/device/built.h"

/* Whether a launch of three dimensions is left to a recording, which its part's last launch
   enqueues. Otherwise the caller enqueues it. */
bool gemm_cl_is_recorded(const gemm_cl_program *, const gemm_cl_arguments *, const size_t *global,
                         const size_t *local);

/* Enqueues a launch that is not, without an event. The kernel has these arguments. 0 or -1. */
int gemm_cl_enqueue_noted(cl_kernel, const gemm_cl_program *, const gemm_cl_arguments *,
                          const size_t *global, const size_t *local);

/* The device is about to be closed: drops all. */
void gemm_cl_release_sequences(void);

#endif
