/* SPDX-License-Identifier: MIT */
/*
 * What a driver records: see recorder.h.
 */
#include "cl/device/recorder.h"

#include "cl/device/cache.h"
#include "cl/device/pending.h"

#include <stdio.h>
#include <stdlib.h>

/* Headers of 2022 and before lack one extension or both. So the types are written out. */
typedef struct gemm_cl_buffer_ *command_buffer;
typedef struct gemm_cl_recording_ *qcom_recording;

enum { QUEUE_RECORDABLE = 1 << 30, RECORDABLE_QUEUE_MAX_SIZE = 0x41DE };
enum { BUFFER_CAPABILITIES = 0x12A9, BUFFER_REQUIRED_PROPERTIES = 0x12AA, BUFFER_FLAGS = 0x1293 };
enum { CAN_BE_PENDING_TWICE = 1 << 2, MAY_BE_PENDING_TWICE = 1 };

static struct {
    command_buffer (CL_API_CALL *CreateCommandBuffer)(cl_uint, const cl_command_queue *,
                                                      const cl_ulong *, cl_int *);
    cl_int (CL_API_CALL *CommandNDRangeKernel)(command_buffer, cl_command_queue, const cl_ulong *,
                                               cl_kernel, cl_uint, const size_t *, const size_t *,
                                               const size_t *, cl_uint, const cl_uint *, cl_uint *,
                                               void **);
    cl_int (CL_API_CALL *FinalizeCommandBuffer)(command_buffer);
    cl_int (CL_API_CALL *EnqueueCommandBuffer)(cl_uint, cl_command_queue *, command_buffer, cl_uint,
                                               const cl_event *, cl_event *);
    cl_int (CL_API_CALL *ReleaseCommandBuffer)(command_buffer);
    qcom_recording (CL_API_CALL *NewRecording)(cl_command_queue, cl_int *);
    cl_int (CL_API_CALL *EndRecording)(qcom_recording);
    cl_int (CL_API_CALL *EnqueueRecording)(cl_command_queue, qcom_recording, size_t, const void *,
                                           size_t, const void *, size_t, const void *, size_t,
                                           const void *, cl_uint, const cl_event *, cl_event *);
    cl_int (CL_API_CALL *ReleaseRecording)(qcom_recording);
} call;

static enum { UNKNOWN, NONE, BUFFERS, QUEUES } kind;
static cl_ulong flags;                  /* of a command buffer */
static cl_command_queue recording_queue;
static size_t most;                     /* launches of a recording */
static gemm_cl_note note = {.fd = -1};  /* held until the first recording has run */
static bool tried;                      /* one was enqueued */

typedef struct part {
    command_buffer buffer;              /* BUFFERS */
    qcom_recording queue;               /* QUEUES */
} part;

struct gemm_cl_recorded {
    size_t launches, count;             /* of a part; parts */
    part list[];
};

/* ---- what the device has ---- */

/* Not asked again. What was recorded stays until it is released. */
static void give_up(void)
{
    kind = NONE;
}

static bool find(cl_platform_id platform, const char *name, void *member)
{
    return gemm_cl_find_extension(platform, name, member);
}

static bool find_buffers(const gemm_cl_device *d, cl_platform_id platform)
{
    cl_ulong can = 0, needs = 0;
    if (!find(platform, "clCreateCommandBufferKHR", &call.CreateCommandBuffer) ||
        !find(platform, "clCommandNDRangeKernelKHR", &call.CommandNDRangeKernel) ||
        !find(platform, "clFinalizeCommandBufferKHR", &call.FinalizeCommandBuffer) ||
        !find(platform, "clEnqueueCommandBufferKHR", &call.EnqueueCommandBuffer) ||
        !find(platform, "clReleaseCommandBufferKHR", &call.ReleaseCommandBuffer))
        return false;
    CL_TRY(clGetDeviceInfo(d->id, BUFFER_CAPABILITIES, sizeof can, &can, NULL));
    CL_TRY(clGetDeviceInfo(d->id, BUFFER_REQUIRED_PROPERTIES, sizeof needs, &needs, NULL));
    flags = can & CAN_BE_PENDING_TWICE ? MAY_BE_PENDING_TWICE : 0;
    return needs == 0;
fail:
    return false;
}

static bool find_queues(const gemm_cl_device *d, cl_platform_id platform)
{
    cl_uint limit = 0;
    if (!find(platform, "clNewRecordingQCOM", &call.NewRecording) ||
        !find(platform, "clEndRecordingQCOM", &call.EndRecording) ||
        !find(platform, "clEnqueueRecordingQCOM", &call.EnqueueRecording) ||
        !find(platform, "clReleaseRecordingQCOM", &call.ReleaseRecording))
        return false;
    CL_TRY(clGetDeviceInfo(d->id, RECORDABLE_QUEUE_MAX_SIZE, sizeof limit, &limit, NULL));
    most = limit;
    return limit > 0;
fail:
    return false;
}

