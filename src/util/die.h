/* Ends the program after an error. In src/, only the driver calls it. */
#ifndef GEMM_DIE_H
#define GEMM_DIE_H

/* Prints "gemm: ..." as one line on stderr and ends the program with status 1. */
_Noreturn void gemm_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
