/* SPDX-License-Identifier: MIT */
/* Large blocks of memory. */
#ifndef GEMM_LARGE_H
#define GEMM_LARGE_H

#include <stddef.h>

/*
 * Memory with any content that begins at a page, or NULL. Freed with free(). A block of some
 * megabytes gets huge pages where Linux has them: its first touch takes fewer faults, and reading
 * it takes fewer entries of the TLB.
 */
void *gemm_alloc_large(size_t bytes);

/* Asks for huge pages in a block of some megabytes, where whole ones fit. */
void gemm_advise_large(void *, size_t bytes);

/* For memory that will be written: one call takes less time than a fault for each page. */
void gemm_touch(const void *, size_t bytes);

#endif
