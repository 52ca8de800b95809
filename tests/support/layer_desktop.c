/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL layer (OPENCL_LAYERS=layer_desktop.so) that makes a CPU's OpenCL device look like a
 * large desktop GPU: memory of its own, 132 compute units, groups of 1024 items, 48 KiB of local
 * memory.
 * So `cl` chooses what it chooses there. The CPU's compiler spills no registers, or those of
 * programs whose options contain DESKTOP_SPILLS. Each argument that is set is a line in the file
 * DESKTOP_SETS, where that is named.
 *
 * Each program that is made from a text is a line in the file DESKTOP_BUILDS: the number of the
 * process. It takes DESKTOP_SLOW milliseconds longer, but for the first one of a process that
 * builds for itself. In a process that builds for another one it ends the process by the signal
 * DESKTOP_SIGNAL. With DESKTOP_WAIT=1 the second one of any other process waits for a line of such
 * a process, a minute at most. DESKTOP_CPU=1: the device stays a CPU.
 */
#define LAYER_NAME "a desktop GPU"
#include "layer.h"

#include <stdbool.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static CL_API_ENTRY cl_int CL_API_CALL GetDeviceInfo(cl_device_id d, cl_device_info info,
                                                     size_t size, void *value, size_t *size_ret)
{
    static const char name[] = "Desktop GPU";
    const cl_uint units = 132, vector = 1;
    const cl_ulong local = 49152;
    const size_t group = 1024;
#define ANSWER(x) return answer(&(x), sizeof(x), size, value, size_ret)
    if (info == CL_DEVICE_TYPE && getenv("DESKTOP_CPU"))
        return next->clGetDeviceInfo(d, info, size, value, size_ret);
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

/* src/driver/start.c has the argument. */
static bool builds_for_another(void)
{
    char words[256] = "";
    FILE *f = fopen("/proc/self/cmdline", "r");
    const size_t n = f ? fread(words, 1, sizeof words - 1, f) : 0;
    const char *last = words + strlen(words) + 1;
    if (f) fclose(f);
    return last < words + n && !strcmp(last, "--compile-opencl-programs");
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Whether the file has the number of another process. */
static bool has_other(const char *path)
{
    FILE *f = path ? fopen(path, "r") : NULL;
    int id = getpid();
    while (f && id == getpid() && fscanf(f, "%d", &id) == 1) continue;
    if (f) fclose(f);
    return id != getpid();
}

static CL_API_ENTRY cl_program CL_API_CALL CreateProgramWithSource(cl_context c, cl_uint n,
                                                                   const char **texts,
                                                                   const size_t *bytes,
                                                                   cl_int *error)
{
    enum { MOST = 6000, PAUSE_MS = 10 };
    static int programs;
    const char *path = getenv("DESKTOP_BUILDS"), *slow = getenv("DESKTOP_SLOW");
    const char *number = getenv("DESKTOP_SIGNAL");
    const bool another = builds_for_another(), first = ++programs == 1 && !another;
    const bool waits = getenv("DESKTOP_WAIT") && !another && programs == 2;
    for (int i = 0; waits && i < MOST && !has_other(path); ++i) sleep_ms(PAUSE_MS);
    FILE *f = path ? fopen(path, "a") : NULL;
    if (f) fprintf(f, "%d\n", (int)getpid());
    if (f) fclose(f);
    if (number && another) {
        signal(atoi(number), SIG_DFL);      /* instead of LLVM's */
        raise(atoi(number));
    }
    if (slow && !first) sleep_ms(atol(slow));
    return next->clCreateProgramWithSource(c, n, texts, bytes, error);
}

static cl_int replace_entries(void)
{
    layer.clGetDeviceInfo = GetDeviceInfo;
    layer.clGetDeviceIDs = GetDeviceIDs;
    layer.clGetKernelWorkGroupInfo = GetKernelWorkGroupInfo;
    layer.clSetKernelArg = SetKernelArg;
    layer.clCreateProgramWithSource = CreateProgramWithSource;
    return CL_SUCCESS;
}
