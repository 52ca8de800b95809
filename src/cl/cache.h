/*
 * Compiled OpenCL programs on disk. For the OpenCL files only; called with gemm_cl_lock held.
 */
#ifndef GEMM_CL_CACHE_H
#define GEMM_CL_CACHE_H

#include <stddef.h>

/* All that the binary of a program depends on. */
typedef struct gemm_cl_key {
    const char *name, *source, *options, *device, *driver;
} gemm_cl_key;

/* The program's binary, which the caller frees, or NULL. Says why when a file is there and cannot
   be used. */
unsigned char *gemm_cl_cache_read(const gemm_cl_key *, size_t *bytes);

/* Keeps a binary. The first failure is said, and the program goes on without a cache. */
void gemm_cl_cache_write(const gemm_cl_key *, const unsigned char *binary, size_t bytes);

#endif
