/* Whole files: read at once, and replaced so that no reader sees half of one. */
#ifndef GEMM_FILE_H
#define GEMM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The contents of a regular file that is not empty, or NULL. A zero follows the last byte. The
   caller frees it. */
char *gemm_read_file(const char *path, size_t *bytes);

/* mkdir -p, for this user only. */
bool gemm_make_folder(const char *path);

/* Writes the contents of a file. Returns false, with errno set, when that fails. */
typedef bool gemm_fill_file(FILE *, const void *data);

/* Makes the folder, writes a file in it under another name and renames it to `path`. Returns 0, or
   the errno of the step that failed. */
int gemm_replace_file(const char *folder, const char *path, gemm_fill_file *, const void *data);

#endif
