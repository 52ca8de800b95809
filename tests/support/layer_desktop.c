/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_desktop.so) that makes a CPU's OpenCL device look like a
 * large desktop GPU: memory of its own, 132 compute units, groups of 1024 items, 48 KiB of local
 * memory.
 * So `cl` chooses what it chooses there. The CPU's compiler spills no registers, or those of
 * programs whose options contain DESKTOP_SPILLS. Each argument that is set is a line in the file
 * DESKTOP_SETS, where that is named.
 */
#define LAYER_NAME "a desktop GPU"
#include "layer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceInfo(cl_device_id d, cl_device_info info,
                                                     size_t size, void *value, size_t *size_ret)
{
    static const char name[] = "Desktop GPU";
    const cl_uint units = 132, vector = 1;
    const cl_ulong local = 49152;
    const size_t group = 1024;
#define ANSWER(x) return answer(&(x), sizeof(x), size, value, size_ret)
    switch (info) {
    case CL_DEVICE_NAME: ANSWER(name);
    case CL_DEVICE_MAX_COMPUTE_UNITS: ANSWER(units);
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT: ANSWER(vector);
    case CL_DEVICE_LOCAL_MEM_SIZE: ANSWER(local);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: ANSWER(group);
    default: return answer_as_gpu(CL_FALSE, d, info, size, value, size_ret);
    }
#undef ANSWER
}

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceIDs(cl_platform_id p, cl_device_type type,
                                                    cl_uint n, cl_device_id *ids, cl_uint *count)
{
    if (type == CL_DEVICE_TYPE_CPU) return CL_DEVICE_NOT_FOUND;
    return next->clGetDeviceIDs(p, type == CL_DEVICE_TYPE_GPU ? CL_DEVICE_TYPE_ALL : type, n, ids,
                                count);
}

static bool spills(cl_kernel k, cl_device_id d)
{
    return is_built_with(k, d, getenv("DESKTOP_SPILLS"));
}

static CL_API_ENTRY cl_int CL_API_CALL GetKernelWorkGroupInfo(cl_kernel k, cl_device_id d,
                                                              cl_kernel_work_group_info info,
                                                              size_t size, void *value,
                                                              size_t *size_ret)
{
    const cl_int rc = next->clGetKernelWorkGroupInfo(k, d, info, size, value, size_ret);
    if (!rc && value && info == CL_KERNEL_PRIVATE_MEM_SIZE) *(cl_ulong *)value = spills(k, d) * 64;
    return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL SetKernelArg(cl_kernel k, cl_uint i, size_t bytes,
                                                    const void *value)
{
    const char *path = getenv("DESKTOP_SETS");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (f) fputs("set\n", f);
    if (f) fclose(f);
    return next->clSetKernelArg(k, i, bytes, value);
}

static cl_int replace_entries(void)
{
    layer.clGetDeviceInfo = GetDeviceInfo;
    layer.clGetDeviceIDs = GetDeviceIDs;
    layer.clGetKernelWorkGroupInfo = GetKernelWorkGroupInfo;
    layer.clSetKernelArg = SetKernelArg;
    return CL_SUCCESS;
}
