/* SPDX-License-Identifier: MIT */
/* What a preloaded library says at the end of a program that it did not reach. */
#ifndef GEMM_REACH_H
#define GEMM_REACH_H

#include <stdbool.h>

/* Whether a line has told the reason already. */
extern bool gemm_reach_said;

#endif
