/* SPDX-License-Identifier: MIT */
/* Large blocks of memory: see large.h. */
#include "util/large.h"

#include "util/ints.h"

#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

void *gemm_alloc_large(size_t bytes)
{
    enum { PAGE = 4096, HUGE_PAGE = 2 * 1024 * 1024 };
    const size_t page = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : PAGE;
    void *p = aligned_alloc(page, round_up(bytes, page));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    /* Only advice: without huge pages the memory is as good. */
    if (p && page == HUGE_PAGE) (void)madvise(p, round_up(bytes, page), MADV_HUGEPAGE);
#endif
    return p;
}
