/* SPDX-License-Identifier: MIT */
/*
 * OpenCL's errors: names, messages, and the last message as the reason of a call that fails.
 */
#include "cl/device/error.h"

#include <stdio.h>
#include <string.h>

static char last_failure[160];

#define NAME(code) case code: return #code
const char *gemm_cl_error_name(cl_int error)
{
    switch (error) {
    NAME(CL_DEVICE_NOT_FOUND); NAME(CL_DEVICE_NOT_AVAILABLE); NAME(CL_COMPILER_NOT_AVAILABLE);
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE); NAME(CL_OUT_OF_RESOURCES); NAME(CL_OUT_OF_HOST_MEMORY);
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE); NAME(CL_MEM_COPY_OVERLAP);
    NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED); NAME(CL_BUILD_PROGRAM_FAILURE); NAME(CL_MAP_FAILURE);
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST); NAME(CL_INVALID_VALUE);
    NAME(CL_INVALID_DEVICE); NAME(CL_INVALID_CONTEXT); NAME(CL_INVALID_COMMAND_QUEUE);
    NAME(CL_INVALID_MEM_OBJECT); NAME(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    NAME(CL_INVALID_IMAGE_DESCRIPTOR); NAME(CL_INVALID_IMAGE_SIZE); NAME(CL_INVALID_BINARY);
    NAME(CL_INVALID_BUILD_OPTIONS); NAME(CL_INVALID_PROGRAM_EXECUTABLE);
    NAME(CL_INVALID_KERNEL_NAME); NAME(CL_INVALID_KERNEL_ARGS); NAME(CL_INVALID_ARG_VALUE);
    NAME(CL_INVALID_ARG_SIZE); NAME(CL_INVALID_WORK_GROUP_SIZE); NAME(CL_INVALID_WORK_ITEM_SIZE);
    NAME(CL_INVALID_EVENT); NAME(CL_INVALID_OPERATION); NAME(CL_INVALID_BUFFER_SIZE);
    NAME(CL_INVALID_GLOBAL_WORK_SIZE);
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    default: return "an OpenCL error";
    }
}
#undef NAME

void gemm_cl_say_failed(const char *file, int line, const char *what, cl_int error)
{
    const char *base = strrchr(file, '/');
    snprintf(last_failure, sizeof last_failure, "%.100s: %s", what, gemm_cl_error_name(error));
    fprintf(stderr, "%s:%d: %s: %s (%d)\n", base ? base + 1 : file, line, what,
            gemm_cl_error_name(error), (int)error);
}

void gemm_cl_say(const char *what)
{
    if (snprintf(last_failure, sizeof last_failure, "%s", what) >= (int)sizeof last_failure)
        strcpy(last_failure + sizeof last_failure - 4, "...");      /* stderr has all of it */
    fprintf(stderr, "gemm_cl: %s\n", what);
}

const char *gemm_cl_last_failure(void)
{
    return last_failure;
}

void gemm_cl_forget_failure(void)
{
    last_failure[0] = '\0';
}
