/* SPDX-License-Identifier: MIT */
/* Memory that all threads of one call share, kept because the first touch of a page is slow. */
#ifndef PACKED_WORKSPACE_H
#define PACKED_WORKSPACE_H

#include <stddef.h>

typedef struct packed_workspace {
    size_t floats;
    float *data;
} packed_workspace;

/* At least so many floats, with any content; or NULL. A call takes it and gives it back. Calls at
   the same time have workspaces of their own. */
packed_workspace *packed_take_workspace(size_t floats);
void packed_give_workspace(packed_workspace *);

#endif
