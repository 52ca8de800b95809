/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_quick.so) for tests that compile many kernels. PoCL compiles
 * each kernel once for every size of a group, and once more for a binary. With this layer a program
 * of kernels/ has no binary, so GEMM_CACHE_DIR keeps none. PoCL's own cache still has the kernel
 * for later tests. Programs of CLBlast keep their binaries, because it needs them.
 */
#define LAYER_NAME "few compilations"
#include "layer.h"

#include <stdbool.h>

/* A program of kernels/ has kernels whose names begin with cl_. */
static bool is_ours(cl_program p)
{
    char names[1024] = "";
    return !next->clGetProgramInfo(p, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, NULL) &&
           strncmp(names, "cl_", 3) == 0;
}

static CL_API_ENTRY cl_int CL_API_CALL GetProgramInfo(cl_program p, cl_program_info info,
                                                      size_t size, void *value, size_t *size_ret)
{
    const size_t none = 0;
    if (info == CL_PROGRAM_BINARY_SIZES && is_ours(p))
        return answer(&none, sizeof none, size, value, size_ret);
    return next->clGetProgramInfo(p, info, size, value, size_ret);
}

static cl_int replace_entries(void)
{
    layer.clGetProgramInfo = GetProgramInfo;
    return CL_SUCCESS;
}
