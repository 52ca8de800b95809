/*
 * OpenCL's functions, found at run time: see loader.h.
 */
#include "cl/loader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

gemm_cl_functions gemm_cl_function;

static char why[256];
static unsigned long released;

cl_int gemm_cl_release_memory(cl_mem mem)
{
    ++released;
    return gemm_cl_function.ReleaseMemObject(mem);
}

unsigned long gemm_cl_released_memory(void)
{
    return released;
}

static void *open_library(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libOpenCL.so", RTLD_NOW | RTLD_LOCAL);     /* Android */
    if (!library)
        snprintf(why, sizeof why, "no OpenCL library on this machine: install libOpenCL.so.1, the "
                                  "loader, for example by the package ocl-icd-libopencl1");
    return library;
}

/* Sets one member. dlsym returns a pointer to data, also for a function. */
static void find(void *library, const char *name, void *member)
{
    void *symbol = dlsym(library, name);
    if (symbol)
        memcpy(member, &symbol, sizeof symbol);
    else if (!*why)
        snprintf(why, sizeof why, "the OpenCL library has no %s: OpenCL 1.2 is needed", name);
}

const char *gemm_cl_load(void)
{
    if (gemm_cl_function.GetPlatformIDs || *why) return *why ? why : NULL;
    void *library = dlsym(RTLD_DEFAULT, "clGetPlatformIDs") ? RTLD_DEFAULT : open_library();
    if (*why) return why;
#define FIND(name) find(library, "cl" #name, &gemm_cl_function.name);
    GEMM_CL_FUNCTIONS(FIND)
#undef FIND
    return *why ? why : NULL;
}
