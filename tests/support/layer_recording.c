/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_recording.so) that gives a device cl_qcom_recordable_queues.
 * What is recorded runs launch by launch on the queue that it is enqueued to. Wrong use of the
 * extension is said, and gets an error. Variables of the environment say more:
 *
 *   RECORDING_MOST=N     a recording has at most N launches (5)
 *   RECORDING_LOG=FILE   appends a line for each call: new, launch KERNEL, end, enqueue, release
 *   RECORDING_FAILS=WHAT refuses one kind of call: queue, new, launch, end, or enqueue; functions:
 *                        no extension has any; lost: enqueue, and each launch behind it
 *   RECORDING_ENDS=1     the first launch that is recorded ends the process, as some drivers do
 *
 * When a recording is not released at exit, the layer says so and ends the program with status 98.
 */
#define LAYER_NAME "recordable queues"
#include "layer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RECORDABLE = 1 << 30, MAX_SIZE = 0x41DE, LAUNCHES = 64, NOT_RELEASED = 98 };

typedef struct recording {
    bool ended;
    int count;
    struct { cl_kernel kernel; size_t global[3], local[3]; } launch[LAUNCHES];
} recording;

static cl_command_queue recordable;
static recording *open_one;
static int live;
static bool lost;

static cl_uint most(void)
{
    const char *n = getenv("RECORDING_MOST");
    return n ? (cl_uint)atoi(n) : 5;
}

static bool fails(const char *what)
{
    const char *asked = getenv("RECORDING_FAILS");
    return asked && !strcmp(asked, what);
}

