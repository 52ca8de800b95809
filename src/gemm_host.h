/*
 * Memory that an OpenCL device and the CPU can share without a copy.
 *
 * While an OpenCL row is chosen, these hand out memory from the driver, because only the driver
 * knows the alignment and the caching that sharing needs (for a device that is a CPU, pages of the
 * system's, not touched before they are used); under every other row, `auto` included, they are
 * calloc, realloc and free. A block belongs to the device while a multiply uses any part of it.
 */
#ifndef GEMM_HOST_H
#define GEMM_HOST_H

#include <stddef.h>

/* Zeroed memory, or NULL. Freed with gemm_host_free. */
void *gemm_host_alloc(size_t count, size_t size);

/* As realloc, for memory of either kind; NULL leaves the old memory as it was. */
void *gemm_host_realloc(void *, size_t bytes);

/* Frees memory of gemm_host_alloc, and of malloc too. */
void gemm_host_free(void *);

#endif
