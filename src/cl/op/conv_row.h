/* SPDX-License-Identifier: MIT */
/*
 * Which row computes a convolution, and its kernel. The first line that can be done:
 *
 *   a form that was measured on this device     cl/tune/table.c
 *   one column of outputs: cl_gemv              `cl` and the rows of 16 bits
 *   cl_direct, which reads the input itself     `cl` and cl_half, where choice.c finds it faster;
 *                                               cl_direct, cl_winograd: where it can
 *   the row that the user named                 all rows but those that choose
 *   Winograd's algorithm on a CPU               `cl`, where choice.c finds it faster
 *   the tile that choice.c takes                `cl`
 *
 * cl_direct and Winograd's algorithm need a plan that can keep their weights.
 */
#ifndef GEMM_CL_CONV_ROW_H
#define GEMM_CL_CONV_ROW_H

#include "cl/op/conv_job.h"

/* Sets the row that runs. False: none can. */
bool gemm_cl_conv_choose(gemm_cl_conv_job *, const gemm_context *);

/* The same where the weights of cl_direct could not be kept: a row that takes them as they lie. */
bool gemm_cl_conv_choose_unpacked(gemm_cl_conv_job *, const gemm_cl_row *asked,
                                  const gemm_context *);

/* Builds the row's kernel, or takes the one that the plan has. NULL, or why there is none. */
const char *gemm_cl_conv_build_kernel(gemm_cl_conv_job *);

/* The same, or the kernel of the next choice where the groups of this one are too small. The next
   choice takes the weights as the plan has them. */
const char *gemm_cl_conv_build_choice(gemm_cl_conv_job *, const gemm_cl_row *asked,
                                      const gemm_context *);

#endif