static void tell(const char *what, const char *name)
{
    const char *path = getenv("RECORDING_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f) return;
    fprintf(f, "%s%s%s\n", what, *name ? " " : "", name);
    fclose(f);
}

static cl_int refuse(const char *why, cl_int error)
{
    fprintf(stderr, "layer_recording: %s\n", why);
    return error;
}

/* ---- the extension ---- */

static CL_API_ENTRY recording *CL_API_CALL NewRecording(cl_command_queue q, cl_int *error)
{
    tell("new", "");
    *error = CL_SUCCESS;
    if (fails("new")) *error = CL_OUT_OF_RESOURCES;
    else if (q != recordable) *error = refuse("not on this queue", CL_INVALID_COMMAND_QUEUE);
    else if (open_one) *error = refuse("one is open", CL_INVALID_OPERATION);
    if (*error) return NULL;
    ++live;
    return open_one = calloc(1, sizeof *open_one);
}

static CL_API_ENTRY cl_int CL_API_CALL EndRecording(recording *r)
{
    tell("end", "");
    if (fails("end")) return CL_OUT_OF_RESOURCES;
    if (r != open_one) return refuse("this one is not open", CL_INVALID_OPERATION);
    r->ended = true;
    open_one = NULL;
    return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL EnqueueRecording(
    cl_command_queue q, recording *r, size_t args, const void *a, size_t offsets, const void *o,
    size_t globals, const void *g, size_t locals, const void *l, cl_uint n, const cl_event *waits,
    cl_event *event)
{
    tell("enqueue", "");
    lost = lost || fails("lost");
    if (fails("enqueue") || lost) return CL_OUT_OF_RESOURCES;
    if (q == recordable || !r->ended) return refuse("it is not ended", CL_INVALID_OPERATION);
    if (args || a || offsets || o || globals || g || locals || l || n || waits)
        return refuse("the layer changes nothing of a recording", CL_INVALID_OPERATION);
    for (int i = 0; i < r->count; ++i) {
        const cl_int rc = next->clEnqueueNDRangeKernel(
            q, r->launch[i].kernel, 3, NULL, r->launch[i].global, r->launch[i].local, 0, NULL,
            i == r->count - 1 ? event : NULL);
        if (rc) return rc;
    }
    return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL ReleaseRecording(recording *r)
{
    tell("release", "");
    if (r == open_one) open_one = NULL;
    --live;
    free(r);
    return CL_SUCCESS;
}

static CL_API_ENTRY void *CL_API_CALL GetExtensionFunctionAddressForPlatform(cl_platform_id p,
                                                                            const char *name)
{
    static const struct { const char *name; void (*function)(void); } ours[] = {
        {"clNewRecordingQCOM", (void (*)(void))NewRecording},
        {"clEndRecordingQCOM", (void (*)(void))EndRecording},
        {"clEnqueueRecordingQCOM", (void (*)(void))EnqueueRecording},
        {"clReleaseRecordingQCOM", (void (*)(void))ReleaseRecording}};
    void *at = NULL;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; ++i)
        if (!strcmp(name, ours[i].name)) memcpy(&at, &ours[i].function, sizeof at);
    if (fails("functions")) return NULL;
    return at ? at : next->clGetExtensionFunctionAddressForPlatform(p, name);
}

/* ---- what the device says and has ---- */

static cl_int answer_extensions(cl_device_id d, size_t size, void *value, size_t *size_ret)
{
    static const char more[] = " cl_qcom_recordable_queues";
    size_t bytes = 0;
    cl_int rc = next->clGetDeviceInfo(d, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes);
    char *list = rc ? NULL : calloc(1, bytes + sizeof more);
    if (!list) return rc ? rc : CL_OUT_OF_HOST_MEMORY;
    rc = next->clGetDeviceInfo(d, CL_DEVICE_EXTENSIONS, bytes, list, NULL);
    if (!rc) strcat(list, more);
    if (!rc) rc = answer(list, strlen(list) + 1, size, value, size_ret);
    free(list);
    return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceInfo(cl_device_id d, cl_device_info info,
                                                     size_t size, void *value, size_t *size_ret)
{
    const cl_uint limit = most();
    if (info == CL_DEVICE_EXTENSIONS) return answer_extensions(d, size, value, size_ret);
    if (info == MAX_SIZE) return answer(&limit, sizeof limit, size, value, size_ret);
    return next->clGetDeviceInfo(d, info, size, value, size_ret);
}

static CL_API_ENTRY cl_command_queue CL_API_CALL CreateCommandQueue(
    cl_context c, cl_device_id d, cl_command_queue_properties properties, cl_int *error)
{
    if (properties != RECORDABLE) return next->clCreateCommandQueue(c, d, properties, error);
    if (fails("queue")) {
        *error = CL_INVALID_QUEUE_PROPERTIES;
        return NULL;
    }
    return recordable = next->clCreateCommandQueue(c, d, 0, error);
}

static cl_int record(cl_kernel k, const size_t *global, const size_t *local)
{
    char name[64] = "";
    recording *r = open_one;
    next->clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    tell("launch", name);
    if (getenv("RECORDING_ENDS")) _exit(97);
    if (fails("launch")) return CL_OUT_OF_RESOURCES;
    if (!r) return refuse("none is open", CL_INVALID_OPERATION);
    if (r->count >= (int)most() || r->count == LAUNCHES)
        return refuse("it is full", CL_OUT_OF_RESOURCES);
    r->launch[r->count].kernel = k;
    memcpy(r->launch[r->count].global, global, sizeof r->launch[0].global);
    memcpy(r->launch[r->count++].local, local, sizeof r->launch[0].local);
    return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL EnqueueNDRangeKernel(
    cl_command_queue q, cl_kernel k, cl_uint dimensions, const size_t *offset, const size_t *global,
    const size_t *local, cl_uint n, const cl_event *waits, cl_event *event)
{
    if (lost) return CL_OUT_OF_RESOURCES;
    if (q != recordable || !recordable)
        return next->clEnqueueNDRangeKernel(q, k, dimensions, offset, global, local, n, waits,
                                            event);
    if (dimensions != 3 || offset || !local || n || waits || event)
        return refuse("such a launch is not recorded", CL_INVALID_OPERATION);
    return record(k, global, local);
}

static void at_exit(void)
{
    if (!live) return;
    fprintf(stderr, "layer_recording: %d recordings too many or few at exit\n", live);
    _exit(NOT_RELEASED);
}

static cl_int replace_entries(void)
{
    layer.clGetExtensionFunctionAddressForPlatform = GetExtensionFunctionAddressForPlatform;
    layer.clGetDeviceInfo = GetDeviceInfo;
    layer.clCreateCommandQueue = CreateCommandQueue;
    layer.clEnqueueNDRangeKernel = EnqueueNDRangeKernel;
    return atexit(at_exit) ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
}
