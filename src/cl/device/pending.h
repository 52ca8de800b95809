/* SPDX-License-Identifier: MIT */
/*
 * Launches that nothing has waited for yet. For the OpenCL files only; called with gemm_cl_lock
 * held, while the device is open.
 *
 * A launch may fail after it was enqueued, and only an event tells. All events are kept until the
 * next wait, which asks each of them. A launch may have no event. Then the command that waits for
 * it has one. It fails too, because the queue is in order, and nothing succeeds behind a failed
 * kernel.
 */
#ifndef GEMM_CL_PENDING_H
#define GEMM_CL_PENDING_H

#include "cl/device/counts.h"
#include "cl/device/error.h"
#include "cl/device/loader.h"

/* What gemm_cl_count counts. */
extern gemm_cl_counts gemm_cl_counters;

/* Whether gemm_cl_count is on, and so wants times. */
bool gemm_cl_is_counting(void);

/* A kernel was enqueued, with or without an event. */
void gemm_cl_launched(bool with_event);

/* Whether the queue may hold a launch without an event, so that the next wait needs one. */
bool gemm_cl_needs_event(void);

/* Sends what was enqueued to the device, but not after each launch, because that takes time. */
void gemm_cl_flush(void);

/* Takes the event of a launch. */
void gemm_cl_add_pending(cl_event);

/* After a wait for all that was in the queue. -1: a launch failed, now or before: what it had to
   write is lost. */
int gemm_cl_settle(void);

/* What a finished event took. Below 0: the driver does not say. */
double gemm_cl_event_ms(cl_event);

/* Releases all events. */
void gemm_cl_release_pending(void);

#endif
