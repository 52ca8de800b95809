/* SPDX-License-Identifier: MIT */
/* For a row that asked another one: its reason goes before what that row weighed. */
#ifndef UTIL_BEFORE_H
#define UTIL_BEFORE_H

#include <string.h>

/* Puts `before` before the text of a note, which has so many bytes, at most 512. The trace parts
   its columns by commas, so none stays. */
static inline void gemm_put_before(char *text, size_t bytes, const char *before)
{
    char all[512] = "";
    strncat(all, before, bytes - 1);
    if (*text) strncat(all, "; ", bytes - 1 - strlen(all));
    strncat(all, text, bytes - 1 - strlen(all));
    for (char *c = all; (c = strchr(c, ','));) *c = ';';
    strcpy(text, all);
}

#endif
