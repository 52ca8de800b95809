/* SPDX-License-Identifier: MIT */
/* Aligned allocations of a test program, one of which fails. Large blocks and scratch of `packed`
   are such. Include it in one file of the program, which is linked with --wrap=aligned_alloc. */
#ifndef TEST_FAILING_MEMORY_H
#define TEST_FAILING_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* The aligned allocations so far, and the number of the one that fails. 0: none. */
static atomic_int allocations, failing;

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    const bool fails = atomic_fetch_add(&allocations, 1) + 1 == atomic_load(&failing);
    return fails ? NULL : __real_aligned_alloc(alignment, bytes);
}

#endif
