/* SPDX-License-Identifier: MIT */
/*
 * A library has its version in its name, such as libdnnl.so.3. Only packages for developers, and
 * libraries that were installed by hand, have the plain name.
 */
#include "util/library.h"

#include <dlfcn.h>
#include <stdio.h>

void *gemm_open_library(const char *name)
{
    enum { NEWEST = 19 };
    char file[64];
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (int version = NEWEST; version >= 0 && !library; --version) {
        snprintf(file, sizeof file, "%s.%d", name, version);
        library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}
