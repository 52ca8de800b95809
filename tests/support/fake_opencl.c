/* SPDX-License-Identifier: MIT */
/*
 * A false library for the search of OpenCL's. As libOpenCL.so.1 it has all functions that are
 * needed, and no platform. As libvndksupport.so it loads the library FAKE_VENDOR whatever it is
 * asked for, as Android loads a vendor's driver that an app cannot load itself.
 */
#include "cl/device/loader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int fake_opencl(void);
void *android_load_sphal_library(const char *, int);

/* The status of clGetPlatformIDs where there is none. Other functions are not called. */
int fake_opencl(void)
{
    return -1001;
}

#define ALIAS(name) __asm__(".globl cl" #name "\n.set cl" #name ", fake_opencl");
GEMM_CL_FUNCTIONS(ALIAS)

void *android_load_sphal_library(const char *path, int flags)
{
    const char *library = getenv("FAKE_VENDOR");
    fprintf(stderr, "the vendor loads %s\n", path);
    return library ? dlopen(library, flags) : NULL;
}
