/* SPDX-License-Identifier: MIT */
/* Rows that fail where the caller can go on. */
#ifndef GEMM_FAILURE_H
#define GEMM_FAILURE_H

/* Says that a row failed, as one line on stderr. The first failure of a process is said, because a
   device that fails often fails for every layer. */
void gemm_say_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
