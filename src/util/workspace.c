/* SPDX-License-Identifier: MIT */
/* The workspaces of the last calls: see workspace.h. */
#include "util/workspace.h"

#include "util/large.h"
#include "util/threads.h"

#include <stdlib.h>

static gemm_slots idle;

static void free_workspace(gemm_workspace *w)
{
    if (w) free(w->data);
    free(w);
}

__attribute__((destructor)) static void free_idle(void)
{
    for (gemm_workspace *w; (w = gemm_slots_take(&idle));) free_workspace(w);
}

gemm_workspace *gemm_take_workspace(size_t floats)
{
    gemm_workspace *w = gemm_slots_take(&idle);
    if (w && w->floats >= floats) return w;
    free_workspace(w);
    w = malloc(sizeof *w);
    if (!w) return NULL;
    *w = (gemm_workspace){floats, gemm_alloc_large(floats * sizeof(float))};
    if (w->data) return w;
    free(w);
    return NULL;
}

void gemm_give_workspace(gemm_workspace *w)
{
    free_workspace(gemm_slots_give(&idle, w));
}
