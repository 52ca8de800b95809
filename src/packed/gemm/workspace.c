/* SPDX-License-Identifier: MIT */
/* The workspaces of the last calls: see workspace.h. */
#include "packed/gemm/workspace.h"

#include "util/large.h"
#include "util/threads.h"

#include <stdlib.h>

static gemm_slots kept;

static void free_workspace(packed_workspace *w)
{
    if (w) free(w->data);
    free(w);
}

__attribute__((destructor)) static void free_kept(void)
{
    for (packed_workspace *w; (w = gemm_slots_take(&kept));) free_workspace(w);
}

packed_workspace *packed_take_workspace(size_t floats)
{
    packed_workspace *w = gemm_slots_take(&kept);
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
    free_workspace(gemm_slots_give(&kept, w));
}
