/* SPDX-License-Identifier: MIT */
/*
 * How the items of a layer's kernel share its elements.
 *
 *   by default  item (x, y, z) computes element x of row y of plane z. Global sizes are rounded up
 *   BY_ROW      item (y, z) computes all of row y of plane z. It is for a CPU, because its compiler
 *               makes vectors of the loop
 *
 * A kernel whose elements are all alike cuts them into rows of RUN elements.
 *
 * Nothing is computed with relaxed math, and each product and each sum is rounded. So results are
 * those of Darknet where it rounds the same.
 */
#include "cl_layer_arguments.h"
#include "cl_layer_run.h"

#ifndef RUN
#define RUN CL_LAYER_RUN
#endif

#pragma OPENCL FP_CONTRACT OFF

#ifdef BY_ROW
#define ROW get_global_id(0)
#define PLANE get_global_id(1)
#define EACH_X(x, n) for (int x = 0; x < (n); ++x)
#define EACH(i, n) for (int i = (int)ROW * RUN, end_ = min((n), i + RUN); i < end_; ++i)
#else
#define ROW get_global_id(1)
#define PLANE get_global_id(2)
#define EACH_X(x, n) for (int x = get_global_id(0); x < (n); x = (n))
#define EACH(i, n) EACH_X(i, n)
#endif

/* Ends the items past the last row, which rounded sizes have. */
#define SKIP_ROWS(n)                                                                              \
    if ((int)ROW >= (n)) {                                                                        \
        return;                                                                                   \
    }
