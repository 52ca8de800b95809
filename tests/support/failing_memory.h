/* SPDX-License-Identifier: MIT */
/* Aligned allocations of a test program, one of which fails. Large blocks and scratch of `packed`
   are such. Include it in one file of the program, which is linked with --wrap=aligned_alloc. */
#ifndef TEST_FAILING_MEMORY_H
#define TEST_FAILING_MEMORY_H

#include "support/judge.h"

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

/* The next allocations, of which the n-th one fails. 0: none. */
static inline void fail_allocation(int n)
{
    atomic_store(&allocations, 0);
    atomic_store(&failing, n);
}

/* Whether so many allocations were made since then. No more fail. */
static inline bool was_reached(int n)
{
    atomic_store(&failing, 0);
    return atomic_load(&allocations) >= n;
}

/* Each allocation fails in turn: the op declines and writes nothing, or is right, and is in its
   format only where none failed. */
static inline const char *judge_no_memory(const judged *j)
{
    const char *wrong = NULL;
    int n = 1;
    for (bool failed = true; failed && !wrong; n += failed) {
        gemm_note note;
        fail_allocation(n);
        const gemm_status status = judge_run(j, 1, NULL, &note);
        failed = was_reached(n);
        if (failed == (status == GEMM_DONE && j->in_format(&note)))
            wrong = failed ? "in its format without memory" : "not in its format with memory";
        else if (status == GEMM_DECLINED) wrong = judge_untouched(j) ? NULL : "declined, and wrote";
        else wrong = status == GEMM_DONE ? j->wrong(j->op, &note) : "failed";
    }
    return wrong || n > 1 ? wrong : "no allocation failed";
}

#endif
