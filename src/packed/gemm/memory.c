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
    int how, made;              /* parts, or PACKED_WHOLE */
    _Alignas(CACHE_LINE) unsigned char weights[];
} block;

static void free_block(void *b)
{
    free(b);
}

/* What is kept in this form, or NULL. Another form is dropped. */
static block *find_block(gemm_kept *kept, const packed_form *f, bool whole)
{
    block *b = gemm_kept_data(kept, free_block);
    const bool fits = b && b->of == f->of && b->how == f->how;
    if (fits && (!whole || b->made == PACKED_WHOLE)) return b;
    if (kept) gemm_drop_kept(kept);
    return NULL;
}

static block *make_block(const packed_form *f, int made)
{
    block *b = gemm_alloc_large(sizeof *b + f->bytes);
    if (!b) return NULL;
    b->of = f->of;
    b->how = f->how;
    b->made = made;
    return b;
}

void *packed_keep(gemm_kept *kept, const packed_form *f, const void *job, void **own)
{
    block *b = find_block(kept, f, true);
    *own = NULL;
    if (b) return b->weights;
    b = make_block(f, PACKED_WHOLE);
    if (!b) return NULL;
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

void *packed_keep_parts(gemm_kept *kept, const packed_form *f, int **made)
{
    block *b = find_block(kept, f, false);
    if (!b) b = make_block(f, 0);
    if (!b) return NULL;
    if (!kept->data && !gemm_keep(kept, b, sizeof *b + f->bytes, free_block)) return free(b), NULL;
    *made = &b->made;
    return b->weights;
}
