/* SPDX-License-Identifier: MIT */
/* Ends the program after an error. In src/, only the driver calls it. */
#ifndef GEMM_DIE_H
#define GEMM_DIE_H

#include <stdbool.h>

/*
 * Prints "gemm: ..." as one line on stderr and ends the program with status 1. Handlers of atexit
 * run, and may call this library. So the caller holds no lock, and is not inside a pthread_once.
 *
 * Only the first line of a program is printed. A second call of the same thread, from a handler,
 * goes on with the other handlers. Every other thread waits for the end.
 */
_Noreturn void gemm_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for callers that can go on: returns at once when gemm_die runs already. */
void gemm_die_first(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the program is being ended by a call of these. */
bool gemm_is_dying(void);

#endif
