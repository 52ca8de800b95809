/* SPDX-License-Identifier: MIT */
/* What this machine's processor says of itself. */
#ifndef GEMM_CPU_H
#define GEMM_CPU_H

#include <stddef.h>

/* A text of one line, "unknown processor" where the system does not tell. */
void gemm_read_cpu(char *name, size_t bytes);

/* The floats that one of its units multiplies at a time, at most. A longer vector takes more than
   one turn. INT_MAX where the processor does not tell. */
int gemm_unit_floats(void);

#endif