static void find_kind(const gemm_cl_device *d)
{
    cl_platform_id platform;
    kind = NONE;
    CL_TRY(clGetDeviceInfo(d->id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    if (d->has_recordable_queues && find_queues(d, platform)) kind = QUEUES;
    else if (d->has_command_buffers && find_buffers(d, platform)) kind = BUFFERS;
fail:
    return;
}

/* A CPU's driver has no launch that a recording would save: see docs/log/opencl.md. */
bool gemm_cl_can_record(void)
{
    const gemm_cl_device *d = gemm_cl_opened();
    const gemm_cl_recording wanted = gemm_cl_settings()->record;
    if (wanted == GEMM_CL_NEVER_RECORDS) return false;
    if (wanted == GEMM_CL_RECORDS_ON_GPU && d->traits.cpu) return false;
    if (kind == UNKNOWN) find_kind(d);
    return kind != NONE;
}

/* ---- the first one ---- */

static gemm_cl_key key_of_trial(void)
{
    const gemm_cl_device *d = gemm_cl_opened();
    return (gemm_cl_key){"recordings", "", kind == QUEUES ? "recordable queues" : "command buffers",
                         d->name, d->driver};
}

/* Whether the driver may be asked: an earlier process did not end when it asked. */
static bool may_begin(void)
{
    const gemm_cl_key key = key_of_trial();
    size_t bytes;
    if (tried || note.fd >= 0 || gemm_cl_settings()->untried) return true;
    unsigned char *right = gemm_cl_cache_read(&key, &bytes);
    free(right);
    tried = right;
    if (right) return true;
    char *why = gemm_cl_begin_note(&key, &note);
    if (why) fprintf(stderr, "gemm_cl: %s\n", why);
    free(why);
    return !why;
}

/* The first recording has run. */
static void end_trial(void)
{
    const gemm_cl_key key = key_of_trial();
    if (note.fd < 0) return;
    if (tried && kind != NONE) gemm_cl_cache_write(&key, (const unsigned char *)"", 0);
    gemm_cl_end_note(&note, &key, NULL);
    note.fd = -1;
}

/* ---- recording ---- */

static int record_buffer(part *p, const gemm_cl_fixed *launches, size_t count)
{
    const cl_ulong properties[] = {BUFFER_FLAGS, flags, 0};
    const cl_command_queue queue = gemm_cl_opened()->queue;
    CL_MAKE(p->buffer, call.CreateCommandBuffer(1, &queue, flags ? properties : NULL, &error));
    for (size_t i = 0; i < count; ++i)
        CL_TRY(call.CommandNDRangeKernel(p->buffer, NULL, NULL, launches[i].kernel, 3, NULL,
                                         launches[i].global, launches[i].local, 0, NULL, NULL,
                                         NULL));
    CL_TRY(call.FinalizeCommandBuffer(p->buffer));
    return 0;
fail:
    return -1;
}

static int record_queue(part *p, const gemm_cl_fixed *launches, size_t count)
{
    const gemm_cl_device *d = gemm_cl_opened();
    if (!recording_queue)
        CL_MAKE(recording_queue, clCreateCommandQueue(d->context, d->id, QUEUE_RECORDABLE, &error));
    CL_MAKE(p->queue, call.NewRecording(recording_queue, &error));
    for (size_t i = 0; i < count; ++i)
        CL_TRY(gemm_cl_function.EnqueueNDRangeKernel(recording_queue, launches[i].kernel, 3, NULL,
                                                     launches[i].global, launches[i].local, 0, NULL,
                                                     NULL));
    CL_TRY(call.EndRecording(p->queue));
    return 0;
fail:
    return -1;
}

/* Whether all parts were recorded. */
static bool record_parts(gemm_cl_recorded *r, const gemm_cl_fixed *launches, size_t count)
{
    for (size_t from = 0; from < count; from += r->launches) {
        const size_t n = count - from < r->launches ? count - from : r->launches;
        part *p = &r->list[r->count++];
        if (kind == QUEUES ? record_queue(p, launches + from, n)
                           : record_buffer(p, launches + from, n))
            return false;
    }
    return true;
}

gemm_cl_recorded *gemm_cl_record(const gemm_cl_fixed *launches, size_t count)
{
    enum { PART = 8 };          /* as many as gemm_cl_flush gathers */
    if (!gemm_cl_can_record()) return NULL;
    const size_t each = kind == QUEUES && most < PART ? most : PART;
    const size_t parts = (count + each - 1) / each;
    gemm_cl_recorded *r = calloc(1, sizeof *r + parts * sizeof r->list[0]);
    if (r) r->launches = each;
    if (r && may_begin() && record_parts(r, launches, count)) return r;
    gemm_cl_release_recorded(r);
    end_trial();
    give_up();
    return NULL;
}

size_t gemm_cl_part_of(const gemm_cl_recorded *r)
{
    return r->launches;
}

void gemm_cl_release_recorded(gemm_cl_recorded *r)
{
    if (!r) return;
    for (part *p = r->list; p < r->list + r->count; ++p) {
        CL_RELEASE(call.ReleaseCommandBuffer, p->buffer);
        CL_RELEASE(call.ReleaseRecording, p->queue);
    }
    free(r);
}

/* ---- again ---- */

/* With an event, because PoCL 5 writes to it unasked. The next wait asks it. */
int gemm_cl_enqueue_recorded(const gemm_cl_recorded *r, size_t number)
{
    const part *p = &r->list[number];
    cl_command_queue queue = gemm_cl_opened()->queue;
    cl_event done = NULL;
    if (kind == NONE) return -1;
    if (tried && number == 0) end_trial();
    if (p->buffer) CL_TRY(call.EnqueueCommandBuffer(1, &queue, p->buffer, 0, NULL, &done));
    else CL_TRY(call.EnqueueRecording(queue, p->queue, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL,
                                      &done));
    if (done) gemm_cl_add_pending(done);
    tried = true;
    CL_TRY(clFlush(queue));
    return 0;
fail:
    give_up();
    return done ? 0 : -1;
}

void gemm_cl_end_recorder(void)
{
    if (kind != UNKNOWN) end_trial();
    CL_RELEASE(clReleaseCommandQueue, recording_queue);
}
