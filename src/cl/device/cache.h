/* SPDX-License-Identifier: MIT */
/*
 * Compiled OpenCL programs on disk. For the OpenCL files only; called with gemm_cl_lock held.
 */
#ifndef GEMM_CL_CACHE_H
#define GEMM_CL_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* All that the binary of a program depends on. */
typedef struct gemm_cl_key {
    const char *name, *source, *options, *device, *driver;
} gemm_cl_key;

/* The binary of a program whose results are right, which the caller frees, or NULL. Says why when a
   file is there and cannot be used. */
unsigned char *gemm_cl_cache_read(const gemm_cl_key *, size_t *bytes);

/* Keeps the binary of a program whose results are right; 0 bytes where there is none. The first
   failure is said, and the program goes on without a cache. */
void gemm_cl_cache_write(const gemm_cl_key *, const unsigned char *binary, size_t bytes);

/* Whether the folder can be written. If not, that is said, once in a process. */
bool gemm_cl_cache_keeps(void);

/* Whether there is a file for the program, or a note. */
bool gemm_cl_cache_has(const gemm_cl_key *);

/* A note on disk that a program is being tried, or that its binary is made. */
typedef struct gemm_cl_note {
    int fd;                     /* -1: there is none */
    char path[1152];
} gemm_cl_note;

/* Before a program is built for the first time, and before the driver makes the binary of one that
   is right. NULL: it may be, and gemm_cl_end_note follows. Else why it is left out, as an earlier
   process found, in a line that the caller frees. Without a folder, and while another process does
   the same, no note is written. `beside`: of a thread, while the program does something else. */
char *gemm_cl_begin_note(const gemm_cl_key *, bool beside, gemm_cl_note *);

/* The trial is over: the program is left out for this reason from now on. NULL: it is not. */
void gemm_cl_end_note(const gemm_cl_note *, const gemm_cl_key *, const char *why);

#endif
