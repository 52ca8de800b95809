/* SPDX-License-Identifier: MIT */
/*
 * Whole files in a folder that is not trusted: read at once, and replaced so that no reader sees
 * half of one.
 *
 * The folder belongs to this user or to root, and nobody else may write in it. A folder like /tmp,
 * in which nobody can touch the files of others, is right too.
 */
#ifndef GEMM_FILE_H
#define GEMM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The longest path of a folder, with its 0. A file's name is shorter than GEMM_NAME_BYTES. */
enum { GEMM_FOLDER_BYTES = 1024, GEMM_NAME_BYTES = 128 };

/* No larger file is read. */
enum { GEMM_FILE_MOST = 64 << 20 };

/*
 * The contents of a file, or NULL. A zero follows the last byte. The caller frees it. The file is
 * regular, not empty, not too large, of this user or of root, and nobody else may write it.
 *
 * *why: NULL when there is no such file, else why it is not read. It may be a text that strerror
 * made: use it before the next call of that.
 */
char *gemm_read_file(const char *folder, const char *name, size_t *bytes, const char **why);

/* Makes the folder, as mkdir -p, for this user only. Returns NULL, or why it cannot be used. */
const char *gemm_make_folder(const char *folder);

/* Writes the contents of a file. Returns false, with errno set, when that fails. */
typedef bool gemm_fill_file(FILE *, const void *data);

/* Writes the contents of `temporary`, which is empty and open as fd, closes it and renames it to
   `path`. Returns NULL, or why that failed; `temporary` is then gone. */
const char *gemm_fill_and_rename(int fd, const char *temporary, const char *path, gemm_fill_file *,
                                 const void *data);

/* Makes the folder, writes a file in it under another name and renames it. Returns NULL, or why
   that failed. */
const char *gemm_replace_file(const char *folder, const char *name, gemm_fill_file *,
                              const void *data);

/*
 * Calls `work` while no other process has the folder locked. Waits at most two seconds for that.
 * Returns what `work` returns: NULL, or why it failed. Or it returns why `work` was not called.
 */
const char *gemm_with_lock(const char *folder, const char *(*work)(const void *data),
                           const void *data);

/* Makes the folder, and does the same. */
const char *gemm_with_folder(const char *folder, const char *(*work)(const void *data),
                             const void *data);

#endif
