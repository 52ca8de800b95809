/* SPDX-License-Identifier: MIT */
/* Blocks that the driver keeps for a layer: see memory.h. */
#include "packed/gemm/memory.h"

#include "util/caches.h"
#include "util/large.h"
#include "util/threads.h"

#include <stdlib.h>

/* What is kept for a layer. */
typedef struct block {
    const void *of;
    int how;
    _Alignas(CACHE_LINE) unsigned char weights[];
} block;

static void free_block(void *b)
{
    free(b);
}

void *packed_keep(gemm_kept *kept, const packed_form *f, const void *job, void **own)
{
    block *b = gemm_kept_data(kept, free_block);
    *own = NULL;
    if (b && b->of == f->of && b->how == f->how) return b->weights;
    if (kept) gemm_drop_kept(kept);
    b = gemm_alloc_large(sizeof *b + f->bytes);
    if (!b) return NULL;
    b->of = f->of;
    b->how = f->how;
    const gemm_jobs jobs = gemm_get_jobs();
    if (jobs == GEMM_JOBS_SKIP) {
        gemm_set_jobs(GEMM_JOBS_ALONE);
        gemm_touch(b, sizeof *b + f->bytes);    /* else several threads touch it */
    }
    const bool made = f->make(b->weights, job);
    gemm_set_jobs(jobs);
    if (!made) {
        free(b);
        return NULL;
    }
    if (!gemm_keep(kept, b, sizeof *b + f->bytes, free_block)) *own = b;
    return b->weights;
}
