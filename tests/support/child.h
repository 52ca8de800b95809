/* SPDX-License-Identifier: MIT */
/*
 * Runs a function in a process of its own, so that the test program survives a crash in it.
 */
#ifndef CHILD_H
#define CHILD_H

typedef struct child_result {
    int status;                 /* of waitpid */
    char output[8192];          /* the start of what it printed, stdout and stderr */
} child_result;

/*
 * Forks, calls body(data) in the child and waits for its end. The child's exit status is what body
 * returns. Call this before the program starts threads or opens a device, because a child has
 * neither.
 */
child_result child_run(int (*body)(void *), void *data);

/* The signal that ended the child, such as "Segmentation fault", or NULL when it exited. */
const char *child_signal(const child_result *);

/* The exit status of the child, -1 when a signal ended it. */
int child_exit(const child_result *);

#endif
