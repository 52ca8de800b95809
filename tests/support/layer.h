/* SPDX-License-Identifier: MIT */
/*
 * What the ICD loader needs of an OpenCL layer. A file that includes this defines LAYER_NAME before
 * the include, and replace_entries() after it. That function sets the entries of `layer` that are
 * the layer's own. It returns CL_SUCCESS, or the error for which there is no layer.
 */
#ifndef LAYER_H
#define LAYER_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_layer.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct _cl_icd_dispatch layer;           /* what the program calls */
static const struct _cl_icd_dispatch *next;     /* what lies below */

static cl_int replace_entries(void);

/* What a clGet...Info returns. */
static cl_int answer(const void *from, size_t bytes, size_t size, void *value, size_t *size_ret)
{
    if (value && size < bytes) return CL_INVALID_VALUE;
    if (value) memcpy(value, from, bytes);
    if (size_ret) *size_ret = bytes;
    return CL_SUCCESS;
}

/* clGetDeviceInfo of a device that is a GPU, with or without memory of its own. */
static inline cl_int answer_as_gpu(cl_bool unified, cl_device_id d, cl_device_info info,
                                   size_t size, void *value, size_t *size_ret)
{
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    if (info == CL_DEVICE_TYPE) return answer(&gpu, sizeof gpu, size, value, size_ret);
    if (info == CL_DEVICE_HOST_UNIFIED_MEMORY)
        return answer(&unified, sizeof unified, size, value, size_ret);
    return next->clGetDeviceInfo(d, info, size, value, size_ret);
}

/* Whether the kernel's program was built with options that contain `part`. NULL or "": no. */
static inline bool is_built_with(cl_kernel k, cl_device_id d, const char *part)
{
    char *built = NULL;
    size_t bytes = 0;
    cl_program p;
    const bool has = part && *part &&
        !next->clGetKernelInfo(k, CL_KERNEL_PROGRAM, sizeof p, &p, NULL) &&
        !next->clGetProgramBuildInfo(p, d, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &bytes) &&
        (built = calloc(1, bytes + 1)) &&
        !next->clGetProgramBuildInfo(p, d, CL_PROGRAM_BUILD_OPTIONS, bytes, built, NULL) &&
        strstr(built, part);
    free(built);
    return has;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info info, size_t size, void *value,
                                               size_t *size_ret)
{
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    static const char name[] = LAYER_NAME;
    if (info == CL_LAYER_API_VERSION)
        return answer(&version, sizeof version, size, value, size_ret);
    if (info == CL_LAYER_NAME) return answer(name, sizeof name, size, value, size_ret);
    return CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target,
                                            cl_uint *entries_ret, const cl_icd_dispatch **ours)
{
    if (entries < sizeof layer / sizeof(void *)) return CL_INVALID_VALUE;
    next = target;
    layer = *target;
    *entries_ret = sizeof layer / sizeof(void *);
    *ours = &layer;
    return replace_entries();
}

#endif
