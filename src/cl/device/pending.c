/* SPDX-License-Identifier: MIT */
/*
 * Launches that nothing has waited for yet: see pending.h.
 */
#include "cl/device/pending.h"

#include "cl/device/device.h"

#include <stdlib.h>

gemm_cl_counts gemm_cl_counters;

static bool counting;           /* time in kernels too */
static bool lost;               /* a launch failed */
static bool uncovered;          /* some launch has no event */
static int unflushed;           /* launches */
static cl_event *events;
static size_t count, room;

void gemm_cl_count(bool on)
{
    gemm_cl_lock();
    counting = on;
    gemm_cl_counters = (gemm_cl_counts){0};
    gemm_cl_unlock();
}

gemm_cl_counts gemm_cl_counted(void)
{
    gemm_cl_lock();
    const gemm_cl_counts now = gemm_cl_counters;
    gemm_cl_unlock();
    return now;
}

bool gemm_cl_is_counting(void)
{
    return counting;
}

void gemm_cl_launched(bool with_event)
{
    uncovered = uncovered || !with_event;
    ++unflushed;
    ++gemm_cl_counters.launches;
}

/* A later command flushes what this one could not, so its failure changes nothing. */
void gemm_cl_flush(void)
{
    enum { ENOUGH = 8 };
    if (unflushed < ENOUGH) return;
    unflushed = 0;
    CL_TRY(clFlush(gemm_cl_opened()->queue));
fail:
    return;
}

bool gemm_cl_needs_event(void)
{
    return uncovered;
}

double gemm_cl_event_ms(cl_event event)
{
    cl_ulong from, to;
    CL_TRY(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof from, &from, NULL));
    CL_TRY(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL));
    return to < from ? -1.0 : (double)(to - from) * 1e-6;
fail:
    return -1.0;
}

/* Asks the event of a finished launch, and releases it. */
static void settle_one(cl_event event)
{
    cl_int status = CL_COMPLETE;
    CL_TRY(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    if (status < 0) gemm_cl_say_failed(__FILE__, __LINE__, "a kernel of a layer", status);
    if (counting && gemm_cl_opened()->timed && status >= 0) {
        const double ms = gemm_cl_event_ms(event);
        gemm_cl_counters.kernel_ms += ms > 0 ? ms : 0;
    }
fail:
    lost = lost || status < 0;
    CL_RELEASE(clReleaseEvent, event);
}

/* Without memory for the list the launch is waited for at once. */
void gemm_cl_add_pending(cl_event event)
{
    if (count == room) {
        const size_t more = room ? 2 * room : 64;
        cl_event *grown = realloc(events, more * sizeof *grown);
        if (!grown) {
            ++gemm_cl_counters.waits;
            CL_TRY(clWaitForEvents(1, &event));
            settle_one(event);
            return;
        }
        events = grown;
        room = more;
    }
    events[count++] = event;
    return;
fail:
    lost = true;
    CL_RELEASE(clReleaseEvent, event);
}

int gemm_cl_settle(void)
{
    uncovered = false;
    unflushed = 0;
    for (size_t i = 0; i < count; ++i) settle_one(events[i]);
    count = 0;
    if (!lost) return 0;
    gemm_cl_say("a kernel failed after it was enqueued");
    return -1;
}

void gemm_cl_release_pending(void)
{
    for (size_t i = 0; i < count; ++i) CL_RELEASE(clReleaseEvent, events[i]);
    free(events);
    events = NULL;
    count = room = 0;
}
