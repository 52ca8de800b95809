/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_strict.so) for what a CPU's OpenCL forgives:
 *
 *   - the device is a GPU with memory of its own. A layer above may say otherwise
 *   - built kernels have groups of at most STRICT_GROUP items, fewer than the device says. A launch
 *     with a larger one fails
 *   - a program is not built with options that give up infinity, NaN or accuracy
 */
#define LAYER_NAME "a strict OpenCL"
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>

static size_t group_items(void)
{
    const char *items = getenv("STRICT_GROUP");
    return items ? strtoul(items, NULL, 10) : (size_t)-1;
}

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceInfo(cl_device_id d, cl_device_info info,
                                                     size_t size, void *value, size_t *size_ret)
{
    return answer_as_gpu(CL_FALSE, d, info, size, value, size_ret);
}

static CL_API_ENTRY cl_int CL_API_CALL GetKernelWorkGroupInfo(cl_kernel k, cl_device_id d,
                                                              cl_kernel_work_group_info info,
                                                              size_t size, void *value,
                                                              size_t *size_ret)
{
    const cl_int rc = next->clGetKernelWorkGroupInfo(k, d, info, size, value, size_ret);
    if (!rc && value && info == CL_KERNEL_WORK_GROUP_SIZE && *(size_t *)value > group_items())
        *(size_t *)value = group_items();
    return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL EnqueueNDRangeKernel(
    cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global,
    const size_t *local, cl_uint n, const cl_event *waits, cl_event *event)
{
    size_t items = 1;
    for (cl_uint i = 0; local && i < dims; ++i) items *= local[i];
    if (items > group_items()) {
        fprintf(stderr, "layer_strict: a group of %zu items\n", items);
        return CL_INVALID_WORK_GROUP_SIZE;
    }
    return next->clEnqueueNDRangeKernel(q, k, dims, offset, global, local, n, waits, event);
}

static CL_API_ENTRY cl_int CL_API_CALL BuildProgram(
    cl_program p, cl_uint n, const cl_device_id *devices, const char *options,
    void(CL_CALLBACK *done)(cl_program, void *), void *data)
{
    static const char *const relaxed[] = {"-cl-fast-relaxed-math", "-cl-finite-math-only",
                                          "-cl-unsafe-math-optimizations"};
    for (size_t i = 0; options && i < sizeof relaxed / sizeof *relaxed; ++i) {
        if (!strstr(options, relaxed[i])) continue;
        fprintf(stderr, "layer_strict: a program with %s\n", relaxed[i]);
        return CL_INVALID_BUILD_OPTIONS;
    }
    return next->clBuildProgram(p, n, devices, options, done, data);
}

static cl_int replace_entries(void)
{
    layer.clGetDeviceInfo = GetDeviceInfo;
    layer.clGetKernelWorkGroupInfo = GetKernelWorkGroupInfo;
    layer.clEnqueueNDRangeKernel = EnqueueNDRangeKernel;
    layer.clBuildProgram = BuildProgram;
    return CL_SUCCESS;
}
