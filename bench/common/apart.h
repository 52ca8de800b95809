/* SPDX-License-Identifier: MIT */
/*
 * Work in a child process. What the work allocates, crashes or ends stays in the child: other
 * people's libraries, and Darknet, which ends the program on a bad file.
 */
#ifndef BENCH_APART_H
#define BENCH_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Runs in the child. What it writes to `out` reaches the parent. */
typedef void apart_work(void *argument, FILE *out);

typedef struct apart_result {
    char *text;                 /* what was written, ends with '\0'; the caller frees it */
    size_t size;
    char why[128];              /* how the child ended when it did not finish its work */
} apart_result;

/* Returns whether the work was finished. The text is there in both cases. */
bool apart_run(apart_work *, void *argument, apart_result *);

/* How a process ended, from the status of waitpid: "was killed by signal 11 (Segmentation fault)",
   "ended with status 1", or "is gone" for -1. */
void apart_explain(int status, char *text, size_t size);

/* In a child, right after the fork: the child ends when its parent ends, however that ends. */
void apart_follow_parent(int parent);

#endif
