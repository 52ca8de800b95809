/* SPDX-License-Identifier: MIT */
/*
 * Files that several processes are told to write by one variable of the environment.
 *
 * The program that was started with the variable, and the processes that it starts, are one run. So
 * a run begins with the oldest process in a line of parents that all have the variable with the
 * same value. What was written before that is of an older run.
 */
#ifndef GEMM_STARTED_H
#define GEMM_STARTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* The name for this process: %p becomes its number. The caller frees it. NULL: no memory. */
char *gemm_own_name(const char *path);

/*
 * When the run of this process began, at the latest, in nanoseconds of CLOCK_REALTIME. Waits, some
 * hundredths of a second at most, until a file that is written from now on is later than that.
 * INT64_MAX where the system does not say.
 */
int64_t gemm_run_began(const char *variable, const char *value);

/* Whether the process was started with the variable, with this value. */
bool gemm_started_with(long process, const char *variable, const char *value);

/* Whether the file was written after this time. */
bool gemm_is_later(const struct stat *, int64_t began);

#endif
