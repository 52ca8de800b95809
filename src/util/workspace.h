/* SPDX-License-Identifier: MIT */
/* Memory of a call. */
#ifndef GEMM_WORKSPACE_H
#define GEMM_WORKSPACE_H

#include <stddef.h>

typedef struct gemm_workspace {
    size_t floats;
    float *data;
} gemm_workspace;

/* At least so many floats, with any content, which all threads of one call share; or NULL. A call
   takes it and gives it back. Calls at the same time have workspaces of their own. Those of the
   last calls are kept, because the first touch of a page is slow. */
gemm_workspace *gemm_take_workspace(size_t floats);
void gemm_give_workspace(gemm_workspace *);

#endif
