/* SPDX-License-Identifier: MIT */
/* Large blocks of memory: see large.h. */
#include "util/large.h"

#include "util/ints.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

enum { PAGE = 4096, HUGE_PAGE = 2 * 1024 * 1024 };

/* Only advice: without huge pages the memory is as good. */
void gemm_advise_large(void *p, size_t bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const size_t skipped = -(uintptr_t)p % HUGE_PAGE;
    const int before = errno;
    if (!p || bytes < skipped + HUGE_PAGE) return;
    (void)madvise((char *)p + skipped, (bytes - skipped) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    errno = before;
#else
    (void)p, (void)bytes;
#endif
}

void gemm_touch(const void *p, size_t bytes)
{
#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
    const size_t skipped = -(uintptr_t)p % PAGE;
    const int before = errno;
    if (bytes >= skipped + PAGE)
        (void)madvise((char *)p + skipped, (bytes - skipped) / PAGE * PAGE, MADV_POPULATE_WRITE);
    errno = before;
#else
    (void)p, (void)bytes;
#endif
}

void *gemm_alloc_large(size_t bytes)
{
    const size_t page = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : PAGE, all = round_up(bytes, page);
    void *p = aligned_alloc(page, all);
    gemm_advise_large(p, all);
    return p;
}
