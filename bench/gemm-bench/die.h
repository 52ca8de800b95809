/* SPDX-License-Identifier: MIT */
/* How gemm-bench ends after an error. */
#ifndef BENCH_DIE_H
#define BENCH_DIE_H

enum { BENCH_FAILED = 1, BENCH_BAD_OPTIONS = 2 };

/* Prints "gemm-bench: ..." as one line on standard error and ends the program with this status. */
_Noreturn void bench_die(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns p. NULL ends the program, because there is no memory. */
void *bench_check_memory(void *p);

#endif
