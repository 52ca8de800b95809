/* SPDX-License-Identifier: MIT */
/* Shared libraries of which any version will do. */
#ifndef GEMM_LIBRARY_H
#define GEMM_LIBRARY_H

/* Opens NAME, such as libdnnl.so, or NAME.<version>: in the first folder of the loader's search
   path that has one, and there the newest. NULL: none can be loaded; dlerror() tells of NAME. */
void *gemm_open_library(const char *name);

#endif
