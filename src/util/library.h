/* SPDX-License-Identifier: MIT */
/* Shared libraries of which any version will do. */
#ifndef GEMM_LIBRARY_H
#define GEMM_LIBRARY_H

/* Opens NAME, such as libdnnl.so, or else the newest NAME.<version>. NULL: none can be loaded. */
void *gemm_open_library(const char *name);

#endif
