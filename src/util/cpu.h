/* SPDX-License-Identifier: MIT */
/* The name of this machine's processor. */
#ifndef GEMM_CPU_H
#define GEMM_CPU_H

#include <stddef.h>

/* A text of one line, "unknown processor" where the system does not tell. */
void gemm_read_cpu(char *name, size_t bytes);

#endif
