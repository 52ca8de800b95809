/* SPDX-License-Identifier: MIT */
/* The search of the paper of the Adreno 330, for bench_cl. */
#ifndef BENCH_CL_LADDER_H
#define BENCH_CL_LADDER_H

#include "common/shapes.h"

#include <stdbool.h>

/* The paper's search: every side of a block, vector and unrolling that fits the device, and beside
   them cl_naive, cl_image and cl. Prints each time, the choice by the paper's order of decisions,
   and the best of all. Returns false when a row that should run failed. */
bool ladder_search(shape_size);

#endif
