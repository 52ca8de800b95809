/* SPDX-License-Identifier: MIT */
/* The workspace of the last call: see workspace.h. */
#include "packed/gemm/workspace.h"

#include "util/large.h"

#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(packed_workspace *) kept;

static void free_workspace(packed_workspace *w)
{
    if (w) free(w->data);
    free(w);
}

__attribute__((destructor)) static void free_kept(void)
{
    free_workspace(atomic_exchange(&kept, NULL));
}

packed_workspace *packed_take_workspace(size_t floats)
{
    packed_workspace *w = atomic_exchange(&kept, NULL);
    if (w && w->floats >= floats) return w;
    free_workspace(w);
    w = malloc(sizeof *w);
    if (!w) return NULL;
    *w = (packed_workspace){floats, gemm_alloc_large(floats * sizeof(float))};
    if (w->data) return w;
    free(w);
    return NULL;
}

void packed_give_workspace(packed_workspace *w)
{
    free_workspace(atomic_exchange(&kept, w));
}
